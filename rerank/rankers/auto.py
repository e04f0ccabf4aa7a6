"""The ranker that cross-validation on the training queries chooses: the base ranker, one member, or all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.registry import parse_measure
from rerank.rankers.base_scores import WeightedBase, deviation_in_queries, mean_and_error, spread_at_the_top
from rerank.rankers.context import ALONE, EarlyStopping, TrainingContext
from rerank.rankers.members import (
    Members,
    add_member_contributions,
    binned_for,
    check_members,
    complete_member,
    learner_of,
    new_members,
)
from rerank.rankers.parameters import (
    Metric,
    base_parameter,
    declared_parameters,
    jobs_parameter,
    parameter,
    stopping_parameter,
)
from rerank.rankers.ranker import PROGRESS, Ranker, StoredModel, register
from rerank.rankers.sizes import FEW, SOME
from rerank.rankers.training import TrainingSet, Validation, fold_of_queries, without_start
from rerank.rankers.warm_start import NoBase
from rerank.runtime.products import product
from rerank.runtime.progress import track
from rerank.runtime.schema import Array, Field, Items, Number, Table, Text, Whole
from rerank.types import Floats, Ints, query_rows

LINEAR = "plackettluce(C=0.01)"
OWN_SIZES = "lambdamart"  # whose sizes follow the number of queries
TREES = "lambdamart(num_leaves=15, learning_rate=0.05, subsample=0.75, colsample_bytree=0.3)"
ERRORS = 2  # standard errors by which a single member has to be better than all: with few queries one is chance
ITERATED = "n_estimators"  # of the members whose number of iterations early stopping finds


@register("auto")
@dataclass(eq=False, repr=False)
class Auto(Ranker):
    """Chooses by the metric on held-out queries: all members together, one of them, or the base ranker alone.

    The members together score a document by the mean of their scores, each divided by its standard deviation within
    queries. Members are trained without the base. The base's scores are then added, with the weight that is best on
    held-out queries (base_scores.py).

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
        f"learning rate depend on the number of queries (below {FEW}, below {SOME}, or more).",
    )
    n_folds: int = parameter(
        3, Whole(2, 1_000_000), "Folds of the training queries for the cross-validation that makes the choice."
    )
    metric: Any = parameter("nDCG@10", Metric(), "Measure that decides the choice, and that the members optimise.")
    early_stopping_rounds: int = stopping_parameter(50, "iterations of a member")
    base: Any = base_parameter()
    random_state: int = parameter(0, Whole(0, 2**63), "Random seed of the folds, and of members given as text.")
    n_jobs: int | None = jobs_parameter()

    cross_validates: ClassVar[bool] = True

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        members = [learner_of(self, member) for member in self._new_members(len(train.weights))]
        cold = binned_for(members, without_start(train))
        judged = valid or train
        added = self._held_out(cold, members) if valid is None else _added(members, cold, without_start(valid))
        candidates = _candidates(len(members))
        mixtures, weights, stopping = self._tried(candidates, judged, added, valid is not None, context)
        if valid is None:
            best, metrics = self._best(judged, mixtures)
            self.cross_validated_ = metrics[best]
        else:
            best, metrics = stopping.best, stopping.history
        chosen = candidates[best]
        self.best_iteration_, self.evals_result_ = best, stopping.results()
        self.chosen_, self.choices_ = _name(chosen), dict(zip(map(_name, candidates), metrics, strict=False))
        self.members_, self.weights_ = [members[column] for column in chosen], weights[best]
        for member in self.members_:
            if valid is None:
                member._learn(cold, None)
            complete_member(self, member)

    def _keeps_directions(self) -> bool:
        return any(member._keeps_directions() for member in self._new_members(0))

    def _new_members(self, n_queries: int) -> list[Ranker]:
        trees = TREES if FEW <= n_queries < SOME else OWN_SIZES
        common = {"metric": self.metric, "random_state": self.random_state}
        rounds = {"early_stopping_rounds": self.early_stopping_rounds}
        return new_members(f"{LINEAR}, {trees}" if self.members is None else self.members, {**common, **rounds})

    def _held_out(self, data: TrainingSet, members: Sequence[Ranker]) -> Floats:
        """Return what each member adds to the base on held-out queries, (n_rows, n_members).

        Members whose number of iterations is not given stop early on the fold that is held out, and are set to the
        mean of the folds' numbers.
        """
        fold = fold_of_queries(self.n_folds, data, self.random_state)
        rows, held_out = fold[query_rows(data.query_ptr)], np.empty((len(data.order), len(members)))
        stops = [_is_open(member) for member in members]
        iterations = np.zeros((self.n_folds, len(members)))
        for number in track(range(self.n_folds), "members on folds", self.n_folds):
            rest, part = data.select(np.flatnonzero(fold != number)), data.select(np.flatnonzero(fold == number))
            for column, member in enumerate(members):
                learner = learner_of(self, member)
                learner._learn(rest, part if stops[column] else None)
                held_out[rows == number, column] = learner._scores(part.X)
                iterations[number, column] = learner.best_iteration_
        for column in np.flatnonzero(stops).tolist():
            members[column].set_params(**{ITERATED: max(round(float(iterations[:, column].mean())), 1)})
        return held_out

    def _tried(
        self,
        candidates: list[list[int]],
        judged: TrainingSet,
        added: Floats,
        validates: bool,
        context: TrainingContext,
    ) -> tuple[list[Floats], list[Floats], EarlyStopping]:
        """Return scores and members' weights of the candidates up to a callback's stop, and what followed them."""
        measure = parse_measure(self.metric)
        stopping = EarlyStopping(judged if validates else None, measure, len(candidates), context.callbacks)
        base = WeightedBase(judged, measure) if judged.start_scores.any() else None
        mixtures, weights = [judged.start_scores], [np.empty(0)]
        for candidate in candidates[1:]:
            own = np.ascontiguousarray(added[:, candidate])
            mixing = _mixing(judged, own)
            if base is not None:
                learned = product(own, mixing)
                mixing *= (base.best(learned) if validates else base.averaged(learned)).factor
            weights.append(mixing)
            mixtures.append(judged.start_scores + product(own, mixing))
            stopping.add(mixtures[-1])
            if stopping.over:
                break
        return mixtures, weights, stopping

    def _best(self, data: TrainingSet, mixtures: Sequence[Floats]) -> tuple[int, list[float]]:
        """Return the number of the candidate that cross-validation takes, 0 for the base, and each one's metric."""
        validation = Validation(data, parse_measure(self.metric))
        values = [validation.values(scores) for scores in mixtures]
        weights = data.weights if data.weights.any() else np.ones(len(data.weights))
        means = [float(np.average(value, weights=weights)) for value in values]

        def better(one: int, other: int, errors: int = 1) -> bool:
            difference, error = mean_and_error(values[one] - values[other], weights)
            return difference > errors * error

        together, best = len(means) - 1, int(np.argmax(means[1:])) + 1
        best = best if better(best, together, ERRORS) else together
        if self._prefers_base(data, mixtures[best]) and not better(best, 0):
            best = 0
        return best, means

    def _prefers_base(self, data: TrainingSet, mixture: Floats) -> bool:
        """Return whether the base's scores spread more than what is added to them."""
        added = replace(data, start_scores=mixture - data.start_scores)
        never = isinstance(self.base_, NoBase) or data.base_worth > 0.0
        return not never and spread_at_the_top(data) > spread_at_the_top(added)

    def _learned_nothing(self) -> str:
        if not self.members_:
            return "no member better than the base. Give other features or more queries"
        nothing = [member._learned_nothing() for member in self.members_]
        return nothing[0] if all(nothing) else ""

    def _columns_read(self) -> Ints:
        none = np.empty(0, np.int64)  # of the base ranker alone, which has no members
        return np.unique(np.concatenate([none, *(member._columns_read() for member in self.members_)]))

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        scores = np.zeros(len(X))
        for weight, member in zip(self.weights_, self.members_, strict=True):
            scores += weight * member._scores(X)
        return scores

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        add_member_contributions(self.members_, self.weights_, X, out, n_threads)

    def _parts(self) -> dict[str, Field]:
        members: dict[str, Field] = {
            "members": Items(StoredModel(), binds="n_members", may_be_empty=True),
            "weights": Array(np.float64, "n_members", low=0.0),
        }
        return {**PROGRESS, **members, "choices": Table(Number()), "chosen": Text(1000)}

    def _restore(self, learned: Mapping[str, Any]) -> None:
        check_members(self, learned["members"])
        super()._restore(learned)

    def _largest_score(self) -> float:
        largest = [member._largest_score() for member in self.members_]
        return float(np.sum(self.weights_ * largest))


