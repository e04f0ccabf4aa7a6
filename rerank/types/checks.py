"""Checks of many rows, ids or names at once, which name the first that is wrong."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from rerank.errors import RerankError

Wrong = TypeVar("Wrong")


def refuse_first(wrong: Iterable[Wrong], error: Callable[[Wrong], RerankError]) -> None:
    """Raise the error of the first of what is wrong; nothing where nothing is."""
    for first in wrong:
        raise error(first)
