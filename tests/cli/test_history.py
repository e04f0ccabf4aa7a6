"""`rerank history`, and what the other verbs do with a history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from tests.cli.conftest import SMALL, Command


@pytest.fixture
def index(command: Command, own_index: Path) -> str:
    """An index with a history."""
    done = command("history", str(own_index), "topics.tsv", "qrels.txt")
    assert (done.code, done.out) == (0, "")
    return str(own_index)


def test_history_goes_from_learning_to_reranking(command: Command, index: str, tmp_path: Path) -> None:
    data, model, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "out.run"))
    assert command("features", index, "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt").code == 0
    found = rerank.read_data(data)
    history = rerank.read_history(f"{index}/rerank-resources/history.json")
    assert "history.neighbours.rank" in found.feature_names
    assert (found.recipe or {})["history"] == history.checksum
    with rerank.Index.open("index", history=history) as bound:
        same = bound.features(rerank.read_run("bm25.run"), rerank.read_topics("topics.tsv"))
    np.testing.assert_array_equal(found.X, same.X)
    assert command("train", data, "-o", model, *SMALL).code == 0
    assert command("rank", model, data, "-o", out).code == 0
    assert command("rerank", index, model, "topics.tsv", "-o", out, "--run", "bm25.run").code == 0
    direct = rerank.read_model(model).rank(found)
    assert {q: direct[q] for q in direct} == {q: rerank.read_run(out)[q] for q in direct}
    top = next(iter(direct["q1"]))
    explained = command("explain", index, model, "topics.tsv", "--query", "q1", "--documents", top)
    assert (explained.code, explained.err) == (0, "")
    assert f"{top} is ranked" in explained.out or f"{top}: rank" in explained.out


def test_models_are_not_applied_without_their_history(command: Command, index: str, tmp_path: Path) -> None:
    data, model, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "out.run"))
    command("features", index, "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt")
    command("train", data, "-o", model, *SMALL)
    checksum = rerank.read_history(f"{index}/rerank-resources/history.json").checksum
    some = tmp_path / "some.txt"
    some.write_text("".join(Path("qrels.txt").read_text().splitlines(keepends=True)[:-5]))
    command("history", index, "topics.tsv", str(some))
    other = rerank.read_history(f"{index}/rerank-resources/history.json").checksum
    expected = f"rerank: {model}: expected the history of checksum {checksum}, which it was trained with, got"
    for opened, got in (("index", "none"), (index, other)):
        done = command("rerank", opened, model, "topics.tsv", "-o", out)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"{expected} {got}. Learn it with `rerank history`.\n"
    for file in ("data.npz", data):  # a model that was trained without a history takes data of both kinds
        assert command("rank", "model.json", file, "-o", out).code == 0
    assert command("rank", model, "data.npz", "-o", out).code == 0  # values of judged queries are missing


def test_texts_are_ranked_with_a_history_of_the_index(command: Command, index: str, tmp_path: Path) -> None:
    data, model, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "out.run"))
    command("features", index, "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt")
    command("train", data, "-o", model, *SMALL)
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"qid": "q1", "id": "x", "text": "amber"}\n{"qid": "q1", "id": "d1", "text": "birch"}\n')
    assert command("rerank", index, model, "topics.tsv", "-o", out, "--texts", str(texts)).code == 0
    assert set(rerank.read_run(out)["q1"]) == {"x", "d1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("history OWN topics.tsv none", "none: expected"),
        ("history other/index topics.tsv none", "none: expected"),
    ],
)
def test_mistakes_are_one_line(arguments: str, message: str, command: Command, own_index: Path) -> None:
    command("doctor", str(own_index))  # which compares the files of the copy with their checksums, and says so
    done = command(arguments.replace("OWN", str(own_index)))
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert not (own_index / "rerank-resources").exists()


def test_damaged_history_is_one_line(command: Command, index: str, tmp_path: Path) -> None:
    file = Path(index, "rerank-resources", "history.json")
    file.write_bytes(Path("data.npz").read_bytes())
    done = command("features", index, "topics.tsv", "bm25.run", "-o", str(tmp_path / "d.npz"))
    assert done.code == 2
    assert done.err.startswith(f"rerank: {file}: expected a history (JSON), got byte")
    assert done.err.count("\n") == 1


def test_rebuilt_index_has_no_history(command: Command, index: str) -> None:
    assert command("index", "corpus.jsonl", "-o", index, "--overwrite").code == 0
    assert not Path(index, "rerank-resources").exists()


def test_study_learns_a_history_for_each_fold(command: Command, tmp_path: Path) -> None:
    study, again = str(tmp_path / "study"), str(tmp_path / "again")
    line = ("experiment", "index", "topics.tsv", "qrels.txt", "-o", study, "--folds", "3", "-k", "30", *SMALL)
    assert command(*line).code == 0
    folds = dict(row.split("\t") for row in Path(study, "folds.tsv").read_text().splitlines())
    for fold in range(3):
        model = rerank.read_model(f"{study}/lambdamart.fold{fold}.model.json")
        assert model.history_ is not None
        assert (model.recipe_ or {})["history"] == model.history_.checksum
        assert set(model.history_.query_ids) == {name for name, of_query in folds.items() if int(of_query) != fold}
    assert command("experiment", study, "-o", again).code == 0
