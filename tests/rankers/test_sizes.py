"""Sizes of boosted trees that are not given follow the number of training queries."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.rankers.boosted import BELOW, FEW_QUERIES, FEWEST, OF_MANY, SOME, sizes_of
from rerank.rankers.ranker import read_model


@pytest.mark.parametrize(
    ("n_queries", "sizes"),
    [
        (1, BELOW[FEWEST]),
        (49, BELOW[FEWEST]),
        (50, BELOW[FEW_QUERIES]),
        (299, BELOW[FEW_QUERIES]),
        (300, BELOW[SOME]),
        (999, BELOW[SOME]),
        (1000, OF_MANY),
    ],
)
def test_sizes_follow_the_number_of_queries_unless_they_are_given(n_queries, sizes) -> None:
    assert sizes_of(rerank.LambdaMART(), n_queries, 10**6) == sizes
    given = rerank.LambdaMART(n_estimators=7, num_leaves=5, min_child_samples=3)
    chosen = sizes_of(given, n_queries, 10**6)
    assert (chosen.n_estimators, chosen.num_leaves, chosen.min_child_samples) == (7, 5, 3)


@pytest.mark.parametrize(("n_rows", "least"), [(100, 20), (1000, 40), (2500, 100), (10**6, 100)])
def test_least_rows_of_a_leaf_are_a_share_of_few_rows(n_rows, least) -> None:
    assert sizes_of(rerank.LambdaMART(), 50, n_rows).min_child_samples == least


def test_model_of_few_queries_has_small_trees_and_keeps_its_parameters(train, tmp_path) -> None:
    model, expected = rerank.LambdaMART().fit(train), sizes_of(rerank.LambdaMART(), len(train), train.n_rows)
    assert model.forest_.n_trees == expected.n_estimators
    assert len(model.forest_.leaf_value) <= expected.n_estimators * expected.num_leaves
    assert model.n_estimators is None
    explicit = rerank.LambdaMART(
        n_estimators=expected.n_estimators,
        num_leaves=expected.num_leaves,
        min_child_samples=expected.min_child_samples,
    ).fit(train)
    np.testing.assert_array_equal(model.predict(train), explicit.predict(train))
    model.save(tmp_path / "model.json")
    assert read_model(tmp_path / "model.json").num_leaves is None
