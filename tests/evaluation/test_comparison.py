from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import render
from rerank.evaluation.comparison_page import Move, moves, query_details
from rerank.types import Qrels, Run


def world(n_queries: int = 40, seed: int = 0):
    """Judgements and three runs: `base`, `better` (relevant documents raised) and `worse` (lowered)."""
    random = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(30)]
    labels = {f"q{q:02}": random.integers(0, 3, 30).tolist() for q in range(n_queries)}
    qrels = {q: dict(zip(docs, values, strict=True)) for q, values in labels.items()}
    noise = {q: dict(zip(docs, random.normal(size=30).tolist(), strict=True)) for q in qrels}
    lift = {q: random.normal(0.5, 0.6) for q in qrels}

    def run(sign: float):
        return {q: {doc: noise[q][doc] + sign * lift[q] * qrels[q][doc] for doc in docs} for q in qrels}

    return qrels, {"base": run(0.0), "better": run(1.0), "worse": run(-1.0)}


def test_comparison_holds_what_evaluate_says_of_each_run() -> None:
    qrels, runs = world()
    result = rerank.compare(qrels, runs, ["nDCG@10", "AP"])
    assert (result.baseline, result.systems, result.measures) == ("base", ("better", "worse"), ("nDCG@10", "AP"))
    for name, run in runs.items():
        alone = rerank.evaluate(qrels, run, ["nDCG@10", "AP"])
        assert result.results[name].per_query == alone.per_query
    for name in result.systems:
        difference = result.differences[name]["AP"]
        assert difference.difference == pytest.approx(result.results[name]["AP"] - result.results["base"]["AP"])
        assert difference.low < difference.difference < difference.high
    assert result.differences["better"]["AP"].difference > 0 > result.differences["worse"]["AP"].difference


def test_runs_are_refused_when_they_have_no_names() -> None:
    qrels, runs = world()
    with pytest.raises(InvalidInputError, match=r"^runs: expected a mapping of runs by name, got list\. Name each run"):
        rerank.compare(qrels, list(runs.values()))  # type: ignore[arg-type]


def test_p_is_the_chosen_tests_and_corrected_over_runs_and_measures() -> None:
    qrels, runs = world()
    for test in ("t", "wilcoxon", "randomisation"):
        result = rerank.compare(qrels, runs, ["nDCG@10", "AP"], test=test, correction="bonferroni")
        for run in result.systems:
            for measure in result.measures:
                raw = result.differences[run][measure].p_values[test]
                assert result.p_values[run][measure] == pytest.approx(min(1.0, 4 * raw))


def test_measures_whose_figure_is_no_mean_have_no_difference() -> None:
    """GMAP's queries have values of average precision, and counts are sums; both would count in Holm."""
    qrels, runs = world()
    result = rerank.compare(qrels, runs, ["GMAP", "AP", "num_rel_ret"])
    alone = rerank.compare(qrels, runs, ["AP"])
    assert result.compared == ("AP",)
    assert result.p_values == alone.p_values
    frame = result.to_frame().set_index(["run", "measure"])
    assert np.isnan(frame.loc[("better", "GMAP"), "difference"])
    for text in (str(result), render(result, "latex")):
        assert "no difference of GMAP, NumRet(rel=1): the figure is no mean over queries" in text
        assert "Holm over 2 runs x 1 measure" in text
    only = rerank.compare(qrels, runs, ["GMAP"])
    assert only.pairs == []
    for text in (str(only), render(only, "latex")):
        assert "GMAP" in text
        assert not any(words in text for words in ("Holm over", "W/T/L", "bold:"))


def test_markdown_has_the_cells_of_the_table() -> None:
    qrels, runs = world()
    result = rerank.compare(qrels, runs, ["AP"])
    table, markdown = str(result).splitlines(), render(result, "markdown").splitlines()
    marked = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown if line.startswith("| ")]
    plain = [line for line in table if line.startswith(("run ", *runs))]
    assert [" ".join(row).split() for row in marked] == [line.split() for line in plain]


def test_markdown_keeps_its_columns_when_a_name_has_a_bar() -> None:
    qrels, runs = world()
    text = render(rerank.compare(qrels, {"base": runs["base"], "a|b": runs["better"]}, ["AP"]), "markdown")
    assert text.count(r"| a\|b ") == 2  # of the figures, and of the differences
    assert "a|b" not in text


def test_measures_are_rows_when_they_are_many() -> None:
    qrels, runs = world()
    named = {"base": runs["base"], "a|b": runs["better"]}
    measures = [f"nDCG@{depth}" for depth in range(1, 12)]
    few, many = (rerank.compare(qrels, named, some) for some in (measures[:10], measures))
    assert str(few).split()[:2] == ["run", "nDCG@1"]
    assert str(many).split()[:3] == ["measure", "base", "a|b"]
    rows = [line.split() for line in str(many).splitlines()[2:13]]
    assert rows == [[name, *(f"{result[name]:.4f}" for result in many.results.values())] for name in measures]
    assert render(many, "markdown").splitlines()[0].split() == ["|", "measure", "|", "base", "|", r"a\|b", "|"]
    assert "measure & base & a|b" in " ".join(render(many, "latex").split())


