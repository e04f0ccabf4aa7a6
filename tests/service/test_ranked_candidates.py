"""Models that a service cannot serve are refused when they are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import ModelMismatchError
from rerank.rankers.last_stage import LastStage
from rerank.retrieval.candidates import Candidates
from rerank.types import RankingData
from rerank.types.retriever import Retriever
from tests.runtime.test_threads import fitted, in_pool
from tests.service.server import LIMITS, Running, Settings, running  # skips without the extra
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def data(index: rerank.Index, collection: Tiny) -> RankingData:
    return index.features(index.search(collection.topics, k=30), collection.topics, collection.qrels)


def _load(index: rerank.Index, model: Any, folder: Path, **options: Any) -> Any:
    from rerank.service.served_models import load_models
    from rerank.service.settings import Settings

    model.save(folder / "model.json")
    return load_models(Settings(index.path, folder / "model.json", limits=LIMITS, **options), index)[0]


def _fitted(data: RankingData, **options: Any) -> Any:
    return rerank.LambdaMART(n_estimators=3, min_child_samples=5, **options).fit(data)


def test_a_model_of_bm25_candidates_is_served_with_their_parameters(
    index: rerank.Index, data: RankingData, tmp_path: Path
) -> None:
    other = replace(data, retriever=Retriever.bm25(1.2, 0.75))
    assert _load(index, _fitted(other), tmp_path).candidates == Candidates(k1=1.2, b=0.75).at_depth(30)
    assert _load(index, _fitted(data), tmp_path, model_names=("mine", "other")).name == "mine"


def test_a_model_of_a_union_has_the_union_of_its_training(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    union = index.search(collection.topics, candidates="bm25:20,rm3:20")
    data = index.features(union, collection.topics, collection.qrels)
    assert str(_load(index, _fitted(data), tmp_path).candidates) == "bm25:20,rm3:20"


def test_a_model_of_a_union_with_a_run_of_a_file_is_refused(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    run = index.search(collection.topics, k=30)
    bound = index.using(runs={"dense": run})
    data = bound.features(bound.search(collection.topics, candidates="bm25:20,run:dense"), collection.topics)
    data = replace(data, labels=(data.column("bm25.title") > 1.0).astype(float))
    with pytest.raises(ModelMismatchError, match=r"needs other runs \(dense\)"):
        _load(index, _fitted(data), tmp_path)


def test_a_model_of_other_runs_is_refused(
    index: rerank.Index, collection: Tiny, data: RankingData, tmp_path: Path
) -> None:
    run = index.search(collection.topics, k=30)
    wider = index.using(runs={"dense": run}).features(run, collection.topics, collection.qrels)
    with pytest.raises(ModelMismatchError, match=r"needs other runs \(dense\)"):
        _load(index, _fitted(wider), tmp_path)


def test_search_and_rerank_answer_in_the_order_of_the_last_stage(
    index: rerank.Index, collection: Tiny, data: RankingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "letters.py").write_text("def score(query, texts):\n    return [text.count('e') for text in texts]\n")
    model = _fitted(data)
    model.last_stage_ = LastStage("letters:score", 5, 4.0)
    model.save(tmp_path / "model.json")
    index.keep_scorer("letters:score")
    query = collection.topics["q0"]
    with rerank.Index.open(index.path) as bound:
        expected = rerank.rerank(bound, model, {"q": query}, k=30)["q"]
    with running(Settings(index.path, tmp_path / "model.json", limits=LIMITS)) as server:
        hits = server.post("/search", {"query": query, "k": 10, "candidates": 30}).json()["results"][0]["hits"]
        assert [hit["id"] for hit in hits] == list(expected)[:10]
        assert [hit["scorer"] is not None for hit in hits] == [True] * 5 + [False] * 5
        ids = [{"id": doc_id} for doc_id in expected]
        ranked = server.post("/rerank", {"query": query, "documents": ids}).json()["results"]
        first = {ids[result["index"]]["id"] for result in ranked[:5]}
    assert first == set(list(expected)[:5])


def test_search_of_a_union_is_followed_by_documents_that_are_not_reranked(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    union = index.search(collection.topics, candidates="bm25:20,rm3:20")
    data = index.features(union, collection.topics, collection.qrels)
    model = _fitted(replace(data, retriever=replace(data.retriever, depth=4)))  # type: ignore[type-var]
    model.save(tmp_path / "model.json")
    query = collection.topics["q0"]
    expected = rerank.rerank(index, model, {"q": query})["q"]
    n_reranked = int(union.among_first(4)[union.rows("q0")].sum())
    with running(Settings(index.path, tmp_path / "model.json", limits=LIMITS)) as server:
        hits = server.post("/search", {"query": query, "k": 15, "explain": True}).json()["results"][0]["hits"]
    assert [(hit["id"], hit["score"]) for hit in hits] == list(expected.items())[:15]
    assert [hit["rank"] for hit in hits] == list(range(1, 16))
    assert ["features" in hit for hit in hits] == [place < n_reranked for place in range(15)]
    assert 4 <= n_reranked < 15


def test_a_model_of_another_index_is_refused_unless_it_is_wanted(
    other_index: rerank.Index, data: RankingData, tmp_path: Path
) -> None:
    with pytest.raises(ModelMismatchError, match="expected the index that the model was trained on"):
        _load(other_index, _fitted(data), tmp_path)
    assert _load(other_index.using(check_models=False), _fitted(data), tmp_path).bound is not None


def test_a_model_that_starts_from_scores_of_the_caller_is_refused(
    index: rerank.Index, data: RankingData, tmp_path: Path
) -> None:
    from rerank.service.engine import Engine
    from rerank.service.settings import Settings

    rerank.LambdaMART(n_estimators=3, min_child_samples=5).fit(data, init_score=data.base_scores).save(
        tmp_path / "m.json"
    )
    engine = Engine(Settings(index.path, tmp_path / "m.json", limits=LIMITS))
    with pytest.raises(ModelMismatchError, match="init_score"):
        engine.open()
    engine.close()


def test_without_a_model_the_service_ranks_documents_and_texts_without_judgements(
    index: rerank.Index, collection: Tiny
) -> None:
    from rerank.service.bodies import Rerank, RerankJob, Search, SearchJob
    from rerank.service.engine import Engine
    from rerank.service.settings import Settings

    engine = Engine(Settings(index.path, limits=LIMITS))
    engine.open()
    assert set(engine.served_models) == {"bm25", "unsupervised"}
    ranking, query = engine.served_models["unsupervised"], next(iter(collection.topics.values()))
    assert ranking.explains
    texts = [query, "nothing of it", f"{query} and more words"]
    names = ("unsupervised",)
    rerank_texts = RerankJob(Rerank(query=query, documents=texts), names, named=names, documents=texts)
    search = SearchJob(Search(query=query, k=5, explain=True), names, named=names, queries={"q": query})
    search.candidates = 1000
    engine.answer([rerank_texts, search])
    engine.close()
    assert rerank_texts.fault is search.fault is None
    assert rerank_texts.answer.order[-1] == 1
    first = rerank.rerank(index, "unsupervised", {"q": query})
    assert str(first.doc_ids[0]) in str(search.answer)


def test_processes_forked_of_a_service_fit_and_predict(server: Running) -> None:
    assert server.post("/search", {"query": "amber"}).status_code == 200
    expected = fitted(0)
    assert in_pool() == [expected, expected]
    assert server.post("/search", {"query": "amber"}).status_code == 200
