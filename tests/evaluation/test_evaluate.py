from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import compare
from rerank.evaluation.evaluate import evaluate
from rerank.files.trec import read_qrels, read_run, write_qrels, write_run
from tests.oracles.peers import difference_to_ir_measures, difference_to_pytrec_eval, random_case


@pytest.mark.parametrize("seed", range(250))
def test_figures_equal_pytrec_eval(seed: int) -> None:
    largest, where, count = difference_to_pytrec_eval(random_case(np.random.default_rng(seed)))
    assert count
    assert largest <= 1e-9, where


@pytest.mark.parametrize("seed", range(50))
def test_figures_equal_ir_measures(seed: int) -> None:
    largest, where, count = difference_to_ir_measures(random_case(np.random.default_rng(seed)))
    assert count
    assert largest <= 1e-9, where


def test_values_of_queries_are_found_by_every_name_of_a_measure() -> None:
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg_cut_10", "map"])
    assert result.per_query["ndcg_cut_10"] == result.per_query["nDCG@10"] == {"q": 1.0}
    with pytest.raises(InvalidInputError, match="measure: expected one of nDCG@10, AP"):
        result.per_query["RR"]


def test_mean_is_over_the_queries_that_both_hold() -> None:
    qrels = {"a": {"d": 1}, "b": {"d": 1}, "none relevant": {"d": 0}}
    run = {"a": {"d": 1.0}, "none relevant": {"d": 1.0}, "unjudged": {"d": 1.0}}
    assert evaluate(qrels, run, ["P@1"])["P@1"] == pytest.approx(1 / 2)
    complete = evaluate(qrels, run, ["P@1"], complete=True)
    assert complete["P@1"] == pytest.approx(1 / 3)
    assert complete.per_query["P@1"] == {"a": 1.0, "b": 0.0, "none relevant": 0.0}


def test_ties_are_broken_by_document_id_descending() -> None:
    run = {"q": {"d1": 1.0, "d2": 1.0, "d10": 1.0}}
    assert evaluate({"q": {"d2": 1}}, run, ["RR"])["RR"] == 1.0
    assert evaluate({"q": {"d1": 1}}, run, ["RR"])["RR"] == pytest.approx(1 / 3)


def test_figures_are_found_by_either_name() -> None:
    result = evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, ["map"])
    assert result["AP"] == result["map"] == 1.0
    assert result.measures == ("AP",)
    assert dict(result) == {"AP": 1.0}
    assert list(result) == ["AP"]
    with pytest.raises(InvalidInputError, match="measure: expected one of AP"):
        result["RR"]


def test_runs_that_share_no_query_with_the_judgements_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"got none \(run has 'x', qrels have 'q'\)"):
        evaluate({"q": {"d": 1}}, {"x": {"d": 1.0}})
    with pytest.raises(InvalidInputError, match="measures: expected at least one"):
        evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, [])


def test_policy_says_which_queries_count() -> None:
    qrels, run = {"q": {"d": 1}, "p": {"d": 1}}, {"q": {"d": 1.0}}
    assert evaluate(qrels, run).policy == "as trec_eval; mean over 1 query: judged and in the run"
    assert "mean over 2 queries: all that are judged" in evaluate(qrels, run, complete=True).policy


def test_a_measure_of_texts_has_them_by_query_and_no_figure() -> None:
    result = evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, ["relstring"])
    assert result.per_query["relstring"] == {"q": "1"}
    with pytest.raises(
        InvalidInputError, match="measure RelString@10: expected one that is a number, got one of texts"
    ):
        result["relstring"]


@pytest.mark.parametrize("name", ["complete", "judged_only", "remove_query"])
def test_an_option_that_is_no_truth_value_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}: expected true or false, got 'no'"):
        evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, **{name: "no"})  # type: ignore[arg-type]


def test_a_measure_of_another_level_is_read_by_the_name_that_it_was_asked_by() -> None:
    result = evaluate({"q": {"d": 1, "e": 2}}, {"q": {"d": 2.0, "e": 1.0}}, ["AP", "RR(rel=1)"], level=2)
    assert result["AP"] == result["map"] == result["AP(rel=2)"] == result.per_query["AP"]["q"] == 0.5
    assert result["RR(rel=1)"] == 1.0
    with pytest.raises(InvalidInputError, match=r"measure: expected one of AP\(rel=2\), RR, got AP\."):
        result["AP(rel=1)"]


