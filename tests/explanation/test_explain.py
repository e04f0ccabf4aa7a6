"""Explanations: the contributions sum to the scores, the ranks are those of a reranking, the words are plain."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.explanation.explain import ExplainedDocument, ExplainedFeature, Explanation, feature_meanings
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import known_rankers, ranker_class
from tests.evaluation.test_page import NASTY, read
from tests.tiny import Tiny

K = 25
SMALL: dict[str, Any] = {"n_estimators": 5, "num_leaves": 5, "min_child_samples": 3, "max_iter": 20, "n_epochs": 2}
SMALL |= {"hidden_units": 4, "members": "lambdamart(n_estimators=5, min_child_samples=3), ranksvm(max_iter=20)"}
EXPLAINED = [
    name
    for name, kind in known_rankers().items()
    if kind._add_contributions is not Ranker._add_contributions  # nets have none
]


def ranker(name: str, **more: Any) -> Ranker:
    """Return a small ranker, not fitted."""
    known = ranker_class(name)().get_params()
    return ranker_class(name)(**{key: value for key, value in {**SMALL, **more}.items() if key in known})


@pytest.fixture(scope="module")
def index(index: rerank.Index, collection: Tiny) -> rerank.Index:
    """The index with a run of another system, which has scores for the same documents."""
    random, run = np.random.default_rng(0), index.search(collection.topics, k=40)
    scores = {query_id: {doc: float(random.random()) for doc in run[query_id]} for query_id in run}
    return index.using(runs={"dense": replace(rerank.Run.of(scores), name="dense")})


@pytest.fixture(scope="module")
def run(index: rerank.Index, collection: Tiny) -> rerank.Run:
    return index.search(collection.topics, k=40)


@pytest.fixture(scope="module")
def dense(index: rerank.Index) -> rerank.Run:
    return index.runs["dense"]


@pytest.fixture(scope="module")
def data(index: rerank.Index, collection: Tiny, run: rerank.Run, dense: rerank.Run) -> rerank.RankingData:
    recipe = rerank.Recipe(
        families=("letor", "run", "document"), normalisation={"bm25.body": "zscore"}, runs=("dense",)
    )
    return index.features(run, collection.topics, collection.qrels, recipe=recipe)


@pytest.fixture(scope="module")
def model(data: rerank.RankingData) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=10, min_child_samples=3).fit(data)


@pytest.mark.parametrize("base", [None, "run", "feature:bm25.contents", "model", "other run"])
@pytest.mark.parametrize("name", EXPLAINED)
def test_contributions_sum_to_the_scores_and_their_difference(
    name: str,
    base: str | None,
    index: rerank.Index,
    collection: Tiny,
    data: rerank.RankingData,
    run: rerank.Run,
    dense: rerank.Run,
) -> None:
    start: Any = {"model": ranker("ranksvm").fit(data), "other run": dense}.get(str(base), base)
    given = dense if base == "other run" else None
    fitted = ranker(name, base=start).fit(data)
    arguments = index, fitted, collection.topics, "q2"
    run = run.head(K)
    new = rerank.rerank(*arguments[:3], run, base=given)
    order, before = new.doc_ids[new.rows("q2")].tolist(), run.doc_ids[run.rows("q2")].tolist()
    rounding = 1e-5 if name == "ensemble" else 1e-9  # members' scores are float32
    for documents in ([order[0], order[4]], [order[7], order[2]], order[3]):
        explained = rerank.explain(*arguments, documents, run, base=given)
        scale = max(abs(document.score) for document in explained.documents)
        for column, document in enumerate(explained.documents):
            added = sum(feature.contributions[column] for feature in explained.features)
            assert added + document.constant == pytest.approx(document.score, rel=rounding, abs=rounding * scale)
            if document.doc_id:
                assert document.score == new["q2"][document.doc_id]
                assert document.rank_before == before.index(document.doc_id) + 1
                assert document.rank_after == order.index(document.doc_id) + 1
        total = sum(feature.difference for feature in explained.features) + explained.rest
        assert total == pytest.approx(explained.difference, rel=rounding, abs=rounding * scale)
        sizes = [abs(feature.difference) for feature in explained.features]
        assert sizes == sorted(sizes, reverse=True)
        json.dumps(explained.to_dict(), allow_nan=False)
    mean = explained.documents[1]
    assert mean.score == pytest.approx(np.mean([new["q2"][doc] for doc in order]), rel=1e-9)
    assert bool(explained.base) == (base is not None)


def test_values_and_base_scores_are_those_of_the_data(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData, run: rerank.Run, dense: rerank.Run
) -> None:
    fitted = ranker("lambdamart", base="run").fit(data)
    rows = data.rows("q3")
    documents = data.doc_ids[rows].tolist()[:2]
    explained = rerank.explain(index, fitted, collection.topics, "q3", ",".join(documents), run)
    for feature in explained.features:
        np.testing.assert_array_equal(feature.values, data.column(feature.name)[rows][:2])
    assert [document.base_score for document in explained.documents] == data.base_scores[rows][:2].tolist()
    alone = rerank.explain(index, fitted, collection.topics, "q3", documents[1], run)
    means = {feature.name: feature.values[1] for feature in alone.features}
    for name in data.feature_names:
        column = data.column(name)[rows]
        expected = column[~np.isnan(column)].mean() if (~np.isnan(column)).any() else np.nan
        assert means[name] == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)
        assert means[name] == 0.0 or not abs(means[name]) < 1e-7  # that of standardised scores is 0


def test_every_feature_has_its_meaning_with_field_and_normalisation(data: rerank.RankingData) -> None:
    meanings = feature_meanings(rerank.Recipe.from_dict(data.recipe))
    assert tuple(meanings) == data.feature_names
    for name, (meaning, unit, _) in meanings.items():
        assert meaning
        assert unit or name == "bm25.body"
        assert not meaning.endswith(".")
        assert name.split(".")[-1] in ("title", "body", "contents") or "field" not in meaning.split(",")[-1]
    assert meanings["bm25.title"] == ("BM25 of the field title, as in Lucene", "nats", "title match")
    assert meanings["run.score"][2] == "scores of the retrieval"
    expected = "BM25 of the field body, as in Lucene, in standard deviations from the mean within the query"
    assert meanings["bm25.body"] == (expected, "", "body match")


def test_candidates_of_the_training_are_retrieved_where_there_is_no_run(
    index: rerank.Index, collection: Tiny, run: rerank.Run, tmp_path: Path
) -> None:
    data = index.using(runs={}).features(run, collection.topics, collection.qrels)
    model = ranker("lambdamart", base="run").fit(data)
    model.save(tmp_path / "model.json")
    document = run.doc_ids[run.rows("q5")].tolist()[3]
    from_files = rerank.explain(index.path, tmp_path / "model.json", collection.topics, "q5", document)
    assert from_files.to_dict() == rerank.explain(index, model, collection.topics, "q5", [document], run).to_dict()


@pytest.mark.parametrize(
    ("query", "documents", "message"),
    [
        ("q99", "d1", "query: expected one of the 10 topics, got 'q99'. Give the id of a topic, e.g. 'q0'."),
        (
            "q1",
            "x1",
            "documents: expected documents among the 40 that are reranked for query 'q1', got 'x1'. Give a run",
        ),
        ("q1", ["FIRST", "x1"], "got 'x1'. Give a run that holds it."),
        ("q1", ["FIRST", "FIRST"], "documents: expected one document or two different ones, got"),
        ("q1", [], "documents: expected one document or two different ones, got"),
        ("q1", "FIRST,x,y", "got 'x,y'"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    query: str,
    documents: Any,
    message: str,
    index: rerank.Index,
    collection: Tiny,
    model: Ranker,
    run: rerank.Run,
    dense: rerank.Run,
) -> None:
    first = str(run.doc_ids[run.rows("q1")][0])
    given = [name.replace("FIRST", first) for name in ([documents] if isinstance(documents, str) else documents)]
    with pytest.raises(InvalidInputError) as error:
        rerank.explain(index, model, collection.topics, query, given, run)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_models_that_have_no_contributions_or_no_recipe_are_refused(
    index: rerank.Index, collection: Tiny, data: rerank.RankingData, run: rerank.Run, dense: rerank.Run
) -> None:
    document = str(run.doc_ids[run.rows("q1")][0])
    arguments: Any = collection.topics, "q1", document, run
    net, bare = ranker("ranknet").fit(data), ranker("ranksvm").fit(replace(data, recipe=None))
    with pytest.raises(InvalidInputError, match="contributions: expected a ranker of trees or a linear one, got rankn"):
        rerank.explain(index, net, *arguments)
    members = ranker("ensemble", members="ranksvm(max_iter=5), ranknet(n_epochs=1, hidden_units=2)").fit(data)
    with pytest.raises(InvalidInputError, match="contributions: expected a ranker of trees or a linear one, got rankn"):
        rerank.explain(index, members, *arguments)
    boosted = ranker("ensemble", second="boosted", n_folds=2).fit(data)
    with pytest.raises(InvalidInputError, match="contributions: expected an ensemble with a linear second stage"):
        rerank.explain(index, boosted, *arguments)
    with pytest.raises(ModelMismatchError, match="model: expected the recipe of its features, got none"):
        rerank.explain(index, bare, *arguments)
    with pytest.raises(InvalidInputError, match="run: expected candidates of query 'q1', got none"):
        rerank.explain(index, net, *arguments[:3], {"q2": run["q2"]})


def test_document_ids_may_contain_commas(tmp_path: Path, collection: Tiny) -> None:
    documents = [{**document, "id": f"{document['id']},x"} for document in collection.documents]
    qrels = {query: {f"{doc},x": label for doc, label in docs.items()} for query, docs in collection.qrels.items()}
    with rerank.Index.build(documents, tmp_path / "index") as index:
        run = index.search(collection.topics, k=10)
        model = ranker("ranksvm").fit(index.features(run, collection.topics, qrels))
        first, second = run.doc_ids[run.rows("q1")].tolist()[:2]
        for given in ([first, second], (f"{first},{second}",), f"{first},{second}"):
            explained = rerank.explain(index, model, collection.topics, "q1", given)
            assert [document.doc_id for document in explained.documents] == [first, second]
        assert rerank.explain(index, model, collection.topics, "q1", first).documents[1].doc_id == ""


def example(text: str = "", mean: bool = False) -> Explanation:
    """Return an explanation made by hand; `text` is added to every name."""
    features = (
        ExplainedFeature(f"bm25.title{text}", f"BM25 of the title{text}", "nats", (12.125, 3.0), (0.3, 0.08)),
        ExplainedFeature(f"length{text}", f"Length{text}", "tokens", (9.0, math.nan), (-0.02, 0.03)),
        ExplainedFeature(f"unused{text}", f"Nothing{text}", "", (1.0, 1.0), (0.0, 0.0)),
    )
    first = ExplainedDocument(f"A{text}", 4, 1, 1.28, 1.0, 1.0)
    second = ExplainedDocument("" if mean else f"B{text}", None if mean else 2, None if mean else 3, 0.97, 0.86, 0.86)
    base = f"the score of the candidates' run{text}"
    return Explanation(f"q1{text}", f"heat flow{text}", "lambdamart", base, 10, (first, second), features)


def test_words_name_the_features_with_values_and_meanings() -> None:
    ranks, reasons, base = example().sentences()
    assert ranks == (
        "A: rank 4 of the candidates, 1 after reranking, score 1.28.\n"
        "B: rank 2 of the candidates, 3 after reranking, score 0.97."
    )
    assert reasons == (
        "A is above B by 0.31: bm25.title adds 0.22 (A 12.12, B 3: BM25 of the title); the score of the candidates' "
        "run adds 0.14 (A 1, B 0.86). Against this, length takes 0.05 (A 9, B missing: Length)."
    )
    assert base == "The model starts from the score of the candidates' run (A 1, B 0.86)."
    text = str(example())
    assert text.startswith("# Why A is above B\n\nQuery q1: heat flow\n\n## Summary\n\nA: rank 4")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert [row for row in table if row[0] in ("bm25.title", "(no feature)", "score")] == [
        ["bm25.title", "12.12", "3", "+0.3", "+0.08", "+0.22"],
        ["(no feature)", "", "", "+1", "+0.86", "+0.14"],
        ["score", "", "", "+1.28", "+0.97", "+0.31"],
    ]
    assert "A is above the mean of its 10 candidates by 0.31: bm25.title adds" in str(example(mean=True))
    assert example().title == "Why A is above B"
    assert example(mean=True).title == "Why A is above the mean of its query"


def test_words_sum_the_features_of_each_kind_of_evidence() -> None:
    plain = example()
    kinds = ("title match", "body proximity", "body proximity")
    features = tuple(replace(each, evidence=kind) for each, kind in zip(plain.features, kinds, strict=True))
    explained = replace(plain, features=features)
    start = "the score of the candidates' run"
    assert list(explained.by_evidence()) == ["title match", start, "body proximity"]
    assert list(explained.by_evidence().values()) == pytest.approx([0.22, 0.14, -0.05])
    words = f"A beside B, by evidence: title match +0.22; {start} +0.14; body proximity -0.05."
    assert explained.sentences()[1] == words
    assert words in explained.to_html()
    assert sum(explained.by_evidence().values()) == pytest.approx(explained.difference)
    assert plain.sentences()[1].startswith("A is above B")  # the data do not say what the features are


def test_words_follow_the_order_where_scores_do_not_tell_it() -> None:
    explained = example()
    first, second = explained.documents
    below = replace(explained, documents=(second, first))
    assert below.sentences()[1].startswith("B is below A by 0.31")
    same = replace(first, doc_id="C", rank_after=2)
    features = tuple(replace(feature, contributions=(feature.contributions[0],) * 2) for feature in explained.features)
    tied = replace(explained, documents=(first, same), features=features)
    assert (
        tied.sentences()[1] == "No feature distinguishes A from C: equal scores are ordered by document id, descending."
    )


def test_page_runs_nothing_and_shows_every_text_as_it_is() -> None:
    page = example(NASTY).to_html()
    reader = read(page)
    assert not {tag for tag, _ in reader.tags} & {"script", "img", "link", "iframe", "object", "base", "form", "image"}
    for _, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
    assert reader.text.count(NASTY) > 15
    assert "+0.22" in reader.text
    assert "missing" in reader.text


def test_notebook_shows_the_text_without_markup() -> None:
    assert "<script>" not in example(NASTY)._repr_markdown_()
    assert repr(example()) == str(example())
