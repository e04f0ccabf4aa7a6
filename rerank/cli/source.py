"""What the classes of a room say, read from their source: help must not wait for their import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path


def registered_classes(room: str) -> dict[str, list[ast.ClassDef]]:
    """Return the classes of a room by the names that they are registered by, each after those it inherits from."""
    nodes = (node for path in _sources(room) for node in ast.parse(path.read_text("utf8")).body)
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    return {name: _lineage(node, classes) for node in classes.values() for name in _registered_names(node)}


def _sources(room: str) -> list[Path]:
    spec = find_spec(f"rerank.{room}")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return sorted(path for folder in folders for path in Path(folder).glob("*.py"))


def _registered_names(node: ast.ClassDef) -> Iterator[str]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "register":
            yield ast.literal_eval(mark.args[0])


def _lineage(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """Return the class after those of the room that it inherits from."""
    bases = (classes[ast.unparse(base)] for base in node.bases if ast.unparse(base) in classes)
    return [*(above for base in bases for above in _lineage(base, classes)), node]
