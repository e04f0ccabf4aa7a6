"""Damaged files of Lucene are refused at the opening; files are compared with their checksums once."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
from pathlib import Path

import pytest

import rerank
from rerank.errors import IndexFolderError
from rerank.lucene import checksums, commits
from rerank.lucene.checksums import NOTE
from rerank.lucene.commits import is_lucene_file
from rerank.lucene.folder import open_commit
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.store import file_state

FLIPS = 20  # of each file


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def index(tmp_path: Path, small_index: Path) -> Path:
    shutil.copytree(small_index, tmp_path / "index")
    return tmp_path / "index"


def flip(path: Path, byte: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 1 << bit
    path.write_bytes(content)


def lucene_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and is_lucene_file(path)]


@pytest.mark.slow("2 s: every bit")
def test_every_flipped_bit_of_every_file_is_refused(index: Path) -> None:
    files, generator = lucene_files(index), random.Random(0)
    assert {path.suffix for path in files} >= {".doc", ".pos", ".nvd", ".dvd", ".tim", ".fdt", ".si", ""}
    for path in files:
        content, size = path.read_bytes(), path.stat().st_size
        bytes_of_flips = [*range(size - 8, size), *(generator.randrange(size) for _ in range(FLIPS - 8))]
        for byte in bytes_of_flips:
            flip(path, byte, generator.randrange(8))
            with pytest.raises(IndexFolderError, match=rf"^[^\n]*\({path.name} does not fit its checksum\)[^\n]*$"):
                rerank.Index.open(index)
            path.write_bytes(content)
    rerank.Index.open(index)


@pytest.mark.parametrize("n_bytes", [0, 3, 8, -1])
def test_files_that_are_cut_are_refused(index: Path, n_bytes: int) -> None:
    for path in lucene_files(index):
        content = path.read_bytes()
        path.write_bytes(content[:n_bytes])
        with pytest.raises(IndexFolderError, match="does not fit its checksum"):
            open_commit(index)
        path.write_bytes(content)


def test_shards_are_compared_too(tmp_path: Path) -> None:
    documents = [{"id": f"d{number}", "contents": f"word{number % 5}"} for number in range(40)]
    with rerank.Index.build(documents, tmp_path / "index", shards=2):
        (path,) = (tmp_path / "index" / "shard-001").glob("*.doc")
    flip(path, path.stat().st_size // 2)
    with pytest.raises(IndexFolderError, match=rf"shard-001/{path.name} does not fit its checksum"):
        rerank.Index.open(tmp_path / "index")


def test_files_are_compared_once_for_each_state(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_commit(index)
    (path,) = index.glob("*.doc")
    flip(path, 100)
    with pytest.raises(IndexFolderError, match="does not fit its checksum"):
        open_commit(index)
    note = index / "rerank" / NOTE
    noted = json.loads(note.read_text())
    note.write_text(json.dumps(noted | {path.name: file_state(path)}))
    open_commit(index)  # the note says that this state was compared: the damage is not seen
    os.utime(path, ns=(1, 1))
    with pytest.raises(IndexFolderError, match="does not fit its checksum"):
        open_commit(index)


def test_note_goes_to_the_cache_where_the_index_has_no_arrays(index: Path) -> None:
    shutil.rmtree(index / "rerank")
    open_commit(index)
    (note,) = cache_folder().iterdir()
    assert sorted(json.loads(note.read_text())) == [path.name for path in lucene_files(index)]
    assert not (index / "rerank").exists()


def test_time_is_logged_where_it_is_long(
    index: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "_MOST_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, "rerank"):
        open_commit(index)
        open_commit(index)
    (record,) = caplog.records
    assert "checksums of Lucene's files were compared: 0.0 GB in 0 s" in record.getMessage()


def test_files_that_no_commit_names_are_left_alone(index: Path) -> None:
    commit = open_commit(index)
    (index / "_zz.fdt").write_bytes(commits._HEADER + b"half written")
    (index / "pending_segments_9").write_bytes(b"half written")
    assert open_commit(index) == commit
