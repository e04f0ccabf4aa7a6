"""Checks across files: judgements and runs, training and test data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, at, check, missing_queries
from rerank.doctor.reading import DataRows, QrelsRows, RunRows
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
    known = set(train.names)
    rows = test.rows_of([name for name in test.names if name in known])
    effect = "figures on the test data are those of queries that were trained on"
    yield from at(test, "error", rows, lambda row: f"query {test.name(row)} is in {train.path} too", effect)


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
