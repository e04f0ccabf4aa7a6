from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import ttest_rel

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.report import compare, render
from rerank.evaluation.significance import paired_difference


@pytest.fixture
def results():
    qrels = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(4)}
    good = {f"q{n}": {"a": 3.0, "b": 2.0, "c": 1.0} for n in range(4)}
    bad = {f"q{n}": {"a": float(n), "b": 2.0, "c": 1.5} for n in range(4)}
    return {"bad": evaluate(qrels, bad, ["nDCG@10", "RR"]), "good": evaluate(qrels, good, ["nDCG@10", "RR"])}


def test_paired_test_equals_scipy() -> None:
    random = np.random.default_rng(0)
    one, two = random.random(50), random.random(50)
    two[:5] = one[:5]
    test = paired_difference(one, two)
    expected = ttest_rel(one, two)
    assert (test.t, test.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    assert test.wins + test.ties + test.losses == 50
    assert test.ties == 5
    assert test.difference == pytest.approx((one - two).mean())


def test_paired_test_of_equal_vectors_finds_nothing() -> None:
    test = paired_difference(np.ones(5), np.ones(5))
    assert (test.difference, test.p_value, test.ties) == (0.0, 1.0, 5)


def test_paired_test_of_a_constant_difference_is_certain() -> None:
    assert paired_difference(np.ones(5), np.zeros(5)).p_value == 0.0


def test_paired_test_needs_two_queries() -> None:
    with pytest.raises(InvalidInputError, match="at least two"):
        paired_difference(np.ones(1), np.zeros(1))


def test_table_shows_means_differences_and_policy(results) -> None:
    text = render(results)
    assert f"{results['good']['nDCG@10']:.4f}" in text
    assert "difference to bad" in text
    assert "3/1/0" in text
    assert "policy: as trec_eval" in text


def test_table_of_one_run_compares_nothing(results) -> None:
    text = render({"good": results["good"]})
    assert "difference" not in text
    assert "1.0000" in text


def test_per_query_figures_are_shown_when_asked_for(results) -> None:
    for form in ("table", "tsv", "latex"):
        assert "q3" in render(results, form, per_query=True)
        assert "q3" not in render(results, form)


def test_tsv_has_a_line_a_figure(results) -> None:
    lines = render(results, "tsv").splitlines()
    assert lines[0].split("\t") == ["bad", "nDCG@10", "all", f"{results['bad']['nDCG@10']:.4f}"]
    assert len(lines) == 4


def test_json_holds_everything(results) -> None:
    found = json.loads(render(results, "json", per_query=True))
    assert found["baseline"] == "bad"
    assert found["runs"]["good"]["mean"]["RR"] == 1.0
    test = compare(results["good"], results["bad"], "RR")
    assert found["runs"]["good"]["against_baseline"]["RR"]["p_value"] == test.p_value
    assert found["runs"]["bad"]["per_query"]["RR"]["q0"] == results["bad"].per_query["RR"]["q0"]
    assert "unjudged" in found["runs"]["bad"]["policy"]


def test_latex_is_a_booktabs_table_with_its_notes_as_comments(results) -> None:
    text = render(results, "latex")
    assert r"\toprule" in text
    assert "% policy" in text


def test_formats_that_are_none_are_refused(results) -> None:
    with pytest.raises(InvalidInputError, match="format: expected a known name, found 'html'"):
        render(results, "html")
