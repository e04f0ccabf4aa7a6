"""Models trained on the clicks of a log, without judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest

import rerank
from benchmarks.users import Users, simulate_clicks
from rerank.cli.main import cli
from rerank.clicks.estimates import PRIOR
from rerank.errors import InvalidInputError
from rerank.training.clicks import click_labels
from tests.tiny import Tiny, more_queries


def learner(**parameters: object) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=10, min_child_samples=5, num_leaves=4, **parameters)


@pytest.fixture(scope="module")
def topics(collection: Tiny) -> dict[str, str]:
    return more_queries(collection)[0]


@pytest.fixture(scope="module")
def log(index: rerank.Index, collection: Tiny, topics: dict[str, str]) -> rerank.Clicks:
    """Clicks of simulated users on BM25's first ten documents, which move."""
    run = index.search(topics, 60)
    return simulate_clicks(run, more_queries(collection)[1], Users(eta=1.0), passes=40, spread=3.0)


@pytest.mark.slow("5 s: trainings on simulated clicks")
def test_model_of_clicks_is_better_than_the_ranking_that_made_them(
    index: rerank.Index, collection: Tiny, topics: dict[str, str], log: rerank.Clicks
) -> None:
    model, estimate = rerank.train(index, topics, log, learner(), candidates="bm25", k=60)
    assert "against the clicks by cross-validation in 5 folds of 20 queries: candidates" in str(estimate)
    qrels = more_queries(collection)[1]
    before, after = (
        rerank.evaluate(qrels, run, ["nDCG@10"])["nDCG@10"]
        for run in (index.search(topics, 60), rerank.rerank(index, model, topics))
    )
    assert after > before


def test_a_log_of_few_clicks_is_warned_of(
    index: rerank.Index, topics: dict[str, str], log: rerank.Clicks, caplog: pytest.LogCaptureFixture
) -> None:
    few = log.select(np.arange(0, log.n_rows, 10))
    given = {"candidates": "bm25", "k": 60, "estimate": False}
    rerank.train(index, topics, few, learner(), **given)
    assert f"clicks: {few.clicked.sum()} of them: a model of fewer than 500 can rank worse" in caplog.text


def test_labels_of_clicks_are_the_means_of_clicks_and_features(index: rerank.Index, topics: dict, log) -> None:
    data = index.features(index.search(topics, 60), topics)
    estimates = rerank.estimate_clicks(log)
    few, many = (click_labels(estimates, data, prior=prior) for prior in (1e-6, 1e6))
    shown, pairs = estimates.shown(data)
    seen = estimates.exposures[pairs] > 0.0
    assert few.doc_ids.tolist() == many.doc_ids.tolist() == shown.doc_ids.tolist()
    rates = estimates.clicks[pairs][seen] / estimates.exposures[pairs][seen]
    np.testing.assert_allclose(few.labels[seen], rates, rtol=1e-3, atol=1e-4)
    assert not np.allclose(many.labels[seen], rates, atol=0.05)
    mean = np.average(rates, weights=estimates.exposures[pairs][seen])
    assert np.average(many.labels, weights=estimates.exposures[pairs]) == pytest.approx(mean, rel=0.2)


