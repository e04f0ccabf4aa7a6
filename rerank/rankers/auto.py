"""The ranker that cross-validation on the training queries chooses: the base ranker, one member, or all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.registry import parse_measure
from rerank.rankers.base_unit import deviation_in_queries, spread_at_the_top
from rerank.rankers.base_weight import WeightedBase, mean_and_error
from rerank.rankers.bases import NoBase
from rerank.rankers.boosted import FEW_QUERIES, SOME
from rerank.rankers.combination import Combination, Members, binned_for, complete_member, learner_of, new_members
from rerank.rankers.early_stopping import EarlyStopping
from rerank.rankers.parameters import (
    Metric,
    base_parameter,
    declared_parameters,
    jobs_parameter,
    parameter,
    stopping_parameter,
)
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, fold_of_queries, without_start
from rerank.rankers.validation import Validation
from rerank.runtime.fields import Array, Text, Whole, check_length
from rerank.runtime.products import product
from rerank.runtime.sums import mean
from rerank.types import Floats

LINEAR = "plackettluce(C=0.01)"
OWN_SIZES = "lambdamart"  # sizes of its trees follow the number of queries
TREES = "lambdamart(num_leaves=15, learning_rate=0.05, subsample=0.75, colsample_bytree=0.3)"
ERRORS = 2  # standard errors by which a single member has to beat all together; by one it may do so by chance
ITERATED = "n_estimators"  # parameter of members whose number of iterations early stopping finds


@register("auto")
@dataclass(eq=False, repr=False)
class Auto(Combination):
    """Chooses by the metric on held-out queries: all members together, one of them, or the base ranker alone.

    The members together score a document by the mean of their scores, each divided by its standard deviation within
    queries. Members are trained without the base. The base's scores are then added, with the weight that is best on
    held-out queries (base_weight.py).

    Without eval_set, the queries are divided into folds, and each member scores each fold after training on the others.
    All members together are chosen, unless the best single member is better by more than two standard errors of the
    difference of the metric, paired by query. The base ranker alone is chosen if its scores have a larger spread than
    those that are added to them, and if the choice is not better than the base by more than one standard error. This
    last rule does not apply to the unsupervised base, whose weight already takes few queries into account. The chosen
    members are finally trained on all queries, with the mean number of iterations that early stopping found in the
    folds. The held-out metric of such a member is slightly too high, because early stopping used the same fold.

    With eval_set, each member uses it for early stopping, and the candidate with the best metric on it is chosen. With
    few queries, training without eval_set is preferable, as more queries are used for training.

    `choices_` contains the held-out metric of each candidate by name, and `chosen_` the name of the chosen one.
    `members_` and `weights_` are its members and the weights of their scores; both are empty for the base ranker alone.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees, 1984, section 3.4.3 (choices
    within standard errors).

    """

    members: str | Sequence[Ranker] | None = parameter(
        None,
        Members(optional=True),
        "Rankers to choose from, given as for Ensemble. None: a regularised linear ranker, and trees whose size and "
        f"learning rate depend on the number of queries (below {FEW_QUERIES}, below {SOME}, or more).",
    )
    n_folds: int = parameter(
        3, Whole(2, 1_000_000), "Folds of the training queries for the cross-validation that makes the choice."
    )
    metric: Any = parameter("nDCG@10", Metric(), "Measure that decides the choice, and that the members optimise.")
    early_stopping_rounds: int = stopping_parameter(30, "iterations of a member")
    base: Any = base_parameter()
    random_state: int = parameter(0, Whole(0, 2**63), "Random seed of the folds, and of members given as text.")
    n_jobs: int | None = jobs_parameter()

    cross_validates: ClassVar[bool] = True
    learned: ClassVar[Mapping[str, Any]] = {
        **Combination.learned,
        "weights": Array(low=0.0),
        "choices": dict[str, float],
        "chosen": Text(1000),
    }

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        members = [learner_of(self, member) for member in self._new_members(len(train.weights))]
        cold = binned_for(members, without_start(train))
        columns = range(len(members))
        together = [list(columns)] if len(members) > 1 else []
        candidates = [[], *([column] for column in columns), *together]  # the base ranker, each member, all of them
        if valid is None:
            added, learners = self._cross_validated(cold, members)
            mixtures, weights, stopping = self._tried(candidates, train, added, False, context)
            best, metrics = self._best(train, mixtures)
            self.cross_validated_ = metrics[best]
        else:
            for member in members:
                member._learn(cold, without_start(valid))
            added = np.column_stack([member._scores(valid.X)[valid.order] for member in members])
            mixtures, weights, stopping = self._tried(candidates, valid, added, True, context)
            best = stopping.best
            metrics = stopping.history
        self.best_iteration_ = best
        self.evals_result_ = stopping.results()
        self.chosen_ = _name(candidates[best])
        self.choices_ = dict(zip(map(_name, candidates), metrics, strict=False))
        self.members_ = [members[column] for column in candidates[best]]
        self.weights_ = weights[best]
        for column in candidates[best]:
            if valid is None:
                members[column]._learn(cold, None, TrainingContext(near=learners[column]))
            complete_member(self, members[column])

    def _new_members(self, n_queries: int) -> list[Ranker]:
        trees = TREES if FEW_QUERIES <= n_queries < SOME else OWN_SIZES
        common = {name: getattr(self, name) for name in ("metric", "random_state", "early_stopping_rounds")}
        return new_members(f"{LINEAR}, {trees}" if self.members is None else self.members, common)

    def _cross_validated(self, data: TrainingSet, members: Sequence[Ranker]) -> tuple[Floats, list[Ranker | None]]:
        """Return what members add to the base on held-out queries, (n_rows, n_members), and the last fold's rankers.

        Members whose number of iterations is not given stop early on the fold that is held out, and are set to the
        mean of the folds' numbers.
        """
        fold = fold_of_queries(self.n_folds, data, self.random_state)
        scores, iterations, learners = self._held_out(
            data, fold, members, lambda member, part: part if _is_open(member) else None
        )
        for column, member in enumerate(members):
            if _is_open(member):
                member.set_params(**{ITERATED: max(round(float(iterations[:, column].mean())), 1)})
        return scores, learners

    def _tried(
        self,
        candidates: list[list[int]],
        judged: TrainingSet,
        added: Floats,
        validates: bool,
        context: TrainingContext,
    ) -> tuple[list[Floats], list[Floats], EarlyStopping]:
        """Return scores (n_rows,) and members' weights of each candidate, and the object that measured them.

        Candidates after a callback's stop are left out.

        judged     rows on which the candidates are measured
        added      (n_rows, n_members) float64 scores of the members
        validates  whether the rows are validation data
        """
        measure = parse_measure(self.metric)
        stopping = EarlyStopping(judged if validates else None, measure, len(candidates), context.callbacks)
        base = WeightedBase(judged, measure) if judged.start_scores.any() else None
        mixtures = [judged.start_scores]
        weights = [np.empty(0)]
        for candidate in candidates[1:]:
            own = np.ascontiguousarray(added[:, candidate])
            mixing = _mixing(judged, own)
            if base is not None:
                mixing *= base.chosen(product(own, mixing), validates).factor
            weights.append(mixing)
            mixtures.append(judged.start_scores + product(own, mixing))
            stopping.add(mixtures[-1])
            if stopping.over:
                break
        return mixtures, weights, stopping

    def _best(self, data: TrainingSet, mixtures: Sequence[Floats]) -> tuple[int, list[float]]:
        """Return the number of the candidate that cross-validation chooses, 0 for the base, and all their metrics."""
        validation = Validation(data, parse_measure(self.metric))
        values = [validation.values(scores) for scores in mixtures]
        weights = data.weights if data.weights.any() else np.ones(len(data.weights))
        means = [mean(value, weights) for value in values]

        def better(one: int, other: int, errors: int = 1) -> bool:
            difference, error = mean_and_error(values[one] - values[other], weights)
            return difference > errors * error

        together = len(means) - 1
        best = int(np.argmax(means[1:])) + 1
        best = best if better(best, together, ERRORS) else together
        added = replace(data, start_scores=mixtures[best] - data.start_scores)
        is_known = isinstance(self.base_, NoBase) or data.base_worth > 0.0
        if not is_known and spread_at_the_top(data) > spread_at_the_top(added) and not better(best, 0):
            best = 0
        return best, means

    def _learned_nothing(self) -> str:
        if not self.members_:
            return "no member better than the base. Give other features or more queries"
        nothing = [member._learned_nothing() for member in self.members_]
        return nothing[0] if all(nothing) else ""

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        scores = np.zeros(len(X))
        for weight, member in zip(self.weights_, self.members_, strict=True):
            scores += weight * member._scores(X)
        return scores

    def _check_learned(self) -> None:
        super()._check_learned()
        check_length(self.weights_, len(self.members_), "weights")


def _name(candidate: list[int]) -> str:
    return " + ".join(f"member {column + 1}" for column in candidate) or "base"


def _is_open(member: Ranker) -> bool:
    """Return whether early stopping finds a member's number of iterations, as it is at its default."""
    declared = declared_parameters(type(member)).get(ITERATED)
    return declared is not None and bool(getattr(member, ITERATED) == declared.default)


def _mixing(data: TrainingSet, held_out: Floats) -> Floats:
    """Return weights (n_members,), of sum 1, that give the columns of held_out equal deviations inside queries."""
    deviations = [deviation_in_queries(column, data.query_ptr) for column in held_out.T]
    inverse = np.array([1.0 / deviation if deviation > 0.0 else 0.0 for deviation in deviations])
    return inverse / inverse.sum() if inverse.any() else np.full(len(inverse), 1.0 / max(len(inverse), 1))
