"""How much memory the training of boosted trees takes, planned before it begins.

What is counted: memory of the process. Of memory-mapped temporary files the system keeps as much in memory as is free;
it takes that back when another program needs it, and it is not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.trees.binned import WORKING_BYTES, Storage
from rerank.trees.columns import EXCEPTIONS, GROUP_WIDTH, MOST_CODES, WIDTH

ROW_BYTES = 176  # of a training row without its codes: scores, gradients, order, labels, the workspace of a tree
VALID_ROW_BYTES = 64  # of a validation row without its codes
FIXED_BYTES = 220_000_000  # interpreter, libraries, compiled kernels and buffers
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")


def parse_bytes(size: Any) -> int:
    """Return a number of bytes."""
    match = _SIZE.fullmatch(str(size).strip()) if isinstance(size, str | int) and not isinstance(size, bool) else None
    if match is None or match[2].upper() not in UNITS or float(match[1]) <= 0.0:
        raise InvalidInputError(f"memory: expected a size such as 4GB, got {shown(size)}. Units: MB, GB, MiB, GiB.")
    return int(float(match[1]) * UNITS[match[2].upper()])


@dataclass(frozen=True)
class MemoryPlan:
    """What a training takes.

    Parameters
    ----------
    n_rows, n_features : int
        Size of the training data.
    n_valid : int
        Rows of the validation data.
    num_leaves : int
        Most leaves of a tree.
    resident : int
        Bytes that the process holds before training.

    """

    n_rows: int
    n_features: int
    n_valid: int
    num_leaves: int
    resident: int

    @property
    def codes(self) -> int:
        """Bytes of the binned training rows, at most."""
        return self.n_rows * _columns(self.n_features)

    @property
    def least(self) -> int:
        """Bytes without the binned training rows, which may be in a file."""
        histograms = self.num_leaves * _columns(self.n_features) * MOST_CODES * 8
        rows = self.n_rows * (ROW_BYTES + 2 * EXCEPTIONS * (self.n_features > WIDTH))
        valid = self.n_valid * (VALID_ROW_BYTES + _columns(self.n_features))
        return self.resident + FIXED_BYTES + histograms + rows + valid

    def storage(self, memory: int | None) -> Storage:
        """Return where the binned rows go."""
        if memory is None:
            return Storage()
        if self.least > memory:
            raise InvalidInputError(
                f"memory: expected at least {_rounded(self.least)} for {self.n_rows:,} rows x {self.n_features:,} "
                f"features ({self.least:,} bytes), got {_rounded(memory, up=False)} ({memory:,} bytes). Raise it, or "
                "train on fewer queries."
            )
        free = memory - self.least
        return Storage(mapped=self.codes > free, working_bytes=min(free + self.n_rows * 64, WORKING_BYTES))


def _columns(n_features: int) -> int:
    """Return the most columns of so many features."""
    return -(-(n_features + GROUP_WIDTH - 1) // WIDTH) * WIDTH


def _rounded(n_bytes: int, up: bool = True) -> str:
    """Return a number of bytes as a size that `parse_bytes` takes, not below it (or, not `up`, not above it)."""
    n_mb = -(-n_bytes // 10**6) if up else n_bytes // 10**6
    return f"{n_mb}MB" if n_mb else f"{n_bytes}B"
