"""Thresholds and abstaining with a calibrated model: in Python, in the shell, over HTTP and in frameworks."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.cli.main import cli
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.plugins.texts import TextReranker
from rerank.rankers.cutoff import Cutoff, check_cutoff
from rerank.training.calibration_lists import PREDICTORS, without_relevant
from rerank.types import Topics
from tests.tiny import Tiny, more_queries


@pytest.fixture(scope="module")
def topics(collection: Tiny) -> dict[str, str]:
    return more_queries(collection)[0]


@pytest.fixture(scope="module")
def model(index: rerank.Index, collection: Tiny) -> rerank.LambdaMART:
    topics, qrels = more_queries(collection)
    learner = rerank.LambdaMART(n_estimators=5, min_child_samples=5, num_leaves=4)
    rerank.train(index, topics, qrels, learner, candidates="bm25", k=40)
    assert learner.calibration_ is not None
    return learner


def test_training_calibrates_from_its_own_folds(model: rerank.LambdaMART) -> None:
    calibration = model.calibrated()
    assert (calibration.folds, calibration.n_queries, calibration.target) == (5, 20, 1.0)
    assert set(calibration.predictors) <= set(PREDICTORS) & model.features_read()
    assert calibration.predictors
    assert "Brier score" in str(calibration)


def test_emptied_lists_lose_their_relevant_documents_in_all_sources(index: rerank.Index, collection: Tiny) -> None:
    qrels = rerank.Qrels.of({**collection.qrels, "q1": {"d0": 0}})
    run = index.search(collection.topics, 30, candidates="bm25,rm3")
    emptied = without_relevant(run, qrels, 2.0)
    assert list(emptied) == [name for name in run if any(qrels[name].get(doc_id, 0) >= 2 for doc_id in run[name])]
    assert "q1" not in emptied
    for before, after in ((run, emptied), *((run.sources[name], emptied.sources[name]) for name in run.sources)):
        for name in emptied:
            left = {doc_id: score for doc_id, score in before[name].items() if qrels[name].get(doc_id, 0) < 2}
            assert after[name] == left


@pytest.mark.parametrize("given", [0.3, {"min_score": 0.3}, True])
def test_cutoffs_of_other_types_are_refused_before_anything_is_computed(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"cutoff: expected a Cutoff, got .* Pass e.g. rerank.Cutoff"):
        check_cutoff(given, None)  # type: ignore[arg-type]


def test_probabilities_may_be_numbers_of_numpy() -> None:
    assert Cutoff(np.float32(0.25), np.float64(1.0)) == Cutoff(0.25, 1.0)


def test_cutoff_leaves_out_what_is_not_likely_and_keeps_the_order(
    index: rerank.Index, model: rerank.LambdaMART, topics: dict[str, str]
) -> None:
    plain, promised = (rerank.rerank(index, model, topics, k=40, cutoff=cutoff) for cutoff in (None, Cutoff()))
    assert (plain.doc_ids == promised.doc_ids).all()
    assert ((promised.scores > 0.0) & (promised.scores < 1.0)).all()
    level = float(np.median(promised.scores))
    likely = rerank.rerank(index, model, topics, k=40, cutoff=Cutoff(level))
    assert list(likely) == list(promised)
    for query_id in promised:
        kept = {doc_id: score for doc_id, score in promised[query_id].items() if score >= level}
        assert list(likely[query_id].items()) == list(kept.items())
    assert 0 < likely.n_rows < promised.n_rows


def test_abstaining_returns_nothing_for_queries_without_a_likely_answer(
    index: rerank.Index, model: rerank.LambdaMART, topics: dict[str, str]
) -> None:
    bound = index.with_history_of(model)
    data = bound.features(bound.search(topics, 40), topics, recipe=rerank.Recipe.from_dict(model.recipe_))
    lists = dict(zip(data, model.probabilities(data).lists.tolist(), strict=True))
    level = float(np.median(list(lists.values())))
    run = rerank.rerank(index, model, topics, k=40, cutoff=Cutoff(abstain=level))
    assert {query_id for query_id in run if run[query_id]} == {name for name in lists if lists[name] >= level}
    assert Topics.of(topics).keys() == set(run)


def test_documents_below_the_top_k_have_no_probability_and_are_left_out(
    index: rerank.Index, model: rerank.LambdaMART, topics: dict[str, str]
) -> None:
    given = index.search(topics, 40)
    assert rerank.rerank(index, model, topics, given, k=10).n_rows == given.n_rows
    assert np.diff(rerank.rerank(index, model, topics, given, k=10, cutoff=Cutoff()).query_ptr).max() == 10


def test_model_without_calibration_is_refused_with_the_remedy(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ModelMismatchError, match="expected one with calibrated scores, got one without"):
        rerank.rerank(index, "unsupervised", collection.topics, cutoff=Cutoff(0.5))
    with pytest.raises(ModelMismatchError, match="calibrated"):
        rerank.rerank_texts("unsupervised", "amber", ["amber"], cutoff=Cutoff(0.5), index=index)
    with pytest.raises(ModelMismatchError, match="calibrated"):
        TextReranker(index, min_score=0.5)
    learner = rerank.LambdaMART(n_estimators=3, min_child_samples=5)
    with caplog.at_level(logging.WARNING, "rerank"):
        rerank.train(index, collection.topics, collection.qrels, learner, candidates="bm25", k=40)
    assert learner.calibration_ is None
    assert "calibration: expected at least 20 queries with relevant documents among the candidates" in caplog.text


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "much", True])
def test_what_is_no_probability_is_refused(value: object) -> None:
    for name in ("min_score", "abstain"):
        with pytest.raises(InvalidInputError, match=f"{name}: expected a probability from 0 to 1, got"):
            Cutoff(**{name: value})  # type: ignore[arg-type]


def test_texts_have_probabilities_in_the_order_of_the_model(
    index: rerank.Index, model: rerank.LambdaMART, collection: Tiny
) -> None:
    texts = [document["body"] for document in collection.documents[:12]]
    plain = rerank.rerank_texts(model, "amber stone", texts, index=index)
    promised = TextReranker(index, model).order("amber stone", texts)
    assert [number for number, _ in promised] == [number for number, _ in plain]
    level = promised[5][1]
    likely = TextReranker(index, model, min_score=level).order("amber stone", texts)
    assert likely == [(number, score) for number, score in promised if score >= level]
    assert TextReranker(index, model, abstain=1.0).order("amber stone", texts) == []


def test_command_writes_probabilities_and_says_what_training_found(
    index: rerank.Index, model: rerank.LambdaMART, topics: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    model.save(tmp_path / "model.json")
    (tmp_path / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in topics.items()))
    files = [str(index.path), str(tmp_path / "model.json"), str(tmp_path / "topics.tsv")]
    out = str(tmp_path / "likely.run")
    cli.main(["rerank", *files, "-o", out, "--min-score", "0.2", "--abstain", "0.1"], standalone_mode=False)
    expected = rerank.rerank(index, model, topics, cutoff=Cutoff(0.2, 0.1))
    read = rerank.read_run(out)
    assert read.doc_ids.tolist() == expected.doc_ids.tolist()
    np.testing.assert_allclose(read.scores, expected.scores, rtol=1e-5)


def test_service_returns_probabilities_and_cuts_at_them(
    index: rerank.Index, model: rerank.LambdaMART, collection: Tiny, tmp_path: Path
) -> None:
    pytest.importorskip("fastapi")
    from rerank.service.settings import Settings
    from tests.service.server import LIMITS, running

    model.save(tmp_path / "model.json")
    query, name = collection.topics["q0"], "q0"
    promised = rerank.rerank(index, model, {name: query}, k=40, cutoff=Cutoff())[name]
    level = list(promised.values())[7]
    with running(Settings(index.path, tmp_path / "model.json", limits=LIMITS)) as server:
        body = {"query": query, "k": 40, "candidates": 40}
        result = server.post("/search", body).json()["results"][0]
        assert {hit["id"]: hit["probability"] for hit in result["hits"]} == promised
        assert 0.0 < result["probability"] < 1.0
        cut = server.post("/search", {**body, "min_score": level}).json()["results"][0]
        assert cut["hits"] == result["hits"][: sum(value >= level for value in promised.values())]
        assert server.post("/search", {**body, "abstain": 1}).json()["results"][0]["hits"] == []
        texts = [document["body"] for document in collection.documents[:12]]
        ranked = server.post("/rerank", {"query": query, "documents": texts}).json()["results"]
        expected = TextReranker(index, model).order(query, texts)
        assert [(entry["index"], entry["relevance_score"]) for entry in ranked] == expected
        least = {"query": query, "documents": texts, "min_score": expected[3][1]}
        assert len(server.post("/rerank", least).json()["results"]) == 4
        assert [entry["score"] for entry in ranked] == [
            score for _, score in rerank.rerank_texts(model, query, texts, index=index)
        ]
        tei = server.post("/rerank", {"query": query, "texts": texts}).json()
        assert [(entry["index"], entry["score"]) for entry in tei] == expected
        ids = [{"id": doc_id} for doc_id in list(promised)[:9]]
        assert server.post("/rerank", {"query": query, "documents": ids, "abstain": 1.0}).json()["results"] == []
        assert [each["calibrated"] for each in server.client.get("/models").json()["data"]] == [False, True]
        for path in ("/search", "/rerank"):
            refused = {"query": query, "model": "bm25", "min_score": 0.5}
            answer = server.post(path, refused if path == "/search" else {**refused, "documents": texts})
            assert answer.status_code == 422
            assert json.loads(answer.text)["message"].startswith(
                "body.min_score: expected a calibrated model, got bm25"
            )
        assert server.post("/search", {**body, "min_score": 1.5}).status_code == 422
