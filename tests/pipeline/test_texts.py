"""Texts that no index holds: their features are those of indexed documents, bit for bit."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rerank
from rerank.cli.main import main
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.families.functions import FUNCTIONS
from rerank.features.family import index_family_names
from rerank.features.recipe import Recipe
from rerank.features.text_bm25 import bm25_scores
from rerank.index.query_texts import texts_of_queries
from rerank.index.text_collection import TextCollection
from rerank.index.texts import TextOptions, text_features
from rerank.lucene import texts as lucene_texts
from rerank.lucene.text_documents import MOST_CHARACTERS
from rerank.pipeline.rerank import rerank as rerank_run
from rerank.plugins.texts import TextReranker
from rerank.runtime.codec import plain, restored
from rerank.types import Retriever
from rerank.types.statistics import Statistics
from tests.tiny import Tiny

EVERY = Recipe(families=(*index_family_names(), "lsi"))


@cache
def with_vectors(index: rerank.Index, **options: Any) -> rerank.Index:
    """Return the index with vectors of it, which the recipe of every family needs."""
    return index.using(vectors=rerank.Vectors.learn(index, dimensions=9), **options)


SPACES = (" ", "  ", "\t", "\n", "\r\n", "\x0b", "\x0c", "\x1f", "\u00a0", "\u2003", "\u0085")
LETTERS = (
    *("The", "the", "of", "to", "and", "running", "runs", "cells", "don't", "O'Neil's", "U.S.A.", "x-ray", "3.14"),
    *("a_b", "foo:bar", "1,000", "e.g.", "cancer(s),", "naïve", "café", "cafe\u0301", "😀", "👨‍👩‍👧", "1️⃣"),
    *("流れ", "東京都", "한국어", "ก็ไม่", "שלום", "ß", "İstanbul", "\u0301mark", "\u200dzwj", "\u00adsoft", "ﬁ", "#1"),
    *("12345678", "123456789", "1234567890123456", "x" * 127, "y" * 128, "z" * 129, "-" * 200 + "end", "q" * 600),
)
LANGUAGES = ("en", "zh", "de")


def awkward(seed: int, n_documents: int = 60) -> list[dict[str, Any]]:
    """Return documents of letters and spaces that tokenisers treat differently."""
    draw = random.Random(seed)

    def text(most: int) -> str:
        parts = [draw.choice(LETTERS) + draw.choice(SPACES) * draw.choice((0, 1, 1, 1)) for _ in range(most)]
        return "".join(parts[: draw.randrange(most)])

    documents: list[dict[str, Any]] = [
        {"id": f"d{number}", "title": text(6), "body": text(60), "note": text(4), "year": 1900 + number}
        for number in range(n_documents)
    ]
    documents += [
        {"id": "own", "contents": "running cells of the U.S.A.", "title": "the", "body": "x-ray"},
        {"id": "long", "title": "cells", "body": " ".join(draw.choices(LETTERS, k=3000))},
        {"id": "same", "title": documents[0]["title"], "body": documents[0]["body"], "note": documents[0]["note"]},
        {"id": "few", "title": "running running the cells"},
        {"id": "parts", "title": ["cells", "of", "x-ray"], "body": "running", "year": 2.5},
    ]
    return documents


TOPICS = {
    "q1": "running cells of the x-ray",
    "q2": "東京都 café naïve",
    "q3": "the",
    "q4": "unheardof cells 流れ 1,000",
}


@pytest.fixture(scope="session", params=LANGUAGES)
def awkward_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    folder = tmp_path_factory.mktemp("texts") / "index"
    with rerank.Index.build(awkward(1), folder, language=request.param) as index:
        yield index


def scores_of(index: rerank.Index, seed: int = 0) -> dict[str, float]:
    """Return a score of every document of an index, with ties."""
    draw = random.Random(seed)
    return {str(doc_id): draw.randrange(20) / 4 for doc_id in index.forward.doc_ids}


def assert_equal(given: rerank.RankingData, expected: rerank.RankingData) -> None:
    assert given.feature_names == expected.feature_names
    assert given.doc_ids.tolist() == expected.doc_ids.tolist()
    differing = (given.X.view(np.uint32) != expected.X.view(np.uint32)).any(axis=0)
    assert [name for name, differs in zip(given.feature_names, differing, strict=True) if differs] == []
    assert np.array_equal(given.base_scores, expected.base_scores)  # type: ignore[arg-type]


def given(documents: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {each["id"]: each for each in documents}


def held(index: rerank.Index, documents: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the documents that an index holds: it leaves out those without tokens in `contents`."""
    doc_ids = set(index.forward.doc_ids.tolist())
    return {each["id"]: each for each in documents if each["id"] in doc_ids}


