"""The ranker that cross-validation on the training queries chooses: the base ranker, one member, or all together.

Rankers inside a ranker: as text (`8*lambdamart(subsample=0.5), 2*lambdarank`), in training, and in model files.

Many rankers at once: a second stage, trained with LambdaRank, joins their scores (Burges 2010, section 7.1).
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, shown
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import LambdaObjective, lambdarank_for
from rerank.rankers.arrays import numbered_names, zeros_of
from rerank.rankers.base_unit import deviation_in_queries, spread_at_the_top
from rerank.rankers.base_weight import WeightedBase, mean_and_error
from rerank.rankers.bases import NoBase
from rerank.rankers.boosted import FEW, SOME, BoostedTrees, LambdaMART
from rerank.rankers.early_stopping import EarlyStopping
from rerank.rankers.imported import Imported
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import (
    Metric,
    base_parameter,
    check_names,
    declared_parameters,
    jobs_parameter,
    parameter,
    plain_parameters,
    read_value,
    stopping_parameter,
)
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class, register, stored_rankers
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, fold_of_queries, without_start
from rerank.rankers.validation import Validation
from rerank.runtime.codec import Array, Choice, Field, Number, SchemaError, Sizes, Text, Whole
from rerank.runtime.numerics import cross_product, gram, inverse, product
from rerank.runtime.progress import track
from rerank.trees.content import bin_rows
from rerank.types import Floats, Ints, RankingData, query_rows
from rerank.types.ranking_data import BOTH, UNLISTED

OF_THE_ENSEMBLE = ("base", "n_jobs")  # parameters that members do not have of their own
MOST_COPIES = 1000


@dataclass(frozen=True)
class Members(Field):
    """The members as a parameter: rankers, or text that names known ones; stored as text."""

    type_name: ClassVar[str] = "str"
    optional: bool = False

    def accepts(self) -> str:
        """Return what names members."""
        return "text, or a sequence of rankers" + ", or None" * self.optional

    def read(self, value: Any, sizes: Sizes) -> str | None:
        """Return the text."""
        if value is None and self.optional:
            return None
        if isinstance(value, list | tuple) and all(isinstance(ranker, Ranker) for ranker in value):
            if not value:
                raise SchemaError("at least one ranker", "none")
            return spell_members(value)
        if not isinstance(value, str):
            raise SchemaError(f"{self.accepts()} of this package", shown(value))
        text: str = Text().read(value, sizes)
        for member in read_members(text, {}):
            plain_parameters(member)
        return text


def read_members(text: str, common: Mapping[str, Any]) -> list[Ranker]:
    """Return new rankers: each copy of an entry has the next random_state."""
    members: list[Ranker] = []
    for copies, name, parameters in _entries(text):
        learner = stored_rankers().get(name) or ranker_class(name)
        known = [parameter for parameter in declared_parameters(learner) if parameter not in OF_THE_ENSEMBLE]
        check_names(f"members: {name}", parameters, known)
        values = {**{key: value for key, value in common.items() if key in known}, **parameters}
        for copy in range(copies):
            seed = {"random_state": values["random_state"] + copy} if "random_state" in values else {}
            members.append(learner(**{**values, **seed}))
    return members


def spell_members(members: Sequence[Ranker]) -> str:
    """Return rankers as text that `read_members` understands: parameters that are not at their default."""
    entries = []
    for member in members:
        declared = declared_parameters(type(member))
        values = {name: value for name, value in plain_parameters(member).items() if name not in OF_THE_ENSEMBLE}
        changed = ", ".join(f"{k}={v!r}" for k, v in values.items() if v != declared[k].default)
        entries.append(f"{member.kind}({changed})")
    return ", ".join(entries)


def _entries(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield copies, name and parameters of each entry."""
    source = f"({text},)"
    parsed: ast.AST | None = None
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        parsed = ast.parse(source, mode="eval").body
    for entry in parsed.elts if isinstance(parsed, ast.Tuple) else [parsed]:
        copies: Any = 1
        call: Any = entry
        if isinstance(call, ast.BinOp) and isinstance(call.op, ast.Mult) and isinstance(call.left, ast.Constant):
            copies = call.left.value
            call = call.right
        call = call if isinstance(call, ast.Call) else ast.Call(call, [], [])
        is_known = isinstance(call.func, ast.Name) and not call.args and type(copies) is int
        if not is_known or not 1 <= copies <= MOST_COPIES:
            raise InvalidInputError(
                "members: expected rankers such as '8*lambdamart(subsample=0.5), 2*lambdarank', got "
                f"{shown(text)}. Write each as NAME, N*NAME or N*NAME(PARAMETER=VALUE), N up to {MOST_COPIES}."
            )
        values = {str(word.arg): ast.get_source_segment(source, word.value) or "" for word in call.keywords}
        yield copies, call.func.id, {name: read_value(value) for name, value in values.items()}


