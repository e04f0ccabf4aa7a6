"""Pyserini's methods around an index folder, for which Pyserini's jar is enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rerank
from rerank.plugins.pyserini import RerankSearcher
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def searcher(index: rerank.Index, model_file: Path) -> RerankSearcher:
    return RerankSearcher(index, model_file, depth=50)


def test_hits_are_those_of_rerank(
    searcher: RerankSearcher, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    run = rerank.rerank(index, model_file, collection.topics, k=50)
    results = searcher.batch_search(list(collection.topics.values()), list(collection.topics), k=20, threads=2)
    assert list(results) == list(collection.topics)
    for query, hits in results.items():
        expected = run.head(20)[query]
        assert {hit.docid: hit.score for hit in hits} == expected
        assert [hit.docid for hit in hits] == list(expected)
        assert index.searcher.doc_ids[[hit.lucene_docid for hit in hits]].tolist() == [hit.docid for hit in hits]
        assert searcher.search(collection.topics[query], k=20) == hits
    assert len(searcher.search(collection.topics["q0"])) == 10


def test_hits_beyond_the_depth_follow_in_the_order_of_retrieval(
    index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    shallow = RerankSearcher(index, model_file, depth=5)
    hits = shallow.search(collection.topics["q0"], k=12)
    retrieved = list(index.search({"q0": collection.topics["q0"]}, k=12)["q0"])
    assert len(hits) == 12
    assert [hit.docid for hit in hits[5:]] == retrieved[5:]
    assert {hit.docid for hit in hits[:5]} == set(retrieved[:5])


def test_queries_without_hits_have_an_empty_list(searcher: RerankSearcher) -> None:
    assert searcher.search("unknownword") == []
    assert searcher.search(" ") == []
    assert searcher.batch_search([], []) == {}
    results = searcher.batch_search(["amber", "unknownword", ""], ["a", "b", "c"], k=3)
    assert [len(hits) for hits in results.values()] == [3, 0, 0]


def test_documents_are_those_of_the_index(searcher: RerankSearcher, collection: Tiny) -> None:
    document = searcher.doc("d7")
    assert (document.docid(), document.id(), document.get("title")) == ("d7", "d7", collection.documents[7]["title"])
    assert json.loads(document.raw())["id"] == "d7"
    hit = searcher.search(collection.topics["q0"], k=1)[0]
    assert searcher.doc(hit.lucene_docid).docid() == hit.docid
    assert json.loads(hit.lucene_document.get("raw"))["id"] == hit.docid
    assert document.lucene_document().get("raw") == document.raw()
    assert searcher.doc("none") is None
    assert searcher.doc(10**6) is None
    assert searcher.batch_doc(["d1", "none", "d2"], 2) == {name: searcher.doc(name) for name in ("d1", "d2")}
    assert searcher.num_docs == len(collection.documents)


def test_other_parameters_of_bm25_are_refused_for_a_model_that_starts_from_its_scores(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
    rerank.LambdaMART(n_estimators=3, min_child_samples=5, base="run").fit(data).save(tmp_path / "warm.json")
    searcher = RerankSearcher(index, tmp_path / "warm.json", depth=50)
    assert len(searcher.search("amber", k=3)) == 3
    searcher.set_bm25(2.0, 0.9)
    with pytest.raises(rerank.RerankError, match="k1"):
        searcher.search("amber")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], []), "qids: expected an id for each of 1 queries, got 0"),
        (("a", "b"), "queries: expected a list of queries and a list of ids, got 'a' and 'b'"),
        ((["a", "b"], "12"), "queries: expected a list of queries and a list of ids"),
        (({"1": "a"}, ["1"]), "queries: expected a list of queries and a list of ids"),
        ((["a", "b"], ["1", "1"]), "qids: expected each id once"),
        ((["a", "b"], ["1", 1]), "qids: expected each id once"),
        ((["a"], ["1"], 0), "k: expected a number of hits from 1, got 0"),
    ],
)
def test_wrong_arguments_are_refused(searcher: RerankSearcher, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(rerank.RerankError, match=message):
        searcher.batch_search(*arguments)  # type: ignore[arg-type]


def test_query_ids_may_be_whole_numbers(searcher: RerankSearcher) -> None:
    queries = ["amber birch", "cedar", " "]
    assert searcher.batch_search(queries, [301, 302, 303], 5) == searcher.batch_search(
        queries, ["301", "302", "303"], 5
    )


def test_a_model_that_is_not_fitted_is_refused(index: rerank.Index) -> None:
    with pytest.raises(ValueError, match=r"^LambdaMART: expected a fitted model, got a new one\. Call fit first\.$"):
        RerankSearcher(index, rerank.LambdaMART())
