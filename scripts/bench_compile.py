#!/usr/bin/env python
"""The first compile of the kernels: seconds that Numba's compiler takes for each, in an empty cache.

The work is what a first experiment asks for: forward arrays of an index, every family of features, LambdaMART cold, and
warm with early stopping, scores of many rows and of one. Compilation inside that of a caller counts once, for
the inner kernel.

    scripts/bench_compile.py [--output FIGURES.json]
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench_common import arguments, machine, report
from numba.core import event

N_ROWS, N_QUERIES, N_FEATURES = 6000, 100, 20  # enough rows for the kernels that use threads
SHOWN = 12


class Compiler(event.Listener):
    """Sums up the seconds of each kernel."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._open: list[list[Any]] = []

    def on_start(self, event: event.Event) -> None:
        """Note when a kernel begins to compile."""
        self._open.append([event.data["dispatcher"].py_func, time.perf_counter(), 0.0])

    def on_end(self, event: event.Event) -> None:
        """Add its time, less that of what it called."""
        function, start, inner = self._open.pop()
        took = time.perf_counter() - start
        self.seconds[f"{function.__module__}.{function.__name__}"] += took - inner
        if self._open:
            self._open[-1][2] += took


def features() -> None:
    """Build a small index and compute every feature."""
    from rerank.features.families import family_names
    from rerank.features.recipe import Recipe
    from rerank.workflows.index import Index

    words = ["ranking", "queries", "documents", "indexes", "learning", "trees", "gradients", "measures"]
    texts = [f"{first} {second} of {third}" for first in words for second in words for third in words]
    with tempfile.TemporaryDirectory() as folder:
        documents = ({"id": f"d{number}", "contents": text} for number, text in enumerate(texts))
        index = Index.build(documents, Path(folder) / "index")
        topics = {f"q{number}": text for number, text in enumerate(texts[:20])}
        index.features(index.search(topics, 50), topics, recipe=Recipe(families=family_names()))


def training() -> None:
    """Train cold and warm, and score."""
    from rerank import LambdaMART

    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    labels, qid = random.integers(0, 3, N_ROWS), np.repeat(np.arange(N_QUERIES), N_ROWS // N_QUERIES)
    model = LambdaMART(n_estimators=3).fit(X, labels, qid=qid)
    model.predict(X)
    model.predict(X[:1])
    held_out = {"eval_set": (X, labels, qid), "eval_init_score": X[:, 0]}
    LambdaMART(n_estimators=3).fit(X, labels, qid=qid, init_score=X[:, 0], **held_out)


def main() -> None:
    """Compile into an empty cache, and report."""
    given = arguments(__doc__)
    figures: dict[str, Any] = {"machine": machine("numba", "numpy")}
    jobs: dict[str, Callable[[], None]] = {"features": features, "training and scoring": training}
    kernels: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]  # before any module with kernels is imported
        for name, job in jobs.items():
            compiler = Compiler()
            with event.install_listener("numba:compile", compiler):
                job()
            figures[f"{name}, s"] = compiler.seconds.total()
            kernels += compiler.seconds
    figures["in all, s"] = kernels.total()
    figures |= {f"of it {kernel}": value for kernel, value in kernels.most_common(SHOWN)}
    report([], figures, given.output)


if __name__ == "__main__":
    main()
