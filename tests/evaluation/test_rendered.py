from __future__ import annotations

import csv
import json

import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import MARKED, compare, compare_results, notes, render, rendered_lines
from rerank.evaluation.evaluate import evaluate


@pytest.fixture
def results():
    qrels = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(9)}
    good = {f"q{n}": {"a": 3.0, "b": 2.0, "c": 1.0} for n in range(9)}
    bad = {f"q{n}": {"a": float(n % 4), "b": 2.0, "c": 2.5} for n in range(9)}
    return {"bad": evaluate(qrels, bad, ["nDCG@10", "RR"]), "good_1%": evaluate(qrels, good, ["nDCG@10", "RR"])}


@pytest.fixture
def compared(results):
    return compare_results(results)


def test_table_shows_means_differences_and_what_they_rest_on(compared) -> None:
    text = render(compared)
    good = compared.results["good_1%"]
    assert f"{good['nDCG@10']:.4f}" in text
    result = compared.differences["good_1%"]["nDCG@10"]
    assert f"{result.difference:+.4f}" in text
    assert f"{result.low:+.4f} to {result.high:+.4f}" in text
    assert f"{compared.p_values['good_1%']['nDCG@10']:.4f}" in text
    assert f"{result.wins}/{result.ties}/{result.losses}" in text
    assert "difference to bad, with the 95 % bootstrap interval" in text
    assert "p: two-sided paired t-test, Holm over 1 run x 2 measures" in text
    assert "policy: as trec_eval" in text


def test_table_of_one_run_compares_nothing(results) -> None:
    text = render(compare_results({"good": results["good_1%"]}))
    assert "difference" not in text
    assert "1.0000" in text
    assert notes(compare_results({"good": results["good_1%"]})) == [f"policy: {results['good_1%'].policy}"]


def test_policies_that_differ_name_their_runs(results) -> None:
    few = evaluate({"q0": {"a": 1}, "q1": {"a": 1}}, {"q0": {"a": 1.0}, "q1": {"a": 1.0}}, ["nDCG@10", "RR"])
    policies = [note for note in notes(compare_results({**results, "few": few})) if note.startswith("policy")]
    assert policies == [f"policy of {name}: {result.policy}" for name, result in {**results, "few": few}.items()]


def test_per_query_figures_are_shown_when_asked_for(compared) -> None:
    for form in ("table", "tsv", "latex"):
        assert "q3" in render(compared, form, per_query=True)
        assert "q3" not in render(compared, form)


def test_tsv_has_a_line_a_figure(compared) -> None:
    rows = [line.split("\t") for line in render(compared, "tsv").splitlines()]
    assert rows[0] == ["bad", "nDCG@10", "all", f"{compared.results['bad']['nDCG@10']:.4f}"]
    assert {len(row) for row in rows} == {4}
    result = {(run, measure, query): value for run, measure, query, value in rows}
    assert len(result) == len(rows)
    test = compared.differences["good_1%"]["RR"]
    assert float(result["good_1%", "RR", "all:difference"]) == pytest.approx(test.difference, rel=1e-5)
    for name, p_value in test.p_values.items():
        assert float(result["good_1%", "RR", f"all:p_{name}"]) == pytest.approx(p_value, rel=1e-5)
    assert ("bad", "RR", "all:difference") not in result


def test_csv_has_the_cells_of_tsv_below_a_header(compared) -> None:
    header, *rows = csv.reader(render(compared, "csv", per_query=True).splitlines())
    assert header == ["run", "measure", "query", "value"]
    assert rows == [line.split("\t") for line in render(compared, "tsv", per_query=True).splitlines()]


def test_csv_has_quotes_where_a_name_has_a_comma(results) -> None:
    named = {'a, "b"': results["bad"], "good": next(iter(results.values()))}
    _, *rows = csv.reader(render(compare_results(named), "csv").splitlines())
    assert rows[0][0] == 'a, "b"'
    assert {len(row) for row in rows} == {4}


def test_texts_are_lines_of_the_form() -> None:
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["relstring"])
    name = next(iter(result.texts))
    lines = {form: list(rendered_lines({"a,b": result}, form)) for form in ("tsv", "csv", "latex")}
    (text,) = result.texts[name].tolist()
    assert lines["tsv"] == [f"a,b\t{name}\tq\t{text}\n"]
    assert lines["csv"] == [f'"a,b",{name},q,{text}\n']
    assert lines["latex"] == [f"% a,b\t{name}\tq\t{text}\n"]


def test_json_holds_everything(compared) -> None:
    result = json.loads(render(compared, "json", per_query=True))
    assert (result["baseline"], result["test"], result["correction"]) == ("bad", "t", "holm")
    good = result["runs"]["good_1%"]
    assert good["mean"]["RR"] == 1.0
    test = compared.differences["good_1%"]["RR"]
    for name in ("difference", "low", "high", "effect_size", "wins", "ties", "losses", "t"):
        assert good["against_baseline"]["RR"][name] == getattr(test, name)
    assert good["against_baseline"]["RR"]["p_t"] == test.p_values["t"]
    assert good["against_baseline"]["RR"]["p_value"] == compared.p_values["good_1%"]["RR"]
    assert result["runs"]["bad"]["per_query"]["RR"]["q0"] == compared.results["bad"].per_query["RR"]["q0"]
    assert result["runs"]["bad"]["policy"] == compared.results["bad"].policy
    assert result["notes"] == notes(compared)


def test_json_says_null_where_a_figure_is_without_bound() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(4)}
    runs = {name: {q: {"a": score, "b": 1.0} for q in qrels} for name, score in (("low", 0.0), ("high", 2.0))}
    text = render(compare(qrels, runs, ["RR"]), "json")
    assert json.loads(text, parse_constant=pytest.fail)["runs"]["high"]["against_baseline"]["RR"]["t"] is None


def test_latex_is_booktabs_with_caption_label_marks_and_notes(compared) -> None:
    text = render(compared, "latex")
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}")] == [2, 2, 2, 2]
    mark = "**" if compared.p_values["good_1%"]["RR"] < 0.01 else "*"
    assert compared.p_values["good_1%"]["RR"] < 0.05
    cells = [[cell.strip() for cell in line.rstrip("\\").split("&")] for line in text.splitlines()]
    best = rf"\textbf{{1.0000{mark}}}"
    assert [r"good\_1\%", best, best] in cells
    assert ["bad", *(f"{compared.results['bad'][measure]:.4f}" for measure in compared.measures)] in cells
    assert [rf"\label{{tab:{name}}}" in text for name in ("means", "differences")] == [True, True]
    assert r"\caption{Differences to bad}" in text
    notes_of_means = text.partition(r"\end{table}")[0].partition(r"\end{tabular}")[2]
    assert rf"\par {MARKED.format('bad')}".replace("†", r"\dag{}") in notes_of_means
    assert r"\par policy: as trec\_eval" in notes_of_means
    for line in text.splitlines():
        assert not line or line.startswith(("%", "\\")) or line.endswith(r"\\")


def test_latex_escapes_what_would_be_a_command(results) -> None:
    text = render(compare_results({r"a\b{c}~^<1&2$#": results["bad"]}), "latex")
    assert r"a\textbackslash{}b\{c\}\textasciitilde{}\^{}\ensuremath{<}1\&2\$\# & " in text


def test_formats_that_are_none_are_refused(compared) -> None:
    with pytest.raises(InvalidInputError, match="format: expected a known name, got 'html'"):
        render(compared, "html")
