"""A hash table in one array, for looking up many ids at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rerank.types.ids import Words
from rerank.types.query_rows import Ints


def hash_slots(hashes: Words) -> NDArray[np.int32]:
    """Return an open-addressing hash table of the numbers of some hashes: a lookup reads one slot or two.

    The size is a power of two and over four times the number of hashes. A number is in the slot of its hash's leading
    bits or, if that slot is taken, in the next free one (linear probing); -1 marks a free slot. Of equal hashes, the
    lowest number comes first.
    """
    slots = np.full(1 << (4 * len(hashes)).bit_length(), -1, dtype=np.int32)
    numbers = np.arange(len(hashes))[::-1]  # NumPy keeps the last value assigned to a slot
    slot = _first_slots(hashes, slots)[::-1]
    while len(numbers):
        free = slots[slot] < 0
        slots[slot[free]] = numbers[free]
        unplaced = slots[slot] != numbers
        numbers = numbers[unplaced]
        slot = (slot[unplaced] + 1) & (len(slots) - 1)
    return slots


def find_in_slots(slots: NDArray[np.int32], hashes: Words, is_same: Callable[[Ints, Ints], NDArray[np.bool_]]) -> Ints:
    """Return the number of each hash in a table of `hash_slots`, -1 for one that is not there.

    is_same(numbers, rows) returns whether numbers of the table are those of the rows of `hashes`
    """
    slot = _first_slots(hashes, slots)
    numbers = slots[slot].astype(np.int64)
    rows = np.flatnonzero(numbers >= 0)
    while len(rows := rows[~is_same(numbers[rows], rows)]):
        slot[rows] = (slot[rows] + 1) & (len(slots) - 1)
        numbers[rows] = slots[slot[rows]]
        rows = rows[numbers[rows] >= 0]
    return numbers


def _first_slots(hashes: Words, slots: NDArray[np.int32]) -> Ints:
    return (hashes >> np.uint64(65 - len(slots).bit_length())).astype(np.int64)
