"""The bins of each feature: at most 255, learned from its values.

edge      upper end of a bin: bin b holds edges[b - 1] < value <= edges[b]; the last edge is infinite
missing   NaN is in no bin; each split decides on which side missing values go
category  a feature whose values have no order: each of its most frequent values is a bin, whose edge is the value; the
          other values count as missing

`choose_edges` in `tests/oracles/trees.py` is the slow form of `_choose_edges`.

Bins as training reads them: columns of one byte a row, in blocks of 16.

column        one byte a row, called its code. Several features with few bins share a column: the code is a mixed-radix
              number with a digit for each of them, so that one addition to the column's histogram counts for all.
digit         a feature's part of the code: its bin, or the number after its last bin where the value is missing. A
              feature with a column for itself has the digits 0 to 255, and 255 where the value is missing.
block         16 columns: the bytes of a row are one load, and the block's histograms fit into the L1 cache
column group  4 columns, a quarter of a block: the least that one thread takes. Sparse columns start a group, and only
              they follow.
sparse column nearly every row has the most frequent code, so only the exceptions of a row are stored
exception     another code than the most frequent one of its column, as a uint16: (column - first_sparse) * 256 + code

A row stores eight uint16, one load from memory in place of one byte for each sparse column. Those that it does not need
name the most frequent codes of different columns, whose sums are computed from the others and overwrite what these add.
A row with more than eight exceptions has OVERFLOW as its first, and its codes are read from the blocks. The kernel that
adds exceptions to histograms is in `leafwise.py`.

`find_bin` in `tests/oracles/trees.py` is the slow form of `_find_bins`; `exceptions_of_row` there does for one
row what `_fill_exceptions` does. `tests/trees/test_bins.py` reads the digits back from the blocks and compares.

Training rows as the booster takes them: binned, in canonical order, in memory or in a memory-mapped file.

A mapped X (`rerank.runtime.mapped_rows`) is read in passes, block by block, and is never in memory as a whole: first as
many columns at a time as fit into the working memory, to learn their bins, then once more to bin the rows. The bins and
the blocks equal those of an X in memory, byte for byte.

A tree's nodes read the codes of binned rows (`tree_values`), so that their features are not needed: a value is in a bin
up to a split's if and only if it is at most the split's threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import is_mapped, row_blocks, temporary_array
from rerank.runtime.numerics import prefetch
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.forest import Forest, Tree, set_members
from rerank.trees.leafwise import OVERFLOW
from rerank.trees.structures import FEATURE
from rerank.types import Floats, Ints, pointers

MOST_BINS = 255
FEATURES_AT_ONCE = 16  # sorted together: the rows are read once for all of them
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
WORKING_BYTES = 1 << 29  # for the columns of a mapped X that are sorted together
ROWS_A_SHARE = 4096  # of a thread
PREFETCH_DISTANCE = 16  # rows


@dataclass(frozen=True, eq=False)
class Bins:
    """How values become bins, learned from the training rows.

    Parameters
    ----------
    edges : float32 array of shape (n_features, 255)
        Upper ends of the bins, padded with +inf.
    n_bins : int64 array of shape (n_features,)
        Bins in use.
    missing : bool array of shape (n_features,)
        Whether the training rows hold a missing value.
    most_freq_bin : int64 array of shape (n_features,)
        Most frequent bin; n_bins where most values are missing.
    exception_share : float64 array of shape (n_features,)
        Share of the rows that are not in it.
    is_category : bool array of shape (n_features,)
        Whether the feature is a category.

    """

    edges: NDArray[np.float32]
    n_bins: NDArray[np.int64]
    missing: NDArray[np.bool_]
    most_freq_bin: NDArray[np.int64]
    exception_share: NDArray[np.float64]
    is_category: NDArray[np.bool_]


def learn_bins(
    X: NDArray[np.float32],
    max_bin: int,
    n_threads: int,
    working_bytes: int = 0,
    is_category: NDArray[np.bool_] | None = None,
) -> Bins:
    """Choose the bins of every feature from all rows: one bin for each distinct value, or about equal counts.

    A value with many rows gets a bin for itself; edges are midway between values. The order of the rows does not
    matter. Of more than `max_bin` categories, the most frequent ones have bins; of equally frequent ones, the lowest.

    Shapes: X float32 (n_rows, n_features); is_category (n_features,), None for no category.

    LightGBM's ``GreedyFindBin`` (src/io/bin.cpp).
    """
    n_features = X.shape[1]
    bins = Bins(
        edges=np.full((n_features, MOST_BINS), np.inf, dtype=np.float32),
        n_bins=np.ones(n_features, dtype=np.int64),
        missing=np.zeros(n_features, dtype=np.bool_),
        most_freq_bin=np.zeros(n_features, dtype=np.int64),
        exception_share=np.zeros(n_features),
        is_category=np.zeros(n_features, dtype=np.bool_) if is_category is None else is_category,
    )

    def learn(first: int) -> None:
        columns = X[:, first : first + FEATURES_AT_ONCE].T.copy(order="C")
        for feature, column in enumerate(columns, first):
            _learn_feature(bins, feature, column, max_bin)

    if is_mapped(X):
        for columns in _mapped_columns(X, working_bytes):
            in_threads(lambda column: _learn_feature(bins, *column, max_bin), columns, n_threads)
    else:
        in_threads(learn, range(0, n_features, FEATURES_AT_ONCE), n_threads)
    return bins


def _mapped_columns(X: NDArray[np.float32], working_bytes: int) -> Iterator[list[tuple[int, NDArray[np.float32]]]]:
    """Yield sets of features, each with its values (n_rows,); their memory is used again for the next set."""
    n_rows, n_features = X.shape
    at_once = min(max(working_bytes // (X.itemsize * n_rows), 1), n_features)
    columns = np.empty((at_once, n_rows), dtype=np.float32)
    for first in range(0, n_features, at_once):
        some = columns[: min(at_once, n_features - first)]
        for row, block in row_blocks(X):
            some[:, row : row + len(block)] = block[:, first : first + at_once].T
        yield list(enumerate(some, first))


def _learn_feature(bins: Bins, feature: int, column: NDArray[np.float32], max_bin: int) -> None:
    """Set the bins of one feature from its values (n_rows,), which are sorted in place."""
    column.sort()
    n_present = int(np.searchsorted(column, np.nan)) if len(column) else 0
    if bins.is_category[feature]:
        values, sizes = np.unique(column[:n_present], return_counts=True)
        frequent = np.sort(np.argsort(-sizes, kind="stable")[:max_bin])
        bins.n_bins[feature] = max(len(frequent), 1)
        bins.edges[feature, : len(frequent)] = values[frequent]
        counts = np.append(sizes[frequent] if len(frequent) else 0, len(column) - sizes[frequent].sum())
        bins.missing[feature] = counts[-1] > 0
    else:
        bins.missing[feature] = n_present < len(column)
        bins.n_bins[feature] = _choose_edges(column[:n_present], max_bin, bins.edges[feature])
        ends = np.searchsorted(column[:n_present], bins.edges[feature, : bins.n_bins[feature]], side="right")
        counts = np.diff(ends, prepend=0, append=len(column))
    bins.most_freq_bin[feature] = np.argmax(counts)
    bins.exception_share[feature] = 1.0 - counts.max() / max(len(column), 1)


@helper()
def _between(low, high):  # type: ignore[no-untyped-def]
    """Return a float32 edge with low <= edge < high."""
    middle = np.float32(0.5 * np.float64(low) + 0.5 * np.float64(high))
    return middle if low <= middle < high else low


@helper()
def _next_distinct(column, start):  # type: ignore[no-untyped-def]
    """Return the index of the first value after those equal to column[start]."""
    end = start + 1
    while end < column.shape[0] and column[end] == column[start]:
        end += 1
    return end


@helper()
def _separate_all(column, edges):  # type: ignore[no-untyped-def]
    """Fill edges between all distinct values; return the bins in use."""
    n_bins = 0
    for i in range(1, column.shape[0]):
        if column[i] != column[i - 1]:
            edges[n_bins] = _between(column[i - 1], column[i])
            n_bins += 1
    return n_bins + 1


@helper()
def _count_light(column, max_bin):  # type: ignore[no-untyped-def]
    """Return rows and bins that are left for the values with fewer rows than an even share."""
    n = column.shape[0]
    start = 0
    n_heavy = 0
    n_light_rows = n
    while start < n:
        end = _next_distinct(column, start)
        if end - start >= n / max_bin:
            n_heavy += 1
            n_light_rows -= end - start
        start = end
    return n_light_rows, max(max_bin - n_heavy, 1)


@kernel()
def _choose_edges(column, max_bin, edges):  # type: ignore[no-untyped-def]
    """Fill edges (255,) from one ascending column (n,) without missing values; return the bins in use.

    A value with more rows than an even share gets a bin for itself; the others share the bins that are left.
    """
    n = column.shape[0]
    n_distinct = min(n, 1)
    for i in range(1, n):
        n_distinct += column[i] != column[i - 1]
    if n_distinct <= max_bin:
        return _separate_all(column, edges)
    n_light_rows, n_light_bins = _count_light(column, max_bin)
    n_bins = 0
    in_bin = 0
    start = 0
    previous = 0
    while start < n and n_bins < max_bin - 1:
        end = _next_distinct(column, start)
        is_heavy = end - start >= n / max_bin
        light_share = n_light_rows / max(n_light_bins, 1)
        if is_heavy and in_bin >= 0.5 * light_share and in_bin > 0:
            edges[n_bins] = _between(column[previous], column[start])
            n_bins += 1
            n_light_bins -= 1
            n_light_rows -= in_bin
            in_bin = 0
            if n_bins == max_bin - 1:
                break
        in_bin += end - start
        if end < n and (is_heavy or in_bin >= light_share):
            edges[n_bins] = _between(column[start], column[end])
            n_bins += 1
            if not is_heavy:
                n_light_bins -= 1
                n_light_rows -= in_bin
            in_bin = 0
        previous = start
        start = end
    return n_bins + 1


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

    def fill(rows: slice) -> None:
        _fill_exceptions(blocks[:, rows], first_sparse, most_freq_code, OVERFLOW, exceptions[:-1][rows])

    in_threads(fill, row_parts(n_rows, n_threads), n_threads)
    return exceptions


@kernel()
def _fill_exceptions(blocks, first_sparse, most_freq_code, overflow, out):  # type: ignore[no-untyped-def]
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
        records = self.records()
        bins = self.bins

        def fill(part: slice) -> None:
            _fill_blocks(X, rows[part], self.features, records, self.stride, bins.edges, out[:, part])

        in_threads(fill, row_parts(len(rows), n_threads), n_threads)
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
def _find_bins(values, edges, n_bins, out):  # type: ignore[no-untyped-def]
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
def _fill_blocks(X, rows, stored_features, features, stride, edges, out):  # type: ignore[no-untyped-def]
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


@dataclass(frozen=True)
class Storage:
    """Where the binned rows are kept; it has no effect on the model.

    Parameters
    ----------
    mapped : bool
        Whether the blocks are in a memory-mapped temporary file.
    working_bytes : int
        Memory for columns that are sorted together while the bins of a mapped X are learned.

    """

    mapped: bool = False
    working_bytes: int = WORKING_BYTES


@dataclass(frozen=True, eq=False)
class BinnedData:
    """Binned rows in canonical order.

    Parameters
    ----------
    columns : Columns
        Which column holds which features, and their bins.
    blocks : uint8 array of shape (n_blocks, n_rows, 16)
        Codes of the columns.
    digests : uint64 array of shape (n_features,)
        Digest of each feature (`content.py`), 0 where no split divides the rows.
    max_bin : int
        Most bins of a feature.

    """

    columns: Columns
    blocks: NDArray[np.uint8]
    digests: NDArray[np.uint64]
    max_bin: int = MOST_BINS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.blocks.shape[1])

    def select(self, rows: Ints) -> BinnedData:
        """Return a copy of some rows, with the bins of all."""
        return replace(self, blocks=np.take(self.blocks, rows, axis=1))


def bin_with(
    columns: Columns, X: NDArray[np.float32], order: Ints, n_threads: int, mapped: bool = False
) -> NDArray[np.uint8]:
    """Return the codes of all rows under bins that are known."""
    if not is_mapped(X) and not mapped:
        return columns.blocks(X, order, n_threads)
    shape = (columns.n_blocks, len(order), WIDTH)
    blocks = temporary_array(shape, np.uint8, "binned rows") if mapped else np.empty(shape, dtype=np.uint8)
    out = np.asarray(blocks).view(np.dtype((np.void, WIDTH)))[:, :, 0]
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    for first, rows in row_blocks(X):
        codes = columns.blocks(rows, np.arange(len(rows)), n_threads).view(out.dtype)[:, :, 0]
        out[:, position[first : first + len(rows)]] = codes
    return np.asarray(blocks)


def tree_values(tree: Tree, columns: Columns, blocks: NDArray[np.uint8]) -> Floats:
    """Return the value of the leaf that each row reaches.

    Shapes: blocks uint8 (n_blocks, n_rows, 16).
    """
    out = np.empty(blocks.shape[1])
    column = columns.column[tree.feature]
    goes_left = _codes_to_the_left(tree, columns)
    children = np.stack((tree.left, tree.right), axis=1)
    _fill_values(blocks, column, goes_left, children, tree.leaf_value, out)
    return out


def _codes_to_the_left(tree: Tree, columns: Columns) -> NDArray[np.uint8]:
    """Return for each node and code of its column whether such rows go left, (n_nodes, 256)."""
    feature = tree.feature
    bins = columns.bins
    last_bin = [
        np.searchsorted(bins.edges[f, : bins.n_bins[f]], threshold)
        for f, threshold in zip(feature.tolist(), tree.threshold, strict=True)
    ]
    digit = np.arange(MOST_CODES) // columns.stride[feature, None] % columns.n_digits[feature, None]
    goes_left = digit <= np.array(last_bin, dtype=np.int64)[:, None]
    node_of, categories = set_members(Forest.of([tree]))
    for node in np.unique(node_of).tolist():
        of_bins = bins.edges[feature[node], : bins.n_bins[feature[node]]]
        goes_left[node] = np.isin(digit[node], np.flatnonzero(np.isin(of_bins, categories[node_of == node])))
    is_missing = bins.missing[feature, None] & (digit == columns.missing_digit[feature, None])
    return np.where(is_missing, tree.missing_left[:, None], goes_left).astype(np.uint8)


@helper()
def _divide(codes, goes_left, rows, to_rows):  # type: ignore[no-untyped-def]
    """Copy rows (k,) to to_rows (k,): those that go left to its front, the others to its end; return how many do.

    codes  (n_rows,) uint8 of one column, every 16th byte of its block
    """
    n = rows.shape[0]
    left = np.int64(0)
    right = rows.shape[0] - 1
    for i in range(n):
        prefetch(codes, rows[min(i + PREFETCH_DISTANCE, n - 1)])
        to_rows[left] = to_rows[right] = rows[i]  # no branch to mispredict: the next row takes the other place
        flag = np.int64(goes_left[codes[np.uint32(rows[i])]])
        left += flag
        right -= 1 - flag
    return left


@helper()
def _fill_share(blocks, column, goes_left, children, leaf_value, first, last, out):  # type: ignore[no-untyped-def]
    """Do what `_fill_values` does for the rows from `first` to `last`, which are divided node by node."""
    n_nodes = column.shape[0]
    if n_nodes == 0:
        out[first:last] = leaf_value[0]
        return
    rows, parts = np.empty((2, last - first), np.int32), np.empty((n_nodes, 3), np.int64)  # from, to, which rows
    for i in range(last - first):
        rows[0, i] = first + i
    parts[0, 0], parts[0, 1], parts[0, 2] = 0, last - first, 0
    for node in range(n_nodes):  # a child follows its parent
        begin = parts[node, 0]
        end = parts[node, 1]
        buffer = parts[node, 2]
        number = column[node]
        codes = blocks[number // 16, :, number % 16]
        middle = begin + _divide(codes, goes_left[node], rows[buffer, begin:end], rows[1 - buffer, begin:end])
        for side in range(2):
            child = children[node, side]
            low, high = (middle, end) if side else (begin, middle)
            if child >= 0:
                parts[child, 0], parts[child, 1], parts[child, 2] = low, high, 1 - buffer
            else:
                for i in range(low, high):
                    out[rows[1 - buffer, i]] = leaf_value[~child]


@kernel(parallel=True)
def _fill_values(blocks, column, goes_left, children, leaf_value, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows,) float64 with the value of the leaf that each row of blocks (n_blocks, n_rows, 16) reaches.

    column     (n_nodes,) int64 column that each node reads
    goes_left  (n_nodes, 256) uint8 by code
    children   (n_nodes, 2) int32, left and right: a node, or ~leaf (negative)
    """
    for share in prange((out.shape[0] + ROWS_A_SHARE - 1) // ROWS_A_SHARE):
        first = np.int64(share) * ROWS_A_SHARE
        last = min(out.shape[0], first + ROWS_A_SHARE)
        _fill_share(blocks, column, goes_left, children, leaf_value, first, last, out)
