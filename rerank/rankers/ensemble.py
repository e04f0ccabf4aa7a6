"""Many rankers at once: a second stage, trained with LambdaRank, combines their scores (Burges 2010, section 7.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import LambdaObjective, lambdarank_for
from rerank.rankers.arrays import zeros_of
from rerank.rankers.base_weight import WeightedBase
from rerank.rankers.combination import Combination, Members, binned_for, complete_member, learner_of, new_members
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.parameters import Metric, base_parameter, jobs_parameter, parameter, stopping_parameter
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, fold_of_queries, without_start
from rerank.runtime.fields import Choice, Number, SchemaError, Whole
from rerank.runtime.products import cross_product, gram, inverse_matrix, product
from rerank.runtime.progress import track
from rerank.types import Floats, Ints, RankingData, numbered_names
from rerank.types.ranking_data import BOTH, UNLISTED

GRADIENT_DEPTH = 30  # ranks to which gradients consider pairs
RIDGE = 1e-3  # share of each weight's own curvature: with it, members with equal scores get equal weights


def _centred(train: TrainingSet) -> tuple[Floats, Floats]:
    """Return members' scores less each query's mean and by their scale, (n_rows, n_members), and the scales."""
    inputs = train.X[train.order].astype(np.float64)
    inputs -= inputs.min(axis=0)  # a constant column is 0 exactly
    scales = np.where(inputs.any(axis=0), inputs.std(axis=0), 1.0)
    sizes = np.diff(train.query_ptr)
    means = np.add.reduceat(inputs, train.query_ptr[:-1], axis=0) / sizes[:, None]
    return (inputs - np.repeat(means, sizes, axis=0)) / scales, scales


def newton_step(objective: LambdaObjective, inputs: Floats, weights: Floats) -> Floats:
    """Return (H + ridge)^-1 g of a linear stage for inputs (n_rows, n_inputs) at weights (n_inputs,), both float64."""
    grad, hess = np.empty((2, len(inputs)))
    objective.gradients(product(inputs, weights), grad, hess)
    curvature = gram(inputs, hess)
    sizes = np.sqrt(np.diag(curvature))
    sizes = np.where(sizes > 0.0, sizes, 1.0)  # where scores do not differ in any pair, the gradient is 0, too
    correlations = curvature / np.outer(sizes, sizes)
    slope = cross_product(grad[:, None], inputs)[0]
    return product(inverse_matrix(correlations + RIDGE * np.eye(len(sizes))), slope / sizes) / sizes


SECOND = ("linear", "boosted")
SEEDS = 1000  # distance of the seed of the folds from that of the first member


@register("ensemble")
@dataclass(eq=False, repr=False)
class Ensemble(Combination):
    """Rankers combined by a second stage that is trained on their held-out scores.

    The queries are divided into folds, and each member scores each fold after training on the others. The second stage
    is trained on these scores. Then the members are trained again on all queries. Members are trained without the base;
    its scores are added in the second stage, with the weight that is best on held-out queries (base_weight.py).

        linear   base + sum_m w_m f_m, w by steps on LambdaRank's gradients with the documents' own curvature
        boosted  base + LambdaMART(f_1, f_2, ...)

    Each step of the linear stage is w - learning_rate (H + ridge)^-1 g with g = F'lambda and H = F'diag(h)F, h the
    curvature of each document (Burges 2010, sections 4 and 7), F the members' scores less their means in each query.
    Newton's matrix also has the cross terms of the pairs; steps here are 0.2 to 1.3 times as long as Newton's. A step
    does not depend on constants added to members' scores nor on their scale; the ridge is a share of H's own diagonal.
    The weight of a member with monotone constraints is set to 0 where a step makes it negative, as the sum would go
    against the constraints. The first weights are equal, for members' scores divided by their standard deviations. Of
    the weights of all steps, the equal ones and all 0 (the base itself) included, the best by the measure are kept: on
    the validation queries where there are some, else on the held-out scores themselves.

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

    learned: ClassVar[Mapping[str, Any]] = {**Combination.learned, "stage": Ranker | None}

    def _read(self, X: Any) -> Any:
        """Return rows; refuse sparse ones where a member reads unlisted values as missing: the other members read 0."""
        rows = super()._read(X)
        zeros = rows.zeros if isinstance(rows, RankingData) else zeros_of(rows)
        members = getattr(self, "members_", self.members)
        if zeros in (UNLISTED, BOTH) and any(getattr(member, "unlisted_missing_", False) for member in members):
            raise ModelMismatchError(
                "members: expected rows that list every feature, got sparse ones, and a model of XGBoost, for which "
                "what they do not list is missing. Pass an array, with NaN where a value is missing."
            )
        return rows

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        members = [learner_of(self, member) for member in self._new_members(len(train.weights))]
        cold = binned_for(members, without_start(train))
        cold_valid = valid and without_start(valid)
        fold = fold_of_queries(self.n_folds, train, SEEDS + self.random_state)
        held_out, _, learners = self._held_out(cold, fold, members, lambda member, part: cold_valid)
        for member, learner in zip(track(members, "members"), learners, strict=True):
            member._learn(cold, cold_valid, TrainingContext(near=learner))
            complete_member(self, member)
        self.members_ = members
        stage_valid = None if valid is None else _of_scores(valid, self._shares(valid.X)[valid.order])
        rising = [member._keeps_directions() for member in members]
        self._learn_stage(_of_scores(train, held_out.astype(np.float32)), stage_valid, context, rising)

    def _learn_stage(
        self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext, rising: Sequence[bool]
    ) -> None:
        """Learn from members' scores; the result may not fall as the score of a member that is `rising` rises."""
        self.weights_ = np.empty(0)
        self.stage_: Ranker | None = None
        if self.second == "linear":
            self._learn_weights(train, valid, context, np.flatnonzero(rising))
            return
        self.stage_ = LambdaMART(
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            num_leaves=self.num_leaves,
            metric=self.metric,
            early_stopping_rounds=self.early_stopping_rounds,
            monotone_constraints=[int(is_rising) for is_rising in rising] if any(rising) else None,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.stage_._learn(train, valid, context)
        self.stage_._describe(train.names)
        self.best_iteration_ = self.stage_.best_iteration_
        self.evals_result_ = self.stage_.evals_result_

    def _learn_weights(
        self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext, rising: Ints
    ) -> None:
        measure = parse_measure(self.metric)
        base = WeightedBase(valid or train, measure) if train.start_scores.any() else None
        objective = lambdarank_for(measure, train.lists, train.weights, truncation_level=GRADIENT_DEPTH)
        inputs, scales = _centred(train)
        followed = valid or train
        stopping = self._stopping(followed, context, None if base is None else base.best_of)
        held_out = followed.X[followed.order].astype(np.float64)
        self.weights_ = np.zeros(len(scales))
        weights = np.full(len(scales), 1.0 / len(scales))  # of the inputs; / scales, of the members' scores
        for _ in range(self.n_estimators):
            if stopping.add(product(held_out, weights / scales)):
                self.weights_ = weights / scales
            if stopping.over:
                break
            weights = weights - self.learning_rate * newton_step(objective, inputs, weights)
            weights[rising] = np.maximum(weights[rising], 0.0)
        if base is not None:
            self.weights_ *= base.chosen(product(held_out, self.weights_), valid is not None).factor
        self.best_iteration_ = stopping.best
        self.evals_result_ = stopping.results() if valid else {}

    def _new_members(self, n_queries: int) -> list[Ranker]:
        return new_members(self.members, {"metric": self.metric, "random_state": self.random_state})

    def _learned_nothing(self) -> str:
        is_learned = any(not member._learned_nothing() for member in self.members_)
        is_combined = self.weights_.any() if self.stage_ is None else not self.stage_._learned_nothing()
        return "" if is_learned and is_combined else "no member that betters the base. Choose others"

    def _shares(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the members' scores, (n_rows, n_members) float32."""
        return np.column_stack([member._scores(X) for member in self.members_]).astype(np.float32)

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        shares = self._shares(X)
        return product(shares, self.weights_) if self.stage_ is None else self.stage_._scores(shares)

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        """Add the members' contributions, weighted as the members' scores."""
        if self.stage_ is not None:
            raise InvalidInputError(
                "contributions: expected an ensemble with a linear second stage, got a boosted one. Train it with "
                "second='linear'."
            )
        super()._add_contributions(X, out, n_threads)

    def _check_learned(self) -> None:
        super()._check_learned()
        n_members = len(self.members_)
        if (len(self.weights_) if self.stage_ is None else self.stage_.n_features_in_) != n_members or not n_members:
            raise SchemaError(f"a second stage of {n_members} members, at least 1", "another", path="stage")


def _of_scores(data: TrainingSet, scores: NDArray[np.float32]) -> TrainingSet:
    """Return the same rows with members' scores (n_rows, n_members), in canonical order, as their features."""
    return replace(data, X=scores, order=np.arange(len(scores)), names=numbered_names(scores.shape[1]))
