"""Texts without an index: the statistics of a model's collection, or of the texts themselves, give the same scores."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
import sqlite3
from base64 import b64decode, b64encode
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from dataclasses import make_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.index.text_collection import model_for_texts
from rerank.plugins.texts import TextReranker
from rerank.runtime.json_files import checksum_of
from rerank.types import statistics
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def model_path(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = rerank.LambdaMART(n_estimators=10, min_child_samples=2)
    trained = rerank.train(index, collection.topics, collection.qrels, small, candidates="bm25", k=60, estimate=False)
    path = tmp_path_factory.mktemp("model") / "model.json"
    trained.model.save(path)
    return path


@pytest.fixture(scope="module")
def of_text(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of features of text alone."""
    data = index.features(index.search(collection.topics, k=60), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=40, min_child_samples=2).fit(data)
    model.statistics_ = index.statistics(model)
    path = tmp_path_factory.mktemp("model") / "model.json"
    model.save(path)
    return path


def without_ids(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in document.items() if name != "id"} for document in documents]


@pytest.mark.parametrize("n_texts", [1, 2, 45])
def test_scores_are_those_with_the_index(index: rerank.Index, collection: Tiny, of_text: Path, n_texts: int) -> None:
    model = rerank.read_model(of_text)
    documents = [*without_ids(collection.documents), {"title": "unheardof words"}, "plain text", ""][-n_texts:]
    distinct = []
    for query in [*collection.topics.values(), "unheardof", "the"]:
        expected = rerank.rerank_texts(model, query, documents, index=index)
        distinct.append(len({score for _, score in expected}))
        assert rerank.rerank_texts(model, query, documents) == expected
        assert TextReranker(model=of_text).order(query, documents) == [tuple(each) for each in expected]
    assert max(distinct) > (3 if n_texts > 2 else 0)


def test_ten_thousand_texts_and_one_of_a_megabyte_are_ranked(model_path: Path, collection: Tiny) -> None:
    words = " ".join(document["body"] for document in collection.documents)
    texts = [f"text {number}" for number in range(10_000)] + [words * (1 + (1 << 20) // len(words))]
    assert len(texts[-1]) > 1 << 20
    ranked = rerank.rerank_texts(model_path, collection.topics["q0"], texts)
    assert sorted(int(each.document) for each in ranked) == list(range(10_001))


def test_features_of_similar_judged_queries_are_missing_and_it_is_said_once(
    index: rerank.Index, model_path: Path, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    model = rerank.read_model(model_path)
    named = {document["id"]: document["body"] for document in collection.documents}
    query = collection.topics["q1"]
    for _ in range(2):
        ranked = rerank.rerank_texts(model, query, named)
    assert caplog.text.count("texts: without an index, the model's features of similar judged queries are missing") == 1
    unnamed = rerank.rerank_texts(model, query, list(named.values()), index=index)
    assert dict(ranked) == {list(named)[int(number)]: score for number, score in unnamed}


def test_a_field_that_no_text_has_is_warned_of(of_text: Path, caplog: pytest.LogCaptureFixture) -> None:
    rerank.rerank_texts(rerank.read_model(of_text), "amber", ["amber stone", "birch"])
    assert "texts: none has the field title, whose features the model reads" in caplog.text


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("Grove of light. Cedar fjord", "Grove of light.", "Cedar fjord"),
        ("\nGrove of light\n\ncedar fjord. Ember", "Grove of light", "cedar fjord. Ember"),
        ("Grove of light.", "", "Grove of light."),
        ("Grove 1.5 " * 30 + ". Cedar", "", "Grove 1.5 " * 30 + ". Cedar"),
        (" ", "", " "),
    ],
)
def test_the_first_sentence_of_a_text_without_fields_is_its_title(
    of_text: Path, text: str, title: str, body: str
) -> None:
    others = [{"title": "grove", "body": "cedar"}, {"title": "", "body": "light. fjord"}]
    expected = rerank.rerank_texts(of_text, "grove light", [{"title": title, "body": body}, *others])
    assert rerank.rerank_texts(of_text, "grove light", [text, *others]) == expected
    reranker = TextReranker(model=of_text)
    given = [reranker.with_metadata(text, {"source": "a.pdf"}), *others]
    assert reranker.order("grove light", given) == [tuple(each) for each in expected]


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ([], "documents: expected at least one text, got none"),
        ([{"colour": "red"}], "expected fields of the index"),
        (["a\0b"], "expected Unicode text in field 'body', got one with NUL"),
        ("amber", "expected a list of texts"),
    ],
)
def test_texts_that_cannot_be_ranked_are_refused(model_path: Path, documents: Any, expected: str) -> None:
    with pytest.raises(InvalidInputError, match=expected):
        rerank.rerank_texts(model_path, "amber", documents)


