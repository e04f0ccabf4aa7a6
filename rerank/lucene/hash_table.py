"""A hash table of 128-bit hashes: (n_slots, 2) uint64, where zeros mark a free slot.

The number of slots is a power of two; the second word selects the slot, the first is not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.runtime.kernels import helper, kernel


@kernel()
def insert(table: Any, words: Any) -> bool:
    """Put a hash, (2,) uint64, into a table; return whether it was not there."""
    return _put(table, words)


@kernel()
def insert_all(table: Any, out: Any) -> None:
    """Put all hashes of a table into a larger one."""
    for slot in range(len(table)):
        if table[slot, 0]:
            _put(out, table[slot])


@helper()
def _put(table: Any, words: Any) -> bool:
    """Put a hash into a table; return whether it was not there."""
    mask = np.uint64(len(table) - 1)
    slot = words[1] & mask
    while table[slot, 0]:
        if table[slot, 0] == words[0] and table[slot, 1] == words[1]:
            return False
        slot = (slot + np.uint64(1)) & mask
    table[slot, 0], table[slot, 1] = words[0], words[1]
    return True
