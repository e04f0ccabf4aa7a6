from __future__ import annotations

import numpy as np
import pytest

from rerank.evaluation.comparison import CUTOFFS, run_curves
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.precision import RECALLS
from rerank.types import Run
from tests.oracles.peers import random_case


@pytest.mark.parametrize("seed", range(5))
def test_curve_of_precision_follows_the_rules_of_the_figures(seed: int) -> None:
    qrels, run, _, _ = random_case(np.random.default_rng(seed))
    rules = {"depth": 3, "judged_only": True, "level": 2}
    curves = run_curves(qrels, Run.of(run), evaluate(qrels, run, ["AP", "P@5"], **rules))
    expected = evaluate(qrels, run, ["iprec_at_recall.0,0.5,1"], **rules)
    points = [curves.precision[RECALLS.index(recall)] for recall in (0.0, 0.5, 1.0)]
    assert points == pytest.approx([expected[name] for name in expected.measures])
    assert curves.by_cutoff[2:] == pytest.approx([curves.by_cutoff[2] * 3 / cutoff for cutoff in CUTOFFS[2:]])


@pytest.mark.parametrize("complete", [False, True])
def test_curves_are_means_over_the_queries_of_the_figures(complete: bool) -> None:
    qrels, run, _, _ = random_case(np.random.default_rng(3))
    qrels["missed"] = {"d1": 1}
    result = evaluate(qrels, run, ["AP", "P@5"], complete=complete)
    curves = run_curves(qrels, Run.of(run), result)
    assert curves.measure == "P"
    expected = evaluate(qrels, run, [f"P@{cutoff}" for cutoff in CUTOFFS], complete=complete)
    assert curves.by_cutoff == pytest.approx([expected[f"P@{cutoff}"] for cutoff in CUTOFFS])
    precision = evaluate(qrels, run, [f"IPrec@{recall}" for recall in RECALLS], complete=complete)
    assert curves.precision == pytest.approx([precision[name] for name in precision.measures])


def test_curve_by_cutoff_is_ndcg_where_no_measure_has_a_cutoff() -> None:
    qrels, run, _, _ = random_case(np.random.default_rng(1))
    assert run_curves(qrels, Run.of(run), evaluate(qrels, run, ["AP"])).measure == "nDCG"


def test_measure_by_cutoff_looks_no_deeper_than_it_must() -> None:
    qrels = {"q": {f"d{number}": 1 for number in range(300)}}
    run = {"q": {f"d{number}": float(-number) for number in range(300)}}
    curves = run_curves(qrels, Run.of(run), evaluate(qrels, run, ["P@5"]))
    assert np.array(curves.by_cutoff) == pytest.approx(np.ones(len(CUTOFFS)))
