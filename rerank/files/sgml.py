"""Documents from TREC SGML: `<DOC>` with its `<DOCNO>`, in a file or a folder of files, plain or gzip.

    <DOC>
    <DOCNO> LA010189-0001 </DOCNO>
    <TEXT> ... </TEXT>
    </DOC>

Tags may be in lower case, have attributes and be anywhere in a line. A document is converted to a form that Anserini's
TrecCollection, which reads line by line, reads completely. Input that TrecCollection drops silently is refused: a <DOC>
without </DOC>, nested ones, one without <DOCNO> or with two, and text outside of documents. Files without <DOC> are
skipped, and so are those that Anserini skips: folders `cr`, `dtd`, `dtds` and files `readme*`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rerank.errors import FileFormatError
from rerank.files.corpus import corpus_files
from rerank.files.markup import refuse_stray
from rerank.files.source import MOST_BYTES, open_source, text_lines

# What Anserini indexes.
ELEMENTS = (
    "TEXT",
    "HEADLINE",
    "TITLE",
    "HL",
    "HEAD",
    "TTL",
    "DD",
    "DATE",
    "LP",
    "LEADPARA",
)
_SKIPPED_FOLDERS = frozenset(["cr", "dtd", "dtds"])
_BLOCK = 1 << 20
_HAS_DOC = re.compile(rb"<doc[\s>]", re.IGNORECASE)
_DOC = re.compile(r"<(/?)doc(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO_BEGIN = re.compile(r"<docno(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO_END = re.compile(r"</docno\s*>", re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({'|'.join(ELEMENTS)})(?:\s[^<>]*)?>", re.IGNORECASE)


# Arguments of `refuse_stray`; the blanks include 0x1a, the end of file in DOS.
_WITHIN = ("text within <DOC> and </DOC>", "Enclose or remove it", " \t\r\n\x1a")


@dataclass(frozen=True)
class SgmlDocument:
    """A document with its file and line.

    Parameters
    ----------
    doc_id : str
        The id.
    text : str
        Everything but the id; tags of ELEMENTS are at the beginning or end of a line.
    file : Path
        The file.
    line : int
        Line of its <DOC>, 1-based.

    """

    doc_id: str
    text: str
    file: Path
    line: int

    @property
    def location(self) -> str:
        """`file:line` of its <DOC>."""
        return f"{self.file}:{self.line}"

    @property
    def is_indexed(self) -> bool:
        """Whether it has an element that Anserini indexes."""
        return _TAG.search(self.text) is not None


@dataclass(frozen=True)
class SgmlFiles:
    """The files of a corpus.

    Parameters
    ----------
    read : list of Path
        Files that this package reads.
    excluded : list of Path
        Files that are skipped because Anserini skips them.
    others : list of Path
        Files that are skipped because they have no <DOC>.

    """

    read: list[Path]
    excluded: list[Path]
    others: list[Path]


def sgml_files(path: str | Path) -> SgmlFiles:
    """Return the files of a corpus: those that are read, and those that are skipped."""
    path = Path(path)
    sorted_files = SgmlFiles([], [], [])
    for file in corpus_files(path):
        parts = file.relative_to(path).parts if path.is_dir() else ()
        if _SKIPPED_FOLDERS.intersection(part.lower() for part in parts[:-1]) or (
            parts and parts[-1].lower().startswith("readme")
        ):
            sorted_files.excluded.append(file)
        elif _has_documents(file):
            sorted_files.read.append(file)
        else:
            sorted_files.others.append(file)
    return sorted_files


def read_sgml(files: list[Path], encoding: str = "utf-8") -> Iterator[SgmlDocument]:
    """Yield the documents of files; raise FileFormatError, with the line, for text that Anserini would drop."""
    return (document for file in files for document in _documents(file, encoding))


def _has_documents(path: Path) -> bool:
    end = b""
    with open_source(path) as handle:
        while block := handle.read(_BLOCK):
            if _HAS_DOC.search(end + block):
                return True
            end = block[-8:]
    return False


def _documents(path: Path, encoding: str) -> Iterator[SgmlDocument]:
    """Yield the documents of a file."""
    open_line: int | None = None  # line of the open <DOC>
    parts: list[str] = []
    first_line = 1  # of the parts
    n_letters = 0  # in the parts
    for line, content in text_lines(path, encoding):
        before, *tags = _DOC.split(content) if "<" in content else [content]  # then a tag's slash, and what follows it
        parts.append(before)
        for slash, after in zip(tags[::2], tags[1::2], strict=True):
            if open_line is None and slash:
                raise FileFormatError(path, line, "expected <DOC> before </DOC>, got none. Add it.")
            if open_line is None:
                refuse_stray(path, first_line, "".join(parts), *_WITHIN)
            elif slash:
                yield _document(path, open_line, "".join(parts))
            else:
                raise _not_closed(path, open_line, f"<DOC> on line {line}")
            open_line = None if slash else line
            parts = [after]
            first_line = line
            n_letters = 0
        parts.append("\n")
        n_letters += len(content)
        if n_letters > MOST_BYTES:
            raise FileFormatError(
                path,
                open_line or first_line,
                f"expected documents of at most {MOST_BYTES:,} characters, got more. Check its </DOC>.",
            )
    if open_line is not None:
        raise _not_closed(path, open_line, "the end of the file")
    refuse_stray(path, first_line, "".join(parts), *_WITHIN)


def _not_closed(path: Path, line: int, got: str) -> FileFormatError:
    return FileFormatError(path, line, f"expected </DOC> for this <DOC>, got {got}. Add it, or fetch the file anew.")


def _document(path: Path, line: int, block: str) -> SgmlDocument:
    opening = list(_DOCNO_BEGIN.finditer(block))
    closing = _DOCNO_END.search(block, opening[0].end()) if len(opening) == 1 else None
    if closing is None:
        got = "one without </DOCNO>" if len(opening) == 1 else str(len(opening) or "none")
        raise FileFormatError(
            path, line, f"expected one <DOCNO> in the document that begins here, got {got}. Correct it."
        )
    rest = block[: opening[0].start()] + "\n" + block[closing.end() :]
    doc_id = block[opening[0].end() : closing.start()].strip()
    lines = _TAG.sub(lambda tag: f"</{tag[2].upper()}>\n" if tag[1] else f"\n<{tag[2].upper()}>", rest)
    return SgmlDocument(doc_id, lines, path, line)
