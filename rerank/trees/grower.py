"""Growing one tree on binned rows: `Grower` prepares what the kernel in `leafwise.py` takes, and reads its tree.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so that one addition sums both. They are
        scaled so that sums over all rows stay below 2^31; sums of integers do not depend on their order.

`pack` in `tests/oracles/trees.py` packs in Python; `leaf_value` there is the slow form of `Grower._leaf_values`.
"""

from math import frexp, ldexp
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.trees.bins import Bins
from rerank.trees.columns import GROUP_WIDTH, LEAST_SPARSE, MOST_CODES, WIDTH, Columns, list_exceptions
from rerank.trees.constraints import SplitConstraints
from rerank.trees.content import category_order
from rerank.trees.forest import Forest, category_sets
from rerank.trees.leafwise import grow_leaves
from rerank.trees.structures import BinnedRows, TreeLimits, TreeTask, Workspace
from rerank.types import Floats, Ints

LARGEST_EXPONENT, MOST_EXPONENT = 30, 1000  # of sums, and of a scale: beyond it, that of a unit would underflow
LARGEST_SUM = 2.0**LARGEST_EXPONENT


def pack_gradients(
    grad: Floats, hess: Floats, rows: NDArray[np.int32], packed: Ints
) -> tuple[float, float, float, float]:
    """Fill packed (k,) with the gradients and hessians of rows (k,); return units and totals.

    grad, hess  (n_rows,), all rows
    Returns grad_unit and hess_unit, the gradient and hessian of one unit of the integers, and the sums of both. What
    hessians are multiplied by is a power of 2: counts of rows and pairs stay exact, and so do limits of their sums.
    """
    sum_grad, sum_hess = _sum_sizes(grad, hess)
    grad_scale = LARGEST_SUM / sum_grad if sum_grad > 0.0 else 1.0
    exponent = min(LARGEST_EXPONENT - frexp(sum_hess)[1], MOST_EXPONENT) if sum_hess > 0.0 else 0
    hess_scale = ldexp(1.0, exponent)
    total_grad, total_hess = _pack(grad, hess, rows, grad_scale, hess_scale, packed)
    grad_unit = 1.0 / grad_scale
    hess_unit = 1.0 / hess_scale
    return grad_unit, hess_unit, total_grad * grad_unit, total_hess * hess_unit


@kernel()
def _sum_sizes(grad, hess):
    """Return the sums of |gradient| and hessian (k,) float64, added row by row."""
    sum_grad = 0.0
    sum_hess = 0.0
    for i in range(grad.shape[0]):
        sum_grad += abs(grad[i])
        sum_hess += hess[i]
    return sum_grad, sum_hess


@kernel()
def _pack(grad, hess, rows, grad_scale, hess_scale, packed):
    """Fill packed (k,) int64 with the scaled gradients and hessians of rows (k,) int32; return both sums in units."""
    total_grad = np.int64(0)
    total_hess = np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        high = np.int64(np.rint(grad[row] * grad_scale))
        low = np.int64(np.rint(hess[row] * hess_scale))
        packed[i] = (high << 32) + low
        total_grad += high
        total_hess += low
    return total_grad, total_hess


@kernel(parallel=True)
def _fill_leaf_sums(grad, hess, rows, leaf_ptr, sums):
    """Fill sums (n_leaves, 2) float64 with gradient and hessian of each leaf's rows, added row by row.

    grad, hess  (n_rows,) float64
    rows        (k,) int32, ordered by leaf: those of leaf l are rows[leaf_ptr[l, 0] : leaf_ptr[l, 1]]
    """
    for leaf in prange(leaf_ptr.shape[0]):
        total_grad = 0.0
        total_hess = 0.0
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            total_grad += grad[rows[i]]
            total_hess += hess[rows[i]]
        sums[leaf, 0], sums[leaf, 1] = total_grad, total_hess


