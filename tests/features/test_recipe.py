"""Recipes: there and back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.features.families import default_family_names
from rerank.features.recipe import Recipe

RECIPE = Recipe(fields=("title", "body"), families=("letor",), bm25_k1=1.2, lm_dirichlet_mu=2000)


def test_recipe_survives_json() -> None:
    values = json.loads(json.dumps(RECIPE.to_dict()))
    assert Recipe.from_dict(values) == RECIPE
    assert values["fields"] == ["title", "body"]
    assert values["lm_dirichlet_mu"] == 2000.0


def test_recipe_spells_out_all_names_when_resolved() -> None:
    resolved = Recipe().resolve(["contents", "title"])
    assert resolved.fields == ("contents", "title")
    assert resolved.families == default_family_names()
    assert Recipe.from_dict(resolved.to_dict()).resolve(["contents", "title", "new"]) == resolved


def test_recipe_reads_toml(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('fields = ["title", "body"]\nfamilies = ["letor"]\nbm25_k1 = 1.2\nlm_dirichlet_mu = 2000\n')
    assert Recipe.from_toml(path) == RECIPE


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bm25_k": 1}, r"recipe: expected a known name, found 'bm25_k'; did you mean 'bm25_k1'\?"),
        ({"families": ["leter"]}, r"recipe: families: .*found 'leter'; did you mean 'letor'\?"),
        ({"fields": "title"}, r"recipe: fields: expected a non-empty list of names, found 'title'"),
        ({"fields": []}, r"recipe: fields: expected a non-empty list of names, found \[\]"),
        ({"fields": ["a", "b", "a"]}, r"recipe: fields: expected each name once, found 'a' twice"),
        ({"runs": ["a", "a"]}, r"recipe: runs: expected each name once, found 'a' twice"),
        ({"bm25_k1": -1}, r"recipe: bm25_k1: expected a number at least 0, found -1"),
        ({"bm25_b": 1.5}, r"recipe: bm25_b: expected a number at least 0 and at most 1, found 1.5"),
        ({"bm25_b": True}, r"recipe: bm25_b: expected a number .*found True"),
        ({"lm_dirichlet_mu": 0}, r"recipe: lm_dirichlet_mu: expected a number above 0, found 0"),
        ({"lm_absolute_delta": "x"}, r"lm_absolute_delta: expected a number above 0 and at most 1, found 'x'"),
        ({"lm_jelinek_mercer_lambda": float("nan")}, r"expected a number above 0 and at most 1, found nan"),
    ],
)
def test_recipe_refuses(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        Recipe.from_dict(values)
    assert "\n" not in str(caught.value)


def test_recipe_refuses_field_that_the_index_lacks() -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"recipe: expected fields of the index \(body, title\), found 1 that it does not have, e.g. 'titel'",
    ):
        Recipe(fields=("body", "titel")).resolve(["title", "body"])


def test_recipe_names_the_file_when_toml_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("bm25_k1 = 1\nfields = [,]\n")
    with pytest.raises(FileFormatError, match=r"recipe\.toml:2: expected TOML, found a fault: "):
        Recipe.from_toml(path)
    path.write_text("bm25 = 1\n")
    with pytest.raises(FileFormatError, match=r"recipe\.toml: recipe: expected a known name, found 'bm25'"):
        Recipe.from_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"recipe\.toml: expected UTF-8 text"):
        Recipe.from_toml(path)
    with pytest.raises(MissingFileError, match=r"none\.toml: expected a recipe \(TOML\), found nothing there"):
        Recipe.from_toml(tmp_path / "none.toml")
