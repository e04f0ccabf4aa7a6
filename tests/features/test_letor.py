"""The LETOR family against its oracle, on every awkward case."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from rank_bm25 import BM25L, BM25Okapi

from rerank.features.extract import extract
from rerank.features.recipe import Recipe
from rerank.types import RankingData, Run, query_rows
from tests.features.awkward import QUERIES, words
from tests.features.collection import Documents, forward_index
from tests.oracles.features import FIELD_FEATURES, Pair, Texts, lucene_length

LETOR = Recipe(families=("letor",))
OTHER_PARAMETERS = Recipe(
    families=("letor",),
    bm25_k1=1.6,
    bm25_b=0.8,
    lm_absolute_delta=0.3,
    lm_dirichlet_mu=50,
    lm_jelinek_mercer_lambda=0.7,
)


def assert_features_equal_oracle(
    data: RankingData, documents: Documents, queries: dict[str, list[str]], recipe: Recipe
) -> None:
    query_of_row = data.query_ids[query_rows(data.query_ptr)]
    for name in data.feature_names:
        stem, field = name.split(".")
        if stem in ("run", "query"):
            continue
        collection = Texts(document.get(field, []) for document in documents.values())
        expected = [
            FIELD_FEATURES[stem](
                Pair(queries[query_id], documents[doc_id].get(field, []), collection, recipe.to_dict())
            )
            for query_id, doc_id in zip(query_of_row.tolist(), data.doc_ids.tolist(), strict=True)
        ]
        np.testing.assert_allclose(data.column(name), expected, rtol=2e-6, atol=2e-7, err_msg=name)


@pytest.mark.parametrize("recipe", [LETOR, OTHER_PARAMETERS], ids=["defaults", "other"])
def test_letor_features_equal_oracle(documents: Documents, run: Run, recipe: Recipe) -> None:
    data = extract(forward_index(documents), QUERIES, run, recipe)
    assert len(data.feature_names) == 3 * 26
    assert_features_equal_oracle(data, documents, QUERIES, recipe)


WORDS = st.sampled_from(["heat", "flow", "wing", "a", "é", "zeppelin"])
FIELDS = st.fixed_dictionaries({"title": st.lists(WORDS, max_size=4), "body": st.lists(WORDS, max_size=60)})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(FIELDS, min_size=1, max_size=6),
    queries=st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=3),
)
def test_letor_features_equal_oracle_for_any_collection(
    texts: list[dict[str, list[str]]], queries: list[list[str]]
) -> None:
    documents = {f"d{number}": text for number, text in enumerate(texts)}
    by_id = {f"q{number}": tokens for number, tokens in enumerate(queries)}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in by_id})
    data = extract(forward_index(documents), by_id, run, LETOR)
    assert_features_equal_oracle(data, documents, by_id, LETOR)


def test_letor_features_equal_hand_computed_values() -> None:
    """Two documents, worked out on paper: N = 2, df(heat) = 1, df(flow) = 2, 6 tokens in all."""
    documents = {"d1": {"contents": ["heat", "heat", "flow", "pipe"]}, "d2": {"contents": ["flow", "wing"]}}
    data = extract(forward_index(documents), {"q": ["heat", "flow"]}, Run.of({"q": {"d1": 2.0, "d2": 1.0}}))
    first = {name: data.column(name)[0] for name in data.feature_names}
    idf_heat, idf_flow = np.log(1 + 1.5 / 1.5), np.log(1 + 0.5 / 2.5)
    half = 0.9 * (0.6 + 0.4 * 4 / 3)
    assert first["covered.contents"] == 2
    assert first["boolean.contents"] == 1
    assert first["normalised_tf_max.contents"] == 0.5
    assert first["tf_variance.contents"] == 0.25
    assert first["idf_sum.contents"] == pytest.approx(idf_heat + idf_flow)
    assert first["bm25.contents"] == pytest.approx(idf_heat * 2 / (2 + half) + idf_flow / (1 + half))
    assert first["lm_dirichlet.contents"] == pytest.approx(
        np.log((2 + 1000 / 3) / 1004) + np.log((1 + 1000 / 3) / 1004)
    )
    assert first["lm_jelinek_mercer.contents"] == pytest.approx(
        np.log(0.9 * 2 / 4 + 0.1 / 3) + np.log(0.9 / 4 + 0.1 / 3)
    )
    assert first["lm_absolute.contents"] == pytest.approx(
        np.log(1.3 / 4 + 0.7 * 3 / 4 / 3) + np.log(0.3 / 4 + 0.7 * 3 / 4 / 3)
    )


def test_bm25_equals_rank_bm25_when_its_constants_are_mapped(documents: Documents) -> None:
    """rank_bm25 has Lucene's parts in two classes: BM25L's idf, ln(N + 1) - ln(df + 0.5), is Lucene's;
    BM25Okapi's tf part is Lucene's times k1 + 1. Lengths are put in as Lucene encodes them; avgdl is exact.
    """
    texts = {doc_id: text for doc_id, text in documents.items() if text["contents"]}
    corpus = [list(text["contents"]) for text in texts.values()]
    okapi = BM25Okapi(corpus, k1=0.9, b=0.4)
    okapi.idf = BM25L(corpus).idf
    okapi.doc_len = [lucene_length(len(tokens)) for tokens in corpus]
    queries = {query_id: tokens for query_id, tokens in QUERIES.items() if tokens}
    run = Run.of({query_id: dict.fromkeys(texts, 1.0) for query_id in queries})
    data = extract(forward_index(documents), queries, run, Recipe(fields=("contents",)))
    for query_id, tokens in queries.items():
        expected = dict(zip(texts, okapi.get_scores(tokens) / (0.9 + 1), strict=True))
        rows = data.rows(query_id)
        np.testing.assert_allclose(
            data.column("bm25.contents")[rows], [expected[doc_id] for doc_id in data.doc_ids[rows]], rtol=1e-6
        )


@pytest.mark.parametrize("field", ["title", "body", "contents"])
def test_bm25_equals_lucene(documents: Documents, field: str) -> None:
    """Lucene's own scores of this collection (golden/make_lucene_bm25.py); what it does not hit scores 0."""
    golden = json.loads((Path(__file__).parent / "golden/lucene_bm25.json").read_text("utf8"))
    queries = {query_id: tokens for query_id, tokens in QUERIES.items() if tokens}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in queries})
    recipe = Recipe(fields=(field,), bm25_k1=golden["k1"], bm25_b=golden["b"])
    data = extract(forward_index(documents), queries, run, recipe)
    for query_id in queries:
        rows, hits = data.rows(query_id), golden["scores"][field][query_id]
        expected = [hits.get(doc_id, 0.0) for doc_id in data.doc_ids[rows].tolist()]
        np.testing.assert_allclose(data.column(f"bm25.{field}")[rows], expected, rtol=2e-6)


def test_letor_features_equal_oracle_on_cranfield(shared_data: Path) -> None:
    lines = (shared_data / "collections/cranfield/corpus.jsonl").read_text("utf8").splitlines()[:60]
    texts = [json.loads(line) for line in lines]
    documents = {text["id"]: {"title": words(text["title"]), "body": words(text["body"])} for text in texts}
    topics = (shared_data / "collections/cranfield/topics.tsv").read_text("utf8").splitlines()[:3]
    queries = {line.split("\t")[0]: words(line.split("\t")[1]) for line in topics}
    run = Run.of({query_id: dict.fromkeys(list(documents)[:15], 1.0) for query_id in queries})
    data = extract(forward_index(documents), queries, run, LETOR)
    assert_features_equal_oracle(data, documents, queries, LETOR)
