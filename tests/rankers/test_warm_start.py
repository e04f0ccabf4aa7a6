from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.index.bound_model import BoundModel
from rerank.rankers import retriever_checks
from rerank.rankers.bases import UnsupervisedBase
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker, read_model
from rerank.types import RankingData, Run
from rerank.types.retriever import Retriever
from tests.tiny import tiny

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
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(test, **given), scores)


def test_a_run_that_the_data_came_from_is_known_as_such(train) -> None:
    model = LambdaMART(**SMALL, base=train.run(train.base_scores)).fit(train)
    assert model.base_.kind == "candidates"


def test_bare_scores_are_asked_for_at_predict(train, test, tmp_path) -> None:
    X, y, qid = train.X, train.labels, np.repeat(train.query_ids, np.diff(train.query_ptr))
    model = LambdaMART(**SMALL).fit(X, y, qid=qid, init_score=train.base_scores)
    model.save(tmp_path / "model.json")
    for fitted in (model, read_model(tmp_path / "model.json")):
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
    assert one.to_dict()["learned"] == two.to_dict()["learned"]


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
    with pytest.raises(InvalidInputError, match=r"got 'array\(.* scores of rows are init_score= of fit\.$"):
        LambdaMART(**SMALL, base=train.base_scores).fit(train)
    with pytest.raises(InvalidInputError, match="expected no base= beside it"):
        LambdaMART(**SMALL, base="run").fit(train, init_score=train.base_scores)
    with pytest.raises(InvalidInputError, match="expected eval_init_score beside init_score"):
        LambdaMART(**SMALL).fit(train, init_score=train.base_scores, eval_set=test)
    with pytest.raises(InvalidInputError, match="expected a finite score for each of"):
        LambdaMART(**SMALL).fit(train, init_score=train.base_scores[:-1])


SMALL: dict[str, Any] = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 5}
OURS, OTHER, ANSERINI = Retriever.bm25(0.9, 0.4), Retriever.bm25(2.5, 0.4), Retriever("Anserini")
DENSE = Retriever("dense-v1")


