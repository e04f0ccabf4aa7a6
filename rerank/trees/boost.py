"""Boosting: trees one after the other, each on the gradients of an objective at the present scores.

Minimal variance sampling (MVS): rows are drawn by the size of their gradients, and weighted so that sums are kept.

A row with gradient g and hessian h is drawn with probability p = min(1, v / mu), v = sqrt(g^2 + 0.1 h^2), and then both
are multiplied by 1 / p: the sums over the drawn rows, on which splits and leaves are chosen, estimate those over all
rows with the least variance (the lambda of the paper is 0.1 here). mu is such that the expected number of rows is the
share that is asked for, to within about 1 %: it is found from one count of the rows by v^2, rounded down to 3 binary
digits. Rows that are not drawn need no square root.

A row's draw depends on the seed, the number of the tree and the number of the row alone, and so not on threads.
`probabilities` in `tests/oracles/sampling.py` is the slow form.

Growing one tree on binned rows: `Grower` prepares what the kernel in `leafwise.py` takes, and reads the tree it grew.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so that one addition sums both. They are
        scaled so that sums over all rows stay below 2^31; sums of integers do not depend on their order.

`pack` in `tests/oracles/trees.py` packs in Python; `leaf_value` there is the slow form of `Grower._leaf_values`.

References
----------
B. Ibragimov, G. Gusev, Minimal Variance Sampling in Stochastic Gradient Boosting, NeurIPS 2019.

"""

from collections.abc import Callable
from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import random_bits
from rerank.trees.bins import (
    GROUP_WIDTH,
    LEAST_SPARSE,
    MOST_CODES,
    WIDTH,
    BinnedData,
    Bins,
    Columns,
    list_exceptions,
    tree_values,
)
from rerank.trees.content import category_order, distinct_features
from rerank.trees.forest import Tree, category_bits
from rerank.trees.leafwise import grow_leaves
from rerank.trees.structures import BinnedRows, SplitConstraints, TreeLimits, TreeTask, Workspace
from rerank.types import Floats, Ints

WEIGHT_OF_HESSIAN = 0.1
N_SHARES = 4  # of the rows: what threads take at a time
SHIFT = 50  # of a float64 of at least 0: 11 bits of exponent and 2 of fraction are left
N_SIZES = 2047 << 2  # finite ones
LARGEST = 1e306  # of squares that overflow, less than the greatest float64 so that mu is among the sizes
_EDGES = np.sqrt((np.arange(N_SIZES) << SHIFT).view(np.float64))
_MIDDLES = np.sqrt(((np.arange(N_SIZES) << SHIFT) + (1 << (SHIFT - 1))).view(np.float64))
Gradients = Callable[[Floats, Floats, Floats], None]
StepLength = Callable[[Floats, Floats], float]


