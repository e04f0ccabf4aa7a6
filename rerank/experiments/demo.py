"""A real collection on any machine, offline: the docstrings of the installed Python standard library.

A document is a documented module, class or function. If a docstring has several paragraphs, the first one becomes a
topic and is left out of the document. The document is the only relevant one of the topic (known-item search).
"""

import ast
import json
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rerank.experiments.experiment import run_experiment
from rerank.experiments.study import Study, check_output_folder
from rerank.experiments.study_result import StudyResult
from rerank.files.topics import write_topics
from rerank.files.trec import write_qrels
from rerank.index.index import Index
from rerank.runtime.output import write_text
from rerank.types import Qrels, Topics

NO_LIBRARY = frozenset(
    ["site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "__phello__"]
)
SHORTEST_DOCSTRING = 200  # characters of a docstring from which a topic is taken
# Larger steps, fewer features for each tree and earlier stopping than by default, so that the demo takes a minute.
QUICK = {"learning_rate": 0.2, "colsample_bytree": 0.2, "early_stopping_rounds": 20}
STUDY = Study(k=100, measures=("RR@10", "nDCG@10"), parameters=QUICK, candidates="bm25", base="run")


@dataclass(frozen=True)
class DemoCollection:
    """Documents, topics and judgements."""

    documents: list[dict[str, str]]
    topics: Topics
    qrels: Qrels


def library_collection(root: str | Path | None = None) -> DemoCollection:
    """Return the collection of the docstrings of the modules below `root`; None is the standard library."""
    documents: list[dict[str, str]] = []
    topics: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    texts: dict[str, str] = {}
    for name, text in _docstrings(Path(root or sysconfig.get_paths()["stdlib"])):
        texts.setdefault(name, text)
    for name, text in texts.items():
        first, _, rest = text.partition("\n\n")
        if rest.strip() and len(text) > SHORTEST_DOCSTRING:
            query_id = f"q{len(topics) + 1}"
            topics[query_id] = " ".join(first.split())
            judgements[query_id] = {name: 1}
            text = rest
        documents.append({"id": name, "title": _words(name), "body": text})
    return DemoCollection(documents, Topics(topics), Qrels.of(judgements))


def run_demo(output: str | Path, root: str | Path | None = None, study: Study = STUDY) -> StudyResult:
    """Write the collection of the docstrings below `root`, and compare BM25, LambdaMART and LambdaSMART on it.

    Topics and judgements are also written divided: those of the study's first fold as test data, the others to train.
    """
    folder = check_output_folder(output)
    collection = library_collection(root)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "docs.jsonl", "".join(json.dumps(document) + "\n" for document in collection.documents))
    with Index.build(folder / "docs.jsonl", folder / "index", overwrite=True) as index:
        result = run_experiment(index.using(history=False), collection.topics, collection.qrels, folder, study)
    train = [query_id for query_id, fold in result.folds.items() if fold > 0]
    test = [query_id for query_id, fold in result.folds.items() if fold == 0]
    for part, query_ids in (("", collection.topics), (".train", train), (".test", test)):
        write_topics({query_id: collection.topics[query_id] for query_id in query_ids}, folder / f"topics{part}.tsv")
        write_qrels({query_id: collection.qrels[query_id] for query_id in query_ids}, folder / f"qrels{part}.txt")
    return result


def _docstrings(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the docstring of each module, class and function below a folder."""
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
    """Yield the name and the docstring of a node, and of the classes and functions in it."""
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