def test_features_of_texts_equal_those_of_the_index(awkward_index: rerank.Index) -> None:
    documents, scores = held(awkward_index, awkward(1)), scores_of(awkward_index)
    run = {query_id: scores for query_id in TOPICS}
    index = with_vectors(awkward_index)
    expected = index.features(run, TOPICS, recipe=EVERY)
    texts = dict.fromkeys(TOPICS, documents)
    assert_equal(index.text_features(TOPICS, texts, scores=run, recipe=EVERY), expected)
    for query_id, query in TOPICS.items():
        one = index.text_features(query, documents, scores=scores, recipe=EVERY)
        assert np.array_equal(one.X.view(np.uint32), expected.X[expected.rows(query_id)].view(np.uint32))


def test_features_of_texts_need_the_statistics_of_the_index_alone(awkward_index: rerank.Index) -> None:
    """Those of all texts: of documents of the index, and of others, whose terms it does not have."""
    stored = plain(Statistics.of(awkward_index.forward, awkward_index.searcher.joined_fields))
    alone = TextCollection(restored(Statistics, json.loads(json.dumps(stored))))
    documents = {**given(awkward(1)), **{f"other-{name}": each for name, each in given(awkward(2)).items()}}
    texts = texts_of_queries(TOPICS, dict.fromkeys(TOPICS, documents))
    recipe = Recipe(families=index_family_names())
    expected = awkward_index.text_features(TOPICS, dict.fromkeys(TOPICS, documents), recipe=recipe)
    assert_equal(text_features(alone, texts, TextOptions(recipe=recipe)), expected)


def _letters(texts: list[str]) -> np.ndarray:
    return np.array([[1.0 + text.count(letter) for letter in "aeiou "] for text in texts])


def test_encoder_reads_texts_as_the_index_stores_them(
    awkward_index: rerank.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path))
    documents, scores = held(awkward_index, awkward(1)), scores_of(awkward_index)
    run = {query_id: scores for query_id in TOPICS}
    bound = awkward_index.using(encoder=_letters)
    expected = bound.features(run, TOPICS)
    texts = bound.text_features(TOPICS, dict.fromkeys(TOPICS, documents), scores=run)
    assert_equal(texts, expected)
    assert np.unique(texts.column("encoder.cosine")).size > 3


def test_texts_are_ranked_by_a_model_that_was_trained_with_an_encoder(
    index: rerank.Index, collection: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path))
    run = index.search(collection.topics, k=50)
    recipe = rerank.Recipe(families=("encoder",))
    bound = index.using(encoder=_letters)
    data = bound.features(run, collection.topics, collection.qrels, recipe=recipe)
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=2).fit(data)
    texts = {
        document["id"]: {"title": document["title"], "body": document["body"]} for document in collection.documents
    }
    expected = model.rank(data)
    given = {doc_id: texts[doc_id] for doc_id in run["q1"]}
    ranked = rerank.rerank_texts(model, collection.topics["q1"], given, scores=run["q1"], index=bound)
    assert dict(ranked) == expected["q1"]
    with pytest.raises(InvalidInputError, match=r"encoder: expected the encoder .*_letters, got none"):
        rerank.rerank_texts(model, collection.topics["q1"], given, index=index)


def test_analysis_of_texts_equals_that_of_the_index_when_texts_are_drawn_at_random(
    awkward_index: rerank.Index, tmp_path: Path
) -> None:
    documents = awkward(7, n_documents=300)
    with rerank.Index.build(documents, tmp_path / "index", language=awkward_index.searcher.language) as index:
        scores = scores_of(index)
        expected = index.features({"q1": scores}, TOPICS)
        assert_equal(index.text_features(TOPICS["q1"], held(index, documents), scores=scores), expected)


