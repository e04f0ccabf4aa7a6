"""`rerank history`, and what the other verbs do with a history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.cli.history import command as history_command
from rerank.history.history import FOLDS, MOST_FOLDS, NEAR
from tests.cli.conftest import SMALL, Command


def test_defaults_and_bounds_are_those_of_the_library() -> None:
    options = {option.name: option for option in history_command.params}
    assert (options["folds"].default, options["near"].default) == (FOLDS, NEAR)
    assert (options["folds"].type.min, options["folds"].type.max) == (2, MOST_FOLDS)  # type: ignore[attr-defined]


@pytest.fixture
def history(command: Command, tmp_path: Path) -> str:
    file = str(tmp_path / "history.npz")
    done = command("history", "index", "topics.tsv", "qrels.txt", "-o", file, "--folds", "4")
    assert (done.code, done.out) == (0, "")
    return file


def test_history_goes_from_learning_to_reranking(command: Command, history: str, tmp_path: Path) -> None:
    data, model, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "out.run"))
    features = ("features", "index", "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt")
    assert command(*features, "--history", history).code == 0
    found = rerank.read_data(data)
    assert "history.neighbours.rank" in found.feature_names
    assert (found.recipe or {})["history"] == rerank.load_history(history).checksum
    with rerank.Index.open("index") as index:
        same = index.features(rerank.read_run("bm25.run"), rerank.read_topics("topics.tsv"), history=history)
    np.testing.assert_array_equal(found.X, same.X)
    assert command("train", data, "-o", model, *SMALL).code == 0
    assert command("rank", model, data, "-o", out).code == 0
    assert (
        command("rerank", "index", model, "topics.tsv", "-o", out, "--run", "bm25.run", "--history", history).code == 0
    )
    direct = rerank.load_model(model).rank(found)
    assert {q: direct[q] for q in direct} == {q: rerank.read_run(out)[q] for q in direct}
    top = next(iter(direct["q1"]))
    explained = command(
        "explain", "index", model, "topics.tsv", "--query", "q1", "--documents", top, "--history", history
    )
    assert (explained.code, explained.err) == (0, "")
    assert f"{top} is ranked" in explained.out or f"{top}: rank" in explained.out


def test_models_are_not_applied_without_their_history(command: Command, history: str, tmp_path: Path) -> None:
    data, model, other, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "other.npz", "out.run"))
    features = ("features", "index", "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt")
    command(*features, "--history", history)
    command("train", data, "-o", model, *SMALL)
    command("history", "index", "topics.tsv", "qrels.txt", "-o", other, "--folds", "3")
    checksum = rerank.load_history(history).checksum
    reranking = ("rerank", "index", model, "topics.tsv", "-o", out)
    expected = f"rerank: {model}: expected the history of checksum {checksum}, which it was trained with, got"
    for arguments, got in ((), "none"), (("--history", other), rerank.load_history(other).checksum):
        done = command(*reranking, *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"{expected} {got}. Give its file (--history FILE, history=).\n"
    for file in ("data.npz", data):  # a model that was trained without a history takes data of both kinds
        assert command("rank", "model.json", file, "-o", out).code == 0
    refused = command("rank", model, "data.npz", "-o", out)
    assert refused.code == 2
    assert f"(history: {checksum}), got another (history: None)" in refused.err
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"qid": "q1", "id": "x", "text": "amber"}\n')
    refused = command(*reranking, "--texts", str(texts))
    assert refused.code == 2
    assert "Texts that the index does not hold have none: train a model without a history." in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("history index topics.tsv qrels.txt -o OUT.json", "out.json: expected a name that ends in .npz, got another."),
        ("history index topics.tsv qrels.txt -o OUT.npz --near 0", "--near: expected a cosine above 0 and at most 1"),
        ("history index topics.tsv qrels.txt -o OUT.npz --folds 1", "'--folds'"),
        ("history index topics.tsv none -o OUT.npz", "none: expected"),
        ("history other/index topics.tsv qrels.txt -o OUT.npz", ""),
        (
            "features index topics.tsv bm25.run -o OUT.npz --history none.npz",
            "none.npz: expected a history (.npz), got",
        ),
        (
            "features index topics.tsv bm25.run -o OUT.npz --history data.npz",
            "data.npz: expected a history, got arrays",
        ),
        ("features other/index topics.tsv bm25.run -o OUT.npz --history HISTORY", "bm25.run:"),
        ("rerank index model.json topics.tsv -o OUT.run --history qrels.txt", "qrels.txt: expected a history, got"),
        (
            "rerank index model.json topics.tsv -o OUT.run --texts x --history HISTORY",
            "--history: expected documents of",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: str, message: str, command: Command, history: str, tmp_path: Path) -> None:
    done = command(arguments.replace("OUT", str(tmp_path / "out")).replace("HISTORY", history))
    if not message:
        assert done.code == 0  # it has documents of the same ids: a history of another collection is no mistake
        return
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err


def test_history_of_another_index_is_refused(command: Command, history: str, tmp_path: Path) -> None:
    out = str(tmp_path / "other.run")
    command("retrieve", "other/index", "topics.tsv", "-o", out, "-k", "10")
    done = command("features", "other/index", "topics.tsv", out, "-o", str(tmp_path / "d.npz"), "--history", history)
    assert done.code == 2
    assert done.err.startswith(f"rerank: {history}: expected the index that it was learned on (")
    assert done.err.endswith("Learn a history on this index (rerank history).\n")


def test_report_knows_learned_features_and_their_cost(command: Command, history: str, tmp_path: Path) -> None:
    report = tmp_path / "report.tsv"
    done = command(
        *("features", "index", "topics.tsv", "bm25.run", "--qrels", "qrels.txt", "--quick"),
        *("--history", history, "--report", str(report)),
    )
    assert done.code == 0
    rows = {line.split("\t")[0]: line.split("\t") for line in report.read_text().splitlines()[1:]}
    assert rows["history.prior"][1] == "history.prior"
    assert float(rows["history.neighbours"][2]) >= 0


def test_study_learns_a_history_for_each_fold(command: Command, tmp_path: Path) -> None:
    study, again = str(tmp_path / "study"), str(tmp_path / "again")
    line = ("experiment", "index", "topics.tsv", "qrels.txt", "-o", study, "--folds", "3", "-k", "30", *SMALL)
    assert command(*line, "--learn-history").code == 0
    for fold in range(3):
        learned = rerank.load_history(f"{study}/history.fold{fold}.npz")
        model = rerank.load_model(f"{study}/lambdamart.fold{fold}.model.json")
        assert (model.recipe_ or {})["history"] == learned.checksum
        folds = dict(row.split("\t") for row in Path(study, "folds.tsv").read_text().splitlines())
        training = {name for name, of_query in folds.items() if int(of_query) == (fold + 2) % 3}
        assert set(learned.judged.query_ids.tolist()) == training
    done = command("experiment", "--replay", study, "-o", again)
    assert done.code == 0
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('families = ["letor"]\n')
    done = command(*line[:4], "-o", again, "--folds", "3", "-k", "30", "--learn-history", "--recipe", str(recipe))
    assert done.code == 2
    assert f"{recipe}: expected features that are learned from judgements (history.*), got none." in done.err