@kernel(parallel=True)
def add_leaf_values(rows, leaf_ptr, leaf_value, scores):
    """Add each leaf's value to the scores (n_rows,) float64 of its rows; rows, leaf_ptr as in `_fill_leaf_sums`."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]


HIGHEST = np.finfo(np.float32).max
SUM_COST = 7 * MOST_CODES  # bins: searching them takes as long as summing a leaf's rows into a column's histogram
SPLIT_RULES = ("newton", "least-squares")


class Grower:
    """Grows trees on one binned data set, in memory that is allocated once.

    Parameters
    ----------
    columns : Columns
        Columns of the features.
    blocks : uint8 array of shape (n_blocks, n_rows, 16)
        Binned rows, from `Columns.blocks`.
    limits : TreeLimits
        When a tree stops growing.
    n_threads : int
        Threads to use.
    constraints : SplitConstraints or None
        Constraints of the features; None: no constraints.
    row_weights : float64 array of shape (n_rows,) or None
        None: splits are those that gain most by Newton steps, G^2 / H over both sides, as in LightGBM and XGBoost. An
        array: they fit the gradients by least squares, G^2 / rows (Burges 2010, equation 11), a row counts for its
        weight, and the limits of Newton steps hold for leaves alone.

    """

    def __init__(
        self,
        columns: Columns,
        blocks: NDArray[np.uint8],
        limits: TreeLimits,
        n_threads: int,
        constraints: SplitConstraints | None = None,
        row_weights: Floats | None = None,
    ) -> None:
        self.columns = columns
        self.limits = limits
        self.n_threads = n_threads
        self._constraints = constraints or SplitConstraints.of([""] * len(columns.column))
        self._row_weights = row_weights
        of_steps = float(row_weights is None)
        self._split_limits = TreeLimits(
            int(limits.num_leaves),
            int(limits.max_depth),
            float(limits.min_child_samples),
            of_steps * limits.least_hess,
            float(limits.min_split_gain),
            of_steps * limits.reg_alpha,
            of_steps * limits.reg_lambda,
        )
        exceptions = list_exceptions(blocks, columns.first_sparse, columns.most_freq_code, n_threads)
        self._rows = BinnedRows(
            blocks=blocks.view(np.uint64),
            codes=blocks,
            exceptions=exceptions.view(np.uint64),
            most_freq_code=columns.most_freq_code,
            first_sparse=columns.first_sparse,
            column_ptr=columns.column_ptr,
            column_features=columns.features,
            features=columns.records(),
            digit_of_code=columns.digits,
            category_order=category_order(columns, blocks),
        )
        n_blocks, n_rows, _ = blocks.shape
        self._work = Workspace.allocate(n_rows, n_blocks * WIDTH, len(columns.column), limits.num_leaves)

    def grow(
        self, grad: Floats, hess: Floats, rows: NDArray[np.int32], features: Ints
    ) -> tuple[Forest, NDArray[np.int32], Ints]:
        """Grow one tree on some rows and features; return it, its rows ordered by leaf, and those of each leaf.

        Of splits with equal gains, that on the first of the features is taken.

        Shapes: grad, hess float64 (n_rows,); rows int32 (k,); features int64 (m,); ordered int32 (k,); leaf_ptr int64
        (n_leaves, 2).

        C. Burges, MSR-TR-2010-82: equation 11 (splits by least squares), section 7 (Newton steps).
        """
        work = self._work
        n_rows = len(rows)
        is_candidate = np.zeros(len(self.columns.column), dtype=np.bool_)
        is_candidate[features] = True
        work.rows[0, :n_rows] = rows
        divisors = hess if self._row_weights is None else self._row_weights
        packed = work.packed[0, :n_rows]
        grad_unit, hess_unit, total_grad, total_hess = pack_gradients(grad, divisors, rows, packed)
        work.start(total_grad, total_hess, n_rows)
        direction = self._constraints.direction
        task = TreeTask(
            features,
            is_candidate,
            *self._column_groups(features),
            grad_unit,
            hess_unit,
            direction,
            self._constraints.groups,
            bool(direction.any()),
        )
        n_leaves = grow_leaves(self._rows, task, self._split_limits, work)
        leaf_ptr = np.column_stack([work.leaves[end][:n_leaves] for end in ("first", "last")])
        sums = np.empty((n_leaves, 2))
        _fill_leaf_sums(grad, hess, work.rows[0], leaf_ptr, sums)
        return self._grown_tree(self._leaf_values(sums), leaf_ptr), work.rows[0, :n_rows], leaf_ptr

    def _column_groups(self, features: Ints) -> tuple[Ints, Ints]:
        """Return the column groups of some features, and where those of each thread start.

        The work of threads is about equal. One thread, the last, takes all sparse columns: their exceptions are read
        together.
        """
        columns = self.columns
        n_groups = len(self.columns.column_ptr) // GROUP_WIDTH
        shared = columns.n_digits[features] < MOST_CODES  # such a feature reads the whole histogram of its column
        work = np.bincount(
            columns.column[features] // GROUP_WIDTH, columns.bins.n_bins[features] + MOST_CODES * shared, n_groups
        )
        groups = np.flatnonzero(work)
        read = np.unique(columns.column[features])
        n_dense = np.searchsorted(groups, columns.first_sparse // GROUP_WIDTH)
        work += SUM_COST * np.bincount(read[read < columns.first_sparse] // GROUP_WIDTH, minlength=n_groups)
        work[groups[n_dense : n_dense + 1]] += SUM_COST * LEAST_SPARSE
        before = np.cumsum(work[groups]) - work[groups] / 2
        ends = np.arange(1, self.n_threads) * work.sum() / self.n_threads
        return groups, np.concatenate([[0], np.minimum(np.searchsorted(before, ends), n_dense), [len(groups)]])

    def _leaf_values(self, sums: Floats) -> Floats:
        """Return -sum grad / (sum hess + reg_lambda) of each leaf, (n_leaves,), within its bounds, from both sums.

        The size of a sum of gradients is reduced by reg_alpha, down to 0. Where splits have not checked the hessian, a
        leaf with too little of it has the value 0.
        """
        limits = self.limits
        totals = self._work.totals[self._work.leaves["slot"][: len(sums)]]
        least_hess = 0.0 if self._row_weights is None and len(sums) > 1 else limits.least_hess
        hess = sums[:, 1] + limits.reg_lambda
        grad = np.copysign(np.maximum(np.abs(sums[:, 0]) - limits.reg_alpha, 0.0), sums[:, 0])
        has_value = (sums[:, 1] >= least_hess) & (hess > 0.0)
        steps = np.divide(-grad, hess, out=np.zeros(len(sums)), where=has_value)
        return np.clip(steps, totals["low"], totals["high"])

    def _grown_tree(self, values: Floats, leaf_ptr: Ints) -> Forest:
        """Return the tree that the kernel has grown, from the values and the rows of its leaves."""
        nodes = self._work.nodes[: len(values) - 1]
        bins = self.columns.bins
        edges = np.where(bins.is_category[nodes["feature"]], 0.0, bins.edges[nodes["feature"], nodes["bin"]])
        return Forest.tree(
            feature=nodes["feature"].astype(np.int32),
            threshold=np.minimum(edges, HIGHEST),  # JSON has no infinity, the edge of the missing values
            missing_left=nodes["missing_left"].copy(),
            left=nodes["left"].astype(np.int32),
            right=nodes["right"].astype(np.int32),
            gain=nodes["gain"].copy(),
            leaf_value=values,
            leaf_count=leaf_ptr[:, 1] - leaf_ptr[:, 0],
            **_sets(nodes, bins),
        )


def _sets(nodes: NDArray[np.void], bins: Bins) -> dict[str, Any]:
    """Return the sets of categories of NODE records (n_nodes,), as `Forest` has them."""
    split = np.flatnonzero(bins.is_category[nodes["feature"]])
    is_left = np.unpackbits(nodes["left_bins"][split].view(np.uint8), axis=1, bitorder="little")
    left = zip(split.tolist(), map(np.flatnonzero, is_left), strict=True)
    return category_sets(
        len(nodes), {node: bins.edges[nodes["feature"][node]][places].astype(np.int64) for node, places in left}
    )
