"""A model that starts from scores of BM25 takes those of its k1 and b alone; other changes of retriever are logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.errors import ModelMismatchError
from rerank.rankers import origin  # FIXME-MERGE
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import load_model
from rerank.types import RankingData
from rerank.types.retriever import Retriever

SMALL: dict[str, Any] = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 5}
OURS, OTHER, ANSERINI = Retriever.bm25(0.9, 0.4), Retriever.bm25(2.5, 0.4), Retriever("Anserini")
DENSE = Retriever("dense-v1")


@pytest.fixture(autouse=True)
def notes(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Notes are logged once in a process: forget those of other tests."""
    origin._note.cache_clear()
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
        model = load_model(tmp_path / "model.json")
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


def test_scores_that_are_given_by_themselves_do_not_depend_on_the_candidates(train, test) -> None:
    model, data = _warm(train, "run"), _named(test, OTHER)
    run = data.run(data.base_scores, str(OURS))
    np.testing.assert_allclose(model.predict(data, base=run), model.predict(_named(test)))
    with pytest.raises(
        ModelMismatchError, match=r"base run bm25-k1=2.5-b=0.4: expected a base run of bm25-k1=0.9-b=0.4"
    ):
        model.predict(data, base=replace(run, name=str(OTHER)))


def test_a_base_run_of_another_system_belongs_to_the_model(train, test, notes) -> None:
    def other(data: RankingData, name: str):  # type: ignore[no-untyped-def]
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
