"""Boosting on rows that several processes share: each holds a range of whole queries, and all grow the same trees.

The trees are those of `boost.py` on all rows, bit for bit:

histograms   sums of integers, which do not depend on their order. Each process gets the sums of its share of the
             columns, searches them, and tells the others its best split: all take the same decision.
float sums   of all gradients, and of the gradients of each leaf, go from process to process in the order of the rows,
             as one process would add them.

A process sends, for each split, the histograms of the child with the smaller hessian, without the sums that are 0.
Several leaves are split at once, some before their turn (`GrowthOrder`), so that a tree takes fewer
messages: the next leaf, and those that would follow if no child of them had a larger gain. A split that was made too
early is dropped when the tree is complete, so that the tree is that of `leafwise.py`, which splits one leaf at a time.
`tests/trees/test_shards.py` compares the trees with those of one process.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.trees.boost import Booster, BoostTask, Gradients, StepLength
from rerank.trees.columns import GROUP_WIDTH, MOST_CODES, Columns
from rerank.trees.constraints import SplitConstraints
from rerank.trees.forest import Tree
from rerank.trees.grow import (
    Grower,
    SplitRule,
    TreeLimits,
    add_leaf_sums,
    add_sizes,
    gradient_scales,
    pack_scaled,
)
from rerank.trees.leafwise import add_packed, divide_leaves, pack_histograms, search_leaves, sum_leaves
from rerank.trees.structures import SPLIT, SplitLimits
from rerank.types import Floats, Ints, pointers

Waiting = tuple[float, int, "Part"]  # -gain, number of the leaf, its rows: the smallest is split next


@dataclass(eq=False, slots=True)
class Part:
    """Rows that are, or were, a leaf.

    record       its number in `Workspace.leaves`; the left child of a split keeps it
    first, last  its rows in the buffers of `Workspace`
    depth        splits from the root
    gain         of its best split; 0: none
    node         number in `Workspace.nodes` of the split that was made; negative: none
    bounds       of its value, low and high
    children     of that split
    """

    record: int
    first: int
    last: int
    depth: int = 0
    gain: float = 0.0
    node: int = -1
    bounds: tuple[float, float] = (-np.inf, np.inf)
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
        takes fewer rounds, but more splits are dropped; `benchmarks tree-stages` counts both.
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


WORDS = MOST_CODES // 64  # of a column's bits
PARTS_OF_LEAVES = 4  # whose sums go from process to process one after the other
EXTRA_SPLITS = 2  # a tree of n leaves may take n / EXTRA_SPLITS splits that are dropped


class Peers(Protocol):
    """The processes that share the rows; `rank` is this one's number, in the order of the rows."""

    rank: int
    size: int

    def exchange(self, messages: Sequence[bytes | memoryview]) -> list[memoryview]:
        """Send a message to each process, and return that of each; the own one comes back.

        What is returned here and by `receive` is valid until the next message of the same process.
        """

    def send(self, to: int, message: bytes | memoryview) -> None:
        """Send a message to one process."""

    def receive(self, source: int) -> memoryview:
        """Return the next message of one process."""


@dataclass(frozen=True, eq=False)
class Shard:
    """What one process needs to grow the trees of all rows.

    Parameters
    ----------
    task : BoostTask
        As for one process, with the data, scores and rule of the rows of this one, those of whole queries; its step
        length, of all rows, is needed by the process of rank 0 only.
    gradients : callable
        As for `Booster`, of its rows.
    has_step_length : bool
        Whether the process of rank 0 has a step length.

    """

    task: BoostTask
    gradients: Gradients
    has_step_length: bool = False

    def booster(self, peers: Peers, stop: Callable[[], bool], n_threads: int) -> Booster:
        """Return what grows the forest with other processes; `add_tree` raises GrowthEndedError where rank 0 stops."""
        task = self.task
        if self.has_step_length:
            task = replace(task, step_length=partial(_shared_step_length, peers, task.step_length))
        data, limits = task.data, task.settings.limits
        grower = ShardGrower(data.columns, data.blocks, limits, n_threads, peers, stop, task.constraints)
        return Booster(task, self.gradients, grower)


