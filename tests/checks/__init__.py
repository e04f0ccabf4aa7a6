"""Checks that are run by command, as `python -m tests.checks.kills`: they take long, or need other packages."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
