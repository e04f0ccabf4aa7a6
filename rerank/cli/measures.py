"""The measures' names, read from their source: help must not wait for their import."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache

from rerank.cli.source import registered_classes

REFUSED = frozenset(["asks_judged", "refuses_training"])  # what a measure's class says where training refuses it


@cache
def trainable_symbols() -> tuple[str, ...]:
    """Return the names, without parameters, of the measures in `rerank.metrics` that can be trained for."""
    classes = registered_classes("metrics")
    return tuple(sorted((name for name, lineage in classes.items() if not _is_refused(lineage)), key=str.lower))


def _is_refused(lineage: Iterable[ast.ClassDef]) -> bool:
    constants = {
        line.target.id: line.value
        for node in lineage
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id in REFUSED
    }
    return any(value is not None and ast.literal_eval(value) for value in constants.values())
