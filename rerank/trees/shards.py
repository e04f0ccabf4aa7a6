"""Boosting on rows that several processes share: each holds a range of whole queries, and all grow the same trees.

The trees are those of `boost.py` on all rows, bit for bit:

histograms   sums of integers, which do not depend on their order. Each process gets the sums of its share of the
             columns, searches them, and tells the others its best split: all take the same decision.
float sums   of all gradients, and of the gradients of each leaf, go from process to process in the order of the rows,
             as one process would add them.

A process sends, for each split, the histograms of the child with the smaller hessian, without the sums that are 0.
`tests/trees/test_shards.py` compares the trees with those of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.trees.binned_scores import tree_values
from rerank.trees.boost import BoostSettings, Gradients, Sampler, StepLength, mean_of_trees
from rerank.trees.columns import GROUP_WIDTH, MOST_CODES, Columns
from rerank.trees.forest import Tree
from rerank.trees.gradients import add_sizes, gradient_scales, pack_scaled
from rerank.trees.grow import Grower, TreeLimits
from rerank.trees.leaf_values import add_leaf_sums, add_leaf_values
from rerank.trees.leafwise import add_packed, divide_leaf, pack_histograms, search_leaves, sum_root
from rerank.trees.structures import SPLIT, TreeTask
from rerank.types import Floats, Ints

WORDS = MOST_CODES // 64  # of a column's bits


class Peers(Protocol):
    """The processes that share the rows; `rank` is this one's number, in the order of the rows."""

    rank: int
    size: int

    def exchange(self, messages: Sequence[bytes | memoryview]) -> list[memoryview]:
        """Send a message to each process, and return that of each; the own one comes back."""

    def send(self, to: int, message: bytes | memoryview) -> None:
        """Send a message to one process."""

    def receive(self, source: int) -> memoryview:
        """Return the next message of one process."""


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one process, and what it needs to grow the trees of all rows.

    Parameters
    ----------
    columns : Columns
        Columns of the features, learned from all rows.
    blocks : uint8 array of shape (n_blocks, n_rows, 16)
        Binned rows of this process, in canonical order.
    query_ptr : int64 array of shape (n_queries + 1,)
        All queries, to draw them.
    first_row : int
        Number of the first row of this process among all rows; its rows are those of whole queries.
    scores : float64 array of shape (n_rows,)
        Scores of its rows under the trees so far.
    gradients : callable
        As for `Booster`, of its rows.
    settings : BoostSettings
        How the forest is grown.
    row_weights : float64 array of shape (n_rows,), optional
        As for `Booster`, of its rows.
    step_length : callable, optional
        As for `Booster`, of all rows; needed by the process of rank 0 only.
    has_step_length : bool
        Whether that process has one.
    n_done : int
        Number of trees so far.

    """

    columns: Columns
    blocks: NDArray[np.uint8]
    query_ptr: Ints
    first_row: int
    scores: Floats
    gradients: Gradients
    settings: BoostSettings
    row_weights: Floats | None = None
    step_length: StepLength | None = None
    has_step_length: bool = False
    n_done: int = 0


class ShardGrower(Grower):
    """Grows trees with other processes; parameters as for `Grower`, of the rows of this process."""

    def __init__(
        self, columns: Columns, blocks: NDArray[np.uint8], limits: TreeLimits, n_threads: int, peers: Peers
    ) -> None:
        super().__init__(columns, blocks, limits, n_threads)
        self._peers = peers
        shape = (self._work.histograms.shape[0], *self._work.histograms.shape[1:])
        self._shared = np.empty(shape, dtype=np.int64)
        self._shared_slots = np.zeros(shape[0], dtype=np.int64)
        self._filled, self._sums = np.empty((shape[1], WORDS), np.uint64), np.empty(shape[1] * MOST_CODES, np.int64)

    def grow_shared(
        self,
        weights: tuple[Floats, Floats, Floats],
        rows: NDArray[np.int32],
        features: Ints,
        newton: bool,
        sums: Floats,
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
        """Grow one tree; what is returned is as for `Grower.grow`, with the rows of this process.

        weights  gradient, hessian, and what takes the hessian's place while splits are searched, (n_rows,) float64
        rows     of this process, ascending
        sums     of |gradient| and weight over all rows
        """
        grad, hess, split_hess = weights
        scales = gradient_scales(sums)
        work, n_own = self._work, len(rows)
        work.rows[0, :n_own] = rows
        packed = work.packed[0, :n_own]
        totals = np.array([*pack_scaled(grad, split_hess, rows, *scales, packed), n_own])
        messages = self._peers.exchange([totals.tobytes()] * self._peers.size)
        total_grad, total_hess, n_rows = np.sum([np.frombuffer(each, np.int64) for each in messages], axis=0).tolist()
        units = 1.0 / scales[0], 1.0 / scales[1]
        work.start(total_grad * units[0], total_hess * units[1], n_own)
        work.totals[0]["n_rows"] = n_rows
        self._prepare(features, units)
        n_leaves = self._split_leaves(self.limits.of_splits(newton), n_rows)
        leaf_ptr = np.column_stack([work.leaves[end][:n_leaves] for end in ("first", "last")])
        self._gather_rows(n_leaves)
        leaf_sums = np.zeros((n_leaves, 3))
        self.in_order(leaf_sums, lambda sums: add_leaf_sums(grad, hess, work.rows[0], leaf_ptr, sums))
        return self._grown_tree(leaf_sums, newton), work.rows[0, :n_own], leaf_ptr

    def in_order(self, sums: Floats, add: Callable[[Floats], None]) -> None:
        """Add the rows of all processes to `sums`, in the order of the rows; `add` adds those of this process."""
        peers, last = self._peers, self._peers.size - 1
        if peers.rank > 0:
            sums[...] = np.frombuffer(peers.receive(peers.rank - 1)).reshape(sums.shape)
        add(sums)
        if peers.rank < last:
            peers.send(peers.rank + 1, sums.tobytes())
            sums[...] = np.frombuffer(peers.receive(last)).reshape(sums.shape)
        else:
            for other in range(last):
                peers.send(other, sums.tobytes())

    def _prepare(self, features: Ints, units: tuple[float, float]) -> None:
        """Set the tasks of a tree: all columns, whose rows are summed, and those of this process, which it searches."""
        peers, columns = self._peers, self.columns
        is_candidate = np.zeros(len(columns.column), dtype=np.bool_)
        is_candidate[features] = True
        groups, thread_ptr = self._column_groups(features)
        self._all = TreeTask(is_candidate, groups, thread_ptr, *units)
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
        self._own = TreeTask(is_own, own, thread_ends, *units)

    def _split_leaves(self, limits: Any, n_rows: int) -> int:
        """Grow the leaves as `grow_leaves` does; return their number."""
        work, max_leaves, least_rows = self._work, len(self._work.leaves), 2.0 * max(limits.min_child_samples, 1.0)
        self._shared_slots[0] = 0
        if max_leaves > 1 and limits.max_depth != 0 and n_rows >= least_rows:
            sum_root(self._rows, self._all, work)
            self._share(0, work.histograms[0], 0)
            self._search(limits, [0], 0, 0)
        n_leaves = 1
        while n_leaves < max_leaves:
            gains = work.splits["gain"][work.leaves["slot"][:n_leaves]]
            leaf, new = int(np.argmax(gains)), n_leaves
            if gains[leaf] <= 0.0:
                break
            n_leaves += 1
            goes_on = n_leaves < max_leaves and not 0 <= limits.max_depth <= int(work.leaves[leaf]["depth"]) + 1
            n_left = divide_leaf(self._rows, self._all, work, leaf, new, goes_on)
            if goes_on:
                self._open_children(limits, leaf, new, int(n_left), least_rows)
        return n_leaves

    def _open_children(self, limits: Any, leaf: int, new: int, n_left: int, least_rows: float) -> None:
        """Get the histograms of both children of a split, and search them."""
        work, slots = self._work, self._work.leaves["slot"]
        left, right = work.totals[slots[leaf]], work.totals[slots[new]]
        n_both = int(work.leaves[new]["last"] - work.leaves[leaf]["first"])
        sent, other = (leaf, new) if left["hess"] <= right["hess"] else (new, leaf)
        old = int(self._shared_slots[leaf])
        self._shared_slots[sent], self._shared_slots[other] = new, old
        counts = self._share(new, work.histograms[slots[sent]], n_left, n_both - n_left)
        left["n_rows"], right["n_rows"] = counts
        opened = [each for each in (leaf, new) if work.totals[slots[each]]["n_rows"] >= least_rows]
        self._search(limits, opened, old, new)

    def _share(self, slot: int, histograms: NDArray[np.int64], *counts: int) -> list[int]:
        """Sum the histograms of all processes to a slot of the shared ones, each its columns; return summed counts."""
        peers, own = self._peers, self._columns_of[self._peers.rank]
        messages: list[bytes | memoryview] = []
        for rank, columns in enumerate(self._columns_of):
            header = np.array(counts, dtype=np.int64).tobytes()
            if rank != peers.rank and len(columns):
                filled = self._filled[: len(columns)]
                n_sums = pack_histograms(histograms, columns, filled, self._sums)
                header += filled.tobytes() + self._sums[:n_sums].tobytes()
            messages.append(header)
        received = peers.exchange(messages)
        self._shared[slot, own] = histograms[own]
        n_header, n_filled = 8 * len(counts), 8 * WORDS * len(own)
        for rank, message in enumerate(received):
            if rank != peers.rank and len(own):
                filled = np.frombuffer(message[n_header : n_header + n_filled], np.uint64).reshape(-1, WORDS)
                add_packed(own, filled, np.frombuffer(message[n_header + n_filled :], np.int64), self._shared[slot])
        totals = np.sum([np.frombuffer(message[:n_header], np.int64) for message in received], axis=0)
        return [int(total) for total in totals]

    def _search(self, limits: Any, leaves: Sequence[int], old: int, new: int) -> None:
        """Find the best splits of some leaves: each process in its columns, then the best of all."""
        work, peers = self._work, self._peers
        slots = work.leaves["slot"][list(leaves)]
        shared_slots = self._shared_slots[list(leaves)]
        search_leaves(self._rows, self._own, limits, work, self._shared, slots, shared_slots, old, new)
        if not len(slots):
            return
        received = peers.exchange([work.splits[slots].tobytes()] * peers.size)
        splits = np.stack([np.frombuffer(message, SPLIT) for message in received])
        for number, slot in enumerate(slots.tolist()):
            gains, features = splits["gain"][:, number], splits["feature"][:, number]
            best = int(np.lexsort((features, -gains))[0])  # of equal gains that of the lowest feature
            work.splits[slot] = splits[best, number]

    def _gather_rows(self, n_leaves: int) -> None:
        """Copy the rows of all leaves to the first buffer."""
        work = self._work
        for record in work.leaves[:n_leaves]:
            if record["buffer"] == 1:
                rows = slice(int(record["first"]), int(record["last"]))
                work.rows[0, rows] = work.rows[1, rows]


def _columns(groups: Ints) -> Ints:
    """Return the columns of some column groups."""
    return (GROUP_WIDTH * groups[:, None] + np.arange(GROUP_WIDTH)).ravel()


class ShardBooster:
    """Grows the forest of all rows with other processes.

    Parameters
    ----------
    shard : Shard
        The rows of this process.
    peers : Peers
        All processes.
    n_threads : int
        Threads to use.

    """

    def __init__(self, shard: Shard, peers: Peers, n_threads: int) -> None:
        self.shard, self.peers, self.settings = shard, peers, shard.settings
        columns = shard.columns
        self._grower = ShardGrower(columns, shard.blocks, shard.settings.limits, n_threads, peers)
        self._sampler = Sampler(shard.settings, shard.query_ptr, columns)
        n_rows = shard.blocks.shape[1]
        self._all_rows = np.arange(n_rows, dtype=np.int32)
        self._grad, self._hess = np.empty(n_rows), np.empty(n_rows)
        self.scores = shard.scores.astype(np.float64, copy=True)
        self._n_trees = shard.n_done
        for _ in range(shard.n_done):
            self._sampler.draw()

    def add_tree(self, stop: Callable[[], bool]) -> Tree | None:
        """Grow the next tree; None where the process of rank 0 stops."""
        shard, grower = self.shard, self._grower
        shard.gradients(self.scores, self._grad, self._hess)
        weights = self._hess if shard.row_weights is None else shard.row_weights
        sums = np.array([0.0, 0.0, float(stop()) if self.peers.rank == 0 else 0.0])
        grower.in_order(sums, lambda sums: add_sizes(self._grad, weights, sums))
        if sums[2]:
            return None
        drawn, features = self._sampler.draw()
        own = slice(shard.first_row, shard.first_row + len(self._all_rows))
        rows = self._all_rows if drawn is None else self._all_rows[drawn[own]]
        of_rows, newton = (self._grad, self._hess, weights), shard.row_weights is None
        tree, ordered, leaf_ptr = grower.grow_shared(of_rows, rows, features, newton, sums[:2])
        tree.leaf_value[:] *= self._factor(tree)
        with mean_of_trees(self.scores, self._n_trees, self.settings.averaged):
            if drawn is None:
                add_leaf_values(ordered, leaf_ptr, tree.leaf_value, self.scores)
            else:
                self.scores += self._values(tree)
        self._n_trees += 1
        return tree

    def _values(self, tree: Tree) -> Floats:
        """Return the value of the leaf that each row of this process reaches."""
        return tree_values(tree, self.shard.columns, self.shard.blocks)

    def _factor(self, tree: Tree) -> float:
        """Return what the values of a new tree are multiplied by; rank 0 computes it from the scores of all rows."""
        if not self.shard.has_step_length:
            return self.settings.learning_rate
        peers, own = self.peers, np.stack([self.scores, self._values(tree)])
        if peers.rank > 0:
            peers.send(0, own.tobytes())
            return float(np.frombuffer(peers.receive(0))[0])
        others = [np.frombuffer(peers.receive(rank)).reshape(2, -1) for rank in range(1, peers.size)]
        scores, values = np.concatenate([own, *others], axis=1)
        if self.shard.step_length is None:
            raise RuntimeError("rank 0 has no step length")
        factor = self.shard.step_length(np.ascontiguousarray(scores), np.ascontiguousarray(values))
        for rank in range(1, peers.size):
            peers.send(rank, np.array([factor]).tobytes())
        return factor
