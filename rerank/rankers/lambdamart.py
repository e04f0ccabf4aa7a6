"""LambdaMART: boosted trees on LambdaRank's gradients; LambdaSMART where it starts from a base ranker."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.objectives.for_measure import lambdarank_for
from rerank.objectives.lambdarank import LambdaRank
from rerank.objectives.swap_blocks import BlockLambdaRank
from rerank.progress import track
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, Validation
from rerank.trees.boost import Booster, BoostSettings
from rerank.trees.forest import Forest
from rerank.trees.grow import TreeLimits
from rerank.trees.score import score_rows
from rerank.types import Floats


@register("lambdamart")
class LambdaMART(Ranker):
    """Boosted regression trees whose gradients are LambdaRank's (Burges 2010, section 7).

    n_estimators           most trees
    learning_rate          share of each Newton step that is taken
    num_leaves, max_depth  size of a tree; max_depth -1 sets no bound
    min_child_samples      rows on either side of a split; as in LightGBM estimated, while splits are
                           compared, from the side's share of the hessian
    min_child_weight       hessian on either side of a split
    min_split_gain         least gain of a split
    reg_lambda             added to the hessian of a leaf
    max_bin                most bins of a feature, 2 to 255
    subsample              share of the queries drawn for each tree
    colsample_bytree       share of the features drawn for each tree
    metric                 measure that is trained for and that early stopping watches: ir_measures' name, or a
                           function score(ranked_labels, ideal_labels), which is slow (`rerank.metrics.own`)
    truncation_level       depth that gradients look at: `lambdarank_truncation_level` of LightGBM; P and R look
                           down to their own cutoff
    sigma                  slope of the pairwise logistic; None: 1, or for a warm start 1 / the spread of the base
                           scores at the top, so that BM25's 20 and a probability's 0.9 start alike
    normalize              even out the queries' gradients: `lambdarank_norm` of LightGBM
    early_stopping_rounds  trees without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker (LambdaSMART)
    random_state           seed of subsample and colsample_bytree
    n_jobs                 threads; None or -1 for all cores. The model does not depend on it.
    """

    def __init__(
        self,
        n_estimators: int = 500,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float = 0.0,
        max_bin: int = 255,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        metric: Any = "nDCG@10",
        truncation_level: int = 30,
        sigma: float | None = None,
        normalize: bool = True,
        early_stopping_rounds: int = 100,
        base: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.metric = metric
        self.truncation_level = truncation_level
        self.sigma = sigma
        self.normalize = normalize
        self.early_stopping_rounds = early_stopping_rounds
        self.base = base
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of each feature's splits, (n_features,) float64."""
        return self.forest_.gains(self.n_features_in_)

    def _learn(self, train: TrainingSet, valid: TrainingSet | None) -> None:
        self._check_parameters()
        measure = parse_measure(self.metric)
        objective = self._objective(train, measure)
        booster = Booster(
            train.X,
            train.order,
            train.query_ptr,
            train.start_scores,
            objective.gradients,
            self._settings(),
            numba.get_num_threads(),
        )
        if not booster.can_split:
            raise InvalidInputError(
                "training data: expected a feature that tells rows apart, found only constant ones; check X."
            )
        watch = None if valid is None else Validation(valid, measure)
        history = self._boost(booster, watch)
        self.evals_result_ = {"valid": {measure.name: history}} if watch else {}
        self.best_iteration_ = int(np.argmax(history)) if history else len(booster.trees)
        self.forest_ = booster.forest(self.best_iteration_)

    def _boost(self, booster: Booster, watch: Validation | None) -> list[float]:
        """Add trees until the number is reached or the validation measure no longer rises.

        Returns the measure after 0, 1, 2 ... trees: a warm start that no tree betters stays the base ranker.
        """
        if watch is None:
            for _ in track(range(self.n_estimators), "trees", self.n_estimators):
                booster.add_tree()
            return []
        scores = watch.data.start_scores.copy()
        history = [watch.value(scores)]
        best = 0
        for number in track(range(1, self.n_estimators + 1), "trees", self.n_estimators):
            scores += score_rows(Forest.of([booster.add_tree()]), watch.data.X)[watch.data.order]
            history.append(watch.value(scores))
            best = number if history[number] > history[best] else best
            if number - best >= self.early_stopping_rounds:
                break
        return history

    def _objective(self, train: TrainingSet, measure: Measure) -> LambdaRank | BlockLambdaRank:
        return lambdarank_for(
            measure,
            train.labels,
            train.query_ptr,
            train.ideal_labels,
            train.ideal_ptr,
            train.weights,
            self.sigma or 1.0 / _spread_at_the_top(train, self.truncation_level),
            self.truncation_level,
            self.normalize,
        )

    def _settings(self) -> BoostSettings:
        return BoostSettings(
            self.n_estimators,
            self.learning_rate,
            self.max_bin,
            self.subsample,
            self.colsample_bytree,
            self.random_state,
            TreeLimits(
                self.num_leaves,
                self.max_depth,
                self.min_child_samples,
                self.min_child_weight,
                self.min_split_gain,
                self.reg_lambda,
            ),
        )

    def _check_parameters(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidInputError(f"{name}: expected {low} to {high}, found {value}.")

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return score_rows(self.forest_, X)

    def _learned(self) -> dict[str, Any]:
        return {
            "best_iteration": self.best_iteration_,
            "evals_result": self.evals_result_,
            "forest": self.forest_.to_dict(),
        }

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.best_iteration_ = learned["best_iteration"]
        self.evals_result_ = learned["evals_result"]
        self.forest_ = Forest.from_dict(learned["forest"])


def _spread_at_the_top(train: TrainingSet, depth: int) -> float:
    """Return the standard deviation, inside queries, of the best `depth` starting scores; 1 where there is none.

    Pairs that lie many slopes apart have no curvature left, and Newton steps on them overshoot.
    """
    variances = []
    for first, last in pairwise(train.query_ptr.tolist()):
        best = np.sort(train.start_scores[first:last])[-depth:]
        variances.append(best.var() if len(best) else 0.0)
    spread = float(np.sqrt(np.mean(variances)))
    return spread if spread > 0.0 else 1.0


_RANGES = (
    ("n_estimators", 1, 1_000_000),
    ("learning_rate", 1e-9, 10.0),
    ("num_leaves", 2, 4096),
    ("max_depth", -1, 4096),
    ("min_child_samples", 0, 2**31),
    ("min_child_weight", 0.0, float("inf")),
    ("min_split_gain", 0.0, float("inf")),
    ("reg_lambda", 0.0, float("inf")),
    ("max_bin", 2, 255),
    ("subsample", 1e-9, 1.0),
    ("colsample_bytree", 1e-9, 1.0),
    ("truncation_level", 1, 1_000_000),
    ("sigma", 1e-9, 1e9),
    ("early_stopping_rounds", 1, 1_000_000),
)
