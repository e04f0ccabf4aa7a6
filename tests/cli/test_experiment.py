from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Command

STUDY = ("experiment", "index", "topics.tsv", "qrels.txt", "-k", "30", *SMALL)


@pytest.mark.slow("5 s: a study twice")
def test_experiment_replays_from_its_folder(command: Command, world: Path, tmp_path: Path) -> None:
    (tmp_path / "folds").write_text("".join(f"q{number}\t{number % 3 + 1}\n" for number in range(10)))
    one, other = tmp_path / "one", tmp_path / "other"
    done = command(*STUDY, "-o", str(one), "--folds", str(tmp_path / "folds"), "--tune", "1")
    assert done.code == 0, done.err
    assert (one / "folds.tsv").read_text() == "".join(f"q{number}\t{number % 3}\n" for number in range(10))
    again = command("replay", str(one), "-o", str(other))
    assert again.code == 0, again.err
    assert again.out == f"{done.out}\nreplay: 13 files are those of {one}, byte for byte\n"
    for path in one.iterdir():
        assert path.name == "provenance.json" or (other / path.name).read_bytes() == path.read_bytes()
    provenance = json.loads((one / "provenance.json").read_text())
    assert provenance["inputs"]["topics"] == str((world / "topics.tsv").resolve())
    assert set(provenance) == {"command", "date", "inputs"}
    (one / "results.json").write_text("{}")
    altered = command("replay", str(one))
    assert altered.code == 2
    assert f"{one}/results.json: expected the file that the study wrote, got another one. Fetch" in altered.err
    (one / "results.json").unlink()
    assert "results.json: expected the file that the study wrote, got nothing there." in command("replay", str(one)).err


