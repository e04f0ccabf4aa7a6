"""Rankers inside a ranker: as text (`8*lambdamart(subsample=0.5), 2*lambdarank`), in training, and in model files."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, shown
from rerank.rankers.arrays import numbered_names
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.imported import Imported
from rerank.rankers.parameters import check_names, declared_parameters, plain_parameters, read_value
from rerank.rankers.ranker import Ranker, ranker_class, stored_rankers
from rerank.rankers.training import TrainingSet
from rerank.rankers.warm_start import NoBase
from rerank.runtime.schema import Field, SchemaError, Sizes, Text
from rerank.trees.binned import bin_rows
from rerank.types import Floats

OF_THE_ENSEMBLE = ("base", "n_jobs")  # parameters that members do not have of their own
MOST_MEMBERS = 1000
_SOURCE = "({},)"


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
        if isinstance(value, list | tuple) and all(isinstance(each, Ranker) for each in value):
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
    for entry in _entries(text):
        copies, name, parameters = _entry(entry, text)
        learner = stored_rankers().get(name) or ranker_class(name)
        known = [parameter for parameter in declared_parameters(learner) if parameter not in OF_THE_ENSEMBLE]
        for parameter in OF_THE_ENSEMBLE:
            if parameter in parameters:
                raise InvalidInputError(
                    f"members: expected parameters of {name}, got {parameter!r}, which is the ensemble's. Leave it out."
                )
        check_names(f"members: {name}", parameters, known)
        if len(members) + copies > MOST_MEMBERS:
            raise InvalidInputError(
                f"members: expected at most {MOST_MEMBERS} rankers, got more in {shown(text)}. Name fewer."
            )
        given = {**{key: value for key, value in common.items() if key in known}, **parameters}
        for copy in range(copies):
            seed = {"random_state": given["random_state"] + copy} if "random_state" in given else {}
            members.append(learner(**{**given, **seed}))
    return members


def spell_members(members: Sequence[Ranker]) -> str:
    """Return rankers as text that `read_members` understands: parameters that are not at their default."""
    return ", ".join(_spelled(member) for member in members)


def _spelled(member: Ranker) -> str:
    declared = declared_parameters(type(member))
    given = {name: value for name, value in plain_parameters(member).items() if name not in OF_THE_ENSEMBLE}
    return f"{member.kind}({', '.join(f'{k}={v!r}' for k, v in given.items() if v != declared[k].default)})"


def _entries(text: str) -> list[ast.expr]:
    try:
        parsed = ast.parse(_SOURCE.format(text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _misspelled(text) from None
    return list(parsed.elts) if isinstance(parsed, ast.Tuple) else [parsed]


def _entry(entry: ast.expr, text: str) -> tuple[int, str, dict[str, Any]]:
    """Return copies, name and parameters."""
    copies: Any = 1
    if isinstance(entry, ast.BinOp) and isinstance(entry.op, ast.Mult) and isinstance(entry.left, ast.Constant):
        copies, entry = entry.left.value, entry.right
    call = entry if isinstance(entry, ast.Call) else ast.Call(entry, [], [])
    if not isinstance(call.func, ast.Name) or call.args or type(copies) is not int or copies < 1:
        raise _misspelled(text)
    source = _SOURCE.format(text)
    values = {str(word.arg): ast.get_source_segment(source, word.value) or "" for word in call.keywords}
    return copies, call.func.id, {name: read_value(value) for name, value in values.items()}


def _misspelled(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"members: expected rankers such as '8*lambdamart(subsample=0.5), 2*lambdarank', got {shown(text)}. Write "
        "each as NAME, N*NAME or N*NAME(PARAMETER=VALUE)."
    )


def new_members(given: str | Sequence[Ranker], common: Mapping[str, Any]) -> list[Ranker]:
    """Return the members before they learn; `common` are the parameters of those that are given as text.

    Raises InvalidInputError where there is none, or one with a base of its own.
    """
    members = read_members(given, common) if isinstance(given, str) else [each.unfitted_copy() for each in given]
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
    member.feature_names_, member.n_features_in_ = owner.feature_names_, owner.n_features_in_
    member.recipe_, member.fingerprint_ = owner.recipe_, owner.fingerprint_
    member.retriever_, member.run_retrievers_ = owner.retriever_, owner.run_retrievers_
    member.base_ = NoBase()


def add_member_contributions(
    members: Sequence[Ranker], weights: Floats, X: NDArray[np.float32], out: Floats, n_threads: int
) -> None:
    """Add the members' contributions (see `Ranker.contributions`), each times its weight, to out (n_rows, n + 1)."""
    for weight, member in zip(weights.tolist(), members, strict=True):
        added = np.zeros_like(out)
        member._add_contributions(X, added, n_threads)
        out += weight * added


def check_members(owner: Ranker, members: Sequence[Ranker]) -> None:
    """Refuse stored members with other features than the owner, or with a base of their own; raises SchemaError."""
    for number, member in enumerate(members):
        if member.feature_names_ != owner.feature_names_ or not isinstance(member.base_, NoBase):
            raise SchemaError(
                f"the {owner.kind}'s features, and no base of its own", "others", path=f"members[{number}]"
            )
