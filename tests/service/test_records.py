"""Models that need more than BM25's candidates are served with it, and refused at the start and on reload without."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from tests.service.server import LIMITS, count, running
from tests.tiny import Tiny

UNION = "bm25:20,rm3:20,lsi:10"


def lengths(texts: list[str]) -> np.ndarray:
    """An encoder: the number of some letters."""
    return np.array([[1.0 + text.count(letter) for letter in "aeiou"] for text in texts])


@pytest.fixture(scope="module")
def indexes(
    index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, rerank.Index]]:
    """An index with what a model needs, by the kind of the model."""
    folder, opened = tmp_path_factory.mktemp("indexes"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RERANK_CACHE", str(folder / "cache"))
        for kind in ("history", "vectors", "encoder", "union"):
            copy = opened[kind] = rerank.Index.open(shutil.copytree(index.path, folder / kind))
            if kind == "history":
                copy.learn_history(collection.topics, collection.qrels)
            elif kind == "encoder":
                opened[kind] = copy.using(encoder=f"{__name__}:lengths")
            else:
                copy.learn_vectors(dimensions=8)
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture(scope="module")
def models(
    indexes: dict[str, rerank.Index], collection: Tiny, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A model that needs each of them."""
    folder, files = tmp_path_factory.mktemp("models"), {}
    for kind, index in indexes.items():
        run = index.search(collection.topics, 30, candidates=UNION if kind == "union" else "bm25")
        data = index.features(run, collection.topics, collection.qrels)
        model = rerank.LambdaMART(n_estimators=4, min_child_samples=5).fit(data)
        files[kind] = folder / f"{kind}.json"
        model.save(files[kind])
    return files


def _settings(index: rerank.Index, model: Path) -> Any:
    from rerank.service.settings import Settings

    return Settings(index.path, model, limits=LIMITS)


@pytest.fixture
def own_cache(index: rerank.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test, in which the encoder is kept."""
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", ["history", "vectors", "encoder", "union"])
def test_a_model_is_served_with_what_it_was_trained_with(
    kind: str, indexes: dict[str, rerank.Index], collection: Tiny, models: dict[str, Path], own_cache: Path
) -> None:
    index, topics = indexes[kind], dict(list(collection.topics.items())[:5])
    if kind == "encoder":
        index.learn_vectors(dimensions=4, encoder=f"{__name__}:lengths")
    expected = rerank.rerank(index, str(models[kind]), topics, k=30)
    with running(_settings(index, models[kind])) as server:
        k = 100 if kind == "union" else 30  # a union has its own numbers
        for result in server.post("/search", {"queries": topics, "k": k, "candidates": k}).json()["results"]:
            hits = [(hit["id"], hit["score"]) for hit in result["hits"]]
            assert hits == list(expected[result["query_id"]].items())
        documents = [each["body"] for each in collection.documents[:20]]
        texts = server.post("/rerank", {"query": "amber", "documents": documents})
        ids = server.post("/rerank", {"query": "amber", "documents": [{"id": collection.documents[0]["id"]}]})
        assert texts.status_code == (422 if kind == "union" else 200)
        if texts.status_code == 200:
            ranked = rerank.rerank_texts(rerank.read_model(models[kind]), "amber", documents, index=index)
            assert [each["index"] for each in texts.json()["results"]] == [text.document for text in ranked]
        assert ids.status_code == (422 if kind == "union" else 200)


@pytest.mark.parametrize("kind", ["history", "vectors", "encoder", "union"])
def test_a_model_is_refused_in_one_line_where_what_it_needs_is_not_there(
    kind: str, index: rerank.Index, models: dict[str, Path], own_cache: Path
) -> None:
    from rerank.errors import RerankError
    from rerank.service.engine import Engine

    engine = Engine(_settings(index, models[kind]))
    with pytest.raises(RerankError) as refused:
        engine.open()
    engine.close()
    assert ("`rerank history" if kind == "history" else "`rerank vectors INDEX") in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_that_needs_what_is_not_there_is_refused_on_reload(
    indexes: dict[str, rerank.Index], models: dict[str, Path], tmp_path: Path
) -> None:
    served = tmp_path / "served.json"
    served.write_bytes(models["vectors"].read_bytes())
    with running(_settings(indexes["vectors"], served)) as server:
        before = server.post("/search", {"query": "amber"}).json()["results"]
        for kind, result in (("history", "refused"), ("union", "taken")):
            earlier = count("rerank_reloads_total", result=result)
            (tmp_path / "new").write_bytes(models[kind].read_bytes())
            (tmp_path / "new").replace(served)
            server.service.reload_asked = True
            end = time.monotonic() + 30
            while count("rerank_reloads_total", result=result) == earlier:
                assert time.monotonic() < end
                time.sleep(0.02)
            after = server.post("/search", {"query": "amber"}).json()["results"]
            assert (after == before) == (kind == "history")
