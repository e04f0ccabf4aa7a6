"""The order in which a tree is grown where leaves are split before their turn.

`leafwise.py` splits one leaf at a time, the one whose split has the largest gain. Processes that share the rows
exchange messages for every leaf that they split, so they split several at once: the next one, and those that would
follow if no child of them had a larger gain. A split that was made too early is dropped when the tree is complete, so
that the tree is that of `leafwise.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

Waiting = tuple[float, int, "Part"]  # -gain, number of the leaf, its rows: the smallest is split next


@dataclass(eq=False, slots=True)
class Part:
    """Rows that are, or were, a leaf.

    record       its number in `Workspace.leaves`; the left child of a split keeps it
    first, last  its rows in the buffers of `Workspace`
    depth        splits from the root
    gain         of its best split; 0: none
    node         number in `Workspace.nodes` of the split that was made; negative: none
    children     of that split
    """

    record: int
    first: int
    last: int
    depth: int = 0
    gain: float = 0.0
    node: int = -1
    children: tuple[Part, Part] | None = None


class GrowthOrder:
    """Decides which leaves of a tree are split next.

    Parameters
    ----------
    root : Part
        All rows, with its gain.
    max_splits : int
        Splits of the tree at most.
    max_made : int
        Splits at most, with those that are dropped; not less than `max_splits`.

    Attributes
    ----------
    taken : list of Part
        Splits of the tree, in the order of `leafwise.py`.
    leaves : list of Part
        Leaves of the tree by number, of the splits in `taken`.

    """

    def __init__(self, root: Part, max_splits: int, max_made: int) -> None:
        self.max_splits, self._max_made, self._n_made = max_splits, max_made, 0
        self.taken: list[Part] = []
        self.leaves = [root]
        self._waiting: list[Waiting] = [(-root.gain, 0, root)] if root.gain > 0.0 else []

    def next_parts(self) -> list[Part]:
        """Return the leaves to split now, the first of which is in the tree; none: the tree is complete.

        They are the first third of those that would be split if no child had a larger gain. With more of them a tree
        takes fewer rounds, but more splits are dropped; scripts/bench_tree_stages.py counts both.
        """
        while self._waiting and len(self.taken) < self.max_splits and self._waiting[0][2].children is not None:
            _, number, part = heapq.heappop(self._waiting)
            self.taken.append(part)
            self.leaves.append(part)
            for child, its_number in _children(part, number, len(self.taken)):
                self.leaves[its_number] = child
                _wait(self._waiting, child, its_number)
        parts, waiting, n_taken = [], list(self._waiting), len(self.taken)
        while waiting and n_taken < self.max_splits:
            _, number, part = heapq.heappop(waiting)
            n_taken += 1
            if part.children is None:
                parts.append(part)
            for child, its_number in _children(part, number, n_taken):
                _wait(waiting, child, its_number)
        left = self._max_made - self._n_made - (self.max_splits - len(self.taken))  # splits that may be dropped
        parts = parts[: min(-(-len(parts) // 3), 1 + max(left, 0))]
        self._n_made += len(parts)
        return parts


def _children(part: Part, number: int, new: int) -> Iterable[tuple[Part, int]]:
    """Return the children of a split, if it was made, with the numbers of their leaves."""
    return zip(part.children or (), (number, new), strict=False)


def _wait(waiting: list[Waiting], part: Part, number: int) -> None:
    if part.gain > 0.0:
        heapq.heappush(waiting, (-part.gain, number, part))
