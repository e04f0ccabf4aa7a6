"""User-defined features, numbers of documents, and the columns that a recipe keeps and normalises."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from threading import get_ident
from typing import Any

import click
import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.features import extract as extract_module
from rerank.features.catalogue import template
from rerank.features.extract import extract, extract_blocks
from rerank.features.families.functions import FUNCTIONS, load_functions
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records, resolved
from rerank.runtime import threads
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
    FUNCTIONS.clear()


def test_functions_are_called_on_the_callers_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEW_ROWS", 1)
    monkeypatch.setattr(extract_module, "_MOST_PART", 1)
    callers = []

    @rerank.feature("field_caller")
    def field_caller(matches: Any) -> Any:
        callers.append(get_ident())
        return matches.tf.sum(axis=1)

    @rerank.feature("document_caller", over="document")
    def document_caller(query: Any, document: Any) -> Any:
        callers.append(get_ident())
        return 1.0

    data = extract(INDEX, TOPICS, RUN, records=Records(documents=raw), threads=2)
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

    data = extract(INDEX, TOPICS, RUN, records=Records(documents=raw))
    np.testing.assert_array_equal(data.column("stars"), [12.0, np.nan, 6.0, 2.0, 4.0])


def test_function_over_the_document_is_left_out_or_refused_when_the_index_keeps_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rerank.feature("stars", over="document")(lambda tokens, document: 1.0)
    with caplog.at_level(logging.INFO, "rerank"):
        assert "stars" not in extract(INDEX, TOPICS, RUN, records=Records(documents=nothing_kept)).feature_names
    assert "features stars are left out: the index does not store documents." in caplog.text
    with pytest.raises(InvalidInputError, match=r"expected an index that keeps its documents for 'stars'"):
        extract(INDEX, TOPICS, RUN, Recipe(functions=("stars",)), records=Records(documents=nothing_kept))


def test_function_that_is_not_defined_is_named() -> None:
    message = r"recipe: functions: expected the function 'gone', .*got none defined. Define it with @rerank.feature"
    with pytest.raises(InvalidInputError, match=message):
        extract(INDEX, TOPICS, RUN, Recipe(functions=("gone",)))


@pytest.mark.parametrize("values", [[1.0], "text", [np.inf] * 3, None])
def test_function_that_gives_something_else_is_refused(values: Any) -> None:
    rerank.feature("odd")(lambda matches: values)
    with pytest.raises(InvalidInputError, match=r"feature 'odd': expected 3 finite numbers, or NaN where missing"):
        extract(INDEX, TOPICS, RUN)


MASKED = np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, None, 2], [1.0, np.nan, 2.0]),
        (MASKED, [1.0, np.nan, 3.0]),
        ([Fraction(1, 2), Decimal("0.25"), 10**30], [0.5, 0.25, 1e30]),
    ],
)
def test_function_may_give_any_real_numbers(values: Any, expected: list[float]) -> None:
    rerank.feature("numbers")(lambda matches: values if len(matches.docs) == 3 else matches.scores)
    np.testing.assert_allclose(extract(INDEX, TOPICS, RUN).column("numbers.title")[:3], expected)


NO_NUMBERS = [["1"] * 3, [1j] * 3, np.ones(3) * 1j, [10**400] * 3, [1e300] * 3, [-np.inf] * 3, [[1.0]] * 3, [[1], 2, 3]]
NO_NUMBERS += [
    np.ones((3, 1)),
    np.float64(1),
    np.array([object()] * 3),
    np.array(["1", None, 2], dtype=object),
    {1, 2, 3},
]
NO_NUMBERS += [(x for x in range(3)), np.zeros(3, "datetime64[s]"), np.ma.MaskedArray([1j] * 3)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", NO_NUMBERS, ids=lambda values: type(values).__name__)
def test_function_that_gives_no_real_numbers_is_refused(values: Any) -> None:
    rerank.feature("odd")(lambda matches: values)
    message = (
        r"^.*test_functions\.py:\d+: feature 'odd': expected 3 finite numbers, .* for field 'title' of query 'q'. "
    )
    with pytest.raises(InvalidInputError, match=message):
        extract(INDEX, TOPICS, RUN)


class Refusing:
    """Runs code of the user's wherever it is looked at."""

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise SystemExit(0)


@pytest.mark.parametrize("value", ["1", 1j, 10**400, 1e300, [1.0], np.ones(1), Refusing(), {}])
def test_function_over_documents_that_gives_no_number_is_named_with_its_document(value: Any) -> None:
    rerank.feature("odd", over="document")(lambda tokens, document: 1.0 if isinstance(document, dict) else value)
    with pytest.raises(InvalidInputError, match=r"feature 'odd': expected 1 finite .* for query 'q', document 'b'. "):
        extract(INDEX, TOPICS, RUN, records=Records(documents=raw))


class Unspeakable(BaseException):
    """An exception that even its text raises, and that `except Exception` lets through."""

    def __str__(self) -> str:
        raise ValueError


def recurse(value: int = 0) -> int:
    return recurse(value + 1) + 1


