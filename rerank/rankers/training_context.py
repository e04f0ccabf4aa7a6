"""What a training is given beyond its data: callbacks, and the memory that it may take.

Memory is planned before a training begins. What is counted: memory of the process. Of memory-mapped temporary files the
system keeps as much in memory as is free; it takes that back when another program needs it, and it is not counted.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from rerank.errors import InvalidInputError, shown
from rerank.rankers.early_stopping import Callback
from rerank.runtime.memory import private_bytes
from rerank.trees.binned_data import WORKING_BYTES, Storage
from rerank.trees.columns import EXCEPTIONS, GROUP_WIDTH, MOST_CODES, WIDTH

ROW_BYTES = 176  # of a training row without its codes: scores, gradients, order, labels, the workspace of a tree
VALID_ROW_BYTES = 64  # of a validation row without its codes
FIXED_BYTES = 220_000_000  # interpreter, libraries, compiled kernels and buffers
UNITS = {
    **{"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    **{"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")


@dataclass(frozen=True)
class TrainingContext:
    """What a training is given apart from the data; only callbacks, which may stop it, have an effect on the model.

    Parameters
    ----------
    callbacks : tuple of callables
        Called after each iteration.
    memory : int or None
        Bytes that the process may take; None for no limit.
    resident : int
        Bytes that it held when `fit` was called.
    near : Ranker or None
        A ranker of the same kind that has learned from much the same data. The search for the minimum of a convex cost
        begins at its weights; up to the search's tolerance, they do not change where it ends.

    """

    callbacks: tuple[Callback, ...] = ()
    memory: int | None = None
    resident: int = 0
    near: Any = None

    @classmethod
    def of(cls, callbacks: Iterable[Callback] | None, memory: int | str | None) -> Self:
        """Return the arguments of `fit` as a context."""
        if callbacks is not None and not isinstance(callbacks, Iterable):
            raise InvalidInputError(
                f"callbacks: expected a list of functions, got {shown(callbacks)}. Pass [function]."
            )
        return cls(tuple(callbacks or ()), None if memory is None else parse_bytes(memory), private_bytes())

    def storage(self, n_rows: int, n_features: int, n_valid: int, num_leaves: int) -> Storage:
        """Return where the binned rows are stored; raises InvalidInputError if the memory is too small."""
        if self.memory is None:
            return Storage()
        columns = -(-(n_features + GROUP_WIDTH - 1) // WIDTH) * WIDTH  # at most
        histograms = num_leaves * columns * MOST_CODES * 8
        rows = n_rows * (ROW_BYTES + 2 * EXCEPTIONS * (n_features > WIDTH))
        # what is needed without the binned training rows, which may be in a file
        least = self.resident + FIXED_BYTES + histograms + rows + n_valid * (VALID_ROW_BYTES + columns)
        if least > self.memory:
            raise InvalidInputError(
                f"memory: expected at least {-(-least // 10**6)}MB for {n_rows:,} rows x {n_features:,} features "
                f"({least:,} bytes), got {self.memory:,} bytes. Raise it, or train on fewer queries."
            )
        free = self.memory - least
        return Storage(mapped=n_rows * columns > free, working_bytes=min(free + n_rows * 64, WORKING_BYTES))


ALONE = TrainingContext()  # of a ranker inside another


def parse_bytes(size: object) -> int:
    """Return a number of bytes."""
    match = _SIZE.fullmatch(str(size).strip()) if isinstance(size, str | int) and not isinstance(size, bool) else None
    if match is None or match[2].upper() not in UNITS or float(match[1]) <= 0.0:
        raise InvalidInputError(f"memory: expected a size such as 4GB, got {shown(size)}. Units: MB, GB, MiB, GiB.")
    return int(float(match[1]) * UNITS[match[2].upper()])
