"""Digests of rows and features by what they tell apart, so that nothing else decides between equals.

Two features that divide the rows alike are one feature to trees, and a feature with one value is none. A digest of a
feature depends on the rows of each of its bins, and on the order of the bins where it is no category: not on its
values, its name, its number or the other features. A digest of a row depends on its bins and on no order of features.

digit  the bin of a value, or the number that stands for missing values (`columns.py`)
state  64 bits for each feature and digit; the digest of a row is a sum over the states that it has, that of a feature
       a sum over its digits. Sums of integers do not depend on their order.

Digests of rows are made as colours of a graph are (B. Weisfeiler and A. Lehman 1968): first from how many rows each
digit has, then from the first digests of these rows, so that features with equally large bins are told apart.
"""

from dataclasses import replace

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.elementary import random_bits
from rerank.runtime.kernels import kernel
from rerank.trees.binned_data import BinnedData, Storage, bin_with
from rerank.trees.bins import MOST_BINS, Bins, learn_bins
from rerank.trees.columns import MOST_CODES, WIDTH, Columns
from rerank.types import Ints

Digests = NDArray[np.uint64]
ROUNDS = 2


def mixed(values: Digests) -> Digests:
    """Return 64 random bits for each value, the same ones for equal values."""
    out = np.empty(values.size, np.uint64)
    _mix(np.ravel(values), out)
    return out.reshape(values.shape)


def feature_digests(columns: Columns, blocks: NDArray[np.uint8]) -> Digests:
    """Return the digest of each feature, (n_features,) uint64; 0 where all rows have one digit.

    Shapes: blocks uint8 (n_blocks, n_rows, 16), rows in an order that depends on nothing but what they hold.
    """
    return _digests_of_states(columns, _sums_by_digit(columns, blocks, _digests_of_positions(blocks)))


def bin_rows(
    X: NDArray[np.float32],
    order: Ints,
    max_bin: int,
    n_threads: int,
    storage: Storage | None = None,
    is_category: NDArray[np.bool_] | None = None,
) -> BinnedData:
    """Learn the bins of some rows, and bin them.

    Shapes: X float32 (n_rows, n_features); order int64 (n_rows,); is_category bool (n_features,), None for no category.
    """
    storage = storage or Storage()
    columns = Columns.of(learn_bins(X, max_bin, n_threads, storage.working_bytes, is_category))
    blocks = bin_with(columns, X, order, n_threads, storage.mapped)
    return BinnedData(columns, blocks, feature_digests(columns, blocks), max_bin)


def in_order(data: BinnedData, order: Ints) -> BinnedData:
    """Return binned rows in another order, int64 (n_rows,); they take the place of the old ones in memory."""
    for block in data.blocks:
        block[:] = block[order]
    return replace(data, digests=feature_digests(data.columns, data.blocks))


def category_order(columns: Columns, blocks: NDArray[np.uint8]) -> Ints:
    """Return the bins of each feature in the order in which equal ones are tried, (n_features, 256) int64.

    The bins of a category are in the order of digests of their rows, those of other features by number.
    """
    order = np.tile(np.arange(MOST_CODES), (len(columns.column), 1))
    features = np.flatnonzero(columns.bins.is_category & (columns.column >= 0))
    if len(features):
        sums = _sums_by_digit(columns, blocks, _digests_of_positions(blocks))
        for feature, n_bins in zip(features.tolist(), columns.bins.n_bins[features].tolist(), strict=True):
            order[feature, :n_bins] = np.argsort(sums[feature, :n_bins])
    return order


def distinct_features(digests: Digests, bins: Bins, kinds: NDArray[np.uint64]) -> Ints:
    """Return the features that tell rows apart, each once, in the order of their digests.

    kinds  (n_features,) uint64: features of different kinds are never the same, e.g. of different constraints

    Of features that are the same to trees, such as x and 2 x, the one with the least digest of its edges is taken.
    """
    edges = mixed(bins.edges.view(np.uint32).astype(np.uint64) + np.arange(MOST_BINS, dtype=np.uint64) * MOST_CODES)
    order = np.lexsort([edges.sum(axis=1), kinds, digests])
    order = order[digests[order] > 0]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(digests[order]) != 0) | (np.diff(kinds[order]) != 0)
    return order[new]


