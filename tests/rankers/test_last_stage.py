"""The last stage: the order of the first documents with the scores of a slow scorer, and what it is chosen by."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.rankers.last_stage import Gain, LastStage
from rerank.types import Run


def reordered_slowly(run: Run, slow: dict[str, dict[str, float]], depth: int, weight: float) -> dict[str, list[str]]:
    """Return the documents of each query in the order of the module's formula, of documents with distinct scores."""
    order = {}
    for query_id in run:
        documents = list(run[query_id].items())
        first = [name for name, _ in documents[:depth]]
        known = [slow[query_id][name] for name in first if name in slow[query_id]]
        spread = np.std(known) or np.inf
        scores = [score for _, score in documents[:depth]]
        mixed = {}
        for name, score in documents[:depth]:
            of_scorer = (slow[query_id][name] - np.mean(known)) / spread if name in slow[query_id] else 0.0
            mixed[name] = (score - np.mean(scores)) / np.std(scores) + weight * of_scorer
        order[query_id] = sorted(first, key=lambda name: -mixed[name]) + [name for name, _ in documents[depth:]]
    return order


def example(seed: int, n_queries: int = 12, n_docs: int = 8) -> tuple[Run, dict[str, dict[str, float]]]:
    random = np.random.default_rng(seed)
    run = {f"q{q}": {f"d{d}": float(x) for d, x in enumerate(random.normal(size=n_docs))} for q in range(n_queries)}
    slow = {q: {d: float(random.normal()) for d in docs if random.random() < 0.8} for q, docs in run.items()}
    made = Run.of(run)
    return made.take(made.trec_order()), slow


def rows_of(run: Run, slow: dict[str, dict[str, float]]) -> np.ndarray:
    return np.array([slow[query_id].get(doc_id, np.nan) for query_id in run for doc_id in run[query_id]])


@pytest.mark.parametrize(("depth", "weight"), [(4, 0.5), (8, 2.0), (20, 0.1), (1, 1.0)])
def test_last_stage_orders_the_first_documents_as_the_formula(depth: int, weight: float) -> None:
    run, slow = example(depth)
    changed = LastStage("s", depth, weight).reorder(run, rows_of(run, slow))
    if depth > 1:
        assert {q: list(changed[q]) for q in changed} == reordered_slowly(run, slow, depth, weight)
    else:
        assert {q: list(changed[q]) for q in changed} == {q: list(run[q]) for q in run}
    for query_id in run:
        scores = list(changed[query_id].values())
        assert scores == sorted(scores, reverse=True)
        assert scores[depth:] == list(run[query_id].values())[depth:]


def test_last_stage_keeps_the_order_when_all_scores_are_missing() -> None:
    run, _ = example(3)
    changed = LastStage("s", 5, 4.0).reorder(run, np.full(run.n_rows, np.nan))
    assert {q: list(changed[q]) for q in changed} == {q: list(run[q]) for q in run}


def test_last_stage_keeps_the_first_documents_above_others_of_the_same_score() -> None:
    run = Run.from_rows(["q"] * 4, ["z", "y", "x", "w"], [2.0, 1.0, 1.0, 1.0], "run")
    changed = LastStage("s", 2, 4.0).reorder(run, np.array([5.0, 1.0, 9.0, 9.0]))
    assert list(changed["q"]) == ["z", "y", "x", "w"]
    changed = LastStage("s", 2, 4.0).reorder(
        Run.from_rows(["q"] * 3, ["a", "c", "b"], [2.0, 1.0, 1.0], "run"), np.array([1.0, 5.0, 0.0])
    )
    assert list(changed["q"]) == ["c", "a", "b"]


def test_gain_chooses_the_fewest_documents_that_are_as_good() -> None:
    """The relevant document is always the fourth: scores of the first five find it, more calls find nothing else."""
    run, _ = example(5, n_queries=40, n_docs=30)
    relevant = {query_id: list(run[query_id])[3] for query_id in run}
    slow = rows_of(run, {query_id: {d: float(d == relevant[query_id]) for d in run[query_id]} for query_id in run})

    def values(ranked: Run) -> np.ndarray:
        return np.array([1.0 / (1 + list(ranked[query_id]).index(relevant[query_id])) for query_id in run])

    folds = {query_id: number % 5 for number, query_id in enumerate(run)}
    gain = Gain.of("s", run, slow, folds, values)
    assert gain.stage is not None
    assert (gain.stage.scorer, gain.stage.depth) == ("s", 5)
    assert gain.value == pytest.approx(1.0)
    assert [stage.depth for stage, _ in gain.curve] == [5, 10, 20, 50, 100]
    assert (gain.without, gain.alone) == (0.25, 1.0)
    assert values(gain.run).tolist() == [1.0] * len(run)
    assert sorted(gain.run) == sorted(run)


def test_gain_is_none_when_the_scorer_knows_nothing() -> None:
    run, _ = example(6, n_queries=40)
    relevant = {query_id: next(iter(run[query_id])) for query_id in run}
    random = np.random.default_rng(0).normal(size=run.n_rows)

    def values(ranked: Run) -> np.ndarray:
        return np.array([float(next(iter(ranked[query_id])) == relevant[query_id]) for query_id in run])

    gain = Gain.of("s", run, random, {query_id: number % 5 for number, query_id in enumerate(run)}, values)
    assert gain.stage is None
    assert "brings nothing" in str(gain)


def test_model_file_keeps_the_last_stage_and_its_checksum(tmp_path: object) -> None:
    random = np.random.default_rng(0)
    model = rerank.LogisticRegression().fit(random.normal(size=(60, 3)), random.integers(0, 2, 60), group=[10] * 6)
    before = model.checksum()
    model.last_stage_ = LastStage("module:score", 20, 0.5)
    model.save(f"{tmp_path}/model.json")
    assert rerank.read_model(f"{tmp_path}/model.json").last_stage_ == LastStage("module:score", 20, 0.5)
    assert model.checksum() == before
