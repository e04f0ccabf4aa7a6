"""Output files appear whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.source import checked_path
from rerank.runtime.output import (
    check_outputs,
    path_of,
    replace_folder,
    sole_writer,
    staged_folder,
    whole_file,
    write_text,
)


def test_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with whole_file(path) as handle:
        handle.write("wärm\n")
        assert not path.exists()
    assert path.read_bytes() == "wärm\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_ending_of_another_packer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"out\.run\.bz2: expected a plain file or \.gz, got \.bz2\. Name one"):
        write_text(tmp_path / "out.run.bz2", "text")
    with pytest.raises(InvalidInputError, match=r"got \.zip"):
        check_outputs({"-o": tmp_path / "out.zip"})


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit, MissingFileError])
def test_nothing_is_left_and_the_old_file_stays_when_the_block_fails(
    tmp_path: Path, fault: type[BaseException], name: str
) -> None:
    path = tmp_path / name
    path.write_text("old")

    def fail() -> None:
        with whole_file(path) as handle:
            handle.write("half")
            raise fault("x", "y") if fault is MissingFileError else fault("x")

    with pytest.raises(fault, match="x"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_binary_and_gzip(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a.gz", binary=True) as handle:
        handle.write(b"\x00\xff")
    with whole_file(tmp_path / "b.GZ") as handle:
        handle.write("text")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"\x00\xff"
    assert gzip.decompress((tmp_path / "b.GZ").read_bytes()) == b"text"


def test_dash_is_stdout(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with whole_file("-", binary=True) as handle:
        handle.write(b"bytes ")
    with whole_file("-") as handle:
        handle.write("text")
    assert capsysbinary.readouterr().out == b"bytes text"


def test_device_is_written_to_as_it_is() -> None:
    with whole_file("/dev/null") as handle:
        handle.write("x")
    assert not Path("/dev/null").is_file()


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with whole_file(tmp_path / "link.txt") as handle:
        handle.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_rights_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with whole_file(tmp_path / "out.txt") as handle:
            handle.write("x")
    finally:
        os.umask(old)
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o640


def open_and_close(path: Path) -> None:
    with whole_file(path):
        pass


NO_NAMES = [None, 3, 1.5, True, b"x", ["x"], "a\0b", "a\nb", "\ud800", "x" * 5000, "x/" * 5000, "loop"]


@pytest.mark.parametrize("path", NO_NAMES)
def test_name_that_no_file_can_have_is_refused_in_one_line(
    path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    refusing = [open_and_close, path_of, checked_path]
    if path is not None:  # None is an output that is not asked for
        refusing.append(lambda path: check_outputs({"output": path}))
    for refuse in refusing:
        with pytest.raises(
            (InvalidInputError, FileFormatError), match=r": expected (the name of a file|a path that can be used), got"
        ):
            refuse(path)
    assert [left.name for left in tmp_path.iterdir()] == ["loop"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files to others: needs root")
def test_file_has_the_owner_and_the_group_of_the_one_that_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, 1234, 5678)
    open_and_close(path)
    replaced = path.stat()
    assert (replaced.st_uid, replaced.st_gid, replaced.st_mode & 0o777) == (1234, 5678, 0o640)


def test_missing_folder_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"no: expected a folder to write into, got nothing there"):
        open_and_close(tmp_path / "no" / "out.txt")
    with pytest.raises(InvalidInputError, match="expected a file to write, got a folder"):
        open_and_close(tmp_path)


def test_folder_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"/proc/out\.txt: expected a path that can be written, got: "):
        open_and_close(Path("/proc/out.txt"))


def test_cache_that_cannot_be_written_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", "/proc/rerank")
    with pytest.raises(InvalidInputError, match=r"got: .*\. Name another folder by RERANK_CACHE\."):
        open_and_close(Path("/proc/rerank"))


def test_full_disk_is_named_in_one_line(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        with whole_file(path) as handle:
            handle.write("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InvalidInputError, match=r"got: No space left on device\. Write elsewhere"):
        fill(tmp_path / "out.txt")
    with pytest.raises(InvalidInputError, match="got: No space left on device"), whole_file("/dev/full") as handle:
        handle.write("x")
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys
from rerank.runtime.output import whole_file
with whole_file(sys.argv[1]) as handle:
    handle.write("half")
    handle.flush()
    print("writing", flush=True)
    sys.stdin.readline()
"""
HOLD_FOLDER = """
import sys
from pathlib import Path
from rerank.runtime.output import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("writing", flush=True)
    sys.stdin.readline()
"""