def _candidates(n_members: int) -> list[list[int]]:
    """Return the columns of the base ranker (none), of each member, and of all members together, which is the last."""
    singles = [[column] for column in range(n_members)]
    return [[], *singles, *([list(range(n_members))] if n_members > 1 else [])]


def _name(candidate: list[int]) -> str:
    return " + ".join(f"member {column + 1}" for column in candidate) or "base"


def _added(members: Sequence[Ranker], train: TrainingSet, valid: TrainingSet) -> Floats:
    """Let the members learn, and return their scores of the validation rows, (n_rows, n_members)."""
    for member in members:
        member._learn(train, valid)
    return np.column_stack([member._scores(valid.X)[valid.order] for member in members])


def _is_open(member: Ranker) -> bool:
    """Return whether early stopping finds a member's number of iterations: it is not a given one."""
    declared = declared_parameters(type(member)).get(ITERATED)
    return declared is not None and bool(getattr(member, ITERATED) == declared.default)


def _mixing(data: TrainingSet, held_out: Floats) -> Floats:
    """Return the weights, which sum to 1, with which members' scores have equal deviations inside queries."""
    deviations = [deviation_in_queries(column, data.query_ptr) for column in held_out.T]
    inverse = np.array([1.0 / deviation if deviation > 0.0 else 0.0 for deviation in deviations])
    return inverse / inverse.sum() if inverse.any() else np.full(len(inverse), 1.0 / max(len(inverse), 1))
