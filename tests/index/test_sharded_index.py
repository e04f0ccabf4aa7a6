"""A sharded index gives what one index of the same documents gives, bit for bit, for any number of shards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray

import rerank
from rerank.features.families.functions import FUNCTIONS
from rerank.features.family import known_families
from rerank.lucene.shards import shard_of
from rerank.retrieval.base import known_sources
from tests.lucene import anserini
from tests.tiny import Tiny, tiny

SHARDS = (1, 2, 3, 7)
UNION = "bm25:20,rm3:20,lsi:10,history:10,encoder:10"


@pytest.fixture(autouse=True)
def forget_functions() -> Iterator[None]:
    """Leave no function behind for other tests."""
    yield
    FUNCTIONS.clear()


def encode(texts: list[str]) -> NDArray[np.float32]:
    """An encoder: counts of some letters."""
    return np.array([[text.count(letter) + 0.5 for letter in "aeiounrst"] for text in texts], dtype=np.float32)


def with_numbers(collection: Tiny) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = [{**document} for document in collection.documents]
    for number, document in enumerate(documents):
        document["year"] = 1900 + number % 17
        if number % 3:
            document["clicks"] = number / 7
        if number % 29 == 0:
            document["keywords"] = "amber rareword" + " stone" * (number % 5)
    return documents


def run_of(run: rerank.Run) -> dict[str, Any]:
    return {"ids": run.doc_ids.tolist(), "ptr": run.query_ptr.tolist(), "scores": run.scores.tobytes(), "tag": run.name}


def data_of(data: rerank.RankingData) -> dict[str, Any]:
    assert len(data.feature_names) == data.X.shape[1]
    return {"ids": data.doc_ids.tolist(), "names": data.feature_names, "X": data.X.tobytes(), "of": data.fingerprint}


def outputs(index: rerank.Index, topics: Mapping[str, str], qrels: Any, folder: Path) -> dict[str, Any]:
    """Return everything that an index is used for, in a form that is equal only bit for bit."""
    results: dict[str, Any] = {"fingerprint": dict(index.forward.fingerprint)}
    for k in (1000, 7):
        for threads in (1, 2):
            results[f"bm25 {k} {threads}"] = run_of(index.using(threads=threads).search(topics, k=k))
            for query_id, text in topics.items():  # of a single query, threads share the shards
                alone = index.using(threads=threads).search({query_id: text}, k=k)
                results[f"bm25 {query_id} {k} {threads}"] = run_of(alone)
    results["title"] = run_of(index.search(topics, field="title", k1=1.2, b=0.75))
    vectors = rerank.Vectors.learn(index, dimensions=8)
    history = rerank.History.learn(index, topics, qrels)
    vectors.save(folder / "vectors")
    history.save(folder / "history.json")
    for name in ("vectors", "history.json"):
        results[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    bound = index.using(vectors=vectors, history=history, encoder=encode)
    for name in known_sources():
        results[name] = run_of(bound.search(topics, k=30, candidates=name))
    union = bound.search(topics, candidates=UNION)
    results["union"] = run_of(union)
    recipe = rerank.Recipe(families=tuple(known_families()))
    data = bound.features(union, topics, qrels, recipe=recipe)
    results["features"] = data_of(data)
    simple = index.features(index.search(topics, k=50), topics, qrels)
    model = rerank.LambdaMART(n_estimators=5, num_leaves=4, min_child_samples=1).fit(simple)
    model.save(folder / "model.json")
    results["model"] = (folder / "model.json").read_bytes()
    results["reranked"] = run_of(rerank.rerank(index, model, topics, k=20))
    texts = [text for document in tiny(seed=9, n_docs=9).documents for text in (document["title"], document["body"])]
    query = next(iter(topics.values()))
    results["texts"] = data_of(index.using(vectors=vectors).text_features(query, texts))
    results["reranked texts"] = rerank.rerank_texts(model, query, texts, index=index)
    first = next(iter(topics))
    two = index.search({first: topics[first]}, k=2).doc_ids.tolist()
    results["explained"] = str(rerank.explain(index, model, topics, query=first, documents=two))
    numbers = np.arange(index.forward.n_docs)
    results["stored"] = [json.loads(text or "null") for text in index.stored_documents(numbers)]
    results["document texts"] = index.document_texts(numbers)
    return results


def check_equal(results: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert list(results) == list(expected)
    assert [name for name in expected if results[name] != expected[name]] == []


@pytest.fixture(scope="module")
def whole(collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one index gives."""
    folder = tmp_path_factory.mktemp("whole")
    with rerank.Index.build(with_numbers(collection), folder / "index") as index:
        rerank.feature("titled", over="document")(lambda tokens, document: float(len(document["contents"])))
        return outputs(index, collection.topics, collection.qrels, folder)