def new_members(members: str | Sequence[Ranker], common: Mapping[str, Any]) -> list[Ranker]:
    """Return the members before they learn; `common` are the parameters of those that are given as text.

    Raises InvalidInputError where there is none, or one with a base of its own.
    """
    members = (
        read_members(members, common) if isinstance(members, str) else [member.unfitted_copy() for member in members]
    )
    if not members or any(member.base is not None for member in members):
        raise InvalidInputError(
            "members: expected at least one ranker, all without a base of their own. Give base to the ranker that "
            "combines them."
        )
    return [member.set_params(n_jobs=None) for member in members]


def binned_for(members: Sequence[Ranker], data: TrainingSet) -> TrainingSet:
    """Return the data, with rows that are binned once where members are boosted trees; folds get the same bins.

    Bins do not depend on labels, so that those of all rows tell a member nothing about the fold that is held out.
    """
    most_bins = {member.max_bin for member in members if isinstance(member, BoostedTrees)}
    if len(most_bins) != 1:
        return data
    return replace(data, binned=bin_rows(data.X, data.order, most_bins.pop(), numba.get_num_threads()))


def learner_of(owner: Ranker, member: Ranker) -> Ranker:
    """Return an unfitted copy of a member, to learn from the data of its owner or from a part of them."""
    learner = member.unfitted_copy()
    if not isinstance(learner, Imported):  # which has its own features; they are checked first
        complete_member(owner, learner)
    return learner


def complete_member(owner: Ranker, member: Ranker) -> None:
    """Tell a member about the data of its owner, to learn and to be stored; the base is the owner's alone.

    Raises ModelMismatchError for an imported model, which has features already, where these have other names.
    """
    names = getattr(member, "feature_names_", owner.feature_names_)
    if numbered_names(len(names)) not in (names, owner.feature_names_) and names != owner.feature_names_:
        raise ModelMismatchError(
            "members: expected an imported model of the features of the data, in their order, got others "
            f"({', '.join(names[:3])} ...). Import it with feature_names."
        )
    origin = owner.recipe_, owner.fingerprint_, owner.retriever_, owner.run_retrievers_
    member._describe(owner.feature_names_, *origin)


class Combination(Ranker):
    """Base class of the rankers that score a document by what their members learned.

    Attributes
    ----------
    members_ : list of Ranker
        The members, without a base of their own.
    weights_ : ndarray of shape (n_members,), dtype float64
        Weights of their scores.

    """

    learned: ClassVar[Mapping[str, Any]] = {**PROGRESS, "members": list[Ranker], "weights": Floats}
    n_folds: int
    members_: list[Ranker]
    weights_: Floats

    @abstractmethod
    def _new_members(self, n_queries: int) -> list[Ranker]:
        """Return the members before they learn from so many queries."""

    def _held_out(
        self, data: TrainingSet, fold: Ints, members: Sequence[Ranker], valid: Callable[[Ranker, TrainingSet], Any]
    ) -> tuple[Floats, Ints]:
        """Return what members that learned from the other folds add to the base in each fold.

        fold   of each query, (n_queries,)
        valid  returns the validation data of a member beside a fold
        Returns scores (n_rows, n_members) float64, and the best iterations (n_folds, n_members).
        """
        rows = fold[query_rows(data.query_ptr)]
        scores = np.empty((len(data.order), len(members)))
        iterations = np.zeros((self.n_folds, len(members)), dtype=np.int64)
        for number in track(range(self.n_folds), "members on folds", self.n_folds):
            rest = data.select(np.flatnonzero(fold != number))
            part = data.select(np.flatnonzero(fold == number))
            for column, member in enumerate(members):
                learner = learner_of(self, member)
                learner._learn(rest, valid(member, part))
                scores[rows == number, column] = learner._scores(part.X)
                iterations[number, column] = learner.best_iteration_
        return scores, iterations

    def _keeps_directions(self) -> bool:
        return any(member._keeps_directions() for member in self._new_members(0))

    def _columns_read(self) -> Ints:
        none = np.empty(0, np.int64)  # of the base ranker alone, which has no members
        return np.unique(np.concatenate([none, *(member._columns_read() for member in self.members_)]))

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        for weight, member in zip(self.weights_.tolist(), self.members_, strict=True):
            added = np.zeros_like(out)
            member._add_contributions(X, added, n_threads)
            out += weight * added

    def _check_learned(self) -> None:
        """Raise SchemaError for members with other features than these, or with a base of their own."""
        for number, member in enumerate(self.members_):
            if member.feature_names_ != self.feature_names_ or not isinstance(member.base_, NoBase):
                raise SchemaError(
                    f"the {self.kind}'s features, and no base of its own", "others", path=f"members[{number}]"
                )


