"""Weights of runs, learned from judgements: weights of least cost, and the best convex combination of min-max scores.

Weights w of at least 0 minimise

    mean over queries of C(F w) / (relevant documents) + strength / 2 |w - start|^2

F         features of each run: `deviations`, and the reciprocal rank divided by the one of rank 1 (or a single
          normalization, for engines that know no other); 0 for a missing document, as for the lowest one of the run
C         Plackett and Luce's cost (`rerank/objectives/lists.py`)
start     equal weights of the scores, 0 of the ranks: the sum of standard scores, which is strong without judgements
strength  the best of several on held-out queries: with few queries the weights stay near equal ones

The minimum is found by Newton's steps within the bounds (`least_within_bounds`). The second model is the convex
combination whose weights, on a grid, have the best mean of the measure.

References
----------
S. Bruch, S. Gai and A. Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 42, 2023.
M. Montague and J. Aslam, Relevance score normalization for metasearch, CIKM 2001.

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rerank.errors import log
from rerank.metrics.base import Measure
from rerank.objectives.lists import PlackettLuceObjective
from rerank.rankers.base_unit import deviation_in_queries
from rerank.rankers.imported_weights import ImportedWeights
from rerank.rankers.probability_map import least_within_bounds
from rerank.rankers.training_set import TrainingSet, fold_of_queries
from rerank.rankers.validation import Validation
from rerank.retrieval.fusion import RRF_K
from rerank.retrieval.source_data import (
    OF_SOURCE,
    count_sources,
    source_names,
)
from rerank.runtime.products import array_dot, cross_product, gram, product
from rerank.runtime.sums import total
from rerank.runtime.threads import kernel_threads
from rerank.types import Floats, Ints, RankingData, query_rows, rows_of_groups

LEARNED = "rerank fuse"  # the source of weights in model files
STRENGTHS = (np.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # infinity gives equal weights
FOLDS = 5
REPEATS = 2
STEPS, MOST_SHARES = 10, 1001  # of the grid of convex combinations
TIE = 1e-12  # greatest difference of means that count as equal
NORMS: Mapping[str, tuple[str, ...]] = {"zscore": ("deviations",), "minmax": ("minmax",)}
BOTH = ("deviations", "reciprocal_rank")
SCALED = NORMS["minmax"]


def informative_sources(data: RankingData) -> NDArray[np.bool_]:
    """Return whether each run orders documents, (n_runs,): not if all scores are equal in every query with several.

    Documents of a query with equal scores have deviations of 1.
    """
    return np.array(
        [
            bool((np.nan_to_num(data.column(f"{name}.{BOTH[0]}"), nan=1.0) != 1.0).any())
            or np.nan_to_num(data.column(f"{name}.{OF_SOURCE[0]}")).max() <= 1.0
            for name in source_names(count_sources(data.feature_names))
        ]
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """Queries with their inputs, for which the cost in the docstring of this module is minimised."""

    train: TrainingSet
    inputs: Floats
    start: Floats

    @classmethod
    def of(cls, data: RankingData, features: Sequence[str]) -> Problem:
        """Return the problem of all queries."""
        train = TrainingSet.of(data, np.zeros(data.n_rows))
        names = [
            f"{name}.{feature}" for feature in features for name in source_names(count_sources(data.feature_names))
        ]
        columns = [data.feature_names.index(name) for name in names]
        informative = np.tile(informative_sources(data), len(features))
        inputs = np.nan_to_num(data.X[train.order][:, columns].astype(np.float64)) * _units(names) * informative
        start = np.array([float(not name.endswith(BOTH[1])) for name in names])
        return cls(train, inputs, start * inputs.any(axis=0))

    def select(self, queries: Ints) -> Problem:
        """Return some of the queries."""
        rows, _ = rows_of_groups(self.train.query_ptr, queries)
        return replace(self, train=self.train.select(queries), inputs=self.inputs[rows])

    def solve(self, strength: float, weights: Floats) -> Floats:
        """Return the weights of least cost; Newton's steps start from `weights`."""
        train = self.train
        query = query_rows(train.query_ptr)
        relevant = np.maximum(np.bincount(query[train.labels > 0], minlength=len(train.weights)), 1)
        objective = PlackettLuceObjective(
            train.query_ptr, train.weights / relevant / max(total(train.weights), 1e-30), train.labels
        )
        grad, hess = np.empty((2, len(self.inputs)))

        def cost(at: Floats) -> float:
            away = at - self.start
            scores = product(self.inputs, at)
            return objective.cost_and_gradients(scores, grad, hess) + 0.5 * strength * array_dot(away, away)

        def derivatives(at: Floats) -> tuple[Floats, Floats]:
            objective.gradients(product(self.inputs, at), grad, hess)
            slope = cross_product(self.inputs, grad[:, None])[:, 0] + strength * (at - self.start)
            return slope, gram(self.inputs, hess) + strength * np.eye(len(at))

        return least_within_bounds(cost, derivatives, weights, np.ones(len(weights), np.bool_))


