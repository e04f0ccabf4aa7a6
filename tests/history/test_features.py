"""Learned features: equal to their definition, and never from a query's own judgements."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from rerank.features.family import Missing, known_families
from rerank.features.recipe import Recipe
from rerank.history.history import History
from rerank.history.learned_family import LearnedFamily
from rerank.history.neighbours import document_neighbours
from rerank.rankers.lambdamart import LambdaMART
from rerank.types import Qrels, RankingData
from tests.features.collection import forward_index
from tests.history.conftest import World, world


def of_query(data: RankingData, name: str, query_id: str) -> dict[str, float]:
    rows = data.rows(query_id)
    return dict(zip(data.doc_ids[rows].tolist(), data.column(name)[rows].tolist(), strict=True))


def learned_families() -> dict[str, LearnedFamily]:
    return {name: member for name, member in known_families().items() if isinstance(member, LearnedFamily)}


def fold_queries(history: History, query_id: str) -> set[str]:
    """The queries of the same fold."""
    fold = history.folds[history.query_ids.index(query_id)]
    return {name for name, other in zip(history.query_ids, history.folds, strict=True) if other == fold}


def check_against_oracle(data: RankingData, query_id: str, tokens: list[str], given: World, without: set[str]) -> None:
    expected = given.oracle(without).columns(tokens)
    assert set(expected) == {score.name for family in learned_families().values() for score in family.scores}
    for name, scores in expected.items():
        found = of_query(data, name, query_id)
        wanted = {doc: scores.get(doc, nan) for doc in found}
        np.testing.assert_allclose(list(found.values()), list(wanted.values()), rtol=2e-4, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_features_of_other_queries_are_those_of_the_definition(seed: int) -> None:
    given = world(seed, n_queries=45 if seed == 2 else 24, short=seed == 3)
    history = given.history()
    data = given.features(history)
    for query_id, tokens in given.other.items():
        without = set() if tokens else fold_queries(history, "q_none")  # which has the same terms: none
        check_against_oracle(data, query_id, tokens, given, without)


@pytest.mark.parametrize("seed", range(3))
def test_features_of_judged_queries_are_learned_from_the_other_folds_only(seed: int) -> None:
    given = world(seed)
    history = given.history()
    data = given.features(history)
    for query_id in list(given.queries)[::3]:
        check_against_oracle(data, query_id, given.queries[query_id], given, fold_queries(history, query_id))


def test_features_of_a_query_do_not_depend_on_the_judgements_of_its_fold(small: World) -> None:
    history = small.history()
    data = small.features(history)
    for name in list(small.queries)[::4]:
        mine = fold_queries(history, name)
        labels = {**small.labels, **{other: {doc: 3 for doc in list(small.documents)[1::4]} for other in mine}}
        changed = World(small.documents, small.queries, labels, small.other)
        again = changed.features(changed.history())
        for other in mine:
            np.testing.assert_array_equal(again.X[again.rows(other)], data.X[data.rows(other)])
        assert not np.array_equal(again.X, data.X, equal_nan=True)


def test_features_of_a_query_with_the_terms_of_a_judged_one_are_out_of_fold(small: World) -> None:
    twins = {f"twin_{name}": list(reversed(tokens)) for name, tokens in small.queries.items()}
    given = World(small.documents, small.queries, small.labels, twins)
    data = given.features(given.history())
    for name in small.queries:
        np.testing.assert_array_equal(data.X[data.rows(f"twin_{name}")], data.X[data.rows(name)])


def test_features_of_a_query_with_the_id_of_one_and_the_terms_of_another_hide_both(small: World) -> None:
    history = small.history()
    first = small.queries["q00"]
    other = next(name for name in small.queries if name not in fold_queries(history, "q00"))
    changed = World(small.documents, {**small.queries, other: first}, small.labels, {})
    data = changed.features(history)
    check_against_oracle(data, other, first, small, fold_queries(history, "q00") | fold_queries(history, other))


def test_queries_of_near_duplicates_are_in_one_fold() -> None:
    given = world(1, n_queries=12)
    copies = {f"c{number}": [*tokens, *tokens] for number, tokens in enumerate(given.queries.values())}
    queries = {**given.queries, **copies}
    labels = {**given.labels, **{name: {"d1": 1} for name in copies}}
    history = World(given.documents, queries, labels, {}).history()
    assert len(set(history.folds)) > 2
    for number, name in enumerate(given.queries):
        assert f"c{number}" in fold_queries(history, name)


def test_history_of_some_queries_gives_the_features_of_one_that_learned_from_these_alone(small: World) -> None:
    some = list(small.queries)[::2]
    fewer = World(small.documents, {name: small.queries[name] for name in some}, small.labels, small.other)
    expected = fewer.features(fewer.history())
    found = fewer.features(small.history().of_queries(some))
    for name in small.other:  # judged queries are in other folds
        np.testing.assert_array_equal(found.X[found.rows(name)], expected.X[expected.rows(name)])


def test_nearest_documents_do_not_depend_on_threads(small: World) -> None:
    one, two = (document_neighbours(small.forward, threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.docs, two.docs)
    np.testing.assert_array_equal(one.cosines, two.cosines)


def test_history_does_not_depend_on_the_order_of_its_input(small: World) -> None:
    checksum = small.history().checksum
    turned = World(
        small.documents,
        dict(reversed(small.queries.items())),
        {name: dict(reversed(docs.items())) for name, docs in reversed(small.labels.items())},
        small.other,
    )
    assert turned.history().checksum == checksum


def test_features_are_those_of_an_index_with_its_documents_in_another_order(small: World) -> None:
    history = small.history()
    data = small.features(history)
    documents = {doc: small.documents[doc] for doc in sorted(small.documents, key=lambda doc: doc[::-1])}
    again = small.features(history, forward_index(documents))
    np.testing.assert_array_equal(again.doc_ids, data.doc_ids)
    np.testing.assert_allclose(again.X, data.X, rtol=1e-6)


def test_scores_are_missing_and_never_0_where_nothing_is_known(small: World) -> None:
    data = small.features(small.history())
    scores = [score.name for family in learned_families().values() for score in family.scores]
    for name in scores:
        values = data.column(name)
        assert (values[~np.isnan(values)] > 0).all() or name == "history.map", name  # a cosine
        assert np.isnan(values).any(), name
        if name != "history.prior":
            for query_id in ("x_none", "x_new"):
                assert all(isnan(value) for value in of_query(data, name, query_id).values())
    for name in data.feature_names:
        assert np.array_equal(np.isnan(data.column(name)), np.isnan(data.column(".".join(name.split(".")[:2]))))


def test_rank_and_gap_are_relative_to_the_other_candidates(small: World) -> None:
    data = small.features(small.history())
    for family in learned_families().values():
        for score in family.scores:
            for query_id in data:
                values = np.array(list(of_query(data, score.name, query_id).values()), dtype=np.float32)
                known = values[~np.isnan(values)]
                ranks = [1 + int((known > value).sum()) if value == value else nan for value in values]
                gaps = known.max(initial=0.0) - values
                np.testing.assert_array_equal(list(of_query(data, f"{score.name}.rank", query_id).values()), ranks)
                np.testing.assert_array_equal(list(of_query(data, f"{score.name}.gap", query_id).values()), gaps)


def random_labels(seed: int) -> World:
    """Queries of words of their own and random relevant documents: there is nothing to learn from other queries."""
    draw = np.random.default_rng(seed)
    base = world(seed, n_docs=60, n_queries=0)
    queries = {f"q{number}": draw.choice(40, 3, replace=False) for number in range(120)}
    tokens = {name: [f"w{number:02}" for number in numbers] for name, numbers in queries.items()}
    names = list(base.documents)[:60]
    labels = {name: dict.fromkeys(draw.choice(names, 6, replace=False).tolist(), 1) for name in tokens}
    return World(base.documents, tokens, labels, {})


def precision_on_other_half(data: RankingData, given: World) -> float:
    """Mean share of relevant documents in the first six, of a model that was trained on the other queries."""
    labels = np.array(
        [given.labels[query_id].get(doc, 0) for query_id in data for doc in data.doc_ids[data.rows(query_id)]], float
    )
    labelled = RankingData(data.query_ids, data.query_ptr, data.doc_ids, data.X, data.feature_names, labels=labels)
    train, test = (labelled.select(np.arange(first, len(data), 2)) for first in (0, 1))
    model = LambdaMART(n_estimators=20, num_leaves=8, min_child_samples=20).fit(train)
    ranked = model.rank(test)
    hits = [given.labels[query_id].get(doc, 0) for query_id in test for doc in list(ranked[query_id])[:6]]
    return float(np.mean(hits))


def test_a_model_learns_nothing_from_random_labels_but_would_from_leaking_features() -> None:
    given = random_labels(0)
    history = given.history()
    chance = 6 / len(given.documents)
    assert precision_on_other_half(given.features(history), given) < chance + 0.06
    forward = given.forward
    bound = history.on(forward)
    vars(bound)["_fold_of_queries"] = {}  # no fold is hidden: every query learns from all
    assert precision_on_other_half(given.features(history, forward), given) > 0.6


def test_learned_features_are_documented_and_in_their_range(small: World) -> None:
    data = small.features(small.history())
    documented = [feature for family in learned_families().values() for feature in family.features(Recipe())]
    assert tuple(feature.name for feature in documented) == data.feature_names
    for feature in documented:
        values = data.column(feature.name)
        known = values[~np.isnan(values)]
        assert feature.meaning.endswith(".")
        assert feature.formula
        assert feature.source
        assert feature.unit
        assert feature.missing == (Missing.NO_HISTORY,)
        assert ((known >= feature.low) & (known <= feature.high)).all(), feature.name


def test_history_of_qrels_without_relevant_documents_is_refused(small: World) -> None:
    from rerank.errors import InvalidInputError

    for labels, message in (
        ({"q00": {"d1": 0}}, "qrels: expected relevant documents that the index holds, got none"),
        ({"other": {"d1": 1}}, "qrels: expected judgements of the topics, got none"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            History.of_terms(small.forward, small.queries, Qrels.of(labels))
    chunks = replace(small.forward, doc_ids=np.char.add(small.forward.doc_ids, "#0"))
    with pytest.raises(InvalidInputError, match="'d1#0' is a part of 'd1': index whole documents"):
        History.of_terms(chunks, small.queries, Qrels.of({"q00": {"d1": 1}}))
