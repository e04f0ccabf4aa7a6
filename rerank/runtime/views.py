"""Read-only views of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_only_view(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only plain view: Numba then compiles one kernel for arrays in memory and for memory maps."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
