"""A model on an index is applied in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import rerank

ROOT = Path(rerank.__file__).parent
MEETING = ("index", "pipeline", "experiments", "explanation", "plugins", "cluster", "service", "cli")
SCORING = {"predict", "rank", "probabilities", "contributions"}
OF_DATA = {"cli/compile.py", "cli/rank.py", "explanation/card.py", "plugins/lightgbm/ranker.py"}  # which know no index


def test_models_score_what_comes_from_an_index_nowhere_else() -> None:
    files = {path.relative_to(ROOT).as_posix(): path for package in MEETING for path in (ROOT / package).rglob("*.py")}
    assert {name for name, path in files.items() if _scores(path)} == {"index/bound_model.py"} | OF_DATA


def _scores(path: Path) -> bool:
    """Return whether a file calls a scoring method of another object than a bound model."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf8"))) if isinstance(node, ast.Call)]
    methods = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in SCORING]
    return any(ast.unparse(method.value).rpartition(".")[2] != "bound" for method in methods)
