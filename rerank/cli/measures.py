"""Names of the measures that can be trained for."""

from __future__ import annotations

from rerank.cli.declared import declared


def trainable_symbols() -> tuple[str, ...]:
    """Return the names, without parameters, of the measures in `rerank.metrics` that can be trained for."""
    return tuple(declared()["measures"])
