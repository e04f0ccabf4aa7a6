"""Training of boosted trees by the workers of a cluster: one long task on each, which talks to the others directly."""

from __future__ import annotations

import logging
import pickle
import queue
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np

from rerank.cluster import worker
from rerank.cluster.connect import cancelled_errors, dask_distributed
from rerank.cluster.workers import Workers
from rerank.errors import ClusterError
from rerank.trees.binned import BinnedData, tree_values
from rerank.trees.boost import BoostTask, Gradients, mean_of_trees
from rerank.trees.forest import Tree
from rerank.trees.shards import Shard
from rerank.types import Ints

POLL_SECONDS = 0.2
STEP_SECONDS = 0.02  # between two questions to the scheduler whether the tasks have ended
ARRIVAL_SECONDS = 2.0  # for trees that are on their way when a task has ended
END_SECONDS = 30.0  # for interrupted tasks to end
MOST_FAILURES = 3  # attempts in a row without a new tree and without a lost worker
log = logging.getLogger("rerank")


class ClusterBooster:
    """Grows a forest with the workers of a cluster, each of which holds some queries; see `rerank.trees.boost.Booster`.

    Where a worker is lost, the others start again after the last tree that arrived here.

    Parameters
    ----------
    cluster : Workers
        The cluster.
    task : BoostTask
        What the forest is grown from.
    gradients_of : callable
        ``gradients_of(queries, rows)`` returns what fills the gradients of consecutive queries, given as slices.
    from_first_tree : bool
        Whether a training in which a worker was lost starts again from its first tree: its gradients depend on those
        of earlier trees.

    Attributes
    ----------
    trees : list of Tree
        Trees so far.
    sent_bytes : int
        Bytes that the workers have sent to each other, when the training has ended.

    """

    def __init__(
        self,
        cluster: Workers,
        task: BoostTask,
        gradients_of: Callable[[slice, slice], Gradients],
        from_first_tree: bool = False,
    ) -> None:
        self.data, self._cluster, self._task = task.data, cluster, task
        self._gradients_of, self._from_first_tree = gradients_of, from_first_tree
        self.scores, self._n_scored = task.start_scores.astype(np.float64, copy=True), 0
        self.trees: list[Tree] = []
        self.sent_bytes = 0
        self._attempt: _Attempt | None = None
        self._failures = 0

    def add_tree(self) -> Tree:
        """Return the next tree; raise ClusterError where no worker is left."""
        while True:
            if self._attempt is None:
                self._attempt = self._start()
            tree = self._attempt.next_tree(len(self.trees))
            if tree is not None:
                self.trees.append(tree)
                self._failures = 0
                return tree
            self._end_attempt()

    def replay(self, tree: Tree, with_gradients: bool) -> None:
        """Take the next tree from an earlier training on the same data, see `Booster.replay`."""
        self.trees.append(tree)

    def close(self) -> None:
        """Stop the workers; later trees than those that were asked for are dropped."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            attempt.stop()
            self.sent_bytes += attempt.sent_bytes()

    def _end_attempt(self) -> None:
        """End an attempt in which a worker was lost."""
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return
        attempt.abort()
        if set(attempt.addresses) <= set(self._cluster.workers()):
            self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise ClusterError(
                "cluster: expected workers that reach each other, got connections that were closed or not made. Check "
                "that their machines accept connections from each other on all ports."
            )
        log.info(
            "a worker was lost: training continues after tree %d with %d others",
            len(self.trees),
            len(self._cluster.workers()),
        )

    def _start(self) -> _Attempt:
        """Start a task on each worker, with queries of about as many rows for each thread."""
        cluster = self._cluster
        threads = cluster.workers()
        cluster.check_versions()
        self._score()
        addresses = sorted(threads)[: len(self._task.query_ptr) - 1]  # each has a query
        attempt = _Attempt(cluster, addresses)
        bounds = shard_bounds(self._task.query_ptr, [threads[address] for address in addresses])
        shards = (self._shard(slice(first, last), rank) for rank, (first, last) in enumerate(pairwise(bounds)))
        attempt.start(shards)
        return attempt

    def _shard(self, queries: slice, rank: int) -> Shard:
        rows = slice(int(self._task.query_ptr[queries.start]), int(self._task.query_ptr[queries.stop]))
        task = replace(
            self._task,
            data=BinnedData(self.data.columns, np.ascontiguousarray(self.data.blocks[:, rows])),
            start_scores=self.scores[rows],
            rule=self._task.rule.part(rows),
            step_length=self._task.step_length if rank == 0 else None,
            first_row=rows.start,
            n_done=self._n_scored,
        )
        return Shard(task, self._gradients_of(queries, rows), self._task.step_length is not None)

    def _score(self) -> None:
        """Bring the scores up to date with the trees, as `Booster` does, unless training starts with the first one."""
        for tree in [] if self._from_first_tree else self.trees[self._n_scored :]:
            with mean_of_trees(self.scores, self._n_scored, self._task.settings.averaged):
                self.scores += tree_values(tree, self.data.columns, self.data.blocks)
            self._n_scored += 1


class _Attempt:
    """The tasks of one training, one on each worker, until one of them is lost."""

    def __init__(self, cluster: Workers, addresses: list[str]) -> None:
        self.addresses = addresses
        self._cluster, self._client, self._key = cluster, cluster.client, f"rerank-{uuid4().hex}"
        self._trees: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._futures: list[Any] = []

    def start(self, shards: Iterator[Shard]) -> None:
        """Submit the tasks; where a worker is lost meanwhile, `next_tree` returns None."""
        self._client.subscribe_topic(self._key, self._receive)
        secret = secrets.token_bytes(32)
        try:
            opened = self._client.run(worker.open_listener, self._key, workers=self.addresses, on_error="return")
            peers = [opened.get(address) for address in self.addresses]
            if any(isinstance(peer, BaseException | None) for peer in peers):
                return
            for rank, shard in enumerate(shards):
                packed = cloudpickle.dumps(shard)
                data = self._client.scatter(packed, workers=[self.addresses[rank]], hash=False)
                arguments = (self._key, rank, peers, secret, data)
                where = {"workers": [self.addresses[rank]], "allow_other_workers": False}
                self._futures.append(self._client.submit(worker.train_shard, *arguments, pure=False, **where))
                del data
        except (OSError, TimeoutError, KeyError) as error:
            if self._cluster.workers() and set(self.addresses) <= set(self._cluster.workers()):
                raise self._cluster.unreachable(error) from error
            self._futures = []

    def next_tree(self, number: int) -> Tree | None:
        """Return a tree by its number; None where a worker is lost. A task's own error is raised."""
        ended = None
        while True:
            with suppress(queue.Empty):
                arrived, tree = pickle.loads(self._trees.get(timeout=POLL_SECONDS))
                if arrived == number:
                    return tree  # type: ignore[no-any-return]
                continue
            if len(self._futures) < len(self.addresses):
                return None
            if any(future.status == "error" for future in self._futures):
                self._raise_errors()
                return None
            states = [future.status for future in self._futures]
            if any(state in ("cancelled", "lost") for state in states):
                return None
            if not set(self.addresses) <= set(self._cluster.workers()):
                return None
            if any(state == "finished" for state in states):  # lost peers, or trees that are on their way
                ended = ended or time.monotonic()
                if time.monotonic() - ended > ARRIVAL_SECONDS:
                    return None

    def stop(self) -> None:
        """Let the workers end after the present tree, and wait for them."""
        self._tell(worker.stop_training)
        self._wait()
        self._tell(worker.abort_training)
        self._client.unsubscribe_topic(self._key)

    def abort(self) -> None:
        """Interrupt the workers that are left."""
        self._tell(worker.abort_training)
        self._wait()
        for future in self._futures:
            with suppress(Exception):  # its worker or the scheduler may be lost, which the next call reports
                future.cancel()
        self._client.unsubscribe_topic(self._key)

    def sent_bytes(self) -> int:
        """Return the bytes that the workers have sent to each other."""
        return sum(future.result() for future in self._futures if future.status == "finished")

    def _receive(self, event: Any) -> None:
        self._trees.put(event[1])

    def _raise_errors(self) -> None:
        error = next(future for future in self._futures if future.status == "error").exception()
        if not isinstance(error, (dask_distributed().KilledWorker, *cancelled_errors())):
            raise error

    def _tell(self, function: Callable[[str], None]) -> None:
        with suppress(OSError, TimeoutError):  # of a lost worker or scheduler, which the next call reports
            alive = set(self._client.nthreads())
            addresses = [address for address in self.addresses if address in alive]
            if addresses:
                self._client.run(function, self._key, workers=addresses, on_error="ignore")

    def _wait(self) -> None:
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            with suppress(OSError, TimeoutError):  # the scheduler may answer later
                alive = set(self._client.nthreads())
                tasks = zip(self.addresses, self._futures, strict=False)
                if all(future.done() or address not in alive for address, future in tasks):
                    return
            time.sleep(STEP_SECONDS)


def shard_bounds(query_ptr: Ints, threads: Sequence[int]) -> list[int]:
    """Return the first query of each worker, and the number of queries: whole queries, about as many rows a thread."""
    n_queries, size = len(query_ptr) - 1, len(threads)
    ends = np.cumsum(threads) / sum(threads) * int(query_ptr[-1])
    bounds = [0, *np.searchsorted(query_ptr, ends[:-1]).tolist(), n_queries]
    for rank in range(1, size):
        bounds[rank] = min(max(bounds[rank], bounds[rank - 1] + 1), n_queries - (size - rank))
    return bounds
