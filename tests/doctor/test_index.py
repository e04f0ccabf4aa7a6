"""Index folders: each problem is one finding, and a sound index gives none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rerank.doctor.findings import Finding, examine
from rerank.doctor.reading import read_files
from rerank.errors import RerankError
from rerank.lucene.build import build_index
from rerank.lucene.shards import ARRAYS, SUBFOLDER

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
    return examine(read_files([(None, folder)]))


def test_sound_index_has_no_finding(sound: Path) -> None:
    assert findings(sound) == []
    assert examine(read_files([("index", sound)])) == []


def test_documents_and_fields_without_text_are_found(tmp_path: Path) -> None:
    build_index(WITHOUT_TEXT, tmp_path / "index", threads=1)
    assert [finding.text.replace(str(tmp_path), "") for finding in findings(tmp_path / "index")] == [
        "warning  /index: document 'd1' has no text (2 in all); BM25 does not retrieve them, and their text features "
        "say nothing",
        "warning  /index: fields without content: title; features of these fields are constant; leave them out of the "
        "recipe",
    ]


def test_shards_without_documents_are_found_and_others_are_sound(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "two", threads=1, shards=2)
    assert findings(tmp_path / "two") == []
    build_index(DOCUMENTS[:1], tmp_path / "index", threads=1, shards=3)
    assert [finding.text.replace(str(tmp_path), "") for finding in findings(tmp_path / "index")] == [
        "note     /index: shards without documents: shard-001, shard-002 (2 in all); they cost time at each opening; "
        "fewer shards give the same results",
    ]


def test_missing_shard_is_found(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "index", threads=1, shards=2)
    shutil.rmtree(tmp_path / "index" / "shard-001")
    (finding,) = findings(tmp_path / "index")
    assert "the forward arrays are of another state of" in finding.text


@pytest.mark.parametrize("damage", ["changed", "cut short", "empty"])
def test_damaged_arrays_are_found(copy: Path, damage: str) -> None:
    folder, array = copy / SUBFOLDER, copy / SUBFOLDER / ARRAYS
    content = array.read_bytes()
    middle = content.index(b"\x93NUMPY", content.index(b"0.freqs.npy")) + 128
    array.write_bytes(
        {"changed": content[:middle] + b"\7" + content[middle + 1 :], "cut short": content[:-4], "empty": b""}[damage]
    )
    (finding,) = findings(copy)
    assert (finding.severity, finding.path) == ("error", str(folder))
    assert finding.message.startswith("expected whole forward arrays, got damaged ones (")


def test_arrays_of_another_index_are_found(copy: Path, tmp_path: Path) -> None:
    build_index(DOCUMENTS[:3], tmp_path / "other", threads=1)
    shutil.rmtree(copy / SUBFOLDER)
    shutil.copytree(tmp_path / "other" / SUBFOLDER, copy / SUBFOLDER)
    (finding,) = findings(copy)
    assert (finding.severity, finding.message) == ("error", f"the forward arrays are of another state of {copy}")


def test_index_without_arrays_of_this_format_is_noted(copy: Path) -> None:
    (copy / SUBFOLDER / ARRAYS).rename(copy / SUBFOLDER / "manifest.json")
    (finding,) = findings(copy)
    assert (finding.severity, finding.path) == ("error", str(copy / SUBFOLDER))
    assert finding.message.startswith("expected forward arrays of this version of rerank, got those of an earlier one")
    shutil.rmtree(copy / SUBFOLDER)
    assert [(finding.severity, finding.message) for finding in findings(copy)] == [("note", "no forward arrays")]
    assert not (copy / SUBFOLDER).exists()


def test_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="expected a Lucene index, got a folder without one"):
        findings(tmp_path)
