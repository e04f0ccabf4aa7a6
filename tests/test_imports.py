"""The direction of imports (one way, from the command line down), and what an import may not do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

import rerank
from rerank import _HOMES

ROOT = Path(rerank.__file__).parent
SHARED = {"errors", "runtime", "types", "version"}
# A package may import itself, the shared packages (errors, runtime, types, in that order), and these.
_LEARNING = {"files", "metrics", "objectives", "trees", "vectors", "features", "history", "retrieval", "rankers"}
_APPLYING = _LEARNING | {"lucene", "exchange", "clicks", "evaluation"}
BELOW = {
    "runtime": set(),
    "types": set(),
    "metrics": set(),
    "objectives": {"metrics"},
    "trees": {"metrics"},
    "files": set(),
    "lucene": {"files"},
    "vectors": {"files"},
    "features": {"files", "metrics", "vectors"},
    "history": {"files", "lucene", "features", "vectors"},
    "retrieval": {"files", "metrics", "features", "vectors", "history"},
    "clicks": {"files"},
    "evaluation": {"files", "metrics"},
    "doctor": {"files", "lucene", "metrics", "features"},
    "rankers": _LEARNING - {"rankers"} | {"clicks"},
    "exchange": {"files", "rankers", "trees", "features"},
    "index": _APPLYING - {"exchange", "clicks", "evaluation"},
    "pipeline": _APPLYING | {"index"},
    "training": _APPLYING | {"index", "pipeline"},
    "experiments": _APPLYING | {"index", "pipeline", "training"},
    "explanation": _APPLYING | {"index", "pipeline", "training", "experiments"},
    "plugins": _APPLYING | {"index", "pipeline"},
    "cluster": _APPLYING | {"index", "pipeline", "training"},
    "service": _APPLYING | {"index", "pipeline", "explanation"},
    "cli": _APPLYING
    | {"rerank", "index", "pipeline", "training", "experiments", "explanation", "cluster", "service", "doctor"},
}


def _modules() -> dict[str, Path]:
    paths = {".".join(("rerank", *path.relative_to(ROOT).with_suffix("").parts)): path for path in ROOT.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


def _imports(path: Path, modules: Collection[str]) -> set[str]:
    """Return the modules of this package that a file imports: at its top, in functions, for types, or by a name."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf8"))))
    names = [
        f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    names += [text for text in texts if re.fullmatch(r"rerank(\.\w+)+", text)]
    return {
        name if name in modules else name.rpartition(".")[0] for name in names if name.split(".")[0] == "rerank"
    } & set(modules)


def _layer(module: str) -> str:
    return module.split(".")[1] if "." in module else module


@pytest.mark.parametrize("package", sorted(BELOW))
def test_imports_run_one_way(package: str) -> None:
    modules = _modules()
    allowed = BELOW[package] | ({"errors"} if package == "runtime" else SHARED) | {package}
    own = {name: path for name, path in modules.items() if _layer(name) == package}
    upward = {name: {to for to in _imports(path, modules) if _layer(to) not in allowed} for name, path in own.items()}
    assert {name: targets for name, targets in upward.items() if targets} == {}


def test_modules_import_each_other_in_no_circle() -> None:
    modules = _modules()
    graph = {name: _imports(path, modules) - {name} for name, path in modules.items() if name != "rerank"}
    while free := [name for name, targets in graph.items() if not targets & set(graph)]:
        for name in free:
            del graph[name]
    assert graph == {}  # what is left is a circle, or imports one


def test_packages_are_all_under_the_rule() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set(BELOW) - {"doctor"}
    files = {"__init__.py", "__main__.py", "doctor.py", "errors.py", "version.py"}
    assert {path.name for path in ROOT.glob("*.py")} == files
    assert _imports(ROOT / "errors.py", _modules()) == set()


def test_only_the_cluster_package_imports_dask() -> None:
    statement = re.compile(r"^\s*(?:import|from) (?:dask|distributed|cloudpickle|tornado)\b", re.MULTILINE)
    importing = {_layer(name) for name, path in _modules().items() if statement.search(path.read_text("utf8"))}
    assert importing == {"cluster"}


def test_import_of_the_package_loads_nothing_heavy() -> None:
    code = "import rerank, sys; print(sorted({'numpy', 'numba', 'jnius', 'sklearn', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_families_of_features_do_not_load_scipy() -> None:
    code = "from rerank.features.recipe import known_families; import sys; known_families(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"scipy.sparse", "threadpoolctl"} & set(done.stdout.split()) == set()


def test_reranking_loads_neither_scipy_sparse_nor_pandas_nor_scikit_learn_at_its_start() -> None:
    code = "import rerank.pipeline.rerank, rerank.rankers.lambdamart, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"scipy.sparse", "scipy.special", "pandas", "sklearn", "jnius"} & set(done.stdout.split()) == set()


def test_public_names_load_when_used() -> None:
    packages = {module.split(".")[1] for module in _modules() if "." in module}
    assert packages & set(_HOMES) == set()  # a package, once imported, would hide the function of its name
    for name in rerank.__all__:
        assert getattr(rerank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rerank.nothing  # noqa: B018