def row_digests(data: BinnedData) -> Digests:
    """Return the digest of each row among all rows, (n_rows,) uint64."""
    columns = data.columns
    features = distinct_features(data.digests, columns.bins, np.zeros(len(data.digests), np.uint64))
    digits = np.tile(np.arange(MOST_CODES, dtype=np.uint64), (len(columns.column), 1))
    digits[np.arange(len(digits)), columns.missing_digit] = MOST_CODES - 1
    rows = np.ones(data.n_rows, np.uint64)
    for _ in range(ROUNDS):
        sums = _sums_by_digit(columns, data.blocks, rows)
        of_features = mixed(_digests_of_states(columns, sums)[:, None])
        states = mixed(np.where(columns.bins.is_category[:, None], sums, digits) ^ of_features)
        of_codes = np.zeros((len(columns.column_ptr) - 1, MOST_CODES), np.uint64)
        np.add.at(of_codes, columns.column[features], np.take_along_axis(states, columns.digits, axis=1)[features])
        rows = np.zeros(data.n_rows, np.uint64)
        _add_states(data.blocks, of_codes, rows)
        rows = mixed(rows)
    return rows


def _digests_of_positions(blocks: NDArray[np.uint8]) -> Digests:
    """Return random bits for the position of each row, (n_rows,) uint64."""
    return mixed(np.arange(blocks.shape[1], dtype=np.uint64))


def _sums_by_digit(columns: Columns, blocks: NDArray[np.uint8], of_rows: Digests) -> Digests:
    """Return the sum over the rows of each digit, (n_features, 256) uint64."""
    sums = np.zeros((len(columns.column), MOST_CODES), np.uint64)
    _add_rows(blocks, columns.column, columns.digits, of_rows, sums)
    return sums


def _digests_of_states(columns: Columns, sums: Digests) -> Digests:
    """Return the digest of each feature from the sums of its digits (n_features, 256); 0 where one digit has rows."""
    digits = np.where(columns.bins.is_category[:, None], 0, np.arange(MOST_CODES)).astype(np.uint64)
    digits[np.arange(len(digits)), columns.missing_digit] = MOST_CODES
    has_rows = sums > 0
    digests = np.where(has_rows, mixed(sums + mixed(digits)), np.uint64(0)).sum(axis=1)
    return np.where(has_rows.sum(axis=1) > 1, digests, np.uint64(0))


@kernel()
def _mix(values, out):
    """Fill out (n,) uint64 with random bits of values (n,) uint64."""
    for i in range(values.shape[0]):
        out[i] = random_bits(values[i], np.uint64(1))  # number 0 of the seed 0 is 0


@kernel(parallel=True)
def _add_rows(blocks, column, digits, of_rows, out):
    """Add the numbers of rows (n_rows,) uint64 to out (n_features, 256) uint64, by their digit of each feature.

    column (n_features,) int64, -1 where none; digits (n_features, 256) int64 by code; blocks (n_blocks, n_rows, 16)
    """
    for block in prange(blocks.shape[0]):
        by_code = np.zeros((WIDTH, MOST_CODES), np.uint64)
        for row in range(of_rows.shape[0]):
            for k in range(WIDTH):
                by_code[k, blocks[block, row, k]] += of_rows[row]
        for feature in range(column.shape[0]):
            if column[feature] // WIDTH == block:
                for code in range(MOST_CODES):
                    out[feature, digits[feature, code]] += by_code[column[feature] % WIDTH, code]


@kernel()
def _add_states(blocks, states, out):
    """Add the states of codes (n_columns, 256) uint64 to out (n_rows,) uint64."""
    for block in range(blocks.shape[0]):
        for row in range(out.shape[0]):
            total = np.uint64(0)
            for k in range(WIDTH):
                total += states[WIDTH * block + k, blocks[block, row, k]]
            out[row] += total
