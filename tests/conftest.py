"""Fixtures for all rooms: where the real data lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections (`$RERANK_TEST_DATA` or ../shared/data); skips where it is missing."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RERANK_TEST_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set RERANK_TEST_DATA to run this test")
    return folder
