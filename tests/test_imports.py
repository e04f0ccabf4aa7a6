"""The direction of imports (one way, from the command line down), and what an import may not do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rerank

ROOT = Path(rerank.__file__).parent
GROUND = {"types", "preferences", "forward", "errors", "progress", "threads", "kernels", "output", "ids", "ordering"}
GROUND |= {"schema", "strictjson", "datachecks"}
GROUND |= {"retriever"}
# A room may import from itself, from the ground, and from these.
BELOW = {
    "metrics": set(),
    "objectives": {"metrics"},
    "trees": {"metrics"},
    "files": set(),
    "lucene": {"files"},
    "features": {"metrics"},
    "rankers": {"trees", "objectives", "metrics"},
    "evaluation": {"metrics"},
    "doctor": {"files", "metrics"},
    "workflows": {"lucene", "features", "rankers", "evaluation", "files", "trees", "objectives", "metrics"},
    "cli": {"workflows", "doctor", "files", "rankers", "evaluation", "features", "metrics"},
}


def _imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("rerank.")}


@pytest.mark.parametrize("room", sorted(BELOW))
def test_imports_run_one_way(room: str) -> None:
    allowed = BELOW[room] | GROUND | {room}
    found = {path.name: _imports(path) - allowed for path in (ROOT / room).rglob("*.py")}
    assert {name: rooms for name, rooms in found.items() if rooms} == {}


def test_rooms_are_all_under_the_rule() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set(BELOW)


def test_ground_imports_no_room() -> None:
    for name in GROUND:
        assert _imports(ROOT / f"{name}.py") <= GROUND


def test_import_of_the_package_loads_nothing_heavy() -> None:
    code = "import rerank, sys; print(sorted({'numpy', 'numba', 'jnius', 'sklearn', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_load_when_used() -> None:
    for name in rerank.__all__:
        assert getattr(rerank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rerank.nothing  # noqa: B018
