"""What readers take: paths and open files; anything else is refused in one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("given", [5, None, b"x", 1.5, "a\0b", Path("a\0b"), object()])
def test_what_is_no_path_is_refused_in_one_line(read: Callable[[Any], Any], given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^path: expected .*, got .*\.") as fault:
        read(given)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("opened", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_open_files_are_read(opened: Callable[[str], Any], tmp_path: Path) -> None:
    assert dict(rerank.read_run(opened("q Q0 d 1 2.5 tag\n"))["q"]) == {"d": 2.5}
    assert dict(rerank.read_qrels(opened("q 0 d 1\n"))["q"]) == {"d": 1}
    assert dict(rerank.read_topics(opened("q\twärm\n"))) == {"q": "wärm"}
    assert rerank.read_clicks([opened('{"query": "a", "document": "d", "position": 1, "clicked": 1}\n')]).n_rows == 1


def test_open_files_are_read_from_where_they_are_and_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_text("# no row\n1 qid:a 1:2.5\n")
    with open(path, "rb") as file:
        file.readline()
        data = rerank.read_data(file)
    assert np.array_equal(data.X, [[2.5]])
