"""Stored files: what is written is read, and every damage is refused or changes nothing."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import FileFormatError
from rerank.runtime import store
from rerank.runtime.fields import Record, Text
from rerank.runtime.store import Blocks, Kind, Stored

N_LARGE = 1 << 16
ARRAYS: dict[str, Any] = {
    "a": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b": np.empty((0, 4), np.int32),
    "c": np.arange(3),
    "ptr": np.array([0, 1, 2, 3]),
    "names": np.array(["d1", "é", ""]),
}
DECLARED: dict[str, Stored] = {
    "a": Stored(np.float32, ("n", "4"), mapped=True),
    "b": Stored(np.int32, ("m", "n+1")),
    "c": Stored(np.int64, ("n",)),
    "ptr": Stored(np.int64, ("n+1",)),
    "names": Stored(np.str_, ("n",)),
}
KIND = Kind("tests", 1, "a test", "Make it anew.", Record({"name": Text()}), lambda values: DECLARED)


def _read(path: Path, kind: Kind = KIND) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return store.read(path, kind)


def declaring(**arrays: Stored) -> Kind:
    return replace(KIND, arrays=lambda values: DECLARED | arrays)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store.write(tmp_path / "file", KIND, {"name": "ü"}, ARRAYS)
    return tmp_path / "file"


def test_what_is_written_is_read_and_numpy_reads_it(file: Path) -> None:
    values, arrays = _read(file)
    assert values == store.read_values(file, KIND) == {"name": "ü"}
    with np.load(file) as loaded:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array)
            np.testing.assert_array_equal(loaded[name], array)
    with pytest.raises(ValueError, match="read-only"):
        arrays["a"][0, 0] = 1.0


def test_arrays_are_aligned_in_the_file(file: Path) -> None:
    content = file.read_bytes()
    for name in ("a", "c", "ptr"):
        assert content.index(ARRAYS[name].tobytes()) % 64 == 0


def test_blocks_give_the_bytes_of_the_whole_array(file: Path) -> None:
    blocks = Blocks(np.float32, (3, 4), iter([ARRAYS["a"][:1], ARRAYS["a"][1:]]))
    store.write(file.with_name("other"), KIND, {"name": "ü"}, ARRAYS | {"a": blocks})
    assert file.with_name("other").read_bytes() == file.read_bytes()


def _refused_or_same(path: Path) -> bool:
    """Return whether a damaged file is refused; what is read must be what was written."""
    message = ""
    try:
        values, arrays = _read(path)
    except FileFormatError as error:
        message = str(error)
    if message:
        assert message.startswith(f"{path}: ")
        assert len(message.splitlines()) == 1
        return True
    assert values == {"name": "ü"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    return False


def test_every_changed_byte_is_refused_or_changes_nothing(file: Path) -> None:
    content, refused = file.read_bytes(), 0
    for position in range(len(content)):
        bits = (0x15, 0x80)[position % 2]
        file.write_bytes(content[:position] + bytes([content[position] ^ bits]) + content[position + 1 :])
        refused += _refused_or_same(file)
    n_bytes = sum(array.nbytes for array in ARRAYS.values())
    assert refused > n_bytes, "each byte of an array, and of the headers"


def test_every_cut_is_refused(file: Path) -> None:
    content = file.read_bytes()
    for size in range(0, len(content), 2):
        file.write_bytes(content[:size])
        assert _refused_or_same(file)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
def test_device_without_an_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="got a folder, pipe or device"):
        store.read(Path("/dev/zero"), KIND)


def test_another_kind_version_or_value_is_refused(file: Path) -> None:
    for kind, text in (
        (replace(KIND, name="others"), "expected a test, got arrays of something else. Make it anew"),
        (replace(KIND, version=2), "got version 1 where this version of rerank reads 2"),
        (
            replace(KIND, values=Record({"name": Text(), "more": Text()})),
            "about: expected the key more, got none. Make",
        ),
    ):
        with pytest.raises(FileFormatError, match=text):
            _read(file, kind)


def test_arrays_that_are_not_those_declared_are_refused(file: Path) -> None:
    for kind, text in (
        (declaring(x=Stored(np.float32, ("3",))), "got no x"),
        (declaring(a=Stored(np.float64, ("n", "4"))), "got a: expected type float64, got type float32"),
        (declaring(a=Stored(np.float32, ("n", "5"))), r"got a: expected shape \(3, 5\), got shape \(3, 4\)"),
        (declaring(b=Stored(np.int32, ("n", "4"))), r"got b: expected shape \(3, 4\), got shape \(0, 4\)"),
        (declaring(c=Stored(np.int64, ("n+1",))), r"got c: expected shape \(n\+1\), got shape \(3,\)"),
    ):
        with pytest.raises(FileFormatError, match=text):
            _read(file, kind)
    assert "x" not in _read(file, declaring(x=Stored(np.float32, ("3",), optional=True)))[1]


def test_content_is_checked_once_for_each_state_of_the_file(tmp_path: Path) -> None:
    checked: list[Any] = []
    kind = replace(declaring(c=Stored(np.int64, ("k",), mapped=True)), check=lambda *content: checked.append(content))
    path, notes = tmp_path / "file", [tmp_path / "note"]
    store.write(path, kind, {"name": "ü"}, ARRAYS | {"c": np.arange(N_LARGE)})
    for _ in range(2):
        store.read(path, kind, notes)
    assert len(checked) == 1
    content = path.read_bytes()
    at = content.index(np.arange(N_LARGE).tobytes()) + 8 * N_LARGE // 2
    path.write_bytes(content[:at] + b"x" + content[at + 1 :])
    with pytest.raises(FileFormatError, match="damaged file"):
        store.read(path, kind, notes)
    path.write_bytes(content)
    store.read(path, kind, notes)
    assert len(checked) == 2


def test_headers_that_are_no_json_object_of_the_kind_are_refused(file: Path) -> None:
    for text in (b"", b"[]", b"{}", b"\xff", b"[" * 501, b'{"format": "tests"}', b'{"format": NaN}'):
        with zipfile.ZipFile(file, "w") as archive, archive.open("about.npy", "w") as entry:
            np.save(entry, np.frombuffer(text, np.uint8))
        with pytest.raises(FileFormatError, match="expected a test, got"):
            _read(file)


def test_text_that_is_none_is_refused(file: Path) -> None:
    for number in (0x110000, 0xD800):
        names = np.array([number, 65, 66], np.uint32).view("U1")
        store.write(file, KIND, {"name": "ü"}, ARRAYS | {"names": names})
        with pytest.raises(FileFormatError, match="got names: expected text, got something else"):
            _read(file)
    store.write(file, KIND, json.loads('{"name": "\\ud800"}'), ARRAYS)
    with pytest.raises(FileFormatError, match=r"about\.name: expected text that UTF-8 can hold"):
        _read(file)


def test_columns_that_stand_together_and_compressed_arrays_are_refused(file: Path) -> None:
    with np.load(file) as loaded:
        arrays = dict(loaded)
    np.savez(file.with_suffix(".npz"), **{**arrays, "a": np.asfortranarray(arrays["a"])})
    with pytest.raises(FileFormatError, match="got a whose columns are together"):
        _read(file.with_suffix(".npz"))
    np.savez_compressed(file.with_suffix(".npz"), **arrays)
    with pytest.raises(FileFormatError, match="compressed"):
        _read(file.with_suffix(".npz"))
