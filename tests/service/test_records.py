"""Models that need more than BM25's candidates are served with it, and refused at the start and on reload without."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from tests.service.server import LIMITS, count, running
from tests.workflows.tiny import Tiny

UNION = "bm25:20,rm3:20,lsi:10"


def lengths(texts: list[str]) -> np.ndarray:
    """An encoder: the number of some letters."""
    return np.array([[1.0 + text.count(letter) for letter in "aeiou"] for text in texts])


@pytest.fixture(scope="module")
def records(
    index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """Arguments of `rerank.rerank` and of the settings by what a model needs."""
    folder = tmp_path_factory.mktemp("records")
    rerank.History.learn(index, collection.topics, collection.qrels, folds=3).save(folder / "history.npz")
    rerank.Vectors.learn(index, dimensions=8, word_dimensions=4).save(folder / "vectors.npz")
    vectors: dict[str, Any] = {"vectors": folder / "vectors.npz"}
    return {
        "history": {"history": folder / "history.npz"},
        "vectors": vectors,
        "encoder": {"encoder": f"{__name__}:lengths"},
        "union": {**vectors, "union": UNION},
    }


@pytest.fixture(scope="module")
def models(
    index: rerank.Index, collection: Tiny, records: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A model that needs each of them."""
    folder, files = tmp_path_factory.mktemp("models"), {}
    for kind, given in records.items():
        beside = {name: value for name, value in given.items() if name != "union"}
        is_union = kind == "union"
        run = (
            index.search_union(collection.topics, UNION, **beside) if is_union else index.search(collection.topics, 30)
        )
        data = index.features(run, collection.topics, collection.qrels, **beside)
        model = rerank.LambdaMART(n_estimators=4, min_child_samples=5).fit(data)
        files[kind] = folder / f"{kind}.json"
        model.save(files[kind])
    return files


def _settings(index: rerank.Index, model: Path, **given: Any) -> Any:
    from rerank.service.settings import Settings

    return Settings(index.path, model, limits=LIMITS, **given)


@pytest.mark.parametrize("kind", ["history", "vectors", "encoder", "union"])
def test_a_model_is_served_with_what_it_was_trained_with(
    kind: str, index: rerank.Index, collection: Tiny, records: dict[str, dict[str, Any]], models: dict[str, Path]
) -> None:
    topics = dict(list(collection.topics.items())[:5])
    expected = rerank.rerank(index, str(models[kind]), topics, k=30, **records[kind])
    with running(_settings(index, models[kind], **records[kind])) as server:
        k = 100 if kind == "union" else 30  # a union has its own numbers
        for result in server.post("/search", {"queries": topics, "k": k, "candidates": k}).json()["results"]:
            hits = [(hit["id"], hit["score"]) for hit in result["hits"]]
            assert hits == list(expected[result["query_id"]].items())
        documents = [each["body"] for each in collection.documents[:20]]
        texts = server.post("/rerank", {"query": "amber", "documents": documents})
        ids = server.post("/rerank", {"query": "amber", "documents": [{"id": collection.documents[0]["id"]}]})
        assert texts.status_code == (200 if kind in ("vectors", "encoder") else 422)
        if texts.status_code == 200:
            ranked = index.rerank_texts(rerank.load_model(models[kind]), "amber", documents, **records[kind])
            assert [each["index"] for each in texts.json()["results"]] == [text.document for text in ranked]
        assert ids.status_code == (422 if kind == "union" else 200)


@pytest.mark.parametrize("kind", ["history", "vectors", "encoder", "union"])
def test_a_model_is_refused_in_one_line_where_what_it_needs_is_not_given(
    kind: str, index: rerank.Index, models: dict[str, Path]
) -> None:
    from rerank.errors import RerankError
    from rerank.service.engine import Engine

    engine = Engine(_settings(index, models[kind]))
    with pytest.raises(RerankError) as refused:
        engine.open()
    engine.close()
    option = "--vectors" if kind == "union" else f"--{kind}"
    assert option in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_union_with_a_run_of_a_file_is_refused(
    index: rerank.Index, records: dict[str, dict[str, Any]], models: dict[str, Path]
) -> None:
    from rerank.errors import ModelMismatchError
    from rerank.service.ranking import load_ranking

    with pytest.raises(ModelMismatchError, match="got the run dense in a union"):
        load_ranking(_settings(index, models["vectors"], union="bm25:20,run:dense.run", **records["vectors"]), index)


def test_a_model_that_needs_what_is_not_given_is_refused_on_reload(
    index: rerank.Index, collection: Tiny, records: dict[str, dict[str, Any]], models: dict[str, Path], tmp_path: Path
) -> None:
    served = tmp_path / "served.json"
    served.write_bytes(models["vectors"].read_bytes())
    with running(_settings(index, served, **records["vectors"])) as server:
        before = server.post("/search", {"query": "amber"}).json()["results"]
        for kind, result in (("history", "refused"), ("union", "taken")):
            earlier = count("rerank_reloads_total", result=result)
            (tmp_path / "new").write_bytes(models[kind].read_bytes())
            (tmp_path / "new").replace(served)
            server.service.reload_from_signal()
            end = time.monotonic() + 30
            while count("rerank_reloads_total", result=result) == earlier:
                assert time.monotonic() < end
                time.sleep(0.02)
            after = server.post("/search", {"query": "amber"}).json()["results"]
            assert (after == before) == (kind == "history")
