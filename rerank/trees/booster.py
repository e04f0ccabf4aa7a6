"""Boosting: trees one after the other, each on the gradients of an objective at the present scores."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.trees.binned_data import BinnedData
from rerank.trees.constraints import SplitConstraints
from rerank.trees.content import distinct_features
from rerank.trees.forest import Forest
from rerank.trees.grower import Grower, add_leaf_values
from rerank.trees.sampling import draw_by_gradient
from rerank.trees.structures import TreeLimits
from rerank.trees.tree_values import tree_values
from rerank.types import Floats, Ints

Gradients = Callable[[Floats, Floats, Floats], None]
StepLength = Callable[[Floats, Floats], float]


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
        h_0 + learning_rate (g_1 + ... + g_k) is (k + 1) h_k, and so gives the same order.
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
    trees : list of Forest
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
        self.trees: list[Forest] = []
        self.scores = self.start_scores.astype(np.float64, copy=True)
        self._grower = Grower(
            data.columns, data.blocks, self.limits, self.n_threads, self.constraints, self.row_weights
        )
        self._random = np.random.default_rng(self.random_state)
        kinds = np.zeros(len(data.digests), np.uint64) if self.constraints is None else self.constraints.kinds
        self._features = distinct_features(data.digests, data.columns.bins, kinds)
        self._all_rows = np.arange(data.n_rows, dtype=np.int32)
        self._grad, self._hess = np.empty((2, data.n_rows))

    def add_tree(self) -> Forest:
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

    def _values(self, tree: Forest) -> Floats:
        """Return the value of the leaf that each row reaches, (n_rows,) float64."""
        return tree_values(tree, self.data.columns, self.data.blocks)
