"""Every family of a field but LETOR against its oracle, on every awkward case and on real documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from rerank.features.extract import extract
from rerank.features.families import proximity as proximity_family
from rerank.features.recipe import Recipe
from rerank.types import RankingData, Run
from rerank.types.forward import ForwardIndex
from tests.features.awkward import QUERIES, words
from tests.features.collection import Documents, forward_index
from tests.oracles import passages, proximity, query
from tests.oracles.features import Pair, Texts
from tests.oracles.feedback import Feedback
from tests.oracles.neighbours import means_of_nearest

OF_PAIRS: dict[str, Callable[[Pair, str], float]] = {
    "passages": passages.value,
    "proximity": proximity.value,
    "performance": query.performance,
    "prior": query.prior,
}
FAMILIES = (*OF_PAIRS, "feedback")
PARAMETERS: tuple[dict[str, Any], ...] = (
    {},
    {
        "bm25_k1": 1.6,
        "bm25_b": 0.8,
        "lm_dirichlet_mu": 50.0,
        "rm3_share": 0.8,
        "rocchio_alpha": 0.5,
        "rocchio_beta": 1.25,
        "passages": "7/3",
    },
)


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
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=60), min_size=1, max_size=4),
    query=st.lists(st.sampled_from("abcdefghijklmnopqr"), min_size=1, max_size=20),
    repeated=st.integers(1, 4),
    copied=st.integers(0, 4),
)
def test_family_equals_oracle_for_many_and_repeated_terms(
    name: str, texts: list[list[str]], query: list[str], repeated: int, copied: int
) -> None:
    query = query * repeated
    documents = {f"d{number}": {"body": text} for number, text in enumerate([*texts, query * copied])}
    run = Run.of({"q": dict.fromkeys(documents, 1.0)})
    assert_equal_oracle(name, documents, {"q": query}, run, Recipe(families=(name,)))


def test_texts_that_bm25_does_not_find_are_no_feedback() -> None:
    texts = {"a": "heat flow", "b": "heat slip", "c": "soup garlic", "d": "soup garlic bread", "e": "soup flow flow"}
    documents = {doc_id: {"body": text.split()} for doc_id, text in texts.items()}
    queries = {"q": ["heat"], "none": ["zeppelin"]}
    found = {"a": 2.0, "b": 1.0, "c": 0.0, "d": -1e-6, "e": -2e-6}
    run = replace(Run.of({"q": found, "none": dict.fromkeys(texts, 0.0)}), name="bm25-k1=0.9-b=0.4")
    recipe = Recipe(families=("feedback",))
    data = extract(forward_index(documents), queries, run, recipe)
    pair = Pair(["heat"], ["heat"], Texts(document["body"] for document in documents.values()), recipe.to_dict())
    oracle = Feedback(["heat"], [document["body"] for document in documents.values()], pair)
    oracle.places = [0, 1]
    for column in data.feature_names:
        values = data.column(column)
        np.testing.assert_allclose(values[:5], oracle.column(column.removesuffix(".body")), atol=2e-6, err_msg=column)
        assert np.isnan(values[5:]).all(), column


def random_words(random: np.random.Generator, n_words: int, n_distinct: int) -> list[str]:
    return [f"w{number}" for number in random.integers(0, n_distinct, n_words)]


@pytest.mark.parametrize("n_distinct", [20, 70])
@pytest.mark.parametrize("name", FAMILIES)
def test_family_equals_oracle_for_long_queries(name: str, n_distinct: int) -> None:
    random = np.random.default_rng(n_distinct)
    documents = {f"d{number}": {"body": random_words(random, 90, n_distinct)} for number in range(2)}
    queries = {"q": random_words(random, 120, n_distinct + 5), "r": ["w1", "w2"] * 40}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in queries})
    assert_equal_oracle(name, documents, queries, run, Recipe(families=(name,)))


def test_proximity_reads_a_query_up_to_a_number_of_distinct_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proximity_family, "MOST_TERMS", 3)
    documents = {"d": {"body": list("abcdabcdaabbccdd")}, "e": {"body": list("cab")}}
    queries = {"long": list("abacadabe"), "exact": list("abac"), "short": list("ab"), "none": []}
    run = Run.of({query_id: dict.fromkeys(documents, 1.0) for query_id in queries})
    data = extract(forward_index(documents), queries, run, Recipe(families=("proximity",)))
    cut = {**queries, "long": list("abaca")}
    recipe = Recipe(families=("proximity",))
    for column, values in expected_columns("proximity", data, documents, cut, recipe).items():
        np.testing.assert_allclose(data.column(column), values, rtol=3e-6, atol=2e-6, err_msg=column)


def stacked(documents: Documents, height: int) -> ForwardIndex:
    """Return forward arrays with this many tokens at each position, as with synonyms."""
    forward = forward_index(documents)
    positions = {
        name: field.positions // height for name, field in forward.fields.items() if field.positions is not None
    }
    fields = {name: replace(field, positions=positions[name]) for name, field in forward.fields.items()}
    return replace(forward, fields=fields)


@settings(max_examples=50)
@given(
    text=st.lists(st.sampled_from("abc"), min_size=1, max_size=40),
    query=st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    height=st.integers(1, 3),
)
def test_phrase_equals_its_definition_where_terms_share_a_position(
    text: list[str], query: list[str], height: int
) -> None:
    forward = stacked({"d": {"body": text}}, height)
    data = extract(forward, {"q": query}, Run.of({"q": {"d": 1.0}}), Recipe(families=("proximity",)))
    at = [{text[i] for i in range(first, min(first + height, len(text)))} for first in range(0, len(text), height)]
    starts = [i // height for i, token in enumerate(text) if token == query[0]]
    expected = sum(
        all(start + n < len(at) and token in at[start + n] for n, token in enumerate(query)) for start in starts
    )
    assert data.column("phrase.body")[0] == expected


def test_pair_counts_are_exact_beyond_float32_whole_numbers() -> None:
    n_tokens, repeated = 4000, 5000
    documents = {"d": {"body": ["a", "b"] * (n_tokens // 2)}}
    queries = {"q": ["a", "b"] * repeated}
    data = extract(forward_index(documents), queries, Run.of({"q": {"d": 1.0}}), Recipe(families=("proximity",)))
    neighbours = n_tokens - 1  # a b is said `repeated` times, b a once less; half of the neighbours are each
    either = neighbours * (2 * repeated - 1)
    assert data.column("unordered_adjacent_3.body")[0] == np.float32(either)
    assert data.column("phrase.body")[0] == 0.0


@pytest.mark.slow("4 s: a real collection")
@pytest.mark.parametrize("name", FAMILIES)
def test_family_equals_oracle_on_cranfield(name: str, shared_data: Path) -> None:
    lines = (shared_data / "collections/cranfield/corpus.jsonl").read_text("utf8").splitlines()[:25]
    texts = [json.loads(line) for line in lines]
    documents = {text["id"]: {"title": words(text["title"]), "body": words(text["body"])} for text in texts}
    topics = (shared_data / "collections/cranfield/topics.tsv").read_text("utf8").splitlines()[:2]
    queries = {line.split("\t")[0]: words(line.split("\t")[1])[:8] for line in topics}
    run = Run.of({query_id: {doc_id: -float(n) for n, doc_id in enumerate(documents)} for query_id in queries})
    assert_equal_oracle(name, documents, queries, run, Recipe(families=(name,)))


NEIGHBOURS = ("letor", "feedback", "neighbours")


def assert_neighbours_equal_oracle(
    documents: dict[str, list[str]], queries: dict[str, list[str]], run: Run, recipe: Recipe
) -> None:
    data = extract(forward_index({name: {"contents": text} for name, text in documents.items()}), queries, run, recipe)
    collection = Texts(documents.values())
    for query_id in data:
        rows = data.rows(query_id)
        texts = [documents[doc_id] for doc_id in data.doc_ids[rows].tolist()]
        pair = Pair(queries[query_id], texts[0], collection, recipe.to_dict())
        order = data.column("bm25_bursty.contents")[rows].tolist()
        for stem, score in (("bm25", "bm25_bursty"), ("rm3", "rm3_10")):
            name = f"{stem}_neighbours.contents"
            expected = means_of_nearest(texts, pair, order, data.column(f"{score}.contents")[rows].tolist())
            np.testing.assert_allclose(data.column(name)[rows], expected, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("parameters", PARAMETERS, ids=["defaults", "other"])
def test_neighbours_equal_oracle(parameters: dict[str, float], documents: Documents, run: Run) -> None:
    whole = {doc_id: [*document.get("title", []), *document.get("body", [])] for doc_id, document in documents.items()}
    assert_neighbours_equal_oracle(whole, QUERIES, run, Recipe(families=NEIGHBOURS, **parameters))


def test_neighbours_equal_oracle_for_more_documents_than_are_compared() -> None:
    random = np.random.default_rng(0)
    documents = {f"d{number}": random_words(random, 12, 30) for number in range(250)}
    queries = {"q": ["w1", "w2", "w3"], "none": []}
    run = Run.of({query_id: {doc_id: -float(n) for n, doc_id in enumerate(documents)} for query_id in queries})
    assert_neighbours_equal_oracle(documents, queries, run, Recipe(families=NEIGHBOURS))


def test_neighbours_are_other_documents() -> None:
    texts = {"a": "heat flow", "b": "heat flow slip", "c": "soup garlic", "empty": ""}
    documents = {doc_id: {"contents": text.split(), "title": text.split()} for doc_id, text in texts.items()}
    run = Run.of({"q": dict.fromkeys(texts, 1.0)})
    data = extract(forward_index(documents), {"q": ["heat"]}, run, Recipe(families=NEIGHBOURS))
    assert "bm25_neighbours.title" not in data.feature_names  # of the whole document alone
    scores, means = (
        dict(zip(data.doc_ids.tolist(), data.column(f"{name}.contents").tolist(), strict=True))
        for name in ("bm25_bursty", "bm25_neighbours")
    )
    assert means["a"] == scores["b"]
    assert means["b"] == scores["a"]
    assert means["c"] == 0.0
    assert np.isnan(means["empty"])


def test_relative_features_equal_their_definition(documents: Documents, run: Run) -> None:
    data = extract(forward_index(documents), QUERIES, run, Recipe(families=("letor", "feedback", "relative")))
    relative = [name for name in data.feature_names if name.partition(".")[0].endswith(("_minmax", "_zscore", "_rank"))]
    assert len(relative) == 3 * 8 * 3
    for name in relative:
        stem, field = name.split(".")
        score, form = stem.rsplit("_", 1)
        for query_id in data:
            x, actual = data.column(f"{score}.{field}")[data.rows(query_id)], data.column(name)[data.rows(query_id)]
            known = x[~np.isnan(x)]
            spread = len(known) > 0 and known.max() > known.min()
            expected = {
                "minmax": lambda x=x, known=known: (x - known.min()) / (known.max() - known.min()),
                "zscore": lambda x=x, known=known: (x - known.mean()) / known.std(),
                "rank": lambda x=x: np.where(np.isnan(x), np.nan, 1.0 + (x[None, :] > x[:, None]).sum(axis=1)),
            }[form]
            wanted = expected() if spread or form == "rank" else np.where(np.isnan(x), np.nan, 0.0)
            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-5, err_msg=f"{name} {query_id}")
