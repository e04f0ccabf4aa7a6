from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.runtime import memory
from rerank.runtime.memory import memory_limit, private_bytes, resident_bytes


def test_private_memory_grows_with_what_is_held() -> None:
    before = private_bytes()
    if before:
        held = np.ones(1 << 26, dtype=np.uint8)  # above what malloc takes from memory that was freed before
        assert private_bytes() >= before + len(held) // 2
        assert resident_bytes() >= private_bytes() // 2


def test_memory_is_unknown_where_the_system_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "STATUS", tmp_path / "missing")
    assert resident_bytes() == 0


@pytest.mark.parametrize(
    ("membership", "limits", "expected"),
    [
        ("0::/jobs/one\n", {"jobs/one/memory.max": "max", "jobs/memory.max": "2000000"}, 2_000_000),
        ("0::/not/mounted/here\n", {"memory.max": "3000000"}, 3_000_000),
        ("3:cpu:/jobs\n", {"jobs/memory.max": "4000000"}, None),
    ],
)
def test_memory_limit_is_that_of_the_container(
    membership: str, limits: dict[str, str], expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "missing")
    of_machine = memory_limit()
    assert of_machine > 10_000_000
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "membership")
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(limit + "\n")
    assert memory_limit() == (of_machine if expected is None else expected)
