from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.store import load_model
from rerank.types import Run

SMALL = {"n_estimators": 20, "num_leaves": 8, "min_child_samples": 5}


def _other_run(data, factor: float = 1.5) -> Run:
    return replace(data.run(data.base_scores * factor + 1), name="dense")


def test_warm_start_begins_at_the_base_scores(train) -> None:
    model = LambdaMART(**{**SMALL, "n_estimators": 1, "learning_rate": 1e-9}, base="run", start="base").fit(train)
    np.testing.assert_allclose(model.predict(train), train.base_scores, atol=1e-6)


@pytest.mark.parametrize("kind", ["feature", "run", "other run", "model", "none"])
def test_base_is_stored_in_the_model_and_applied_at_predict(kind, train, test, tmp_path) -> None:
    inner = LambdaMART(**SMALL).fit(train)
    base = {
        "feature": "feature:f0",
        "run": "run",
        "other run": _other_run(train),
        "model": inner,
        "none": None,
    }[kind]
    start = {
        "feature": test.X[:, 0].astype(float),
        "run": test.base_scores,
        "other run": test.base_scores * 1.5 + 1,
        "model": inner.predict(test),
        "none": np.zeros(test.n_rows),
    }[kind]
    model = LambdaMART(**SMALL, base=base).fit(train)
    given = {"base": _other_run(test)} if kind == "other run" else {}
    scores = model.predict(test, **given)
    np.testing.assert_allclose(scores, start + model._scores(test.X), rtol=1e-12, atol=1e-12)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(test, **given), scores)


def test_a_run_that_the_data_came_from_is_known_as_such(train) -> None:
    model = LambdaMART(**SMALL, base=train.run(train.base_scores)).fit(train)
    assert model.base_.kind == "candidates"


def test_bare_scores_are_asked_for_at_predict(train, test, tmp_path) -> None:
    X, y, qid = train.X, train.labels, np.repeat(train.query_ids, np.diff(train.query_ptr))
    model = LambdaMART(**SMALL).fit(X, y, qid=qid, init_score=train.base_scores)
    model.save(tmp_path / "model.json")
    for fitted in (model, load_model(tmp_path / "model.json")):
        with pytest.raises(ModelMismatchError, match="expected init_score, as in fit, got none"):
            fitted.predict(test.X)
        scores = fitted.predict(test.X, init_score=test.base_scores)
        np.testing.assert_allclose(scores, test.base_scores + fitted._scores(test.X))


def test_bare_scores_follow_their_rows_in_any_order(train) -> None:
    qid = np.repeat(train.query_ids, np.diff(train.query_ptr))
    order = np.random.default_rng(0).permutation(train.n_rows)
    one = LambdaMART(**SMALL).fit(train.X, train.labels, qid=qid, init_score=train.base_scores)
    two = LambdaMART(**SMALL).fit(
        train.X[order], train.labels[order], qid=qid[order], init_score=train.base_scores[order]
    )
    assert one._learned() == two._learned()


def test_a_document_that_the_base_run_lacks_starts_at_its_querys_lowest_score(train) -> None:
    run = _other_run(train)
    first = train.doc_ids[0]
    kept = run.doc_ids != first
    counts = np.diff(run.query_ptr)
    counts[0] -= 1
    short = Run(run.query_ids, np.concatenate([[0], np.cumsum(counts)]), run.doc_ids[kept], run.scores[kept], "dense")
    model = LambdaMART(**{**SMALL, "learning_rate": 1e-9, "n_estimators": 1}, base=short, start="base").fit(train)
    scores = model.predict(train, base=short)
    assert scores[0] == pytest.approx(min(short["q0"].values()), abs=1e-6)


def test_base_scores_that_are_not_there_are_refused(train, test) -> None:
    with pytest.raises(ModelMismatchError, match="Give that run for these queries"):
        LambdaMART(**SMALL, base=_other_run(train)).fit(train).predict(test)
    with pytest.raises(ModelMismatchError, match="expected the scores of the run that the data came from, got none"):
        LambdaMART(**SMALL, base="run").fit(train).predict(replace(test, base_scores=None))
    with pytest.raises(InvalidInputError, match="expected every query of the data, got none of query q0"):
        LambdaMART(**SMALL, base={"x": {"d": 1.0}}).fit(train)
    with pytest.raises(InvalidInputError, match="Did you mean 'f0'"):
        LambdaMART(**SMALL, base="feature:f00").fit(train)
    with pytest.raises(InvalidInputError, match="base feature f1: expected a value in every row"):
        LambdaMART(**SMALL, base="feature:f1").fit(train)
    with pytest.raises(InvalidInputError, match="base: expected None, 'run'"):
        LambdaMART(**SMALL, base="bm25").fit(train)
    with pytest.raises(InvalidInputError, match="expected no base= beside it"):
        LambdaMART(**SMALL, base="run").fit(train, init_score=train.base_scores)
    with pytest.raises(InvalidInputError, match="expected eval_init_score beside init_score"):
        LambdaMART(**SMALL).fit(train, init_score=train.base_scores, eval_set=test)
    with pytest.raises(InvalidInputError, match="expected a finite score for each of"):
        LambdaMART(**SMALL).fit(train, init_score=train.base_scores[:-1])
