"""A name of every registered measure, for laws over all of them."""

from __future__ import annotations

from rerank.errors import InvalidInputError
from rerank.metrics.registry import known_measures, parse_measure


def example(symbol: str) -> str:
    """A measure's name, with a cutoff where it wants one."""
    for name in (symbol, f"{symbol}@5", f"{symbol}@0.5"):
        try:
            return parse_measure(name).name
        except InvalidInputError:
            continue
    raise AssertionError(f"{symbol}: no name is understood")


EXAMPLES = [example(symbol) for symbol in known_measures()]
