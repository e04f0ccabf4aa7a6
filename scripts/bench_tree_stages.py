#!/usr/bin/env python
"""Where the time of training goes: milliseconds a tree by stage, beside the least that memory allows.

Run: python scripts/bench_tree_stages.py [--rows 223531] [--trees 30] [--picture docs/images/tree-stages.png] [--quick]
     [--output FILE]
The data are those of bench_training.py, the objective LambdaRank for nDCG@10. The stages of a tree are those of
rerank/trees/shards.py with one process: the same kernels as in one call of `grow_leaves`, called one after the other,
so that each can be timed; "one call" is a tree of `grow_leaves` with the rest. Least by memory: the bytes that a stage
must read and write once, over the bandwidth of the machine, which a copy on all cores has. Splits of trees/shards.py
are made in rounds; some are dropped (trees/shards.py).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from bench_common import arguments, bandwidth, machine, report
from bench_training import generate

from rerank.metrics.registry import parse_measure
from rerank.objectives.for_measure import lambdarank_for
from rerank.rankers.arrays import data_from_arrays
from rerank.rankers.training import TrainingSet
from rerank.runtime.threads import kernel_threads
from rerank.trees import boost, shards
from rerank.trees.binned import BinnedData, bin_rows
from rerank.trees.boost import Booster, BoostSettings, BoostTask, Gradients
from rerank.trees.forest import Tree
from rerank.trees.shards import Shard

ROW, PACKED, SCORES = 4, 8, 24  # bytes of a row: its number, its packed gradient; score, gradient and hessian
STAGES = ("gradients", "packing", "histograms", "search", "partition", "leaf values")


class OneProcess:
    """The only process of a training."""

    rank, size = 0, 1

    def exchange(self, messages: Sequence[Any]) -> list[Any]:
        """Return the own message."""
        return list(messages)


class Timed:
    """Seconds and bytes of each stage: functions are replaced by ones that note both, while `on`."""

    def __init__(self, data: BinnedData, n_rows: int) -> None:
        self.clear()
        self.on = True
        codes = data.blocks.shape[0] * data.blocks.shape[2]
        self._wrap("sum_leaves", "histograms", lambda a: self._rows_of(a[2], a[3]) * (codes + ROW + PACKED))
        self._wrap("search_leaves", "search", lambda a: len(a[6]) * len(a[0].features) * 256 * 8)
        self._wrap("divide_leaves", "partition", self._partitioned)
        self._wrap("pack_scaled", "packing", lambda a: n_rows * (ROW + PACKED + 16))
        self._wrap("add_sizes", "packing", lambda a: n_rows * 16)
        self._wrap("add_leaf_sums", "leaf values", lambda a: int(np.diff(a[3]).sum()) * (ROW + 16))
        self._wrap("add_leaf_values", "leaf values", lambda a: n_rows * (ROW + 16), boost)

    def clear(self) -> None:
        """Forget what was noted."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes: dict[str, int] = defaultdict(int)
        self.calls: dict[str, int] = defaultdict(int)
        self.splits = 0

    def gradients(self, fill: Callable[..., None], n_rows: int) -> Callable[..., None]:
        """Return the gradients, timed."""
        return self._timed(fill, "gradients", lambda _: n_rows * SCORES)

    def _partitioned(self, given: Any) -> int:
        self.splits += len(given[3])
        return self._rows_of(given[2], given[3]) * (1 + 2 * (ROW + PACKED))

    @staticmethod
    def _rows_of(work: Any, leaves: np.ndarray) -> int:
        return int((work.leaves["last"][leaves] - work.leaves["first"][leaves]).sum())

    def _wrap(self, name: str, stage: str, n_bytes: Callable[[Any], int], module: ModuleType = shards) -> None:
        setattr(module, name, self._timed(getattr(module, name), stage, n_bytes))

    def _timed(self, function: Callable[..., Any], stage: str, n_bytes: Callable[[Any], int]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if not self.on:
                return function(*given)
            self.bytes[stage] += n_bytes(given)
            self.calls[stage] += 1
            start = time.perf_counter()
            answer = function(*given)
            self.seconds[stage] += time.perf_counter() - start
            return answer

        return call


def draw(of_threads: dict[int, dict[str, float]], least: dict[str, float], picture: str) -> None:
    """Draw the stages as bars, and what memory allows as marks."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.4), layout="constrained")
    height = 0.8 / len(of_threads)
    for number, (threads, stages) in enumerate(of_threads.items()):
        places = np.arange(len(STAGES)) + number * height
        label = f"{threads} thread{'s' if threads > 1 else ''}"
        axes.barh(places, [stages[stage] for stage in STAGES], height, label=label)
    for place, stage in enumerate(STAGES):
        axes.plot([least[stage]] * 2, [place - height / 2, place + 0.8 - height / 2], color="black")
    axes.plot([], [], color="black", label="least by memory")
    axes.set(xlabel="milliseconds a tree", yticks=np.arange(len(STAGES)) + 0.4 - height / 2, yticklabels=STAGES)
    axes.invert_yaxis()
    axes.grid(alpha=0.3, axis="x")
    axes.legend()
    figure.savefig(picture, dpi=110)


def training_set(n_rows: int) -> tuple[TrainingSet, Gradients, BinnedData]:
    """Return queries, the gradients of LambdaRank for nDCG@10, and binned rows."""
    X, labels, groups = generate(n_rows, 0)
    given, _ = data_from_arrays(X, labels, np.repeat(np.arange(len(groups)), groups))
    rows, measure = TrainingSet.of(given, np.zeros(n_rows)), parse_measure("nDCG@10")
    objective = lambdarank_for(measure, rows.lists, rows.weights)
    return rows, objective.gradients, bin_rows(given.X, np.arange(n_rows), 255, 1)


def grow(timed: Timed, whole: Callable[[], Tree], by_stage: Callable[[], Tree], trees: int) -> dict[str, float]:
    """Grow trees in turn, in one call and by stage; return milliseconds a tree, and rounds and splits of the latter."""
    taken, kept = {"one call": 0.0, "stages together": 0.0}, 0
    for number in range(trees + 1):
        for name, add in zip(taken, (whole, by_stage), strict=True):
            timed.on = name != "one call"
            start = time.perf_counter()
            tree = add()
            taken[name] += time.perf_counter() - start
        kept += len(tree.feature)
        if number == 0:  # it may have compiled
            timed.clear()
            taken, kept = dict.fromkeys(taken, 0.0), 0
    figures = {name: 1e3 * timed.seconds[name] / trees for name in STAGES}
    figures |= {name: 1e3 * value / trees for name, value in taken.items()}
    return {**figures, "rounds": timed.calls["partition"] / trees, "splits": timed.splits / trees, "kept": kept / trees}


def main() -> None:
    """Train with one thread and with two, by stage and in one call."""
    options = arguments(__doc__, "--rows", "--trees", "--picture")
    n_rows, trees = int(options.rows or (20_000 if options.quick else 223_531)), int(options.trees or 30)
    figures: dict[str, Any] = {"machine": machine("numba"), "rows": n_rows, "trees": trees}
    rows, gradients, data = training_set(n_rows)
    timed, settings, start = Timed(data, n_rows), BoostSettings(n_estimators=trees), np.zeros(n_rows)
    fill = timed.gradients(gradients, n_rows)
    of_threads: dict[int, dict[str, float]] = {}
    for threads in (1, 2):
        task = BoostTask(data, rows.query_ptr, start, settings)
        booster = Booster(task, gradients, task.grower(threads))
        by_stage = Shard(task, fill).booster(OneProcess(), lambda: False, threads)  # type: ignore[arg-type]
        with kernel_threads(threads):
            of_threads[threads] = grow(timed, booster.add_tree, by_stage.add_tree, trees)
        name = f"{threads} thread{'s' if threads > 1 else ''}, a tree (times in ms)"
        figures |= {f"{name}, {stage}": value for stage, value in of_threads[threads].items()}
    least = {stage: timed.bytes[stage] / trees / bandwidth() / 1e6 for stage in STAGES}
    figures |= {f"least by memory, ms a tree, {stage}": value for stage, value in least.items()}
    figures["least by memory, ms a tree"] = sum(least.values())
    if options.picture:
        draw(of_threads, least, options.picture)
    report([], figures, options.output)


if __name__ == "__main__":
    main()
