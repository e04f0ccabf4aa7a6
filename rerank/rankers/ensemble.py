"""Many rankers at once: a second stage, trained with LambdaRank, joins their scores (Burges 2010, section 7.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective, lambdarank_for
from rerank.rankers.arrays import numbered_names, zeros_of
from rerank.rankers.base_scores import WeightedBase
from rerank.rankers.context import ALONE, EarlyStopping, TrainingContext
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.members import (
    Members,
    add_member_contributions,
    binned_for,
    check_members,
    complete_member,
    learner_of,
    new_members,
)
from rerank.rankers.parameters import Metric, base_parameter, jobs_parameter, parameter, stopping_parameter
from rerank.rankers.ranker import PROGRESS, Ranker, StoredModel, register
from rerank.rankers.training import TrainingSet, fold_of_queries, without_start
from rerank.runtime.products import cross_product, dot, gram, inverse, product
from rerank.runtime.progress import track
from rerank.runtime.schema import Array, Choice, Field, Items, Number, Record, Whole
from rerank.types import Floats, Ints, RankingData
from rerank.types.ranking_data import BOTH, UNLISTED

DEPTH = 30  # that gradients look at
NO_MEMBERS = np.empty(0, dtype=np.int64)
RIDGE = 1e-3  # share of each weight's own curvature: members with equal scores get equal weights


class LinearStage:
    """base + sum_m w_m f_m of members' scores f_m.

    Each step is w - learning_rate (H + ridge)^-1 g with g = F'lambda and H = F'diag(h)F, h the curvature of each
    document (Burges 2010, sections 4 and 7), F the members' scores less their means in each query. So a step does not
    depend on constants added to members' scores nor on their scale; the ridge is a share of H's own diagonal. A weight
    of `rising`, the members with monotone constraints, is set to 0 where a step makes it negative: the sum would go
    against the constraints.

    The first weights are equal, of members' scores divided by their standard deviations, since members of different
    kinds have different units. A base is added to the sum with a weight of its own (base_scores.py). Of all weights,
    none at all (the base itself) and the equal ones included, the best by the measure are kept: on the validation
    queries where there are some, else on the held-out scores themselves.
    """

    learned_later: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        n_estimators: int,
        learning_rate: float,
        metric: Any,
        early_stopping_rounds: int,
        rising: Ints = NO_MEMBERS,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.rising = rising

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        measure, base = parse_measure(self.metric), None
        if train.start_scores.any():
            base = WeightedBase(valid or train, parse_measure(self.metric))
        objective = lambdarank_for(measure, train.lists, train.weights, truncation_level=DEPTH)
        inputs = train.X[train.order].astype(np.float64)
        inputs -= inputs.min(axis=0)  # a constant column is 0 exactly
        scales = np.where(inputs.any(axis=0), inputs.std(axis=0), 1.0)
        sizes = np.diff(train.query_ptr)
        means = np.add.reduceat(inputs, train.query_ptr[:-1], axis=0) / sizes[:, None]
        inputs = (inputs - np.repeat(means, sizes, axis=0)) / scales
        followed = valid or train
        judged = None if base is None else base.best_of
        stopping = EarlyStopping(followed, measure, self.early_stopping_rounds, context.callbacks, judged)
        held_out = followed.X[followed.order].astype(np.float64)
        self.weights_ = np.zeros(len(scales))
        weights = np.full(len(scales), 1.0 / len(scales))  # of the inputs; of the members: / scales
        for _ in range(self.n_estimators):
            if stopping.add(product(held_out, weights / scales)):
                self.weights_ = weights / scales
            if stopping.over:
                break
            weights = weights - self.learning_rate * newton_step(objective, inputs, weights)
            weights[self.rising] = np.maximum(weights[self.rising], 0.0)
        if base is not None:
            learned = product(held_out, self.weights_)
            self.weights_ *= (base.averaged(learned) if valid is None else base.best(learned)).factor
        self.best_iteration_, self.evals_result_ = stopping.best, stopping.results() if valid else {}

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return product(np.ascontiguousarray(X), self.weights_)

    def _learned_nothing(self) -> str:
        return "" if self.weights_.any() else "no weight but 0"

    def _learned(self) -> dict[str, Any]:
        return {"weights": self.weights_.tolist()}

    def _parts(self, columns: str) -> dict[str, Field]:
        return {"weights": Array(np.float64, columns)}

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.weights_ = learned["weights"]


def newton_step(objective: LambdaRankObjective | BlockLambdaRankObjective, inputs: Floats, weights: Floats) -> Floats:
    """Return (H + ridge)^-1 g of `LinearStage` for inputs (n_rows, n_inputs) float64 at weights (n_inputs,) float64."""
    scores = product(inputs, weights)
    grad, hess = np.empty(len(inputs)), np.empty(len(inputs))
    objective.gradients(scores, grad, hess)
    curvature = gram(inputs, hess)
    sizes = np.sqrt(np.diag(curvature))
    sizes = np.where(sizes > 0.0, sizes, 1.0)  # a member that parts no pair has neither gradient nor curvature
    correlations = curvature / np.outer(sizes, sizes)
    slope = cross_product(grad[:, None], inputs)[0]
    return product(inverse(correlations + RIDGE * np.eye(len(sizes))), slope / sizes) / sizes


SECOND = ("linear", "boosted")
SEEDS = 1000  # between the seed of the members and that of the folds


@register("ensemble")
@dataclass(eq=False, repr=False)
class Ensemble(Ranker):
    """Rankers combined by a second stage that is trained on their held-out scores.

    The queries are divided into folds, and each member scores each fold after training on the others. The second stage
    is trained on these scores. Then the members are trained again on all queries. Members are trained without the base;
    its scores are added in the second stage, with the weight that is best on held-out queries (base_scores.py).

        linear   base + sum_m w_m f_m, w by Newton's steps on LambdaRank's gradients
        boosted  base + LambdaMART(f_1, f_2, ...)

    The winning system of the Yahoo! challenge had the members "8*lambdamart(subsample=0.5), 2*lambdarank,
    2*logisticregression".

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 7.1.
    C. Burges et al., Learning to rank using an ensemble of lambda-gradient models, JMLR Proceedings 14, 2011.

    """

    members: str | Sequence[Ranker] = parameter(
        "2*lambdamart(subsample=0.5), lambdarank, logisticregression",
        Members(),
        "Rankers to combine: a sequence of unfitted rankers without a base, or text such as "
        "'2*lambdamart(subsample=0.5), ranksvm'. The copies of N*NAME differ in random_state.",
    )
    second: str = parameter(
        "linear", Choice(lambda: SECOND), "Second stage that combines the members' scores: linear, or boosted trees."
    )
    n_folds: int = parameter(
        3, Whole(1, 1_000_000), "Folds of the training queries for the held-out scores of the members."
    )
    n_estimators: int = parameter(100, Whole(1, 1_000_000), "Maximum number of steps (or trees) of the second stage.")
    learning_rate: float = parameter(
        0.1,
        Number(1e-9, 10.0),
        "Factor by which each step of the second stage is multiplied (shrinkage).",
        search=(0.025, 0.05, 0.1, 0.2),
    )
    num_leaves: int = parameter(
        7, Whole(2, 4096), "Maximum number of leaves per tree of a boosted second stage.", search=(2, 4, 7, 14)
    )
    metric: Any = parameter(
        "nDCG@10", Metric(), "Measure to optimise in the second stage, and in members given as text."
    )
    early_stopping_rounds: int = stopping_parameter(100, "steps of the second stage")
    base: Any = base_parameter()
    random_state: int = parameter(0, Whole(0, 2**63), "Random seed of the folds, and of members given as text.")
    n_jobs: int | None = jobs_parameter()

    def _fit_data(self, data: RankingData, *others: Any) -> None:
        _refuse_unlisted(data.zeros, self.members)
        super()._fit_data(data, *others)

    def _matching(self, data: RankingData) -> RankingData:
        _refuse_unlisted(data.zeros, getattr(self, "members_", self.members))
        return super()._matching(data)

    def _matrix(self, X: object) -> NDArray[np.float32]:
        _refuse_unlisted(zeros_of(X), getattr(self, "members_", self.members))
        return super()._matrix(X)

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        common = {"metric": self.metric, "random_state": self.random_state}
        members = [learner_of(self, member) for member in new_members(self.members, common)]
        stage = self._new_stage([member._keeps_directions() for member in members])
        cold, cold_valid = binned_for(members, without_start(train)), valid and without_start(valid)
        fold = fold_of_queries(self.n_folds, train, SEEDS + self.random_state)
        held_out = np.empty((len(train.order), len(members)), dtype=np.float32)
        for number in track(range(self.n_folds), "members on folds", self.n_folds):
            rest, part = cold.select(np.flatnonzero(fold != number)), cold.select(np.flatnonzero(fold == number))
            rows = np.repeat(fold == number, np.diff(train.query_ptr))
            for column, member in enumerate(members):
                learner = learner_of(self, member)
                learner._learn(rest, cold_valid)
                held_out[rows, column] = learner._scores(part.X)
        for member in track(members, "members", len(members)):
            member._learn(cold, cold_valid)
            complete_member(self, member)
        self.members_ = members
        stage_valid = None if valid is None else _of_scores(valid, self._shares(valid.X)[valid.order])
        stage._learn(_of_scores(train, held_out), stage_valid, context)
        self.stage_, self.best_iteration_, self.evals_result_ = stage, stage.best_iteration_, stage.evals_result_

    def _new_stage(self, rising: Sequence[bool] = ()) -> LinearStage | LambdaMART:
        """Return the second stage, unfitted; its scores may not fall with those of the members that are `rising`."""
        if self.second == "linear":
            numbers = np.flatnonzero(rising)
            return LinearStage(self.n_estimators, self.learning_rate, self.metric, self.early_stopping_rounds, numbers)
        return LambdaMART(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            metric=self.metric,
            early_stopping_rounds=self.early_stopping_rounds,
            monotone_constraints=[int(each) for each in rising] if any(rising) else None,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _keeps_directions(self) -> bool:
        return any(member._keeps_directions() for member in new_members(self.members, {}))

    def _learned_nothing(self) -> str:
        learned = [member for member in self.members_ if not member._learned_nothing()]
        return (
            "" if learned and not self.stage_._learned_nothing() else "no member that betters the base. Choose others"
        )

    def _shares(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the members' scores, (n_rows, n_members) float32."""
        return np.column_stack([member._scores(X) for member in self.members_]).astype(np.float32)

    def _columns_read(self) -> Ints:
        return np.unique(np.concatenate([member._columns_read() for member in self.members_]))

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return self.stage_._scores(self._shares(X))

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        """Add the members' contributions, weighted as their scores are; the score is linear in these."""
        if not isinstance(self.stage_, LinearStage):
            raise InvalidInputError(
                "contributions: expected an ensemble with a linear second stage, got a boosted one. Train it with "
                "second='linear'."
            )
        add_member_contributions(self.members_, self.stage_.weights_, X, out, n_threads)

    def _learned(self) -> dict[str, Any]:
        return {
            "best_iteration": self.best_iteration_,
            "evals_result": self.evals_result_,
            "members": [member.to_dict() for member in self.members_],
            "stage": self.stage_._learned(),
        }

    def _parts(self) -> dict[str, Field]:
        stage = self._new_stage()
        stored = Record(stage._parts("n_members"), stage.learned_later)
        return {**PROGRESS, "members": Items(StoredModel(), binds="n_members"), "stage": stored}

    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.best_iteration_, self.evals_result_ = learned["best_iteration"], learned["evals_result"]
        check_members(self, learned["members"])
        self.members_, self.stage_ = learned["members"], self._new_stage()
        self.stage_._restore(learned["stage"])

    def _largest_score(self) -> float:
        if not isinstance(self.stage_, LinearStage):
            return self.stage_._largest_score()
        return dot(np.abs(self.stage_.weights_), np.array([member._largest_score() for member in self.members_]))


def _refuse_unlisted(zeros: str | None, members: Sequence[object]) -> None:
    """Refuse sparse rows where a member reads what they do not list as missing: the others read it as 0."""
    if zeros in (UNLISTED, BOTH) and any(getattr(member, "unlisted_missing_", False) for member in members):
        raise ModelMismatchError(
            "members: expected rows that list every feature, got sparse ones, and a model of XGBoost, for which what "
            "they do not list is missing. Pass an array, with NaN where a value is missing."
        )


def _of_scores(data: TrainingSet, scores: NDArray[np.float32]) -> TrainingSet:
    """Return the same rows with members' scores (n_rows, n_members), in canonical order, as their features."""
    return replace(data, X=scores, order=np.arange(len(scores)), names=numbered_names(scores.shape[1]))
