"""Rules for compiled functions, checked in the source."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import rerank

ROOT = Path(rerank.__file__).parent
# Kernels of all files call these helpers. Caches do not see a change of them, which test_elementary.py reports: their
# results are the same bytes for good, so that there is no reason for one.
FOR_ALL = ROOT / "runtime" / "elementary.py"


@cache
def _trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of each file of the package."""
    return {path: ast.parse(path.read_text("utf8")) for path in ROOT.rglob("*.py")}


def _compiled(tree: ast.Module, *decorators: str) -> list[ast.FunctionDef]:
    functions = [line for line in tree.body if isinstance(line, ast.FunctionDef)]
    return [function for function in functions if _options(function).startswith(tuple(f"{d}(" for d in decorators))]


def _options(function: ast.FunctionDef) -> str:
    return " ".join(ast.unparse(line) for line in function.decorator_list)


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


@cache
def _uses() -> dict[Path, set[tuple[str, str]]]:
    """Return the (module, name) pairs that each file imports, and those that it writes as `module.name`."""
    helpers = {helper.name for tree in _trees().values() for helper in _compiled(tree, "helper")}
    named = re.compile(rf"\b({'|'.join(helpers)})\b")
    uses: dict[Path, set[tuple[str, str]]] = {}
    users = [path for folder in ("tests", "benchmarks") for path in (ROOT.parent / folder).rglob("*.py")]
    texts = {user: user.read_text("utf8") for user in users}
    others = {user: ast.parse(text) for user, text in texts.items() if named.search(text)}
    for path, tree in {**_trees(), **others}.items():
        pairs = uses.setdefault(path, set())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                pairs |= {(node.module, alias.name) for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                pairs.add((node.value.id if isinstance(node.value, ast.Name) else node.value.attr, node.attr))
    return uses


def _pairs(modules: set[str], names: set[str]) -> set[tuple[str, str]]:
    return {(module, name) for module in modules for name in names}


WITH_HELPERS = sorted(path for path in ROOT.rglob("*.py") if path != FOR_ALL and "\n@helper(" in path.read_text("utf8"))


def test_all_compiled_functions_are_kernels_or_helpers() -> None:
    named = {path.relative_to(ROOT).as_posix() for path, tree in _trees().items() if {"njit", "jit"} & _names(tree)}
    assert named == {"runtime/kernels.py"}
    assert sum(len(_compiled(tree, "kernel", "helper")) for tree in _trees().values()) > 100


def test_functions_that_are_not_compiled_have_types() -> None:
    without = []
    for path, tree in _trees().items():
        compiled = {inner for each in _compiled(tree, "kernel", "helper") for inner in ast.walk(each)}
        for function in ast.walk(tree):
            is_function = isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and function.returns is None and function not in compiled:
                without.append(f"{path.relative_to(ROOT).as_posix()}: {function.name}")
    assert [place for place in without if not place.startswith("runtime/llvm.py")] == []  # which has Numba's types


@pytest.mark.parametrize("path", WITH_HELPERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_helpers_are_called_by_compiled_functions_of_their_file_alone(path: Path) -> None:
    tree = _trees()[path]
    compiled, helpers = _compiled(tree, "kernel", "helper"), {h.name for h in _compiled(tree, "helper")}
    rest = ast.Module([line for line in tree.body if line not in compiled], [])
    module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    modules = {module, module.rpartition(".")[2]}
    used_in = [str(other) for other, uses in _uses().items() if other != path and uses & _pairs(modules, helpers)]
    assert helpers <= set().union(*(_names(function) for function in compiled))
    assert helpers & _names(rest) == set()
    assert used_in == []


def test_helpers_for_all_kernels_are_called_by_compiled_functions_alone() -> None:
    helpers, called = {helper.name for helper in _compiled(_trees()[FOR_ALL], "helper")}, set()
    for path, tree in _trees().items():
        imported = {name for module, name in _uses()[path] if module == "rerank.runtime.elementary"} & helpers
        compiled = _compiled(tree, "kernel", "helper")
        rest = ast.Module([line for line in tree.body if line not in compiled], [])
        assert (helpers if path == FOR_ALL else imported) & _names(rest) == set(), path
        called |= set().union(*(_names(function) for function in compiled)) if imported or path == FOR_ALL else set()
    assert helpers <= called


def test_kernels_that_call_parallel_helpers_keep_the_lock() -> None:
    result = 0
    for tree in _trees().values():
        helpers = _compiled(tree, "helper")
        parallel, before = {helper.name for helper in helpers if "parallel=True" in _options(helper)}, None
        while parallel != before:  # and the helpers that call them
            before, parallel = parallel, parallel | {h.name for h in helpers if parallel & _names(h)}
        for kernel in _compiled(tree, "kernel"):
            if parallel & _names(kernel):
                result += 1
                assert "nogil=False" in _options(kernel) or "parallel=True" in _options(kernel)
    assert result > 0
