"""A real collection on any machine, offline: the docstrings of the installed Python standard library.

A document is a documented module, class or function. If a docstring has several paragraphs, the first one becomes a
topic and is left out of the document, which is the relevant one (known-item search).
"""

from __future__ import annotations

import ast
import logging
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rerank.rankers.lambdamart import LambdaMART
from rerank.runtime.cache import cache_folder
from rerank.types import Qrels, Topics
from rerank.version import __version__
from rerank.workflows.experiment import StudyResult, run_experiment
from rerank.workflows.index import Index
from rerank.workflows.output_folder import check_output_folder
from rerank.workflows.study import Study

NO_LIBRARY = frozenset(
    ["site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "__phello__"]
)
SHORTEST_DOCSTRING = 200  # characters of a docstring from which a topic is taken
# Fewer features for each tree and earlier stopping than by default, so that the demo takes a minute.
QUICK = {"colsample_bytree": 0.3, "early_stopping_rounds": 30}
STUDY = Study(k=100, measures=("RR@10", "nDCG@10"), parameters=QUICK, candidates="bm25", base="run")
_TRAINED, _VALIDATED = 1200, 300  # topics of the model of `rerank serve --demo`
log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Collection:
    """Documents, topics and judgements."""

    documents: list[dict[str, str]]
    topics: Topics
    qrels: Qrels


def library_collection(root: str | Path | None = None) -> Collection:
    """Return the collection of the docstrings below `root`; the standard library by default."""
    documents: list[dict[str, str]] = []
    topics: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    names: set[str] = set()
    for name, text in _docstrings(Path(root or sysconfig.get_paths()["stdlib"])):
        if name in names:
            continue
        names.add(name)
        first, _, rest = text.partition("\n\n")
        if rest.strip() and len(text) > SHORTEST_DOCSTRING:
            query_id = f"q{len(topics) + 1}"
            topics[query_id] = " ".join(first.split())
            judgements[query_id] = {name: 1}
            text = rest
        documents.append({"id": name, "title": _words(name), "body": text})
    return Collection(documents, Topics(topics), Qrels.of(judgements))


def run_demo(output: str | Path, study: Study = STUDY) -> StudyResult:
    """Index the library's docstrings, and compare BM25, LambdaMART and LambdaSMART on them."""
    folder = check_output_folder(output)
    collection = library_collection()
    with Index.build(collection.documents, folder / "index", overwrite=True) as index:
        return run_experiment(index, collection.topics, collection.qrels, folder, study)


def _docstrings(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not NO_LIBRARY.isdisjoint(parts):
            continue
        try:
            tree = ast.parse(path.read_text("utf8", "replace"))
        except (SyntaxError, ValueError):  # templates and samples that this version of Python does not parse
            continue
        yield from _walk(tree, ".".join(parts))


def _walk(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node)
    if text:
        yield name, text
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _walk(child, f"{name}.{child.name}")


def _words(name: str) -> str:
    """Return a dotted name as words: `client.HTTPConnection.set_tunnel` gives `client HTTP Connection set tunnel`."""
    parts = re.split(r"[._]+", name)
    return " ".join(word for part in parts for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", part))


def demo_files(folder: Path | None = None) -> tuple[Path, Path]:
    """Return the index and the model of the embedded collection; they are made if they are not there."""
    folder = _demo_folder() if folder is None else folder
    index, model = folder / "index", folder / "demo.json"
    if not model.is_file():
        log.info("making the demo's index and model in %s (only the first time) ...", folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".demo-", dir=folder.parent))
        try:
            _make(made)
            if folder.exists():
                shutil.rmtree(folder)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return index, model


def _make(folder: Path) -> None:
    """Index the docstrings of the standard library, and train LambdaMART on some of its topics."""
    collection = library_collection()
    with Index.build(collection.documents, folder / "index") as index:
        names = list(collection.topics)[: _TRAINED + _VALIDATED]
        topics = {name: collection.topics[name] for name in names}
        data = index.features(index.search(topics, k=STUDY.k), topics, collection.qrels)
    train, valid = data.select(range(_TRAINED)), data.select(range(_TRAINED, len(data)))
    model = LambdaMART(n_estimators=200, metric="RR@10", base="run", colsample_bytree=0.3, early_stopping_rounds=30)
    model.fit(train, eval_set=valid)
    model.save(folder / "demo.json")


def _demo_folder() -> Path:
    """Return the folder in the cache folder, one for each version of Python and of this package."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return cache_folder() / f"demo-{__version__}-python-{python}"
