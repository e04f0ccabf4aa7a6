"""Answers as JSON, which orjson writes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike


def json_bytes(content: Any) -> bytes:
    """Return a value as JSON in UTF-8; a half surrogate pair, which UTF-8 cannot hold, is written as `?`."""
    try:
        return orjson.dumps(content)
    except TypeError:  # half surrogate pairs and integers beyond 64 bits, which the standard library writes
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def check_finite(scores: ArrayLike) -> None:
    """Raise ValueError unless all scores are finite: JSON has no other numbers, and orjson would write null."""
    if not np.isfinite(scores).all():
        raise ValueError("scores: expected finite values, got others. Check the model.")
