from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.trees.contributions import BLOCK, add_contributions
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from tests.oracles import contributions as oracle
from tests.trees.test_score import random_tree


def _rows(random: np.random.Generator, n_rows: int, n_features: int) -> np.ndarray:
    X = random.standard_normal((n_rows, n_features)).astype(np.float32)
    X[random.random(X.shape) < 0.1] = np.nan
    return X


def _contributions(forest: Forest, leaf_count: np.ndarray, X: np.ndarray, n_threads: int = 1) -> np.ndarray:
    out = np.zeros((X.shape[0], X.shape[1] + 1))
    add_contributions(replace(forest, leaf_count=leaf_count), X, out, n_threads)
    return out


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), n_leaves=st.integers(1, 24), n_features=st.integers(1, 5))
def test_contributions_are_shapley_values(seed: int, n_leaves: int, n_features: int) -> None:
    random = np.random.default_rng(seed)
    tree = random_tree(random, n_leaves, n_features)
    leaf_count = random.integers(1, 10_000, n_leaves)
    X = _rows(random, 2, n_features)
    expected = np.array([oracle.contributions(tree, leaf_count, row) for row in X])
    computed = _contributions(Forest.of([tree]), leaf_count, X)
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, BLOCK, BLOCK + 1, 300])
@pytest.mark.parametrize("n_features", [3, 300])
def test_contributions_sum_to_the_score(n_rows: int, n_features: int) -> None:
    random = np.random.default_rng(n_rows)
    sizes = (1, 2, 31, 255, 64)
    forest = Forest.of([random_tree(random, size, n_features) for size in sizes])
    leaf_count, X = random.integers(1, 100, sum(sizes)), _rows(random, n_rows, n_features)
    contributions = _contributions(forest, leaf_count, X)
    np.testing.assert_allclose(contributions.sum(axis=1), score_rows(forest, X), rtol=1e-9, atol=1e-9)
    unused = np.setdiff1d(np.arange(n_features), forest.feature)
    assert not contributions[:, unused].any()


def test_contributions_of_a_row_depend_on_neither_threads_nor_other_rows() -> None:
    random = np.random.default_rng(0)
    forest = Forest.of([random_tree(random, 31, 20) for _ in range(5)])
    leaf_count, X = random.integers(1, 100, 155), _rows(random, 500, 20)
    whole = _contributions(forest, leaf_count, X)
    np.testing.assert_array_equal(_contributions(forest, leaf_count, X, n_threads=2), whole)
    np.testing.assert_array_equal(_contributions(forest, leaf_count, X[7:8])[0], whole[7])


def test_contributions_of_a_forest_without_trees_are_zero() -> None:
    forest = Forest.of([])
    assert not _contributions(forest, np.empty(0, np.int64), np.zeros((3, 2), np.float32)).any()
