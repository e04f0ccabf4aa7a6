"""Digests of rows and features."""

from __future__ import annotations

import numpy as np

from rerank.trees.binned_data import BinnedData
from rerank.trees.content import bin_rows, distinct_features, in_order, row_digests


def _binned(X: np.ndarray, n_threads: int = 1) -> BinnedData:
    return bin_rows(X.astype(np.float32), np.arange(len(X)), 255, n_threads)


def _features(X: np.ndarray) -> list[int]:
    data = _binned(X)
    return distinct_features(data.digests, data.columns.bins, np.zeros(X.shape[1], np.uint64)).tolist()


def test_features_that_divide_the_rows_alike_are_one_and_those_of_one_value_are_none() -> None:
    x = np.array([3.0, 1.0, 2.0, 1.0])
    gaps = np.array([np.nan, 1.0, 1.0, 1.0])
    columns = [np.full(4, 7.0), x, 2 * x, x**3, -x, np.full(4, np.nan), gaps, 5 * gaps]
    kinds = ["", "x", "x", "x", "-x", "", "gaps", "gaps"]
    assert sorted(kinds[number] for number in _features(np.column_stack(columns))) == ["-x", "gaps", "x"]


def test_two_rows_are_told_apart_by_any_feature() -> None:
    for column in range(3):
        X = np.ones((2, 3))
        X[column % 2, column] = 0.0
        assert _features(X) == [column]


def test_row_digests_do_not_depend_on_order_scale_or_number_of_columns() -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 5, (300, 4)).astype(np.float32)
    changed = np.column_stack([X[:, 2] ** 3, X[:, 0], 2 * X[:, 3], X[:, 1], np.ones(300), X[:, 0]])
    digests = row_digests(_binned(X))
    order = random.permutation(300)
    np.testing.assert_array_equal(row_digests(_binned(changed[order], 2)), digests[order])
    assert len(np.unique(digests)) == len(np.unique(X, axis=0))


def test_rows_in_another_order_are_as_if_they_were_binned_in_it() -> None:
    random = np.random.default_rng(1)
    X = np.where(random.random((200, 30)) < 0.3, np.nan, np.round(2 * random.standard_normal((200, 30))))
    order = random.permutation(200)
    one = in_order(_binned(X), order)
    other = bin_rows(X.astype(np.float32), order, 255, 1)
    np.testing.assert_array_equal(one.blocks, other.blocks)
    np.testing.assert_array_equal(one.digests, other.digests)