def test_names_of_fields_that_are_no_text_are_refused_with_the_statistics_of_the_texts_alone() -> None:
    with pytest.raises(InvalidInputError, match=r"expected fields of the index \(contents, text\), got 1"):
        rerank.rerank_texts("unsupervised", "amber", [{1: "amber"}, {"text": "amber", 2: 3}])


def test_a_model_that_needs_an_index_is_refused_without_one(
    index: rerank.Index, collection: Tiny, model_path: Path
) -> None:
    data = index.features(index.search(collection.topics), collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=3, min_child_samples=2).fit(data)
    with pytest.raises(ModelMismatchError, match="expected one that holds the statistics of its collection"):
        rerank.rerank_texts(model, "amber", ["amber"])
    model.statistics_ = index.statistics(model)
    assert rerank.rerank_texts(model, "amber", ["amber"]) == rerank.rerank_texts(model, "amber", ["amber"], index=index)
    with pytest.raises(InvalidInputError, match="expected an index, whose documents are ranked"):
        model_for_texts(model_path).rerank(rerank.Topics({"q": "amber"}), None, None)


def test_an_index_in_the_place_of_the_model_is_named(index: rerank.Index) -> None:
    with pytest.raises(InvalidInputError, match="the order model, query, documents; the index is index="):
        rerank.rerank_texts(index, "unsupervised", "amber", ["amber"])  # type: ignore[arg-type]