def test_runs_that_answer_other_queries_are_named() -> None:
    qrels, runs = world()
    fewer = {query: runs["better"][query] for query in list(qrels)[5:]}
    text = str(rerank.compare(qrels, {"base": runs["base"], "fewer": fewer, "worse": runs["worse"]}, ["AP"]))
    assert (
        "fewer answers 35 queries, base 40: differences are over the 35 of both, means over the queries of each" in text
    )
    assert "worse answers" not in text


def test_baseline_may_be_any_run() -> None:
    qrels, runs = world()
    one = rerank.compare(qrels, runs, ["AP"], baseline="better").differences["base"]["AP"]
    other = rerank.compare(qrels, runs, ["AP"]).differences["better"]["AP"]
    assert one.difference == pytest.approx(-other.difference)
    assert (one.wins, one.losses) == (other.losses, other.wins)
    assert one.p_values["t"] == pytest.approx(other.p_values["t"])


def test_runs_are_compared_on_the_queries_that_both_answer() -> None:
    qrels, runs = world()
    runs["better"] = {query_id: docs for query_id, docs in runs["better"].items() if query_id < "q25"}
    result = rerank.compare(qrels, runs, ["AP"])
    assert {name: result.differences[name]["AP"].n_queries for name in result.systems} == {"better": 25, "worse": 40}
    assert len(result.changes("better", "AP")) == 25
    complete = rerank.compare(qrels, runs, ["AP"], complete=True)
    assert complete.differences["better"]["AP"].n_queries == 40


def test_changes_stand_from_the_greatest_gain_to_the_greatest_loss() -> None:
    qrels, runs = world()
    result = rerank.compare(qrels, runs, ["AP"])
    changes = result.changes("better", "AP")
    before, after = result.results["base"].per_query["AP"], result.results["better"].per_query["AP"]
    assert {change.query_id: (change.before, change.after) for change in changes} == {
        query_id: (before[query_id], after[query_id]) for query_id in before
    }
    ordered = [change.difference for change in changes]
    assert ordered == sorted(ordered, reverse=True)


def test_moves_put_relevant_documents_first_and_count_ranks_as_trec_eval() -> None:
    qrels = Qrels.of({"q": {"a": 2, "b": 0, "c": 1}})
    before = Run.of({"q": {"a": 1.0, "b": 9.0, "x": 5.0, "still": -9.0}})
    after = Run.of({"q": {"a": 9.0, "b": 1.0, "c": 1.0, "still": -9.0}})
    assert moves(qrels, before, after, "q", 10) == [
        Move("c", 1, None, 2),  # the same score as b: the greater id is first
        Move("a", 2, 3, 1),
        Move("x", None, 2, None),
        Move("b", 0, 1, 3),
    ]
    assert len(moves(qrels, before, after, "q", n=1)) == 1


def test_details_are_the_queries_that_gained_and_lost_most() -> None:
    qrels, runs = world()
    result = rerank.compare(qrels, runs, ["nDCG@5", "AP"])
    of_runs = {name: Run.of(run) for name, run in runs.items()}
    details = query_details(result, 2, Qrels.of(qrels), of_runs)
    assert [detail.run for detail in details] == ["better"] * 4 + ["worse"] * 4
    changes = [change.difference for change in result.changes("better", "nDCG@5")]
    assert [detail.change.difference for detail in details[:4]] == [*changes[:2], *changes[:-3:-1]]
    every = query_details(result, 1000, Qrels.of(qrels), of_runs)
    assert all(detail.change.difference for detail in every)


def test_comparisons_that_cannot_be_are_refused() -> None:
    qrels, runs = world()
    with pytest.raises(InvalidInputError, match=r"baseline: expected a known name, got 'bas'\. Did you mean 'base'"):
        rerank.compare(qrels, runs, ["AP"], baseline="bas")
    with pytest.raises(InvalidInputError, match="test: expected a known name, got 'z'"):
        rerank.compare(qrels, runs, ["AP"], test="z")
    with pytest.raises(InvalidInputError, match="correction: expected a known name, got 'x'"):
        rerank.compare(qrels, runs, ["AP"], correction="x")
    with pytest.raises(InvalidInputError, match="comparison: expected at least one run"):
        rerank.compare(qrels, {}, ["AP"])
    runs["better"] = {"q00": runs["better"]["q00"]}
    with pytest.raises(InvalidInputError, match="run better: expected at least two queries that base answers too"):
        rerank.compare(qrels, runs, ["AP"])