def test_features_depend_neither_on_the_order_of_texts_nor_on_threads_nor_on_earlier_texts(
    awkward_index: rerank.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lucene_texts, "_FEW_BYTES", 0)
    documents = given(awkward(2))
    expected = with_vectors(awkward_index, threads=1).text_features(TOPICS["q1"], documents, recipe=EVERY)
    names = list(documents)
    for seed in range(4):
        random.Random(seed).shuffle(names)
        shuffled = {name: documents[name] for name in names}
        bound = with_vectors(awkward_index, threads=1 + seed % 2)
        again = bound.text_features(TOPICS["q1"], shuffled, recipe=EVERY)
        assert_equal(again, expected)
        if seed == 2:
            monkeypatch.setattr(lucene_texts, "MOST_WORDS", 10)  # so the next call begins anew


def test_new_terms_give_finite_features(awkward_index: rerank.Index) -> None:
    draw = random.Random(3)
    words = ["".join(draw.choices("abcdefgh", k=9)) for _ in range(3000)] + ["cells", "1900", "東京都"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(1, 80))) for _ in range(50)]
    texts += ["", "the", " ", "newword " * 500, texts[0]]
    for query in (f"{words[0]} newword cells", "newword", words[0]):
        data = with_vectors(awkward_index).text_features(query, texts, recipe=EVERY)
        assert not np.isinf(data.X).any()
        newest = data.doc_ids.tolist().index("53")
        assert data.column("stream_length.contents")[newest] == 500
        assert data.column("unique_terms.contents")[newest] == 1
    matched = awkward_index.text_features("newword", texts)
    assert matched.doc_ids[0] == "53"
    assert matched.column("bm25.contents")[0] > 0


def test_new_query_terms_of_other_texts_leave_a_query_as_it_is(awkward_index: rerank.Index) -> None:
    documents, scores = held(awkward_index, awkward(1)), scores_of(awkward_index)
    query = "brandnew cells"
    expected = awkward_index.features({"q": scores}, {"q": query})
    both = awkward_index.text_features(
        {"q": query, "other": query},
        {"q": documents, "other": ["brandnew"]},
        scores={"q": scores, "other": [1.0]},
    )
    assert np.array_equal(both.X[both.rows("q")].view(np.uint32), expected.X.view(np.uint32))
    assert both.column("bm25.contents")[both.rows("other")][0] > 0


def assert_texts_of_hits_equal_hits(
    index: rerank.Index, topics: Mapping[str, str], documents: Mapping[str, Any], k: int, **recipe: Any
) -> None:
    """Check that texts without scores have the features of a search's hits: the same scores, the same order of ties."""
    run = index.search(topics, k)
    texts = {query_id: {doc_id: documents[doc_id] for doc_id in run[query_id]} for query_id in run}
    data = index.text_features(topics, texts, **recipe)
    assert data.retriever == run.retriever
    assert_equal(data, index.features(run, topics, **recipe))


