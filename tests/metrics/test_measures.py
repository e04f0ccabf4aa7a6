"""Laws that every registered measure keeps, and its value against a slow oracle."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.base import RankedLists
from rerank.metrics.registry import known_measures, parse_measure
from rerank.types import pointers
from tests.metrics import test_trec_measures
from tests.oracles import measures as oracle

NAMES = [
    "nDCG",
    "nDCG@1",
    "nDCG@10",
    "nDCG(dcg='exp-log2')",
    "nDCG(dcg='exp-log2')@5",
    "AP",
    "AP(rel=2)",
    "AP@3",
    "RR",
    "RR@2",
    "RR(rel=2)@10",
    "P@1",
    "P@10",
    "P(rel=2)@5",
    "R@1",
    "R@20",
    "R(rel=3)@5",
]


def lists(seed: int, n_queries: int = 300) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Ranked labels and ideals: empty lists, no relevant document, negative labels, relevant ones not retrieved."""
    random = np.random.default_rng(seed)
    ranked, ideal = [], []
    for _ in range(n_queries):
        labels = random.integers(-1, 4, random.integers(0, 30)) * (random.random() < 0.9)
        missed = random.integers(1, 4, random.integers(0, 4))
        ranked.append(labels.astype(float))
        ideal.append(np.sort(np.concatenate([labels[labels > 0], missed]))[::-1].astype(float))
    return ranked, ideal


def joined(ranked: list[np.ndarray], ideal: list[np.ndarray]) -> RankedLists:
    return RankedLists(
        np.concatenate(ranked),
        pointers([len(labels) for labels in ranked]),
        np.concatenate(ideal),
        pointers([len(labels) for labels in ideal]),
    )


def test_names_cover_every_registered_measure() -> None:
    names = [*NAMES, *test_trec_measures.MEASURES]
    assert {type(parse_measure(name)) for name in names} == set(known_measures().values())


@pytest.mark.parametrize("name", NAMES)
def test_value_equals_the_oracle(name: str) -> None:
    ranked, ideal = lists(0)
    values = parse_measure(name).scores(joined(ranked, ideal))
    expected = [oracle.value(name, list(a), list(b)) for a, b in zip(ranked, ideal, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_value_of_a_query_does_not_depend_on_the_others(name: str) -> None:
    ranked, ideal = lists(1)
    measure = parse_measure(name)
    together = measure.scores(joined(ranked, ideal))
    alone = [measure.score(a, b) for a, b in zip(ranked, ideal, strict=True)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("name", NAMES)
def test_name_comes_back(name: str) -> None:
    assert parse_measure(name).name == name
    assert parse_measure(parse_measure(name)) == parse_measure(name)


@pytest.mark.parametrize("name", NAMES)
def test_value_is_between_zero_and_that_of_the_best_order(name: str) -> None:
    measure = parse_measure(name)
    ranked, _ = lists(2)
    for labels in ranked:
        ideal = np.sort(labels[labels > 0])[::-1]
        best = measure.score(np.sort(labels)[::-1], ideal)
        assert 0.0 <= measure.score(labels, ideal) <= best + 1e-12 <= 1.0 + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_value_is_zero_when_no_document_is_relevant(name: str) -> None:
    assert parse_measure(name).score([0, -1, 0], []) == 0.0
    assert parse_measure(name).score([], []) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_swap_weights_equal_recomputing_after_the_swap(name: str) -> None:
    measure = parse_measure(name)
    ranked, ideal = lists(3, n_queries=60)
    whole = joined(ranked, ideal)
    swap = measure.swap_weights(whole.labels, whole.query_ptr, whole.ideal_labels, whole.ideal_ptr)
    if swap is None:
        assert name.startswith(("AP", "RR"))
        return
    for q, (labels, best) in enumerate(zip(ranked, ideal, strict=True)):
        gains = swap.gains[whole.query_ptr[q] : whole.query_ptr[q + 1]]
        before = measure.score(labels, best)
        for i in range(len(labels)):
            for j in range(i):
                after = labels.copy()
                after[[i, j]] = after[[j, i]]
                delta = abs(gains[i] - gains[j]) * abs(swap.discounts[i] - swap.discounts[j]) * swap.inverse_norms[q]
                assert delta == pytest.approx(abs(measure.score(after, best) - before), abs=1e-12)


@pytest.mark.parametrize(
    ("trec_eval", "name"),
    [
        ("map", "AP"),
        ("map_cut_5", "AP@5"),
        ("recip_rank", "RR"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("P_5", "P@5"),
        ("recall.1000", "R@1000"),
    ],
)
def test_names_of_trec_eval_are_understood(trec_eval: str, name: str) -> None:
    assert parse_measure(trec_eval).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "measure: expected a known name, found 'ndgc'; did you mean"),
        ("", "measure: expected a known name, found ''"),
        ("nDCG@ten", "found 'nDCG@ten'"),
        ("nDCG@0", "expected a cutoff of at least 1, found 0; write e.g. nDCG@10"),
        ("P", "P: expected a cutoff, found none; write e.g. P@10"),
        ("AP(level=2)", "parameter: expected a known name, found 'level'; known: rel"),
        ("AP(rel=0)", "expected rel of at least 1, found 0"),
        ("AP(rel)", "expected parameters as name=value, found 'rel'"),
        ("nDCG(dcg='exp')", "expected dcg='log2' or 'exp-log2', found 'exp'"),
    ],
)
def test_names_that_are_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        parse_measure(name)
