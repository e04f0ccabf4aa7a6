"""Compare two states of the repository: what they compute, and the size of the package.

    python -m tests.checks.compare outputs BEFORE [AFTER]        # commits; AFTER is HEAD by default
    python -m tests.checks.compare size BEFORE [AFTER]

outputs  each state indexes cranfield, retrieves, computes features, trains, reranks, evaluates and exports in a
         folder of its own; the numbers are compared bit for bit. Exit code 1 if any differs
size     statements without docstrings, options, long functions, circles of imports, local ones included
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.checks import DATA, ROOT

TREES = "-p n_estimators=40 -p num_leaves=15"
LINES = (
    "index {corpus} -o index",
    "retrieve index {topics} -o bm25.run -k 200",
    "features index {topics} bm25.run --qrels {qrels} -o data.npz",
    "vectors index --dimensions 50",
    "history index {topics} {qrels}",
    "retrieve index {topics} -o rm3.run -k 200 --candidates rm3",
    "retrieve index {topics} -o union.run --candidates bm25:100,rm3:100,lsi:50 --sources sources",
    "features index {topics} bm25.run --qrels {qrels} -o all.npz",
    f"train data.npz -o cold.json {TREES}",
    f"train data.npz --base run:bm25.run -o warm.json {TREES}",
    f"train all.npz -o all.json {TREES}",
    "train data.npz --ranker ranksvm -o linear.json",
    "rank cold.json data.npz -o cold.run",
    "rank linear.json data.npz -o linear.run",
    "rank all.json all.npz -o all.run",
    "rerank index warm.json {topics} -k 200 -o warm.run",
    "evaluate {qrels} bm25.run rm3.run cold.run warm.run linear.run -m nDCG@10 --format json -o figures.json",
    "export cold.json --to lightgbm -o cold.txt",
    "export cold.json --to xgboost -o cold.xgboost.json",
)
OPTIONS = """
import json
from importlib import import_module
import click
from rerank.cli.main import VERBS
verbs = {verb: import_module(f"rerank.cli.{verb}").command for verb in VERBS}
print(json.dumps([sum(isinstance(each, click.Option) for each in verb.params) for verb in verbs.values()]))
"""
MOST_PARAMETERS, MOST_LINES = 8, 40


def main() -> int:
    """Compare two commits; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["outputs", "size"])
    parser.add_argument("before")
    parser.add_argument("after", nargs="?", default="HEAD")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folders = [checked_out(commit, Path(name) / commit) for commit in (given.before, given.after)]
        if given.what == "outputs":
            return print_differing(*map(outputs, folders))
        print_sizes((given.before, given.after), folders)
    return 0


