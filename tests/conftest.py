"""Fixtures for all rooms: where the real data lie."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Hear Ctrl-C even where a shell's `&` has us ignore it: what the tests start would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections (`$RERANK_TEST_DATA` or ../shared/data); skips where it is missing."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RERANK_TEST_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set RERANK_TEST_DATA to run this test")
    return folder