@pytest.fixture(autouse=True)
def notes(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Notes are logged once in a process: forget those of other tests."""
    retriever_checks._note.cache_clear()
    with caplog.at_level(logging.INFO, "rerank"):
        yield caplog


def _named(data: RankingData, made: Retriever | None = OURS, dense: Retriever = DENSE) -> RankingData:
    """Return data of a retriever, one of whose features is the candidates' score, another a dense run's."""
    names = ("run.score", "run.dense.score", *data.feature_names[2:])
    others = {"dense": dense}
    X = np.nan_to_num(data.X)
    return replace(data, X=X, feature_names=names, retriever=made, run_retrievers=others)


def _warm(train: RankingData, kind: str) -> Ranker:
    data = _named(train)
    if kind == "nested":
        return LambdaMART(**SMALL, base=_warm(train, "run")).fit(data)
    base = {"run": "run", "same run": data.run(data.base_scores, str(OURS)), "feature": "feature:run.score"}[kind]
    return LambdaMART(**SMALL, base=base).fit(replace(data, retriever=None) if kind == "same run" else data)


@pytest.mark.parametrize("kind", ["run", "same run", "feature", "nested"])
@pytest.mark.parametrize("stored", [False, True])
def test_model_that_starts_from_bm25_refuses_other_parameters(kind, stored, train, test, tmp_path, notes) -> None:
    model = _warm(train, kind)
    if stored:
        model.save(tmp_path / "model.json")
        model = read_model(tmp_path / "model.json")
    notes.clear()
    expected = model.predict(_named(test))
    assert notes.text == ""
    with pytest.raises(
        ModelMismatchError,
        match=r"^data: expected candidates of bm25-k1=0.9-b=0.4, whose scores the model starts from, got candidates "
        r"of bm25-k1=2.5-b=0.4. Retrieve with k1 0.9 and b 0.4, or train the model on such a run.$",
    ):
        model.rank(_named(test, OTHER))
    for unknown, level in ((ANSERINI, logging.WARNING), (None, logging.INFO)):
        notes.clear()
        for _ in range(2):
            np.testing.assert_array_equal(model.predict(_named(test, unknown)), expected)
        (record,) = notes.records
        assert record.levelno == level
        assert f"applied to candidates of {unknown or 'an unknown retriever'}; the scores it starts" in record.message


def test_validation_data_of_other_parameters_are_refused(train, valid) -> None:
    with pytest.raises(ModelMismatchError, match=r"validation data: expected candidates of bm25-k1=0.9-b=0.4"):
        LambdaMART(**SMALL, base="run").fit(_named(train), eval_set=_named(valid, OTHER))


def test_model_that_starts_from_another_bm25_than_its_base_is_refused(train) -> None:
    with pytest.raises(ModelMismatchError, match=r"data: expected candidates of bm25-k1=0.9-b=0.4"):
        LambdaMART(**SMALL, base=_warm(train, "run")).fit(_named(train, OTHER))


@pytest.mark.parametrize("given", [OTHER, ANSERINI])
def test_cold_model_says_once_that_candidates_are_of_another_retriever(given, train, test, notes) -> None:
    model = LambdaMART(**SMALL).fit(_named(train))
    expected = model.predict(_named(test))
    assert notes.text == ""
    for _ in range(2):
        np.testing.assert_array_equal(model.predict(_named(test, given)), expected)
    (record,) = notes.records
    assert record.message == (
        f"model: trained on candidates of bm25-k1=0.9-b=0.4, applied to candidates of {given}; features may differ"
    )


def test_model_of_several_sources_says_how_one_for_texts_is_trained(train, test, notes) -> None:
    model = LambdaMART(**SMALL).fit(_named(train, Retriever("union:bm25:1000,lsi:200")))
    model.predict(_named(test))
    (record,) = notes.records
    assert record.message == (
        "model: trained on candidates of union:bm25:1000,lsi:200, applied to candidates of bm25-k1=0.9-b=0.4; features "
        "may differ. For these and for texts, train with --candidates bm25:100"
    )


def test_scores_that_are_given_by_themselves_do_not_depend_on_the_candidates(train, test) -> None:
    model, data = _warm(train, "run"), _named(test, OTHER)
    run = data.run(data.base_scores, str(OURS))
    np.testing.assert_allclose(model.predict(data, base=run), model.predict(_named(test)))
    with pytest.raises(
        ModelMismatchError, match=r"base run bm25-k1=2.5-b=0.4: expected a base run of bm25-k1=0.9-b=0.4"
    ):
        model.predict(data, base=replace(run, name=str(OTHER)))


def test_a_base_run_of_another_system_belongs_to_the_model(train, test, notes) -> None:
    def other(data: RankingData, name: str):
        return data.run(-data.base_scores, name)

    model = LambdaMART(**SMALL, base=other(train, "dense-v1")).fit(_named(train))
    notes.clear()
    expected = model.predict(_named(test), base=other(test, "dense-v1"))
    assert notes.text == ""
    np.testing.assert_array_equal(model.predict(_named(test), base=other(test, "dense-v2")), expected)
    assert "trained on a base run of dense-v1, applied to a base run of dense-v2; the scores it starts" in notes.text
    model = LambdaMART(**SMALL, base=other(train, str(OTHER))).fit(_named(train))
    with pytest.raises(ModelMismatchError, match=f"base run {OURS}: expected a base run of {OTHER}, whose scores"):
        model.predict(_named(test), base=other(test, str(OURS)))


def test_another_run_among_the_features_is_said_and_refused_as_a_base(train, test, notes) -> None:
    cold = LambdaMART(**SMALL).fit(_named(train))
    cold.predict(_named(test, dense=Retriever("dense-v2")))
    assert "trained on run dense of dense-v1, applied to run dense of dense-v2; features may differ" in notes.text
    warm = LambdaMART(**SMALL, base="feature:run.dense.score").fit(_named(train, dense=OURS))
    warm.predict(_named(test, OTHER, OURS))
    with pytest.raises(ModelMismatchError, match=f"data: expected run dense of {OURS}, whose scores the model starts"):
        warm.predict(_named(test, OURS, OTHER))


def test_a_start_from_an_unknown_retriever_is_said_at_training(train, notes) -> None:
    for made in (None, ANSERINI):
        LambdaMART(**SMALL, base="run").fit(replace(train, retriever=made))
    messages = [record.message.partition(";")[0] for record in notes.records]
    assert [message for message in messages if message.startswith("base:")] == [
        "base: what retrieved the run is unknown",
        "base: what retrieved the run is unknown (tag Anserini)",
    ]


def test_file_from_before_retrievers_were_stored_is_taken_as_of_an_unknown_one(train, test, notes) -> None:
    model = _warm(train, "run")
    stored = model.to_dict()
    old = {key: value for key, value in stored.items() if key not in ("retriever", "run_retrievers")}
    assert len(old) == len(stored) - 2
    again = LambdaMART.from_dict(old)
    assert again.to_dict() == old
    np.testing.assert_array_equal(again.predict(_named(test, OTHER)), model.predict(_named(test)))
    assert "trained on candidates of an unknown retriever, applied to candidates of bm25-k1=2.5-b=0.4" in notes.text


def test_contributions_of_some_rows_are_those_among_all_that_were_scored(tmp_path: Path) -> None:
    world = tiny()
    index = rerank.Index.build(world.documents, tmp_path / "index")
    model = rerank.train(index, world.topics, world.qrels, estimate=False).model
    assert isinstance(model.base_, UnsupervisedBase)
    topics = rerank.Topics({"q0": world.topics["q0"]})
    bound = BoundModel.of(index, model)
    data = bound.features(bound.find_candidates(topics, None, 50), topics, whole=True)
    whole = model.contributions(data)
    np.testing.assert_allclose(whole.sum(axis=1), model.predict(data), atol=1e-9)
    for rows in ([0], [5, 3], list(range(20))):
        np.testing.assert_array_equal(model.contributions(data, rows=rows), whole[rows])


def test_base_on_data_without_its_features_of_a_history_is_stored(train, test, tmp_path: Path) -> None:
    base = LambdaMART(**SMALL).fit(replace(train, feature_names=("history.prior", *train.feature_names[1:])))
    model = LambdaMART(**SMALL, base=base).fit(train)
    model.save(tmp_path / "model.json")
    stored = read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(stored.predict(test), model.predict(test))
    np.testing.assert_allclose(stored.contributions(test).sum(axis=1), stored.predict(test), atol=1e-9)
