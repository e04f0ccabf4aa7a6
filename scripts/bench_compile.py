#!/usr/bin/env python
"""The first compile of the kernels: of commands with an empty cache, and of each kernel.

`rerank compile` uses all cores, and is timed as it is called. So are `train`, `rerank` and `experiment` of a small
collection, with an empty cache and once more: the difference is what compiles. The seconds of each kernel are those
that Numba's compiler takes in one process, one after the other, for what a first experiment asks for: forward arrays of
an index, every family of features, LambdaMART cold, and warm with early stopping, scores of many rows and of one.
Compilation inside that of a caller counts once, for the inner kernel.

    scripts/bench_compile.py [--quick] [--output FIGURES.json]     (quick: `rerank compile` once, not five times)
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench_common import REPEATS, arguments, machine, report, seconds
from numba.core import event

N_ROWS, N_QUERIES, N_FEATURES = 6000, 100, 20  # enough rows for the kernels that use threads
SHOWN = 12
OF_BM25 = ("--candidates", "bm25", "--base", "run")


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
    from rerank.features.recipe import Recipe
    from rerank.features.registry import index_family_names
    from rerank.workflows.index import Index

    words = ["ranking", "queries", "documents", "indexes", "learning", "trees", "gradients", "measures"]
    texts = [f"{first} {second} of {third}" for first in words for second in words for third in words]
    with tempfile.TemporaryDirectory() as folder:
        documents = ({"id": f"d{number}", "contents": text} for number, text in enumerate(texts))
        index = Index.build(documents, Path(folder) / "index", vectors=False)
        topics = {f"q{number}": text for number, text in enumerate(texts[:20])}
        index.features(index.search(topics, 50), topics, recipe=Recipe(families=index_family_names()))


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


def call_verb() -> None:
    """Call `rerank compile` with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        call(cache, "compile")


def call(cache: str, *arguments: str | Path) -> float:
    """Call a command with a cache; return its seconds."""
    command = [sys.executable, "-m", "rerank", "--quiet", *map(str, arguments)]
    start = time.perf_counter()
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def first_use() -> dict[str, float]:
    """Return the seconds that the first call of each command takes longer than the second."""
    random, figures = np.random.default_rng(0), {}
    words = [f"word{number}" for number in range(200)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = [" ".join(random.choice(words, 30)) for _ in range(500)]
        documents = [json.dumps({"id": f"d{number}", "contents": text}) for number, text in enumerate(texts)]
        topics = [f"q{number}\t{' '.join(random.choice(words, 3))}" for number in range(60)]
        qrels = [f"q{query} 0 d{doc} {doc % 3}" for query in range(60) for doc in random.choice(500, 40, replace=False)]
        files = {"docs.jsonl": documents, "topics.tsv": topics, "qrels.txt": qrels}
        for name, lines in files.items():
            (folder / name).write_text("\n".join(lines) + "\n")
        data, judged, index = folder / "data.npz", (folder / "topics.tsv", folder / "qrels.txt"), folder / "index"
        run, model = folder / "bm25.run", folder / "model.json"
        prepared = str(folder / "cache")
        call(prepared, "index", folder / "docs.jsonl", "-o", index)
        call(prepared, "retrieve", index, judged[0], "-o", run)
        call(prepared, "features", index, judged[0], run, "--qrels", judged[1], "-o", data)
        verbs = {
            "train": ("train", data, "-o", model),
            "rerank": ("rerank", index, model, judged[0], "-o", folder / "better.run"),
            "experiment": ("experiment", index, *judged, *OF_BM25, "-o", folder / "study"),
        }
        for name, arguments in verbs.items():
            first = call(str(folder / name), *arguments)
            shutil.rmtree(folder / "study", ignore_errors=True)
            figures[f"first {name}, s more than the second"] = first - call(str(folder / name), *arguments)
    return figures


def main() -> None:
    """Compile into empty caches, and report."""
    options = arguments(__doc__)
    figures: dict[str, Any] = {"machine": machine("numba", "numpy")}
    figures["rerank compile, s"] = seconds({"verb": call_verb}, 1 if options.quick else REPEATS)["verb"]
    figures |= first_use()
    jobs: dict[str, Callable[[], None]] = {"features": features, "training and scoring": training}
    kernels: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]  # before any module with kernels is imported
        for name, job in jobs.items():
            compiler = Compiler()
            with event.install_listener("numba:compile", compiler):
                job()
            figures[f"{name}, one process, s"] = compiler.seconds.total()
            kernels += compiler.seconds
    figures["in all, one process, s"] = kernels.total()
    figures |= {f"of it {kernel}": value for kernel, value in kernels.most_common(SHOWN)}
    report([], figures, options.output)


if __name__ == "__main__":
    main()
