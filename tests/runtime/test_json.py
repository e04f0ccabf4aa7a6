"""Nesting of JSON is limited before Python's parser sees it: its own limit does not hold beside Java."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from rerank.runtime.json_text import MOST_NESTED, ParseFault, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(value=VALUES)
def test_what_json_writes_is_read(value: object) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value


def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond() -> None:
    for open_, close in (("[", "]"), ('{"a":[', "]}")):
        times = MOST_NESTED // open_.count("[") // (1 + open_.count("{"))
        assert parse_json(open_ * times + close * times) is not None
        with pytest.raises(ParseFault, match="brackets nested too deep"):
            parse_json(open_ * (times + 1) + close * (times + 1))


def test_brackets_that_are_not_nested_or_are_text_do_not_count() -> None:
    for value in (
        [[]] * (3 * MOST_NESTED),
        ["[{" * MOST_NESTED],
        "[" * (MOST_NESTED + 1),
        ['"\\\\[' * MOST_NESTED, {"]}": "\\["}],
    ):
        assert parse_json(json.dumps(value)) == value
