from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.trees.bins import learn_bins
from rerank.trees.columns import EXCEPTIONS, LEAST_SPARSE, MEAN_EXCEPTIONS, Columns, list_exceptions, sparse_features
from rerank.trees.grower import Grower
from rerank.trees.leafwise import OVERFLOW
from rerank.trees.structures import TreeLimits
from tests.oracles import trees as oracle


def _sparse(n_rows: int, n_features: int, share: float, seed: int = 0) -> np.ndarray:
    """Rows of many values; the even features have them in few rows, are missing in the others of every fourth."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features)).astype(np.float32)
    most_frequent = np.where(np.arange(n_features) % 4 == 0, np.nan, 0.5).astype(np.float32)
    return np.where((random.random(X.shape) < share) | (np.arange(n_features) % 2 == 1), X, most_frequent)


def test_bins_know_the_bin_of_most_rows() -> None:
    X = _sparse(4000, 8, 0.1)
    bins = learn_bins(X, 255, 1)
    for feature in range(0, 8, 2):
        is_most_frequent = np.isnan(X[:, feature]) if feature % 4 == 0 else X[:, feature] == 0.5
        expected = bins.n_bins[feature] if feature % 4 == 0 else np.searchsorted(bins.edges[feature], np.float32(0.5))
        assert bins.most_freq_bin[feature] == expected
        assert bins.exception_share[feature] == pytest.approx(1 - is_most_frequent.mean(), abs=0.005)


def test_sparse_features_are_those_with_the_fewest_exceptions_and_none_where_they_are_too_few() -> None:
    bins = learn_bins(_sparse(4000, 60, 0.1), 255, 1)
    sparse = sparse_features(bins)
    assert sorted(sparse.tolist()) == list(range(0, 60, 2))
    assert bins.exception_share[sparse].sum() <= MEAN_EXCEPTIONS
    assert (np.diff(bins.exception_share[sparse]) >= 0).all()
    assert len(sparse_features(learn_bins(_sparse(4000, 2 * LEAST_SPARSE - 2, 0.1), 255, 1))) == 0
    assert len(sparse_features(learn_bins(_sparse(4000, 60, 0.9), 255, 1))) == 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_exceptions_of_each_row_equal_the_oracle(n_threads: int) -> None:
    X = _sparse(3000, 60, 0.13)
    columns = Columns.of(learn_bins(X, 255, 1))
    blocks = columns.blocks(X, np.arange(len(X)), 1)
    codes = blocks.transpose(0, 2, 1).reshape(-1, len(X))
    n_sparse = len(columns.most_freq_code)
    assert n_sparse > LEAST_SPARSE
    sparse_codes = codes[columns.first_sparse : columns.first_sparse + n_sparse].T.astype(np.int64)
    exceptions = list_exceptions(blocks, columns.first_sparse, columns.most_freq_code, n_threads)
    padding = {256 * k + int(code) for k, code in enumerate(columns.most_freq_code)}
    n_overflows = 0
    for row, stored in zip(sparse_codes.tolist(), exceptions[:-1].tolist(), strict=True):
        expected = oracle.exceptions_of_row(row, columns.most_freq_code)
        n_overflows += len(expected) > EXCEPTIONS
        assert stored[0] == OVERFLOW if len(expected) > EXCEPTIONS else set(stored) - padding == set(expected)
    assert 0 < n_overflows < len(X)
    assert set(exceptions[-1].tolist()) < padding


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(("n_rows", "share"), [(9000, 0.05), (9000, 0.13), (1500, 0.13)])
def test_tree_is_the_same_whether_sparse_columns_are_read_by_exceptions(
    n_rows: int, share: float, n_threads: int
) -> None:
    X = _sparse(n_rows, 60, share, 1)
    random = np.random.default_rng(2)
    grad, hess = random.standard_normal(n_rows) + np.nan_to_num(X[:, 2]) - np.isnan(X[:, 4]), random.random(n_rows)
    bins = learn_bins(X, 255, 1)
    by_exceptions, by_bytes = Columns.of(bins), Columns.of(replace(bins, exception_share=np.ones(60)))
    assert len(by_exceptions.most_freq_code) > 0
    assert len(by_bytes.most_freq_code) == 0
    for features in (np.arange(60), np.array([0, 2, 3, 30, 58])):
        trees = []
        for columns in (by_exceptions, by_bytes):
            grower = Grower(columns, columns.blocks(X, np.arange(n_rows), 1), TreeLimits(), n_threads)
            grower.grow(hess, hess, np.arange(n_rows, dtype=np.int32), np.arange(60))  # other histograms
            trees.append(grower.grow(grad, hess, np.arange(n_rows, dtype=np.int32), features)[0])
        assert len(trees[0].leaf_value) == 31
        for name in ("feature", "threshold", "missing_left", "gain", "leaf_value"):
            np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))
