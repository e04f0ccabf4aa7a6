"""Arrays and records that the stages of tree growth share: binned rows, limits, splits, leaves and nodes.

code            the value of a column's byte: the bin of one feature, or the digits of several (`columns.py`)
column group    4 neighbouring columns (a quarter of a block of 16): the least that one thread takes
packed          one int64 a row: gradient in the high 32 bits, hessian in the low 32 (`grower.py`)
histogram       (256,) int64 of one column: the sum of `packed` by code
slot            index of a leaf's histograms, totals and best split. After a split the larger child takes over the slot
                of its parent, so a leaf and its slot have numbers of their own.

The named tuples and dtypes are part of a compiled kernel's signature: a change of them compiles it anew. They stay in
this module: Numba fails on a cache of compiled code that names one which is no longer there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.trees.constraints import ALL_GROUPS
from rerank.types import Ints

BIN_WORDS = 4  # of 64 bins each
HESSIAN_ROUNDING = 2.0**-20  # of sums of hessians that are no multiples of a power of 2
FEATURE = np.dtype(
    [
        ("column", np.int64),  # where its codes are; -1: one bin only, nothing to split
        ("n_digits", np.int64),  # number of values of its digit in the code; 256 where it has the column for itself
        ("missing_digit", np.int64),  # digit of a missing value
        ("n_bins", np.int64),
        ("has_missing", np.bool_),  # whether the training rows hold a missing value
        ("is_category", np.bool_),  # whether its bins are categories, which have no order
    ],
    align=True,
)
SPLIT = np.dtype(
    [
        ("gain", np.float64),  # decrease of the loss; 0: no split
        ("feature", np.int64),
        ("bin", np.int64),  # the last one that goes left
        ("left_bins", np.uint64, (BIN_WORDS,)),  # of a category instead: the bins that go left, a bit each
        ("missing_left", np.bool_),  # whether missing values go left
        ("left_grad", np.float64),  # sums over the rows that go left
        ("left_hess", np.float64),
    ],
    align=True,
)
TOTALS = np.dtype(
    [
        ("grad", np.float64),
        ("hess", np.float64),
        ("n_rows", np.int64),
        ("low", np.float64),  # bounds of the leaf's value, from monotone constraints
        ("high", np.float64),
        ("groups", np.uint64),  # interaction groups that hold all features of the path to the leaf, a bit each
    ],
    align=True,
)
LEAF = np.dtype(
    [
        ("first", np.int64),  # its rows are [first, last) of its buffer
        ("last", np.int64),
        ("buffer", np.int64),  # 0 or 1: a split copies the rows of a leaf from one buffer to the other
        ("slot", np.int64),
        ("depth", np.int64),
        ("parent", np.int64),  # node; -1: the leaf is the root
        ("is_left", np.bool_),  # which child of its parent
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("feature", np.int64),
        ("bin", np.int64),
        ("left_bins", np.uint64, (BIN_WORDS,)),
        ("missing_left", np.bool_),
        ("left", np.int64),  # a node, or ~leaf (negative)
        ("right", np.int64),
        ("gain", np.float64),
    ],
    align=True,
)


class BinnedRows(NamedTuple):
    """The binned rows of a data set, the same for all of its trees.

    Attributes
    ----------
    blocks : uint64 array of shape (n_blocks, n_rows, 2)
        The codes of 16 columns, a byte each: histograms read many columns of a row.
    codes : uint8 array of shape (n_blocks, n_rows, 16)
        The same memory by byte: a split reads one column.
    exceptions : uint64 array of shape (n_rows + 1, 2)
        Codes of the sparse columns (`columns.py`).
    most_freq_code : uint8 array of shape (n_sparse,)
        Most frequent code of each sparse column.
    first_sparse : int
        First sparse column; the others follow it.
    column_ptr : int64 array of shape (n_columns + 1,)
        Features of column c are column_features[column_ptr[c] : column_ptr[c + 1]].
    column_features : int64 array of shape (n_stored,)
        Features by column.
    features : FEATURE array of shape (n_features,)
        Where the codes of each feature are.
    digit_of_code : int64 array of shape (n_features, 256)
        Digit of a feature under each code of its column.
    category_order : int64 array of shape (n_features, 256)
        Bins of a category in the order in which equal ones are tried.

    """

    blocks: NDArray[np.uint64]
    codes: NDArray[np.uint8]
    exceptions: NDArray[np.uint64]
    most_freq_code: NDArray[np.uint8]
    first_sparse: int
    column_ptr: Ints
    column_features: Ints
    features: NDArray[np.void]
    digit_of_code: Ints
    category_order: Ints


class TreeLimits(NamedTuple):
    """When a tree stops growing; the names are those of LightGBM's ``LGBMRanker``.

    Kernels take float numbers, and looser limits where splits fit gradients by least squares.

    Parameters
    ----------
    num_leaves : int
        Most leaves.
    max_depth : int
        Most splits from the root to a leaf; negative: no limit.
    min_child_samples : float
        Fewest rows of a leaf.
    min_child_weight : float
        Smallest sum of hessians of a leaf.
    min_split_gain : float
        A split must gain more than this.
    reg_alpha : float
        What the size of a leaf's sum of gradients is reduced by.
    reg_lambda : float
        Added to the sum of hessians of a leaf.

    """

    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: float = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_alpha: float = 0.0
    reg_lambda: float = 0.0

    @property
    def least_hess(self) -> float:
        """`min_child_weight`, less what sums of hessians lose by rounding: a sum that equals it is enough."""
        return float(self.min_child_weight) * (1.0 - HESSIAN_ROUNDING)


class TreeTask(NamedTuple):
    """What one tree is grown from.

    Attributes
    ----------
    features : int64 array of shape (n_candidates,)
        Features that may be split on, in the order that decides between equal gains.
    is_candidate : bool array of shape (n_features,)
        Whether each feature is one of them.
    column_groups : int64 array of shape (n_groups,)
        Column groups that hold a candidate, ascending.
    thread_ptr : int64 array of shape (n_threads + 1,)
        Thread t sums and searches column_groups[thread_ptr[t] : thread_ptr[t + 1]].
    grad_unit, hess_unit : float
        Gradient and hessian of one unit of the packed integers.
    direction : int64 array of shape (n_features,)
        Monotone constraints: 1 where the score may not fall with the feature, -1 where it may not rise, else 0.
    groups : uint64 array of shape (n_features,)
        Interaction groups that hold each feature, a bit each; all bits without such constraints.
    bounded : bool
        Whether a direction is not 0.

    """

    features: Ints
    is_candidate: NDArray[np.bool_]
    column_groups: Ints
    thread_ptr: Ints
    grad_unit: float
    hess_unit: float
    direction: Ints
    groups: NDArray[np.uint64]
    bounded: bool


class Workspace(NamedTuple):
    """Memory that is allocated once and used for every tree.

    Attributes
    ----------
    rows : int32 array of shape (2, n_rows)
        Two buffers of row numbers, ordered by leaf. After growth buffer 0 holds all of them.
    packed : int64 array of shape (2, n_rows)
        Packed gradients of `rows`.
    goes_left : uint8 array of shape (n_rows,)
        Whether a row of the leaf that is split goes left.
    histograms : int64 array of shape (n_slots, n_columns, 256)
    feature_splits : SPLIT array of shape (2, n_features)
        Best split of each feature, of the two leaves that are searched together.
    splits : SPLIT array of shape (n_slots,)
        Best split of each leaf.
    totals : TOTALS array of shape (n_slots,)
    leaves : LEAF array of shape (n_slots,)
    nodes : NODE array of shape (n_slots - 1,), at least 1

    """

    rows: NDArray[np.int32]
    packed: NDArray[np.int64]
    goes_left: NDArray[np.uint8]
    histograms: NDArray[np.int64]
    feature_splits: NDArray[np.void]
    splits: NDArray[np.void]
    totals: NDArray[np.void]
    leaves: NDArray[np.void]
    nodes: NDArray[np.void]

    @classmethod
    def allocate(cls, n_rows: int, n_columns: int, n_features: int, n_leaves: int) -> Workspace:
        """Return the memory for trees of up to `n_leaves` leaves."""
        return cls(
            rows=np.empty((2, n_rows), dtype=np.int32),
            packed=np.empty((2, n_rows), dtype=np.int64),
            goes_left=np.empty(n_rows, dtype=np.uint8),
            histograms=np.empty((n_leaves, n_columns, 256), dtype=np.int64),
            feature_splits=np.zeros((2, n_features), dtype=SPLIT),
            splits=np.zeros(n_leaves, dtype=SPLIT),
            totals=np.zeros(n_leaves, dtype=TOTALS),
            leaves=np.zeros(n_leaves, dtype=LEAF),
            nodes=np.zeros(max(n_leaves - 1, 1), dtype=NODE),
        )

    def start(self, grad: float, hess: float, n_rows: int) -> None:
        """Make the root the only leaf; rows and packed gradients are in buffer 0, their totals are given."""
        self.totals[0] = (grad, hess, n_rows, -np.inf, np.inf, ALL_GROUPS)
        self.leaves[0] = (0, n_rows, 0, 0, 0, -1, False)
        self.splits["gain"] = 0.0
        self.feature_splits["gain"] = 0.0
