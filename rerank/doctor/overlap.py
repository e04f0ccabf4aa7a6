"""Overlap of training and test queries: near duplicates, by the words of the queries and by their relevant documents.

Figures on test queries that training has seen in another form are those of memory. They say little about new queries.

    cos(p, q)      cosine of the counts of the queries' words (lower case), each word weighted by ln((1 + N) / df)
    Jaccard(p, q)  documents relevant to both, divided by those relevant to one of the two
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rerank.doctor.findings import Finding, at, check
from rerank.doctor.reading import QrelsRows, Rows, TopicRows
from rerank.errors import shown
from rerank.types import Floats, Ints, pointers

COSINE, JACCARD = 0.5, 0.3  # above which a test query is a near duplicate of a training query
_BLOCK = 256  # test queries that are compared with all training queries at once
_WORD = re.compile(r"\w+")


@check("train_qrels", "test_qrels")
def judged_in_both(train: QrelsRows, test: QrelsRows) -> Iterator[Finding]:
    """Queries that are judged for training and for testing."""
    known = set(train.names)
    rows = test.rows_of([name for name in test.names if name in known])
    effect = "figures on the test queries are those of queries that were trained on"
    yield from at(test, "error", rows, lambda row: f"query {test.name(row)} is judged in {train.path} too", effect)


@check("train_topics", "test_topics")
def near_duplicate_topics(train: TopicRows, test: TopicRows) -> Iterator[Finding]:
    """Test queries whose words are nearly those of a training query."""
    values, nearest = nearest_by_words(train.texts, test.texts)
    yield from _near(train, test, values, nearest, COSINE, "cosine of the words")


@check("train_qrels", "test_qrels")
def near_duplicate_judgements(train: QrelsRows, test: QrelsRows) -> Iterator[Finding]:
    """Test queries whose relevant documents are nearly those of a training query."""
    values, nearest = nearest_by_relevant(_relevant(train), _relevant(test))
    yield from _near(train, test, values, nearest, JACCARD, "Jaccard coefficient of the relevant documents")


def nearest_by_words(train: Sequence[str], test: Sequence[str]) -> tuple[Floats, Ints]:
    """Return the greatest cosine of each test query with a training query, and the number of that training query.

    Shapes: cosines float64 (n_test,); nearest int64 (n_test,).
    """
    vectors = _word_vectors([*train, *test])
    return _greatest(vectors[len(train) :], vectors[: len(train)], None)


def nearest_by_relevant(train: Sequence[Iterable[str]], test: Sequence[Iterable[str]]) -> tuple[Floats, Ints]:
    """Return the greatest Jaccard coefficient of each test query with a training query, and that query's number.

    Shapes: coefficients float64 (n_test,); nearest int64 (n_test,).
    """
    sets = _sparse([[(doc, 1) for doc in sorted(set(docs))] for docs in (*train, *test)])
    sizes = np.diff(sets.indptr).astype(np.float64)
    return _greatest(sets[len(train) :], sets[: len(train)], (sizes[len(train) :], sizes[: len(train)]))


def _near(train: Rows, test: Rows, values: Floats, nearest: Ints, least: float, what: str) -> Iterator[Finding]:
    """Yield one finding about the test queries whose value is above `least`; those of equal ids are not counted."""
    others = np.array([train.names[number] for number in nearest.tolist()]) != np.array(test.names)
    near = np.flatnonzero((values > least) & others)

    def describe(row: int) -> str:
        query = int(test.query[row])
        return (
            f"query {test.name(row)} is near {shown(train.names[nearest[query]])} of {train.path} ({what} "
            f"{values[query]:.2f}); {len(near)} of {len(test.names)} queries are above {least}"
        )

    effect = "figures on such queries say little about new ones: report those on the others beside them"
    yield from at(test, "warning", test.first_rows(near), describe, effect)


def _relevant(rows: QrelsRows) -> list[list[str]]:
    """Return the ids of the relevant documents of each query."""
    relevant: list[list[str]] = [[] for _ in rows.names]
    doc_ids = rows.doc_ids.tolist()
    for row in np.flatnonzero(rows.labels > 0).tolist():
        relevant[rows.query[row]].append(str(doc_ids[row]))
    return relevant


def _greatest(left: Any, right: Any, sizes: tuple[Floats, Floats] | None) -> tuple[Floats, Ints]:
    """Return for each row of `left` the greatest product with a row of `right`, and that row's number.

    With the sizes of the rows of both, products p become p / (size of the left row + size of the right row - p).
    """
    values, rows, transposed = np.zeros(left.shape[0]), np.zeros(left.shape[0], dtype=np.int64), right.T.tocsr()
    for first in range(0, left.shape[0] if right.shape[0] else 0, _BLOCK):
        products = (left[first : first + _BLOCK] @ transposed).toarray()
        if sizes is not None:
            total = sizes[0][first : first + _BLOCK, None] + sizes[1][None, :] - products
            products = products / np.where(total > 0, total, 1.0)
        rows[first : first + _BLOCK] = products.argmax(axis=1)
        values[first : first + _BLOCK] = products.max(axis=1, initial=0.0)
    return values, rows


def _word_vectors(texts: Sequence[str]) -> Any:
    """Return the vectors of texts, of norm 1, as a sparse matrix (n_texts, n_words)."""
    counters = [Counter(_WORD.findall(text.lower())) for text in texts]
    matrix = _sparse([list(counter.items()) for counter in counters])
    doc_freq = np.bincount(matrix.indices, minlength=matrix.shape[1])
    matrix.data *= np.log((1.0 + len(texts)) / np.maximum(doc_freq, 1))[matrix.indices]
    rows = np.repeat(np.arange(len(texts)), np.diff(matrix.indptr))
    norms = np.sqrt(np.bincount(rows, matrix.data**2, len(texts)))
    matrix.data /= np.where(norms > 0, norms, 1.0)[rows]
    return matrix


def _sparse(rows: Sequence[Sequence[tuple[str, int]]]) -> Any:
    """Return rows of (name, value) as a sparse matrix with a column for each name."""
    from scipy.sparse import csr_array

    number: dict[str, int] = {}
    columns = [number.setdefault(name, len(number)) for row in rows for name, _ in row]
    values = np.array([value for row in rows for _, value in row], dtype=np.float64)
    indices = np.array(columns, dtype=np.int64)
    return csr_array((values, indices, pointers([len(row) for row in rows])), shape=(len(rows), max(len(number), 1)))