@pytest.mark.parametrize("shards", SHARDS)
def test_sharded_index_gives_what_one_index_gives(
    shards: int, collection: Tiny, whole: dict[str, Any], tmp_path: Path
) -> None:
    documents = with_numbers(collection)[::-1]  # nor does the order matter
    rerank.feature("titled", over="document")(lambda tokens, document: float(len(document["contents"])))
    with rerank.Index.build(documents, tmp_path / "index", shards=shards) as index:
        check_equal(outputs(index, collection.topics, collection.qrels, tmp_path), whole)
        assert index.searcher.statistics()["documents"] == len(documents)
    names = sorted(path.name for path in (tmp_path / "index").iterdir())
    assert names == ["rerank", *[f"shard-{number:03d}" for number in range(shards)]]


@pytest.mark.slow("14 s: a real collection")
def test_shards_of_cranfield_give_what_one_index_gives(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "collections" / "cranfield"
    corpus, topics = folder / "corpus.jsonl", rerank.read_topics(folder / "topics.tsv")
    topics = rerank.Topics({query_id: topics[query_id] for query_id in list(topics)[:40]})
    with (
        rerank.Index.build(corpus, tmp_path / "one") as one,
        rerank.Index.build(corpus, tmp_path / "3", shards=3) as three,
    ):
        runs = [index.search(topics, k=200) for index in (one, three)]
        assert run_of(runs[0]) == run_of(runs[1])
        rm3 = [index.search(topics, k=100, candidates="rm3") for index in (one, three)]
        assert run_of(rm3[0]) == run_of(rm3[1])
        data = [index.features(run, topics) for index, run in zip((one, three), runs, strict=True)]
        assert data_of(data[0]) == data_of(data[1])


def test_folder_of_indexes_that_anserini_built_is_one_index(
    collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = [{"id": d["id"], "contents": f"{d['title']} {d['body']}"} for d in collection.documents]
    options = ("-storePositions", "-storeDocvectors", "-storeRaw")
    anserini.build(documents, tmp_path / "one", *options)
    for name, part in (("b", documents[:70]), ("a", documents[70:75]), ("c", documents[75:])):
        anserini.build(part, tmp_path / "parts" / name, *options)
    with rerank.Index.open(tmp_path / "one") as one, rerank.Index.open(tmp_path / "parts") as parts:
        runs = [index.search(collection.topics, k=50) for index in (one, parts)]
        assert run_of(runs[0]) == run_of(runs[1])
        data = [index.features(run, collection.topics) for index, run in zip((one, parts), runs, strict=True)]
        assert data_of(data[0]) == data_of(data[1])
        assert "3 indexes are used as the shards of one (a, b, c)." in caplog.text
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["a", "b", "c", "rerank"]
    caplog.clear()
    assert rerank.Index.open(tmp_path / "parts").forward.n_docs == len(documents)
    assert caplog.text == ""


def test_shard_opens_as_an_index_of_its_own(collection: Tiny, tmp_path: Path) -> None:
    rerank.Index.build(collection.documents, tmp_path / "index", shards=2).close()
    expected = sorted(d["id"] for d in collection.documents if shard_of(d["id"], 2) == 1)
    with rerank.Index.open(tmp_path / "index" / "shard-001") as index:
        assert index.forward.doc_ids.tolist() == expected
        assert set(index.search(collection.topics).doc_ids) <= set(expected)
    assert rerank.Index.open(tmp_path / "index").forward.n_docs == len(collection.documents)


WORDS = st.sampled_from(["amber", "birch", "cedar", "naïve", "流れ", "😀", "x1", "of"])
TEXT = st.lists(WORDS, max_size=6).map(" ".join)
DOCUMENT = st.fixed_dictionaries(
    {"body": TEXT}, optional={"title": TEXT, "year": st.integers(-5, 5), "rank": st.floats(0, 1)}
)
IDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=12)


@pytest.mark.slow("5 s: many indexes are built")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.dictionaries(IDS, DOCUMENT, min_size=1, max_size=12), shards=st.integers(1, 9))
def test_any_documents_give_the_same_run_and_features_with_shards(
    documents: dict[str, dict[str, Any]], shards: int, tmp_path: Path
) -> None:
    given_documents = [{"id": doc_id, **document} for doc_id, document in documents.items()]
    given_documents.append({"id": "\uffff-last", "body": "amber birch", "title": "cedar"})
    topics = {"q1": "amber birch amber", "q2": "cedar naïve 流れ", "q3": "none"}
    results = []
    for name, options in (("one", {}), ("parts", {"shards": shards})):
        with rerank.Index.build(given_documents, tmp_path / name, overwrite=True, **options) as index:
            run = index.search(topics, k=5)
            results.append((run_of(run), data_of(index.features(run, topics)), index.forward.doc_ids.tolist()))
    assert results[0] == results[1]
