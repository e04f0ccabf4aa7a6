"""Binned rows are the same wherever features and codes are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.runtime.codec import plain
from rerank.runtime.mapped_rows import RowFile
from rerank.trees.binned_data import Storage, bin_with
from rerank.trees.bins import learn_bins
from rerank.trees.booster import Booster
from rerank.trees.columns import Columns
from rerank.trees.content import bin_rows
from rerank.trees.forest import Forest
from rerank.trees.grower import Grower
from rerank.trees.leafwise import ROWS_TO_PREFETCH
from rerank.trees.score import score_rows
from rerank.trees.structures import TreeLimits
from rerank.trees.tree_values import tree_values


def _rows(seed: int, n_rows: int = 700, n_features: int = 37) -> np.ndarray:
    """Return columns of many values, few values, one value, exact zeros of both signs, and missing values."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, 1::5] = np.round(X[:, 1::5])
    X[:, 2::5] = X[:, 2::5] > 0
    X[:, 3::5][random.random(X[:, 3::5].shape) < 0.3] = np.nan
    X[:, 4] = 7.0
    X[:, 5][::2] = -0.0
    X[:, 7] = np.nan
    return X


def _mapped(X: np.ndarray) -> np.ndarray:
    file = RowFile("rows")
    file.append(X)
    return file.finish(X.shape[1])


@pytest.mark.parametrize("working_bytes", [0, 10_000, 1 << 30])
@pytest.mark.parametrize("max_bin", [2, 31, 255])
def test_bins_of_mapped_rows_equal_those_in_memory(working_bytes: int, max_bin: int) -> None:
    X = _rows(0)
    one, two = learn_bins(X, max_bin, 1), learn_bins(_mapped(X), max_bin, 2, working_bytes)
    for name in vars(one):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


@pytest.mark.parametrize("mapped", [False, True])
def test_codes_of_mapped_rows_equal_those_in_memory(mapped: bool) -> None:
    X, order = _rows(1), np.random.default_rng(1).permutation(700)
    one = bin_rows(X, order, 255, 1)
    for rows in (X, _mapped(X)):
        two = bin_rows(rows, order, 255, 2, Storage(mapped=mapped, working_bytes=5000))
        assert one.blocks.tobytes() == two.blocks.tobytes()


def _booster(X: np.ndarray, storage: Storage, subsample: float, n_threads: int) -> Booster:
    random = np.random.default_rng(5)
    target = np.nan_to_num(X[:, 0]) + np.isnan(X[:, 3]) + 0.1 * random.normal(size=len(X))
    query_ptr = np.arange(0, len(X) + 1, 10)

    def fill(scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        grad[:], hess[:] = scores - target, 1.0

    limits = TreeLimits(num_leaves=8, min_child_samples=5)
    data = bin_rows(X, np.arange(len(X)), 255, n_threads, storage)
    start = np.zeros(len(X))
    return Booster(fill, n_threads, data, query_ptr, start, limits, subsample=subsample, colsample_bytree=0.7)


@pytest.mark.parametrize("subsample", [1.0, 0.5])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_trees_do_not_depend_on_the_storage(subsample: float, n_threads: int) -> None:
    X = _rows(2)
    storages = [Storage(), Storage(mapped=True)]
    grown = [_booster(X, storage, subsample, n_threads) for storage in storages]
    for booster in grown:
        for _ in range(12):
            booster.add_tree()
    first = grown[0]
    for booster in grown[1:]:
        assert plain(Forest.of(booster.trees)) == plain(Forest.of(first.trees))
        assert booster.scores.tobytes() == first.scores.tobytes()


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.0, 0.5))
def test_values_of_binned_rows_equal_scores_of_their_features(seed: int, missing: float) -> None:
    """Also of rows that were not trained on, with values beyond the training rows' and missing where none was."""
    X = _rows(seed, 300, 20)
    booster = _booster(X, Storage(), 1.0, 1)
    tree = [booster.add_tree() for _ in range(3)][-1]
    random = np.random.default_rng(seed)
    other = (3 * _rows(seed + 1, 200, 20)).astype(np.float32)
    other[random.random(other.shape) < missing] = np.nan
    data = bin_rows(X, np.arange(len(X)), 255, 1)
    separate = Columns.separate(data.columns.bins)
    order = random.permutation(len(other))
    for rows in (other, _mapped(other)):
        values = tree_values(tree, separate, bin_with(separate, rows, order, 1))
        np.testing.assert_array_equal(values, score_rows(Forest.of([tree]), other)[order])
    own = tree_values(tree, data.columns, data.blocks)
    np.testing.assert_array_equal(own, score_rows(Forest.of([tree]), X))


@pytest.mark.parametrize("n_rows", [3000, ROWS_TO_PREFETCH])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_rows_of_a_leaf_are_those_that_reach_it(n_rows: int, n_threads: int) -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(n_rows, 2)).astype(np.float32)
    grad = np.where(np.abs(X[:, 0]) > 1.0, 1.0, -1.0) + X[:, 1] + 0.1 * random.normal(size=n_rows)
    data = bin_rows(X, np.arange(n_rows), 255, n_threads)
    grower = Grower(data.columns, data.blocks, TreeLimits(num_leaves=9), n_threads)
    rows = np.flatnonzero(random.random(n_rows) < 0.7).astype(np.int32)
    tree, ordered, leaf_ptr = grower.grow(grad, np.ones(n_rows), rows, np.arange(2))
    assert len(leaf_ptr) == 9
    values = tree_values(tree, data.columns, data.blocks)
    for leaf, (first, last) in enumerate(leaf_ptr.tolist()):
        assert (values[ordered[first:last]] == tree.leaf_value[leaf]).all()
    np.testing.assert_array_equal(np.sort(ordered), rows)


def test_selected_rows_have_the_codes_of_the_bins_of_all_rows() -> None:
    X = np.random.default_rng(3).standard_normal((200, 20)).astype(np.float32)
    data, rows = bin_rows(X, np.arange(200), 15, 1), np.array([3, 1, 150])
    some = data.select(rows)
    assert some.max_bin == 15
    np.testing.assert_array_equal(some.blocks, bin_with(data.columns, X, rows, 1))