def checked_out(commit: str, folder: Path) -> Path:
    """Write the files of a commit into a folder."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    return folder


def print_sizes(commits: tuple[str, str], folders: list[Path]) -> None:
    """Print the figures of both states."""
    columns = [size(folder) for folder in folders]
    print(f"{'':44}{commits[0][:12]:>16}{commits[1][:12]:>16}{'ratio':>8}")
    for name, before in columns[0].items():
        after = columns[1][name]
        shown = [f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in (before, after)]
        print(f"{name:44}{shown[0]:>16}{shown[1]:>16}{after / before if before else 0.0:8.4f}")


def outputs(source: Path) -> Path:
    """Run all verbs of a state; return the folder of their files."""
    work, data = source / "outputs", DATA / "collections" / "cranfield"
    work.mkdir()
    files = {"corpus": data / "corpus.jsonl", "topics": data / "topics.tsv", "qrels": data / "qrels.txt"}
    environment = {**os.environ, "PYTHONPATH": str(source), "RERANK_CACHE": str(source / "cache")}
    for line in LINES:
        command = [sys.executable, "-m", "rerank", "-q", *line.format(**files).split()]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{source.name}: {line}: {done.stderr}")
    return work


def print_differing(before: Path, after: Path) -> int:
    """Print which files differ; return 1 if any does."""
    names = sorted(path.name for path in after.glob("*.*") if path.is_file())
    differing = [name for name in names if not same(before / name, after / name)]
    print(f"{len(names)} files, {len(differing)} differ{': ' + ', '.join(differing) if differing else ''}")
    return int(bool(differing))


def same(one: Path, other: Path) -> bool:
    """Return whether two files have the same content; stored arrays are compared, and models by their numbers."""
    if not one.exists():
        return False
    if one.suffix == ".npz":
        left, right = (np.load(path, allow_pickle=False) for path in (one, other))
        names = set(left.files) - {"about"}  # which names the version of the format
        alike = names == set(right.files) - {"about"}
        return alike and all(left[name].tobytes() == right[name].tobytes() for name in names)
    if one.name.endswith(".json") and one.name.count(".") == 1:
        return numbers(json.loads(one.read_text("utf8"))) == numbers(json.loads(other.read_text("utf8")))
    return one.read_bytes() == other.read_bytes()


def numbers(value: object) -> list[float | bool | None]:
    """Return the numbers of a JSON value in the order of its sorted keys."""
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in numbers(value[key])]
    if isinstance(value, list):
        return [each for item in value for each in numbers(item)]
    return [value] if isinstance(value, int | float) or value is None else []


def size(source: Path) -> dict[str, float]:
    """Return the figures of the package."""
    texts = {path.relative_to(source): path.read_text("utf8") for path in sorted(source.glob("rerank/**/*.py"))}
    trees = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): ast.parse(texts[path]) for path in texts}
    done = subprocess.run([sys.executable, "-c", OPTIONS], cwd=source, capture_output=True, text=True, check=True)
    options = json.loads(done.stdout)
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    others = [node for node in functions if not is_kernel(node)]
    long = [node for node in others if (node.end_lineno or 0) - node.body[0].lineno >= MOST_LINES]
    public = [node for node in ast.walk(trees["rerank"]) if isinstance(node, ast.Dict)]
    return {
        "files": len(texts),
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "statements": sum(statements(tree) for tree in trees.values()),
        "public names": sum(len(node.keys) for node in public),
        "options of all verbs": sum(options),
        "most options of a verb": max(options),
        "functions over 8 parameters, not kernels": sum(len(parameters(node)) > MOST_PARAMETERS for node in others),
        "functions over 40 lines, not kernels": len(long),
        "parameters typed Any": sum(is_any(each) for node in functions for each in parameters(node)),
        "files in circles of imports": len(in_circles(imports(trees))),
    }


def is_kernel(node: ast.FunctionDef) -> bool:
    """Return whether a function is compiled."""
    return any(re.match(r"kernel|helper|.*jit", ast.unparse(each)) for each in node.decorator_list)


def is_any(argument: ast.arg) -> bool:
    """Return whether a parameter is typed Any."""
    return argument.annotation is not None and ast.unparse(argument.annotation) == "Any"


def statements(tree: ast.AST) -> int:
    """Return the number of statements that are not docstrings."""
    found = [
        node.value if isinstance(node, ast.Expr) else node for node in ast.walk(tree) if isinstance(node, ast.stmt)
    ]
    return sum(not (isinstance(node, ast.Constant) and isinstance(node.value, str)) for node in found)


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters of a function without self and cls, *args and **options included."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [each for each in every if each is not None and each.arg not in ("self", "cls")]


def imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports; names of `rerank` load when they are used."""
    return {
        name: {each for node in ast.walk(tree) for each in imported(node, trees) if each in trees} - {name}
        for name, tree in trees.items()
        if name != "rerank"
    }


def imported(node: ast.AST, names: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the modules that a statement imports; `names` are those of the package."""
    if isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            part = f"{node.module}.{alias.name}"
            yield part if part in names else node.module
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)


def in_circles(graph: dict[str, set[str]]) -> set[str]:
    """Return the modules that reach themselves."""

    def reached(start: str) -> set[str]:
        found, waiting = set[str](), [start]
        while waiting:
            for other in graph.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    return {name for name in graph if name in reached(name)}


if __name__ == "__main__":
    sys.exit(main())
