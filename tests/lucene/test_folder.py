from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rerank.errors import IndexFolderError, MissingFileError
from rerank.lucene.build import build_index
from rerank.lucene.folder import MARKER, check_index_folder, check_target, commit_hash, staged_index


def test_index_folder_is_checked(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"nowhere: expected a folder with a Lucene index, got nothing there"):
        check_index_folder(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexFolderError, match=r"file: expected a folder with a Lucene index, got a file. "):
        check_index_folder(tmp_path / "file")
    with pytest.raises(IndexFolderError, match=r"expected a Lucene index, got a folder without one"):
        check_index_folder(tmp_path)
    (tmp_path / "segments_1").write_text("x")
    assert check_index_folder(tmp_path) == tmp_path
    (tmp_path / MARKER).write_text("{}")
    with pytest.raises(IndexFolderError, match=r"expected a whole index, got a half-built one. Delete it"):
        check_index_folder(tmp_path)


def test_commit_hash_is_that_of_the_newest_commit(tmp_path: Path) -> None:
    (tmp_path / "segments_z").write_text("old")
    before = commit_hash(tmp_path)
    (tmp_path / "segments_10").write_text("new")  # base 36: 10 comes after z
    assert commit_hash(tmp_path) != before
    (tmp_path / "segments_y").write_text("older")
    (tmp_path / "pending_segments_zz").write_text("not committed")
    assert commit_hash(tmp_path) != before


def test_target_may_be_new_or_empty_or_an_index_to_overwrite(tmp_path: Path) -> None:
    check_target(tmp_path / "new", overwrite=False)
    check_target(tmp_path, overwrite=False)
    (tmp_path / "segments_1").write_text("x")
    check_target(tmp_path, overwrite=True)
    with pytest.raises(IndexFolderError, match=r"got an index\. Choose another folder or overwrite it"):
        check_target(tmp_path, overwrite=False)


@pytest.mark.parametrize("overwrite", [True, False])
def test_target_is_refused_when_it_is_no_index(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(IndexFolderError, match=r"expected a new folder or an index, got something else there"):
        check_target(tmp_path, overwrite)
    with pytest.raises(IndexFolderError, match=r"got something else there"):
        check_target(tmp_path / "thesis.tex", overwrite)


def test_staged_index_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "index"
    with staged_index(target) as staging:
        (staging / "a").write_text("x")
        assert not target.exists()
        assert (staging / MARKER).exists()
        assert staging.name.startswith(".index.")
        assert staging.name.endswith(".part.new")
    assert [path.name for path in target.iterdir()] == ["a"]
    assert list(target.parent.iterdir()) == [target]


def test_staged_index_replaces_an_existing_folder(tmp_path: Path) -> None:
    target = tmp_path / "index"
    target.mkdir()
    (target / "segments_1").write_text("x")
    with staged_index(target) as staging:
        (staging / "new").write_text("x")
        assert (target / "segments_1").exists()
    assert [path.name for path in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_staged_index_keeps_what_others_wrote_into_the_target_meanwhile(tmp_path: Path) -> None:
    target = tmp_path / "index"
    target.mkdir()
    (target / "segments_1").write_text("x")
    with staged_index(target):
        (target / "notes").mkdir()
        (target / "notes" / "a.txt").write_text("mine")
        (target / "_notes.txt").write_text("mine")
    assert sorted(path.name for path in target.iterdir()) == ["_notes.txt", "notes"]
    assert (target / "notes" / "a.txt").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_staged_index_keeps_a_link_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk" / "real").mkdir(parents=True)
    link = tmp_path / "index"
    link.symlink_to(tmp_path / "disk" / "real")
    with staged_index(link) as staging:
        (staging / "new").write_text("x")
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "disk" / "real").iterdir()] == ["new"]
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["real"]


