"""Recipes, functions of the user's own, languages and reports on the command line, from one end to the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.features.families.functions import FUNCTIONS
from tests.cli.conftest import SMALL, Command

FUNCTION = "import rerank\n\n@rerank.feature('first')\ndef first(matches):\n    return matches.tf[:, 0]\n"


@pytest.fixture(autouse=True)
def forget_functions() -> Iterator[None]:
    """Leave no function behind for other tests."""
    yield
    FUNCTIONS.clear()


def test_recipe_travels_in_data_and_model_and_is_applied_as_stored(command: Command, tmp_path: Path) -> None:
    recipe, data, model = tmp_path / "recipe.toml", tmp_path / "data.svm", tmp_path / "model.json"
    recipe.write_text(
        'fields = ["title"]\nfamilies = ["letor", "run"]\nfeatures = ["bm25.*", "run.score"]\nbm25_k1 = 1.7\n'
        '[normalisation]\n"run.*" = "zscore"\n'
    )
    made = command(f"-q features index topics.tsv bm25.run --qrels qrels.txt --recipe {recipe} -o {data}")
    assert (made.code, made.err) == (0, "")
    assert command("-q", "train", str(data), "-o", str(model), *SMALL).code == 0
    stored = json.loads(model.read_text())
    assert stored["feature_names"] == ["bm25.title", "run.score"]
    assert (stored["recipe"]["bm25_k1"], stored["recipe"]["normalisation"]) == (1.7, {"run.*": "zscore"})
    one, two = tmp_path / "one.run", tmp_path / "two.run"
    assert command(f"-q rank {model} {data} -o {one}").code == 0
    assert command(f"-q rerank index {model} topics.tsv --run bm25.run -o {two}").code == 0
    one_call, steps = rerank.read_run(two), rerank.read_run(one)
    assert all(list(one_call[query]) == list(steps[query]) for query in steps)


def test_data_of_another_recipe_are_refused_when_ranked(command: Command, tmp_path: Path) -> None:
    recipe, data = tmp_path / "recipe.toml", tmp_path / "data.npz"
    recipe.write_text('normalisation = "minmax"\n')
    assert command(f"-q features index topics.tsv bm25.run --recipe {recipe} -o {data}").code == 0
    done = command(f"-q rank model.json {data} -o {tmp_path / 'a.run'}")
    assert done.code == 2
    assert "expected features made with the model's recipe (normalisation: {}), got another" in done.err


def test_function_is_loaded_from_a_file_and_named_where_it_is_missing(command: Command, tmp_path: Path) -> None:
    own, data, model, run = (tmp_path / name for name in ("mine.py", "data.npz", "model.json", "a.run"))
    own.write_text(FUNCTION)
    line = f"-q features index topics.tsv bm25.run --qrels qrels.txt --functions {own} -o {data}"
    assert command(line).code == 0
    assert "first.title" in rerank.read_data(data).feature_names
    assert command("-q", "train", str(data), "-o", str(model), *SMALL).code == 0
    assert command(f"-q rerank index {model} topics.tsv -o {run} --functions {own}").code == 0
    FUNCTIONS.clear()
    done = command(f"-q rerank index {model} topics.tsv -o {run}")
    assert done.code == 2
    assert f"{model}: functions: expected the function 'first', which the features were made with" in done.err
    assert "(--functions FILE)" in done.err


def test_template_is_a_recipe_that_works(command: Command, tmp_path: Path) -> None:
    template = command("features --recipe-template")
    assert (template.code, template.err) == (0, "")
    (tmp_path / "recipe.toml").write_text(template.out)
    made = tmp_path / "data.npz"
    line = f"-q features index topics.tsv bm25.run --qrels qrels.txt --recipe {tmp_path / 'recipe.toml'} -o {made}"
    assert command(line).code == 0
    np.testing.assert_array_equal(rerank.read_data(made).X, rerank.read_data("data.npz").X)


def test_recipe_errors_name_the_file(command: Command, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    for text, message in (
        ('fields = ["titel"]\n', "expected fields of the index (body, contents, title), got 1"),
        ('features = ["bm25.titel"]\n', "expected a known name, got 'bm25.titel'. Did you mean 'bm25.title'?"),
        ("bm25_k = 1\n", "expected a known name, got 'bm25_k'. Did you mean 'bm25_k1'?"),
    ):
        recipe.write_text(text)
        done = command(f"-q features index topics.tsv bm25.run --recipe {recipe} -o {tmp_path / 'data.npz'}")
        assert done.code == 2
        assert done.err.startswith(f"rerank: {recipe}: ")
        assert message in done.err
    assert not (tmp_path / "data.npz").exists()


def test_experiment_takes_a_recipe(command: Command, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text('families = ["run"]\n')
    options = f"-o {tmp_path / 'study'} --folds 3 --recipe {tmp_path / 'recipe.toml'} -k 20 {' '.join(SMALL)}"
    options += " --base run"
    assert command(f"-q experiment index topics.tsv qrels.txt {options}").code == 0
    (model,) = (tmp_path / "study").glob("lambdamart.fold0.model.json")
    assert json.loads(model.read_text())["recipe"]["families"] == ["run"]
    assert json.loads((tmp_path / "study" / "results.json").read_text())["study"]["recipe"]["families"] == ["run"]


def test_language_is_chosen_when_the_index_is_built(command: Command, tmp_path: Path) -> None:
    corpus, topics = tmp_path / "corpus.jsonl", tmp_path / "topics.tsv"
    corpus.write_text('{"id": "a", "title": "Die Häuser", "year": 1999, "stars": 4}\n{"id": "b", "title": "Wasser"}\n')
    topics.write_text("1\tHaus\n")
    assert command(f"-q index {corpus} -o {tmp_path / 'de'} --language de").code == 0
    assert list(rerank.Index.open(tmp_path / "de").forward.numbers) == ["stars", "year"]
    assert command(f"-q retrieve {tmp_path / 'de'} {topics} -o -").out.split()[:3] == ["1", "Q0", "a"]
    done = command(f"-q index {corpus} -o {tmp_path / 'xx'} --language xx")
    assert done.code == 2
    assert "language: expected a code that Anserini knows (ar, bn, da, de" in done.err
    corpus.write_text('{"id": "a", "title": "x", "year": 1999, "tags": [{"y": 1}]}\n')
    done = command(f"-q index {corpus} -o {tmp_path / 'left'}")
    assert "left out values that are neither text nor numbers: tags" in done.err
    assert command(f"-q index {corpus} -o {tmp_path / 'named'} --fields title").code == 0
    assert list(rerank.Index.open(tmp_path / "named").forward.numbers) == ["year"]
    done = command(f"-q index {corpus} -o {tmp_path / 'xx'} --fields nix")
    assert done.code == 2
    assert "'nix'" in done.err
