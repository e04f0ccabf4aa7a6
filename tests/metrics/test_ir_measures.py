"""Measures of ir_measures as objects, wherever a name is taken."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, ERR, RBP, RR, P, R, SetF, nDCG

import rerank
from rerank.errors import InvalidInputError
from rerank.experiments.study import Study
from rerank.metrics.registry import parse_measure
from tests.rankers.conftest import ranking_data

OBJECTS = (nDCG @ 10, AP, AP(rel=2), P(rel=2) @ 5, RR @ 3, R @ 10, ERR @ 20, nDCG(dcg="exp-log2") @ 5)
OBJECTS += (RBP(p=0.5, rel=1) @ 5, SetF(beta=2.0), nDCG(gains={0: 0, 1: 1, 2: 5}) @ 10)
UNKNOWN = (ir_measures.Compat(p=0.9), ir_measures.NRBP)
QRELS = {"a": {"x": 2, "y": 0, "z": 1}, "b": {"x": 1, "w": 2}}
RUN = {"a": {"x": 1.0, "y": 3.0, "z": 2.0}, "b": {"w": 1.0, "x": 2.0, "v": 0.5}}


@pytest.mark.parametrize("measure", OBJECTS, ids=str)
def test_object_means_its_name_and_has_the_values_of_ir_measures(measure: Any) -> None:
    assert parse_measure(measure) == parse_measure(str(measure))
    result = rerank.evaluate(QRELS, RUN, [measure])
    assert result[measure] == result[str(measure)]
    if ir_measures.pytrec_eval.supports(measure):  # the provider that is installed
        theirs = ir_measures.pytrec_eval.calc_aggregate([measure], QRELS, RUN)
        assert result[measure] == pytest.approx(theirs[measure], abs=1e-9)


def test_objects_are_taken_wherever_names_are() -> None:
    names, objects = [str(measure) for measure in OBJECTS], list(OBJECTS)
    by_name = rerank.evaluate(QRELS, RUN, names)
    for given in (objects, tuple(objects), iter(objects)):
        assert rerank.evaluate(QRELS, RUN, given).measures == by_name.measures
    for single in (AP, "AP"):
        assert rerank.evaluate(QRELS, RUN, single).measures == ("AP",)
        assert rerank.compare(QRELS, {"one": RUN, "other": RUN}, single).measures == ("AP",)
    runs = {"one": RUN, "other": {query: dict.fromkeys(RUN[query], 1.0) for query in RUN}}
    both = [rerank.compare(QRELS, runs, measures) for measures in (names, objects)]
    assert both[0].to_frame().equals(both[1].to_frame())
    study = Study(metric=nDCG @ 5, measures=(AP, "P@5"))
    assert study == Study(metric="nDCG@5", measures=("AP", "P@5")) == Study.from_dict(study.to_dict())
    mixed = [rerank.combine(RUN, runs["other"], QRELS, metric) for metric in ("nDCG@5", nDCG @ 5)]
    assert mixed[0].alpha == mixed[1].alpha


def test_ranker_learns_for_an_object(tmp_path: Any) -> None:
    data = ranking_data(1, n_queries=20)
    models = [
        rerank.LambdaMART(n_estimators=3, num_leaves=4, metric=metric).fit(data, eval_set=data)
        for metric in (nDCG @ 5, "nDCG@5")
    ]
    assert models[0].to_dict() == models[1].to_dict()
    np.testing.assert_array_equal(models[0].predict(data), models[1].predict(data))
    assert models[0].score(data) == models[1].score(data)
    both = rerank.Ensemble(members="2*lambdamart(n_estimators=2, num_leaves=3)", n_folds=2, metric=AP).fit(data)
    assert [member["parameters"]["metric"] for member in both.to_dict()["learned"]["members"]] == ["AP", "AP"]


def test_judged_only_is_refused_with_the_option_of_the_evaluation() -> None:
    remedy = r"Evaluate with -J \(evaluate\(\.\.\., judged_only=True\)\)\."
    with pytest.raises(InvalidInputError, match=f"measure AP: expected judged_only of the whole evaluation.*{remedy}"):
        rerank.evaluate(QRELS, RUN, [AP(judged_only=True)])


@pytest.mark.parametrize("measure", UNKNOWN, ids=str)
def test_what_is_not_known_is_refused_in_one_line(measure: Any) -> None:
    for use in (
        lambda: rerank.evaluate(QRELS, RUN, [measure]),
        lambda: rerank.LambdaMART(metric=measure).fit(ranking_data(1, n_queries=20)),
    ):
        with pytest.raises(InvalidInputError, match="expected a known name, got") as caught:
            use()
        assert len(str(caught.value).splitlines()) == 1