def _units(names: Sequence[str]) -> Floats:
    """Return the factors from features to inputs: a reciprocal rank of 1 / 61 becomes 1."""
    return np.array([RRF_K + 1.0 if name.endswith(BOTH[1]) else 1.0 for name in names])


def convex_combinations(data: RankingData, measure: Measure) -> tuple[Floats, Floats]:
    """Return convex combinations of min-max scores on a grid, and the measure of each.

    The grid is the finest one with at most MOST_SHARES combinations; runs that do not order documents have shares of 0.
    Returns shares (n_combinations, n_runs), each row with the sum 1, and the measure of each query,
    (n_combinations, n_queries).
    """
    problem = Problem.of(data, SCALED)
    n_runs = count_sources(data.feature_names)
    steps = max((n for n in range(1, STEPS + 1) if comb(n + n_runs - 1, n) <= MOST_SHARES), default=1)
    bars = np.array(list(combinations(range(steps + n_runs - 1), n_runs - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, steps + n_runs - 1)))
    shares = (np.diff(edges) - 1) / steps
    if problem.start.any():
        shares = shares[shares[:, problem.start == 0.0].sum(axis=1) == 0.0]
    validation = Validation(problem.train, measure)
    return shares, np.array([validation.values(product(problem.inputs, share)) for share in shares])


def best_settings(values: Floats) -> Ints:
    """Return the settings with the best mean over the queries, up to rounding, of values (n_settings, n_queries)."""
    means = values.mean(axis=1)
    return np.flatnonzero(means >= means.max() - TIE)


def learned_weights(data: RankingData, features: Sequence[str], measure: Measure, seed: int) -> ImportedWeights:
    """Return the weights of the strength that is best on held-out queries, with the convex combination's added."""
    problem = Problem.of(data, features)
    with kernel_threads(1):  # threads would wait for one another longer than they compute
        strength = _best_strength(problem, measure, seed)
        inputs = problem.start if np.isinf(strength) else problem.solve(strength, problem.start)
        stored = _scaled(problem, inputs, features)
        if len(data) >= 2 * FOLDS and features != NORMS["zscore"]:
            shares, values = convex_combinations(data, measure)
            shares = shares[best_settings(values)]
            most_even = shares[np.square(shares).sum(axis=1).argmin()]
            for name, weight in _scaled(Problem.of(data, SCALED), most_even, SCALED).items():
                stored[name] = stored.get(name, 0.0) + weight
    log.info("fusion: weights %s.", ", ".join(f"{name} {weight:.3f}" for name, weight in stored.items() if weight))
    return weights_model([stored.get(name, 0.0) for name in data.feature_names], data)


def weights_model(weights: Sequence[float], data: RankingData) -> ImportedWeights:
    """Return a ranker that applies weights to the features of data."""
    model = ImportedWeights.of(weights, data.feature_names, LEARNED)
    model.run_retrievers_ = dict(data.run_retrievers)
    return model


def _scaled(problem: Problem, weights: Floats, features: Sequence[str]) -> dict[str, float]:
    """Return weights of inputs as weights of features, whose scores have a standard deviation of 1 within queries."""
    deviation = deviation_in_queries(product(problem.inputs, weights), problem.train.query_ptr)
    names = [f"{name}.{feature}" for feature in features for name in source_names(len(weights) // len(features))]
    return dict(zip(names, (weights * _units(names) / (deviation or 1.0)).tolist(), strict=True))


def _best_strength(problem: Problem, measure: Measure, seed: int) -> float:
    """Return the best strength by cross-validation; infinity (equal weights) where there are few queries."""
    if len(np.unique(problem.train.groups)) < 2 * FOLDS:
        return float(np.inf)
    values = np.zeros(len(STRENGTHS))
    for repeat in range(REPEATS):
        fold = fold_of_queries(FOLDS, problem.train, seed + repeat)
        for number in range(FOLDS):
            rest = problem.select(np.flatnonzero(fold != number))
            held = problem.select(np.flatnonzero(fold == number))
            validation = Validation(held.train, measure)
            weights = problem.start
            for place, strength in enumerate(STRENGTHS):
                weights = weights if np.isinf(strength) else rest.solve(strength, weights)
                values[place] += total(validation.values(product(held.inputs, weights)))
    return float(STRENGTHS[int(np.argmax(values))])
