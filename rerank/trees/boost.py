"""Boosting: trees one after the other, each on the gradients of an objective at the present scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rerank.trees.binned import BinnedData, tree_values
from rerank.trees.columns import Columns
from rerank.trees.constraints import SplitConstraints
from rerank.trees.forest import Tree
from rerank.trees.grow import Grower, NewtonSplits, SplitRule, TreeLimits, add_leaf_values
from rerank.trees.mvs import GradientSampler
from rerank.types import Floats, Ints

Gradients = Callable[[Floats, Floats, Floats], None]
StepLength = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class BoostSettings:
    """How a forest is grown; the names are those of LightGBM's ``LGBMRanker``.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    learning_rate : float
        Factor of each tree.
    subsample : float
        Share of the queries that each tree is grown on, drawn anew for every tree.
    colsample_bytree : float
        Share of the features, drawn anew for every tree.
    random_state : int
        Seed of what is drawn.
    limits : TreeLimits
        When a tree stops growing.
    queries : int64 array of shape (k,), optional
        Queries that trees are grown on, and drawn from; all of them by default.
    extra_trees : bool
        Whether each leaf tries one random split of each feature in place of all of them.
    by_gradient : bool
        Whether `subsample` is a share of the rows, which are drawn by their gradients (`rerank.trees.mvs`).
    averaged : bool
        Whether scores are a mean, h_k = (k h_(k-1) + learning_rate g_k) / (k + 1), g_k the tree, as GBRank's. The sum
        h_0 + learning_rate (g_1 + ... + g_k) is (k + 1) h_k, and so ranks alike.

    """

    n_estimators: int = 100
    learning_rate: float = 0.1
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    random_state: int = 0
    limits: TreeLimits = field(default_factory=TreeLimits)
    averaged: bool = False
    queries: Ints | None = None
    by_gradient: bool = False
    extra_trees: bool = False


NEWTON = NewtonSplits()


@dataclass(frozen=True, eq=False)
class BoostTask:
    """What a forest is grown from.

    Parameters
    ----------
    data : BinnedData
        Binned rows in canonical order (`bin_rows`).
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of query q are [query_ptr[q], query_ptr[q + 1]), to draw whole queries.
    start_scores : float64 array of shape (n_rows,)
        Zeros, or the scores of a base ranker for a warm start.
    settings : BoostSettings
        How the forest is grown.
    rule : SplitRule
        How splits are compared.
    step_length : callable, optional
        ``step_length(scores, values)`` returns the factor of a new tree from the scores and the tree's values, float64
        arrays of shape (n_rows,). None: the learning rate.
    constraints : SplitConstraints, optional
        Monotone and interaction constraints of the features.

    """

    data: BinnedData
    query_ptr: Ints
    start_scores: Floats
    settings: BoostSettings
    rule: SplitRule = NEWTON
    step_length: StepLength | None = None
    constraints: SplitConstraints | None = None

    def grower(self, n_threads: int) -> Grower:
        """Return what grows trees on the rows in this process."""
        return Grower(self.data.columns, self.data.blocks, self.settings.limits, n_threads, self.constraints)


class Sampler:
    """Draws the queries and the features of each tree, and the seed of its random splits.

    Parameters
    ----------
    settings : BoostSettings
        Shares and seed.
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of each query.
    columns : Columns
        Columns of the features.

    """

    def __init__(self, settings: BoostSettings, query_ptr: Ints, columns: Columns) -> None:
        self._settings, self._query_ptr = settings, query_ptr
        self._random = np.random.default_rng(settings.random_state)
        self._features = np.sort(columns.features)  # the others have one bin

    def draw(self) -> tuple[NDArray[np.bool_] | None, Ints, int]:
        """Return the rows, (n_rows,), the features, ascending, and the seed of the splits of the next tree.

        None is all rows; a seed of 0, that all splits are tried.
        """
        rows, features = self._rows(), self._drawn_features()
        return rows, features, int(self._random.integers(1, 1 << 63)) if self._settings.extra_trees else 0

    def _rows(self) -> NDArray[np.bool_] | None:
        settings, sizes = self._settings, np.diff(self._query_ptr)
        queries = np.arange(len(sizes)) if settings.queries is None else settings.queries
        if settings.subsample < 1.0 and not settings.by_gradient:
            n_drawn = max(1, round(settings.subsample * len(queries)))
            queries = self._random.choice(queries, n_drawn, replace=False)
        elif settings.queries is None:
            return None
        drawn = np.zeros(len(sizes), dtype=np.bool_)
        drawn[queries] = True
        return np.repeat(drawn, sizes)

    def _drawn_features(self) -> Ints:
        if self._settings.colsample_bytree >= 1.0:
            return self._features
        n_drawn = max(1, round(self._settings.colsample_bytree * len(self._features)))
        return np.sort(self._random.choice(self._features, n_drawn, replace=False))


class Booster:
    """Grows a forest tree by tree and keeps the training scores up to date.

    Parameters
    ----------
    task : BoostTask
        What the forest is grown from.
    gradients : callable
        ``gradients(scores, grad, hess)`` fills gradient and hessian, all float64 arrays of shape (n_rows,).
    grower : Grower
        What grows each tree: `task.grower(n_threads)`.

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

    def __init__(self, task: BoostTask, gradients: Gradients, grower: Grower) -> None:
        self._task, self.gradients, self._grower = task, gradients, grower
        self.data = data = task.data
        self._sampler = Sampler(task.settings, task.query_ptr, data.columns)
        self._all_rows = np.arange(data.n_rows, dtype=np.int32)
        share, seed = task.settings.subsample, task.settings.random_state
        self._by_gradient = GradientSampler(share, seed) if task.settings.by_gradient else None
        self._grad, self._hess = np.empty(data.n_rows), np.empty(data.n_rows)
        self.scores = task.start_scores.astype(np.float64, copy=True)
        self.trees: list[Tree] = []

    def add_tree(self) -> Tree:
        """Grow the next tree on the gradients at the present scores, add it to the scores, and return it."""
        self.gradients(self.scores, self._grad, self._hess)
        drawn, features, draw = self._sampler.draw()
        rows = self._all_rows if drawn is None else self._all_rows[drawn]
        if self._by_gradient is not None:
            rows = self._by_gradient.draw(len(self.trees), self._grad, self._hess, rows)
        tree, ordered, leaf_ptr = self._grower.grow(self._grad, self._hess, rows, features, self._task.rule, draw)
        tree.leaf_value[:] *= self._factor(tree)
        with self._mean_of_trees():
            if len(rows) == self.data.n_rows:
                add_leaf_values(ordered, leaf_ptr, tree.leaf_value, self.scores)
            else:
                self.scores += self._values(tree)
        self.trees.append(tree)
        return tree

    def replay(self, tree: Tree, with_gradients: bool) -> None:
        """Take the next tree from an earlier training on the same data: the state becomes what `add_tree` had left."""
        if with_gradients:
            self.gradients(self.scores, self._grad, self._hess)
        self._sampler.draw()
        with self._mean_of_trees():
            self.scores += self._values(tree)
        self.trees.append(tree)

    @contextmanager
    def _mean_of_trees(self) -> Iterator[None]:
        """While the block adds the values of the next tree to the scores: keep them a mean, where they are one."""
        averaged = self._task.settings.averaged
        if averaged:
            self.scores *= len(self.trees) + 1
        yield
        if averaged:
            self.scores /= len(self.trees) + 2

    def _values(self, tree: Tree) -> Floats:
        """Return the value of the leaf that each row reaches, (n_rows,) float64."""
        return tree_values(tree, self.data.columns, self.data.blocks)

    def _factor(self, tree: Tree) -> float:
        """Return what the values of a new tree are multiplied by."""
        if self._task.step_length is None:
            return self._task.settings.learning_rate
        return self._task.step_length(self.scores, self._values(tree))
