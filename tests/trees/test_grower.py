from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

from rerank.trees.bins import learn_bins
from rerank.trees.columns import Columns
from rerank.trees.forest import Forest
from rerank.trees.grower import Grower, add_leaf_values, pack_gradients
from rerank.trees.score import score_rows
from rerank.trees.structures import TreeLimits
from tests.oracles import trees as oracle


def _grow(X, grad, hess, limits, n_threads=1, rows=None, features=None, row_weights=None):
    columns = Columns.of(learn_bins(X, 255, n_threads))
    blocks = columns.blocks(X, np.arange(len(X)), n_threads)
    grower = Grower(columns, blocks, limits, n_threads, row_weights=row_weights)
    rows = np.arange(len(X), dtype=np.int32) if rows is None else rows
    features = np.arange(X.shape[1]) if features is None else features
    return grower.grow(grad, hess, rows, features)


def _data(n: int, n_features: int, seed: int, missing: float = 0.0):
    random = np.random.default_rng(seed)
    X = random.integers(0, 12, (n, n_features)).astype(np.float32)
    X[random.random(X.shape) < missing] = np.nan
    return X, random.standard_normal(n), np.ones(n)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_tree_equals_the_oracle(seed: int, missing: float) -> None:
    X, grad, hess = _data(150, 4, seed, missing)
    limits = TreeLimits(num_leaves=8, min_child_samples=5)
    tree, _, _ = _grow(X, grad, hess, limits)
    expected, gains = oracle.grow(X, grad, hess, 8, 5)
    np.testing.assert_allclose(tree.gain, gains, rtol=1e-5)
    np.testing.assert_allclose(score_rows(Forest.of([tree]), X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
def test_tree_with_l1_regularisation_equals_the_oracle(seed: int, reg_lambda: float) -> None:
    X, grad, hess = _data(150, 4, seed, 0.1)
    limits = TreeLimits(num_leaves=8, min_child_samples=5, reg_alpha=1.5, reg_lambda=reg_lambda)
    tree, _, _ = _grow(X, grad, hess, limits)
    expected, gains = oracle.grow(X, grad, hess, 8, 5, reg_lambda, reg_alpha=1.5)
    assert len(gains) > 0
    assert (tree.leaf_value == 0.0).sum() < len(tree.leaf_value)
    np.testing.assert_allclose(tree.gain, gains, rtol=1e-5)
    np.testing.assert_allclose(score_rows(Forest.of([tree]), X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_splits_by_least_squares_and_leaves_by_newton_steps_equal_the_oracle(seed: int) -> None:
    """Burges 2010, equation 11 for the splits, section 7 for the leaves."""
    X, grad, ones = _data(150, 4, seed, 0.1)
    hess = np.random.default_rng(seed).uniform(0.1, 3.0, 150)
    limits = TreeLimits(num_leaves=8, min_child_samples=5, reg_lambda=2.0)
    tree, ordered, leaf_ptr = _grow(X, grad, hess, limits, row_weights=ones)
    means, gains = oracle.grow(X, grad, ones, 8, 5)
    np.testing.assert_allclose(tree.gain, gains, rtol=1e-5)
    for leaf, (first, last) in enumerate(leaf_ptr):
        rows = ordered[first:last]
        assert len(np.unique(means[rows].round(9))) == 1
        assert tree.leaf_value[leaf] == pytest.approx(oracle.leaf_value(grad[rows], hess[rows], 2.0), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30, 0.0])
def test_packed_gradients_equal_the_oracle(scale: float) -> None:
    random = np.random.default_rng(9)
    grad, hess = scale * random.standard_normal(300), scale * random.random(300)
    rows, packed = np.arange(0, 300, 2, dtype=np.int32), np.empty(150, np.int64)
    grad_unit, hess_unit, total_grad, total_hess = pack_gradients(grad, hess, rows, packed)
    integers, *units = oracle.pack(grad, hess, rows)
    assert packed.tolist() == [(high << 32) + low for high, low in integers]
    np.testing.assert_allclose([grad_unit, hess_unit], units, rtol=1e-12)
    totals = np.sum(integers, axis=0) * units
    np.testing.assert_allclose([total_grad, total_hess], totals, rtol=1e-12)


def test_leaves_of_hardly_any_hessian_take_no_step() -> None:
    X, grad, ones = _data(150, 4, 0)
    whole, _, _ = _grow(X, grad, 1e-9 * ones, TreeLimits())
    assert (len(whole.feature), whole.leaf_value.tolist()) == (0, [0.0])
    split, _, _ = _grow(X, grad, 1e-9 * ones, TreeLimits(), row_weights=ones)
    assert len(split.feature) > 0
    assert not split.leaf_value.any()


def test_tree_takes_the_better_side_for_missing_values() -> None:
    X = np.array([[0.0]] * 10 + [[1.0]] * 10 + [[np.nan]] * 10, dtype=np.float32)
    for side in (0, 1):
        grad = np.concatenate([np.full(10, -1.0), np.full(10, 1.0), np.full(10, -1.0 if side == 0 else 1.0)])
        tree, _, _ = _grow(X, grad, np.ones(30), TreeLimits(num_leaves=2, min_child_samples=1))
        assert tree.missing_left.tolist() == [side == 0]
        np.testing.assert_allclose(score_rows(Forest.of([tree]), X), -grad)


def test_tree_is_the_same_for_one_and_two_threads() -> None:
    X, grad, hess = _data(20_000, 20, 3, 0.1)
    hess = np.abs(grad)
    trees = []
    for n_threads in (1, 2):
        numba.set_num_threads(min(n_threads, numba.config.NUMBA_NUM_THREADS))
        trees.append(_grow(X, grad, hess, TreeLimits(), n_threads)[0])
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    for name in ("feature", "threshold", "missing_left", "left", "right", "gain", "leaf_value"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


def test_tree_splits_on_wanted_features_only_after_one_that_had_all() -> None:
    X, _, hess = _data(3000, 6, 11)
    grad = np.where(X[:, 0] > 5, 1.0, -1.0) + 0.01 * X[:, 3]
    columns = Columns.of(learn_bins(X, 255, 1))
    grower = Grower(columns, columns.blocks(X, np.arange(3000), 1), TreeLimits(num_leaves=2), 1)
    rows = np.arange(3000, dtype=np.int32)
    first = grower.grow(grad, hess, rows, np.arange(6))[0]
    second = grower.grow(grad, hess, rows[:2000], np.array([2, 3]))[0]
    assert first.feature[0] == 0
    assert set(second.feature.tolist()) <= {2, 3}


def test_leaf_values_reach_each_row_once() -> None:
    X, grad, hess = _data(9000, 5, 4, 0.1)
    tree, rows, leaf_ptr = _grow(X, grad, hess, TreeLimits(), 2)
    scores = np.zeros(len(X))
    add_leaf_values(rows, leaf_ptr, tree.leaf_value, scores)
    np.testing.assert_array_equal(scores, score_rows(Forest.of([tree]), X))
    assert sorted(rows.tolist()) == list(range(len(X)))


def test_limits_bound_the_tree() -> None:
    X, grad, hess = _data(2000, 5, 5)
    tree, _, leaf_ptr = _grow(X, grad, hess, TreeLimits(num_leaves=64, max_depth=3))
    assert len(tree.leaf_value) <= 8
    _, _, leaf_ptr = _grow(X, grad, hess, TreeLimits(num_leaves=64, min_child_samples=100))
    assert np.diff(leaf_ptr, axis=1).min() >= 100
    tree, _, _ = _grow(X, grad, hess, TreeLimits(min_split_gain=1e9))
    assert len(tree.leaf_value) == 1


def test_tree_uses_only_the_features_and_rows_it_was_given() -> None:
    X, grad, hess = _data(3000, 40, 6)
    rows = np.arange(0, 3000, 3, dtype=np.int32)
    tree, ordered, _ = _grow(X, grad, hess, TreeLimits(), rows=rows, features=np.array([3, 33]))
    assert set(tree.feature.tolist()) <= {3, 33}
    assert sorted(ordered.tolist()) == rows.tolist()


def test_tree_of_zero_gradients_is_one_leaf_of_zero() -> None:
    X, _, _ = _data(100, 3, 7)
    tree, _, _ = _grow(X, np.zeros(100), np.zeros(100), TreeLimits())
    assert tree.leaf_value.tolist() == [0.0]


def test_tree_is_the_same_whether_features_share_a_column() -> None:
    random = np.random.default_rng(8)
    X = random.integers(0, 3, (4000, 30)).astype(np.float32)
    X[random.random(X.shape) < 0.05] = np.nan
    grad, hess = random.standard_normal(4000), random.random(4000)
    bins = learn_bins(X, 255, 1)
    shared = Columns.of(bins)
    assert shared.column.max() < 29
    alone = Columns.of(replace(bins, n_bins=np.full_like(bins.n_bins, 250)))
    assert alone.column.max() == 29
    trees = []
    for columns in (shared, replace(alone, bins=bins)):
        grower = Grower(columns, columns.blocks(X, np.arange(4000), 1), TreeLimits(min_child_samples=5), 1)
        trees.append(grower.grow(grad, hess, np.arange(4000, dtype=np.int32), np.arange(30))[0])
    for name in ("feature", "threshold", "missing_left", "gain", "leaf_value"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


@pytest.mark.parametrize("hess", [1.0, 0.25, 3.0, 0.1])
def test_children_whose_hessian_is_the_least_allowed_are_split_for_every_number_of_rows(hess: float) -> None:
    for n_rows in range(6, 200):
        X, grad = (np.arange(n_rows) >= 3).astype(np.float32)[:, None], np.where(np.arange(n_rows) < 3, -1.0, 1.0)
        limits = TreeLimits(num_leaves=2, min_child_samples=1, min_child_weight=3 * hess)
        tree, _, _ = _grow(X, grad, np.full(n_rows, hess), limits)
        assert len(tree.leaf_value) == 2, n_rows
        above = limits._replace(min_child_weight=3 * hess * (1.0 + 1e-5))
        assert len(_grow(X, grad, np.full(n_rows, hess), above)[0].leaf_value) == 1, n_rows
