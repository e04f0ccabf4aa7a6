"""Counters of all worker processes in shared memory, and their text for Prometheus.

Each process adds to a row of its own; a restarted process goes on with the row of the one that it replaces, so that
counters never fall.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

PATHS = ("/search", "/rerank", "/models", "/metrics", "/health", "/ready", "/openapi.json", "page", "other")
CODES = ("2xx", "4xx", "429", "5xx", "503")
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


@dataclass(frozen=True)
class Metric:
    """A number that is kept: its kind, help, and the values of its labels."""

    name: str
    kind: str
    about: str
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def series(self) -> Iterator[tuple[tuple[str, str], ...]]:
        """Yield each combination of labels."""
        yield from product(*([(name, value) for value in values] for name, values in self.labels))


_BUCKETS = (*(f"{bound:g}" for bound in SECONDS), "+Inf")
HISTOGRAM = "rerank_request_seconds"
METRICS = (
    Metric("rerank_requests_total", "counter", "Answered requests.", (("path", PATHS), ("code", CODES))),
    Metric(f"{HISTOGRAM}_bucket", "histogram", "Seconds from a request's head to its answer.",
           (("path", ("/search", "/rerank")), ("le", _BUCKETS))),
    Metric(f"{HISTOGRAM}_sum", "", "", (("path", ("/search", "/rerank")),)),
    Metric(f"{HISTOGRAM}_count", "", "", (("path", ("/search", "/rerank")),)),
    Metric("rerank_refused_total", "counter", "Requests that were not computed.",
           (("reason", ("queue", "deadline", "bytes", "connections", "slow")),)),
    Metric("rerank_batches_total", "counter", "Batches of requests that went to the kernels."),
    Metric("rerank_batched_requests_total", "counter", "Requests in these batches."),
    Metric("rerank_rows_total", "counter", "Query-document pairs in these batches."),
    Metric("rerank_reloads_total", "counter", "New models.", (("result", ("taken", "refused")),)),
    Metric("rerank_waiting_requests", "gauge", "Requests that wait for the kernels."),
    Metric("rerank_connections", "gauge", "Open connections."),
    Metric("rerank_ready_workers", "gauge", "Worker processes that answer."),
    Metric("rerank_resident_bytes", "gauge", "Resident memory of the worker processes; shared pages count in each."),
)  # fmt: skip
_POSITIONS = {(metric.name, *labels): number for number, (metric, labels) in enumerate(
    (metric, labels) for metric in METRICS for labels in metric.series()
)}  # fmt: skip
_HISTOGRAMS = {  # positions of the first bucket, of the sum and of the count
    path: (
        _POSITIONS[f"{HISTOGRAM}_bucket", ("path", path), ("le", _BUCKETS[0])],
        _POSITIONS[f"{HISTOGRAM}_sum", ("path", path)],
        _POSITIONS[f"{HISTOGRAM}_count", ("path", path)],
    )
    for path in ("/search", "/rerank")
}
GAUGES = tuple(metric.name for metric in METRICS if metric.kind == "gauge")


@dataclass(eq=False)
class Counters:
    """The numbers of all processes.

    Parameters
    ----------
    path : Path, optional
        File of the shared numbers; without it they are this process's own.
    row, n_rows : int
        This process's row, and the number of processes.

    """

    path: Path | None = None
    row: int = 0
    n_rows: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        size = 8 * self.n_rows * len(_POSITIONS)
        if self.path is None:
            memory = mmap.mmap(-1, size)
        else:
            with open(self.path, "r+b") as handle:
                memory = mmap.mmap(handle.fileno(), size)
        self._values = np.frombuffer(memory, np.float64).reshape(self.n_rows, -1)

    @staticmethod
    def new_file(path: Path, n_rows: int) -> None:
        """Make the file of the shared numbers, all 0."""
        path.write_bytes(bytes(8 * n_rows * len(_POSITIONS)))

    def add(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        position = _POSITIONS[(name, *labels.items())]
        with self._lock:
            self._values[self.row, position] += amount

    def set(self, name: str, value: float) -> None:
        """Set a gauge of this process."""
        self._values[self.row, _POSITIONS[(name,)]] = value

    def gauge(self, name: str, row: int) -> float:
        """Return a gauge of one process."""
        return float(self._values[row, _POSITIONS[(name,)]])

    def clear_gauges(self, row: int) -> None:
        """Set the gauges of a process that has ended to 0."""
        for name in GAUGES:
            self._values[row, _POSITIONS[(name,)]] = 0.0

    def observe(self, path: str, seconds: float) -> None:
        """Add an answered request to the histogram of its path; `text` adds up the buckets below each bound."""
        bucket, total, count = _HISTOGRAMS[path]
        own = self._values[self.row]
        with self._lock:
            own[bucket + bisect_left(SECONDS, seconds)] += 1.0
            own[total] += seconds
            own[count] += 1.0

    def text(self) -> str:
        """Return the sums over the processes in Prometheus' text format."""
        sums = self._values.sum(axis=0)
        for bucket, _, _ in _HISTOGRAMS.values():
            sums[bucket : bucket + len(_BUCKETS)] = np.cumsum(sums[bucket : bucket + len(_BUCKETS)])
        totals = sums.tolist()
        lines = []
        for metric in METRICS:
            if metric.kind:
                name = metric.name.removesuffix("_bucket")
                lines += [f"# HELP {name} {metric.about}", f"# TYPE {name} {metric.kind}"]
            for labels in metric.series():
                value = totals[_POSITIONS[(metric.name, *labels)]]
                names = ",".join(f'{name}="{label}"' for name, label in labels)
                lines.append(f"{metric.name}{{{names}}} {value:.17g}" if names else f"{metric.name} {value:.17g}")
        return "\n".join(lines) + "\n"
