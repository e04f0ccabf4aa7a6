"""What the rankers of boosted trees share: trees one after the other on the gradients of an objective."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.rankers.parameters import ROUNDS, SEED, Jobs, Metric
from rerank.rankers.ranker import PROGRESS, Ranker
from rerank.rankers.start import spread_at_the_top, start_in_units
from rerank.rankers.stopping import EarlyStopping
from rerank.rankers.training import TrainingSet
from rerank.runtime.progress import track
from rerank.runtime.schema import Choice, Field, Number, Record, Whole
from rerank.trees.boost import Booster, BoostSettings, Gradients, StepLength
from rerank.trees.forest import Forest, StoredForest
from rerank.trees.grow import TreeLimits
from rerank.trees.score import score_rows
from rerank.types import Floats

SPLITS = ("newton", "least-squares")


@dataclass(eq=False, repr=False)
class BoostedTrees(Ranker):
    """Base class of the boosted trees; a ranker adds its objective and the parameters of it.

    F_k = F_(k-1) + learning_rate * leaf, each leaf the Newton step of its rows, -sum gradient / sum curvature. F_0 is
    (base - its mean) / u + the objective's constant: u is the spread of the base scores at the top of the queries, so
    that BM25's 20 and a probability's 0.9 start alike (1 for a cold start). The mean is that of each query where the
    objective only knows differences inside queries, else that of all rows. min_child_weight, min_split_gain and
    reg_lambda act in units of u; the model is stored in the unit of the base. Training whose trees have no split is
    said through the logger `rerank`. The fields are the constructor's arguments, here and in each ranker.

    Where this differs from Burges 2010 on purpose: splits are those that gain most by Newton steps, G^2 / H over both
    sides, as in LightGBM and XGBoost; equation 11 fits the gradients by least squares, G^2 / rows, which
    split="least-squares" does. Leaves are the Newton steps of section 7 either way.

    n_estimators           most trees
    learning_rate          share of each Newton step that is taken
    num_leaves, max_depth  size of a tree; max_depth -1 sets no bound
    min_child_samples      rows on either side of a split; as in LightGBM estimated, while splits are
                           compared, from the side's share of the hessian
    min_child_weight       hessian on either side of a split
    min_split_gain         least gain of a split
    reg_lambda             added to the hessian of a leaf
    split                  how splits are chosen: newton, or least-squares (a leaf with a hessian below
                           min_child_weight then takes no step)
    max_bin                most bins of a feature, 2 to 255
    subsample              share of the queries drawn for each tree
    colsample_bytree       share of the features drawn for each tree
    metric                 measure that early stopping watches, by ir_measures' name
    early_stopping_rounds  trees without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    random_state           seed of subsample and colsample_bytree
    n_jobs                 threads; None or -1 for all cores. The model does not depend on it.
    """

    n_estimators: int = 500
    learning_rate: float = 0.1
    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_lambda: float = 0.0
    split: str = "newton"
    max_bin: int = 255
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    metric: Any = "nDCG@10"
    early_stopping_rounds: int = 100
    base: Any = None
    random_state: int = 0
    n_jobs: int | None = None

    averages: ClassVar[bool] = False  # F_k is the mean of what the trees gave, not their sum
    parameter_fields: ClassVar[Mapping[str, Field]] = {
        "n_estimators": Whole(1, 1_000_000),
        "learning_rate": Number(1e-9, 10.0),
        "num_leaves": Whole(2, 4096),
        "max_depth": Whole(-1, 4096),
        "min_child_samples": Whole(0, 2**31),
        "min_child_weight": Number(0.0),
        "min_split_gain": Number(0.0),
        "reg_lambda": Number(0.0),
        "split": Choice(lambda: SPLITS),
        "max_bin": Whole(2, 255),
        "subsample": Number(1e-9, 1.0),
        "colsample_bytree": Number(1e-9, 1.0),
        "metric": Metric(),
        "early_stopping_rounds": ROUNDS,
        "random_state": SEED,
        "n_jobs": Jobs(),
    }

    @abstractmethod
    def _objective(self, train: TrainingSet) -> Objective:
        """Return what is minimised."""

    def _learns_from_labels(self) -> bool:
        return True

    def _unit(self, train: TrainingSet) -> float:
        """Return what the base scores are divided by."""
        return spread_at_the_top(train)

    def _gradients(self, objective: Objective) -> Gradients:
        """Return what fills the gradients that a tree is fitted to."""
        return objective.gradients

    def _row_weights(self, train: TrainingSet) -> Floats | None:
        """Return what takes the hessian's place where splits are chosen by least squares; None for Newton's gain."""
        return None if self.split == "newton" else np.repeat(train.weights, np.diff(train.query_ptr))

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        """Return what chooses the share of each tree that is taken; None for the learning rate."""
        return None

    def weights(self) -> Floats:
        """Return the values of all leaves, tree by tree, (n_leaves,) float64, in the unit of the scores."""
        self._check_fitted()
        return self.forest_.leaf_value.copy()

    def with_weights(self, weights: ArrayLike) -> Self:
        """Return a copy of the model with other leaf values, (n_leaves,) float64."""
        self._check_fitted()
        values = np.array(weights, dtype=np.float64)
        if values.shape != self.forest_.leaf_value.shape:
            raise InvalidInputError(
                f"weights: expected shape {self.forest_.leaf_value.shape}, got {values.shape}. Change those of "
                "weights()."
            )
        other = copy(self)
        other.forest_ = replace(self.forest_, leaf_value=values)
        return other

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of each feature's splits, (n_features,) float64."""
        return self.forest_.gains(self.n_features_in_)

    def _learn(self, train: TrainingSet, valid: TrainingSet | None) -> None:
        measure = parse_measure(self.metric)
        objective, unit = self._objective(train), self._unit(train)
        constant = objective.constant()
        start, centre = start_in_units(train, unit, by_query=constant is None)
        booster = Booster(
            train.X,
            train.order,
            train.query_ptr,
            start + (constant or 0.0),
            self._gradients(objective),
            self._settings(),
            numba.get_num_threads(),
            self._step_length(train),
            self._row_weights(train),
        )
        if not booster.can_split:
            raise InvalidInputError(
                "training data: expected a feature that tells rows apart, got only constant ones. Check X."
            )
        if self._learns_from_labels() and train.labels.min() == train.labels.max():
            raise InvalidInputError(
                f"training data: expected labels that differ, got only {train.labels[0]:g}. Check that qrels and run "
                "name the same documents."
            )
        stopping = EarlyStopping(valid, measure, self.early_stopping_rounds)
        self.constant_ = unit * (constant or 0.0) - centre
        self._boost(booster, stopping, valid, unit)
        self.best_iteration_, self.evals_result_ = stopping.best, stopping.results()
        self.forest_ = booster.forest(stopping.best).scaled(unit)

    def _boost(self, booster: Booster, stopping: EarlyStopping, valid: TrainingSet | None, unit: float) -> None:
        """Add trees until the number is reached or the validation measure no longer rises.

        The measure before the first tree counts: a warm start that no tree betters stays the base ranker.
        """
        scores = np.zeros(0 if valid is None else len(valid.order))
        for _ in track(range(self.n_estimators), "trees", self.n_estimators):
            tree = booster.add_tree()
            if valid is not None:
                scores += score_rows(Forest.of([tree]).scaled(unit), valid.X)[valid.order]
            stopping.add(scores if valid is None else valid.start_scores + (self.constant_ + scores))
            if stopping.over:
                break

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
            self.averages,
        )

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return self.constant_ + score_rows(self.forest_, X)

    def _learned_nothing(self) -> str:
        if len(self.forest_.feature) and self.forest_.leaf_value.any():
            return ""
        return (
            f"no split in {self.forest_.n_trees} trees. Lower min_child_samples ({self.min_child_samples}) or "
            f"min_child_weight ({self.min_child_weight:g}), or give more queries"
        )

    def _learned(self) -> dict[str, Any]:
        return {
            "best_iteration": self.best_iteration_,
            "evals_result": self.evals_result_,
            "constant": self.constant_,
            "forest": self.forest_.to_dict(),
        }

    def _learned_fields(self, columns: str = "n_features") -> Record:
        # a file from before there were constants has none
        fields = {**PROGRESS, "constant": Number(), "forest": StoredForest(columns)}
        return Record(fields, {"constant": 0.0})

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.best_iteration_, self.evals_result_ = learned["best_iteration"], learned["evals_result"]
        self.constant_, self.forest_ = learned["constant"], learned["forest"]

    def _largest_score(self) -> float:
        return abs(self.constant_) + self.forest_.largest_score()
