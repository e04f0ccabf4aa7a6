"""What is derived from the declarations of hyper-parameters."""

from __future__ import annotations

import ast
import inspect
import runpy
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from rerank.rankers.parameters import declared_parameters, read_value
from rerank.rankers.registry import known_rankers, ranker_class

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "write_rankers.py"))
REMEDY = "run docs/write_rankers.py"


def test_page_of_rankers_is_that_of_the_declarations() -> None:
    assert SCRIPT["PAGE"].read_text("utf8") == SCRIPT["page"](), REMEDY


@pytest.mark.parametrize("name", known_rankers())
def test_values_are_read_from_their_text(name: str) -> None:
    for each in declared_parameters(ranker_class(name)).values():
        for value in (each.default, *each.search):
            for text in (
                str(value),
                repr(value),
                repr(value).lower() if isinstance(value, bool | None) else str(value),
            ):
                assert read_value(text) == value
                assert type(read_value(text)) is type(value)


@given(st.text())
def test_text_that_is_no_literal_is_its_own_value(text: str) -> None:
    value = read_value(text)
    assert value == text or text.lower() in {"true", "false", "none"} or value == ast.literal_eval(text)


@pytest.mark.parametrize("name", known_rankers())
def test_declaration_is_that_of_the_constructor(name: str) -> None:
    ranker, declared = ranker_class(name), declared_parameters(ranker_class(name))
    constructor = inspect.signature(ranker).parameters
    assert {key: each.default for key, each in declared.items()} == {
        key: each.default for key, each in constructor.items()
    }
    assert list(ranker().get_params(deep=False)) == list(declared)
    for each in declared.values():
        assert each.help.endswith(".")
        if each.field is not None:
            for value in (each.default, *each.search):
                assert each.field.read(value) == value
        assert not each.search or each.default is None or each.default in each.search
        assert f"\n{each.name} : {each.field.type_name}, default={each.default!r}\n" in str(ranker.__doc__)
