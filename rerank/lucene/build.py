"""Building Lucene indexes with Anserini, forward arrays included: whole, or not at all."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, MissingFileError
from rerank.files.corpus import check_encoding, passed_over
from rerank.files.sgml import ELEMENTS, SgmlDocument, SgmlFiles, read_sgml, sgml_files
from rerank.lucene.arrays import write_arrays
from rerank.lucene.documents import DOCUMENTS_A_FILE, write_documents
from rerank.lucene.folder import check_target, staged_folder
from rerank.lucene.jvm import ask_json
from rerank.lucene.language import ENGLISH, check_language
from rerank.lucene.postings import SUBFOLDER
from rerank.lucene.progress import Progress, stage
from rerank.lucene.search import java_threads
from rerank.types.ids import MOST_LETTERS, Ids

_log = logging.getLogger("rerank")


@dataclass(frozen=True)
class BuildCounts:
    """What a build made: documents indexed, documents left out for being empty, names of the text fields."""

    n_indexed: int
    n_empty: int
    fields: tuple[str, ...]


def build_index(
    documents: Iterable[Mapping[str, Any]],
    folder: str | Path,
    fields: Iterable[str] | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress = None,
    *,
    numbers: Iterable[str] | None = None,
    language: str = ENGLISH,
) -> BuildCounts:
    """Build a Lucene index, positions, document vectors and forward arrays included, of a stream of documents.

    documents  mappings with `id` and text fields (text or lists of text), or `id` and `contents`
    folder     where the index goes; it appears when it is whole
    fields     names of the text fields; None for every field that holds text
    threads    Java threads; None for one a core
    overwrite  whether an index that stands there may be replaced (once the new one is whole)
    progress   True for a bar on stderr, or a function (stage, done, total)
    numbers    names of the fields whose numbers become features; None for every field that holds numbers
    language   code of the analyser, as in Anserini's `-language`; the index notes it
    Values that are neither text nor a number are passed over, unless `fields` names them: that is an error.
    The field `contents`, the whole document, is the document's own or else all its text fields, joined by a
    space in the order of `fields` (None: title, body, then as the document has them). Anserini leaves
    documents out whose contents are empty: they are counted and a warning is logged.
    Raises InvalidInputError for a document without id or text, an id that returns or holds white space, or
    no document at all; IndexFolderError where `folder` may not be written over.
    """
    target, workers = Path(folder), java_threads(threads)
    check_language(language)
    check_target(target, overwrite)
    with staged_folder(target) as staging:
        corpus = staging / "corpus"
        corpus.mkdir()
        with stage(progress, "reading documents") as done:
            written = write_documents(documents, corpus, fields, done, numbers)
        job = _Job("JsonCollection", written.fields, workers, language)
        counts = _index(corpus, staging, job, written.n_documents, progress)
        shutil.rmtree(corpus)
        _finish(staging, target, overwrite, progress)
    return counts


def build_index_from_sgml(
    path: str | Path,
    folder: str | Path,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Progress = None,
    *,
    language: str = ENGLISH,
    encoding: str = "utf-8",
) -> BuildCounts:
    """Build a Lucene index of TREC SGML: a file or a folder of files, plain or `.gz` (see `files/sgml.py`).

    encoding  of the text, e.g. `latin-1`; it extends ASCII
    A document is `<DOC>`, its id `<DOCNO>`; its one field `contents` is the text of the elements that
    Anserini's TrecCollection takes (TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP, LEADPARA).
    Files of Unix compress (.Z) are left to Anserini, unchecked; a warning says so. The other arguments and errors are
    those of `build_index`; FileFormatError is raised, with the line, for a document that is not whole.
    """
    source, target, workers = Path(path), Path(folder), java_threads(threads)
    if not source.exists():
        raise MissingFileError(source, "a file or folder of TREC SGML")
    check_language(language)
    encoding = check_encoding(encoding)
    check_target(target, overwrite)
    with staged_folder(target) as staging:
        corpus = staging / "corpus"
        corpus.mkdir()
        files = sgml_files(source)
        _note_passed_over(files)
        with stage(progress, "reading documents") as done:
            n_documents = _write_sgml(files.read, corpus, encoding, done)
        for number, packed in enumerate(files.packed):
            (corpus / f"packed{number}.Z").symlink_to(packed.absolute())
        known = None if files.packed else n_documents
        counts = _index(corpus, staging, _Job("TrecCollection", (), workers, language), known, progress)
        shutil.rmtree(corpus)
        _finish(staging, target, overwrite, progress)
    return counts


def _note_passed_over(files: SgmlFiles) -> None:
    for others, why in (
        (files.others, "hold no <DOC>"),
        (files.excepted, "are those that Anserini passes over (readme*, folders cr, dtd, dtds)"),
    ):
        if others:
            _log.warning("%s", passed_over(others, why))
    if files.packed:
        text = "Files of Unix compress are read by Anserini, which loses documents that are not whole: %d (%s ...)."
        _log.warning(text, len(files.packed), files.packed[0])


def _write_sgml(files: list[Path], folder: Path, encoding: str, done: Callable[[int], None]) -> int:
    """Write documents in the form that Anserini takes whole, a thousand a file; return how many there are."""
    seen: set[str] = set()
    bare: list[str] = []
    documents = read_sgml(files, encoding)
    while batch := list(islice(documents, DOCUMENTS_A_FILE)):
        for document in batch:
            _check_sgml_id(document, seen, files, encoding)
            if not document.is_indexed:
                bare.append(document.doc_id)
        text = "".join(f"<DOC>\n<DOCNO>{each.doc_id}</DOCNO>\n{each.text}\n</DOC>\n" for each in batch)
        (folder / f"{len(seen):012d}.sgml").write_text(text, encoding="utf8")
        done(len(seen))
    if bare:
        text = "Documents that hold none of the elements %s: %d (%s%s)."
        _log.warning(text, ", ".join(ELEMENTS), len(bare), ", ".join(bare[:3]), ", ..." if len(bare) > 3 else "")
    return len(seen)


def _check_sgml_id(document: SgmlDocument, seen: set[str], files: list[Path], encoding: str) -> None:
    doc_id = document.doc_id
    if doc_id.split() != [doc_id] or min(doc_id) < " ":  # Anserini takes control characters off
        raise InvalidInputError(
            f"{document.place}: expected ids without white space (run and qrels files are split there), got "
            f"{doc_id[:80]!r}. Rename it."
        )
    if len(doc_id) > MOST_LETTERS:
        raise InvalidInputError(
            f"{document.place}: expected an id of at most {MOST_LETTERS} characters, got {len(doc_id)}. Shorten it."
        )
    if doc_id in seen:
        first = next(other for other in read_sgml(files, encoding) if other.doc_id == doc_id)
        raise InvalidInputError(
            f"{document.place}: expected each id once, got {doc_id!r} again. It is that of {first.place} "
            "too: give every document its own."
        )
    seen.add(doc_id)


@dataclass(frozen=True)
class _Job:
    """What Anserini is asked for; `fields` are those beside `contents`."""

    collection: str
    fields: Sequence[str]
    threads: int
    language: str


def _index(corpus: Path, index: Path, job: _Job, n_documents: int | None, progress: Progress) -> BuildCounts:
    with stage(progress, "indexing", n_documents) as done:
        counts = ask_json(
            "index",
            _poll(done) if progress else None,
            collection=job.collection,
            input=str(corpus.absolute()),
            index=str(index.absolute()),
            fields=list(job.fields),
            threads=job.threads,
            language=job.language,
        )
    refused = counts["skipped"] + counts["errors"]
    if n_documents is not None:
        refused = n_documents - counts["indexed"] - counts["empty"]
    if refused:
        raise InvalidInputError(
            f"documents: expected all of them to be indexed, got {refused} that Anserini refuses. "
            "Correct what its messages above name."
        )
    if not counts["indexed"]:
        raise InvalidInputError(
            f"documents: expected at least one with text, got none ({counts['empty']} empty ones). "
            "Check the corpus and its format."
        )
    if counts["empty"]:
        _log.warning("Empty documents left out of the index: %d (no run can retrieve them).", counts["empty"])
    return BuildCounts(counts["indexed"], counts["empty"], ("contents", *job.fields))


def _poll(done: Callable[[int], None]) -> Callable[[], None]:
    return lambda: done(ask_json("indexed"))


def _finish(staging: Path, target: Path, overwrite: bool, progress: Progress) -> None:
    """Make the forward arrays; look once more at the ids (those of .Z files are not checked before), at the target."""
    arrays = staging / SUBFOLDER
    write_arrays(staging, arrays, made_with_index=True, progress=progress)
    _check_ids(np.sort(np.load(arrays / "doc_ids.npy")))
    check_target(target, overwrite)


def _check_ids(doc_ids: Ids) -> None:
    """Refuse ids that return, or that would break the lines of a run; `doc_ids` ascend."""
    twice = np.flatnonzero(doc_ids[1:] == doc_ids[:-1])
    if len(twice):
        raise InvalidInputError(
            f"documents: expected each id once, got {str(doc_ids[twice[0]])!r} again. Give every document its own id."
        )
    for doc_id in doc_ids.tolist():
        if doc_id.split() != [doc_id]:
            raise InvalidInputError(
                f"documents: expected ids without white space (run and qrels files are split there), got {doc_id!r}. "
                "Rename it."
            )