def test_near_duplicates_are_left_to_the_estimate_to_count(
    index: rerank.Index, topics: dict, log: rerank.Clicks, caplog: pytest.LogCaptureFixture
) -> None:
    data = index.features(index.search(topics, 60), topics)
    with caplog.at_level("INFO", "rerank"):
        click_labels(rerank.estimate_clicks(log), replace(data, query_groups=np.arange(len(data)) // 2))
    assert "near duplicates" not in caplog.text


def test_documents_that_were_never_shown_have_the_label_that_the_features_predict_when_there_are_many_queries(
    index: rerank.Index, topics: dict, log, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = index.features(index.search(topics, 60), topics)
    estimates = rerank.estimate_clicks(log)
    shown = click_labels(estimates, data)
    monkeypatch.setattr("rerank.training.clicks.MANY_QUERIES", 10)
    labelled, predicted = (click_labels(estimates, data, prior=prior) for prior in (PRIOR, 1e8))
    assert labelled.n_rows == data.n_rows > shown.n_rows
    pairs, seen = estimates.matches(labelled)
    np.testing.assert_array_equal(labelled.labels[seen], shown.labels)
    np.testing.assert_array_equal(estimates.doc_ids[estimates.document[pairs]], labelled.doc_ids[seen])
    others = np.setdiff1d(np.arange(data.n_rows), seen)
    np.testing.assert_array_equal(labelled.labels[others], predicted.labels[others])
    assert labelled.labels[seen].mean() > labelled.labels[others].mean() > 0.0


def test_labels_of_a_query_do_not_depend_on_its_own_clicks_through_the_features(
    index: rerank.Index, topics: dict, log
) -> None:
    data, prior = index.features(index.search(topics, 60), topics), 1e9 - 1.0
    before = click_labels(rerank.estimate_clicks(log), data, prior=prior)
    estimates = rerank.estimate_clicks(log)
    of_first = estimates.query_ids[estimates.query] == next(iter(data))
    more = replace(estimates, clicks=np.where(of_first, estimates.exposures, estimates.clicks))
    after = click_labels(more, data, prior=prior)
    rows = before.rows(next(iter(data)))
    np.testing.assert_allclose(before.labels[rows], after.labels[rows], atol=1e-6)
    assert not np.allclose(before.labels, after.labels, atol=1e-3)


def test_train_verb_learns_from_a_log_of_query_texts(
    index: rerank.Index, topics: dict, log: rerank.Clicks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_texts = replace(log, query_ids=np.array([topics[name] for name in log.query_ids.tolist()]))
    rerank.write_clicks(with_texts, tmp_path / "log.jsonl")
    (tmp_path / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in topics.items()))
    paths = [str(index.path), str(tmp_path / "topics.tsv")]
    out = ["-o", str(tmp_path / "model.json"), "--candidates", "bm25"]
    parameters = ["-p", "n_estimators=5", "-p", "num_leaves=4", "-p", "min_child_samples=5"]
    cli.main(["train", *paths, "--clicks", str(tmp_path / "log.jsonl"), *out, *parameters], standalone_mode=False)
    assert "against the clicks by cross-validation" in capsys.readouterr().out
    assert rerank.read_model(tmp_path / "model.json").kind == "lambdamart"


def test_a_log_is_learned_from_by_lambdamart_for_any_number_of_queries(
    index: rerank.Index, topics: dict, log: rerank.Clicks
) -> None:
    model = rerank.train(index, topics, log, candidates="bm25", estimate=False).model
    assert (model.kind, model.base) == ("lambdamart", "unsupervised")


def test_logs_that_cannot_be_learned_from_are_refused_in_one_line(
    index: rerank.Index, topics: dict, log: rerank.Clicks, tmp_path: Path
) -> None:
    few = {name: topics[name] for name in list(topics)[:5]}
    with pytest.raises(InvalidInputError, match="clicks: expected candidates of at least 10 topics in the log, got"):
        rerank.train(index, few, log, learner())
    with pytest.raises(InvalidInputError, match="prior: expected a number above 0 and below 1e9, got 0"):
        click_labels(rerank.estimate_clicks(log), index.features(index.search(topics, 60), topics), prior=0)
    for name in "ab":
        (tmp_path / name).write_text("")
    paths = ["--clicks", str(tmp_path / "a"), "--teacher", str(tmp_path / "b"), "-o", str(tmp_path / "m.json")]
    with pytest.raises(click.UsageError, match="--clicks: expected it without --teacher"):
        cli.main(["train", str(index.path), str(tmp_path / "a"), *paths], standalone_mode=False)