def test_policy_says_which_rules_are_in_force() -> None:
    names = ["AP", "GMAP", "NumQ", "iprec_at_recall_0.10", "11pt_avg", "AvgIPrec(rounding='up')"]
    result = evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, names, depth=5, judged_only=True, level=2)
    assert result.policy.split("; ")[2:] == [
        "relevant = label of at least 2, unless rel= says else",
        "unjudged documents are struck from the list",
        "first 5 documents of a query",
        "geometric mean, at least 0.00001 each: GMAP(rel=2)",
        "sum: NumQ",
        "recall as trec_eval 10 rounds it (rounding='nearest'): IPrec, AvgIPrec",
        "recall as trec_eval 9 rounds it (rounding='up'): AvgIPrec",
    ]


def test_depth_cuts_each_query_before_unjudged_documents_are_struck() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": -1}}
    run = {"q": {"x": 4.0, "c": 3.0, "a": 2.0, "b": 1.0}}
    assert evaluate(qrels, run, ["NumRet"], depth=3)["NumRet"] == 3
    assert evaluate(qrels, run, ["RR"], judged_only=True)["RR"] == 1.0
    both = evaluate(qrels, run, ["NumRet", "R@5"], depth=3, judged_only=True)
    assert (both["NumRet"], both["R@5"]) == (1, 0.5)


def test_document_with_the_id_of_the_query_is_left_out_as_by_beir(tmp_path) -> None:
    qrels = {"q": {"q": 1, "a": 1}, "p": {"a": 1}}
    run = {"q": {"q": 3.0, "x": 2.0, "a": 1.0}, "p": {"p": 1.0}}
    kept, left = (evaluate(qrels, run, ["RR", "NumRet"], depth=2, remove_query=remove) for remove in (False, True))
    assert (kept["RR"], left["RR"]) == (0.5, 0.25)  # the mean of 1 / 2 and of 0 for a list without documents
    assert left.per_query["NumRet"] == {"q": 2.0, "p": 0.0}  # ranks are counted without it
    assert "the document with the id of the query is struck from the list" in left.policy.split("; ")
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    write_qrels(qrels, tmp_path / "qrels" / "test.tsv")
    assert evaluate(tmp_path / "qrels" / "test.tsv", run, ["RR"])["RR"] == 0.25
    assert evaluate(tmp_path / "qrels" / "test.tsv", run, ["RR"], remove_query=False)["RR"] == 0.5
    runs = {name: {"q": run["q"], "p": {"p": 2.0, "a": 1.0}} for name in ("one", "other")}
    assert compare(tmp_path / "qrels" / "test.tsv", runs, ["RR"]).results["other"]["RR"] == 0.75


def test_complete_evaluates_a_missing_query_as_an_empty_list() -> None:
    result = evaluate({"p": {"d": 1}, "q": {"d": 1, "e": 2}}, {"p": {"d": 1.0}}, ["NumRel", "NumRet"], complete=True)
    assert result.per_query["NumRel"] == {"p": 1, "q": 2}
    assert result.per_query["NumRet"] == {"p": 1, "q": 0}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"depth": 0}, "depth: expected 1 to 2147483647, got 0"),
        ({"depth": True}, "depth: expected a whole number from 1 to 2147483647, got True"),
        ({"level": 1.5}, "level: expected a whole"),
        ({"level": None}, "level: expected a whole number from 1 to 2147483647, got None"),
    ],
)
def test_rules_that_are_none_are_refused(rules, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, **rules)