def test_texts_without_scores_have_the_features_of_hits(awkward_index: rerank.Index) -> None:
    topics = {query_id: TOPICS[query_id] for query_id in ("q1", "q2", "q4")}  # the third one has no hits in English
    index = with_vectors(awkward_index)
    assert_texts_of_hits_equal_hits(index, topics, held(index, awkward(1)), 1000, recipe=EVERY)


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[rerank.Index, Any, Any]]:
    folder = shared_data / "collections" / "cranfield"
    documents = given([json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf8").splitlines()])
    with rerank.Index.build(documents.values(), tmp_path_factory.mktemp("cranfield") / "index") as index:
        yield index, rerank.read_topics(folder / "topics.tsv"), documents


@pytest.mark.slow("7 s: a real collection")
def test_texts_without_scores_have_the_features_of_hits_on_real_documents(
    cranfield: tuple[rerank.Index, rerank.Topics, Any],
) -> None:
    index, topics, documents = cranfield
    assert_texts_of_hits_equal_hits(index, dict(list(topics.items())[::9]), documents, 100)


@pytest.mark.parametrize(
    ("k1", "b", "field"),
    [(0.9, 0.4, "contents"), (1.2, 0.75, "title"), (0.0, 0.4, "body"), (2.5, 1.0, "contents"), (1e9, 0.3, "body")],
)
def test_scores_of_documents_are_those_of_a_search(
    cranfield: tuple[rerank.Index, rerank.Topics, Any], k1: float, b: float, field: str
) -> None:
    index, topics, _ = cranfield
    run = index.search(topics, k=1000, k1=k1, b=b, field=field)
    numbers = index.forward.doc_numbers(run.doc_ids)
    terms = index.searcher.analyze(list(topics.values()))
    scores = bm25_scores(index.forward, terms, run.query_ptr, numbers, Retriever.bm25(k1, b, field))
    assert np.array_equal(scores, run.scores)


def test_query_ids_of_texts_and_scores_may_be_whole_numbers(index: rerank.Index) -> None:
    data = index.text_features({1: "amber"}, {1: ["amber", "birch"]}, scores={1: [1.0, 2.0]})  # type: ignore[dict-item]
    same = index.text_features({"1": "amber"}, {"1": ["amber", "birch"]}, scores={"1": [1.0, 2.0]})
    assert_equal(data, same)


def test_plain_text_fills_one_field_and_contents(index: rerank.Index, collection: Tiny) -> None:
    texts = [each["body"] for each in collection.documents[:5]]
    query = collection.topics["q0"]
    plain = index.text_features(query, texts, field="contents")
    assert np.array_equal(plain.X, index.text_features(query, [{"contents": text} for text in texts]).X, equal_nan=True)
    assert (plain.column("stream_length.body") == 0).all()
    body = index.text_features(query, texts)  # body holds most of the words of this index
    fields = index.text_features(query, [{"body": text} for text in texts])
    assert np.array_equal(body.X, fields.X, equal_nan=True)
    assert np.array_equal(body.column("stream_length.body"), body.column("stream_length.contents"))


def test_contents_are_joined_in_the_order_of_the_build(tmp_path: Path) -> None:
    documents = [{"id": "a", "one": "red green", "two": "blue red"}, {"id": "b", "one": "green", "two": "green blue"}]
    for number, fields in enumerate((["two", "one"], ["one", "two"], None)):
        with rerank.Index.build(documents, tmp_path / str(number), fields=fields) as built:
            index = with_vectors(built)
            scores = {"a": 2.0, "b": 1.0}
            expected = index.features({"q": scores}, {"q": "red green blue"}, recipe=EVERY)
            texts_of_queries = given(documents)
            assert_equal(
                index.text_features("red green blue", texts_of_queries, scores=scores, recipe=EVERY),
                expected,
            )
            swapped = {key: dict(reversed(list(each.items()))) for key, each in texts_of_queries.items()}
            again = index.text_features("red green blue", swapped, scores=scores, recipe=EVERY)
            assert_equal(again, expected)


def test_order_of_the_members_of_documents_has_no_effect(tmp_path: Path) -> None:
    documents = [{"id": "a", "b": "red green", "c": "blue red", "title": "red"}, {"id": "b", "c": "green", "b": "blue"}]
    data = []
    for number, written in enumerate((documents, [dict(reversed(each.items())) for each in documents])):
        with rerank.Index.build(written, tmp_path / str(number)) as built:
            recipe = Recipe(families=("letor", "proximity"))
            data.append(built.features({"q": {"a": 2.0, "b": 1.0}}, {"q": "red green blue"}, recipe=recipe))
    assert_equal(*data)


def test_functions_over_documents_take_the_given_document(awkward_index: rerank.Index) -> None:
    rerank.feature("whole", over="document")(
        lambda tokens, document: len(document["contents"]) + document.get("year", 0)
    )
    rerank.feature("held")(lambda matches: matches.field.doc_freq[matches.field.terms].sum() + matches.tf.sum(axis=1))
    try:
        documents, scores = held(awkward_index, awkward(1)), scores_of(awkward_index)
        recipe = Recipe(families=("document", "static", "letor"))
        expected = awkward_index.features({"q1": scores}, TOPICS, recipe=recipe)
        assert_equal(awkward_index.text_features(TOPICS["q1"], documents, scores=scores, recipe=recipe), expected)
        data = awkward_index.text_features("x", ["brand new words"], recipe=Recipe(families=("function",)))
        assert np.isfinite(data.X).all()
    finally:
        FUNCTIONS.clear()


def test_batches_of_queries_equal_one_batch(
    index: rerank.Index, collection: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {query_id: given(collection.documents[:20]) for query_id in collection.topics}
    expected = index.text_features(collection.topics, documents)
    monkeypatch.setattr("rerank.index.texts._BATCH_ROWS", 30)
    assert_equal(index.text_features(collection.topics, documents), expected)
    monkeypatch.setattr(lucene_texts, "_REQUEST_BYTES", 100)
    for name in ("MOST_WORDS", "MOST_TOKENS"):  # what was kept is forgotten
        monkeypatch.setattr(lucene_texts, name, 5)
        assert_equal(index.text_features(collection.topics, documents), expected)


@pytest.fixture(scope="module")
def model(index: rerank.Index, collection: Tiny) -> rerank.LambdaMART:
    run = index.search(collection.topics, k=60)
    data = index.features(run, collection.topics, collection.qrels)
    return rerank.LambdaMART(n_estimators=10, min_child_samples=2).fit(data)


def test_rerank_texts_gives_scores_of_rank_in_falling_order(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    query, texts = collection.topics["q0"], collection.documents[:40] + collection.documents[:5]
    ranked = rerank.rerank_texts(model, query, texts, index=index)
    assert ranked == rerank.rerank_texts(model, query, texts, index=index.path)
    expected = model.rank(index.text_features(query, texts))
    assert {f"{each.document:02d}": each.score for each in ranked} == expected["query"]
    assert rerank.rerank_texts(model, query, iter(texts), k=3, index=index) == ranked[:3]
    named = rerank.rerank_texts(model, query, {7: texts[0], "x": texts[1]}, index=index)
    assert {each.document for each in named} == {7, "x"}
    assert all(first.score >= second.score for first, second in pairwise(ranked))


def test_documents_without_a_common_word_have_no_similarity_from_rounding(tmp_path: Path) -> None:
    """Standardised, a difference of 1e-9 weighs as much as BM25's."""
    bodies = ["heat flow in a wing", "shock waves", "the laminar boundary layer heat", "pasta and sauce", "a plane"]
    small = rerank.Index.build([{"id": str(n), "body": body} for n, body in enumerate(bodies)], tmp_path / "index")
    for texts in (["pasta", "heat"], ["pasta recipe", "heat"], ["pasta", "heat", "heat"]):
        assert rerank.rerank_texts("unsupervised", "heat", texts, index=small)[0].document == 1
        assert not small.text_features("heat", texts).column("similarity_10.contents").any()


def test_rows_of_a_data_frame_are_texts_by_field(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    """Missing values are left out."""
    texts = [{"contents": text} for text in ("amber river", "stone", "amber amber")]
    table = pd.DataFrame([*texts, {"contents": None}, {"contents": np.nan}], index=[7, 8, 9, 10, 11])
    query = collection.topics["q1"]
    ranked = rerank.rerank_texts(model, query, table, index=index)
    assert ranked == rerank.rerank_texts(model, query, [*texts, {}, {}], index=index)
    assert {each.document for each in ranked} == {0, 1, 2, 3, 4}
    assert index.text_passages(query, table) == index.text_passages(query, [*texts, {}, {}])


def test_rows_of_a_data_frame_of_several_queries_are_refused(index: rerank.Index, model: rerank.LambdaMART) -> None:
    texts = ["amber river", "stone", "amber amber"]
    of_one = pd.DataFrame({"qid": ["q1"] * 3, "docno": ["a", "b", "c"], "text": texts})
    assert len(rerank.rerank_texts(model, "amber", of_one, index=index)) == 3
    with pytest.raises(InvalidInputError, match=r"documents: expected those of one query, got rows of 2 \(qid\)"):
        rerank.rerank_texts(model, "amber", of_one.assign(qid=["q1", "q1", "q2"]), index=index)


def test_rerank_texts_orders_equal_scores_by_position(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    query, texts, scores = collection.topics["q0"], [collection.documents[0]] * 12, [1.0] * 12
    ranked = rerank.rerank_texts(model, query, texts, scores=scores, index=index)
    assert ranked == sorted(ranked, key=lambda text: (-text.score, text.document))
    assert len({each.score for each in ranked}) < 12
    named = {f"d{number}": text for number, text in zip(reversed(range(12)), texts, strict=True)}
    of_names = rerank.rerank_texts(model, query, named, scores=scores, index=index)
    assert of_names == sorted(of_names, key=lambda text: (-text.score, list(named).index(str(text.document))))


def test_rerank_of_texts_equals_rerank_of_the_index(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    run, documents = index.search(collection.topics, k=60), given(collection.documents)
    expected = rerank_run(index, model, collection.topics, run)
    for query_id, query in collection.topics.items():
        scores = run[query_id]
        texts = {doc_id: documents[doc_id] for doc_id in scores}
        ranked = rerank.rerank_texts(model, query, texts, scores=scores, index=index)
        assert dict(ranked) == expected[query_id]


def test_model_of_another_index_is_refused(
    other_index: rerank.Index, collection: Tiny, model: rerank.LambdaMART
) -> None:
    with pytest.raises(ModelMismatchError, match="expected the index that the model was trained on"):
        rerank.rerank_texts(model, "amber", ["amber"], index=other_index)
    assert rerank.rerank_texts(model, "amber", ["amber"], index=other_index.using(check_models=False))[0].document == 0


LONE, NUL = "lone \ud800", "nul \0"
FAULTS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "no texts": ("wing", [], {}, "documents: expected at least one text, got none"),
    "one text": ("wing", "flow", {}, "documents: expected a list of texts, .* got str"),
    "a set": ("wing", {"flow"}, {}, "documents: expected a list of texts, .* got set"),
    "no list": ("wing", 7, {}, "documents: expected a list of texts, .* got int"),
    "number": ("wing", ["flow", 7], {}, r"documents: 1: expected text, or a mapping of fields, got int"),
    "none": ("wing", [None], {}, r"documents: 0: expected text, or a mapping of fields, got NoneType"),
    "field": ("wing", [{"tilte": "x"}], {}, r"documents: 0: expected fields of the index \(.*\), got 'tilte'"),
    "number field": ("wing", [{"price": 3}], {}, r"documents: 0: expected fields of the index \(.*\), got 'price'"),
    "value": ("wing", [{"title": 3}], {}, "documents: 0: expected text in field 'title', got int"),
    "nested": ("wing", [{"title": {"a": "b"}}], {}, "documents: 0: expected text in field 'title', got dict"),
    "plain field": ("wing", ["flow"], {"field": "tilte"}, "field: expected a known name, got 'tilte'"),
    "empty query": (" ", ["flow"], {}, "query: expected text, got ' '"),
    "surrogate": (
        "wing",
        ["flow", LONE],
        {},
        "documents: 1: expected Unicode text in field 'body', got one with a",
    ),
    "nul": (
        "wing",
        {"d": {"title": NUL}},
        {},
        "documents: d: expected Unicode text in field 'title', got one with NUL",
    ),
    "long": ("wing", ["x" * (MOST_CHARACTERS + 1)], {}, "documents: 0: expected at most 16,777,216 characters"),
    "id": ("wing", {"a b": "flow"}, {}, "documents: expected ids of 1 to"),
    "ids": ("wing", {1: "flow", "1": "wing"}, {}, "documents: expected each id once"),
    "scores": ("wing", ["flow"], {"scores": [1.0, 2.0]}, "scores: expected a finite number for each of the 1 texts"),
    "words": ("wing", ["flow"], {"scores": ["high"]}, "finite number for each of the 1 texts of .*, got others"),
    "nan": ("wing", ["flow"], {"scores": [np.nan]}, "scores: expected a finite number for each of the 1 texts"),
    "score ids": ("wing", {"d": "flow"}, {"scores": {"e": 1.0}}, "scores: expected a finite number"),
    "no mapping": (
        {"q": "wing"},
        ["flow"],
        {},
        "documents: expected a mapping by query id for several queries, got list",
    ),
    "no query": ({"q": "wing"}, {"p": ["flow"]}, {}, "documents: expected queries of the topics, got 'p'"),
    "query without": ({"q": "a", "p": "b"}, {"q": ["c"]}, {}, "documents of query 'p': expected at least one text"),
    "several": ({"q": "wing"}, {"q": [7]}, {}, "documents: query 'q', 0: expected text"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_texts_are_refused_in_one_line(name: str, index: rerank.Index) -> None:
    query, documents, options, message = FAULTS[name]
    with pytest.raises(InvalidInputError, match=message) as refused:
        index.text_features(query, documents, **options)
    assert "\n" not in str(refused.value)
    assert index.text_features("wing", ["flow"]).n_rows == 1  # the index goes on


def test_too_many_texts_are_refused(index: rerank.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.index.query_texts.MOST_TEXTS", 2)
    with pytest.raises(InvalidInputError, match="expected at most 2 texts, got 3"):
        index.text_features("wing", ["flow"] * 3)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
def test_k_below_one_is_refused(k: Any, index: rerank.Index, model: rerank.LambdaMART) -> None:
    with pytest.raises(InvalidInputError, match=r"k: expected .*1 to 2147483647"):
        rerank.rerank_texts(model, "amber", ["amber"], k, index=index)


def test_closed_index_opens_again_for_texts(collection: Tiny, tmp_path: Path) -> None:
    index = rerank.Index.build(collection.documents, tmp_path / "index")
    first = index.text_features("amber", ["amber birch"])
    index.close()
    assert np.array_equal(index.text_features("amber", ["amber birch"]).X, first.X, equal_nan=True)
    index.close()


def test_closed_index_is_refused_in_every_thread(collection: Tiny, tmp_path: Path) -> None:
    index = rerank.Index.build(collection.documents, tmp_path / "index")
    other = index.using(threads=1)
    index.close()
    with ThreadPoolExecutor(1) as pool:
        for search in (index.search, other.search):
            with pytest.raises(InvalidInputError, match="expected an open index, got a closed one"):
                pool.submit(search, {"q": "amber"}, 5).result()


def _run_command(folder: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["rerank", str(folder / "index"), str(folder / "model.json"), str(folder / "topics.tsv"), *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def files(index: rerank.Index, collection: Tiny, model: rerank.LambdaMART, tmp_path: Path) -> Path:
    (tmp_path / "index").symlink_to(index.path)
    model.save(tmp_path / "model.json")
    collection.write(tmp_path)
    keys = ("qid", "id"), ("qid", "_id"), ("query_id", "docno")
    lines = [
        json.dumps({query: query_id, doc: each["id"], "title": each["title"], "body": each["body"]})
        for query_id, (query, doc) in zip(collection.topics, keys, strict=False)
        for each in collection.documents[:10]
    ]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_command_ranks_texts(files: Path, index: rerank.Index, collection: Tiny, model: rerank.LambdaMART) -> None:
    assert _run_command(files, "--texts", str(files / "texts.jsonl"), "-o", str(files / "run.txt"), "-k", "4") == 0
    run = rerank.read_run(files / "run.txt")
    assert list(run) == list(collection.topics)[:3]
    for query_id in run:
        expected = rerank.rerank_texts(
            model, collection.topics[query_id], given(collection.documents[:10]), index=index
        )
        scores = dict(expected)
        assert list(run[query_id].values()) == [each.score for each in expected[:4]]
        assert all(score == scores[name] for name, score in run[query_id].items())


def test_command_reads_texts_of_a_store_with_their_titles(files: Path) -> None:
    lines = (files / "texts.jsonl").read_text()
    (files / "stored.jsonl").write_text(lines.replace('"body":', '"text":').replace("}", ', "url": "a"}'))
    for name in ("texts", "stored"):
        assert _run_command(files, "--texts", str(files / f"{name}.jsonl"), "-o", str(files / f"{name}.run")) == 0
    assert (files / "stored.run").read_text() == (files / "texts.run").read_text()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"qid": "q0", "id": "d0", "text": "x"}',
            "texts.jsonl:31: expected each document once a query, got 'd0' again",
        ),
        ('{"qid": "none", "id": "d0", "text": "x"}', "texts.jsonl:31: expected a query of the topics, got 'none'"),
        (
            '{"qid": "q0", "text": "x"}',
            "texts.jsonl:31: expected an id as id, _id, pid, docid, doc_id, docno, got 'text'",
        ),
        ('{"qid": "q0", "id": "a b", "text": "x"}', "texts.jsonl:31: id: expected ids of 1 to"),
        ('{"qid": "q0", "id": "e", "text": 5}', "texts.jsonl:31: expected fields of the index"),
        ('{"qid": "q0", "id": "e", "tilte": "y"}', "texts.jsonl:31: expected fields of the index"),
        ("[]", "texts.jsonl:31: expected a JSON object"),
        ("{", "texts.jsonl:31: expected a JSON object, got"),
    ],
)
def test_command_refuses_a_faulty_line(
    line: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(files / "texts.jsonl", "a") as texts:
        texts.write(line + "\n")
    assert _run_command(files, "--texts", str(files / "texts.jsonl"), "-o", str(files / "run.txt")) == 2
    assert message in capsys.readouterr().err
    assert not (files / "run.txt").exists()


@pytest.mark.slow("22 s: a real collection")
def test_features_of_texts_equal_those_of_the_index_on_nfcorpus(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "collections" / "nfcorpus"
    documents = {}
    with open(folder / "corpus.jsonl", encoding="utf8") as lines:
        for each in map(json.loads, lines):
            documents[each["id"]] = each
    topics = dict(list(rerank.read_topics(folder / "topics.tsv").items())[:3])
    with rerank.Index.build(documents.values(), tmp_path / "index") as index:
        run = index.search(topics, k=1000)
        expected = index.features(run, topics)
        texts = {query_id: {doc_id: documents[doc_id] for doc_id in run[query_id]} for query_id in run}
        some = {query_id: topics[query_id] for query_id in run}
        assert_equal(index.text_features(some, texts, scores=run), expected)


def test_scores_of_a_run_are_numbers_of_the_texts(index: rerank.Index, collection: Tiny) -> None:
    """Texts with the scores of the run that a model was trained with have the scores of the index's documents."""
    random, run = np.random.default_rng(0), index.search(collection.topics, k=20)
    dense = {query_id: {doc: float(random.random()) for doc in run[query_id]} for query_id in run}
    bound = index.using(runs={"dense": rerank.Run.of(dense)})
    recipe = rerank.Recipe(fields=("body",), families=("run", "letor"), runs=("dense",))
    data = bound.features(run, collection.topics, collection.qrels, recipe=recipe)
    model = rerank.LambdaMART(n_estimators=10, min_child_samples=3).fit(data)
    query_id = next(iter(run))
    bodies = {each["id"]: each["body"] for each in collection.documents}
    texts = {doc: {"body": bodies[doc], "dense": dense[query_id][doc]} for doc in run[query_id]}
    query, expected = collection.topics[query_id], rerank.rerank(bound, model, collection.topics, run)[query_id]
    ranked = rerank.rerank_texts(model, query, texts, scores=run[query_id], index=index)
    assert {str(each.document): each.score for each in ranked} == pytest.approx(expected)
    assert "run.dense.score" in model.features_read()
    without = dict(list(texts.items())[1:])
    assert len(rerank.rerank_texts(model, query, {**without, "x": bodies[next(iter(texts))]}, index=index)) == len(
        texts
    )  # missing
    with pytest.raises(InvalidInputError, match=r"--run dense=FILE, or with texts as a number of each\.$"):
        rerank.rerank_texts(model, query, list(bodies.values())[:3], index=index)
    with pytest.raises(InvalidInputError, match=r"expected fields of the index .* got 'sparse'"):
        rerank.rerank_texts(model, query, [{"body": "heat", "sparse": 1.0}], index=index)
    reranker = TextReranker(index, model, "body")
    given = [reranker.with_metadata(bodies[doc], {"dense": dense[query_id][doc], "page": 3}) for doc in texts]
    assert given == list(texts.values())
