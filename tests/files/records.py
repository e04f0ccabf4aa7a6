"""Ranking data for tests: drawn by Hypothesis, and a comparison of two records."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rerank.types import RankingData, pointers
from rerank.types.ids import id_array
from rerank.types.ranking_data import weight_members
from rerank.types.retriever import Retriever

words = st.text("abcé09._-:", min_size=1, max_size=4)
finite = st.floats(allow_nan=False, allow_infinity=False)
grades, shares = st.floats(-(2.0**31), 2.0**31), st.floats(0.0, 1e300)
json_values = st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=5)), max_size=2)
numbers = st.floats(0, allow_nan=False, allow_infinity=False)
retrievers = st.builds(Retriever.of_tag, words) | st.builds(Retriever.bm25, numbers, numbers, st.text(min_size=1))


@st.composite
def ranking_data(draw: st.DrawFn, min_rows: int = 1) -> RankingData:
    """Draw data with any of the members that may be missing; every query has at least `min_rows` rows."""
    counts = draw(st.lists(st.integers(min_rows, 4), min_size=1, max_size=4))
    names = draw(st.lists(words, min_size=len(counts), max_size=len(counts), unique=True))
    n_rows, n_features = sum(counts), draw(st.integers(0, 4))
    docs = draw(st.lists(words, min_size=n_rows, max_size=n_rows, unique=True))
    X = draw(hnp.arrays(np.float32, (n_rows, n_features), elements=st.floats(width=32, allow_infinity=False)))
    features = draw(st.lists(words, min_size=n_features, max_size=n_features, unique=True))

    def optional(length: int, values: st.SearchStrategy[float]) -> np.ndarray | None:
        return draw(st.none() | hnp.arrays(np.float64, length, elements=values))

    weights = {"weights": optional(len(counts), shares)}
    if draw(st.booleans()):
        weights = weight_members(optional(n_rows, shares), pointers(counts))
    ideal = draw(st.none() | st.lists(st.lists(grades, max_size=3), min_size=len(counts), max_size=len(counts)))
    return RankingData(
        id_array(names),
        pointers(counts),
        id_array(docs),
        X,
        tuple(features),
        labels=optional(n_rows, grades),
        base_scores=optional(n_rows, finite),
        ideal_labels=None if ideal is None else np.array([x for part in ideal for x in part], dtype=np.float64),
        ideal_ptr=None if ideal is None else pointers([len(part) for part in ideal]),
        recipe=draw(st.none() | json_values),
        fingerprint=draw(st.none() | json_values),
        retriever=draw(st.none() | retrievers),
        run_retrievers=draw(st.dictionaries(words, retrievers, max_size=2)),
        **weights,
    )


def assert_same(actual: RankingData, expected: RankingData) -> None:
    assert actual.feature_names == expected.feature_names
    assert actual.recipe == expected.recipe
    assert actual.fingerprint == expected.fingerprint
    assert actual.retriever == expected.retriever
    assert actual.run_retrievers == expected.run_retrievers
    arrays = ("query_ids", "query_ptr", "doc_ids", "X", "labels", "base_scores", "weights", "row_weights")
    for name in (*arrays, "ideal_labels", "ideal_ptr"):
        ours, theirs = getattr(actual, name), getattr(expected, name)
        assert (ours is None) == (theirs is None), name
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
            assert ours.dtype.kind == theirs.dtype.kind
    assert actual.X.dtype == np.float32
