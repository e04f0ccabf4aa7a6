from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import IndexFolderError
from rerank.lucene.postings import open_forward
from rerank.lucene.verified import MANIFEST, NOTE, file_entry, file_names, write_manifest
from rerank.runtime.cache import cache_folder

CHECKING = "checking the forward arrays"


@pytest.fixture
def index(tmp_path: Path, small_index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    shutil.copytree(small_index, tmp_path / "index")
    return tmp_path / "index"


def manifest_of(index: Path) -> dict[str, Any]:
    return json.loads((index / "rerank" / MANIFEST).read_text("utf8"))


def change_manifest(index: Path, **changes: Any) -> None:
    """Change the manifest and sign it again, as a forger would."""
    write_manifest(index / "rerank", manifest_of(index) | changes)


def make_fit(index: Path) -> None:
    """Have the manifest name sizes and digests of the files as they are, as a forger would."""
    folder = index / "rerank"
    change_manifest(index, files={path.name: file_entry(path) for path in sorted(folder.glob("*.npy"))})


def refusal(index: Path) -> str:
    """Open the forward arrays, which must be refused as damaged; return the message."""
    with pytest.raises(IndexFolderError, match=r"^[^\n]*expected whole forward arrays, got damaged ones \(") as error:
        open_forward(index)
    return str(error.value)


def test_every_file_is_named_and_a_changed_byte_of_each_is_found(index: Path) -> None:
    folder = index / "rerank"
    names = {path.name for path in folder.glob("*.npy")}
    assert file_names(manifest_of(index)) == set(manifest_of(index)["files"]) == names
    assert len(names) == 6 + 8 * 3
    for name in sorted(names):
        content = (folder / name).read_bytes()
        if len(content) > 128:  # no documents with numbers: an empty array
            (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            assert f"{name} is not the file that was made" in refusal(index)
            (folder / name).write_bytes(content)
    assert open_forward(index).n_docs == 600


def test_arrays_are_checked_once_for_each_state_of_their_files(index: Path, caplog: pytest.LogCaptureFixture) -> None:
    def checked() -> int:
        caplog.clear()
        with caplog.at_level(logging.INFO, "rerank"):
            open_forward(index)
        return sum(CHECKING in record.message for record in caplog.records)

    assert [checked(), checked()] == [1, 0]  # the copy has other times than what was made
    os.utime(index / "rerank" / "0.terms.npy", ns=(1, 1))
    assert [checked(), checked()] == [1, 0]
    (index / "rerank" / NOTE).write_text("[")
    assert [checked(), checked()] == [1, 0]


def test_arrays_that_were_just_made_count_as_checked(small_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rerank"):
        open_forward(small_index)
    assert CHECKING not in caplog.text


def test_note_goes_to_the_cache_where_the_folder_cannot_be_written(
    index: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (index / "rerank" / NOTE).unlink()
    (index / "rerank" / NOTE).mkdir()  # no file can be put there
    with caplog.at_level(logging.INFO, "rerank"):
        open_forward(index)
        open_forward(index)
    assert caplog.text.count(CHECKING) == 1
    assert [path.name.partition("-")[0] for path in cache_folder().iterdir()] == ["verified"]


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
    ("position_ptr", 2): "(0.positions.npy holds",
    ("position_ptr", 3): "(0.positions.npy holds",
    ("term_ptr", 3): f"({MANIFEST} has the fingerprint of other arrays)",
}


@pytest.mark.parametrize(("name", "number"), CASES)
def test_arrays_that_kernels_cannot_read_are_refused_though_the_manifest_fits(
    index: Path, name: str, number: int
) -> None:
    field = "" if name in ("doc_slots", "doc_ids", "lucene_docs", "term_ptr", "vocabulary") else "0."
    path = index / "rerank" / f"{field}{name}.npy"
    np.save(path, FORGED[name][number](np.load(path)))
    make_fit(index)
    assert NAMED_OTHERWISE.get((name, number), f"{name}.npy") in refusal(index)


def test_characters_that_are_none_are_refused(index: Path) -> None:
    path = index / "rerank" / "doc_ids.npy"
    doc_ids = np.load(path)
    doc_ids.view(np.uint32)[0] = 0x110000
    np.save(path, doc_ids)
    make_fit(index)
    assert "doc_ids.npy holds ids that are not text" in refusal(index)


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
    for name in ("0.terms.npy", "doc_ids.npy", "term_ptr.npy"):
        path = index / "rerank" / name
        content = path.read_bytes()
        text = header.encode("latin1") + b"\n"
        path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + content[128:])
        make_fit(index)
        assert f"({name} cannot be read)" in refusal(index)
        path.write_bytes(content)


@pytest.mark.parametrize(
    ("changes", "damage"),
    [
        ({"fields": []}, f"{MANIFEST} has no fields that can be used"),
        ({"fields": {}}, f"{MANIFEST} has no fields that can be used"),
        ({"fields": [{"name": "contents"}]}, f"{MANIFEST} has no fields that can be used"),
        ({"fields": None}, f"{MANIFEST} has no fields that can be used"),
        ({"files": {}}, f"{MANIFEST} has no files that can be used"),
        ({"files": {"doc_ids.npy": 3}}, f"{MANIFEST} has no files that can be used"),
        ({"numbers": ["year"]}, "numbers.npy holds float64 of shape (0, 600)"),
        ({"numbers": [3]}, f"{MANIFEST} has no numbers that can be used"),
        ({"language": None}, f"{MANIFEST} has no language that can be used"),
        ({"language": "de"}, f"{MANIFEST} has the fingerprint of other arrays"),
        ({"fingerprint": {}}, f"{MANIFEST} has the fingerprint of other arrays"),
        ({"fingerprint": []}, f"{MANIFEST} has no fingerprint that can be used"),
        ({"made_with_index": None}, f"{MANIFEST} has no made_with_index that can be used"),
        ({"shards": None}, f"{MANIFEST} has no shards that can be used"),
        ({"shards": [-1]}, f"{MANIFEST} has no shards that can be used"),
        ({"shards": [599]}, f"{MANIFEST} has sizes of shards that do not add up"),
        ({"shards": [300, 300]}, f"{MANIFEST} has the sizes of other shards"),
    ],
)
def test_manifests_with_a_part_missing_or_wrong_are_refused(index: Path, changes: dict[str, Any], damage: str) -> None:
    change_manifest(index, **changes)
    assert f"({damage}" in refusal(index)


@pytest.mark.parametrize(
    ("content", "damage"),
    [
        (b"", "holds an empty text"),
        (b"[]", "names no format"),
        (b"{}", "names no format"),
        (b"\xff", "holds byte 0xff, which is no UTF-8"),
        (b"[" * 100_000, "holds brackets nested too deep"),
        (b'{"format": NaN', "holds NaN, which is no number of JSON"),
    ],
)
def test_content_that_is_no_manifest_is_refused(index: Path, content: bytes, damage: str) -> None:
    (index / "rerank" / MANIFEST).write_bytes(content)
    assert f"({MANIFEST} {damage})" in refusal(index)


def test_any_change_of_the_manifest_is_found(index: Path) -> None:
    manifest = manifest_of(index)
    for name in set(manifest) - {"format", "commit"}:  # arrays of another format are made anew
        content = json.dumps(manifest | {name: [manifest[name]]})
        (index / "rerank" / MANIFEST).write_text(content, encoding="utf8")
        assert f"({MANIFEST} is not the one that was made)" in refusal(index)


def test_counts_of_another_field_are_refused(index: Path) -> None:
    fields = manifest_of(index)["fields"]
    for name in ("documents", "tokens", "terms"):
        change_manifest(index, fields=[fields[0] | {name: fields[0][name] + 1}, *fields[1:]])
        assert f"({MANIFEST} has the fingerprint of other arrays)" in refusal(index)
    change_manifest(index, fields=[fields[1], fields[0], *fields[2:]])
    assert f"({MANIFEST} has the fingerprint of other arrays)" in refusal(index)
