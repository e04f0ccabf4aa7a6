"""Building Lucene indexes with Anserini, forward arrays included: whole, or not at all."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, MissingFileError
from rerank.ids import Ids
from rerank.lucene.arrays import write_arrays
from rerank.lucene.documents import write_documents
from rerank.lucene.folder import check_target, staged_folder
from rerank.lucene.jvm import ask_json
from rerank.lucene.language import ENGLISH, check_language
from rerank.lucene.postings import SUBFOLDER
from rerank.lucene.progress import Progress, stage
from rerank.lucene.search import java_threads

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
) -> BuildCounts:
    """Build a Lucene index of TREC SGML: a file or a folder of files, plain or `.gz`.

    A document is `<DOC>`, its id `<DOCNO>`; its one field `contents` is the text of the elements that
    Anserini's TrecCollection takes (TEXT, HEADLINE, TITLE, HL, HEAD, TTL, DD, DATE, LP, LEADPARA).
    The other arguments and errors are those of `build_index`.
    """
    source, target, workers = Path(path), Path(folder), java_threads(threads)
    if not source.exists():
        raise MissingFileError(source, "a file or folder of TREC SGML")
    check_language(language)
    check_target(target, overwrite)
    with staged_folder(target) as staging:
        corpus = source
        if source.is_file():
            corpus = staging / "corpus"
            corpus.mkdir()
            (corpus / source.name).symlink_to(source.absolute())
        counts = _index(corpus, staging, _Job("TrecCollection", (), workers, language), None, progress)
        if corpus != source:
            shutil.rmtree(corpus)
        _finish(staging, target, overwrite, progress)
    return counts


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
            f"documents: expected all of them to be indexed, found {refused} that Anserini refuses; "
            "mend what its messages above name."
        )
    if not counts["indexed"]:
        raise InvalidInputError(
            f"documents: expected at least one with text, found none ({counts['empty']} empty ones); "
            "check the corpus and its format."
        )
    if counts["empty"]:
        _log.warning("Empty documents left out of the index: %d (no run can retrieve them).", counts["empty"])
    return BuildCounts(counts["indexed"], counts["empty"], ("contents", *job.fields))


def _poll(done: Callable[[int], None]) -> Callable[[], None]:
    return lambda: done(ask_json("indexed"))


def _finish(staging: Path, target: Path, overwrite: bool, progress: Progress) -> None:
    """Make the forward arrays; look once more at the ids (SGML is not checked before) and at the target."""
    arrays = staging / SUBFOLDER
    write_arrays(staging, arrays, made_with_index=True, progress=progress)
    _check_ids(np.sort(np.load(arrays / "doc_ids.npy")))
    check_target(target, overwrite)


def _check_ids(doc_ids: Ids) -> None:
    """Refuse ids that return, or that would break the lines of a run; `doc_ids` ascend."""
    twice = np.flatnonzero(doc_ids[1:] == doc_ids[:-1])
    if len(twice):
        raise InvalidInputError(
            f"documents: expected each id once, found {str(doc_ids[twice[0]])!r} again; give every document its own id."
        )
    for doc_id in doc_ids.tolist():
        if doc_id.split() != [doc_id]:
            raise InvalidInputError(
                f"documents: expected ids without white space (run and qrels files are split there), found {doc_id!r}; "
                "rename it."
            )
