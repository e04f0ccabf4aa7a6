"""Documents from TREC SGML: `<DOC>` with its `<DOCNO>`, in a file or a folder of files, plain or gzip.

    <DOC>
    <DOCNO> LA010189-0001 </DOCNO>
    <TEXT> ... </TEXT>
    </DOC>

Tags may be in lower case, have attributes and stand anywhere in a line. A document is given in the one form that
Anserini's TrecCollection, which reads line by line, takes whole. What that reader loses without a word is refused here:
a <DOC> without </DOC>, one within another, one without <DOCNO> or with two, and text outside of all documents.
A file without <DOC> is passed over, and so are Anserini's exceptions: folders `cr`, `dtd`, `dtds` and files `readme*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rerank.errors import FileFormatError
from rerank.files.corpus import UNIX_COMPRESS, corpus_files
from rerank.files.source import open_source, shown, text_lines

ELEMENTS = ("TEXT", "HEADLINE", "TITLE", "HL", "HEAD", "TTL", "DD", "DATE", "LP", "LEADPARA")  # those Anserini indexes
_SKIPPED_FOLDERS = frozenset(["cr", "dtd", "dtds"])
_BLOCK = 1 << 20

_HAS_DOC = re.compile(rb"<doc[\s>]", re.IGNORECASE)
_DOC = re.compile(r"<(/?)doc(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO_BEGIN = re.compile(r"<docno(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO = re.compile(rf"{_DOCNO_BEGIN.pattern}(.*?)</docno\s*>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(rf"<(/?)({'|'.join(ELEMENTS)})(?:\s[^<>]*)?>", re.IGNORECASE)
_MARKUP = re.compile(r"<!--.*?-->|<[^<>]*>", re.DOTALL)
_BLANKS = " \t\r\n\x1a"  # 0x1a ends files of DOS


@dataclass(frozen=True)
class SgmlDocument:
    """A document; `text` is everything but its id; each of ELEMENTS begins and ends a line."""

    doc_id: str
    text: str
    file: Path
    line: int

    @property
    def place(self) -> str:
        """File and line of its <DOC>."""
        return f"{self.file}:{self.line}"

    @property
    def is_indexed(self) -> bool:
        """Whether it has an element that Anserini indexes."""
        return _TAG.search(self.text) is not None


@dataclass(frozen=True)
class SgmlFiles:
    """The files of a corpus: `read` by this package, `packed` by Unix compress (left to Anserini), and those passed
    over: `excepted` as Anserini does, `others` for want of a <DOC>.
    """

    read: list[Path]
    packed: list[Path]
    excepted: list[Path]
    others: list[Path]


def sgml_files(path: str | Path) -> SgmlFiles:
    """Sort the files of a corpus."""
    path, sorted_files = Path(path), SgmlFiles([], [], [], [])
    for file in corpus_files(path):
        inside = file.relative_to(path).parts if path.is_dir() else ()
        if _SKIPPED_FOLDERS.intersection(part.lower() for part in inside[:-1]) or (
            inside and inside[-1].lower().startswith("readme")
        ):
            sorted_files.excepted.append(file)
        elif UNIX_COMPRESS.search(file.name):
            sorted_files.packed.append(file)
        elif _has_documents(file):
            sorted_files.read.append(file)
        else:
            sorted_files.others.append(file)
    return sorted_files


def read_sgml(files: list[Path], encoding: str = "utf-8") -> Iterator[SgmlDocument]:
    """Read the documents of files one by one; raises FileFormatError, with the line, for what would be lost."""
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
    begun: int | None = None  # line of the <DOC> that is open
    parts: list[str] = []
    since = 1  # first line of the parts
    line = 0
    for line, content in text_lines(path, encoding):
        end = 0
        for tag in _DOC.finditer(content) if "<" in content else ():
            parts.append(content[end : tag.start()])
            end = tag.end()
            if tag[1] and begun is None:
                raise FileFormatError(path, line, "expected <DOC> before </DOC>, got none. Add it.")
            if tag[1] and begun is not None:
                yield _document(path, begun, "".join(parts))
                begun = None
            elif begun is not None:
                raise _not_closed(path, begun, f"<DOC> on line {line}")
            else:
                _refuse_outside(path, since, "".join(parts))
                begun = line
            parts, since = [], line
        parts += (content[end:], "\n")
    if begun is not None:
        raise _not_closed(path, begun, "the end of the file")
    _refuse_outside(path, since, "".join(parts))


def _not_closed(path: Path, begun: int, found: str) -> FileFormatError:
    return FileFormatError(path, begun, f"expected </DOC> for this <DOC>, got {found}. Add it, or fetch the file anew.")


def _refuse_outside(path: Path, line: int, between: str) -> None:
    """Refuse text outside of all documents; comments and tags alone may stand there."""
    bare = _MARKUP.sub(lambda markup: re.sub(r"[^\n]", " ", markup[0]), between)
    stray = bare.lstrip(_BLANKS)
    if stray:
        raise FileFormatError(
            path,
            line + bare.count("\n", 0, len(bare) - len(stray)),
            f"expected text within <DOC> and </DOC>, got {shown(stray.splitlines()[0])}. Enclose or remove it.",
        )


def _document(path: Path, line: int, block: str) -> SgmlDocument:
    begun, whole = _DOCNO_BEGIN.findall(block), list(_DOCNO.finditer(block))
    if len(begun) != 1 or len(whole) != 1:
        found = "none" if not begun else f"{len(begun)}" if len(begun) > 1 else "one without </DOCNO>"
        raise FileFormatError(
            path, line, f"expected one <DOCNO> in the document that begins here, got {found}. Correct it."
        )
    rest = block[: whole[0].start()] + "\n" + block[whole[0].end() :]
    return SgmlDocument(whole[0][1].strip(), _TAG.sub(_on_its_own_line, rest), path, line)


def _on_its_own_line(tag: re.Match[str]) -> str:
    return f"</{tag[2].upper()}>\n" if tag[1] else f"\n<{tag[2].upper()}>"
