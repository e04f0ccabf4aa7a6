"""What a new index has without an option."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

import rerank
from rerank.index import index as module
from rerank.lucene.shards import RESOURCES
from tests.tiny import Tiny, tiny


def learned(index: rerank.Index) -> bool:
    with index, rerank.Index.open(index.path) as opened:
        assert (opened.vectors is None) == (index.vectors is None)
        return opened.vectors is not None


def test_vectors_are_learned_by_default_where_documents_are_enough(tmp_path: Path) -> None:
    documents = tiny(n_docs=module.LEAST_DOCUMENTS).documents
    assert learned(rerank.Index.build(documents, tmp_path / "enough"))
    assert not learned(rerank.Index.build(documents, tmp_path / "without", vectors=False))
    assert not learned(rerank.Index.build(documents[1:], tmp_path / "fewer"))
    assert learned(rerank.Index.build(documents[:20], tmp_path / "asked for", vectors=True))


def test_vectors_are_left_out_of_a_large_index_and_this_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    documents = tiny(n_docs=module.LEAST_DOCUMENTS).documents
    monkeypatch.setattr(module, "MOST_POSTINGS_OF_VECTORS", 100)
    with caplog.at_level("INFO", "rerank"):
        assert not learned(rerank.Index.build(documents, tmp_path / "index"))
    assert "no vectors were learned, as this may take more than a minute; `rerank vectors` learns them." in caplog.text


def test_vectors_of_the_build_are_those_of_the_verb(tmp_path: Path) -> None:
    index = rerank.Index.build(tiny(n_docs=module.LEAST_DOCUMENTS).documents, tmp_path / "index", threads=1, shards=2)
    path = index.path / RESOURCES / "vectors"
    built = path.read_bytes()
    shutil.rmtree(index.path / RESOURCES)
    index.learn_vectors()
    assert path.read_bytes() == built


def test_an_encoder_is_bound_when_it_is_named_and_by_no_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    index = rerank.Index.build(tiny().documents, tmp_path / "index", vectors=True)
    assert index.encoder is None
    pytest.importorskip("wordllama")
    index.learn_vectors()
    assert index.encoder is None
    index.learn_vectors(encoder="wordllama")
    assert index.encoder is not None
    index.learn_vectors()
    assert index.encoder is None


MODULE = """
LOADS = []

def __getattr__(name):
    LOADS.append(name)
    return lambda *texts: [[1.0, len(text)] if name == "encode" else len(text) for text in texts[-1]]
"""


def test_an_encoder_and_a_scorer_that_are_bound_to_a_copy_are_not_bound_to_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copied.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    rerank.Index.build(tiny().documents, tmp_path / "index").close()
    shutil.copytree(tmp_path / "index", tmp_path / "copy")
    with rerank.Index.open(tmp_path / "copy") as copy:
        copy.learn_vectors(encoder="copied:encode")
        copy.keep_scorer("copied:score")
    monkeypatch.chdir(tmp_path)
    for path, is_bound in (("index", False), ("copy", True), (tmp_path / "copy", True)):
        with rerank.Index.open(path) as index:
            assert (index.encoder is not None, index.scorer is not None) == (is_bound, is_bound)


def test_resources_are_read_once_for_all_queries_of_an_opened_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    collection = tiny()
    index = rerank.Index.build(collection.documents, tmp_path / "index")
    index.learn_vectors(encoder="counted:encode")
    index.keep_scorer("counted:score")
    index.learn_history(collection.topics, collection.qrels)
    data = index.features(index.search(collection.topics, k=20), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=5).fit(data)
    model.history_ = index.history
    opened = rerank.Index.open(index.path)
    loads = importlib.import_module("counted").LOADS
    loads.clear()
    first, second = opened.using(threads=1), opened.using(threads=1)
    for query_id, text in list(collection.topics.items())[:3]:
        rerank.rerank(opened, model, {query_id: text})
        assert first.scorer is second.scorer is not None
    assert sorted(loads) == ["encode", "score"]
    assert first.vectors is second.vectors is not None
    assert first.history is second.history is not None


def test_topics_in_another_language_are_warned_of(index: rerank.Index, caplog: pytest.LogCaptureFixture) -> None:
    words = [f"wort{number}" for number in range(20)]
    other = {"q1": " ".join(words[:10]), "q2": f"{' '.join(words[10:])} amber"}
    run = {query_id: {"d0": 1.0, "d1": 0.5} for query_id in other}
    index.features(run, other)
    assert "topics: the index has 1 of their 21 words. Are they in the language of the documents" in caplog.text
    caplog.clear()
    index.features({"q1": run["q1"]}, {"q1": "amber birch cedar" + " unheard" * 30})
    assert not caplog.records


def test_an_index_that_a_call_opens_is_closed_at_its_end(index: rerank.Index) -> None:
    with module.opened(index.path) as own:
        assert not own._opened.is_closed.is_set()
    assert own._opened.is_closed.is_set()
    with module.opened(index) as same:
        assert same is index
    assert not index._opened.is_closed.is_set()


@pytest.mark.parametrize("candidates", ["bm25", "bm25:20,rm3:20"])
def test_documents_of_the_queries_own_ids_are_candidates_unless_left_out(
    index: rerank.Index, collection: Tiny, candidates: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As topics that are documents of the collection find themselves."""
    caplog.set_level("INFO", "rerank")
    topics = {document["id"]: " ".join(document.values()) for document in collection.documents[:5]}
    index = index.using()
    index.warned_of = set()
    kept, left = (each.search(topics, 20, candidates=candidates) for each in (index, index.using(remove_query=True)))
    assert len(kept.own_rows()) == 5
    assert "5 of 5 queries have the id of a document that they find; these are candidates" in caplog.text
    for found, without in zip(
        [kept, *getattr(kept, "sources", {}).values()], [left, *getattr(left, "sources", {}).values()], strict=True
    ):
        for query_id, documents in found.items():
            assert list(without[query_id]) == [doc_id for doc_id in documents if doc_id != query_id]
    reranked = rerank.rerank(index.using(remove_query=True), "unsupervised", topics, kept)
    assert not len(reranked.own_rows())
    assert reranked.n_rows == left.n_rows