def test_an_index_of_too_many_terms_leaves_the_model_without_statistics(
    index: rerank.Index, collection: Tiny, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(statistics, "MOST_TERMS", 10)
    small = rerank.LambdaMART(n_estimators=3, min_child_samples=2)
    with caplog.at_level(logging.INFO):
        trained = rerank.train(index, collection.topics, collection.qrels, small, candidates="bm25", estimate=False)
    assert trained.model.statistics_ is None
    assert "statistics: the model holds none" in caplog.text


def trained_on(index: rerank.Index, collection: Tiny, family: str) -> rerank.Ranker:
    small, options = rerank.LambdaMART(n_estimators=10, min_child_samples=2), {"candidates": "bm25", "estimate": False}
    recipe = rerank.Recipe(families=("letor", family))
    return rerank.train(index, collection.topics, collection.qrels, small, recipe=recipe, **options).model


def test_scores_with_vectors_of_terms_are_those_with_the_index(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = rerank.Vectors.learn(index, dimensions=3)
    query_map = np.array([[0.5, 1.0, 0.0], [0.0, 0.25, 1.0], [1.0, 0.0, 0.0]], np.float32)
    bound = index.using(vectors=replace(learned, spaces={"lsi": replace(learned.spaces["lsi"], query_map=query_map)}))
    model = trained_on(bound, collection, "lsi")
    model.save(tmp_path / "model.json")
    alone = rerank.read_model(tmp_path / "model.json")
    documents = [*without_ids(collection.documents), "unheardof words", ""]
    for query in [*collection.topics.values(), "unheardof", "the"]:
        assert rerank.rerank_texts(alone, query, documents) == rerank.rerank_texts(alone, query, documents, index=bound)
    for name in ("vectors", "queries"):
        damaged = replace(model.statistics_, **{name: getattr(model.statistics_, name)[:20]})
        alone.statistics_ = damaged  # it is read when the first texts come
        with pytest.raises(InvalidInputError, match=rf"^statistics\.{name}: expected columns of \d+, got shorter ones"):
            rerank.rerank_texts(alone, "amber", ["amber"])
    others = index.using(vectors=rerank.Vectors.learn(index, dimensions=2))
    alone.statistics_ = others.statistics(alone)
    with pytest.raises(InvalidInputError, match="expected the vectors"):
        rerank.rerank_texts(alone, "amber", ["amber"])
    monkeypatch.setattr(statistics, "MOST_VECTOR_BYTES", 10)
    assert bound.statistics(alone) is None


def test_a_model_of_an_encoder_holds_no_statistics_and_it_is_said(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        bound = index.using(encoder=lambda texts: [[1.0, len(text)] for text in texts])
        model = trained_on(bound, collection, "encoder")
    assert model.statistics_ is None
    assert "its features need the encoder: texts are ranked with the index" in caplog.text
    with pytest.raises(ModelMismatchError, match="or train on it without"):
        rerank.rerank_texts(model, "amber", ["amber"])


def changed_table(content: dict[str, Any], change: Callable[[bytes], bytes]) -> None:
    stored = content["statistics"]
    stored["table"] = b64encode(change(b64decode(stored["table"]))).decode()


def other_language(content: dict[str, Any]) -> None:
    content["statistics"]["fingerprint"]["language"] = "de"


def without_a_field(content: dict[str, Any]) -> None:
    del content["statistics"]["fields"]["title"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda content: changed_table(content, lambda table: table[: len(table) // 2]), "statistics.table: expected"),
        (lambda content: changed_table(content, lambda table: table[:99] + bytes(9) + table[108:]), "statistics.table"),
        (lambda content: changed_table(content, lambda table: b""), "statistics.table: expected text of 1"),
        (lambda content: content["statistics"].update(table="no base64!"), "statistics.table: expected a compressed"),
        (lambda content: content["statistics"].update(n_vectors=1 << 20, dimensions=99), "statistics.n_vectors"),
        (other_language, "statistics: expected those of the fingerprint, got those of another collection"),
        (without_a_field, "statistics.fields: expected the fields of the fingerprint"),
    ],
)
def test_damaged_statistics_or_those_of_another_collection_are_refused(
    model_path: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    content = json.loads(model_path.read_text("utf8"))
    change(content)
    content["checksum"] = checksum_of({name: content[name] for name in content if name not in ("format", "checksum")})
    (tmp_path / "model.json").write_text(json.dumps(content), "utf8")
    with pytest.raises(FileFormatError, match=expected):
        rerank.read_model(tmp_path / "model.json")


def test_statistics_have_no_effect_on_what_a_model_is(model_path: Path) -> None:
    model = rerank.read_model(model_path)
    checksum = model.checksum()
    model.statistics_ = None
    assert model.checksum() == checksum


def test_unsupervised_scores_are_those_of_an_index_of_the_texts(
    collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = collection.documents[:30]
    index = rerank.Index.build(documents, tmp_path / "index", vectors=False)
    texts = without_ids(documents)
    for query in [*collection.topics.values(), "unheardof amber", "the"]:
        assert rerank.rerank_texts("unsupervised", query, texts) == rerank.rerank_texts(
            "unsupervised", query, texts, index=index
        )
    joined = [f"{text['title']} {text['body']}" for text in texts]
    assert TextReranker().order(collection.topics["q0"], joined) == [
        tuple(each) for each in rerank.rerank_texts("unsupervised", collection.topics["q0"], joined)
    ]
    assert "statistics are those of the texts of each call alone" in caplog.text


def test_features_of_a_model_are_those_of_its_training(
    index: rerank.Index, collection: Tiny, model_path: Path, other_index: rerank.Index
) -> None:
    model, run = rerank.read_model(model_path), index.search(collection.topics, k=20)
    data = index.features(run, collection.topics, collection.qrels, model=model_path)
    assert data.feature_names == model.feature_names_
    assert any(name.startswith("history.") for name in data.feature_names)
    assert data.labels is not None
    rows, better = data.rows("q1"), rerank.rerank(index, model, collection.topics, run)
    scores = model.predict(data)[rows].tolist()
    assert dict(better["q1"]) == dict(zip(data.doc_ids[rows].tolist(), scores, strict=True))
    with pytest.raises(ModelMismatchError, match="expected the index that the model was trained on"):
        other_index.features(other_index.search({"q": "amber"}), {"q": "amber"}, model=model)
    with pytest.raises(InvalidInputError, match="recipe: expected none beside a model"):
        index.features(run, collection.topics, recipe=rerank.Recipe(), model=model)


Hits = Callable[[dict[str, str]], Any]
HITS: dict[str, Hits] = {
    "source": lambda fields: {"_index": "i", "_id": "7", "_source": fields, "highlight": {"body": ["<em>x</em>"]}},
    "fields": lambda fields: {"_id": "7", "_score": 1.5, "fields": {name: [text] for name, text in fields.items()}},
    "vespa": lambda fields: {"id": "id:n:d::7", "source": "c", "fields": {**fields, "sddocname": "d"}},
    "typesense": lambda fields: {"document": {"id": "7", **fields}, "highlights": [], "text_match": 5},
    "qdrant": lambda fields: {"id": 7, "version": 1, "score": 0.5, "payload": fields, "vector": None},
    "weaviate": lambda fields: {"uuid": "7", "class": "Page", "properties": fields},
    "pinecone": lambda fields: {"id": "7", "score": 0.5, "metadata": fields},
    "solr": lambda fields: {"id": "7", "_version_": 17, **fields},
    "azure": lambda fields: {"@search.score": 1.5, "@search.highlights": None, "id": "7", **fields},
    "meilisearch": lambda fields: {"id": 7, "_rankingScore": 0.5, "_formatted": fields, **fields},
    "cohere": lambda fields: {"id": "7", "data": fields},
    "vertex": lambda fields: {"id": "7", "document": {"id": "7", "structData": fields}},
    "row of a database": lambda fields: {**fields, "distance": 0.5, "rank": 1},
    "object": lambda fields: SimpleNamespace(**fields),
    "object in another": lambda fields: SimpleNamespace(document=SimpleNamespace(**fields), score=0.5),
    "dataclass": lambda fields: make_dataclass("Page", fields)(**fields),
    "dataclass with slots": lambda fields: make_dataclass("Page", fields, slots=True)(**fields),
    "named tuple": lambda fields: namedtuple("Page", fields)(**fields),
}


@pytest.mark.parametrize("name", HITS)
def test_hits_of_an_engine_are_ranked_by_their_fields(of_text: Path, name: str) -> None:
    documents = [{"title": "cold", "body": "water"}, {"title": "amber", "body": "stone"}]
    hits = list(map(HITS[name], documents))
    for model in (of_text, "unsupervised"):
        expected = rerank.rerank_texts(model, "amber stone", documents)
        assert [text.document for text in expected] == [1, 0]
        assert rerank.rerank_texts(model, "amber stone", hits) == expected
        by_id = rerank.rerank_texts(model, "amber stone", {"a": hits[0], "b": hits[1]})
        assert by_id == [(["a", "b"][number], score) for number, score in expected]


STORED: dict[str, Hits] = {
    "langchain": lambda fields: {"page_content": fields["body"], "metadata": {"title": fields["title"], "source": "a"}},
    "haystack": lambda fields: {"id": "7", "content": fields["body"], "meta": {"title": fields["title"]}, "score": 0.5},
    "llamaindex": lambda fields: {"node": {"text": fields["body"], "metadata": {"title": fields["title"]}, "id_": "7"}},
    "lancedb": lambda fields: {"text": fields["body"], "title": fields["title"], "vector": [0.5], "_distance": 0.5},
    "milvus": lambda fields: {"id": 7, "distance": 0.5, "entity": {"chunk": fields["body"], "title": fields["title"]}},
    "qdrant": lambda fields: {"id": 7, "payload": {"document": fields["body"], "title": fields["title"], "url": "a"}},
    "bedrock": lambda fields: {"content": {"text": fields["body"]}, "metadata": {"title": fields["title"]}},
    "openai": lambda fields: {
        "content": [{"type": "text", "text": fields["body"]}],
        "metadata": {"title": fields["title"]},
    },
    "redis": lambda fields: {"id": "7", "vector_distance": "0.5", "passage": fields["body"], "title": fields["title"]},
}


@pytest.mark.parametrize("name", STORED)
def test_texts_of_stores_fill_the_field_of_texts_whatever_their_name(of_text: Path, name: str) -> None:
    documents = [{"title": "cold", "body": "water. Ember"}, {"title": "amber", "body": "stone"}]
    expected = rerank.rerank_texts(of_text, "amber stone", documents)
    assert [text.document for text in expected] == [1, 0]
    assert rerank.rerank_texts(of_text, "amber stone", list(map(STORED[name], documents))) == expected
    untitled = [STORED[name]({**document, "title": None}) for document in documents]  # type: ignore[dict-item]
    plain = [document["body"] for document in documents]
    assert rerank.rerank_texts(of_text, "amber stone", untitled) == rerank.rerank_texts(of_text, "amber stone", plain)


def test_titles_in_metadata_are_read_without_an_index() -> None:
    documents = [{"title": "cold", "body": "water. Ember"}, {"title": "amber", "body": "stone"}]
    expected = rerank.rerank_texts("unsupervised", "amber stone", documents)
    assert [text.document for text in expected] == [1, 0]
    for name in ("haystack", "llamaindex"):
        given = list(map(STORED[name], documents))
        assert rerank.rerank_texts("unsupervised", "amber stone", given) == expected


def test_titles_in_metadata_are_read_beside_a_text_that_is_a_field(tmp_path: Path) -> None:
    titles, texts = ["amber stone", "cold", "water"], ["birch", "ember flow", "stone flow"]
    documents = [{"title": title, "text": text} for title, text in zip(titles, texts, strict=True)]
    stored = [{"text": each["text"], "metadata": {"title": each["title"], "source": "a.pdf"}} for each in documents]
    corpus = [{"id": f"d{n}", **each} for n, each in enumerate(documents * 3)]
    index = rerank.Index.build(corpus, tmp_path / "index", vectors=False)
    expected = rerank.rerank_texts("unsupervised", "amber stone", documents, index=index)
    assert expected[0].document == 0
    assert rerank.rerank_texts("unsupervised", "amber stone", stored, index=index) == expected


def test_a_text_of_a_store_without_fields_is_a_plain_text(of_text: Path) -> None:
    texts = ["Cold amber. Water", "Stone"]
    expected = rerank.rerank_texts(of_text, "amber stone", texts)
    for name in ("page_content", "text", "content", "document", "passage", "chunk"):
        given = [{"id": 7, name: text, "source": "a.pdf", "metadata": {}} for text in texts]
        assert rerank.rerank_texts(of_text, "amber stone", given) == expected


def test_components_of_one_file_share_its_model_until_the_file_changes(
    of_text: Path, tmp_path: Path, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    path, query, texts = tmp_path / "model.json", collection.topics["q0"], ["amber stone", "birch"]
    shutil.copy(of_text, path)
    first, again = TextReranker(model=path), TextReranker(model=str(path))
    assert first.bound.model is again.bound.model
    expected = first.order(query, texts)
    assert [tuple(each) for each in rerank.rerank_texts(path, query, texts)] == again.order(query, texts) == expected
    assert caplog.text.count("texts: none has the field title") == 1
    path.write_bytes(path.read_bytes() + b"\n")
    assert TextReranker(model=path).bound.model is not first.bound.model


@pytest.mark.parametrize("copied", [deepcopy, lambda reranker: pickle.loads(pickle.dumps(reranker))])
def test_a_copy_of_a_reranker_gives_the_same_order(
    of_text: Path, collection: Tiny, copied: Callable[[TextReranker], TextReranker]
) -> None:
    reranker, query = TextReranker(model=of_text), collection.topics["q0"]
    texts = without_ids(collection.documents)
    expected = reranker.order(query, texts)
    assert copied(reranker).order(query, texts) == copied(TextReranker(model=of_text)).order(query, texts) == expected


@pytest.mark.parametrize(
    "path", ["hits hits", "response docs", "root children", "hits", "result points", "value", "matches"]
)
def test_a_whole_answer_of_an_engine_is_ranked_as_its_hits(of_text: Path, path: str) -> None:
    documents = [{"title": "cold", "body": "water"}, {"title": "amber", "body": "stone"}]
    answer: Any = documents
    for name in reversed(path.split()):
        answer = {name: answer, "took": 3}
    assert rerank.rerank_texts(of_text, "amber", answer) == rerank.rerank_texts(of_text, "amber", documents)


def _answer(**members: Any) -> Any:
    return make_dataclass("Answer", members)(**members)


def _of_database(rows: list[dict[str, str]]) -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        database.execute("CREATE TABLE texts (title TEXT, body TEXT)")
        database.executemany("INSERT INTO texts VALUES (:title, :body)", rows)
        return database.execute("SELECT * FROM texts").fetchall()


ANSWERS: dict[str, Callable[[list[dict[str, str]]], Any]] = {  # of the clients of stores, for one query
    "chroma": lambda rows: {
        "ids": [["a", "b"]],
        "documents": [[row["body"] for row in rows]],
        "metadatas": [[{"title": row["title"]} for row in rows]],
        "embeddings": None,
    },
    "chroma, get": lambda rows: {
        "ids": ["a", "b"],
        "documents": [row["body"] for row in rows],
        "metadatas": [{"title": row["title"]} for row in rows],
    },
    "qdrant": lambda rows: _answer(points=[_answer(id=7, payload=row, vector=None) for row in rows]),
    "qdrant, scroll": lambda rows: ([_answer(id=7, payload=row, vector=None) for row in rows], 8),
    "langchain, with scores": lambda rows: [({"metadata": row}, 0.5) for row in rows],
    "sqlite3.Row": _of_database,
    "weaviate": lambda rows: _answer(objects=[_answer(uuid="7", properties=row) for row in rows]),
    "milvus": lambda rows: [[{"id": 7, "distance": 0.5, "entity": row} for row in rows]],
    "elasticsearch": lambda rows: _answer(body={"hits": {"hits": [{"_id": "7", "_source": row} for row in rows]}}),
    "weaviate, GraphQL": lambda rows: {"data": {"Get": {"Page": rows}}},
    "pinecone, records": lambda rows: {"result": {"hits": [{"_id": "7", "fields": row} for row in rows]}, "usage": {}},
    "haystack": lambda rows: {"retriever": {"documents": rows}},
    "tavily": lambda rows: {"query": "amber", "results": rows, "images": []},
    "solr": lambda rows: _answer(docs=rows, hits=2),
    "elasticsearch.dsl": lambda rows: _answer(to_dict=lambda: {"hits": {"hits": [{"_source": row} for row in rows]}}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_answer_of_a_client_is_ranked_as_its_hits(of_text: Path, name: str) -> None:
    rows = [{"title": "cold", "body": "water"}, {"title": "amber", "body": "stone"}]
    assert rerank.rerank_texts(of_text, "amber", ANSWERS[name](rows)) == rerank.rerank_texts(of_text, "amber", rows)


def test_answers_to_several_queries_and_columns_are_no_hits_of_one(of_text: Path) -> None:
    with pytest.raises(InvalidInputError, match="documents: expected the hits of one query, got those of 2"):
        rerank.rerank_texts(of_text, "amber", [["water"], ["amber"]])
    column = _answer(to_dict=lambda: {0: "water"})
    with pytest.raises(InvalidInputError, match=r"documents: expected a list of texts, .* got Answer"):
        rerank.rerank_texts(of_text, "amber", column)
    several = {"organic": [{"title": "amber"}], "related": [{"title": "stone"}]}
    with pytest.raises(InvalidInputError, match=r"documents: organic: .* got list\. .* the list of its hits alone\."):
        rerank.rerank_texts(of_text, "amber", several)


@pytest.mark.parametrize("names", [["d1"], ["d1", "d2"]])
def test_documents_by_id_whose_content_has_parts_keep_their_ids(of_text: Path, names: list[str]) -> None:
    documents = {name: {"content": [{"type": "text", "text": "amber"}]} for name in names}
    assert [text.document for text in rerank.rerank_texts(of_text, "amber", documents)] == names


def test_documents_without_any_text_are_refused_with_their_keys(of_text: Path) -> None:
    documents = [{"year": 1967, "attributes": {"body": "amber"}}]
    with pytest.raises(InvalidInputError, match=r"documents: expected text, got none in 'year, attributes'\."):
        rerank.rerank_texts("unsupervised", "amber", documents)
    mixed = [{"title": None}, {"title": "amber"}]
    assert [text.document for text in rerank.rerank_texts("unsupervised", "amber", mixed)] == [1, 0]


def test_a_table_of_arrow_is_ranked_as_its_rows(of_text: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = {"title": ["amber", "cold"], "body": ["stone", "water"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert rerank.rerank_texts(of_text, "amber", arrow.table(columns)) == rerank.rerank_texts(of_text, "amber", rows)
