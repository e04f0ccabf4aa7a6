"""Feature families by the name that recipes use."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import ClassVar

from rerank.runtime.registry import Registry


class Family:
    """Features that are computed together.

    Attributes
    ----------
    on_request : bool
        Whether the family is computed only where a recipe names it, because it costs much and gains little.
    calling_thread : bool
        Whether `fill` runs on the thread that called `extract`, because it runs a user's code. Other families are
        filled on several threads at once, each thread with other queries.
    needs_space : str
        The space of vectors that the family needs: it is computed where vectors with this space are given.
    needs_history : bool
        Whether the family is learned from judgements: it is computed where a history is given.
    limit : str
        How much of a query is read, where it is not all of it; for the list of features.
    evidence : str
        What the features are about, in words for explanations, behind the name of the field where they have one:
        `match` makes "title match".
    rising, falling : tuple of str
        Patterns of the features, without the name of the field, that are larger, or smaller, for better documents; a
        name that fits both is falling.

    """

    on_request: ClassVar[bool] = False
    calling_thread: ClassVar[bool] = False
    needs_space: ClassVar[str] = ""
    needs_history: ClassVar[bool] = False
    limit: ClassVar[str] = ""
    evidence: ClassVar[str] = "other features"
    rising: ClassVar[tuple[str, ...]] = ()
    falling: ClassVar[tuple[str, ...]] = ()


PACKAGES = ("rerank.features.families", "rerank.history.families")
_REGISTRY: Registry[Family] = Registry("family of features", *PACKAGES)
known_families = _REGISTRY.known
family = _REGISTRY.get
register = _REGISTRY.register_instance


def index_family_names() -> tuple[str, ...]:
    """Return the names of the families that need an index and a run only, in alphabetical order."""
    return _names(lambda member: not (member.needs_space or member.needs_history))


def default_family_names() -> tuple[str, ...]:
    """Return the names of the families that are computed without vectors and history where a recipe names none."""
    return _names(lambda member: not (member.needs_space or member.needs_history or member.on_request))


def space_family_names(spaces: Container[str]) -> tuple[str, ...]:
    """Return the names of the families that need one of these spaces of vectors, and no history."""
    return _names(lambda member: bool(member.needs_space) and member.needs_space in spaces and not member.needs_history)


def history_family_names(spaces: Container[str] = ()) -> tuple[str, ...]:
    """Return the names of the families that need a history, and no space of vectors but one of these."""
    return _names(lambda member: member.needs_history and (not member.needs_space or member.needs_space in spaces))


def _names(chosen: Callable[[Family], bool]) -> tuple[str, ...]:
    return tuple(name for name, member in known_families().items() if chosen(member))
