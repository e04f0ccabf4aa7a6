"""Files that are read as a whole: they have an end, and content that was changed is refused."""

from __future__ import annotations

import json
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rerank.errors import FileFormatError
from rerank.runtime import json_files
from rerank.runtime.json_files import JsonFile, read_whole

KIND = JsonFile("rerank-test", "a test", ("Name a test.", "Make it again."))
CONTENT = {"version": 1, "größe": [0.1, -2.5e-300, 3, True, None], "inner": {"names": ["a", "b"], "count": 7}}


def read(path: Path) -> dict[str, Any]:
    with path.open("rb") as handle:
        return KIND.read(handle, path, lambda stored: stored)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "stored.json"
    KIND.write(path, CONTENT)
    return path


def test_content_comes_back_with_other_white_space(path: Path) -> None:
    before = read(path)
    assert list(before) == list(CONTENT)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert read(path) == before


def test_damage_is_refused_or_changes_nothing(path: Path) -> None:
    whole, before = path.read_bytes(), read(path)
    damaged = [whole[:end] for end in range(len(whole) - 1)]
    damaged += [
        whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :] for at in range(len(whole)) for bit in range(8)
    ]
    for content in damaged:
        path.write_bytes(content)
        with suppress(FileFormatError):
            assert read(path) == before


def test_file_that_was_edited_is_read_with_the_checksum_that_the_error_names(path: Path) -> None:
    stored = json.loads(path.read_text())
    stored["inner"]["count"] = 8
    path.write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=r"Make it again\. If you changed it on purpose, write this") as caught:
        read(path)
    found = re.search("content of '([0-9a-f]{16})'", str(caught.value))
    assert found
    path.write_text(json.dumps({**stored, "checksum": found[1]}))
    assert read(path)["inner"]["count"] == 8
    del stored["checksum"]
    path.write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match="that the file names, None, got"):
        read(path)


def test_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "MOST_BYTES", 10_000)
    path = Path("/dev/zero")
    with (
        path.open("rb") as handle,
        pytest.raises(FileFormatError, match=r"zero: expected a file of at most 10,000 bytes, got more\. Name a"),
    ):
        read_whole(handle, path)


def test_file_is_read_whole_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "_AT_ONCE", 7)
    content = random.Random(0).randbytes(1000)
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as handle:
        assert read_whole(handle, tmp_path / "file") == content
