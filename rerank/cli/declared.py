"""Rankers, objectives, measures, fusion methods and sources that help texts name, read without importing them.

`scripts/write_declared.py` writes it to `declared.json` from the declarations; a test compares the two.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def declared() -> dict[str, Any]:
    """Return `measures`, `objectives`, `methods`, `norms`, `sources` (names), `rankers` (parameters by name)."""
    contents: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text("utf8"))
    return contents
