"""Features of several runs against a slow oracle, and awkward runs."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.retrieval.source_data import source_data
from tests.oracles import sources as oracle


def random_runs(seed: int, n_queries: int = 12, n_sources: int = 3) -> list[dict[str, dict[str, float]]]:
    """Runs of some of the queries, with up to 130 documents and ties; the last one may lack half of the queries."""
    random = np.random.default_rng(seed)
    docs = [f"d{doc:03d}" for doc in range(200)]
    runs: list[dict[str, dict[str, float]]] = []
    for number in range(n_sources):
        run = {}
        for query in range(n_queries):
            if number == n_sources - 1 and query % 2:
                continue
            held = random.permutation(docs)[: random.integers(1, 130)].tolist()
            run[f"q{query}"] = dict(zip(held, random.normal(size=len(held)).round(2).tolist(), strict=True))
        runs.append(run)
    return runs


def test_features_equal_the_oracle() -> None:
    runs = random_runs(0)
    data = source_data(runs)
    assert data.feature_names[:7] == (
        *(f"source1.{name}" for name in ("rank", "reciprocal_rank", "score", "zscore", "minmax", "deviations")),
        "source1.spread",
    )
    for query in data:
        lists = [run.get(query, {}) for run in runs]
        rows = data.rows(query)
        docs = data.doc_ids[rows].tolist()
        assert sorted(docs) == sorted(set().union(*lists))
        np.testing.assert_allclose(data.X[rows], [oracle.features(lists, doc) for doc in docs], rtol=2e-6, atol=1e-5)


def test_documents_below_the_depth_are_left_out_and_features_stay() -> None:
    runs = random_runs(1)
    whole, cut = source_data(runs), source_data(runs, depth=10)
    kept = (whole.X[:, [0, 7, 14]] <= 10).any(axis=1)
    np.testing.assert_array_equal(cut.X, whole.X[kept])
    assert cut.doc_ids.tolist() == whole.doc_ids[kept].tolist()


def test_judged_queries_have_labels_and_the_ideal_of_the_qrels() -> None:
    runs = random_runs(2)
    qrels = {"q1": {"d001": 2, "other": 3}, "q3": {"d002": 1}, "unknown": {"d001": 1}}
    data = source_data(runs, qrels)
    assert list(data) == ["q1", "q3"]
    assert data.ideal()[0].tolist() == [3.0, 2.0, 1.0]
    rows = data.rows("q1")
    held = dict(zip(data.doc_ids[rows].tolist(), data.labels[rows].tolist(), strict=True))
    assert {doc for doc, label in held.items() if label} <= {"d001"}


def test_constant_scores_say_nothing_and_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    flat = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}, "r": {"a": 2.0, "b": 2.0}}
    data = source_data([flat, {"q": {"a": 2.0, "b": 1.0}}])
    for name, value in {"zscore": 1.0, "minmax": 1.0, "deviations": 1.0, "spread": 0.0}.items():
        assert data.column(f"source1.{name}").tolist() == [value] * 5
    assert "expected scores that differ within a query, got equal ones in all" in caplog.text


def test_wrong_runs_are_refused() -> None:
    run = {"q": {"a": 1.0}}
    with pytest.raises(InvalidInputError, match=r"runs: expected at least two to fuse, got 1\. Name more runs"):
        source_data([run])
    with pytest.raises(InvalidInputError, match="runs: expected rows, got none in any run"):
        source_data([{}, {}])
    bad = rerank.Run.from_rows(["q"], ["a"], [np.inf])
    with pytest.raises(InvalidInputError, match=r"expected finite scores \(as float32\), got inf"):
        source_data([run, bad])
