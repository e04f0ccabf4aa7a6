from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Command

STUDY = ("experiment", "index", "topics.tsv", "qrels.txt", "-k", "30", *SMALL)


@pytest.mark.slow("5 s: a study twice")
def test_experiment_is_repeated_from_its_folder(command: Command, world: Path, tmp_path: Path) -> None:
    (tmp_path / "folds").write_text("".join(f"q{number}\t{number % 3 + 1}\n" for number in range(10)))
    one, other = tmp_path / "one", tmp_path / "other"
    done = command(*STUDY, "-o", str(one), "--folds", str(tmp_path / "folds"), "--tune", "1")
    assert done.code == 0, done.err
    assert (one / "folds.tsv").read_text() == "".join(f"q{number}\t{number % 3}\n" for number in range(10))
    again = command("experiment", str(one), "-o", str(other))
    assert (again.code, again.out) == (0, done.out)
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in other.iterdir()
    }
    inputs = json.loads((one / "settings.json").read_text())["inputs"]
    assert (one / inputs["topics"]).resolve() == (world / "topics.tsv").resolve()


def test_experiment_says_what_is_missing_or_too_much(command: Command, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    (tmp_path / "folds").write_text("q0\t0\nq0\t1\n")
    (tmp_path / "few").write_text("q0\t0\nq1\t1\n")
    for arguments, message in (
        (
            ["experiment", "-o", out],
            "Missing argument 'INDEX TOPICS QRELS | DATA... | FOLDER' (see `rerank experiment -h`)",
        ),
        (list(STUDY), "Missing option '-o' / '--output' (see `rerank experiment -h`)"),
        (
            [*STUDY, "-o", out, "--folds", str(tmp_path / "folds")],
            f"{tmp_path}/folds:2: expected each query in one fold, got 'q0' again. Remove one of the two.",
        ),
        (
            [*STUDY, "-o", out, "--folds", str(tmp_path / "few")],
            f"{tmp_path}/few: expected a fold for every judged query, got none for 'q2' (8 such queries in all). "
            "Add them, or remove their judgements.",
        ),
    ):
        assert command(*arguments) == (2, "", f"rerank: {message}\n")


def test_a_repeated_experiment_takes_another_folder_and_no_other_setting(command: Command, tmp_path: Path) -> None:
    out = str(tmp_path / "study")
    assert command(*STUDY, "-o", out).code == 0
    before = (tmp_path / "study" / "settings.json").read_bytes()
    done = command("experiment", out, "-o", out)
    assert done == (2, "", f"rerank: {out}: expected a folder without a study, got one. Name another, or delete it.\n")
    assert (tmp_path / "study" / "settings.json").read_bytes() == before
    other = command("experiment", out, "-o", f"{out}2", "--folds", "4")
    assert (other.code, "--folds: expected it without the folder of an experiment" in other.err) == (2, True)


def test_learning_curve_writes_its_table_and_picture(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "curve"
    done = command(*STUDY, "-o", str(out), "--learning-curve")
    assert done.code == 0, done.err
    assert {path.name for path in out.iterdir()} == {"curve.tsv", "curve.html"}
    assert [line.split("\t")[0] for line in (out / "curve.tsv").read_text().splitlines()] == [
        "system",
        "BM25",
        "unsupervised",
    ]
    assert "not enough judged queries: a fold leaves fewer than 10 to learn from" in done.out
    for option, name in (("--tune", "--tune"), ("--folds=2x3", "--folds")):
        refused = command(*STUDY, "-o", str(tmp_path / "no"), "--learning-curve", option)
        assert refused == (2, "", f"rerank: {name}: expected none in a learning curve, got some. Leave it out.\n")
    refused = command(*STUDY, "-o", str(tmp_path / "no"), "--learning-curve", "-m", "AP")
    assert (refused.code, "-m: expected it without --learning-curve" in refused.err) == (2, True)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow("3 s: a study twice")
def test_experiment_from_a_run_is_repeated(command: Command, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = command(*STUDY, "-o", out, "--base", "run:bm25.run", "--no-history", "--baseline", "LambdaMART")
    assert (done.code, "difference to LambdaMART" in done.out, "history" in done.out) == (0, True, False), done.err
    again = command("experiment", out, "-o", f"{out}2")
    assert (again.code, again.out) == (0, done.out)


def test_experiment_refuses_an_unknown_base(command: Command, tmp_path: Path) -> None:
    done = command(*STUDY, "-o", str(tmp_path / "out"), "--base", "bm25.run")
    message = (
        "--base: expected unsupervised, run, none, feature:NAME, model:FILE, run:FILE, a fitted model or a run, got "
        "'bm25.run'. Start from one of them."
    )
    assert done == (2, "", f"rerank: {message}\n")
    missing = command(*STUDY, "-o", str(tmp_path / "out"), "--base", "model:none.json")
    assert missing == (2, "", "rerank: none.json: expected a model file, got nothing there. Check the path.\n")


def test_experiment_of_data_compares_a_model_and_a_run_and_is_repeated(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "study"
    arguments = ("experiment", "data.npz", "-o", str(out), "--base", "model:model.json", "--run", "dense=bm25.run")
    done = command(*arguments, *SMALL)
    assert done.code == 0, done.err
    rows = [line.split()[0] for line in done.out.splitlines()[2:8]]
    assert rows == ["BM25", "dense", "RRF", "base", "LambdaMART", "LambdaSMART"]
    again = command("experiment", str(out), "-o", str(tmp_path / "again"))
    assert (again.code, again.out) == (0, done.out)
    assert command("experiment", "data.npz", "-o", str(tmp_path / "curve"), "--learning-curve", *SMALL).code == 0


def test_experiment_refuses_options_of_the_other_form(command: Command, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "out"))
    for arguments, message in (
        (
            ("experiment", "data.npz", *out, "-k", "5"),
            "-k: expected none for data, whose candidates are given, got some.",
        ),
        (("experiment", "data.npz", *out, "--candidates", "bm25"), "--candidates: expected none for data"),
        (("experiment", "data.npz", *out, "--no-history"), "--no-history: expected none for data"),
        (
            ("experiment", "data.npz", *out, "--cluster", "local:2"),
            "--cluster: expected it without DATA",
        ),
        ((*STUDY, *out, "--run", "dense"), "--run: expected NAME=FILE"),
        ((*STUDY, *out, "--run", "BM25=bm25.run"), "--run: expected names that no other system has"),
        ((*STUDY, *out, "--learning-curve", "--run", "a=bm25.run"), "--run: expected it without --learning-curve"),
    ):
        done = command(*arguments)
        assert (done.code, done.err.startswith(f"rerank: {message}")) == (2, True), done.err
