"""`rerank explain MODEL`: Markdown, a page, and errors of one line."""

from __future__ import annotations

import json
from pathlib import Path

import rerank
from tests.cli.conftest import Command


def test_card_is_that_of_python(command: Command, world: Path, tmp_path: Path) -> None:
    done = command("explain model.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == str(rerank.model_card(world / "model.json"))
    arguments = ("explain", "model.json", "data.npz", "-m", "AP")
    expected = rerank.model_card(world / "model.json", world / "data.npz", measures=["AP"])
    assert command(*arguments, "-o", f"{tmp_path}/card.md").out == ""
    assert command(*arguments, "-o", f"{tmp_path}/card.html").out == ""
    assert (tmp_path / "card.md").read_text("utf8") == expected.to_markdown()
    assert (tmp_path / "card.html").read_text("utf8") == expected.to_html()
    assert "| AP on the given data " in expected.to_markdown()
    assert command(*arguments, "-o", f"{tmp_path}/card.json").out == ""
    assert json.loads((tmp_path / "card.json").read_text("utf8"))["title"] == "Model card: model.json"


def test_card_without_a_model_is_one_line(command: Command) -> None:
    for line, message in {
        "explain none.json": "none.json: expected a model file",
        "explain model.json none.npz": "none.npz: expected",
        "explain model.json data.npz -m nothing": "expected",
    }.items():
        done = command(line)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert done.err.count("\n") == 1


def test_measures_without_data_are_refused(command: Command) -> None:
    done = command("explain model.json -m AP")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rerank: -m: expected DATA to measure the model on, got none.")


def test_what_a_card_cannot_be_is_refused(command: Command) -> None:
    assert "--run: expected it without the card of MODEL" in command("explain model.json --run bm25.run").err
