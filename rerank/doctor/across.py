"""Checks across files: judgements and runs, training and test data, and the overlap of training and test queries.

Figures on test queries that training has seen in another form are those of memory. They say little about new queries.
Near duplicates are found by the words of the queries and by their relevant documents:

    cos(p, q)      cosine of the counts of the queries' words (lower case), each word weighted by ln((1 + N) / df)
    Jaccard(p, q)  documents relevant to both, divided by those relevant to one of the two
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, at, check, missing_queries
from rerank.doctor.reading import DataRows, QrelsRows, Rows, RunRows, TopicRows
from rerank.errors import shown
from rerank.types import Floats, Ints, pointers
from rerank.types.ids import id_bytes, row_codes


@check("qrels", "run")
def qrels_and_run(qrels: QrelsRows, run: RunRows) -> Iterator[Finding]:
    """Judged queries that are not in a run, and the reverse."""
    effect = "it does not count in the run's means, or counts 0 with `evaluate -c`: compare runs on the same queries"
    yield from missing_queries(qrels, run, "warning", "judged query", effect)
    yield from missing_queries(run, qrels, "note", "query", "without judgements it does not count in the means")


@check("qrels", "run")
def documents_not_judged(qrels: QrelsRows, run: RunRows) -> Iterator[Finding]:
    """Judged queries without a judged document in the run; if these are most queries, ids probably differ."""
    numbers = {name: number for number, name in enumerate(qrels.names)}
    of_run = np.array([numbers.get(name, -1) for name in run.names], dtype=np.int64)
    judged = np.isin(row_codes(of_run[run.query], run.doc_ids), row_codes(qrels.query, qrels.doc_ids))
    counts = np.bincount(run.query[judged], minlength=len(run.names))
    rows = run.first_rows(np.flatnonzero((counts == 0) & (of_run >= 0)))

    def describe(row: int) -> str:
        return f"no document of query {run.name(row)} is judged in {qrels.path}"

    if 2 * len(rows) > np.count_nonzero(of_run >= 0):
        effect = "all measures are 0 in most queries: do qrels and run use the same document ids?"
        yield from at(run, "warning", rows, describe, effect)
    else:
        yield from at(run, "note", rows, describe, "all measures are 0 there")


@check("train", "test")
def queries_in_both(train: DataRows, test: DataRows) -> Iterator[Finding]:
    """Queries that are in both training and test data."""
    effect = "figures on the test data are those of queries that were trained on"
    yield from _in_both(train, test, "is in", effect)


@check("train", "test")
def rows_in_both(train: DataRows, test: DataRows) -> Iterator[Finding]:
    """Rows that are in both training and test data, in any query; rows of zeros are ignored."""
    width = max(train.X.shape[1], test.X.shape[1])
    train_rows, test_rows = _row_bytes(train, width), _row_bytes(test, width)
    known, codes = (row_codes(np.zeros(len(rows), dtype=np.int64), rows) for rows in (train_rows, test_rows))
    rows = np.flatnonzero(np.isin(codes, known) & test.X.any(axis=1))
    rows = rows[np.isin(test_rows[rows], train_rows[np.isin(known, codes[rows])])]
    share = f"{len(rows) / len(test_rows):.2%} of the rows are in {train.path} too, with the same features and label"
    yield from at(test, "warning", rows, share, "the model has seen them with their labels: figures are too good")


def _row_bytes(data: DataRows, width: int) -> NDArray[Any]:
    """Return label and features of each row as bytes; a feature that is not in the file is 0."""
    rows = np.zeros((len(data.query), width + 1), dtype=np.float32)
    rows[:, 1 : data.X.shape[1] + 1] = data.X
    rows[:, 0] = 0 if data.labels is None else data.labels
    rows += 0.0  # -0 becomes 0
    return id_bytes(rows.view(f"S{4 * (width + 1)}")[:, 0])


COSINE, JACCARD = 0.5, 0.3  # above which a test query is a near duplicate of a training query
_BLOCK = 256  # test queries that are compared with all training queries at once
_WORD = re.compile(r"\w+")


@check("train_qrels", "test_qrels")
def judged_in_both(train: QrelsRows, test: QrelsRows) -> Iterator[Finding]:
    """Queries that are judged for training and for testing."""
    effect = "figures on the test queries are those of queries that were trained on"
    yield from _in_both(train, test, "is judged in", effect)


def _in_both(train: Rows, test: Rows, where: str, effect: str) -> Iterator[Finding]:
    """Yield one finding about the queries of both files."""
    known = set(train.names)
    rows = test.rows_of([name for name in test.names if name in known])
    yield from at(test, "error", rows, lambda row: f"query {test.name(row)} {where} {train.path} too", effect)


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