LINEAR = "plackettluce(C=0.01)"
OWN_SIZES = "lambdamart"  # whose sizes follow the number of queries
TREES = "lambdamart(num_leaves=15, learning_rate=0.05, subsample=0.75, colsample_bytree=0.3)"
ERRORS = 2  # standard errors by which a single member has to be better than all: with few queries one is chance
ITERATED = "n_estimators"  # of the members whose number of iterations early stopping finds


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
            added = self._cross_validated(cold, members)
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
        for member in self.members_:
            if valid is None:
                member._learn(cold, None)
            complete_member(self, member)

    def _new_members(self, n_queries: int) -> list[Ranker]:
        trees = TREES if FEW <= n_queries < SOME else OWN_SIZES
        common = {"metric": self.metric, "random_state": self.random_state}
        rounds = {"early_stopping_rounds": self.early_stopping_rounds}
        return new_members(f"{LINEAR}, {trees}" if self.members is None else self.members, {**common, **rounds})

    def _cross_validated(self, data: TrainingSet, members: Sequence[Ranker]) -> Floats:
        """Return what each member adds to the base on held-out queries, (n_rows, n_members).

        Members whose number of iterations is not given stop early on the fold that is held out, and are set to the
        mean of the folds' numbers.
        """
        fold = fold_of_queries(self.n_folds, data, self.random_state)
        scores, iterations = self._held_out(
            data, fold, members, lambda member, part: part if _is_open(member) else None
        )
        for column, member in enumerate(members):
            if _is_open(member):
                member.set_params(**{ITERATED: max(round(float(iterations[:, column].mean())), 1)})
        return scores

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
        """Return the number of the candidate that cross-validation takes, 0 for the base, and each one's metric."""
        validation = Validation(data, parse_measure(self.metric))
        values = [validation.values(scores) for scores in mixtures]
        weights = data.weights if data.weights.any() else np.ones(len(data.weights))
        means = [float(np.average(value, weights=weights)) for value in values]

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
        if len(self.weights_) != len(self.members_):
            raise SchemaError(f"{len(self.members_)} values", str(len(self.weights_)), path="weights")


def _name(candidate: list[int]) -> str:
    return " + ".join(f"member {column + 1}" for column in candidate) or "base"


def _is_open(member: Ranker) -> bool:
    """Return whether early stopping finds a member's number of iterations: it is not a given one."""
    declared = declared_parameters(type(member)).get(ITERATED)
    return declared is not None and bool(getattr(member, ITERATED) == declared.default)


def _mixing(data: TrainingSet, held_out: Floats) -> Floats:
    """Return the weights, which sum to 1, with which members' scores have equal deviations inside queries."""
    deviations = [deviation_in_queries(column, data.query_ptr) for column in held_out.T]
    inverse = np.array([1.0 / deviation if deviation > 0.0 else 0.0 for deviation in deviations])
    return inverse / inverse.sum() if inverse.any() else np.full(len(inverse), 1.0 / max(len(inverse), 1))


DEPTH = 30  # that gradients look at
RIDGE = 1e-3  # share of each weight's own curvature: members with equal scores get equal weights


def _centred(train: TrainingSet) -> tuple[Floats, Floats]:
    """Return members' scores less their means in each query, of deviation 1, (n_rows, n_members), and their scales."""
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
    sizes = np.where(sizes > 0.0, sizes, 1.0)  # a member that parts no pair has neither gradient nor curvature
    correlations = curvature / np.outer(sizes, sizes)
    slope = cross_product(grad[:, None], inputs)[0]
    return product(inverse(correlations + RIDGE * np.eye(len(sizes))), slope / sizes) / sizes


SECOND = ("linear", "boosted")
SEEDS = 1000  # between the seed of the members and that of the folds


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
    Newton's matrix has the cross terms of the pairs, too: steps are .2 to 1.3 times as long as Newton's. A step does
    not depend on constants added to members' scores nor on their scale; the ridge is a share of H's own diagonal. A
    weight of a member with monotone constraints is set to 0 where a step makes it negative: the sum would go against
    the constraints. The first weights are equal, of members' scores divided by their standard deviations. Of all
    weights, none at all (the base itself) and the equal ones included, the best by the measure are kept: on the
    validation queries where there are some, else on the held-out scores themselves.

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
        """Return rows; refuse sparse ones where a member reads what they do not list as missing, as others read 0."""
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
        held_out = self._held_out(cold, fold, members, lambda member, part: cold_valid)[0].astype(np.float32)
        for member in track(members, "members", len(members)):
            member._learn(cold, cold_valid)
            complete_member(self, member)
        self.members_ = members
        stage_valid = None if valid is None else _of_scores(valid, self._shares(valid.X)[valid.order])
        rising = [member._keeps_directions() for member in members]
        self._learn_stage(_of_scores(train, held_out), stage_valid, context, rising)

    def _learn_stage(
        self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext, rising: Sequence[bool]
    ) -> None:
        """Learn from members' scores; the result may not fall with those of the members that are `rising`."""
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
        objective = lambdarank_for(measure, train.lists, train.weights, truncation_level=DEPTH)
        inputs, scales = _centred(train)
        followed = valid or train
        stopping = self._stopping(followed, context, None if base is None else base.best_of)
        held_out = followed.X[followed.order].astype(np.float64)
        self.weights_ = np.zeros(len(scales))
        weights = np.full(len(scales), 1.0 / len(scales))  # of the inputs; of the members: / scales
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
        """Add the members' contributions, weighted as their scores are; the score is linear in these."""
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