def writer(path: Path, code: str = HOLD) -> subprocess.Popen[str]:
    """Start a process that is in the middle of writing a file, or a folder, until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_part_of_a_killed_process_is_removed_and_that_of_a_live_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    killed, live = writer(path), writer(path)
    other = writer(tmp_path / "out.txt.gz")  # another target whose name begins alike
    killed.kill()
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 3
    with whole_file(path) as handle:
        handle.write("new")
    assert len([left for left in tmp_path.iterdir() if left.suffix == ".part"]) == 2
    for process in (live, other):
        process.communicate("\n")
        assert process.returncode == 0
    assert sorted(left.name for left in tmp_path.iterdir()) == ["out.txt", "out.txt.gz"]
    assert path.read_text() == "half"


@pytest.mark.parametrize("exists", [False, True])
def test_folder_that_another_process_writes_is_refused_until_it_ends(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "new" / "out"
    if exists:
        folder.mkdir(parents=True)

    def write() -> None:
        with sole_writer(folder):
            pass

    killed, live = writer(tmp_path / "new" / "other", HOLD_FOLDER), writer(folder, HOLD_FOLDER)
    with pytest.raises(InvalidInputError, match=r"out: expected an output that nobody else writes, got .* Wait for it"):
        write()
    live.communicate("\n")
    write()
    killed.kill()
    killed.communicate()
    with sole_writer(tmp_path / "new" / "other"):
        pass
    assert list(tmp_path.rglob("*")) == ([folder.parent, folder] if exists else [folder.parent])


def test_part_of_a_long_name_has_whole_characters(tmp_path: Path) -> None:
    with whole_file(tmp_path / f"x{'ä' * 120}"):
        (part,) = tmp_path.iterdir()
        assert part.name.encode().startswith(b".x")
        assert len(part.name.encode()) < 255


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    def write(number: int) -> None:
        with whole_file(tmp_path / "out.txt") as handle:
            handle.write(f"{number}\n" * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    (left,) = tmp_path.iterdir()
    assert len(set(left.read_text().splitlines())) == 1
    assert left.read_text().count("\n") == 1000


@pytest.mark.parametrize("name", ["名" * 80, "x" * 255, "é" * 127])
def test_long_names_are_written(tmp_path: Path, name: str) -> None:
    with whole_file(tmp_path / name) as handle:
        handle.write("x")
    assert [left.name for left in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["out.txt", "out.gz"])
def test_file_that_grows_too_large_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    code = (
        "import os, resource, sys; from rerank.runtime.output import whole_file; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "with whole_file(sys.argv[1], binary=True) as handle: handle.write(os.urandom(100_000))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=False
    )
    assert f"{name}: expected a path that can be written, got: File too large. Write elsewhere." in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_error_of_what_is_read_meanwhile_is_not_put_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output error"), whole_file(tmp_path / "out.txt"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_outputs_that_are_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    check_outputs({"first": tmp_path / "a", "second": tmp_path / "b", "third": None, "fourth": "-", "fifth": "-"})
    check_outputs({"first": "/dev/null", "second": "/dev/null"})
    for other in (tmp_path / "a", tmp_path / "link", tmp_path / "folder" / ".." / "a"):
        with pytest.raises(
            InvalidInputError, match=r"^second: expected another file than that of first, got .* for both"
        ):
            check_outputs({"first": tmp_path / "a", "second": other})


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
@pytest.mark.parametrize("name", ["out.txt", "out.gz", "link"])
def test_file_has_the_mode_of_the_one_that_it_replaces_from_the_beginning(tmp_path: Path, name: str, mode: int) -> None:
    path = tmp_path / name
    if name == "link":
        path.symlink_to(tmp_path / "private")
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as handle:
        (part,) = tmp_path.glob(".*.part")
        assert part.stat().st_mode & 0o777 == mode
        handle.write("new")
    assert path.stat().st_mode & 0o777 == mode
    assert path.is_symlink() == (name == "link")


@pytest.mark.parametrize("within", [False, True])
def test_folder_and_its_files_have_the_modes_of_those_that_they_replace(tmp_path: Path, within: bool) -> None:
    target = tmp_path / "out"
    (target / "sub").mkdir(parents=True)
    (target / "private").write_text("old")
    (target / "private").chmod(0o600)
    (target / "sub").chmod(0o750)
    target.chmod(0o700)

    def move(folder: Path, target: Path) -> None:
        if not within:
            replace_folder(folder, target, lambda old: ())
            return
        (folder / "private").replace(target / "private")
        (folder / "other").replace(target / "other")

    with staged_folder(target, move, InvalidInputError, within) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "private").write_text("new")
        (folder / "other").write_text("new")
        (folder / "sub").mkdir()
    umask = os.umask(0)
    os.umask(umask)
    modes = {name: (target / name).stat().st_mode & 0o777 for name in (".", "private", "other", "sub")}
    assert modes == {".": 0o700, "private": 0o600, "other": 0o666 & ~umask, "sub": 0o750}
