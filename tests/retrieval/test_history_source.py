"""The history as a source of candidates: its scores are those of the features, out of fold."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.retrieval.base import SearchInputs, source
from rerank.types import Run, query_rows
from tests.history.conftest import world


def test_documents_of_the_history_are_those_with_the_features_and_their_sum() -> None:
    small = world()
    forward, history = small.forward, small.history()
    terms = {**small.queries, **small.other}
    inputs = SearchInputs(forward, list(terms), list(terms.values()), lambda k: Run.of({}), history=history.on(forward))
    run = source("history").search(inputs, 1000)
    data = small.features(history, forward)
    query_ids = data.query_ids[query_rows(data.query_ptr)].tolist()
    expected: dict[str, dict[str, float]] = {query_id: {} for query_id in terms}
    both = [data.column(f"history.neighbours{suffix}") for suffix in ("", "_smoothed")]
    for query_id, doc, value in zip(query_ids, data.doc_ids.tolist(), np.nansum(both, axis=0), strict=True):
        if value > 0.0:
            expected[query_id][doc] = float(value)
    assert sum(map(len, expected.values())) > 50
    for query_id in terms:
        assert run[query_id] == pytest.approx(expected[query_id], abs=2e-6), query_id
    assert source("history").search(inputs, 2).doc_ids.tolist() == run.head(2).doc_ids.tolist()