def test_experiment_says_what_is_missing_or_too_much(command: Command, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    (tmp_path / "folds").write_text("q0\t0\nq0\t1\n")
    (tmp_path / "few").write_text("q0\t0\nq1\t1\n")
    for arguments, message in (
        (["experiment", "-o", out], "Missing argument 'INDEX TOPICS QRELS | DATA...' (see `rerank experiment -h`)"),
        (list(STUDY), "Missing option '-o' / '--output' (see `rerank experiment -h`)"),
        (["replay"], "Missing argument 'FOLDER' (see `rerank replay -h`)"),
        (["replay", out, "--folds", "4"], "No such option '--folds' (see `rerank replay -h`)"),
        (
            ["replay", out],
            f"{out}/record.json: expected a file that `rerank experiment` wrote, got nothing there. Check the path.",
        ),
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


def test_replay_runs_no_code_that_a_study_folder_names(
    command: Command, world: Path, own_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    out, marker = tmp_path / "study", tmp_path / "ran"
    (tmp_path / "lengths_encoder.py").write_text(
        "def encode(texts):\n    return [[float(len(text)), 1.0] for text in texts]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = "lengths_encoder:encode"
    assert command("vectors", str(own_index), "--dimensions", "4", "--encoder", name).code == 0
    study = ("experiment", str(own_index), *STUDY[2:], "-o", str(out))
    assert command(*study).code == 0
    assert json.loads((out / "record.json").read_text())["encoder"] == name
    again = command("replay", str(out))
    assert (again.code, "byte for byte" in again.out) == (0, True)
    (world / "evil_module.py").write_text(f"open({str(marker)!r}, 'w')\ndef call(texts): open({str(marker)!r}, 'w')\n")
    try:
        record = json.loads((out / "record.json").read_text())
        (out / "record.json").write_text(json.dumps(record | {"encoder": "evil_module:call"}))
        other = command("replay", str(out))
        assert (other.code, other.err) == (
            2,
            f"rerank: replay: expected the encoder of the study, 'evil_module:call', got {name}. "
            "Bind what the study was made with (`rerank vectors INDEX --encoder`).\n",
        )
        (out / "record.json").write_text(json.dumps({key: record[key] for key in record if key != "encoder"}))
        assert f"expected no encoder, got {name}." in command("replay", str(out)).err
    finally:
        (world / "evil_module.py").unlink()
    assert not marker.exists()


def test_replay_does_not_replace_the_study(command: Command, tmp_path: Path) -> None:
    out = str(tmp_path / "study")
    assert command(*STUDY, "-o", out).code == 0
    before = (tmp_path / "study" / "record.json").read_bytes()
    done = command("replay", out, "-o", out)
    assert done == (2, "", f"rerank: {out}: expected another folder than that of the study. Name a new one.\n")
    assert (tmp_path / "study" / "record.json").read_bytes() == before


def test_learning_curve_writes_its_table_and_picture(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "curve"
    done = command(*STUDY, "-o", str(out), "--learning-curve")
    assert done.code == 0, done.err
    assert {path.name for path in out.iterdir()} == {"curve.tsv", "curve.svg"}
    assert [line.split("\t")[0] for line in (out / "curve.tsv").read_text().splitlines()] == [
        "system",
        "BM25",
        "unsupervised",
    ]
    assert "not enough judged queries: a fold leaves fewer than 10 to learn from" in done.out
    for option, name in (("--tune", "--tune"), ("--folds=2x3", "--folds"), ("--learn-history", "--learn-history")):
        refused = command(*STUDY, "-o", str(tmp_path / "no"), "--learning-curve", option)
        assert refused == (2, "", f"rerank: {name}: expected none in a learning curve, got some. Leave it out.\n")
    refused = command(*STUDY, "-o", str(tmp_path / "no"), "--learning-curve", "-m", "AP")
    assert (refused.code, "-m: expected --metric with --learning-curve, got -m." in refused.err) == (2, True)
    assert not (tmp_path / "no").exists()


def test_experiment_refuses_an_unknown_base(command: Command, tmp_path: Path) -> None:
    done = command(*STUDY, "-o", str(tmp_path / "out"), "--base", "run:bm25.run")
    message = (
        "--base: expected unsupervised, run, none, feature:NAME, model:FILE or a fitted model, got 'run:bm25.run'. "
        "Start from one of them."
    )
    assert done == (2, "", f"rerank: {message}\n")
    missing = command(*STUDY, "-o", str(tmp_path / "out"), "--base", "model:none.json")
    assert missing == (2, "", "rerank: none.json: expected a model file, got nothing there. Check the path.\n")


def test_experiment_of_data_compares_a_model_and_a_run_and_replays(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "study"
    arguments = ("experiment", "data.npz", "-o", str(out), "--base", "model:model.json", "--run", "dense=bm25.run")
    done = command(*arguments, *SMALL)
    assert done.code == 0, done.err
    rows = [line.split()[0] for line in done.out.splitlines()[2:8]]
    assert rows == ["BM25", "dense", "RRF", "base", "LambdaMART", "LambdaSMART"]
    again = command("replay", str(out))
    assert (again.code, "byte for byte" in again.out) == (0, True)
    assert command("experiment", "data.npz", "-o", str(tmp_path / "curve"), "--learning-curve", *SMALL).code == 0


def test_experiment_refuses_options_of_the_other_form(command: Command, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "out"))
    for arguments, message in (
        (
            ("experiment", "data.npz", *out, "-k", "5"),
            "-k: expected none for data, whose candidates are given, got some.",
        ),
        (("experiment", "data.npz", *out, "--candidates", "bm25"), "--candidates: expected none for data"),
        (("experiment", "data.npz", *out, "--learn-history"), "--learn-history: expected none for data"),
        (
            ("experiment", "data.npz", *out, "--cluster", "local:2"),
            "--cluster: expected INDEX TOPICS QRELS as arguments",
        ),
        ((*STUDY, *out, "--run", "dense"), "--run: expected NAME=FILE"),
        ((*STUDY, *out, "--run", "BM25=bm25.run"), "--run: expected names that no other system has"),
        ((*STUDY, *out, "--learning-curve", "--run", "a=bm25.run"), "--run: expected no run with --learning-curve"),
    ):
        done = command(*arguments)
        assert (done.code, done.err.startswith(f"rerank: {message}")) == (2, True), done.err
