"""The whole of Pyserini, with PyTorch: its searcher inside ours, and both in one Java machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rerank
from tests.tiny import Tiny

if any(importlib.util.find_spec(name) is None for name in ("jnius", "torch", "transformers", "openai")):
    pytest.skip("Pyserini is not installed with what it depends on", allow_module_level=True)

os.environ.setdefault("OPENAI_API_KEY", "unused")  # without one, Pyserini's import ends in an error of openai

from rerank.plugins.pyserini import RerankSearcher


@pytest.fixture
def lucene(index: rerank.Index) -> Iterator[Any]:
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(str(index.path))
    yield searcher
    searcher.close()


def test_a_lucene_searcher_gives_the_hits_of_its_index(
    lucene: Any, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    wrapped, own = RerankSearcher(lucene, model_file, depth=50), RerankSearcher(index, model_file, depth=50)
    texts, qids = list(collection.topics.values()), list(collection.topics)
    assert wrapped.batch_search(texts, qids, 20, 2) == own.batch_search(texts, qids, 20, 2)
    assert wrapped.num_docs == own.num_docs
    assert wrapped.index_dir == own.index_dir
    assert wrapped.doc("d7").raw() == own.doc("d7").raw()
    assert wrapped.batch_doc(["d1"], 1)["d1"].docid() == "d1"
    assert wrapped.search("unknownword") == []


def test_hits_have_the_attributes_of_pyserini_s(lucene: Any, model_file: Path, collection: Tiny) -> None:
    text = collection.topics["q0"]
    theirs = {hit.docid: hit.lucene_docid for hit in lucene.search(text, k=50)}
    ours = RerankSearcher(lucene, model_file, depth=50).search(text, k=50)
    assert {hit.docid: hit.lucene_docid for hit in ours} == theirs


def test_parameters_of_the_searcher_are_known_to_a_model_that_starts_from_bm25(
    lucene: Any, index: rerank.Index, collection: Tiny
) -> None:
    data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=3, min_child_samples=5, base="run").fit(data)
    searcher = RerankSearcher(lucene, model, depth=50)
    assert len(searcher.search("amber", k=3)) == 3
    searcher.set_bm25(2.0, 0.9)
    with pytest.raises(rerank.RerankError, match="k1"):
        searcher.search("amber")
    lucene.set_qld()
    assert len(searcher.search("amber", k=3)) == 3


OURS = """
import rerank.plugins.pyserini
import rerank
def ours():
    run = rerank.Index.open(INDEX).search({"q": "amber"}, k=5)
    return {doc: round(score, 4) for doc, score in run["q"].items()}
"""
CONFIGURED = """
import os, pyserini.setup
pyserini.setup.configure_classpath(os.path.join(pyserini.__path__[0], "resources", "jars"))
"""
THEIRS = """
def theirs():
    from pyserini.search.lucene import LuceneSearcher
    return {hit.docid: round(hit.score, 4) for hit in LuceneSearcher(INDEX).search("amber", k=5)}
"""


def _printed(code: str, index: rerank.Index, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | environment
    command = [sys.executable, "-c", f"import json\nINDEX = {str(index.path.absolute())!r}\n{code}"]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


def test_both_run_in_the_java_that_ours_started(index: rerank.Index) -> None:
    done = _printed(OURS + THEIRS + "print(json.dumps([theirs(), ours(), theirs()]))", index)
    assert done.returncode == 0, done.stderr[-2000:]
    first, second, third = json.loads(done.stdout.splitlines()[-1])
    assert first == second == third
    assert len(first) == 5


def test_a_module_that_java_lacks_is_not_asked_for(index: rerank.Index) -> None:
    done = _printed(CONFIGURED + OURS + "print(json.dumps(ours()))", index)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif("RERANK_TEST_JAVA" not in os.environ, reason="RERANK_TEST_JAVA names no Java with the module")
def test_both_run_in_the_java_that_pyserini_started(index: rerank.Index) -> None:
    code = THEIRS + "first = theirs()\n" + OURS + "print(json.dumps([first, ours()]))"
    done = _printed(code, index, JAVA_HOME=os.environ["RERANK_TEST_JAVA"])
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = json.loads(done.stdout.splitlines()[-1])
    assert first == second


@pytest.mark.skipif("RERANK_TEST_OLD_JAVA" not in os.environ, reason="RERANK_TEST_OLD_JAVA names no older Java")
def test_a_java_that_is_too_old_is_named(index: rerank.Index) -> None:
    code = "try:\n    from pyserini.search.lucene import LuceneSearcher\nexcept Exception:\n    pass\n" + OURS
    done = _printed(code, index, JAVA_HOME=os.environ["RERANK_TEST_OLD_JAVA"])
    message = done.stderr.splitlines()[-1]
    assert "Java: expected version 21 or later in the Java machine that this process already runs, got 17" in message
    assert "jdk.incubator.vector" in message
