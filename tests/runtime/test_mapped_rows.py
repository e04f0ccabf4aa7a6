from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.runtime import mapped_rows
from rerank.runtime.mapped_rows import (
    RowFile,
    expect_random_reads,
    is_mapped,
    read_in_order,
    release,
    row_blocks,
    temporary_array,
)


def test_row_blocks_hold_all_rows_in_order() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 7)).astype(np.float32)
    file = RowFile("rows")
    for part in np.array_split(X, 9):
        file.append(part)
    mapped = file.finish(7)
    assert is_mapped(mapped)
    for array in (X, mapped):
        firsts, blocks = zip(*row_blocks(array, 1000), strict=True)
        assert list(firsts) == np.cumsum([0, *map(len, blocks[:-1])]).tolist()
        assert len(blocks) > 5
        np.testing.assert_array_equal(np.concatenate(blocks), X)
        assert all(not is_mapped(block) for block in blocks)


def test_rows_of_several_widths_are_filled_with_zeros() -> None:
    file = RowFile("rows")
    for width in (3, 1, 5, 5):
        file.append(np.full((2, width), width, np.float32))
    rows = file.finish(6)
    assert rows.shape == (8, 6)
    assert rows.sum(axis=1).tolist() == [9.0, 9.0, 1.0, 1.0, 25.0, 25.0, 25.0, 25.0]


def test_row_file_without_rows_gives_an_empty_array() -> None:
    assert RowFile("rows").finish(4).shape == (0, 4)


def test_released_values_are_read_again() -> None:
    array = temporary_array((300, 16), np.uint8, "codes")
    array[:] = np.arange(16)
    release(array)
    assert (np.asarray(array) == np.arange(16)).all()
    release(np.zeros(3))  # an array in memory is left alone


def test_what_does_not_fit_on_the_disk_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidInputError, match=r"expected space for codes \(.* bytes\), got a full disk\. Set"):
        temporary_array((1 << 62,), np.uint8, "codes")


def test_mapped_arrays_have_their_values_when_read_at_random_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice: list[str] = []
    advise = mapped_rows._advise
    monkeypatch.setattr(mapped_rows, "_advise", lambda mapped, name: (advice.append(name), advise(mapped, name)))
    np.save(tmp_path / "values.npy", np.arange(100_000))
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")
    view = np.asarray(mapped)[10:].view()
    with read_in_order(view):
        assert advice == []
    expect_random_reads(mapped, None, np.arange(3))
    with read_in_order(view, None, np.arange(3)):
        assert advice == ["MADV_RANDOM", "MADV_NORMAL"]
        assert view.sum() == sum(range(10, 100_000))
    assert advice == ["MADV_RANDOM", "MADV_NORMAL", "MADV_RANDOM"]
    assert mapped[-1] == 99_999
