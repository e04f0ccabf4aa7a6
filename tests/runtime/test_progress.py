from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from rerank.runtime.progress import progress_bar, show_progress, track

SHORT = 0.02  # seconds between lines


@pytest.fixture(autouse=True)
def _messages(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rerank")


def slow(number: int) -> Iterator[int]:
    for step in range(number):
        time.sleep(3 * SHORT)
        yield step


def test_progress_is_silent_in_a_library(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(track(slow(3), "steps")) == [0, 1, 2]
    with progress_bar("steps", 3) as advance:
        assert advance is None
    assert (caplog.messages, capfd.readouterr()) == ([], ("", ""))


def test_progress_off_a_terminal_is_lines_at_intervals_and_one_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    with show_progress(interval=SHORT):
        assert list(track(slow(3), "steps", 3)) == [0, 1, 2]
    *during, end = caplog.messages
    assert len(during) >= 2
    assert all(re.fullmatch(r"steps: [0-3] of 3 so far, \d+ s", line) for line in during)
    assert re.fullmatch(r"steps: 3 of 3 finished, \d+ s", end)


def test_progress_counts_steps_of_known_number_without_a_total(caplog: pytest.LogCaptureFixture) -> None:
    with show_progress(interval=SHORT):
        for _ in track([1, 2], "steps"):
            time.sleep(3 * SHORT)
    assert caplog.messages[-1].startswith("steps: 2 of 2 finished")


def test_progress_without_a_total_and_with_thousands(caplog: pytest.LogCaptureFixture) -> None:
    with show_progress(interval=SHORT), progress_bar("documents", None) as advance:
        assert advance is not None
        advance(12_000)
        time.sleep(3 * SHORT)
    assert caplog.messages[-1].startswith("documents: 12,000 finished")


def test_progress_of_a_short_loop_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    with show_progress():
        assert list(track(range(5), "steps")) == list(range(5))
    assert caplog.messages == []


def test_progress_of_a_loop_that_is_left_does_not_say_finished(caplog: pytest.LogCaptureFixture) -> None:
    with show_progress(interval=SHORT):
        for _ in islice(track(count(), "steps"), 3):
            time.sleep(3 * SHORT)
    assert any("so far" in line for line in caplog.messages)
    assert not any("finished" in line for line in caplog.messages)


@pytest.mark.parametrize("quiet", [False, True])
def test_command_logs_progress_unless_quiet(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import rerank.cli.main as main

    lines = "".join(f'{{"id": "{number}", "title": "heat"}}\n' for number in range(2_000))
    (tmp_path / "docs.jsonl").write_text(lines)
    monkeypatch.setattr(main, "show_progress", lambda shown: show_progress(shown, interval=1e-4))
    options = ["-q"] if quiet else []
    assert main.run([*options, "index", str(tmp_path / "docs.jsonl"), "-o", str(tmp_path / "index")]) == 0
    assert ("reading documents: " in capfd.readouterr().err) == (not quiet)
