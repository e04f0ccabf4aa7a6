"""Answers over HTTP are what the same calls in Python return."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.rankers.probability_map import logistic
from rerank.service.settings import Settings
from tests.service.server import LIMITS, Running, count, running
from tests.tiny import Tiny


def _ids(result: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in result["hits"]]


def _pairs(result: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["id"], hit["score"]) for hit in result["hits"]]


@pytest.mark.parametrize("k", [1, 7, 100])
def test_search_returns_what_rerank_returns(
    server: Running, index: rerank.Index, model_file: Path, collection: Tiny, k: int
) -> None:
    topics = dict(list(collection.topics.items())[:8])
    answer = server.post("/search", {"queries": topics, "k": k, "candidates": 100}).json()
    expected = rerank.rerank(index, str(model_file), topics, k=100)
    assert answer["model"] == "model"
    assert [result["query_id"] for result in answer["results"]] == list(topics)
    for result in answer["results"]:
        assert _pairs(result) == list(expected[result["query_id"]].items())[:k]


def test_search_with_bm25_returns_the_search_of_the_index(
    server: Running, index: rerank.Index, collection: Tiny
) -> None:
    for query in list(collection.topics.values())[:3]:
        result = server.post("/search", {"query": query, "k": 20, "model": "bm25"}).json()["results"][0]
        assert _pairs(result) == list(index.search({"q": query}, k=20)["q"].items())
        assert [hit["bm25"] for hit in result["hits"]] == [
            {"rank": rank, "score": hit["score"]} for rank, hit in enumerate(result["hits"], start=1)
        ]


def test_requests_that_arrive_together_are_answered_as_alone(server: Running, collection: Tiny) -> None:
    bodies = [
        {"query": query, "k": k, "candidates": max(k, candidates), "explain": k == 3, "model": name}
        for number, query in enumerate(collection.topics.values())
        for k, candidates, name in [(3, 30, "model"), (10, 60 + number, "model"), (5, 50, "bm25")]
        if not (k == 3 and name == "bm25")
    ]
    alone = [server.post("/search", body).json()["results"] for body in bodies]
    names = ("rerank_batches_total", "rerank_batched_requests_total")
    before = [count(name) for name in names]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda body: server.post("/search", body).json()["results"], bodies * 3))
    assert together == alone * 3
    batches, requests = (count(name) - first for name, first in zip(names, before, strict=True))
    assert requests == len(together) > batches


def test_search_has_a_result_where_nothing_is_found(server: Running) -> None:
    for name in ("model", "bm25"):
        body = {
            "queries": ["zzzzz", "amber"],
            "model": name,
            "fields": ["title"],
            "highlight": True,
            "explain": name != "bm25",
        }
        results = server.post("/search", body).json()["results"]
        assert (len(results[0]["hits"]), len(results[1]["hits"])) == (0, 10)
    assert server.post("/search", {"query": "zzzzz"}).json()["results"][0]["hits"] == []


def test_search_returns_fields_with_marked_words(server: Running, collection: Tiny) -> None:
    stored = {document["id"]: document for document in collection.documents}
    body = {"query": "ambers stones", "k": 10, "fields": ["title", "body"], "highlight": True}
    for hit in server.post("/search", body).json()["results"][0]["hits"]:
        assert hit["fields"] == {name: stored[hit["id"]][name] for name in ("title", "body")}
        for name, text in hit["fields"].items():
            marked = [text[begin:end] for begin, end in hit["matches"][name]]
            assert marked == [word for word in text.split() if word in ("amber", "stone")]


def test_search_cuts_excerpts_around_words_of_the_query(server: Running) -> None:
    body = {"query": "amber", "k": 10, "fields": ["body"], "highlight": True, "excerpt": 20}
    for hit in server.post("/search", body).json()["results"][0]["hits"]:
        text = hit["fields"]["body"]
        assert len(text) <= 20
        assert all(text[begin:end] == "amber" for begin, end in hit["matches"]["body"])


def test_explanations_are_the_largest_contributions(
    server: Running, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    model, query = rerank.read_model(model_file), collection.topics["q0"]
    data = index.features(index.search({"q": query}, k=50), {"q": query})
    rows = {str(doc_id): row for row, doc_id in enumerate(data.doc_ids)}
    contributions = model.contributions(data)[:, :-1]
    body = {"query": query, "k": 5, "candidates": 50, "explain": True}
    for hit in server.post("/search", body).json()["results"][0]["hits"]:
        own = contributions[rows[hit["id"]]]
        given = [(each["feature"], each["contribution"]) for each in hit["features"]]
        names = list(data.feature_names)
        assert given == [(name, own[names.index(name)]) for name, _ in given]
        assert (
            sorted(map(abs, dict(given).values()), reverse=True)
            == sorted(abs(own[own != 0]), reverse=True)[: len(given)]
        )


def test_rerank_of_texts_returns_what_rerank_texts_returns(
    server: Running, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    texts, query = [document["body"] for document in collection.documents[:30]], collection.topics["q1"]
    ranked = rerank.rerank_texts(rerank.read_model(model_file), query, texts, index=index)
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        answer = server.post(path, {"query": query, "documents": texts, "model": "model"}).json()
        results = answer["results"]
        assert [(each["index"], each["score"]) for each in results] == [tuple(text) for text in ranked]
        assert {each["relevance_score"] for each in results} == {None}
        assert answer["meta"]["reason"].startswith("relevance_score is null, since the model is not calibrated, or")
        assert [each["document"]["text"] for each in results] == [texts[text.document] for text in ranked]


def test_a_model_alone_ranks_texts_as_with_its_index_and_refuses_searches(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    data = index.features(index.search(collection.topics, k=60), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=10, min_child_samples=2).fit(data)
    model.statistics_ = index.statistics(model)
    model.save(tmp_path / "alone.json")
    documents = [{name: each[name] for name in ("title", "body")} for each in collection.documents[:20]]
    query = collection.topics["q2"]
    ranked = rerank.rerank_texts(model, query, documents, index=index)
    with running(Settings(None, tmp_path / "alone.json", limits=LIMITS)) as alone:
        body = {"query": query, "documents": documents}
        results = alone.post("/rerank", body).json()["results"]
        assert [(each["index"], each["score"]) for each in results] == [tuple(each) for each in ranked]
        by_bm25 = alone.post("/rerank", {**body, "model": "bm25"}).json()["results"]
        assert sorted(each["index"] for each in by_bm25) == list(range(20))
        assert alone.client.get("/models").json()["fields"] == ["body", "contents", "title"]
        for path, request in (("/search", {"query": query}), ("/rerank", {**body, "documents": [{"id": "d1"}]})):
            error = alone.post(path, request).json()["error"]
            assert (error["status"], error["expected"]) == (404, "an index to search")


def test_rerank_takes_objects_with_fields_of_the_index(
    server: Running, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    query, documents = collection.topics["q2"], collection.documents[:20]
    fields = [{name: document[name] for name in ("title", "body")} for document in documents]
    ranked = rerank.rerank_texts(rerank.read_model(model_file), query, fields, index=index)
    named_text = [{"title": document["title"], "text": document["body"]} for document in documents]
    same = server.post("/rerank", {"query": query, "documents": named_text}).json()["results"]
    assert [each["index"] for each in same] == [text.document for text in ranked]
    body = {"query": query, "documents": documents, "top_n": 7}
    results = server.post("/rerank", body).json()["results"]
    assert [(each["index"], each["score"]) for each in results] == [tuple(text) for text in ranked[:7]]
    assert results[0]["document"] == documents[ranked[0].document]


def test_rerank_takes_ids_of_documents_of_the_index(
    server: Running, index: rerank.Index, model_file: Path, collection: Tiny
) -> None:
    query, documents = collection.topics["q3"], collection.documents[:20]
    fields = [{name: document[name] for name in ("title", "body")} for document in documents]
    ranked = rerank.rerank_texts(
        rerank.read_model(model_file),
        query,
        {each["id"]: own for each, own in zip(documents, fields, strict=True)},
        index=index,
    )
    body = {"query": query, "documents": [{"id": each["id"]} for each in documents]}
    results = server.post("/rerank", body).json()["results"]
    by_id = {documents[each["index"]]["id"]: each for each in results}
    assert {name: each["score"] for name, each in by_id.items()} == dict(ranked)
    assert [documents[each["index"]]["id"] for each in results] == [text.document for text in ranked]
    first = documents[results[0]["index"]]
    assert results[0]["document"] == {"id": first["id"], "text": f"{first['title']} {first['body']}"}


def test_best_passages_come_with_documents_where_they_are_asked_for(
    server: Running, index: rerank.Index, collection: Tiny
) -> None:
    query, texts = collection.topics["q3"], [document["body"] for document in collection.documents[:20]]
    hits = server.post("/search", {"query": query, "k": 60, "passage": True}).json()["results"][0]["hits"]
    run = rerank.Run.of({"q": {hit["id"]: -float(hit["rank"]) for hit in hits}})
    expected = [passage._asdict() for passage in index.best_passages(run, {"q": query})]
    assert [hit["passage"] for hit in hits] == expected
    of_texts = [passage._asdict() for passage in index.text_passages(query, texts)]
    body: dict[str, Any] = {"query": query, "return_passages": True, "top_n": 7}
    results = server.post("/rerank", {**body, "documents": texts}).json()["results"]
    assert len(results) == 7
    assert [each["passage"] for each in results] == [of_texts[each["index"]] for each in results]
    ids = [{"id": document["id"]} for document in collection.documents[:20]]
    results = server.post("/rerank", {**body, "documents": ids}).json()["results"]
    assert [each["passage"] for each in results] == [of_texts[each["index"]] for each in results]
    tei = server.post("/rerank", {**body, "texts": texts}).json()
    assert [each["passage"] for each in tei] == [of_texts[each["index"]] for each in tei]
    assert "passage" not in server.post("/rerank", {"query": query, "documents": texts}).json()["results"][0]


def test_rerank_with_bm25_orders_texts(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    results = server.post("/rerank", {"query": "amber", "documents": texts, "model": "bm25"}).json()["results"]
    assert [each["index"] for each in results] == [1, 2, 0]
    assert results[2]["score"] == 0.0


def test_equal_scores_are_in_the_order_of_the_request(server: Running, collection: Tiny) -> None:
    texts = ["amber stone"] * 25
    for name in ("model", "bm25"):
        results = server.post("/rerank", {"query": "amber", "documents": texts, "model": name}).json()["results"]
        assert [each["index"] for each in results] == list(range(25))
    ids = [{"id": name} for name in sorted(document["id"] for document in collection.documents)[:25]]  # as a search
    body = {"query": "zzzzz", "documents": ids, "model": "bm25"}
    assert [each["index"] for each in server.post("/rerank", body).json()["results"]] == list(range(25))


def test_voyages_body_has_its_answer_with_and_without_a_number(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    body = {"query": "amber", "documents": texts, "model": "model", "truncation": True, "top_k": None}
    answer = server.post("/v1/rerank", body).json()
    assert "results" not in answer
    assert [each["document"] for each in answer["data"]] == [texts[each["index"]] for each in answer["data"]]
    either = server.post("/v1/rerank", {"query": "amber", "documents": texts}).json()
    assert either["data"] == either["results"]
    assert len(server.post("/v1/rerank", {**body, "top_k": 2}).json()["data"]) == 2


def test_a_model_is_served_under_each_of_its_names(settings: Any) -> None:
    from dataclasses import replace

    from tests.service.server import running

    with running(replace(settings, model_names=("mine", "rerank-v3.5"))) as server:
        listed = server.client.get("/models").json()
        assert (listed["served"], [entry["id"] for entry in listed["data"]]) == (
            "mine",
            ["bm25", "mine", "rerank-v3.5"],
        )
        answers = [server.post("/search", {"query": "amber", "model": name}).json() for name in ("mine", "rerank-v3.5")]
        assert [answer["model"] for answer in answers] == ["mine", "rerank-v3.5"]
        assert answers[0]["results"] == answers[1]["results"]
        refused = server.post("/search", {"query": "amber", "model": "model"}).json()["error"]
        assert "mine" in refused["remedy"]


def test_rerank_answers_in_the_shape_of_its_clients(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    tei = server.post("/rerank", {"query": "amber", "texts": texts, "return_text": True, "truncate": True}).json()
    assert [set(each) for each in tei] == [{"index", "score", "text"}] * 3
    assert [each["text"] for each in tei] == [texts[each["index"]] for each in tei]
    assert set(server.post("/rerank", {"query": "amber", "texts": texts}).json()[0]) == {"index", "score"}
    voyage = server.post("/v1/rerank", {"query": "amber", "documents": texts, "top_k": 2, "model": "model"}).json()
    assert [each["document"] for each in voyage["data"]] == [texts[each["index"]] for each in voyage["data"]]
    assert len(voyage["data"]) == 2
    xinference = {"query": "amber", "documents": texts, "return_len": True, "top_n": 1}
    assert len(server.post("/v1/rerank", xinference).json()["results"]) == 1
    infinity = server.post("/infinity/rerank", {"query": "amber", "documents": texts, "model": "model"}).json()
    assert [each["document"] for each in infinity["results"]] == [texts[each["index"]] for each in infinity["results"]]
    without = server.post("/v2/rerank", {"query": "amber", "documents": texts, "return_documents": False}).json()
    assert set(without["results"][0]) == {"index", "relevance_score", "score"}


def test_rerank_answers_vllm_and_nvidia_nim_in_their_forms(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    ranked = server.post("/rerank", {"query": "amber", "documents": texts}).json()["results"]
    shares = logistic(np.array([each["score"] for each in ranked])).tolist()
    scores = dict(zip([each["index"] for each in ranked], shares, strict=True))
    for path in ("/reranking", "/v1/reranking"):  # of llama.cpp
        assert server.post(path, {"query": "amber", "documents": texts}).json()["results"] == ranked
    for path in ("/score", "/v1/score"):
        data = server.post(path, {"model": "model", "text_1": "amber", "text_2": texts}).json()["data"]
        assert [(each["index"], each["score"]) for each in data] == sorted(scores.items())
        for names in (("text_1", "text_2"), ("data_1", "data_2"), ("queries", "documents"), ("queries", "items")):
            assert server.post(path, dict(zip(names, (["amber"], texts), strict=True))).json()["data"] == data
        pairs = server.post(path, {"text_1": texts, "text_2": texts}).json()["message"]
        assert pairs == "body: expected one query, got a list of 3. Send each with its documents."
        (one,) = server.post(path, {"text_1": "amber", "text_2": texts[1]}).json()["data"]
        assert (one["index"], one["object"]) == (0, "score")
        raw = {"text_1": "amber", "text_2": texts, "raw_scores": True}
        data = server.post(path, raw).json()["data"]
        assert {each["index"]: each["score"] for each in data} == {each["index"]: each["score"] for each in ranked}
    passages = [{"text": text} for text in texts]
    body = {"model": "model", "query": {"text": "amber"}, "passages": passages, "truncate": "END", "top_k": 2}
    assert server.post("/v1/ranking", body).json() == {
        "rankings": [{"index": each["index"], "logit": each["score"]} for each in ranked[:2]]
    }
    mixedbread = {"query": "amber", "input": texts, "top_k": 2, "return_input": False, "instruction": "Rank"}
    data = server.post("/v1/reranking", mixedbread).json()["data"]
    assert data == [{name: each[name] for name in ("index", "relevance_score", "score")} for each in ranked[:2]]
    misspelt = server.post("/rerank", {"query": "amber", "documents": texts, "topN": 1}).json()["error"]
    assert (misspelt["found"], misspelt["remedy"]) == ("'topN'", "Did you mean 'top_n'?")
    refused = server.post("/v1/ranking", {**body, "documents": texts}).json()["error"]
    assert (refused["place"], refused["expected"]) == ("body", "one query and one list of documents")


def test_rerank_takes_the_texts_of_stores_under_their_names(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    plain = server.post("/rerank", {"query": "amber", "documents": texts}).json()["results"]
    expected = [each["score"] for each in plain]
    for given in (
        [{"page_content": text, "metadata": {"source": "a.pdf"}} for text in texts],
        [{"content": text, "meta": {"page": 3}} for text in texts],
        [{"id": n, "payload": {"document": text, "url": "a"}} for n, text in enumerate(texts)],
    ):
        results = server.post("/rerank", {"query": "amber", "documents": given}).json()["results"]
        assert [each["score"] for each in results] == expected
    titled = [{"page_content": text, "metadata": {"title": "cedar"}} for text in texts]
    same = [{"text": text, "title": "cedar"} for text in texts]
    answers = [server.post("/rerank", {"query": "amber", "documents": given}).json() for given in (titled, same)]
    scores, others = ([each["score"] for each in answer["results"]] for answer in answers)
    assert scores == others != expected


def test_rerank_reads_the_members_that_rank_fields_names(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    documents = [{"id": str(n), "title": "cedar", "chunk": text, "tags": ["x"]} for n, text in enumerate(texts)]
    body = {"query": "amber"}
    scores = {}
    for name, given in (
        ("chunk", {"documents": documents, "rank_fields": ["chunk"]}),
        ("text", {"documents": texts}),
        ("both", {"documents": documents, "rank_fields": ["title", "chunk", "tags"]}),
        ("titled", {"documents": [{"title": "cedar", "text": f"{text}\nx"} for text in texts]}),
        ("strings", {"documents": texts, "rank_fields": ["chunk"]}),
    ):
        results = server.post("/v1/rerank", {**body, **given}).json()["results"]
        scores[name] = [(each["index"], each["score"]) for each in results]
    assert scores["chunk"] == scores["text"] == scores["strings"]
    assert scores["both"] == scores["titled"] != scores["text"]
    refused = server.post("/v1/rerank", {**body, "documents": documents, "rank_fields": ["other"]}).json()["error"]
    assert refused["place"] == "body.documents[0]"


def test_rerank_takes_hits_of_an_engine_and_the_body_of_an_xinference_client(server: Running) -> None:
    texts = ["stone river", "amber amber", "amber cedar"]
    expected = server.post("/v1/rerank", {"query": "amber", "documents": [{"body": text} for text in texts]}).json()
    hits = [{"_index": "i", "_id": str(n), "_source": {"body": text, "price": 3}} for n, text in enumerate(texts)]
    body = {"query": "amber", "documents": hits, "return_documents": "false", "return_len": "true"}
    results = server.post("/v1/rerank", body).json()["results"]
    assert [(each["index"], each["score"]) for each in results] == [
        (each["index"], each["score"]) for each in expected["results"]
    ]
    assert all("document" not in each for each in results)
    refused = server.post("/v1/rerank", {"model": "model", "input": {"query": "amber", "documents": texts}}).json()
    assert refused["error"]["expected"] == "the key query"


def test_models_names_what_requests_can_ask_for(server: Running) -> None:
    answer = server.client.get("/models").json()
    assert answer["served"] == "model"
    assert {entry["id"]: entry["explains"] for entry in answer["data"]} == {"bm25": False, "model": True}
    assert {"contents", "title", "body"} <= set(answer["fields"])
    assert answer["documents"] > 0
    assert len(answer["examples"]) == 3
    assert [entry["highest_label"] for entry in answer["data"]] == [2, 2]
    assert server.client.get("/v1/models").json() == answer


def test_metrics_count_requests(server: Running) -> None:
    def counted() -> float:
        lines = server.client.get("/metrics").text.splitlines()
        of_health = [line for line in lines if line.startswith('rerank_requests_total{code="2xx",path="/health"}')]
        return float(of_health[0].split()[1]) if of_health else 0.0

    before = counted()
    for _ in range(3):
        assert server.client.get("/health").json() == {"status": "ok"}
    assert counted() == before + 3
    assert server.client.get("/ready").json() == {"status": "ready"}
