"""`rerank evaluate`: the rules of trec_eval as options, and what is printed of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rerank.cli.main import run
from tests.cli.conftest import Command, Done

QRELS = "q1 0 a 2\nq1 0 b 1\nq1 0 c -1\nq2 0 a 1\n"
RUN = "q1 Q0 x 1 4.0 t\nq1 Q0 c 2 3.0 t\nq1 Q0 b 3 2.0 t\nq1 Q0 a 4 1.0 t\n"


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Run `rerank evaluate` on the files above."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text(QRELS)
    Path("run").write_text(RUN)

    def call(options: str) -> Done:
        capfd.readouterr()
        code = run(["-q", "evaluate", "qrels", "run", *options.split()])
        return Done(code, *capfd.readouterr())

    return call


def means(done: Done) -> dict[str, float]:
    return json.loads(done.out)["runs"]["run"]["mean"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-m recip_rank", {"RR": 1 / 3}),
        ("-m recip_rank -J", {"RR": 1.0}),
        ("-m recip_rank -M 2", {"RR": 0.0}),
        ("-m recip_rank -l 2", {"RR(rel=2)": 1 / 4}),
        ("-m recip_rank -c", {"RR": 1 / 6}),
        ("-m P.4,3", {"P@4": 0.5, "P@3": 1 / 3}),
    ],
)
def test_rules_of_trec_eval_are_options(evaluate, options: str, expected: dict[str, float]) -> None:
    assert means(evaluate(f"{options} --format json")) == pytest.approx(expected)


def test_all_of_trec_eval_is_measured_at_once(evaluate) -> None:
    result = means(evaluate("-m all_trec --format json"))
    assert len(result) == 97  # of the 98 that trec_eval prints, Rprec and Rprec_mult_1.00 are one
    assert {"NumQ", "GMAP", "P@1000"} <= set(means(evaluate("-m official --format json")))


def test_policy_in_force_stands_under_the_table_and_in_the_json(evaluate) -> None:
    table = evaluate("-m ndcg -J -M 3 -l 2").out
    stored = json.loads(evaluate("-m ndcg -J -M 3 -l 2 --format json").out)["runs"]["run"]["policy"]
    for part in (
        "label of at least 2",
        "struck from the list",
        "first 3 documents",
        "judged and in the run",
    ):
        assert part in table
        assert part in stored


@pytest.mark.parametrize(
    ("ending", "form"),
    [("json", "json"), ("tsv", "tsv"), ("csv", "csv"), ("tex", "latex"), ("md", "markdown"), ("txt", "table")],
)
def test_output_has_the_form_of_its_ending(evaluate, ending: str, form: str) -> None:
    expected = evaluate(f"-m AP --format {form}").out
    assert evaluate(f"-m AP -o figures.{ending}").code == 0
    assert Path(f"figures.{ending}").read_text() == expected
    assert evaluate(f"-m AP -o other.{ending} --format tsv").code == 0
    assert Path(f"other.{ending}").read_text() == evaluate("-m AP --format tsv").out


def test_output_in_capitals_has_the_form_of_its_ending(evaluate) -> None:
    assert evaluate("-m AP -o figures.TSV").code == 0
    assert Path("figures.TSV").read_text() == evaluate("-m AP --format tsv").out
    assert evaluate("-m AP -o page.HTML").code == 0
    assert Path("page.HTML").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-o page.html --format tsv", "--format: expected it without -o FILE.html, with which it has no effect."),
        ("-o page.html --per-query", "--per-query: expected it without -o FILE.html, with which it has no effect."),
        ("-o gain.png --format json", "--format: expected it without -o FILE.png, with which it has no effect."),
        ("-o figures.xlsx", "figures.xlsx: expected another form than XLSX, got that ending. Write -o FILE.csv."),
        ("--test wilcoxon", "--test: expected it without a single RUN, with which it has no effect."),
        ("--correction none", "--correction: expected it without a single RUN, with which it has no effect."),
        ("--baseline run", "--baseline: expected it without a single RUN, with which it has no effect."),
    ],
)
def test_options_without_effect_are_refused(evaluate, options: str, message: str) -> None:
    done = evaluate(f"-m AP {options}")
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_texts_are_told_for_each_query(evaluate) -> None:
    line = "run\tRelString@10\tq1\t-.12"
    assert line in evaluate("-m relstring -m map -q").out.splitlines()
    assert line in evaluate("-m relstring -m map --per-query --format tsv").out.splitlines()
    assert line not in evaluate("-m relstring -m map").out
    result = json.loads(evaluate("-m relstring --per-query --format json").out)
    assert result["runs"]["run"]["per_query"] == {"RelString@10": {"q1": "-.12"}}


def test_a_name_of_several_measures_is_none_of_a_run(evaluate) -> None:
    done = evaluate("P.5,10")
    assert (done.code, done.out) == (2, "")
    assert "P.5,10: expected a run file, got no file but the name of a measure. Write -m P.5,10." in done.err


def test_measures_of_diversity_read_qrels_of_subtopics(evaluate) -> None:
    plain = evaluate("-m StRecall@2")
    assert plain.code == 2
    assert "qrels: expected judgements of subtopics, got no query with two of them. Give rows of query," in plain.err
    Path("qrels").write_text("q1 1 a 2\nq1 2 a 1\nq1 2 b 1\nq1 3 c 1\n")
    done = evaluate("-m StRecall@2 -m alpha_nDCG@4 --format json")
    assert means(done)["StRecall@2"] == 1 / 3
    refused = evaluate("-m nDCG@10")
    assert refused.code == 2
    assert "Remove one of the two lines; qrels of subtopics are for `rerank evaluate -m alpha_nDCG@10`" in refused.err


def test_measures_may_be_separated_by_commas(command: Command) -> None:
    together = command("evaluate", "qrels.txt", "bm25.run", "-m", "nDCG(gains={1:2,2:3})@5,P.5,10,AP", "-m", "RR")
    apart = [part for name in ("nDCG(gains={1:2,2:3})@5", "P.5,10", "AP", "RR") for part in ("-m", name)]
    assert together == command("evaluate", "qrels.txt", "bm25.run", *apart)
    assert together.code == 0, together.err


def test_runs_that_lack_as_many_queries_are_in_one_message(command: Command, world: Path, tmp_path: Path) -> None:
    line = (world / "bm25.run").read_text().partition("\n")[0]
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{line}\n{line.replace('q0', 'q1')}\n")
    done = command("evaluate", "qrels.txt", str(tmp_path / "a"), str(tmp_path / "b"))
    assert f"{tmp_path}/a, {tmp_path}/b: 8 of 10 judged queries are not in the run" in done.err
    assert done.err.count("judged queries are not in") == 1


def test_a_run_has_the_name_that_it_is_given(evaluate, tmp_path: Path) -> None:
    (tmp_path / "other=run").write_text(RUN)  # a path that exists is a path
    done = evaluate("Ours=run other=run --baseline Ours -c -m RR --format json")
    stored = json.loads(done.out)
    assert list(stored["runs"]) == ["run", "Ours", "other=run"]
    assert stored["runs"]["Ours"]["mean"] == stored["runs"]["run"]["mean"]
    assert list(json.loads(evaluate("--baseline Base=run -c -m RR --format json").out)["runs"]) == ["Base", "run"]
    shutil.copy(tmp_path / "run", tmp_path / "third.run")
    assert json.loads(evaluate("third.run --baseline third -c -m RR --format json").out)["baseline"] == "third.run"
    refused = evaluate("A=run A=other=run")
    assert refused.code == 2
    assert "expected each name once, got 'A' again" in refused.err
