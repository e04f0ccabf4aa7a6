"""Index folders: each problem is one finding, and a sound index gives none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rerank.doctor import Finding, examine, read_sources
from rerank.lucene.build import build_index
from rerank.lucene.folder import ARRAYS
from rerank.lucene.shards import SUBFOLDER

DOCUMENTS = [
    {"id": f"d{number}", "title": "heat flow", "body": "wings in cold air", "year": 1960} for number in range(5)
]
WITHOUT_TEXT = [
    {"id": "d0", "title": "", "body": "heat flow", "year": 1960},
    {"id": "d1", "title": "", "body": "..."},
    {"id": "d2", "title": "", "body": "?"},
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor") / "index"
    build_index(DOCUMENTS, folder, threads=1)
    return folder


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "index"))


def findings(folder: Path) -> list[Finding]:
    return examine(read_sources([(None, folder)]))


def test_sound_index_has_no_finding(sound: Path) -> None:
    assert findings(sound) == []
    assert examine(read_sources([("index", sound)])) == []


def test_documents_and_fields_without_text_are_found(tmp_path: Path) -> None:
    build_index(WITHOUT_TEXT, tmp_path / "index", threads=1)
    assert [finding.text.replace(str(tmp_path), "") for finding in findings(tmp_path / "index")] == [
        "warning  /index: document 'd1' has no text (2 in all); BM25 does not retrieve them, and their text features "
        "say nothing",
        "warning  /index: fields without content: title; features of these fields are constant; leave them out of the "
        "recipe",
    ]


def test_index_of_shards_has_no_finding(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "two", threads=1, shards=2)
    assert findings(tmp_path / "two") == []


def test_missing_shard_is_found(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "index", threads=1, shards=2)
    shutil.rmtree(tmp_path / "index" / "shard-001")
    (finding,) = findings(tmp_path / "index")
    assert "got those of another state" in finding.message


@pytest.mark.parametrize("damage", ["changed", "cut short", "empty"])
def test_damaged_arrays_are_found(copy: Path, damage: str) -> None:
    folder, array = copy / SUBFOLDER, copy / SUBFOLDER / ARRAYS
    content = array.read_bytes()
    middle = content.index(b"\x93NUMPY", content.index(b"0.freqs.npy")) + 128
    array.write_bytes(
        {"changed": content[:middle] + b"\7" + content[middle + 1 :], "cut short": content[:-4], "empty": b""}[damage]
    )
    (finding,) = findings(copy)
    assert (finding.severity, finding.path) == ("error", str(copy))
    assert finding.message.startswith(f"{folder / ARRAYS}: expected whole forward arrays, got ")


def test_arrays_of_another_index_are_found(copy: Path, tmp_path: Path) -> None:
    build_index(DOCUMENTS[:3], tmp_path / "other", threads=1)
    shutil.rmtree(copy / SUBFOLDER)
    shutil.copytree(tmp_path / "other" / SUBFOLDER, copy / SUBFOLDER)
    (finding,) = findings(copy)
    assert finding.severity == "error"
    assert finding.message.endswith(f"expected forward arrays of {copy}, got those of another state")


def test_index_without_arrays_is_noted(copy: Path) -> None:
    shutil.rmtree(copy / SUBFOLDER)
    assert [(finding.severity, finding.message) for finding in findings(copy)] == [("note", "no forward arrays")]
    assert not (copy / SUBFOLDER).exists()


def test_folder_without_an_index_is_an_error(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path)
    assert finding.message.startswith(f"{tmp_path}: expected a Lucene index, got a folder without one")
