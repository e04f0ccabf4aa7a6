"""What rankers that hold other rankers share: their members before and after learning, and in model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.rankers.arrays import numbered_names
from rerank.rankers.members import read_members
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import NoBase
from rerank.runtime.schema import SchemaError
from rerank.types import Floats


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


def complete_member(owner: Ranker, member: Ranker) -> None:
    """Set what makes a member a model that can be stored: the base is the owner's alone.

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
