"""Values and suggestions in messages."""

from typing import Any

import numpy as np
import pytest

from rerank.errors import shown, suggestion


@pytest.mark.parametrize(
    ("value", "text"),
    [(np.float64(1.5), "1.5"), (np.int64(3), "3"), (1.5, "1.5"), (True, "True"), (None, "None"), ("a", "'a'")],
)
def test_shown_value_has_no_type_of_numpy(value: Any, text: str) -> None:
    assert shown(value) == text


def test_suggestion_without_known_names_says_so() -> None:
    assert suggestion("bm25", []) == "Known: none."
    assert suggestion("bm52", ["bm25", "lm"]) == "Did you mean 'bm25'?"
