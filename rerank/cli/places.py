"""Errors begin with the file that they are about: the records that rooms hand to each other know none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.files.source import text_lines

if TYPE_CHECKING:
    from rerank.types import Run, Topics
    from rerank.workflows.index import Index

QUERY, DOCUMENT = 0, 2  # columns of a run


@contextmanager
def places(files: Mapping[str, str | Path | None]) -> Iterator[None]:
    """Put a file's name in the place of a record's, in the errors of the block.

    files  record as errors call it (`training data`, `run`) -> file; None where there is none
    """
    try:
        yield
    except (InvalidInputError, ModelMismatchError) as error:
        record, _, message = str(error).partition(": ")
        file = files.get(record)
        if file is None:
            raise
        raise type(error)(f"{file}: {message}") from error


def check_queries(run: Run, path: Path, topics: Topics, topics_path: Path) -> None:
    """Refuse a run with a query that the topics lack; the error names the run's line."""
    unknown = next((query_id for query_id in run if query_id not in topics), None)
    if unknown is not None:
        raise FileFormatError(
            path,
            _line(path, {QUERY: unknown}),
            f"expected queries of {topics_path}, got {unknown!r}. Give the topics that the run was made for.",
        )


def check_documents(run: Run, path: Path, index: Index) -> None:
    """Refuse a run with a document that the index lacks; the error names the run's line."""
    unknown = np.flatnonzero(index.forward.doc_numbers(run.doc_ids) < 0)
    if len(unknown):
        query = int(np.searchsorted(run.query_ptr, unknown[0], side="right")) - 1
        doc_id = str(run.doc_ids[unknown[0]])
        raise FileFormatError(
            path,
            _line(path, {QUERY: str(run.query_ids[query]), DOCUMENT: doc_id}),
            f"expected documents of {index.path}, got {doc_id!r} ({len(unknown)} such rows in all). "
            "Use the index that the run was made on.",
        )


def _line(path: Path, wanted: Mapping[int, str]) -> int | None:
    """Return the first line of a run that holds these columns: it is read again only when an error must say it."""
    for line, text in text_lines(path):
        columns = text.encode().split()  # at ASCII's white space, as runs are
        if len(columns) > max(wanted) and all(columns[place] == value.encode() for place, value in wanted.items()):
            return line
    return None
