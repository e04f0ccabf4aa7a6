"""The memory of this process."""

from __future__ import annotations

import os
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_bytes() -> float:
    """Return the resident memory in bytes, 0 where the system does not tell."""
    try:
        return float(int(_STATM.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return 0.0