RAISED = [
    SystemExit(0),
    SystemExit("bye\nbye"),
    ZeroDivisionError("a\nb"),
    BrokenPipeError(),
    Unspeakable(),
    StopIteration(),
]
RAISED += [MemoryError(), GeneratorExit(), InvalidInputError("x" * 1000), click.exceptions.Exit(0), click.Abort()]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("over", ["field", "document"])
def test_function_that_raises_is_named_in_one_line(over: str, error: BaseException) -> None:
    @rerank.feature("raising", over=over)
    def raising(*arguments: Any) -> Any:
        raise error

    subject = r"field 'title' of query 'q'" if over == "field" else "query 'q', document 'a'"
    kind = type(error).__name__
    message = (
        rf"^.*test_functions\.py:\d+: feature 'raising': expected numbers for {subject}, got {kind}\b[^\n]*. Correct"
    )
    with pytest.raises(InvalidInputError, match=message) as caught:
        extract(INDEX, TOPICS, RUN, records=Records(documents=raw))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 600


def test_function_that_recurses_for_ever_is_named() -> None:
    rerank.feature("deep")(lambda matches: recurse())
    with pytest.raises(InvalidInputError, match=r"feature 'deep': expected numbers .* got RecursionError"):
        extract(INDEX, TOPICS, RUN)


def test_function_leaves_ctrl_c_alone() -> None:
    @rerank.feature("interrupted")
    def interrupted(matches: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(INDEX, TOPICS, RUN)


@pytest.mark.parametrize("name", ["query_freq", "tf", "idf", "lengths", "docs", "scores"])
def test_function_cannot_change_its_arrays(name: str) -> None:
    @rerank.feature("changing")
    def changing(matches: Any) -> Any:
        array = attrgetter(name)(matches)
        array[...] = 0
        return matches.lengths

    with pytest.raises(InvalidInputError, match=r"feature 'changing': .* ValueError: .*read-only"):
        extract(INDEX, TOPICS, RUN)


def test_function_gets_a_document_of_its_own() -> None:
    text = '{"stars": 1, "list": [1, [2, 1]]}'

    @rerank.feature("changing", over="document")
    def changing(tokens: Any, document: Any) -> float:
        document["stars"] += 1
        document["list"][1].append(3)
        return document["stars"] + len(document["list"][1])

    data = extract(INDEX, TOPICS, RUN, records=Records(documents=lambda numbers: [text] * len(numbers)))
    assert data.column("changing").tolist() == [5.0] * 5


def test_function_gets_tokens_of_its_own() -> None:
    @rerank.feature("emptying", over="document")
    def emptying(tokens: list[str], document: Any) -> float:
        n_tokens = len(tokens)
        tokens.clear()
        return float(n_tokens)

    data = extract(INDEX, TOPICS, RUN, records=Records(documents=raw))
    assert data.column("emptying").tolist() == [3.0, 3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(0)\n", r"got SystemExit: 0 \(line 2\)\. Correct it\.$"),
        ("raise ValueError('a\\nb')\n", r"got ValueError: a b \(line 1\)\. Correct it\.$"),
        ("def f():\n  f()\nf()\n", r"got RecursionError: .*\. Correct it\.$"),
        ("x = '\0'\n", r"expected Python that runs, got \w+: .*null bytes.*. Correct it\.$"),
        ("raise BaseException\n", r"got BaseException \(line 1\)\. Correct it\.$"),
    ],
)
def test_functions_file_that_does_not_run_is_named_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=rf"^{re.escape(str(file))}: .*{message}") as caught:
        load_functions(file)
    assert len(str(caught.value).splitlines()) == 1


def test_functions_file_that_is_a_folder_or_interrupted(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"expected a Python file with features, got a folder. Name a file"):
        load_functions(tmp_path)
    (tmp_path / "mine.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_functions(tmp_path / "mine.py")


def test_function_needs_a_plain_name_and_something_to_look_at() -> None:
    with pytest.raises(InvalidInputError, match=r"feature 'a.b': expected a name of letters"):
        rerank.feature("a.b")
    with pytest.raises(InvalidInputError, match=r"feature 'a': expected over=field or document, got 'query'"):
        rerank.feature("a", over="query")
    for name in (3, None, b"a", "a b"):
        with pytest.raises(InvalidInputError, match=r"feature .*: expected a name of letters"):
            rerank.feature(name)  # type: ignore[arg-type]


def test_functions_file_may_define_a_dataclass_whose_annotations_are_text(tmp_path: Path) -> None:
    file = tmp_path / "annotated.py"
    file.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport rerank\n"
        "@dataclass\nclass Weight:\n    value: int\n"
        "@rerank.feature('weighted')\ndef weighted(matches):\n    return matches.lengths * Weight(0).value + 2\n"
    )
    load_functions(file)
    assert extract(INDEX, TOPICS, RUN).column("weighted.title").tolist() == [2.0] * 5


def test_functions_load_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import rerank\n@rerank.feature('one')\ndef one(matches):\n    return matches.lengths * 0 + 1\n")
    load_functions(file)
    assert extract(INDEX, TOPICS, RUN).column("one.title").tolist() == [1.0] * 5
    file.write_text("import rerank\n@rerank.feature(\n")
    with pytest.raises(
        InvalidInputError, match=r"mine\.py: expected Python that runs, got SyntaxError: .*. Correct it\."
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
    with pytest.raises(InvalidInputError, match=r"expected numbers of the index \(year\), got 1 .* e.g. 'yaer'"):
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
    result, default = Recipe.from_toml(file), extract(INDEX, TOPICS, RUN)
    assert extract(INDEX, TOPICS, RUN, result).X.tobytes() == default.X.tobytes()
    expected = resolved(replace(Recipe(), normalisation={"*": "none"}), INDEX, Records())
    assert resolved(result, INDEX, Records()) == expected
