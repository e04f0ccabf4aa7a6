from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from rerank.evaluation.curves import CUTOFFS, RECALL_LEVELS, interpolated_precision, run_curves
from rerank.evaluation.evaluate import evaluate, ranked_lists
from rerank.types import Qrels, Run
from tests.evaluation.test_evaluate import random_case


@pytest.mark.parametrize("seed", range(50))
def test_interpolated_precision_equals_pytrec_evals(seed: int) -> None:
    qrels, run = random_case(seed)
    found = interpolated_precision(Qrels.of(qrels), Run.of(run))
    _, query_ids = ranked_lists(Qrels.of(qrels), Run.of(run))
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)
    assert len(found) == len(theirs)
    for query_id, values in zip(query_ids.tolist(), found, strict=True):
        expected = [theirs[query_id][f"iprec_at_recall_{level:.2f}"] for level in RECALL_LEVELS]
        assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("complete", [False, True])
def test_curves_are_means_over_the_queries_of_the_figures(complete: bool) -> None:
    qrels, run = random_case(3)
    qrels["missed"] = {"d1": 1}
    result = evaluate(qrels, run, ["AP", "P@5"], complete=complete)
    curves = run_curves(qrels, Run.of(run), result)
    assert curves.measure == "P"
    expected = evaluate(qrels, run, [f"P@{cutoff}" for cutoff in CUTOFFS], complete=complete)
    assert curves.by_cutoff == pytest.approx([expected[f"P@{cutoff}"] for cutoff in CUTOFFS])
    sums = interpolated_precision(Qrels.of(qrels), Run.of(run)).sum(axis=0)
    assert curves.precision == pytest.approx(sums / len(result.query_ids))


def test_curve_by_cutoff_is_ndcg_where_no_measure_has_a_cutoff() -> None:
    qrels, run = random_case(1)
    assert run_curves(qrels, Run.of(run), evaluate(qrels, run, ["AP"])).measure == "nDCG"


def test_measure_by_cutoff_looks_no_deeper_than_it_must() -> None:
    qrels = {"q": {f"d{number}": 1 for number in range(300)}}
    run = {"q": {f"d{number}": float(-number) for number in range(300)}}
    curves = run_curves(qrels, Run.of(run), evaluate(qrels, run, ["P@5"]))
    assert np.array(curves.by_cutoff) == pytest.approx(np.ones(len(CUTOFFS)))
