"""The linear second stage of an ensemble: weights by Newton's steps on LambdaRank's gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.registry import parse_measure
from rerank.objectives.for_measure import lambdarank_for
from rerank.rankers.start import spread_at_the_top
from rerank.rankers.training import TrainingSet, Validation
from rerank.schema import Array, Record
from rerank.types import Floats

DEPTH = 30  # that gradients look at
RIDGE = 1e-3  # of the curvature's mean: scores that say the same share their weight


class LinearStage:
    """base + sum_m w_m f_m of members' scores f_m.

    Each step is w - learning_rate H^-1 g, with g = F'lambda and H = F' diag(curvature) F, the sums over all queries
    (Burges 2010, sections 4 and 7). The first weights are equal: on the scores as they are for a warm start, which
    all add to one base, on scores of the same spread otherwise. Of all weights, none at all (the base itself) and the
    equal ones included, the best by the measure are kept: on the validation queries where there are some, else on the
    held-out scores themselves.
    """

    def __init__(self, n_estimators: int, learning_rate: float, metric: Any, early_stopping_rounds: int) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds

    def _learn(self, train: TrainingSet, valid: TrainingSet | None) -> None:
        measure, spread = parse_measure(self.metric), spread_at_the_top(train, DEPTH)
        parts = train.labels, train.query_ptr, train.ideal_labels, train.ideal_ptr, train.weights
        objective = lambdarank_for(measure, *parts, 1.0 / spread, DEPTH, True)
        inputs = train.X[train.order].astype(np.float64)
        scales = inputs.std(axis=0)
        scales = np.where(scales > 0.0, scales, 1.0) / spread
        watch = Validation(valid or train, measure)
        watched = watch.data.X[watch.data.order].astype(np.float64)
        self.weights_, history = np.zeros(len(scales)), [watch.value(watch.data.start_scores)]
        warm = bool(train.start_scores.any())
        weights = (np.ones(len(scales)) if warm else 1.0 / scales) / len(scales)
        grad, hess = np.empty(len(inputs)), np.empty(len(inputs))
        for _ in range(self.n_estimators):
            history.append(watch.value(watch.data.start_scores + watched @ weights))
            if history[-1] > max(history[:-1]):
                self.weights_ = weights
            if len(history) - 1 - int(np.argmax(history)) >= self.early_stopping_rounds:
                break
            objective.gradients(train.start_scores + inputs @ weights, grad, hess)
            weights = weights - self.learning_rate * _newton_step(inputs / scales, grad, hess) / scales
        self.best_iteration_ = int(np.argmax(history))
        self.evals_result_ = {"valid": {measure.name: history}} if valid else {}

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return X.astype(np.float64) @ self.weights_

    def _learned_nothing(self) -> str:
        return "" if self.weights_.any() else "no weight but 0"

    def _learned(self) -> dict[str, Any]:
        return {"weights": self.weights_.tolist()}

    def _learned_fields(self, columns: str) -> Record:
        return Record({"weights": Array(np.float64, columns)})

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.weights_ = learned["weights"]


def _newton_step(inputs: Floats, grad: Floats, hess: Floats) -> Floats:
    """Return H^-1 g, (n_inputs,) float64."""
    curvature = (inputs * hess[:, None]).T @ inputs
    ridge = RIDGE * max(float(np.trace(curvature)) / len(curvature), 1e-12)
    step = np.linalg.solve(curvature + ridge * np.eye(len(curvature)), inputs.T @ grad)
    return np.asarray(step, dtype=np.float64)