@pytest.mark.parametrize("seed", range(5))
def test_figures_from_files_equal_those_from_mappings(tmp_path, seed: int) -> None:
    qrels, run, _, _ = random_case(np.random.default_rng(seed))
    write_qrels(qrels, tmp_path / "qrels")
    write_run(run, tmp_path / "run")
    read = evaluate(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"))
    assert read.per_query == evaluate(qrels, run).per_query


def test_a_process_that_evaluates_loads_no_numba_and_no_scipy(tmp_path) -> None:
    qrels, run, _, _ = random_case(np.random.default_rng(1))
    write_qrels(qrels, tmp_path / "qrels")
    write_run(run, tmp_path / "run")
    code = (
        "import sys; from rerank.cli.main import run; run(sys.argv[1:]); "
        "print({'numba', 'scipy', 'jnius', 'sklearn', 'llvmlite'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, "evaluate", str(tmp_path / "qrels"), str(tmp_path / "run")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "set()"


def test_queries_of_a_mapping_without_documents_count_0() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run = {"q1": {"a": 1.0}, "q2": {}, "unjudged": {}}
    result = evaluate(qrels, run, ["P@1", "AP", "nDCG@10"])
    assert result.query_ids.tolist() == ["q1", "q2"]  # as pytrec_eval has them
    assert [result[measure] for measure in result.measures] == [0.5] * 3
    assert evaluate(qrels, run, ["P@1"], complete=True)["P@1"] == pytest.approx(1 / 3)
    comparison = compare(qrels, {"all": {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, "some": run}, ["P@1"])
    assert comparison.differences["some"]["P@1"].difference == -0.5
    assert evaluate(qrels, {"q2": {}}, ["P@1"])["P@1"] == 0.0


@pytest.mark.parametrize("measure", ["nDCG(dcg='exp-log2')@10", "DCG(dcg='exp-log2')"])
def test_gains_that_overflow_are_refused_with_the_label(measure: str) -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert np.isfinite(evaluate({"q": {"a": 500, "b": 500}}, run, [measure])[measure])
    with pytest.raises(InvalidInputError, match=r"expected labels up to 500 for gains of 2\^label - 1, got 2000"):
        evaluate({"q": {"a": 1, "b": 2000}}, run, [measure])


def test_queries_that_are_written_in_two_ways_are_named(caplog: pytest.LogCaptureFixture) -> None:
    qrels = {"51": {"d": 1}, "q7": {"d": 1}, "101": {"d": 1}}
    qrels["caf\u00e9"] = {"d": 1}
    written = (("051", "51"), ("q07", "q7"), ("Q7", "q7"), ('"51"', "51"), ("51.0", "51"), ("cafe\u0301", "caf\u00e9"))
    for name, other in written:
        message = rf"'{name}' and '{other}' differ in zeros, quotes, case or Unicode's form alone: write them in one"
        with pytest.raises(InvalidInputError, match=message):
            evaluate(qrels, {name: {"d": 1.0}}, ["RR"])
    assert evaluate(qrels, {"051": {"d": 1.0}, "101": {"d": 1.0}}, ["RR"])["RR"] == 1.0
    assert "'051' and '51' differ in zeros" in caplog.text


def test_documents_of_which_none_is_judged_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert evaluate({"q": {"a": 1}}, {"q": {"b": 1.0}}, ["RR"])["RR"] == 0.0
    assert "expected documents that are judged, got none (run has 'b', qrels have 'a'). Check that both" in caplog.text
    assert evaluate({"q": {"a": 1}}, {"q": {"A": 1.0}}, ["RR"])["RR"] == 0.0
    assert "'A' and 'a' differ in zeros, quotes, case or Unicode's form alone" in caplog.text
    caplog.clear()
    evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}, "r": {"c": 1.0}}, ["RR"])
    assert not caplog.text


def test_a_run_of_parts_of_the_judged_documents_says_how_to_keep_the_best(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "parts.run"
    run.write_text("q Q0 x#0 1 4 t\nq Q0 a-1#2 2 3 t\nq Q0 x#1 3 2 t\nq Q0 a-1#0 4 1 t\n")
    assert evaluate({"q": {"a-1": 1}}, run, ["RR"])["RR"] == 0.0
    assert "'a-1#2' is a part of 'a-1': keep the best part of each document, e.g. awk" in caplog.text
    program = caplog.text.rpartition("awk '")[2].partition("'")[0]
    done = subprocess.run(["awk", program, str(run)], capture_output=True, text=True, check=True)
    run.write_text(done.stdout)
    assert list(read_run(run)["q"]) == ["x", "a-1"]
    assert evaluate({"q": {"a-1": 1}}, run, ["RR"])["RR"] == 0.5


def test_run_without_a_judged_query_counts_0_with_complete(caplog: pytest.LogCaptureFixture) -> None:
    result = evaluate({"1": {"d": 1}, "2": {"d": 1}}, {"9": {"d": 1.0}}, ["RR"], complete=True)
    assert result.per_query["RR"] == {"1": 0.0, "2": 0.0}
    assert "expected a query that is judged, got none (run has '9', qrels have '1')" in caplog.text


def test_judgements_without_a_relevant_document_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["nDCG@10"])["nDCG@10"] == 0
    assert "qrels: expected a document with a label above 0, got none. Check the order of the columns." in caplog.text