@pytest.mark.parametrize(
    "other", ["notes.txt", "_notes.txt", "data/x", "vectors.npz", "embeddings.npy", "rerank/notes.txt", ".git/config"]
)
def test_index_with_files_of_others_is_not_overwritten(tmp_path: Path, small_index: Path, other: str) -> None:
    index = tmp_path / "index"
    shutil.copytree(small_index, index)
    check_target(index, overwrite=True)
    (index / other).parent.mkdir(exist_ok=True)
    (index / other).write_text("mine")
    named = other if other.startswith("rerank") else other.partition("/")[0]
    with pytest.raises(IndexFolderError, match=rf"^[^\n]*got one with {re.escape(named)} in its folder[^\n]*$"):
        check_target(index, overwrite=True)


def test_sharded_index_with_another_index_in_its_folder_is_not_overwritten(tmp_path: Path, small_index: Path) -> None:
    documents = [{"id": f"d{number}", "contents": "a word"} for number in range(9)]
    build_index(documents, tmp_path / "index", shards=2)
    check_target(tmp_path / "index", overwrite=True)
    shutil.copytree(small_index, tmp_path / "index" / "another")
    with pytest.raises(IndexFolderError, match="got one with another in its folder"):
        check_target(tmp_path / "index", overwrite=True)


def test_staged_index_is_removed_when_another_process_built_the_target(tmp_path: Path) -> None:
    target = tmp_path / "index"
    with staged_index(target, exists_already=lambda: True):
        target.mkdir()
        (target / "theirs").write_text("x")
    assert [path.name for path in target.iterdir()] == ["theirs"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_staged_index_leaves_nothing_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error, match="no"), staged_index(tmp_path / "index"):
        raise error("no")
    assert list(tmp_path.iterdir()) == []


def _left_folder(target: Path, state: str, number: int) -> Path:
    """Create the part file and the folder that a killed process leaves; return the part file."""
    part = target.with_name(f".{target.name}.{number:012x}.part")
    part.touch()
    folder = Path(f"{part}.{state}")
    folder.mkdir()
    (folder / state).touch()
    return part


def test_staged_index_removes_the_folders_of_killed_processes(tmp_path: Path) -> None:
    target = tmp_path / "index[1]"
    target.mkdir()
    for number, state in enumerate(("new", "old0")):
        _left_folder(target, state, number)
    alive, _ = (_left_folder(target, state, 2) for state in ("new", "old0"))
    other = _left_folder(tmp_path / "index[1].other", "new", 3)
    with open(alive) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with staged_index(target):
            pass
    left = [alive, Path(f"{alive}.new"), Path(f"{alive}.old0"), other, Path(f"{other}.new"), target]
    assert sorted(tmp_path.iterdir()) == sorted(left)


HOLD = """
import sys
from pathlib import Path
from rerank.lucene.folder import staged_index
with staged_index(Path(sys.argv[1])) as staging:
    (staging / "a").touch()
    print("writing", flush=True)
    sys.stdin.readline()
"""


def test_staged_index_of_a_killed_process_is_removed_and_that_of_a_live_one_stays(tmp_path: Path) -> None:
    target = tmp_path / "index"
    command = [sys.executable, "-c", HOLD, str(target)]
    killed, live = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    for process in (killed, live):
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
    killed.kill()
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 4
    with staged_index(target):
        pass
    assert len(list(tmp_path.iterdir())) == 3
    live.communicate("\n")
    assert live.returncode == 0
    assert [path.name for path in target.iterdir()] == ["a"]
    assert list(tmp_path.iterdir()) == [target]


def test_staged_index_restores_the_target_of_a_process_killed_while_it_replaced_it(tmp_path: Path) -> None:
    target = tmp_path / "index"
    for state in ("new", "old0"):
        _left_folder(target, state, 0)
    with pytest.raises(ValueError, match="no"), staged_index(target):
        raise ValueError("no")
    assert (target / "old0").exists()
    assert list(tmp_path.iterdir()) == [target]
