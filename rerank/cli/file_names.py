"""File names in errors: data structures do not know the file that they were read from, the command line does."""

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
def errors_with_files(files: Mapping[str, str | Path | None]) -> Iterator[None]:
    """Replace what an error is about by the name of its file, in the errors of the block.

    files  what errors call an object (`training data`, `run`) -> its file; None if there is none
    """
    try:
        yield
    except (InvalidInputError, ModelMismatchError) as error:
        subject, _, message = str(error).partition(": ")
        file = files.get(subject)
        if file is None:
            raise
        raise type(error)(f"{file}: {message}") from error


def check_queries(run: Run, path: Path, topics: Topics, topics_path: Path) -> None:
    """Refuse a run with a query that has no topic; the error has the line of the run."""
    unknown = next((query_id for query_id in run if query_id not in topics), None)
    if unknown is not None:
        raise FileFormatError(
            path,
            _line(path, {QUERY: unknown}),
            f"expected queries of {topics_path}, got {unknown!r}. Give the topics that the run was made for.",
        )


def check_documents(run: Run, path: Path, index: Index) -> None:
    """Refuse a run with a document that is not in the index; the error has the line of the run."""
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


def _line(path: Path, values: Mapping[int, str]) -> int | None:
    """Return the first line of a run with these values by column; the file is read again only for an error."""
    for line, text in text_lines(path):
        columns = text.encode().split()  # at ASCII white space, as runs are
        if len(columns) > max(values) and all(columns[column] == value.encode() for column, value in values.items()):
            return line
    return None
