"""Trees that several processes grow together are those of one process, bit for bit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.trees.binned import BinnedData, bin_rows
from rerank.trees.boost import Booster, BoostSettings, BoostTask
from rerank.trees.constraints import SplitConstraints
from rerank.trees.forest import Forest
from rerank.trees.grow import LeastSquaresSplits, NewtonSplits, TreeLimits
from rerank.trees.leafwise import add_packed, pack_histograms
from rerank.trees.shards import GrowthEndedError, GrowthOrder, Part, Shard


class ThreadPeers:
    """Processes as threads of which one runs at a time, since kernels of several threads must not run at once."""

    def __init__(self, rank: int, queues: list[list[queue.Queue[bytes]]], lock: threading.Lock) -> None:
        self.rank, self.size, self._queues, self._lock = rank, len(queues), queues, lock

    def send(self, to: int, message: bytes | memoryview) -> None:
        self._queues[self.rank][to].put(bytes(message))

    def receive(self, source: int) -> memoryview:
        self._lock.release()
        try:
            return memoryview(self._queues[source][self.rank].get(timeout=200))
        finally:
            self._lock.acquire()

    def exchange(self, messages: Sequence[bytes | memoryview]) -> list[memoryview]:
        for to, message in enumerate(messages):
            self.send(to, message)
        return [self.receive(source) for source in range(self.size)]


def in_threads(size: int, work: Callable[[ThreadPeers], Any]) -> list[Any]:
    """Return what each of several threads returns."""
    lock, results, errors = threading.Lock(), [None] * size, []
    queues = [[queue.Queue() for _ in range(size)] for _ in range(size)]

    def run(rank: int) -> None:
        with lock:
            try:
                results[rank] = work(ThreadPeers(rank, queues, lock))
            except BaseException as error:
                errors.append(error)
                raise

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    return results


def collection(seed: int, sparse: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n_rows, n_features), some with few values, missing ones or mostly one value, and query_ptr."""
    random = np.random.default_rng(seed)
    query_ptr = np.concatenate([[0], np.cumsum(random.integers(1, 30, 90 if sparse else 40))])
    X = random.normal(size=(query_ptr[-1], 9 + sparse)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 0.5
    X[:, 3] = 1.0
    X[random.random(len(X)) < 0.3, 4] = np.nan
    X[:, 9:][random.random((len(X), sparse)) < 0.85] = 0.0
    return X, query_ptr


def targets(X: np.ndarray) -> Callable[[slice], Callable[..., None]]:
    """Return the gradients of least squares with weights, for some rows."""
    random = np.random.default_rng(9)
    labels, weights = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 4]) + random.normal(size=len(X)), random.random(len(X))

    def of(rows: slice) -> Callable[..., None]:
        def fill(scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
            grad[:] = weights[rows] * (scores - labels[rows])
            hess[:] = weights[rows]

        return fill

    return of


SETTINGS = [
    {},
    {"max_bin": 255},
    {"subsample": 0.6, "colsample_bytree": 0.5},
    {"averaged": True, "learning_rate": 1.0},
    {"extra_trees": True},
    {"limits": TreeLimits(num_leaves=9, max_depth=2, min_child_samples=40, reg_lambda=1.0)},
    {"limits": TreeLimits(num_leaves=5, min_child_samples=100_000)},
    {"limits": TreeLimits(num_leaves=2)},
]


@pytest.mark.slow("11 s: threads of which one runs at a time")
@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_shards_grow_the_trees_of_one_process(size: int, options: dict[str, Any]) -> None:
    small = {"limits": TreeLimits(num_leaves=8, min_child_samples=5)}
    settings = {name: value for name, value in options.items() if name != "max_bin"}
    check(size, BoostSettings(**{**small, **settings}), max_bin=options.get("max_bin", 20))


def test_shards_grow_the_trees_of_one_process_by_least_squares() -> None:
    check(3, BoostSettings(limits=TreeLimits(num_leaves=8)), weighted=True, max_bin=20)


def test_shards_grow_the_trees_of_one_process_on_sparse_columns() -> None:
    check(2, BoostSettings(limits=TreeLimits(num_leaves=8, min_child_samples=5)), sparse=24)


def test_shards_take_the_step_lengths_of_one_process() -> None:
    check(
        2,
        BoostSettings(limits=TreeLimits(num_leaves=8)),
        max_bin=20,
        step_length=lambda scores, values: float(values @ values),
    )


def test_shards_keep_the_constraints_of_one_process() -> None:
    constraints = SplitConstraints.of("abcdefghi", {"a": -1, "e": 1, "b": 1}, [[0, 4, 5], [1, 2, 4, 6, 7], [8]])
    check(3, BoostSettings(limits=TreeLimits(num_leaves=12, min_child_samples=5)), max_bin=20, constraints=constraints)


@pytest.mark.parametrize("min_child_samples", [1, 30])
def test_shards_split_the_categories_of_one_process(min_child_samples: int) -> None:
    limits = TreeLimits(num_leaves=12, min_child_samples=min_child_samples)
    check(3, BoostSettings(limits=limits), categories=(1, 2), n_trees=3)


def test_shards_go_on_where_others_ended() -> None:
    settings = BoostSettings(limits=TreeLimits(num_leaves=8), subsample=0.7, colsample_bytree=0.6)
    check(2, settings, n_done=2, max_bin=20)


def check(
    size: int,
    settings: BoostSettings,
    weighted: bool = False,
    sparse: int = 0,
    step_length: Any = None,
    n_done: int = 0,
    n_trees: int = 4,
    max_bin: int = 255,
    constraints: SplitConstraints | None = None,
    categories: tuple[int, ...] = (),
) -> None:
    X, query_ptr = collection(size, sparse)
    X[:, categories] = np.abs(X[:, categories])
    order, start = np.random.default_rng(1).permutation(len(X)), np.random.default_rng(2).normal(size=len(X))
    gradients = targets(X[order])
    rule = LeastSquaresSplits(np.random.default_rng(3).random(len(X))) if weighted else NewtonSplits()
    whole = slice(0, len(X))
    data = bin_rows(X, order, max_bin, 1, is_category=np.isin(np.arange(X.shape[1]), categories))
    task = BoostTask(data, query_ptr, start, settings, rule, step_length, constraints=constraints)
    local = Booster(task, gradients(whole), task.grower(1))
    scores_at = [local.scores.copy()]
    for _ in range(n_trees):
        local.add_tree()
        scores_at.append(local.scores.copy())
    columns = data.columns
    assert (len(columns.most_freq_code) > 0) == (sparse > 0)
    bounds = query_ptr[np.linspace(0, len(query_ptr) - 1, size + 1).astype(int)]

    def grow(peers: ThreadPeers) -> tuple[list[Any], np.ndarray]:
        rows = slice(int(bounds[peers.rank]), int(bounds[peers.rank + 1]))
        its_task = replace(
            task,
            data=BinnedData(columns, columns.blocks(X, order[rows], 1)),
            start_scores=scores_at[n_done][rows],
            rule=rule.part(rows),
            step_length=step_length if peers.rank == 0 else None,
            first_row=rows.start,
            n_done=n_done,
        )
        shard = Shard(its_task, gradients(rows), step_length is not None)
        booster = shard.booster(peers, lambda: len(booster.trees) == n_trees - n_done, 1)
        trees = [booster.add_tree() for _ in range(n_done, n_trees)]
        with pytest.raises(GrowthEndedError):
            booster.add_tree()
        return trees, booster.scores

    results = in_threads(size, grow)
    expected = Forest.of(local.trees[n_done:]).to_dict()
    assert bool(categories) == ("category_bits" in expected)
    assert len(expected["feature"]) >= n_trees or settings.limits.min_child_samples > len(X) or n_done
    for trees, _ in results:
        assert Forest.of(trees).to_dict() == expected
    assert np.array_equal(np.concatenate([scores for _, scores in results]), local.scores)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_packed_histograms_are_added(share: float) -> None:
    random = np.random.default_rng(0)
    histograms = random.integers(-(2**62), 2**62, (3, 8, 256)) * (random.random((3, 8, 256)) < share)
    slots, columns = np.array([0, 2]), np.array([1, 2, 6])
    filled, sums = np.empty((2, 3, 4), np.uint64), np.empty(2 * 3 * 256, np.int64)
    n_sums = pack_histograms(histograms, slots, columns, filled, sums)
    some = np.ix_(slots, columns)
    assert n_sums == np.count_nonzero(histograms[some])
    out = np.ones((3, 8, 256), np.int64)
    add_packed(slots, columns, filled, sums[:n_sums], out)
    expected = np.ones((3, 8, 256), np.int64)
    expected[some] += histograms[some]
    assert np.array_equal(out, expected)


def tree_of_gains(seed: int, levels: int, n_values: int) -> dict[str, float]:
    """Return the gain of each leaf that splitting could reach, by its path; children may gain more than parents."""
    random = np.random.default_rng(seed)
    paths = [""]
    for _ in range(levels):
        paths += [path + side for path in paths if len(path) == len(paths[-1]) for side in "lr"]
    return {path: float(random.integers(0, n_values)) * 0.9 ** len(path) for path in paths}


def greedy(gains: dict[str, float], max_splits: int) -> tuple[list[str], list[str]]:
    """Return the splits and the leaves, by path, where the leaf of the largest gain is split, the first of equals."""
    taken, leaves = [], [""]
    while len(taken) < max_splits:
        best = max(range(len(leaves)), key=lambda number: (gains.get(leaves[number], 0.0), -number))
        path = leaves[best]
        if gains.get(path, 0.0) <= 0.0:
            break
        taken.append(path)
        leaves[best] = path + "l"
        leaves.append(path + "r")
    return taken, leaves


def grown(gains: dict[str, float], max_splits: int, max_made: int) -> tuple[list[str], list[str], list[int]]:
    """Return the splits and leaves of a `GrowthOrder`, and how many splits it asks for each time."""
    root = Part(0, 0, 0, gain=gains[""])
    path_of, order, asked = {root: ""}, GrowthOrder(root, max_splits, max_made), []
    while parts := order.next_parts():
        asked.append(len(parts))
        for part in parts:
            children = Part(0, 0, 0), Part(0, 0, 0)
            for side, child in zip("lr", children, strict=True):
                path_of[child] = path_of[part] + side
                child.gain = gains.get(path_of[child], 0.0)
            assert part.children is None
            part.children = children
    return [path_of[part] for part in order.taken], [path_of[part] for part in order.leaves], asked


@given(st.integers(0, 10_000), st.integers(0, 20), st.integers(0, 12), st.sampled_from([2, 5, 10_000]))
def test_growth_order_is_that_of_one_split_at_a_time(seed: int, max_splits: int, extra: int, n_values: int) -> None:
    gains = tree_of_gains(seed, 6, n_values)
    taken, leaves, asked = grown(gains, max_splits, max_splits + extra)
    assert (taken, leaves) == greedy(gains, max_splits)
    assert len(taken) <= sum(asked) <= max_splits + extra


def test_growth_order_asks_for_several_splits_at_once() -> None:
    _, _, asked = grown(tree_of_gains(0, 8, 10_000), 30, 45)
    assert 30 < sum(asked) <= 45  # some are dropped
    assert len(asked) <= 15


@pytest.mark.parametrize("max_splits", [1, 7])
def test_growth_order_asks_for_one_split_at_a_time_when_none_may_be_dropped(max_splits: int) -> None:
    _, _, asked = grown(tree_of_gains(0, 6, 10_000), max_splits, max_splits)
    assert asked == [1] * max_splits
