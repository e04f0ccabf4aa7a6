"""The log of queries with full disks, held locks, pipes and killed processes: nothing waits, no whole line is lost."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rerank
from rerank.clicks.reading import EVENTS
from rerank.errors import InvalidInputError
from tests.service.server import count  # skips without the extra

from rerank.service.querylog import KEY, Appender, LoggedLines, _append, folder_key  # isort: skip

ENTRY = [
    LoggedLines("topics.tsv", b"q1\tamber stone\n"),
    LoggedLines("events.jsonl", b'{"query_id":"q1"}\n'),
    LoggedLines("features-x.svm", b"0 qid:q1 1:2.5\n" * 40, b"# features: bm25\n# rerank: {}\n"),
]


@contextmanager
def file_limit(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond some bytes, as a full disk does: a write of more ends in the middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != ".lock"}


@pytest.fixture
def appender(tmp_path: Path) -> Iterator[Appender]:
    made = Appender(tmp_path)
    yield made
    made.close()


def written(appender: Appender) -> bool:
    """Return whether an entry is written, which takes less than two seconds."""
    return appender.put(ENTRY).result(2.0)


def test_append_makes_private_files_with_header_and_lines_of_all_entries(appender: Appender, tmp_path: Path) -> None:
    assert written(appender)
    assert written(appender)
    for name, content, header in ENTRY:
        assert (tmp_path / name).read_bytes() == header + 2 * content
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("limit", [*range(0, 40), 200, 600])
def test_append_leaves_all_files_as_they_were_when_the_disk_is_full(limit: int, tmp_path: Path) -> None:
    _append(tmp_path, ENTRY)
    before = contents(tmp_path)
    sizes = sorted(map(len, before.values()))
    with file_limit(sizes[0] + limit if limit < 40 else limit), pytest.raises(OSError, match="File too large"):
        _append(tmp_path, [*ENTRY, LoggedLines("candidates.run", b"q1 Q0 d1 1 2.5 bm25\n" * 100)])
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    assert after.get("candidates.run", b"") == b""


@pytest.mark.parametrize("limit", range(0, 32))
def test_header_is_written_whole_after_a_disk_was_full(limit: int, tmp_path: Path) -> None:
    features = [ENTRY[2]]
    with file_limit(limit), pytest.raises(OSError, match="File too large"):
        _append(tmp_path, features)
    _append(tmp_path, features)
    assert (tmp_path / "features-x.svm").read_bytes() == ENTRY[2].header + ENTRY[2].content


@pytest.mark.parametrize("length", range(0, 60))
def test_line_that_a_killed_process_left_is_no_part_of_the_next_one(length: int, tmp_path: Path) -> None:
    whole = {"topics.tsv": b"q1\tamber\n", "events.jsonl": b'{"query_id":"q1"}\n', "features-x.svm": ENTRY[2].header}
    for lines in ENTRY:
        torn = (whole[lines.name] + lines.content)[:length]
        (tmp_path / lines.name).write_bytes(torn)
    _append(tmp_path, ENTRY)
    for name, content, header in ENTRY:
        torn = (whole[name] + content)[:length]
        kept = torn[: torn.rfind(b"\n") + 1]
        if len(torn) < len(header):
            kept = header
        assert (tmp_path / name).read_bytes() == kept + content


LOG = {
    "topics.tsv": (b"", b"q1\tamber stone\n", rerank.read_topics),
    "candidates.run": (b"", b"q1 Q0 d1 1 2.5 bm25\n", rerank.read_run),
    "features-0123abcd.svm": (b"# features: a b\n", b"1 qid:q1 1:2.5 2:0.25 # d1\n", rerank.read_data),
}


@pytest.mark.parametrize("name", LOG)
def test_line_that_a_killed_process_left_is_left_out_by_readers_and_named(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    header, line, read = LOG[name]
    _append(tmp_path, [LoggedLines(name, line, header), LoggedLines(EVENTS, b"{}\n")])
    path = tmp_path / name
    n_lines = path.read_bytes().count(b"\n") + 1
    for length in range(1, len(line)):
        path.write_bytes(header + line + line.replace(b"1", b"2")[:length])
        caplog.clear()
        assert len(read(path)) == 1
        (record,) = caplog.records
        assert record.getMessage().startswith(f"{path}:{n_lines}: expected a line with its end, got a part of one")


def test_lines_of_any_length_are_found_from_their_end(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_bytes(b"q1\tamber\nq2\t" + b"x" * 200_000)
    _append(tmp_path, ENTRY[:1])
    assert (tmp_path / "topics.tsv").read_bytes() == b"q1\tamber\nq1\tamber stone\n"


@pytest.mark.parametrize("name", [".lock", "topics.tsv", "events.jsonl", "features-x.svm"])
@pytest.mark.parametrize("obstacle", ["folder", "pipe", "device"])
def test_what_cannot_be_written_is_counted_and_told_once_and_heals(
    obstacle: str, name: str, appender: Appender, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / name
    if obstacle == "folder":
        path.mkdir()
    elif obstacle == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/full")
    lost = count("rerank_log_lost_total")
    may_be_a_lock = name == ".lock" and obstacle != "folder"
    assert [written(appender), written(appender)] == [may_be_a_lock] * 2
    assert count("rerank_log_lost_total") == lost + 2 * (not may_be_a_lock)
    assert len(caplog.records) == (not may_be_a_lock)
    (path.rmdir if obstacle == "folder" else path.unlink)()
    assert written(appender)
    assert (tmp_path / "topics.tsv").read_bytes().endswith(ENTRY[0].content)


def test_entries_wait_for_a_held_lock_and_stop_nothing(appender: Appender, tmp_path: Path) -> None:
    with open(tmp_path / ".lock", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        begin = time.monotonic()
        first = appender.put(ENTRY)
        assert time.monotonic() - begin < 0.1
        time.sleep(0.05)
        assert not first.done()
        fcntl.flock(other, fcntl.LOCK_UN)
        assert first.result(2.0)
    assert (tmp_path / "topics.tsv").read_bytes() == ENTRY[0].content


def test_cancelled_entries_are_not_written(appender: Appender, tmp_path: Path) -> None:
    with open(tmp_path / ".lock", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        appender.put(ENTRY)
        time.sleep(0.05)  # it waits for the lock
        waiting = appender.put(ENTRY)
        assert waiting.cancel()
        fcntl.flock(other, fcntl.LOCK_UN)
    assert written(appender)
    assert (tmp_path / "topics.tsv").read_bytes() == 2 * ENTRY[0].content


def test_end_writes_what_waits(tmp_path: Path) -> None:
    appender = Appender(tmp_path)
    entries = [appender.put(ENTRY) for _ in range(200)]
    appender.close()
    assert all(entry.result(0) for entry in entries)
    assert (tmp_path / "events.jsonl").read_bytes() == 200 * ENTRY[1].content
    assert not appender.put(ENTRY).result(0)


def test_several_processes_append_whole_lines(tmp_path: Path) -> None:
    appenders = [Appender(tmp_path) for _ in range(4)]  # each has the lock as a process of its own
    entries = [each.put(ENTRY) for _ in range(50) for each in appenders]
    assert all(entry.result(10) for entry in entries)
    for each in appenders:
        each.close()
    assert (tmp_path / "topics.tsv").read_bytes() == 200 * ENTRY[0].content
    assert (tmp_path / "features-x.svm").read_bytes() == ENTRY[2].header + 200 * ENTRY[2].content


def test_rotated_files_are_made_anew(appender: Appender, tmp_path: Path) -> None:
    assert written(appender)
    (tmp_path / "features-x.svm").rename(tmp_path / "features-x.svm.1")
    assert written(appender)
    for name in ("features-x.svm", "features-x.svm.1"):
        assert (tmp_path / name).read_bytes() == ENTRY[2].header + ENTRY[2].content


def test_key_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    with (
        file_limit(16),
        pytest.raises(InvalidInputError, match=r"--log: expected a folder with a key .*File too large"),
    ):
        folder_key(tmp_path / "log")
    assert list((tmp_path / "log").iterdir()) == []
    key = folder_key(tmp_path / "log")
    assert len(key) == 32
    assert folder_key(tmp_path / "log") == key
    assert (tmp_path / "log" / KEY).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("length", [0, 1, 31, 33, 65, 1000])
def test_key_of_another_length_is_refused(length: int, tmp_path: Path) -> None:
    (tmp_path / KEY).write_bytes(b"k" * length)
    with pytest.raises(InvalidInputError, match=rf"\.key: expected a key of 32 bytes, got {length} bytes\. Remove it"):
        folder_key(tmp_path)


def test_key_that_is_a_pipe_or_a_folder_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / KEY)
    with pytest.raises(InvalidInputError, match=r"expected a key of 32 bytes, got 0"):
        folder_key(tmp_path)
    (tmp_path / KEY).unlink()
    (tmp_path / KEY).mkdir()
    with pytest.raises(InvalidInputError, match=os.strerror(errno.EISDIR)):
        folder_key(tmp_path)
    with pytest.raises(InvalidInputError, match=os.strerror(errno.ENOTDIR)):
        folder_key(Path("/dev/null/log"))
