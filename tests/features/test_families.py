"""Every family of a field but LETOR against its oracle, on every awkward case and on real documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rerank.features.extract import extract
from rerank.features.recipe import Recipe
from rerank.types import RankingData, Run
from tests.features.awkward import QUERIES, words
from tests.features.collection import Documents, forward_index
from tests.oracles import pooled, proximity, query
from tests.oracles.features import Pair, Texts
from tests.oracles.feedback import Feedback

OF_PAIRS: dict[str, Callable[[Pair, str], float]] = {
    "pooled": pooled.pooled,
    "proximity": proximity.value,
    "performance": query.performance,
    "prior": query.prior,
}
FAMILIES = (*OF_PAIRS, "feedback")
PARAMETERS = ({}, {"bm25_k1": 1.6, "bm25_b": 0.8, "lm_dirichlet_mu": 50.0})


def expected_columns(
    name: str, data: RankingData, documents: Documents, queries: dict[str, list[str]], recipe: Recipe
) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {column: [] for column in data.feature_names}
    fields = sorted({column.rsplit(".", 1)[1] for column in data.feature_names})
    for query_id in data:
        for field in fields:
            columns = [column for column in data.feature_names if column.endswith(f".{field}")]
            texts = [documents[doc_id].get(field, []) for doc_id in data.doc_ids[data.rows(query_id)].tolist()]
            collection = Texts(document.get(field, []) for document in documents.values())
            pairs = [Pair(queries[query_id], text, collection, recipe.to_dict()) for text in texts]
            for column in columns:
                stem = column.rsplit(".", 1)[0]
                if name == "feedback":
                    values[column] += Feedback(queries[query_id], texts, pairs[0]).column(stem)
                else:
                    values[column] += [OF_PAIRS[name](pair, stem) for pair in pairs]
    return values


def assert_equal_oracle(
    name: str, documents: Documents, queries: dict[str, list[str]], run: Run, recipe: Recipe
) -> None:
    data = extract(forward_index(documents), queries, run, recipe)
    for column, values in expected_columns(name, data, documents, queries, recipe).items():
        np.testing.assert_allclose(data.column(column), values, rtol=3e-6, atol=2e-6, err_msg=column)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=["defaults", "other"])
@pytest.mark.parametrize("name", FAMILIES)
def test_family_equals_oracle(name: str, parameters: dict[str, float], documents: Documents, run: Run) -> None:
    assert_equal_oracle(name, documents, QUERIES, run, Recipe(families=(name,), **parameters))


WORDS = st.sampled_from(["heat", "flow", "wing", "a", "é", "zeppelin"])
FIELDS = st.fixed_dictionaries({"title": st.lists(WORDS, max_size=4), "body": st.lists(WORDS, max_size=30)})


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(FIELDS, min_size=1, max_size=6),
    queries=st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=3),
)
def test_family_equals_oracle_for_any_collection(
    name: str, texts: list[dict[str, list[str]]], queries: list[list[str]]
) -> None:
    documents = {f"d{number}": text for number, text in enumerate(texts)}
    by_id = {f"q{number}": tokens for number, tokens in enumerate(queries)}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in by_id})
    assert_equal_oracle(name, documents, by_id, run, Recipe(families=(name,)))


@pytest.mark.parametrize("name", FAMILIES)
def test_family_equals_oracle_on_cranfield(name: str, shared_data: Path) -> None:
    lines = (shared_data / "collections/cranfield/corpus.jsonl").read_text("utf8").splitlines()[:25]
    texts = [json.loads(line) for line in lines]
    documents = {text["id"]: {"title": words(text["title"]), "body": words(text["body"])} for text in texts}
    topics = (shared_data / "collections/cranfield/topics.tsv").read_text("utf8").splitlines()[:2]
    queries = {line.split("\t")[0]: words(line.split("\t")[1])[:8] for line in topics}
    run = Run.of({query_id: {doc_id: -float(n) for n, doc_id in enumerate(documents)} for query_id in queries})
    assert_equal_oracle(name, documents, queries, run, Recipe(families=(name,)))


@pytest.mark.parametrize("field", ["title", "body", "contents"])
@pytest.mark.parametrize("model", ["dirichlet", "dfr_gl2", "dfr_inexpb2"])
def test_pooled_sum_equals_lucene(model: str, field: str, documents: Documents) -> None:
    """Lucene's own scores of this collection (golden/make_lucene_models.py); what it does not hit scores 0.

    Lucene computes from the length that its one byte holds, as these features do, and adds in float32.
    """
    golden = json.loads((Path(__file__).parent / "golden/lucene_models.json").read_text("utf8"))
    queries = {query_id: tokens for query_id, tokens in QUERIES.items() if tokens}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in queries})
    recipe = Recipe(fields=(field,), families=("pooled",), lm_dirichlet_mu=golden["mu"])
    data = extract(forward_index(documents), queries, run, recipe)
    for query_id in queries:
        rows, hits = data.rows(query_id), golden["scores"][model][field][query_id]
        expected = [hits.get(doc_id, 0.0) for doc_id in data.doc_ids[rows].tolist()]
        np.testing.assert_allclose(data.column(f"{model}_sum.{field}")[rows], expected, rtol=1e-5, atol=1e-6)


def test_relative_features_equal_their_definition(documents: Documents, run: Run) -> None:
    data = extract(forward_index(documents), QUERIES, run, Recipe(families=("letor", "feedback", "relative")))
    relative = [name for name in data.feature_names if name.partition(".")[0].endswith(("_minmax", "_zscore", "_rank"))]
    assert len(relative) == 3 * 8 * 3
    for name in relative:
        stem, field = name.split(".")
        score, form = stem.rsplit("_", 1)
        for query_id in data:
            x, found = data.column(f"{score}.{field}")[data.rows(query_id)], data.column(name)[data.rows(query_id)]
            known = x[~np.isnan(x)]
            spread = len(known) > 0 and known.max() > known.min()
            expected = {
                "minmax": lambda x=x, known=known: (x - known.min()) / (known.max() - known.min()),
                "zscore": lambda x=x, known=known: (x - known.mean()) / known.std(),
                "rank": lambda x=x: np.where(np.isnan(x), np.nan, 1.0 + (x[None, :] > x[:, None]).sum(axis=1)),
            }[form]
            wanted = expected() if spread or form == "rank" else np.where(np.isnan(x), np.nan, 0.0)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5, err_msg=f"{name} {query_id}")