def _shared_step_length(peers: Peers, step_length: StepLength | None, scores: Floats, values: Floats) -> float:
    """Return the step length of all processes, which rank 0 computes; scores and values (n_rows,) of this one."""
    own = np.stack([scores, values])
    if peers.rank > 0:
        peers.send(0, own.tobytes())
        return float(np.frombuffer(peers.receive(0))[0])
    if step_length is None:
        raise RuntimeError("rank 0 has no step length")
    others = [np.frombuffer(peers.receive(rank)).reshape(2, -1) for rank in range(1, peers.size)]
    all_scores, all_values = np.concatenate([own, *others], axis=1)
    factor = step_length(np.ascontiguousarray(all_scores), np.ascontiguousarray(all_values))
    for rank in range(1, peers.size):
        peers.send(rank, np.array([factor]).tobytes())
    return factor


class GrowthEndedError(Exception):
    """The process of rank 0 wants no further tree."""


class ShardGrower(Grower):
    """Grows trees with other processes; parameters as for `Grower`, of the rows of this process.

    stop  of rank 0: whether it wants no further tree; asked before each
    """

    def __init__(
        self,
        columns: Columns,
        blocks: NDArray[np.uint8],
        limits: TreeLimits,
        n_threads: int,
        peers: Peers,
        stop: Callable[[], bool],
        constraints: SplitConstraints | None = None,
    ) -> None:
        max_made = limits.num_leaves - 1 + limits.num_leaves // EXTRA_SPLITS
        super().__init__(columns, blocks, replace(limits, num_leaves=max_made + 1), n_threads, constraints)
        self.limits, self._peers, self._stop, self._max_made = limits, peers, stop, max_made
        self._work = self._work._replace(feature_splits=np.zeros((max_made + 1, len(columns.column)), dtype=SPLIT))
        self._packed = np.empty(0, dtype=np.int64)

    def grow(
        self, grad: Floats, hess: Floats, rows: NDArray[np.int32], features: Ints, rule: SplitRule, draw: int = 0
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
        """Grow one tree, see `Grower.grow`; rows, ascending, and what is returned are those of this process.

        Raises GrowthEndedError where the process of rank 0 stops.
        """
        weights = rule.weights(hess)
        sums = np.array([0.0, 0.0, float(self._stop()) if self._peers.rank == 0 else 0.0])
        self._in_order(sums, lambda sums, _: add_sizes(grad, weights, sums))
        if sums[2]:
            raise GrowthEndedError
        scales = gradient_scales(sums)
        work, n_own = self._work, len(rows)
        work.rows[0, :n_own] = rows
        packed = work.packed[0, :n_own]
        totals = np.array([*pack_scaled(grad, weights, rows, *scales, packed), n_own])
        messages = self._peers.exchange([totals.tobytes()] * self._peers.size)
        total_grad, total_hess, n_rows = np.sum([np.frombuffer(each, np.int64) for each in messages], axis=0).tolist()
        units = 1.0 / scales[0], 1.0 / scales[1]
        work.start(total_grad * units[0], total_hess * units[1], n_own)
        work.totals[0]["n_rows"] = n_rows
        self._prepare(features, units, draw)
        order = self._split_leaves(rule.limits(self.limits), Part(0, 0, n_own), n_rows)
        leaf_ptr = self._finish(order)
        leaf_sums = np.zeros((len(leaf_ptr), 3))
        add = partial(add_leaf_sums, grad, hess, work.rows[0])
        self._in_order(leaf_sums, lambda sums, part: add(leaf_ptr[part], sums), PARTS_OF_LEAVES)
        low, high = np.array([part.bounds for part in order.leaves]).T
        return self._grown_tree(leaf_sums, rule, low, high), work.rows[0, :n_own], leaf_ptr

    def _in_order(self, sums: Floats, add: Callable[[Floats, slice], None], n_parts: int = 1) -> None:
        """Add the rows of all processes to `sums`, in the order of the rows.

        add      ``add(sums[part], part)`` adds those of this process to a part of the sums
        n_parts  while a process adds to a part, the next one adds to the part before it
        """
        peers, last = self._peers, self._peers.size - 1
        for first, end in pairwise(len(sums) * number // n_parts for number in range(n_parts + 1)):
            part = slice(first, end)
            if peers.rank > 0:
                sums[part] = np.frombuffer(peers.receive(peers.rank - 1)).reshape(sums[part].shape)
            add(sums[part], part)
            if peers.rank < last:
                peers.send(peers.rank + 1, sums[part].tobytes())
        if peers.rank < last:
            sums[...] = np.frombuffer(peers.receive(last)).reshape(sums.shape)
        else:
            for other in range(last):
                peers.send(other, sums.tobytes())

    def _prepare(self, features: Ints, units: tuple[float, float], draw: int) -> None:
        """Set the tasks of a tree: all columns, whose rows are summed, and those of this process, which it searches."""
        peers, columns = self._peers, self.columns
        is_candidate = np.zeros(len(columns.column), dtype=np.bool_)
        is_candidate[features] = True
        groups, thread_ptr = self._column_groups(features)
        self._all = self._task(is_candidate, groups, thread_ptr, units, draw)
        n_groups = len(columns.column_ptr) // GROUP_WIDTH
        shared = columns.n_digits[features] < MOST_CODES
        work = np.bincount(
            columns.column[features] // GROUP_WIDTH, columns.bins.n_bins[features] + MOST_CODES * shared, n_groups
        )[groups]
        ends = np.searchsorted(np.cumsum(work) - work / 2, np.arange(1, peers.size) * work.sum() / peers.size)
        bounds = [0, *ends.tolist(), len(groups)]
        self._columns_of = [_columns(groups[bounds[k] : bounds[k + 1]]) for k in range(peers.size)]
        own = groups[bounds[peers.rank] : bounds[peers.rank + 1]]
        is_own = is_candidate & np.isin(columns.column // GROUP_WIDTH, own)
        thread_ends = np.linspace(0, len(own), self.n_threads + 1).astype(np.int64)
        self._own = self._task(is_own, own, thread_ends, units, draw)

    def _split_leaves(self, limits: SplitLimits, root: Part, n_rows: int) -> GrowthOrder:
        """Split leaves until the tree is complete; return its splits and leaves."""
        least_rows, max_splits = 2.0 * max(limits.min_child_samples, 1.0), self.limits.num_leaves - 1
        if max_splits > 0 and limits.max_depth != 0 and n_rows >= least_rows:
            sum_leaves(self._rows, self._all, self._work, _numbers([0]))
            self._share(_numbers([0]), _numbers([]))
            self._search(limits, (_numbers([]), _numbers([])), [root], _numbers([0, 1]))
        order, n_leaves = GrowthOrder(root, max_splits, self._max_made), 1
        while parts := order.next_parts():
            goes_on = [
                len(order.taken) + 1 < max_splits and not 0 <= limits.max_depth <= part.depth + 1 for part in parts
            ]
            children = self._divide(parts, n_leaves, limits)
            n_leaves += len(parts)
            divided = [pair for pair, each in zip(children, goes_on, strict=True) if each]
            if divided:
                self._open(limits, divided, least_rows)
        return order

    def _divide(self, parts: list[Part], first_new: int, limits: SplitLimits) -> list[tuple[Part, Part]]:
        """Make the best split of some leaves; return their children."""
        n_left = np.zeros(len(parts), dtype=np.int64)
        records = _numbers([part.record for part in parts])
        divide_leaves(self._rows, self._all, limits, self._work, records, first_new, n_left)
        for number, (part, n) in enumerate(zip(parts, n_left.tolist(), strict=True), first_new):
            part.node, middle, depth = number - 1, part.first + n, part.depth + 1
            part.children = (
                Part(part.record, part.first, middle, depth, bounds=self._bounds(part.record)),
                Part(number, middle, part.last, depth, bounds=self._bounds(number)),
            )
        return [part.children for part in parts if part.children is not None]

    def _bounds(self, record: int) -> tuple[float, float]:
        """Return the bounds of a leaf's value."""
        totals = self._work.totals[self._work.leaves["slot"][record]]
        return float(totals["low"]), float(totals["high"])

    def _open(self, limits: SplitLimits, pairs: list[tuple[Part, Part]], least_rows: float) -> None:
        """Get the histograms of the children of some splits, and search them."""
        work, children = self._work, [child for pair in pairs for child in pair]
        records = _numbers([child.record for child in children])
        slots = work.leaves["slot"][records]
        new = _numbers([right.record for _, right in pairs])  # numbers of the new slots
        sum_leaves(self._rows, self._all, work, records[np.isin(slots, new)])
        counts = self._share(new, _numbers([child.last - child.first for child in children]))
        work.totals["n_rows"][slots] = counts
        is_open = counts >= least_rows
        opened = [child for child, each in zip(children, is_open.tolist(), strict=True) if each]
        parents = slots.reshape(-1, 2).sum(axis=1) - new
        self._search(limits, (new, parents), opened, pointers(is_open.reshape(-1, 2).sum(axis=1)))

    def _share(self, slots: Ints, counts: Ints) -> Ints:
        """Sum some histograms of all processes, each in its columns; return `counts`, summed."""
        work, peers, n_counts = self._work, self._peers, len(counts)
        received = peers.exchange(self._packed_messages(slots, counts))
        own = self._columns_of[peers.rank]
        n_filled = len(slots) * len(own) * WORDS
        totals = counts.copy()
        for rank, message in enumerate(received):
            if rank == peers.rank:
                continue
            words = np.frombuffer(message, np.int64)
            totals += words[:n_counts]
            if len(own):
                filled = words[n_counts : n_counts + n_filled].view(np.uint64).reshape(-1, len(own), WORDS)
                add_packed(slots, own, filled, words[n_counts + n_filled :], work.histograms)
        return totals

    def _packed_messages(self, slots: Ints, counts: Ints) -> list[memoryview]:
        """Return what each process gets: counts, and histograms of its columns."""
        rank_columns, n_counts = self._columns_of, len(counts)
        most = sum(n_counts + len(slots) * len(columns) * (WORDS + MOST_CODES) for columns in rank_columns)
        if len(self._packed) < most:
            self._packed = np.empty(most, dtype=np.int64)
        messages, first = [], 0
        for rank, columns in enumerate(rank_columns):
            message = self._packed[first:]
            message[:n_counts] = counts
            length = n_counts
            if rank != self._peers.rank and len(columns):
                n_filled = len(slots) * len(columns) * WORDS
                filled = message[length : length + n_filled].view(np.uint64).reshape(-1, len(columns), WORDS)
                length += n_filled
                length += pack_histograms(self._work.histograms, slots, columns, filled, message[length:])
            messages.append(message[:length].view(np.uint8).data)
            first += length
        return messages

    def _search(self, limits: SplitLimits, pairs: tuple[Ints, Ints], parts: list[Part], open_ptr: Ints) -> None:
        """Find the best splits of some leaves: each process in its columns, then the best of all.

        pairs, open_ptr  as for `search_leaves`: slots that were summed, and those of their parents
        """
        work, peers = self._work, self._peers
        slots = work.leaves["slot"][[part.record for part in parts]]
        search_leaves(self._rows, self._own, limits, work, *pairs, slots, open_ptr)
        if not parts:
            return
        best, *others = (
            np.frombuffer(message, SPLIT) for message in peers.exchange([work.splits[slots].tobytes()] * peers.size)
        )
        for splits in others:  # of equal gains that of the lowest feature
            equal = (splits["gain"] == best["gain"]) & (splits["feature"] < best["feature"])
            best = np.where((splits["gain"] > best["gain"]) | equal, splits, best)
        work.splits[slots] = best
        for part, gain in zip(parts, best["gain"].tolist(), strict=True):
            part.gain = gain

    def _finish(self, order: GrowthOrder) -> Ints:
        """Bring rows and nodes into the order of the tree; return the first and last row of each leaf."""
        work, taken = self._work, order.taken
        number_of = {part: ~number for number, part in enumerate(order.leaves)}
        number_of |= {part: number for number, part in enumerate(taken)}
        nodes = work.nodes[[part.node for part in taken]]
        for number, side in enumerate(("left", "right")):
            nodes[side] = [number_of[part.children[number]] for part in taken if part.children is not None]
        work.nodes[: len(taken)] = nodes
        for part in order.leaves:
            self._gather_rows(part)
        return np.array([(part.first, part.last) for part in order.leaves], dtype=np.int64)

    def _gather_rows(self, part: Part) -> None:
        """Bring the rows of a leaf into the first buffer, ascending."""
        work, rows = self._work, slice(part.first, part.last)
        if part.children is not None:  # a split that is dropped
            for child in part.children:
                self._gather_rows(child)
            work.rows[0, rows].sort()
        elif work.leaves[part.record]["buffer"] == 1:
            work.rows[0, rows] = work.rows[1, rows]


def _columns(groups: Ints) -> Ints:
    """Return the columns of some column groups."""
    return (GROUP_WIDTH * groups[:, None] + np.arange(GROUP_WIDTH)).ravel()


def _numbers(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
