"""`rerank explain`: text, JSON, page and picture of the same explanation, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rerank
from tests.cli.conftest import SMALL, Command


@pytest.fixture
def documents(world: Path) -> list[str]:
    run = rerank.read_run(world / "bm25.run")
    return run.doc_ids[run.rows("q1")].tolist()


def test_explain_prints_words_and_a_table(command: Command, documents: list[str], tmp_path: Path) -> None:
    first, last = documents[0], documents[20]
    line = f"explain index model.json topics.tsv --query q1 --documents {first},{last}"
    done = command(line)
    assert (done.code, done.err) == (0, "")
    assert "\n\nQuery q1: birch " in done.out
    assert f"{last}: rank 21 of the candidates, " in done.out
    assert command(f"{line} --run bm25.run").out == done.out
    twice = f"explain index model.json topics.tsv --query q1 --documents {first} --documents {last}"
    assert command(twice).out == done.out
    assert command(f"{line} -o {tmp_path}/figures.json") == (0, "", "")
    figures = json.loads((tmp_path / "figures.json").read_text("utf8"))
    assert figures["words"][1] in done.out
    assert [document["doc_id"] for document in figures["documents"]] == [first, last]
    first_adds, second_adds = (
        sum(feature["contributions"][side] for feature in figures["features"]) for side in (0, 1)
    )
    total = first_adds - second_adds + figures["difference_of_no_feature"]
    assert total == pytest.approx(figures["difference"], abs=1e-9)
    assert command(f"{line} -o {tmp_path}/page.html") == (0, "", "")
    assert f"<h1>Why {first} is " in (tmp_path / "page.html").read_text("utf8")


def test_explain_names_the_base_of_a_warm_start(command: Command, documents: list[str], tmp_path: Path) -> None:
    model = f"{tmp_path}/warm.json"
    assert command("train", "data.npz", "-o", model, "--base", "run:bm25.run", *SMALL).code == 0
    done = command(f"explain index {model} topics.tsv --query q1 --documents {documents[0]}")
    assert done.code == 0
    assert f"{documents[0]} is " in done.out
    assert "The model starts from the score of the candidates' run" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("model.json topics.tsv --query q77 --documents d1", "topics.tsv: expected one of the 10 topics, got 'q77'."),
        ("model.json topics.tsv --query q1 --documents no,d1", "--documents: expected documents among the 30 that are"),
        ("none.json topics.tsv --query q1 --documents d1", "none.json: expected a model file, got nothing there."),
        ("net.json topics.tsv --query q1 --documents FIRST", "net.json: expected a ranker of trees or a linear one, g"),
        ("bare.json topics.tsv --query q1 --documents d1", "bare.json: expected the recipe of its features, got none."),
        ("model.json topics.tsv --documents d1", "Missing option '--query'"),
        ("model.json topics.tsv --query q1 --documents d1 -m AP", "-m: expected it without --query"),
        (
            "model.json topics.tsv --query q1 --documents d1 --run x=bm25.run",
            "--run: expected a run that the model use",
        ),
    ],
)
def test_explain_refuses_in_one_line(
    arguments: str, message: str, command: Command, world: Path, documents: list[str]
) -> None:
    if "net.json" in arguments:
        trained = command("train data.npz -o net.json --ranker ranknet -p n_epochs=1 -p hidden_units=2")
        assert trained.code == 0, trained.err
    bare = rerank.read_model(world / "model.json")
    bare.recipe_ = None
    bare.save(world / "bare.json")
    done = command(f"explain index {arguments.replace('FIRST', documents[0])}")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"rerank: {message}")
    assert done.err.count("\n") == 1


def test_explain_shows_how_scores_depend_on_a_feature(command: Command, world: Path, tmp_path: Path) -> None:
    model = rerank.read_model(world / "model.json")
    feature = max(zip(model.feature_importances_, model.feature_names_, strict=True))[1]
    line = f"explain model.json data.npz --dependence {feature}"
    done = command(line)
    assert (done.code, done.err) == (0, "")
    found = rerank.dependence(model, world / "data.npz", feature)
    assert done.out == str(found)
    assert found.meaning in done.out
    assert command(f"{line} -o {tmp_path}/points.json").code == 0
    assert json.loads((tmp_path / "points.json").read_text("utf8"))["points"] == found.to_dict()["points"]
    assert command(f"{line} -o {tmp_path}/page.html").code == 0
    assert (tmp_path / "page.html").read_text("utf8") == found.to_html()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("model.json data.npz --dependence none", "--dependence: expected one of the model's"),
        ("model.json --dependence x", "--dependence: expected MODEL DATA as arguments, got one name."),
        ("model.json data.npz --dependence x --query q1", "--query: expected it without --dependence"),
        ("model.json data.npz --dependence x --run bm25.run", "--run: expected it without --dependence"),
        ("model.json data.npz --dependence x -m AP", "-m: expected it without --dependence"),
        ("model.json none.npz --dependence x", "none.npz: expected"),
        ("model.json data.npz --query q1 --documents d1", "arguments: expected INDEX MODEL TOPICS, got 2 names"),
        ("index model.json topics.tsv q1 d1", "got 5 names. Name query and documents by --query and --documents"),
    ],
)
def test_dependence_that_cannot_be_shown_is_one_line(command: Command, arguments: str, message: str) -> None:
    done = command(f"explain {arguments}")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
