"""Hyper-parameters inside their ranges."""

from __future__ import annotations

from collections.abc import Iterable

from rerank.errors import InvalidInputError


def check_ranges(ranker: object, ranges: Iterable[tuple[str, float, float]]) -> None:
    """Refuse a hyper-parameter outside its range; None stands for a default and passes.

    ranges  (name, lowest, highest) of each
    """
    for name, low, high in ranges:
        value = getattr(ranker, name)
        if value is not None and not low <= value <= high:
            raise InvalidInputError(f"{name}: expected {low} to {high}, found {value}.")