def draw_by_gradient(
    share: float, seed: list[int], grad: Floats, hess: Floats, rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the share of rows (k,) that a tree is grown on, in their order.

    Their gradients and hessians in grad and hess (n_rows,) are multiplied by 1 / p.
    """
    counts = np.empty((N_SHARES, N_SIZES), dtype=np.int64)
    _count_sizes(grad, hess, rows, counts)
    least = _least_certain(counts.sum(axis=0), share * len(rows))
    of_rows = np.random.default_rng(seed).integers(1 << 63, dtype=np.uint64)
    drawn = np.empty(len(rows), dtype=np.int32)
    n_drawn = np.zeros(N_SHARES, dtype=np.int64)
    _draw(grad, hess, rows, least, of_rows, drawn, n_drawn)
    firsts = np.arange(N_SHARES) * len(rows) // N_SHARES
    return np.concatenate([drawn[first : first + n] for first, n in zip(firsts, n_drawn.tolist(), strict=True)])


def _least_certain(counts: NDArray[np.int64], n_drawn: float) -> float:
    """Return mu, from the number of rows of each size (N_SIZES,) and the expected number of rows to draw."""
    certain = counts[::-1].cumsum()[::-1]  # rows of each size or a larger one
    below = np.cumsum(counts * _MIDDLES) - counts * _MIDDLES
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = below / (n_drawn - certain)
    fits = (certain < n_drawn) & (mu <= _EDGES)
    return max(float(mu[np.argmax(fits)]), float(_EDGES[1]))


@helper()
def _bounds(n_rows, share, n_shares):  # type: ignore[no-untyped-def]
    """Return the first row of a share, and that of the next one."""
    return share * n_rows // n_shares, (share + 1) * n_rows // n_shares


@helper()
def _importance(grad, hess):  # type: ignore[no-untyped-def]
    """Return v^2 of a row."""
    return min(grad * grad + WEIGHT_OF_HESSIAN * hess * hess, LARGEST)


@helper()
def _count_share(grad, hess, rows, share, n_shares, counts):  # type: ignore[no-untyped-def]
    """Count the rows of one share."""
    first, last = _bounds(rows.shape[0], share, n_shares)
    counts[:] = 0
    for i in range(first, last):
        v = np.float64(_importance(grad[rows[i]], hess[rows[i]]))
        counts[v.view(np.uint64) >> np.uint64(SHIFT)] += 1


@kernel(parallel=True)
def _count_sizes(grad, hess, rows, counts):  # type: ignore[no-untyped-def]
    """Fill counts (N_SHARES, N_SIZES) int64 with the number of rows (k,) of each size."""
    for share in prange(counts.shape[0]):
        _count_share(grad, hess, rows, np.int64(share), counts.shape[0], counts[share])


@helper()
def _uniform(seed, row):  # type: ignore[no-untyped-def]
    """Return a number in [0, 1) for a row."""
    return np.float64(np.int64(random_bits(seed, np.uint64(row)) >> np.uint64(11))) * 2.0**-53


@helper()
def _draw_share(grad, hess, rows, mu, seed, share, n_shares, drawn):  # type: ignore[no-untyped-def]
    """Write the rows of one share that are drawn to `drawn`, from its first place on; return their number."""
    first, last = _bounds(rows.shape[0], share, n_shares)
    n = first
    for i in range(first, last):
        row = rows[i]
        limit = _uniform(seed, row) * mu
        drawn[n] = row
        n += np.int64(limit * limit < _importance(grad[row], hess[row]))  # no branch to mispredict
    for i in range(first, n):
        row = drawn[i]
        factor = max(mu / np.sqrt(_importance(grad[row], hess[row])), 1.0)
        grad[row] *= factor
        hess[row] *= factor
    return n - first


@kernel(parallel=True)
def _draw(grad, hess, rows, mu, seed, drawn, counts):  # type: ignore[no-untyped-def]
    """Write the rows (k,) of each share that are drawn to drawn (k,) int32, from its first place on.

    counts  (N_SHARES,) int64, OUT: rows of each share that are drawn
    """
    n = counts.shape[0]
    for share in prange(n):
        counts[share] = _draw_share(grad, hess, rows, mu, seed, np.int64(share), n, drawn)


@dataclass(eq=False)
class Booster:
    """Grows a forest tree by tree and keeps the training scores up to date.

    The names of the limits and shares are those of LightGBM's ``LGBMRanker``.

    Parameters
    ----------
    gradients : callable
        ``gradients(scores, grad, hess)`` fills gradient and hessian, all float64 arrays of shape (n_rows,).
    n_threads : int
        Threads that grow a tree.
    data : BinnedData
        Binned rows in canonical order (`bin_rows`).
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of query q are [query_ptr[q], query_ptr[q + 1]), to draw whole queries.
    start_scores : float64 array of shape (n_rows,)
        Zeros, or the scores of a base ranker for a warm start.
    limits : TreeLimits
        When a tree stops growing.
    learning_rate : float
        Factor of each tree.
    subsample : float
        Share of the queries that each tree is grown on, drawn anew for every tree.
    colsample_bytree : float
        Share of the features, drawn anew for every tree.
    random_state : int
        Seed of what is drawn.
    by_gradient : bool
        Whether `subsample` is a share of the rows, which are drawn by their gradients (MVS).
    queries : int64 array of shape (k,), optional
        Queries that trees are grown on, and drawn from; all of them by default.
    averaged : bool
        Whether scores are a mean, h_k = (k h_(k-1) + learning_rate g_k) / (k + 1), g_k the tree, as GBRank's. The sum
        h_0 + learning_rate (g_1 + ... + g_k) is (k + 1) h_k, and so ranks alike.
    row_weights : float64 array of shape (n_rows,), optional
        As in `Grower`: splits fit the gradients by least squares.
    step_length : callable, optional
        ``step_length(scores, values)`` returns the factor of a new tree from the scores and the tree's values, float64
        arrays of shape (n_rows,). None: the learning rate.
    constraints : SplitConstraints, optional
        Monotone and interaction constraints of the features.

    Attributes
    ----------
    scores : float64 array of shape (n_rows,)
        Scores of the training rows under the trees so far.
    trees : list of Tree
        Trees so far.

    References
    ----------
    C. Burges, MSR-TR-2010-82, section 7: MART and, from the scores of a base ranker, LambdaSMART.

    """

    gradients: Gradients
    n_threads: int
    data: BinnedData
    query_ptr: Ints
    start_scores: Floats
    limits: TreeLimits
    learning_rate: float = 0.1
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    random_state: int = 0
    by_gradient: bool = False
    queries: Ints | None = None
    averaged: bool = False
    row_weights: Floats | None = None
    step_length: StepLength | None = None
    constraints: SplitConstraints | None = None

    def __post_init__(self) -> None:
        data = self.data
        self.trees: list[Tree] = []
        self.scores = self.start_scores.astype(np.float64, copy=True)
        self._grower = Grower(
            data.columns, data.blocks, self.limits, self.n_threads, self.constraints, self.row_weights
        )
        self._random = np.random.default_rng(self.random_state)
        kinds = np.zeros(len(data.digests), np.uint64) if self.constraints is None else self.constraints.kinds
        self._features = distinct_features(data.digests, data.columns.bins, kinds)
        self._all_rows = np.arange(data.n_rows, dtype=np.int32)
        self._grad, self._hess = np.empty((2, data.n_rows))

    def add_tree(self) -> Tree:
        """Grow the next tree on the gradients at the present scores, add it to the scores, and return it."""
        number = len(self.trees)
        self.gradients(self.scores, self._grad, self._hess)
        rows = self._drawn_rows()
        features = self._drawn_features()
        if self.by_gradient:
            rows = draw_by_gradient(self.subsample, [self.random_state, number], self._grad, self._hess, rows)
        tree, ordered, leaf_ptr = self._grower.grow(self._grad, self._hess, rows, features)
        factor = self.learning_rate if self.step_length is None else self.step_length(self.scores, self._values(tree))
        tree.leaf_value[:] *= factor
        if self.averaged:
            self.scores *= number + 1
        if len(rows) == len(self.scores):
            add_leaf_values(ordered, leaf_ptr, tree.leaf_value, self.scores)
        else:
            self.scores += self._values(tree)
        if self.averaged:
            self.scores /= number + 2
        self.trees.append(tree)
        return tree

    def _drawn_rows(self) -> NDArray[np.int32]:
        """Return the rows of the queries that the next tree is grown on, ascending."""
        sizes = np.diff(self.query_ptr)
        queries = np.arange(len(sizes)) if self.queries is None else self.queries
        if self.subsample < 1.0 and not self.by_gradient:
            n_drawn = max(1, round(self.subsample * len(queries)))
            queries = self._random.choice(queries, n_drawn, replace=False)
        if len(queries) == len(sizes):
            return self._all_rows
        drawn = np.zeros(len(sizes), dtype=np.bool_)
        drawn[queries] = True
        return self._all_rows[np.repeat(drawn, sizes)]

    def _drawn_features(self) -> Ints:
        """Return the features that the next tree may split on, in the order of their digests."""
        if self.colsample_bytree >= 1.0:
            return self._features
        n_drawn = max(1, round(self.colsample_bytree * len(self._features)))
        return self._features[np.sort(self._random.choice(len(self._features), n_drawn, replace=False))]

    def _values(self, tree: Tree) -> Floats:
        """Return the value of the leaf that each row reaches, (n_rows,) float64."""
        return tree_values(tree, self.data.columns, self.data.blocks)


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
def _sum_sizes(grad, hess):  # type: ignore[no-untyped-def]
    """Return the sums of |gradient| and hessian (k,) float64, added row by row."""
    sum_grad = 0.0
    sum_hess = 0.0
    for i in range(grad.shape[0]):
        sum_grad += abs(grad[i])
        sum_hess += hess[i]
    return sum_grad, sum_hess


@kernel()
def _pack(grad, hess, rows, grad_scale, hess_scale, packed):  # type: ignore[no-untyped-def]
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
def _fill_leaf_sums(grad, hess, rows, leaf_ptr, sums):  # type: ignore[no-untyped-def]
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
def add_leaf_values(rows, leaf_ptr, leaf_value, scores):  # type: ignore[no-untyped-def]
    """Add each leaf's value to the scores (n_rows,) float64 of its rows; rows, leaf_ptr as in `_fill_leaf_sums`."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]


HIGHEST = np.finfo(np.float32).max
SUM_COST = (
    7 * MOST_CODES
)  # summing a leaf's rows into a column's histogram takes about as long as searching so many bins


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
        Constraints of the features; None is none.
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
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
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

    def _grown_tree(self, values: Floats, leaf_ptr: Ints) -> Tree:
        """Return the tree that the kernel has grown, from the values and the rows of its leaves."""
        nodes = self._work.nodes[: len(values) - 1]
        bins = self.columns.bins
        edges = np.where(bins.is_category[nodes["feature"]], 0.0, bins.edges[nodes["feature"], nodes["bin"]])
        return Tree(
            nodes["feature"].astype(np.int32),
            np.minimum(edges, HIGHEST),  # JSON has no infinity, the edge between the values and the missing ones
            nodes["missing_left"].copy(),
            nodes["left"].astype(np.int32),
            nodes["right"].astype(np.int32),
            nodes["gain"].copy(),
            values,
            leaf_ptr[:, 1] - leaf_ptr[:, 0],
            *_sets(nodes, bins),
        )


def _sets(nodes: NDArray[np.void], bins: Bins) -> tuple[Ints, NDArray[np.uint32]] | tuple[None, None]:
    """Return the sets of categories of NODE records (n_nodes,), as `Tree` has them."""
    split = np.flatnonzero(bins.is_category[nodes["feature"]])
    if not len(split):
        return None, None
    is_left = np.unpackbits(nodes["left_bins"][split].view(np.uint8), axis=1, bitorder="little")
    words = np.zeros(len(nodes), dtype=np.int64)
    bits = []
    for node, row in zip(split.tolist(), is_left, strict=True):
        bits.append(category_bits(bins.edges[nodes["feature"][node]][np.flatnonzero(row)].astype(np.int64)))
        words[node] = len(bits[-1])
    return words, np.concatenate(bits)
