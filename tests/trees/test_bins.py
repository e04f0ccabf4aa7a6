from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from rerank.trees.bins import FEATURES_AT_ONCE, Bins, learn_bins
from rerank.trees.columns import WIDTH, Columns
from tests.oracles import trees as oracle

VALUES = st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 1.0, 1.0000001, np.inf, -np.inf]))


def _digits(columns: Columns, X: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Read every feature's digit back from the columns; a feature without a column has digit 0."""
    blocks = columns.blocks(X, np.arange(len(X)), n_threads)
    digits = np.zeros(X.shape, dtype=np.int64)
    for feature in columns.features:
        column = blocks[columns.column[feature] // WIDTH, :, columns.column[feature] % WIDTH].astype(np.int64)
        digits[:, feature] = column // columns.stride[feature] % columns.n_digits[feature]
    return digits


def _bins_of(X: np.ndarray, max_bin: int = 255) -> tuple:
    bins = learn_bins(X, max_bin, 1)
    return bins, _digits(Columns.of(bins), X)


@settings(max_examples=150)
@given(arrays(np.float32, (40, 3), elements=VALUES), st.integers(2, 255))
def test_bins_agree_with_their_edges(X: np.ndarray, max_bin: int) -> None:
    bins, binned = _bins_of(X, max_bin)
    for feature in range(3):
        column, edges = X[:, feature], bins.edges[feature]
        present = ~np.isnan(column)
        assert (binned[~present, feature] == Columns.of(bins).missing_digit[feature]).all() or not present.any()
        expected = [oracle.find_bin(value, edges) for value in column[present]]
        np.testing.assert_array_equal(binned[present, feature], expected)
        assert binned[present, feature].max(initial=0) < bins.n_bins[feature] <= max_bin
        assert bins.missing[feature] == (not present.all())


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 30)), min_size=1, max_size=60), st.integers(2, 40))
def test_edges_equal_the_oracle(runs: list[tuple[int, int]], max_bin: int) -> None:
    values, counts = zip(*runs, strict=True)
    column = np.repeat(np.array(values, dtype=np.float32) / 3, counts)
    bins = learn_bins(column[:, None], max_bin, 1)
    assert bins.edges[0, : bins.n_bins[0] - 1].tolist() == oracle.choose_edges(column, max_bin)
    assert np.isinf(bins.edges[0, bins.n_bins[0] - 1 :]).all()


def test_bins_keep_distinct_values_apart_when_they_are_few() -> None:
    X = np.array([[3.0], [1.0], [2.0], [2.0], [np.nextafter(np.float32(2), np.float32(3))]], dtype=np.float32)
    bins, binned = _bins_of(X)
    assert binned[:, 0].tolist() == [3, 0, 1, 1, 2]
    assert bins.n_bins[0] == 4


def test_bins_hold_about_equal_counts_when_values_are_many() -> None:
    X = np.random.default_rng(0).standard_normal((20_000, 1)).astype(np.float32)
    counts = np.bincount(_bins_of(X)[1][:, 0], minlength=255)
    assert counts.min() > 0.8 * 20_000 / 255
    assert counts.max() < 1.3 * 20_000 / 255


def test_bins_give_heavy_values_bins_of_their_own() -> None:
    random = np.random.default_rng(0)
    X = np.where(random.random(5000) < 0.6, 0.5, random.random(5000)).astype(np.float32)[:, None]
    binned = _bins_of(X, 16)[1][:, 0]
    heavy = binned[X[:, 0] == 0.5][0]
    assert (X[binned == heavy, 0] == 0.5).all()


@pytest.mark.parametrize("n_features", [1, FEATURES_AT_ONCE, FEATURES_AT_ONCE + 1])
def test_bins_do_not_depend_on_rows_order_or_threads(n_features: int) -> None:
    random = np.random.default_rng(1)
    X = random.standard_normal((3000, n_features)).astype(np.float32)
    X[random.random(X.shape) < 0.1] = np.nan
    order = random.permutation(len(X))
    one, two = learn_bins(X, 255, 1), learn_bins(X[order], 255, 2)
    np.testing.assert_array_equal(one.edges, two.edges)
    blocks = Columns.of(one).blocks(X, order, 1), Columns.of(two).blocks(X[order], np.arange(len(X)), 2)
    np.testing.assert_array_equal(*blocks)


def test_bins_of_a_constant_feature_are_one() -> None:
    bins, binned = _bins_of(np.full((10, 2), 7.0, dtype=np.float32))
    assert bins.n_bins[:2].tolist() == [1, 1]
    assert not binned.any()


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 255), st.booleans()), min_size=1, max_size=60))
def test_columns_hold_each_feature_once_and_never_more_codes_than_a_byte(features: list[tuple[int, bool]]) -> None:
    n_bins, missing = (np.array(values) for values in zip(*features, strict=True))
    edges, most_freq_bin = np.full((len(features), 255), np.inf, np.float32), np.zeros(len(features), np.int64)
    columns = Columns.of(
        Bins(edges, n_bins, missing, most_freq_bin, np.full(len(features), 0.1), np.zeros_like(missing))
    )
    digits = n_bins + missing
    assert sorted(columns.features.tolist()) == np.flatnonzero(digits > 1).tolist()
    for column in range(len(columns.column_ptr) - 1):
        features_of_column = columns.features[columns.column_ptr[column] : columns.column_ptr[column + 1]]
        assert np.prod(digits[features_of_column]) <= 256
        assert (columns.column[features_of_column] == column).all()


def test_columns_put_features_of_few_states_together() -> None:
    X = np.random.default_rng(2).integers(0, 2, (200, 20)).astype(np.float32)
    X[::7, 3] = np.nan
    columns = Columns.of(learn_bins(X, 255, 1))
    assert columns.column.max() == 2  # 8 of two digits each to a byte; the one with missing values has three
    digits = np.where(np.isnan(X), 2, X)
    np.testing.assert_array_equal(_digits(columns, X), digits)
