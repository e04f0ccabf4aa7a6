"""Features of the user's own, static numbers, and what a recipe keeps and normalises: from extraction on."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pytest

import rerank
from rerank import threads
from rerank.errors import InvalidInputError, MissingFileError
from rerank.features import extract as extract_module
from rerank.features.extract import extract, extract_blocks
from rerank.features.functions import functions, load_functions
from rerank.features.recipe import Recipe
from rerank.features.template import template
from rerank.types import Run
from tests.features.collection import forward_index

DOCUMENTS = {"a": {"title": ["x", "y", "x"]}, "b": {"title": ["y"]}, "c": {"title": ["z"]}}
INDEX = replace(forward_index(DOCUMENTS), numbers={"year": np.array([1999.0, np.nan, 2001.0])})
TOPICS = {"q": ["x", "nowhere", "x"], "r": ["y"]}
RUN = Run.of({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"c": 2.0, "a": 1.0}})
RAW = {0: '{"id": "a", "stars": 4}', 1: "<DOC>b</DOC>", 2: '{"id": "c", "stars": 2}'}


def raw(numbers: Sequence[int]) -> list[str | None]:
    return [RAW[int(number)] for number in numbers]


def nothing_kept(numbers: Sequence[int]) -> list[str | None]:
    return [None for _ in numbers]


@pytest.fixture(autouse=True)
def forget_functions() -> Iterator[None]:
    """Leave no function behind for other tests."""
    yield
    functions().clear()  # type: ignore[attr-defined]


def test_functions_are_called_on_the_callers_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEW_ROWS", 1)
    monkeypatch.setattr(extract_module, "_PART_ROWS", 1)
    callers = []

    @rerank.feature("field_caller")
    def field_caller(matches: Any) -> Any:
        callers.append(get_ident())
        return matches.tf.sum(axis=1)

    @rerank.feature("document_caller", over="document")
    def document_caller(query: Any, document: Any) -> Any:
        callers.append(get_ident())
        return 1.0

    data = extract(INDEX, TOPICS, RUN, documents=raw, threads=2)
    assert data.column("field_caller.title").tolist() == [2.0, 0.0, 0.0, 0.0, 1.0]
    assert callers == [get_ident()] * (2 + RUN.n_rows)


def test_function_over_a_field_is_one_decorated_function() -> None:
    @rerank.feature("known_share", meaning="Share of the query's terms in the field.")
    def known_share(matches: Any) -> Any:
        assert matches.tf.shape == (len(matches.docs), len(matches.terms))
        return (matches.tf > 0).mean(axis=1)

    @rerank.feature("weighted")
    def weighted(matches: Any) -> Any:
        return matches.tf @ (matches.query_freq * np.array([term == "x" for term in matches.terms]))

    data = extract(INDEX, TOPICS, RUN)
    assert data.column("known_share.title").tolist() == [0.5, 0.0, 0.0, 0.0, 1.0]
    assert data.column("weighted.title").tolist() == [4.0, 0.0, 0.0, 0.0, 0.0]
    assert data.recipe is not None
    assert data.recipe["functions"] == ["known_share", "weighted"]


def test_function_over_the_document_is_given_what_was_indexed() -> None:
    @rerank.feature("stars", over="document")
    def stars(tokens: list[str], document: Any) -> float:
        return document["stars"] * len(tokens) if isinstance(document, dict) else float("nan")

    data = extract(INDEX, TOPICS, RUN, documents=raw)
    np.testing.assert_array_equal(data.column("stars"), [12.0, np.nan, 6.0, 2.0, 4.0])


def test_function_over_the_document_is_left_out_or_refused_when_the_index_keeps_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rerank.feature("stars", over="document")(lambda tokens, document: 1.0)
    with caplog.at_level(logging.INFO, "rerank"):
        assert "stars" not in extract(INDEX, TOPICS, RUN, documents=nothing_kept).feature_names
    assert "features stars are left out: the index keeps no documents." in caplog.text
    with pytest.raises(InvalidInputError, match=r"expected an index that keeps its documents for 'stars'"):
        extract(INDEX, TOPICS, RUN, Recipe(functions=("stars",)), documents=nothing_kept)


def test_function_that_is_not_defined_is_named() -> None:
    message = r"recipe: functions: expected the function 'gone', .*found none defined; define it with @rerank.feature"
    with pytest.raises(InvalidInputError, match=message):
        extract(INDEX, TOPICS, RUN, Recipe(functions=("gone",)))


@pytest.mark.parametrize("values", [[1.0], "text", [np.inf] * 3, None])
def test_function_that_gives_something_else_is_refused(values: Any) -> None:
    rerank.feature("odd")(lambda matches: values)
    with pytest.raises(InvalidInputError, match=r"feature 'odd': expected 3 finite numbers, or NaN where missing"):
        extract(INDEX, TOPICS, RUN)


def test_function_needs_a_plain_name_and_something_to_look_at() -> None:
    with pytest.raises(InvalidInputError, match=r"feature 'a.b': expected a name of letters"):
        rerank.feature("a.b")
    with pytest.raises(InvalidInputError, match=r"feature 'a': expected over=field or document, found 'query'"):
        rerank.feature("a", over="query")


def test_functions_load_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import rerank\n@rerank.feature('one')\ndef one(matches):\n    return matches.lengths * 0 + 1\n")
    load_functions(file)
    assert extract(INDEX, TOPICS, RUN).column("one.title").tolist() == [1.0] * 5
    file.write_text("import rerank\n@rerank.feature(\n")
    with pytest.raises(
        InvalidInputError, match=r"mine\.py: expected Python that runs, found SyntaxError: .*; mend it\."
    ):
        load_functions(file)
    file.write_text("import rerank\nrerank.feature('a b')\n")
    with pytest.raises(InvalidInputError, match=r"^feature 'a b': expected a name of letters"):
        load_functions(file)
    with pytest.raises(MissingFileError, match=r"none\.py: expected a Python file with features"):
        load_functions(tmp_path / "none.py")


def test_numbers_of_documents_are_static_features() -> None:
    data = extract(INDEX, TOPICS, RUN)
    np.testing.assert_array_equal(data.column("static.year"), [1999.0, np.nan, 2001.0, 2001.0, 1999.0])
    assert "static.year" not in extract(INDEX, TOPICS, RUN, Recipe(numbers=())).feature_names
    with pytest.raises(InvalidInputError, match=r"expected numbers of the index \(year\), found 1 .* e.g. 'yaer'"):
        extract(INDEX, TOPICS, RUN, Recipe(numbers=("yaer",)))


def test_numbers_beyond_float32_become_its_greatest() -> None:
    index = replace(INDEX, numbers={"big": np.array([1e300, -1e300, 1.0])})
    greatest = float(np.finfo(np.float32).max)
    assert extract(index, TOPICS, RUN).column("static.big")[:3].tolist() == [greatest, -greatest, 1.0]


def test_recipe_keeps_and_normalises_columns() -> None:
    recipe = Recipe(features=("static.*", "bm25.title", "run.score"), normalisation={"run.score": "minmax"})
    data, plain = extract(INDEX, TOPICS, RUN, recipe), extract(INDEX, TOPICS, RUN)
    assert data.feature_names == ("bm25.title", "run.score", "static.year")
    assert data.column("run.score").tolist() == [1.0, 0.5, 0.0, 1.0, 0.0]
    assert data.column("bm25.title").tolist() == plain.column("bm25.title").tolist()
    assert data.recipe is not None
    again = extract(INDEX, TOPICS, RUN, Recipe.from_dict(data.recipe))
    assert again.X.tobytes() == data.X.tobytes()


def test_blocks_are_the_rows_of_the_whole() -> None:
    data, blocks = extract_blocks(INDEX, TOPICS, RUN)
    whole = extract(INDEX, TOPICS, RUN)
    assert data.X.shape == whole.X.shape
    assert np.concatenate(list(blocks)).tobytes() == whole.X.tobytes()


def test_template_is_the_default_recipe(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text(template())
    found, default = Recipe.from_toml(file), extract(INDEX, TOPICS, RUN)
    assert extract(INDEX, TOPICS, RUN, found).X.tobytes() == default.X.tobytes()
    assert found.resolve(["title"]) == replace(Recipe(), normalisation={"*": "none"}).resolve(["title"])
