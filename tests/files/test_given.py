"""What readers take: paths; anything else is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import InvalidInputError

READERS = [
    rerank.read_run,
    rerank.read_qrels,
    rerank.read_topics,
    rerank.read_data,
    rerank.read_clicks,
    rerank.read_model,
    rerank.read_subtopic_qrels,
    rerank.read_preferences,
    rerank.read_documents,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("given", [5, None, b"x", 1.5, "a\0b", "a\nb", Path("a\0b"), object()])
def test_what_is_no_path_is_refused_in_one_line(read: Callable[[Any], Any], given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^path: expected .*, got .*\.") as fault:
        read(given)
    assert "\n" not in str(fault.value)
