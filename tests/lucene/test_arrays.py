"""Forward arrays are input: whatever their file holds, they are read as they were made, or made again."""

from __future__ import annotations

import json
import logging
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import FileFormatError, IndexFolderError
from rerank.lucene import arrays as postings
from rerank.lucene.arrays import KIND, open_forward, read_arrays, read_header
from rerank.lucene.folder import ARRAYS, ARRAYS_NOTE
from rerank.runtime import store
from rerank.runtime.cache_folder import cache_folder

MADE, AGAIN = "building forward arrays", "They are rebuilt now"


@pytest.fixture
def index(tmp_path: Path, small_index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    shutil.copytree(small_index, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(scope="module")
def content(small_index: Path) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Values and arrays of the file."""
    path = small_index / "rerank" / ARRAYS
    with np.load(path) as loaded:
        return store.read_values(path, KIND), {name: loaded[name] for name in loaded.files if name != "about"}


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders whose content was checked."""
    checked: list[Path] = []
    check = KIND.check
    object.__setattr__(KIND, "check", lambda *given: (checked.append(Path()), check(*given)))
    yield checked
    object.__setattr__(KIND, "check", check)


def forge(index: Path, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a file whose checksums fit, as a forger would."""
    store.write(index / "rerank" / ARRAYS, KIND, values, arrays)


def refusal(index: Path) -> str:
    """Read the forward arrays, which must be refused as damaged; return the message."""
    with pytest.raises(FileFormatError) as error:
        read_arrays(index / "rerank")
    message = str(error.value)
    assert message.startswith(f"{index}/rerank/{ARRAYS}: expected whole forward arrays, got ")
    assert len(message.splitlines()) == 1
    return message


def test_a_changed_byte_of_each_array_is_found(index: Path, content: Any) -> None:
    path, (_, arrays) = index / "rerank" / ARRAYS, content
    whole = path.read_bytes()
    assert len(arrays) == 6 + 8 * 3
    with zipfile.ZipFile(path) as archive:
        ends = {entry.filename: entry.header_offset for entry in archive.infolist()}
    starts = sorted(ends.values())
    for name, array in arrays.items():
        if array.size:
            after = starts.index(ends[f"{name}.npy"]) + 1
            last = whole.rindex(array.tobytes()[-4:], 0, starts[after] if after < len(starts) else len(whole))
            path.write_bytes(whole[:last] + bytes([whole[last] ^ 1]) + whole[last + 1 :])
            refusal(index)
    path.write_bytes(whole)
    assert open_forward(index).n_docs == 600


def test_arrays_are_checked_once_for_each_state_of_their_file(index: Path, checks: list[Path]) -> None:
    def checked() -> int:
        checks.clear()
        open_forward(index)
        return len(checks)

    assert [checked(), checked()] == [1, 0]  # the copy has other times than what was made
    os.utime(index / "rerank" / ARRAYS, ns=(1, 1))
    assert [checked(), checked()] == [1, 0]
    (index / "rerank" / ARRAYS_NOTE).write_text("[")
    assert [checked(), checked()] == [1, 0]


def test_arrays_that_were_just_made_count_as_checked(small_index: Path, checks: list[Path]) -> None:
    open_forward(small_index)
    assert not checks


def test_note_goes_to_the_cache_where_the_folder_cannot_be_written(index: Path, checks: list[Path]) -> None:
    (index / "rerank" / ARRAYS_NOTE).unlink()
    (index / "rerank" / ARRAYS_NOTE).mkdir()  # no file can be put there
    open_forward(index)
    open_forward(index)
    assert len(checks) == 1
    assert [path.name.partition("-")[0] for path in cache_folder().iterdir()] == ["verified"]


def test_damaged_arrays_are_made_again(index: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = index / "rerank" / ARRAYS
    whole = path.read_bytes()
    for damaged in (
        whole[:-1],
        whole[: len(whole) // 2],
        b"",
        whole.replace(b'"made_with_index"', b'"made-with-index"'),
    ):
        path.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.INFO, "rerank"):
            assert open_forward(index).n_docs == 600
        assert AGAIN in caplog.text
        assert MADE in caplog.text
        assert not read_header(index / "rerank")["made_with_index"]  # type: ignore[index]
    assert sorted(path.name for path in (index / "rerank").iterdir()) == [ARRAYS, ARRAYS_NOTE]


def test_arrays_that_stay_damaged_are_refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (index / "rerank" / ARRAYS).write_bytes(b"")
    monkeypatch.setattr(postings, "_make", lambda *given: None)
    with pytest.raises(IndexFolderError, match=r"expected the forward arrays of .*index, got others"):
        open_forward(index)


def put(value: Any, position: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[position] = value
        return array

    return change


def swap(array: Any) -> Any:
    array[[0, -1]] = array[[-1, 0]]
    return array


FORGED = {
    "doc_ptr": [put(-1, 0), put(2**40, 7), put(10**6, -1), swap],
    "position_ptr": [put(-1, 0), put(2**40, 7), put(10**6, -1), swap],
    "terms": [put(-1, 0), put(2**31 - 1, 0), put(10**4, -1), put(0, 1)],
    "freqs": [put(0, 0), put(-5, 0), put(2**31 - 1, 0), put(2, 0)],
    "lengths": [put(0, 0), put(-1, 0), put(2**31 - 1, 5)],
    "positions": [put(-1, 0), lambda array: array[::-1].copy()],
    "doc_freq": [put(0, 0), put(-1, 0), put(2**31 - 1, 0)],
    "collection_freq": [put(0, 0), put(-1, 0), put(2**62, 0)],
    "doc_slots": [put(600, 0), put(-2, 0), put(2**31 - 1, 3), lambda array: array[::-1].copy()],
    "doc_ids": [put("doc-1", 0), swap],
    "lucene_docs": [put(-1, 0), put(600, 0), put(2**31 - 1, 3), lambda array: np.where(array == 1, 0, array)],
    "term_ptr": [put(-1, 0), put(2**40, 3), put(10**6, -1), put(0, 1)],
    "vocabulary": [put(0xFF, 0), put(0x80, 0), swap],
}
CASES = [(name, number) for name, changes in FORGED.items() for number in range(len(changes))]
# The message names the array that was changed, but for these: another one no longer fits.
NAMED_OTHERWISE = {
    ("term_ptr", 3): "the fingerprint of other arrays",
}


@pytest.mark.parametrize(("name", "number"), CASES)
def test_arrays_that_kernels_cannot_read_are_refused_though_the_checksums_fit(
    index: Path, content: Any, name: str, number: int
) -> None:
    values, arrays = content
    stored = name if name in arrays else f"0.{name}"
    forge(index, values, {**arrays, stored: FORGED[name][number](arrays[stored].copy())})
    assert NAMED_OTHERWISE.get((name, number), f"{name}.npy") in refusal(index)


def test_characters_that_are_none_are_refused(index: Path, content: Any) -> None:
    values, arrays = content
    doc_ids = arrays["doc_ids"].copy()
    doc_ids.view(np.uint32)[0] = 0x110000
    forge(index, values, {**arrays, "doc_ids": doc_ids})
    assert "got doc_ids.npy with ids that are not text." in refusal(index)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|S0', 'fortran_order': False, 'shape': (3,), }",  # NumPy would divide by zero
        "{'descr': '<U0', 'fortran_order': False, 'shape': (0,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': 3, 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<i4', 'shape': (2,), }",
        "(" * 500,
        "3",
        "",
    ],
)
def test_headers_that_are_damaged_are_refused(index: Path, header: str) -> None:
    path = index / "rerank" / ARRAYS
    with zipfile.ZipFile(path) as archive:
        parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    text = header.encode("latin1") + b"\n"
    for name in ("0.terms.npy", "doc_ids.npy", "term_ptr.npy"):
        forged = b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + parts[name][128:]
        with zipfile.ZipFile(path, "w") as archive:
            for each, part in (parts | {name: forged}).items():
                archive.writestr(each, part)
        assert f"got {name.removesuffix('.npy')}" in refusal(index)


@pytest.mark.parametrize(
    ("changes", "damage"),
    [
        ({"fields": []}, "about.fields: expected a list of values, at least one"),
        ({"fields": {}}, "about.fields: expected a list"),
        ({"fields": [{"name": "contents"}]}, "about.fields[0]: expected the key positions"),
        ({"fields": None}, "about.fields: expected a list"),
        ({"numbers": ["year"]}, "numbers: expected shape (1, 600), got shape (0, 600)"),
        ({"numbers": [3]}, "about.numbers[0]: expected text"),
        ({"language": None}, "about.language: expected text"),
        ({"language": "de"}, "the fingerprint of other arrays"),
        ({"fingerprint": {}}, "the fingerprint of other arrays"),
        ({"fingerprint": []}, "about.fingerprint: expected an object"),
        ({"made_with_index": None}, "about.made_with_index: expected true or false"),
        ({"shards": None}, "about.shards: expected a list"),
        ({"shards": [-1]}, "about.shards[0]: expected 0 to"),
        ({"shards": [599]}, "sizes of shards that do not add up"),
        ({"more": 1}, "about: expected keys commit, "),
    ],
)
def test_headers_with_a_part_missing_or_wrong_are_refused(
    index: Path, content: Any, changes: dict[str, Any], damage: str
) -> None:
    values, arrays = content
    forge(index, {**values, **changes}, arrays)
    assert f"got {damage}" in refusal(index)


def test_counts_of_another_field_are_refused(index: Path, content: Any) -> None:
    values, arrays = content
    fields = values["fields"]
    for name, damage in (
        ("documents", "fingerprint"),
        ("tokens", "0.positions: expected shape"),
        ("terms", "fingerprint"),
    ):
        forge(index, {**values, "fields": [fields[0] | {name: fields[0][name] + 1}, *fields[1:]]}, arrays)
        assert damage in refusal(index)
    forge(index, {**values, "fields": [fields[1], fields[0], *fields[2:]]}, arrays)
    refusal(index)


def test_format_is_that_of_the_documentation(small_index: Path) -> None:
    with np.load(small_index / "rerank" / ARRAYS) as loaded:
        assert json.loads(loaded["about"].tobytes())["format"] == "rerank forward arrays"
