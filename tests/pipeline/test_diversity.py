"""MMR against its paper's formula, and laws of the reordered run."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.pipeline.diversify import choose, diversified, parse_method
from rerank.types import Run
from tests.oracles import mmr as oracle


def example(seed: int, n: int = 25, dimensions: int = 7) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return np.sort(random.normal(size=n))[::-1], random.normal(size=(n, dimensions)).astype(np.float32)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_order_is_that_of_the_formula(weight: float, seed: int) -> None:
    scores, vectors = example(seed)
    as_lists = vectors.astype(float).tolist()
    order, _ = choose(scores, vectors, weight)
    assert order.tolist() == oracle.mmr(scores.tolist(), as_lists, weight)


def test_full_weight_of_relevance_keeps_the_order() -> None:
    scores, vectors = example(0)
    order, values = choose(scores, vectors, 1.0)
    assert order.tolist() == list(range(len(scores)))
    assert (np.diff(values) < 0).all()


def test_duplicates_come_after_what_is_new() -> None:
    vectors = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32)
    order, values = choose(np.array([1.0, 0.9, 0.8, 0.7, 0.0]), vectors, 0.4)
    assert order.tolist()[:2] == [0, 3]
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_constant_scores_and_zero_vectors_keep_the_order(n: int) -> None:
    order, values = choose(np.ones(n), np.zeros((n, 4), dtype=np.float32), 0.7)
    assert order.tolist() == list(range(n))
    assert (np.diff(values) < 0).all()


def test_run_keeps_its_documents_and_those_below_follow_in_their_order() -> None:
    scores, vectors = example(1, n=12)
    run = Run.from_rows(["q"] * 12, [f"d{doc:02d}" for doc in range(12)], scores)
    better = diversified(run, lambda rows: vectors[rows], 0.3, k=8)
    assert set(better["q"]) == set(run["q"])
    assert list(better["q"])[8:] == list(run["q"])[8:]
    assert (np.diff(better.scores.astype(np.float32)) < 0).all()
    assert better.trec_order().tolist() == list(range(12))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("mmr(0.7)", (0.7, None)), ("mmr", (0.7, None)), ("mmr( 1 , lsi )", (1.0, "lsi"))],
)
def test_text_is_parsed(text: str, parsed: tuple[float, str | None]) -> None:
    assert parse_method(text) == parsed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mmr(", "expected mmr(WEIGHT) or mmr(WEIGHT,SPACE), got 'mmr('. Write e.g. mmr(0.7)."),
        ("mmr(2)", "expected a weight of relevance from 0 to 1, got '2'. Write e.g. mmr(0.7)."),
        ("mmr(nan)", "expected mmr(WEIGHT)"),
        ("mmr(high)", "expected mmr(WEIGHT)"),
        ("pm2(0.5)", "expected mmr(WEIGHT) or mmr(WEIGHT,SPACE), got 'pm2(0.5)'"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        parse_method(text)
