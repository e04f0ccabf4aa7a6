"""Bins as training reads them: columns of one byte a row, in blocks of 16.

column        one byte a row, called its code. Several features with few bins share a column: the code is a mixed-radix
              number with a digit for each of them, so that one addition to the column's histogram counts for all.
digit         a feature's part of the code: its bin, or the number after its last bin where the value is missing. A
              feature with a column for itself has the digits 0 to 255, and 255 where the value is missing.
block         16 columns: the bytes of a row are one load, and the block's histograms fit into the L1 cache
column group  4 columns, a quarter of a block: the least that one thread takes. The sparse columns begin with a new
              group, after all other columns.
sparse column nearly every row has the most frequent code, so only the exceptions of a row are stored
exception     another code than the most frequent one of its column, as a uint16: (column - first_sparse) * 256 + code

A row stores eight uint16, one load from memory in place of one byte for each sparse column. Those that it does not need
hold the most frequent codes of different columns. The sums of these codes are computed from the other sums afterwards,
and so replace what was added to them.
A row with more than eight exceptions has OVERFLOW as its first, and its codes are read from the blocks. The kernel that
adds exceptions to histograms is in `leafwise.py`.

`find_bin` in `tests/oracles/trees.py` is the slow form of `_find_bins`; `exceptions_of_row` there does for one
row what `_fill_exceptions` does. `tests/trees/test_bins.py` reads the digits back from the blocks and compares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.bins import Bins
from rerank.trees.leafwise import OVERFLOW
from rerank.trees.structures import FEATURE
from rerank.types import Ints, pointers

EXCEPTIONS = 8  # stored for each row
MOST_SPARSE = int(OVERFLOW) // 256  # columns: none of their exceptions equals OVERFLOW
LEAST_SPARSE = 20  # columns: to add a row's exceptions takes about as long as the bytes of this many columns
LARGEST_SHARE = 0.25  # of rows with an exception: above it a byte a row is faster
MEAN_EXCEPTIONS = 4.0  # of a row, at most: few rows have more than eight
LEAST_BINS = 128  # features of fewer bins may share a column with others
WIDTH = 16
GROUP_WIDTH = WIDTH // 4
MOST_CODES = 256
ROWS_AT_ONCE = 128  # their features stay in the L2 cache while one column after the other reads them


def sparse_features(bins: Bins) -> Ints:
    """Return the features to store as sparse columns."""
    sparse = np.flatnonzero((bins.n_bins + bins.missing > LEAST_BINS) & (bins.exception_share <= LARGEST_SHARE))
    sparse = sparse[np.argsort(bins.exception_share[sparse], kind="stable")]
    sparse = sparse[np.cumsum(bins.exception_share[sparse]) <= MEAN_EXCEPTIONS][:MOST_SPARSE]
    return sparse if len(sparse) >= LEAST_SPARSE else sparse[:0]


def list_exceptions(
    blocks: NDArray[np.uint8], first_sparse: int, most_freq_code: NDArray[np.uint8], n_threads: int
) -> NDArray[np.uint16]:
    """Return the exceptions of every row.

    Shapes: blocks uint8 (n_blocks, n_rows, 16); most_freq_code uint8 (n_sparse,).
    """
    if not len(most_freq_code):
        return np.empty((0, EXCEPTIONS), dtype=np.uint16)
    n_rows = blocks.shape[1]
    exceptions = np.empty((n_rows + 1, EXCEPTIONS), dtype=np.uint16)
    exceptions[-1] = 256 * np.arange(EXCEPTIONS) + most_freq_code[:EXCEPTIONS]
    in_threads(
        lambda rows: _fill_exceptions(blocks[:, rows], first_sparse, most_freq_code, OVERFLOW, exceptions[:-1][rows]),
        row_parts(n_rows, n_threads),
        n_threads,
    )
    return exceptions


@kernel()
def _fill_exceptions(blocks, first_sparse, most_freq_code, overflow, out):
    """Fill out (k, 8) uint16 with the exceptions of the rows of blocks (n_blocks, k, 16)."""
    for row in range(out.shape[0]):
        n = 0
        for k in range(most_freq_code.shape[0]):
            column = first_sparse + k
            code = blocks[column // 16, row, column % 16]
            if code != most_freq_code[k]:
                if n < EXCEPTIONS:
                    out[row, n] = 256 * k + np.int64(code)
                n += 1
        if n > EXCEPTIONS:
            out[row, 0] = overflow
        for k in range(n, EXCEPTIONS):
            out[row, k] = 256 * k + np.int64(most_freq_code[k])


@dataclass(frozen=True, eq=False)
class Columns:
    """Which column holds which features.

    Parameters
    ----------
    bins : Bins
        Bins of the features.
    column : int64 array of shape (n_features,)
        Column of each feature; -1 for a feature with a single bin, which needs no column.
    stride : int64 array of shape (n_features,)
        Place value of the feature's digit: code // stride % n_digits is the digit.
    n_digits : int64 array of shape (n_features,)
        Number of values of the digit; 256 where a feature has a column for itself.
    missing_digit : int64 array of shape (n_features,)
        Digit of a missing value.
    features : int64 array of shape (n_stored,)
        Features by column.
    column_ptr : int64 array of shape (n_blocks * 16 + 1,)
        The features of column c are features[column_ptr[c] : column_ptr[c + 1]].
    first_sparse : int
        First sparse column.
    most_freq_code : uint8 array of shape (n_sparse,)
        Most frequent code of each sparse column.

    """

    bins: Bins
    column: Ints
    stride: Ints
    n_digits: Ints
    missing_digit: Ints
    features: Ints
    column_ptr: Ints
    first_sparse: int
    most_freq_code: NDArray[np.uint8]

    @classmethod
    def of(cls, bins: Bins) -> Columns:
        """Assign features, those with the most bins first, to the first column with enough unused codes each.

        Each sparse feature then has a column of its own.
        """
        n_digits = bins.n_bins + bins.missing
        sparse = sparse_features(bins)
        column, stride, n_columns = _share_columns(n_digits, sparse)
        first_sparse = -(-n_columns // GROUP_WIDTH) * GROUP_WIDTH
        column[sparse] = first_sparse + np.arange(len(sparse))
        counts = np.bincount(column[column >= 0], minlength=-(-max(first_sparse + len(sparse), 1) // WIDTH) * WIDTH)
        alone = counts[column] == 1
        missing_digit = np.where(alone, MOST_CODES - 1, bins.n_bins).astype(np.int64)
        order = np.argsort(column, kind="stable")
        most_freq_digit = np.where(bins.most_freq_bin < bins.n_bins, bins.most_freq_bin, missing_digit)
        return cls(
            bins=bins,
            column=column,
            stride=stride,
            n_digits=np.where(alone, MOST_CODES, n_digits).astype(np.int64),
            missing_digit=missing_digit,
            features=order[column[order] >= 0],
            column_ptr=pointers(counts),
            first_sparse=first_sparse,
            most_freq_code=most_freq_digit[sparse].astype(np.uint8),
        )

    @classmethod
    def separate(cls, bins: Bins) -> Columns:
        """Give every feature with several bins a column of its own, not sparse, and a digit for missing values.

        Rows other than the training rows may be binned so: they may lack values that all training rows have.
        """
        is_stored = bins.n_bins + bins.missing > 1
        n_stored = int(is_stored.sum())
        column = np.where(is_stored, np.cumsum(is_stored) - 1, -1)
        counts = np.arange(-(-max(n_stored, 1) // WIDTH) * WIDTH) < n_stored
        return cls(
            bins=replace(bins, missing=np.ones_like(bins.missing)),
            column=column,
            stride=np.ones(len(column), dtype=np.int64),
            n_digits=np.full(len(column), MOST_CODES),
            missing_digit=np.full(len(column), MOST_CODES - 1),
            features=np.flatnonzero(is_stored),
            column_ptr=pointers(counts),
            first_sparse=n_stored,
            most_freq_code=np.empty(0, dtype=np.uint8),
        )

    @property
    def digits(self) -> Ints:
        """Digit of a feature under each code of its column, int64 of shape (n_features, 256)."""
        return np.arange(MOST_CODES) // self.stride[:, None] % self.n_digits[:, None]

    @property
    def n_blocks(self) -> int:
        """Number of 16-column blocks."""
        return (len(self.column_ptr) - 1) // WIDTH

    def records(self) -> NDArray[np.void]:
        """Return the FEATURE record of each feature, shape (n_features,)."""
        bins = self.bins
        columns = self.column, self.n_digits, self.missing_digit, bins.n_bins, bins.missing, bins.is_category
        return np.array(list(zip(*columns, strict=True)), dtype=FEATURE)

    def blocks(self, X: NDArray[np.float32], rows: Ints, n_threads: int) -> NDArray[np.uint8]:
        """Return the codes of some rows; X is not copied as a whole.

        Shapes: X float32 (n_rows, n_features); rows int64 (k,).
        """
        out = np.zeros((self.n_blocks, len(rows), WIDTH), dtype=np.uint8)
        of_columns = self.features, self.records(), self.stride, self.bins.edges
        in_threads(
            lambda part: _fill_blocks(X, rows[part], *of_columns, out[:, part]),
            row_parts(len(rows), n_threads),
            n_threads,
        )
        return out


def _share_columns(n_digits: Ints, sparse: Ints) -> tuple[Ints, Ints, int]:
    """Return column and stride (n_features,) of the features that are not sparse, and the number of columns."""
    column = np.full(len(n_digits), -1)
    stride = np.ones(len(n_digits), dtype=np.int64)
    n_codes: list[int] = []  # in use, of each column
    for feature in np.argsort(-n_digits, kind="stable"):
        if n_digits[feature] < 2 or feature in sparse:
            continue
        with_space = (number for number, used in enumerate(n_codes) if used * n_digits[feature] <= MOST_CODES)
        column[feature] = number = next(with_space, len(n_codes))
        if number == len(n_codes):
            n_codes.append(1)
        stride[feature] = n_codes[number]
        n_codes[number] *= int(n_digits[feature])
    return column, stride, len(n_codes)


@helper()
def _find_bins(values, edges, n_bins, out):
    """Fill out (k,) int64 with the number of edges (255,), padded with +inf, below each value: a binary search."""
    step = 1
    while 2 * step < n_bins:
        step *= 2
    out[:] = 0
    while step > 0:
        for i in range(values.shape[0]):
            out[i] += step if edges[np.uint64(out[i] + step - 1)] < values[i] else 0
        step >>= 1


@kernel()
def _fill_blocks(X, rows, stored_features, features, stride, edges, out):
    """Add the codes of some rows of X to out (n_blocks, k, 16) uint8, zero before; features are FEATURE records."""
    values = np.empty(ROWS_AT_ONCE, np.float32)
    bins = np.empty(ROWS_AT_ONCE, np.int64)
    for first in range(0, rows.shape[0], ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, rows.shape[0] - first)
        for k in range(stored_features.shape[0]):
            number = stored_features[k]
            feature = features[number]
            feature_stride = stride[number]
            missing_digit = feature["missing_digit"]
            for i in range(n):
                values[i] = X[rows[first + i], number]
            _find_bins(values[:n], edges[number], feature["n_bins"], bins[:n])
            if feature["is_category"]:
                for i in range(n):
                    if edges[number, min(bins[i], feature["n_bins"] - 1)] != values[i]:
                        values[i] = np.nan  # in no bin
            block = feature["column"] // WIDTH
            column = feature["column"] % WIDTH
            for i in range(n):
                digit = bins[i] if values[i] == values[i] else missing_digit
                out[block, first + i, column] += np.uint8(digit * feature_stride)
