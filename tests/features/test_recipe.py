"""Recipes: there and back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.features.family import default_family_names
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records, resolved
from tests.features.collection import forward_index

FIELDS = ["contents", "title"]
RECIPE = Recipe(fields=("title", "body"), families=("letor",), bm25_k1=1.2, lm_dirichlet_mu=2000)


def test_recipe_survives_json() -> None:
    values = json.loads(json.dumps(RECIPE.to_dict()))
    assert Recipe.from_dict(values) == RECIPE
    assert values["fields"] == ["title", "body"]
    assert values["lm_dirichlet_mu"] == 2000.0


def test_recipe_spells_out_all_names_when_resolved() -> None:
    index, other = (forward_index({"a": {name: ["x"] for name in names}}) for names in (FIELDS, [*FIELDS, "new"]))
    explicit = resolved(Recipe(), index, Records())
    assert explicit.fields == tuple(FIELDS)
    assert explicit.families == default_family_names()
    assert resolved(Recipe.from_dict(explicit.to_dict()), other, Records()) == explicit


def test_recipe_reads_toml(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('fields = ["title", "body"]\nfamilies = ["letor"]\nbm25_k1 = 1.2\nlm_dirichlet_mu = 2000\n')
    assert Recipe.from_toml(path) == RECIPE


def test_recipe_survives_toml(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    for recipe in (RECIPE, Recipe(), Recipe(features=("bm25.*",), normalisation={"*": "rank", "run.é": "none"})):
        path.write_text(recipe.to_toml(), "utf8")
        assert Recipe.from_toml(path) == recipe
        assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bm25_k": 1}, r"recipe: expected a known name, got 'bm25_k'. Did you mean 'bm25_k1'\?"),
        ({"families": ["leter"]}, r"recipe: families\[0\]: .*got 'leter'. Did you mean 'letor'\?"),
        ({"fields": "title"}, r"recipe: fields: expected a list of names, at least one, got 'title'"),
        ({"fields": []}, r"recipe: fields: expected a list of names, at least one, got \[\]"),
        ({"fields": ["a", "b", "a"]}, r"recipe: fields\[2\]: expected each name once, got 'a' again"),
        ({"normalisation": "zcore"}, r"recipe: normalisation\['\*'\]: .*got 'zcore'. Did you mean 'zscore'\?"),
        (
            {"normalisation": {"bm25.*": 1}},
            r"recipe: normalisation\['bm25.\*'\]: expected a known name, got 1. Known: ",
        ),
        ({"normalisation": 3}, r"recipe: normalisation: expected one of none, minmax, .* got 3"),
        ({"numbers": "year"}, r"recipe: numbers: expected a list of names, got 'year'"),
        ({"functions": [1]}, r"recipe: functions\[0\]: expected text of 1 to 100000 characters, got 1"),
        ({"runs": ["a", "a"]}, r"recipe: runs\[1\]: expected each name once, got 'a' again"),
        ({"bm25_k1": -1}, r"recipe: bm25_k1: expected 0 to 1e\+09, got -1"),
        ({"bm25_b": 1.5}, r"recipe: bm25_b: expected 0 to 1, got 1.5"),
        ({"bm25_b": True}, r"recipe: bm25_b: expected a number from 0 to 1, got True"),
        ({"lm_dirichlet_mu": 0}, r"recipe: lm_dirichlet_mu: expected 1e-09 to 1e\+09, got 0"),
        ({"lm_absolute_delta": "x"}, r"lm_absolute_delta: expected a number from 1e-09 to 1, got 'x'"),
        ({"bm25_k1": 1e300}, r"bm25_k1: expected 0 to 1e\+09, got 1e\+300"),
        ({"rocchio_alpha": 10**400}, r"rocchio_alpha: expected 0 to 1e\+09, got a whole number of 1329 bits"),
        ({"rm3_share": [[[[[[0.5]]]]]]}, r"rm3_share: expected a number from 0 to 1, got \[\[\["),
        ({"fields": ["x" * 10_000] * 2}, r"recipe: fields\[1\]: expected each name once, got 'x{57}\.\.\.' again"),
        ({"families": {"letor": 1}}, r"recipe: families: expected a list of names, at least one, got \{'letor': 1\}"),
        ({"normalisation": {"a\nb": [1]}}, r"recipe: normalisation\['a\\nb'\]: expected a known name, got \[1\]"),
        ({"vectors": 1}, r"recipe: vectors: expected text of 1 to 100000 characters, got 1"),
        ({"encoder": 3}, r"recipe: encoder: expected text of 0 to 100000 characters, got 3"),
        ({"bm25_k1": None}, r"recipe: bm25_k1: expected a number from 0 to 1e\+09, got None"),
        ({"lm_jelinek_mercer_lambda": float("nan")}, r"expected 1e-09 to 1, got nan"),
    ],
)
def test_recipe_refuses(values: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        Recipe.from_dict(values)
    assert "\n" not in str(caught.value)


def test_recipe_refuses_field_that_the_index_lacks() -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"recipe: expected fields of the index \(body, title\), got 1 that it does not have, e.g. 'titel'",
    ):
        resolved(Recipe(fields=("body", "titel")), forward_index({"a": {"title": ["x"], "body": ["x"]}}), Records())


def test_recipe_names_the_file_when_toml_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("bm25_k1 = 1\nfields = [,]\n")
    with pytest.raises(
        FileFormatError, match=r"recipe\.toml:2: expected TOML, got other text: Invalid value .*column 11\). Correct it"
    ):
        Recipe.from_toml(path)
    path.write_text("bm25 = 1\n")
    with pytest.raises(FileFormatError, match=r"recipe\.toml: recipe: expected a known name, got 'bm25'"):
        Recipe.from_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"recipe\.toml:1: expected UTF-8 text, got byte 0xff"):
        Recipe.from_toml(path)
    with pytest.raises(MissingFileError, match=r"none\.toml: expected a recipe \(TOML\), got nothing there"):
        Recipe.from_toml(tmp_path / "none.toml")


TEXTS = {
    "bm25_k1 = " + "[" * 2_000: "expected TOML, got brackets nested too deep",
    "bm25_k1 = " + "9" * 5001: "a number of too many digits",
    "bm25_k1 = 1\nbm25_k1 = 2\n": ":2: expected TOML, got other text: Cannot overwrite",
    "[normalisation]\n[normalisation]\n": ":2: expected TOML, got other text: Cannot declare",
    "bm25_k1 = 2026-01-01": "bm25_k1: expected a number from 0 to 1e\\+09, got 2026-01-01",
    "bm25_k1 = inf": "expected TOML, got the number 'inf', which is not finite",
    "fields = 1": "recipe: fields: expected a list of names, at least one, got 1",
    'fields = "' + "x" * 100_000 + '"': "recipe: fields: expected a list of names, at least one, got 'xxx",
    "x" * 100_000 + " = 1": "recipe: expected a known name, got 'xxx",
    "normalisation = [[1]]": r"normalisation: expected one of .* got \[\[1\]\]",
    "\0": r":1: expected text, got a NUL byte",
}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_toml_is_refused_in_one_short_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=TEXTS[text]) as caught:
        Recipe.from_toml(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 600
