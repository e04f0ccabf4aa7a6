"""Rankers as members of a ranker: as text (`8*lambdamart(subsample=0.5), 2*lambdarank`), in training and in files."""

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
from rerank.rankers.bases import NoBase
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.estimator import plain_parameters
from rerank.rankers.imported import Imported
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.other_names import check_names
from rerank.rankers.parameters import declared_parameters, read_value
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class, stored_rankers
from rerank.rankers.training_context import TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Field, SchemaError, Text
from rerank.runtime.progress import track
from rerank.trees.content import bin_rows
from rerank.types import Floats, Ints, numbered_names, query_rows

OF_THE_ENSEMBLE = ("base", "n_jobs")  # parameters that only the ranker that combines the members has
MOST_COPIES = 1000


@dataclass(frozen=True)
class Members(Field):
    """The members as a parameter: rankers, or text that names known ones; stored as text."""

    type_name: ClassVar[str] = "str"
    optional: bool = False

    def accepts(self) -> str:
        """Return what the parameter may be, for messages."""
        return "text, or a sequence of rankers" + (", or None" if self.optional else "")

    def read(self, value: Any) -> str | None:
        """Return the text."""
        if value is None and self.optional:
            return None
        if isinstance(value, list | tuple) and all(isinstance(ranker, Ranker) for ranker in value):
            if not value:
                raise SchemaError("at least one ranker", "none")
            return spell_members(value)
        if not isinstance(value, str):
            raise SchemaError(f"{self.accepts()} of this package", shown(value))
        text: str = Text().read(value)
        for member in read_members(text, {}):
            plain_parameters(member)
        return text


def read_members(text: str, common: Mapping[str, Any]) -> list[Ranker]:
    """Return new rankers from text, with `common` parameters where the text gives none.

    The copies of an entry have random_state, random_state + 1, ...
    """
    members: list[Ranker] = []
    for copies, name, parameters in _entries(text):
        learner = stored_rankers().get(name) or ranker_class(name)
        known = [parameter for parameter in declared_parameters(learner) if parameter not in OF_THE_ENSEMBLE]
        check_names(f"members: {name}", parameters, known)
        values = {**{key: value for key, value in common.items() if key in known}, **parameters}
        is_seeded = isinstance(values.get("random_state"), int)  # None draws a new seed for each copy
        for copy in range(copies):
            seed = {"random_state": values["random_state"] + copy} if is_seeded else {}
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
        values = {str(word.arg): ast.get_source_segment(source, word.value) or "" for word in call.keywords}
        is_known &= len(values) == len(call.keywords)  # no parameter twice
        if not is_known or not 1 <= copies <= MOST_COPIES:
            raise InvalidInputError(
                "members: expected rankers such as '8*lambdamart(subsample=0.5), 2*lambdarank', got "
                f"{shown(text)}. Write each as NAME, N*NAME or N*NAME(PARAMETER=VALUE), N up to {MOST_COPIES}."
            )
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
    """Return the data, with its rows binned once where members are boosted trees that have the same max_bin.

    Folds get the bins of all rows: bins do not depend on labels, and tell a member nothing about a fold held out.
    """
    most_bins = {member.max_bin for member in members if isinstance(member, BoostedTrees)}
    if len(most_bins) != 1:
        return data
    return replace(data, binned=bin_rows(data.X, data.order, most_bins.pop(), numba.get_num_threads()))


def learner_of(owner: Ranker, member: Ranker) -> Ranker:
    """Return an unfitted copy of a member, to learn from the data of its owner or from a part of them."""
    learner = member.unfitted_copy()
    if not isinstance(learner, Imported):  # whose features are checked before the owner's replace them
        complete_member(owner, learner)
    return learner


def complete_member(owner: Ranker, member: Ranker) -> None:
    """Give a member the names, recipe and retrievers of its owner's data; only the owner has a base.

    Raises ModelMismatchError for an imported model whose features have other names than the data's.
    """
    names = getattr(member, "feature_names_", owner.feature_names_)
    if numbered_names(len(names)) not in (names, owner.feature_names_) and names != owner.feature_names_:
        raise ModelMismatchError(
            "members: expected an imported model with the features of the data in their order, got other features "
            f"({', '.join(names[:3])} ...). Import it with feature_names."
        )
    member._describe(owner.feature_names_, owner.recipe_, owner.fingerprint_, owner.retriever_, owner.run_retrievers_)


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

    def size_in_words(self) -> str:
        """Return the kinds of the members.

        Returns
        -------
        str
            The kinds.

        """
        return " + ".join(type(member).__name__ for member in self.members_) or "no member"

    @abstractmethod
    def _new_members(self, n_queries: int) -> list[Ranker]:
        """Return the members before they learn from `n_queries` queries."""

    def _held_out(
        self, data: TrainingSet, fold: Ints, members: Sequence[Ranker], valid: Callable[[Ranker, TrainingSet], Any]
    ) -> tuple[Floats, Ints, list[Ranker | None]]:
        """Return what members that learned from the other folds add to the base in each fold.

        fold   of each query, (n_queries,)
        valid  returns the validation data of a member while a fold, given as data, is held out

        Returns scores (n_rows, n_members) float64, best iterations (n_folds, n_members), and the last fold's
        members.
        """
        rows = fold[query_rows(data.query_ptr)]
        scores = np.empty((len(data.order), len(members)))
        iterations = np.zeros((self.n_folds, len(members)), dtype=np.int64)
        learners: list[Ranker | None] = [None] * len(members)
        for number in track(range(self.n_folds), "members on folds", self.n_folds):
            rest = data.select(np.flatnonzero(fold != number))
            part = data.select(np.flatnonzero(fold == number))
            for column, member in enumerate(members):
                learner = learner_of(self, member)
                learner._learn(rest, valid(member, part), TrainingContext(near=learners[column]))
                learners[column] = learner
                scores[rows == number, column] = learner._scores(part.X)
                iterations[number, column] = learner.best_iteration_
        return scores, iterations, learners

    def _keeps_directions(self) -> bool:
        return any(member._keeps_directions() for member in self._new_members(0))

    def _columns_read(self) -> Ints:
        none = np.empty(0, np.int64)  # for a model without members: the base ranker alone
        return np.unique(np.concatenate([none, *(member._columns_read() for member in self.members_)]))

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        for weight, member in zip(self.weights_.tolist(), self.members_, strict=True):
            added = np.zeros_like(out)
            member._add_contributions(X, added, n_threads)
            out += weight * added

    def _check_learned(self) -> None:
        """Raise SchemaError for members with other features than the owner's, or with a base of their own."""
        for number, member in enumerate(self.members_):
            if member.feature_names_ != self.feature_names_ or not isinstance(member.base_, NoBase):
                raise SchemaError(
                    f"the {self.kind}'s features, and no base of its own", "others", path=f"members[{number}]"
                )
