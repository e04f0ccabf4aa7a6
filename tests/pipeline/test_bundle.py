"""A model is one file: another process needs only it and the index; an error names what a file cannot hold."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.features.families.functions import FUNCTIONS, load_functions
from tests.tiny import Tiny

pytestmark = pytest.mark.slow("29 s: processes")

OWN = """
import rerank

@rerank.feature("first", meaning="Whether the field holds the first query term.")
def first(matches):
    return matches.tf[:, 0] > 0
"""
COLLEAGUE = """
import sys
import rerank

if "own.py" in sys.argv:
    import own
try:
    run = rerank.rerank("index", "model.json", {"q1": "birch north", "q7": "heath"}, k=30)
except rerank.RerankError as error:
    sys.exit(str(error))
rerank.write_run(run, "out.run")
"""


@pytest.fixture(autouse=True)
def forget_functions() -> Iterator[None]:
    yield
    FUNCTIONS.clear()


@pytest.fixture
def folder(index: rerank.Index, tmp_path: Path) -> Path:
    """The folder of a colleague: a copy of the index, and nothing else but what a test puts there."""
    colleague = tmp_path / "colleague"
    shutil.copytree(index.path, colleague / "index")
    return colleague


def apply(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Rerank two topics in another process, in the folder."""
    return subprocess.run(
        [sys.executable, "-c", COLLEAGUE, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def trained(index: rerank.Index, collection: Tiny, base: str, **recipe: Any) -> tuple[rerank.LambdaMART, rerank.Run]:
    """Return a model with the base, and its run for the colleague's topics."""
    run = index.search(collection.topics, k=30, k1=1.2, b=0.7)
    random = np.random.default_rng(0)
    dense = rerank.Run.of({query: {doc: float(random.random()) for doc in run[query]} for query in run})
    runs = {"dense": dense} if "runs" in recipe else {}
    index = index.using(runs=runs)
    data = index.features(run, collection.topics, collection.qrels, recipe=rerank.Recipe(**recipe))
    start: Any = {"model": rerank.RankSVM(base="run").fit(data), "dense": dense}.get(base, base)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5, base=start).fit(data)
    given = dense if base == "dense" else None
    return model, rerank.rerank(index, model, {"q1": "birch north", "q7": "heath"}, k=30, base=given)


@pytest.mark.parametrize("base", ["run", "feature:bm25.title", "model"])
def test_model_file_and_index_are_all_that_another_process_needs(
    base: str, index: rerank.Index, collection: Tiny, folder: Path
) -> None:
    model, expected = trained(index, collection, base, families=("letor", "run"), normalisation={"bm25.*": "minmax"})
    model.save(folder / "model.json")
    done = apply(folder)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    rerank.write_run(expected, folder / "expected.run")
    assert (folder / "out.run").read_bytes() == (folder / "expected.run").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["expected.run", "index", "model.json", "out.run"]


def test_functions_that_are_not_defined_are_named_before_anything_is_retrieved(
    index: rerank.Index, collection: Tiny, folder: Path
) -> None:
    (folder / "own.py").write_text(OWN)
    load_functions(folder / "own.py")
    model, expected = trained(index, collection, "run", families=("letor", "function"), functions=("first",))
    model.save(folder / "model.json")
    done = apply(folder)
    assert done.returncode == 1
    assert done.stderr == (
        "recipe: functions: expected the function 'first', which the features were made with, got none defined. Define "
        "it with @rerank.feature('first') first, or name its file (--functions FILE).\n"
    )
    done = apply(folder, "own.py")
    assert done.returncode == 0, done.stderr
    rerank.write_run(expected, folder / "expected.run")
    assert (folder / "out.run").read_bytes() == (folder / "expected.run").read_bytes()


@pytest.mark.parametrize(
    ("base", "recipe", "message"),
    [
        (
            "dense",
            {},
            "base: expected the scores of run 'rerank', got none. Give that run for these queries (base=, --ba",
        ),
        ("run", {"runs": ("dense",)}, "got none called 'dense'. Give it, e.g. --run dense=FILE"),
    ],
)
def test_runs_of_other_systems_are_asked_for_by_name(
    base: str, recipe: dict[str, Any], message: str, index: rerank.Index, collection: Tiny, folder: Path
) -> None:
    trained(index, collection, base, families=("letor", "run"), **recipe)[0].save(folder / "model.json")
    done = apply(folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
