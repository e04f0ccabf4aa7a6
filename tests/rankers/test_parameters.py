"""What is derived from the declarations of hyper-parameters."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path

import pytest

from rerank.rankers.parameters import declared_parameters
from rerank.rankers.registry import known_rankers, ranker_class

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "write_declared.py"))
REMEDY = "run scripts/write_declared.py"


def test_file_of_the_command_line_is_that_of_the_declarations() -> None:
    assert SCRIPT["JSON"].read_text("utf8") == SCRIPT["declared_json"](), REMEDY


def test_page_of_rankers_is_that_of_the_declarations() -> None:
    assert SCRIPT["PAGE"].read_text("utf8") == SCRIPT["page"](), REMEDY


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
                assert each.field.read(value, {}) == value
        assert not each.search or each.default in each.search
        assert f"\n{each.name} : {each.type_name}, default={each.default!r}\n" in str(ranker.__doc__)
