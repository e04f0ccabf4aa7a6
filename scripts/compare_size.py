"""Print the size of the package in two states of the repository, side by side.

Run: scripts/compare_size.py BEFORE [AFTER]     # commits; AFTER is HEAD by default
Statements are those of the syntax tree without docstrings; parameters count without self and cls; circles are the
strongly connected parts of the graph of all imports, local ones and those for types included.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = """
import json
from importlib import import_module
import click
from rerank.cli.main import VERBS
verbs = {verb: import_module(f"rerank.cli.{verb}").command for verb in VERBS}
print(json.dumps({verb: sum(isinstance(each, click.Option) for each in verbs[verb].params) for verb in verbs}))
"""
MOST_PARAMETERS, MOST_LINES = 8, 40


def main() -> None:
    """Print a table of figures of two commits."""
    commits = [*sys.argv[1:], "HEAD"][:2]
    if len(sys.argv) not in (2, 3):
        sys.exit("compare_size.py: expected one or two commits, got none. Name the state before.")
    columns = [figures(commit) for commit in commits]
    print(f"{'':44}{commits[0][:12]:>14}{commits[1][:12]:>14}")
    for name in columns[0]:
        before, after = (column[name] for column in columns)
        form = "{:.1f}" if isinstance(before, float) else "{:,}"
        print(f"{name:44}{form.format(before):>14}{form.format(after):>14}")


def figures(commit: str) -> dict[str, float]:
    """Return the figures of the package at a commit."""
    with TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        package = Path(folder) / "rerank"
        sources = {path.relative_to(folder): path.read_text("utf8") for path in sorted(package.rglob("*.py"))}
        trees = {path: ast.parse(text) for path, text in sources.items()}
        done = subprocess.run([sys.executable, "-c", OPTIONS], cwd=folder, capture_output=True, text=True, check=True)
        options = json.loads(done.stdout)
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    kernels = [
        node
        for node in functions
        if any(re.match(r"kernel|helper|.*jit", ast.unparse(each)) for each in node.decorator_list)
    ]
    others = [node for node in functions if node not in kernels]
    init = trees[PurePath("rerank/__init__.py")]  # type: ignore[index]
    return {
        "files": len(sources),
        "lines": sum(len(text.splitlines()) for text in sources.values()),
        "statements": sum(statements(tree) for tree in trees.values()),
        "public names": sum(len(node.keys) for node in ast.walk(init) if isinstance(node, ast.Dict)),
        "options of all verbs": sum(options.values()),
        "most options of a verb": max(options.values()),
        "mean options of a verb": sum(options.values()) / len(options),
        "functions over 8 parameters, not kernels": sum(len(parameters(node)) > MOST_PARAMETERS for node in others),
        "the same without constructors": sum(
            len(parameters(node)) > MOST_PARAMETERS for node in others if node.name != "__init__"
        ),
        "functions over 40 lines, not kernels": sum(
            (node.end_lineno or 0) - node.body[0].lineno >= MOST_LINES for node in others
        ),
        "parameters typed Any": sum(
            each.annotation is not None and ast.unparse(each.annotation) == "Any"
            for node in functions
            for each in parameters(node)
        ),
        "files in circles of imports": sum(len(part) for part in circles(imports(trees))),
    }


def statements(tree: ast.AST) -> int:
    """Return the number of statements that are not docstrings."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sum(
        not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
        for node in found
    )


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters of a function without self and cls, *args and **options included."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [each for each in every if each is not None and each.arg not in ("self", "cls")]


def imports(trees: dict[PurePath, ast.Module]) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports."""
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in trees}
    graph: dict[str, set[str]] = {}
    for path, tree in trees.items():
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        if name == "rerank":  # its names load when they are used
            continue
        graph[name] = {each for node in ast.walk(tree) for each in imported(node, names) if each in names} - {name}
    return graph


def imported(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Yield the modules that a statement imports; `names` are those of the package."""
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            part = f"{node.module}.{alias.name}"
            yield part if part in names else node.module
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected parts of more than one module."""

    def reached(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            for other in graph.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    reach = {name: reached(name) for name in graph}
    parts = [frozenset({name, *(other for other in reach[name] if name in reach[other])}) for name in graph]
    return [set(part) for part in dict.fromkeys(parts) if len(part) > 1]


if __name__ == "__main__":
    main()
