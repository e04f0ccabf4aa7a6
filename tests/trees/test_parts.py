"""Some trees of a forest, and the leaves that rows reach."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.rankers.lambdamart import LambdaMART
from rerank.trees.forest import Forest, check_forest, trees_between
from rerank.trees.score import leaves_of, score_rows


@pytest.fixture(scope="module")
def forest() -> Forest:
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(300, 4)), np.repeat(np.arange(15), 20)
    return LambdaMART(n_estimators=6, num_leaves=5, min_child_samples=5).fit(X, X[:, 0] > 0, qid=qid).forest_


def test_parts_of_a_forest_are_forests_whose_scores_sum_to_the_whole(forest: Forest) -> None:
    X = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    total = np.zeros(50)
    for first, last in ((0, 1), (1, 1), (1, 4), (4, 6)):
        part = trees_between(forest, first, last)
        check_forest(part)
        assert part.n_trees == last - first
        total += score_rows(part, X)
    np.testing.assert_allclose(total, score_rows(forest, X), rtol=1e-12)


def test_each_row_reaches_one_leaf_of_each_tree(forest: Forest) -> None:
    X = np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32)
    leaves = leaves_of(forest, X)
    for tree in range(forest.n_trees):
        values = trees_between(forest, tree, tree + 1).leaf_value
        expected = score_rows(trees_between(forest, tree, tree + 1), X)
        np.testing.assert_array_equal(values[leaves[:, tree]], expected)
    assert leaves_of(trees_between(forest, 2, 2), X).shape == (50, 0)
