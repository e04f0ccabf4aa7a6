"""Memory-mapped files: what is written is read, and every damage is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import FileFormatError, MissingFileError
from rerank.files.mapped import BlockArray, MappedFault, MappedFile, read_mapped, write_mapped

ARRAYS = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.empty((0, 4), np.int32), "c": np.arange(3)}


@pytest.fixture(autouse=True)
def notes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path_factory.mktemp("cache")))


def _read(path: Path) -> MappedFile:
    return read_mapped(path, "tests", 1, lambda content: None, "Make it anew.")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_mapped(tmp_path / "file", "tests", 1, {"name": "ü"}, ARRAYS)
    return tmp_path / "file"


def test_what_is_written_is_read_as_read_only_maps(file: Path) -> None:
    content = _read(file)
    assert content.values == {"name": "ü"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(content.array(name, array.dtype, *array.shape), array)
    with pytest.raises(ValueError, match="read-only"):
        content.arrays["a"][0, 0] = 1.0


def test_blocks_give_the_bytes_of_the_whole_array(file: Path) -> None:
    blocks = BlockArray(np.dtype("<f4"), (3, 4), iter([ARRAYS["a"][:1], ARRAYS["a"][1:]]))
    write_mapped(file.with_name("other"), "tests", 1, {"name": "ü"}, ARRAYS | {"a": blocks})
    assert file.with_name("other").read_bytes() == file.read_bytes()


def test_every_changed_byte_is_refused(file: Path) -> None:
    content = file.read_bytes()
    for position in range(len(content)):
        file.write_bytes(content[:position] + bytes([content[position] ^ 0x15]) + content[position + 1 :])
        with pytest.raises(FileFormatError, match=r"^[^\n]*expected tests, got [^\n]* Make it anew\.$"):
            _read(file)


def test_every_cut_and_every_longer_file_is_refused(file: Path) -> None:
    content = file.read_bytes()
    for damaged in (*(content[:size] for size in range(len(content))), content + b"\0"):
        file.write_bytes(damaged)
        with pytest.raises(FileFormatError, match="expected tests, got"):
            _read(file)


def test_another_kind_format_or_array_is_refused(file: Path) -> None:
    for kind, file_format, text in (("others", 1, "got a file of 'tests'"), ("tests", 2, "got format 1 where 2")):
        with pytest.raises(FileFormatError, match=text):
            read_mapped(file, kind, file_format, lambda content: None, "Make it anew.")
    content = _read(file)
    for name, dtype, shape in (("x", np.float32, (3,)), ("a", np.float64, (3, 4)), ("a", np.float32, (3, 5))):
        with pytest.raises(MappedFault):
            content.array(name, dtype, *shape)
    with pytest.raises(MissingFileError):
        _read(file.with_name("none"))


def test_content_is_checked_once_for_each_state_of_the_file(file: Path) -> None:
    checked: list[MappedFile] = []
    for _ in range(2):
        read_mapped(file, "tests", 1, checked.append, "")
    assert len(checked) == 1
    file.write_bytes(file.read_bytes())
    read_mapped(file, "tests", 1, checked.append, "")
    assert len(checked) == 2


def test_headers_that_describe_what_cannot_be_are_refused(tmp_path: Path) -> None:
    write_mapped(tmp_path / "file", "tests", 1, {}, {"a": np.arange(40, dtype=np.int32)})
    content = (tmp_path / "file").read_bytes()
    for old, new in ((b'"<i4"', b'"|O8"'), (b"[40]", b"[99]"), (b"[40]", b"-40 "), (b'"tests"', b"[9,9,9]")):
        damaged = content[:-32].replace(old, new)
        assert len(damaged) == len(content) - 32
        (tmp_path / "file").write_bytes(damaged + hashlib.sha256(damaged).digest())
        with pytest.raises(FileFormatError, match="expected tests, got"):
            _read(tmp_path / "file")
