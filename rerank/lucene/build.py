"""Building Lucene indexes with Anserini, including forward arrays; a failed build leaves nothing.

The list of Java's classes for the archive of `rerank.lucene.class_archive`: those that a build and a search load.
"""

import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rerank.errors import InvalidInputError, MissingFileError, first_names, log
from rerank.files.corpus import check_encoding, warn_of_skipped
from rerank.files.sgml import ELEMENTS, read_sgml, sgml_files
from rerank.lucene.arrays import write_arrays
from rerank.lucene.commits import size_of_files
from rerank.lucene.documents import ID_EXPECTED, CorpusFiles, is_id, write_documents
from rerank.lucene.folder import check_target, staged_index
from rerank.lucene.jvm import add_options, start_java
from rerank.lucene.languages import ENGLISH, check_language
from rerank.lucene.requests import ask_json
from rerank.lucene.search import Searcher, java_threads
from rerank.lucene.shards import SUBFOLDER, shard_names
from rerank.runtime.output import path_of
from rerank.runtime.progress import progress_bar, track


def build_index(
    documents: Iterable[Mapping[str, Any]],
    folder: str | Path,
    fields: Iterable[str] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    *,
    numbers: Iterable[str] | None = None,
    language: str = ENGLISH,
    shards: int | None = None,
) -> None:
    """Build a Lucene index with positions, document vectors and forward arrays from documents.

    The field `contents`, the whole document, is the document's own or otherwise its text fields, joined by a space in
    the order of `fields` (by default title, body, then the others by their names). Anserini leaves out
    documents with empty contents: they are counted and a warning is logged.
    """
    fields = fields if fields is None or isinstance(fields, str) else list(fields)

    def write(files: CorpusFiles) -> dict[str, Any]:
        written = write_documents(documents, files, fields, numbers)
        # The fields apart from `contents`, and those which make it up, in order: the index notes them.
        return {"collection": "JsonCollection", "fields": written, "joined": None if fields is None else written}

    _build(path_of(folder), "jsonl", write, threads, overwrite, language, shards)


def build_index_from_sgml(
    path: str | Path,
    folder: str | Path,
    threads: int | None = None,
    overwrite: bool = False,
    *,
    language: str = ENGLISH,
    encoding: str = "utf-8",
    shards: int | None = None,
) -> None:
    """Build a Lucene index from TREC SGML (see `rerank/files/sgml.py`).

    A document is a `<DOC>`, its id `<DOCNO>`. Its only field `contents` is the text of the elements that Anserini's
    TrecCollection reads (TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP, LEADPARA).
    """
    source = Path(path)
    if not source.exists():
        raise MissingFileError(source, "a file or folder of TREC SGML")
    encoding = check_encoding(encoding)

    def write(files: CorpusFiles) -> dict[str, Any]:
        found = sgml_files(source)
        warn_of_skipped(found.others, "hold no <DOC>")
        warn_of_skipped(found.excluded, "are those that Anserini skips (readme*, folders cr, dtd, dtds)")
        _write_sgml(found.read, files, encoding)
        return {"collection": "TrecCollection", "fields": [], "joined": None}

    _build(path_of(folder), "sgml", write, threads, overwrite, language, shards)


def _build(
    target: Path,
    ending: str,
    write: Callable[[CorpusFiles], dict[str, Any]],
    threads: int | None,
    overwrite: bool,
    language: str,
    shards: int | None,
) -> None:
    """Build an index; `write` writes its documents, and returns what Anserini's indexer has to know of them."""
    job = {"threads": java_threads(threads), "language": check_language(language)}
    names = shard_names(shards)
    check_target(target, overwrite)
    with staged_index(target) as staging:
        folders = [staging / "corpus" / name for name in names or [""]]
        for folder in folders:
            folder.mkdir(parents=True)
        files = CorpusFiles(folders, ending)
        written = write(files)
        start_java(sum(map(size_of_files, folders)))
        _index_shards(staging, names, job | written, files.counts)
        write_arrays(staging, staging / SUBFOLDER, made_with_index=True)
        check_target(target, overwrite)  # again: it may have been made meanwhile


def _write_sgml(files: list[Path], written: CorpusFiles, encoding: str) -> None:
    """Write documents in the form that Anserini reads completely."""
    seen: set[str] = set()
    without_elements: list[str] = []
    for document in track(read_sgml(files, encoding), "reading documents"):
        doc_id = document.doc_id
        if not is_id(doc_id) or min(doc_id) < " ":  # Anserini strips control characters
            raise InvalidInputError(f"{document.location}: {ID_EXPECTED}, got {doc_id[:80]!r}. Rename it.")
        if doc_id in seen:
            first = next(other for other in read_sgml(files, encoding) if other.doc_id == doc_id)
            raise InvalidInputError(
                f"{document.location}: expected each id once, got {doc_id!r} again (first in {first.location}). "
                "Give every document its own id."
            )
        seen.add(doc_id)
        if not document.is_indexed:
            without_elements.append(doc_id)
        written.add(doc_id, f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n{document.text}\n</DOC>\n")
    written.close()
    if without_elements:
        log.warning(
            "Documents that hold none of the elements %s: %d (%s).",
            ", ".join(ELEMENTS),
            len(without_elements),
            first_names(without_elements),
        )


def _index_shards(
    staging: Path, names: Sequence[str] | None, job: Mapping[str, Any], n_documents: Sequence[int]
) -> None:
    """Index the files of each shard, one shard after the other; None for `names` is an index without shards.

    job  parameters of Anserini's indexer
    """
    build = secrets.token_hex(16)
    counts = Counter[str]()
    total = sum(n_documents)
    with progress_bar("indexing", total) as advance:
        for name in names or [""]:
            note = None if names is None else {"build": build, "shards": len(names)}
            poll = partial(_advance, advance, counts["indexed"]) if advance else None
            folder = staging / name
            folder.mkdir(exist_ok=True)
            corpus = str((staging / "corpus" / name).absolute())
            counts.update(ask_json("index", poll, input=corpus, index=str(folder.absolute()), shard=note, **job))
    shutil.rmtree(staging / "corpus")
    n_refused = total - counts["indexed"] - counts["empty"]
    if n_refused:
        raise InvalidInputError(
            f"documents: expected all of them to be indexed, got {n_refused} that Anserini refuses. "
            "Correct what its messages above name."
        )
    if not counts["indexed"]:
        raise InvalidInputError(
            f"documents: expected at least one with text, got none ({counts['empty']} empty ones). "
            "Check the corpus and its format."
        )
    if counts["empty"]:
        log.warning("Empty documents left out of the index: %d (no run can retrieve them).", counts["empty"])


def _advance(advance: Callable[[int], None], indexed: int) -> None:
    """Set a progress bar to the documents of earlier shards and those of the shard that Java is indexing."""
    advance(indexed + ask_json("indexed"))


def load_classes(class_list: str, folder: str) -> None:
    """Index and search in this process, whose Java writes the names of the classes that it loads to a file."""
    add_options("-Xshare:off", f"-XX:DumpLoadedClassList={class_list}")
    index = Path(folder) / "index"
    build_index(({"id": f"d{number}", "title": "a title", "body": "the words of a body"} for number in range(9)), index)
    with Searcher(index) as searcher:
        searcher.search({"q": "title words"}, 10)
        searcher.search({"q": "title words", "r": "body"}, 10)
        searcher.analyze(["some words"])
        searcher.documents([0])
