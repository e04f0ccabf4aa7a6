"""Building Lucene indexes with Anserini, including forward arrays; a failed build leaves nothing."""

from __future__ import annotations

import logging
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, MissingFileError
from rerank.files.corpus import ELEMENTS, SgmlDocument, SgmlFiles, check_encoding, read_sgml, sgml_files, skipped_files
from rerank.lucene.arrays import write_arrays
from rerank.lucene.documents import CorpusFiles, SeenIds, write_documents
from rerank.lucene.folder import SUBFOLDER, check_number, check_target, shard_names, staged_folder
from rerank.lucene.jvm import ENGLISH, ask_json, check_language
from rerank.lucene.search import java_threads
from rerank.runtime.progress import progress_bar, track
from rerank.types.ids import MOST_LETTERS, Ids

_BLOCK = 1 << 16  # ids checked at a time
_log = logging.getLogger("rerank")


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
    the order of `fields` (by default title, body, then the others in the document's order). Anserini leaves out
    documents with empty contents: they are counted and a warning is logged.
    """
    target = Path(folder)
    workers = java_threads(threads)
    names = _names_of(shards)
    check_language(language)
    check_target(target, overwrite)
    with staged_folder(target) as staging:
        files = CorpusFiles(_corpus_folders(staging, names), "jsonl")
        fields = fields if fields is None or isinstance(fields, str) else list(fields)
        written = write_documents(documents, files, fields, numbers)
        job = _Job("JsonCollection", written, workers, language, None if fields is None else written)
        _index_shards(staging, names, job, files.counts)
        _finish(staging, target, overwrite)


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
    """Build a Lucene index from TREC SGML (see `files/sgml.py`).

    A document is a `<DOC>`, its id `<DOCNO>`. Its only field `contents` is the text of the elements that Anserini's
    TrecCollection reads (TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP, LEADPARA). Anserini reads files of Unix
    compress (.Z), which are not checked; a warning is logged.
    """
    source = Path(path)
    target = Path(folder)
    workers = java_threads(threads)
    names = _names_of(shards)
    if not source.exists():
        raise MissingFileError(source, "a file or folder of TREC SGML")
    check_language(language)
    encoding = check_encoding(encoding)
    check_target(target, overwrite)
    with staged_folder(target) as staging:
        files = sgml_files(source)
        _warn_of_skipped_files(files)
        if files.packed and names is not None:
            raise InvalidInputError(
                f"{files.packed[0]}: expected plain or .gz files, which can be split over shards, got a file of Unix "
                "compress. Unpack it, or leave the shards out."
            )
        folders = _corpus_folders(staging, names)
        written = CorpusFiles(folders, "sgml")
        _write_sgml(files.read, written, encoding)
        for number, packed in enumerate(files.packed):
            (folders[0] / f"packed{number}.Z").symlink_to(packed.absolute())
        known = None if files.packed else written.counts
        _index_shards(staging, names, _Job("TrecCollection", (), workers, language), known)
        _finish(staging, target, overwrite)


def _warn_of_skipped_files(files: SgmlFiles) -> None:
    for skipped, why in (
        (files.others, "hold no <DOC>"),
        (files.excluded, "are those that Anserini skips (readme*, folders cr, dtd, dtds)"),
    ):
        if skipped:
            _log.warning("%s", skipped_files(skipped, why))
    if files.packed:
        text = "Files of Unix compress are read by Anserini, which drops incomplete documents: %d (%s ...)."
        _log.warning(text, len(files.packed), files.packed[0])


def _names_of(n_shards: int | None) -> list[str] | None:
    """Return the names of the folders of the shards; None for an index without."""
    number = check_number(n_shards)
    return None if number is None else shard_names(number)


def _corpus_folders(staging: Path, names: Sequence[str] | None) -> list[Path]:
    """Make the folders of the files that Anserini indexes: one, or one for each shard."""
    folders = [staging / "corpus" / name for name in names or [""]]
    for folder in folders:
        folder.mkdir(parents=True)
    return folders


def _write_sgml(files: list[Path], written: CorpusFiles, encoding: str) -> None:
    """Write documents in the form that Anserini reads completely."""
    seen = SeenIds()
    without_elements: list[str] = []
    for document in track(read_sgml(files, encoding), "reading documents"):
        _check_sgml_id(document, seen, files, encoding)
        if not document.is_indexed:
            without_elements.append(document.doc_id)
        written.add(document.doc_id, f"<DOC>\n<DOCNO>{document.doc_id}</DOCNO>\n{document.text}\n</DOC>\n")
    written.close()
    if without_elements:
        text = "Documents that hold none of the elements %s: %d (%s)."
        names = ", ".join(without_elements[:3]) + (", ..." if len(without_elements) > 3 else "")
        _log.warning(text, ", ".join(ELEMENTS), len(without_elements), names)


def _check_sgml_id(document: SgmlDocument, seen: SeenIds, files: list[Path], encoding: str) -> None:
    doc_id = document.doc_id
    if doc_id.split() != [doc_id] or min(doc_id) < " ":  # Anserini strips control characters
        raise InvalidInputError(
            f"{document.location}: expected ids without white space (run and qrels files are split there), got "
            f"{doc_id[:80]!r}. Rename it."
        )
    if len(doc_id) > MOST_LETTERS:
        raise InvalidInputError(
            f"{document.location}: expected an id of at most {MOST_LETTERS} characters, got {len(doc_id)}. Shorten it."
        )
    if not seen.add(doc_id):
        first = next(other for other in read_sgml(files, encoding) if other.doc_id == doc_id)
        raise InvalidInputError(
            f"{document.location}: expected each id once, got {doc_id!r} again (first in {first.location}). "
            "Give every document its own id."
        )


@dataclass(frozen=True)
class _Job:
    """Parameters of Anserini's indexer.

    fields  the text fields apart from `contents`
    joined  the fields whose texts make up `contents`, in order, where the user named them; the index notes them
    """

    collection: str
    fields: Sequence[str]
    threads: int
    language: str
    joined: Sequence[str] | None = None


def _index_shards(staging: Path, names: Sequence[str] | None, job: _Job, n_documents: Sequence[int] | None) -> None:
    """Index the files of each shard, one shard after the other; None for `names` is an index without shards."""
    build = secrets.token_hex(16)
    counts = Counter[str]()
    total = None if n_documents is None else sum(n_documents)
    with progress_bar("indexing", total) as advance:
        for name in names or [""]:
            note = None if names is None else {"build": build, "shards": len(names)}
            indexed = counts["indexed"]
            poll = partial(_advance, advance, indexed) if advance else None
            folder = staging / name
            folder.mkdir(exist_ok=True)
            counts.update(_index(staging / "corpus" / name, folder, job, note, poll))
    shutil.rmtree(staging / "corpus")
    n_refused = counts["skipped"] + counts["errors"]
    if total is not None:
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
        _log.warning("Empty documents left out of the index: %d (no run can retrieve them).", counts["empty"])


def _advance(advance: Callable[[int], None], indexed: int) -> None:
    """Set a progress bar to the documents of earlier shards and those of the shard that Java is indexing."""
    advance(indexed + ask_json("indexed"))


def _index(
    corpus: Path, index: Path, job: _Job, note: Mapping[str, Any] | None, poll: Callable[[], None] | None
) -> dict[str, int]:
    """Build one Lucene index; return Anserini's counts."""
    counts: dict[str, int] = ask_json(
        "index",
        poll,
        collection=job.collection,
        input=str(corpus.absolute()),
        index=str(index.absolute()),
        fields=list(job.fields),
        threads=job.threads,
        language=job.language,
        joined=None if job.joined is None else list(job.joined),
        shard=note,
    )
    return counts


def _finish(staging: Path, target: Path, overwrite: bool) -> None:
    """Write the forward arrays, and check the ids (for .Z files the first time) and the target again."""
    _check_ids(write_arrays(staging, staging / SUBFOLDER, made_with_index=True))
    check_target(target, overwrite)


def _check_ids(doc_ids: Ids) -> None:
    """Refuse repeated ids, and ids with white space, which would break the lines of a run; `doc_ids` ascend."""
    for first in range(0, len(doc_ids), _BLOCK):
        block = doc_ids[max(first - 1, 0) : first + _BLOCK]
        repeated = np.flatnonzero(block[1:] == block[:-1])
        if len(repeated):
            raise InvalidInputError(
                f"documents: expected each id once, got {str(block[repeated[0]])!r} again. "
                "Give every document its own id."
            )
        for doc_id in block.tolist():
            if doc_id.split() != [doc_id]:
                raise InvalidInputError(
                    "documents: expected ids without white space (run and qrels files are split there), got "
                    f"{doc_id!r}. Rename it."
                )
