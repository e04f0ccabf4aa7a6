"""The linear second stage of an ensemble: weights by Newton's steps on LambdaRank's gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.registry import parse_measure
from rerank.objectives.for_measure import lambdarank_for
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective
from rerank.rankers.base_weight import WeightedBase
from rerank.rankers.stopping import Callback, EarlyStopping
from rerank.rankers.training import TrainingSet
from rerank.runtime.products import cross_product, inverse, product
from rerank.runtime.schema import Array, Record
from rerank.types import Floats

DEPTH = 30  # that gradients look at
RIDGE = 1e-3  # share of each weight's own curvature: members with equal scores get equal weights


class LinearStage:
    """base + sum_m w_m f_m of members' scores f_m.

    Each step is w - learning_rate (H + ridge)^-1 g. g = F'lambda, and H = F' (d lambda / d s) F is the full matrix of
    second derivatives, cross terms included: sum over pairs (i, j) of their curvature times (f_i - f_j)(f_i - f_j)'
    (Burges 2010, sections 4 and 7). So a step does not depend on constants added to members' scores nor on their
    scale; the ridge is a share of H's own diagonal.

    The first weights are equal, of members' scores divided by their standard deviations, since members of different
    kinds have different units. A base is added to the sum with a weight of its own (base_weight.py). Of all weights,
    none at all (the base itself) and the equal ones included, the best by the measure are kept: on the validation
    queries where there are some, else on the held-out scores themselves.
    """

    _callbacks: Sequence[Callback] = ()

    def __init__(self, n_estimators: int, learning_rate: float, metric: Any, early_stopping_rounds: int) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds

    def _learn(self, train: TrainingSet, valid: TrainingSet | None) -> None:
        measure, base = parse_measure(self.metric), None
        if train.start_scores.any():
            base = WeightedBase(valid or train, parse_measure(self.metric))
        parts = train.labels, train.query_ptr, train.ideal_labels, train.ideal_ptr, train.weights
        objective = lambdarank_for(measure, *parts, 1.0, DEPTH, True)
        inputs = train.X[train.order].astype(np.float64)
        inputs -= inputs.min(axis=0)  # a constant column is 0 exactly
        scales = np.where(inputs.any(axis=0), inputs.std(axis=0), 1.0)
        inputs = (inputs - inputs.mean(axis=0)) / scales
        followed = valid or train
        stopping = EarlyStopping(followed, measure, self.early_stopping_rounds, self._callbacks, base)
        held_out = followed.X[followed.order].astype(np.float64)
        self.weights_ = np.zeros(len(scales))
        weights = np.full(len(scales), 1.0 / len(scales))  # of the inputs; of the members: / scales
        for _ in range(self.n_estimators):
            if stopping.add(product(held_out, weights / scales)):
                self.weights_ = weights / scales
            if stopping.over:
                break
            weights = weights - self.learning_rate * newton_step(objective, inputs, weights)
        if base is not None:
            given = product(held_out, self.weights_), valid is None, None if valid is None else 1.0
            self.weights_ *= base.chosen(*given).factor
        self.best_iteration_, self.evals_result_ = stopping.best, stopping.results() if valid else {}

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return product(np.ascontiguousarray(X), self.weights_)

    def _learned_nothing(self) -> str:
        return "" if self.weights_.any() else "no weight but 0"

    def _learned(self) -> dict[str, Any]:
        return {"weights": self.weights_.tolist()}

    def _learned_fields(self, columns: str) -> Record:
        return Record({"weights": Array(np.float64, columns)})

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.weights_ = learned["weights"]


def newton_step(objective: LambdaRankObjective | BlockLambdaRankObjective, inputs: Floats, weights: Floats) -> Floats:
    """Return (H + ridge)^-1 g of the cost of inputs (n_rows, n_inputs) float64 @ weights, (n_inputs,) float64."""
    scores = product(inputs, weights)
    grad, hess, change = np.empty(len(inputs)), np.empty(len(inputs)), np.empty_like(inputs)
    objective.gradients(scores, grad, hess)
    objective.hessian_product(scores, inputs, change)
    curvature = cross_product(inputs, change)
    sizes = np.sqrt(np.diag(curvature))
    sizes = np.where(sizes > 0.0, sizes, 1.0)  # a member that parts no pair has neither gradient nor curvature
    correlations = curvature / np.outer(sizes, sizes)
    slope = cross_product(grad[:, None], inputs)[0]
    return product(inverse(correlations + RIDGE * np.eye(len(sizes))), slope / sizes) / sizes
