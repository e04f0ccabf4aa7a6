"""The size of the package, beside that of another revision: statements, lines, files, and functions over the limits.

Run: python -m tests.checks.size [REVISION]

A line that assigns several things counts as many statements; a docstring counts as none.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 40
MOST_PARAMETERS = 8
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef


def sources(revision: str) -> dict[PurePath, str]:
    """Return the text of each file of the package in a revision."""
    archive = subprocess.run(["git", "archive", revision, "rerank"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        members = [member for member in files if member.name.endswith(".py")]
        return {PurePath(member.name): files.extractfile(member).read().decode("utf8") for member in members}  # type: ignore[union-attr]


def sizes(texts: dict[PurePath, str]) -> tuple[Counter[str], Counter[str]]:
    """Return the statements of each package, and the totals of what has a limit or an aim."""
    packages: Counter[str] = Counter()
    totals: Counter[str] = Counter(files=len(texts), lines=sum(text.count("\n") for text in texts.values()))
    for path, text in texts.items():
        package = path.parts[1] if len(path.parts) > 2 else "."
        for node in ast.walk(ast.parse(text)):
            number = statements(node)
            packages[package] += number
            totals["statements"] += number
            totals["imports"] += isinstance(node, ast.Import | ast.ImportFrom)
            if isinstance(node, DEFINITIONS):
                totals[f"functions over {MOST_LINES} lines"] += node.end_lineno - body_start(node) >= MOST_LINES  # type: ignore[operator]
                totals[f"functions over {MOST_PARAMETERS} parameters"] += parameters(node) > MOST_PARAMETERS
    return packages, totals


def statements(node: ast.AST) -> int:
    """Return the number of statements that a node is, without those inside it."""
    if not isinstance(node, ast.stmt) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return 0
    several = (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)
    )
    return len(node.value.elts) if several else 1  # type: ignore[attr-defined]


def body_start(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the first line of a function's body, behind its docstring."""
    rest = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return rest[0].lineno if rest else int(function.end_lineno or 0)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of a function's parameters, without the object itself."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


def main() -> None:
    """Print the sizes of the last commit, and of the revision before them."""
    revisions = [*sys.argv[1:2], "HEAD"]
    counts = [sizes(sources(revision)) for revision in revisions]
    print(f"{'':32}" + "".join(f"{revision[:12]:>14}" for revision in revisions))
    for part in range(2):
        for name in sorted(set().union(*(count[part] for count in counts))):
            print(f"{name:32}" + "".join(f"{count[part][name]:14,}" for count in counts))


if __name__ == "__main__":
    main()
