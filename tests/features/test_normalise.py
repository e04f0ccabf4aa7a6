"""Normalisation within the query, against an oracle."""

from __future__ import annotations

import itertools
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.features.normalise import normalisations, normalise
from rerank.features.recipe import names_matching

NUMBERS = st.floats(-1000, 1000, width=32).map(lambda x: round(x, 3)) | st.just(float("nan"))
QUERIES = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), min_size=1, max_size=4)


def oracle(form: str, values: list[float]) -> list[float]:
    known = [value for value in values if not isnan(value)]
    if form == "rank":
        return [value if isnan(value) else 1 + sum(other > value for other in known) for value in values]
    if not known or max(known) == min(known):
        return [value if isnan(value) else 0.0 for value in values]
    mean = sum(known) / len(known)
    deviation = sqrt(sum((value - mean) ** 2 for value in known) / len(known))
    least, spread = min(known), max(known) - min(known)
    return [(value - least) / spread if form == "minmax" else (value - mean) / deviation for value in values]


@pytest.mark.parametrize("form", ["minmax", "zscore", "rank"])
@settings(max_examples=50)
@given(queries=QUERIES)
def test_normalisation_equals_oracle(form: str, queries: list[list[tuple[float, float]]]) -> None:
    X = np.array([row for rows in queries for row in rows], dtype=np.float32).reshape(-1, 2)
    before, query_ptr = X.copy(), np.cumsum([0, *(len(rows) for rows in queries)]).astype(np.int64)
    normalise(X, query_ptr, {form: np.array([1])})
    np.testing.assert_array_equal(X[:, 0], before[:, 0])
    for first, last in itertools.pairwise(query_ptr):
        expected = oracle(form, before[first:last, 1].tolist())
        np.testing.assert_allclose(X[first:last, 1], expected, rtol=1e-3, atol=1e-3)


def test_last_pattern_that_fits_holds() -> None:
    names = ("bm25.title", "bm25.body", "run.score")
    table = {"*": "zscore", "bm25.*": "none", "bm25.body": "rank"}
    assert normalisations(table, names) == {"bm25.body": "rank", "run.score": "zscore"}
    assert names_matching("features", ["*.body", "run.score"], names) == ["bm25.body", "run.score"]


def test_pattern_that_fits_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"recipe: features: .*got 'bm25.titel'. Did you mean 'bm25.title'\?"):
        names_matching("features", ["bm25.titel"], ("bm25.title", "run.score"))
