"""Checks of index folders: forward arrays, documents without text, empty fields.

Nothing is built, and Java does not start. Arrays are looked for inside the index folder only, not in the user's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, check
from rerank.doctor.reading import IndexContents
from rerank.errors import shown
from rerank.types import Ints


@check("index")
def arrays_not_usable(index: IndexContents) -> Iterator[Finding]:
    """Forward arrays that are missing, damaged, or of another index."""
    if index.state == "damaged":
        yield Finding("error", index.arrays, (), 1, index.message, "they have to be made again")
    if index.state == "other":
        message = f"the forward arrays are of another state of {index.path}"
        effect = "rerank refuses the index, or makes the arrays again if Anserini or Pyserini built it"
        yield Finding("error", index.arrays, (), 1, message, effect)
    if index.state == "missing":
        effect = "they are made when features are first computed; documents and fields are not checked here"
        yield Finding("note", index.path, (), 1, "no forward arrays", effect)


@check("index")
def documents_without_text(index: IndexContents) -> Iterator[Finding]:
    """Documents without a term in any field."""
    if index.forward is not None:
        lengths = [np.asarray(field.lengths) for field in index.forward.fields.values()]
        has_text = np.any([column > 0 for column in lengths], axis=0)
        empty = np.flatnonzero(~has_text & (index.forward.doc_ids != ""))
        effect = "BM25 does not retrieve them, and their text features say nothing"
        yield from _about_documents(index, "warning", empty, "has no text", effect)


@check("index")
def duplicate_ids(index: IndexContents) -> Iterator[Finding]:
    """Document ids that occur twice."""
    if index.forward is not None:
        doc_ids = index.forward.doc_ids  # in order: equal ids are adjacent
        again = 1 + np.flatnonzero((doc_ids[1:] == doc_ids[:-1]) & (doc_ids[1:] != ""))
        effect = "features are those of the first document with the id"
        yield from _about_documents(index, "error", again, "occurs again", effect)


@check("index")
def deleted_documents(index: IndexContents) -> Iterator[Finding]:
    """Documents that are deleted but not merged away."""
    if index.forward is not None:
        count = int(np.count_nonzero(index.forward.doc_ids == ""))
        if count:
            effect = "BM25's statistics include them until Lucene merges them away, statistics of features do not"
            yield Finding("note", index.path, (), count, "deleted documents", effect)


@check("index")
def empty_shards(index: IndexContents) -> Iterator[Finding]:
    """Shards without documents."""
    empty = [name for name, size in index.shards.items() if not size]
    if empty:
        effect = "they cost time at each opening; fewer shards give the same results"
        yield Finding("note", index.path, (), len(empty), f"shards without documents: {', '.join(empty)}", effect)


@check("index")
def empty_fields(index: IndexContents) -> Iterator[Finding]:
    """Text fields without a term, and numeric fields without a number."""
    if index.forward is not None:
        empty = [name for name, field in index.forward.fields.items() if not field.n_tokens]
        empty += [name for name, values in index.forward.numbers.items() if np.isnan(values).all()]
        if empty:
            effect = "features of these fields are constant; leave them out of the recipe"
            yield Finding("warning", index.path, (), len(empty), f"fields without content: {', '.join(empty)}", effect)


def _about_documents(index: IndexContents, severity: str, rows: Ints, message: str, effect: str) -> Iterator[Finding]:
    """Yield a finding about documents, given by number; none if there are none."""
    if len(rows) and index.forward is not None:
        doc_ids: NDArray[Any] = index.forward.doc_ids
        yield Finding(severity, index.path, (), len(rows), f"document {shown(str(doc_ids[rows[0]]))} {message}", effect)
