"""Ratios to other systems that must not fall: run by who changes kernels, features, scoring or training."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks.data import generated
from benchmarks.features import default_latency
from benchmarks.registry import BenchmarkError, Options, Row, benchmark
from benchmarks.scoring import by_size, train
from benchmarks.training import trainings

STORED = Path(__file__).with_name("guard.json")  # times as fast as the peer: the least of the processors tried
SHARE = 0.9  # of a stored ratio, below which it fell
ROWS = 50_000  # of a training: few, so that all of it takes minutes
COLLECTION = "cacm"


@benchmark(
    data="generated, 50,000 x 136; cacm, where Pyserini's jnius is installed",
    peer="LightGBM, Pyserini's search",
    needs=("lightgbm",),
)
def guard(options: Options) -> Iterator[Row]:
    """Ratios of scoring, training and the default model's query to other systems; fails where one fell by a tenth.

    With `quick`, nothing is compared with the stored ratios: the work is another.
    """
    stored = json.loads(STORED.read_text("utf8"))
    ratios = {}
    for work, ratio in _ratios(options):
        ratios[work] = ratio
        yield {"work": work, "times as fast as the peer": ratio, "stored": stored[work]}
    if not options.quick:
        check(ratios, stored)


def check(ratios: Mapping[str, float], stored: Mapping[str, float]) -> None:
    """Raise BenchmarkError where a ratio is below its share of the stored one."""
    fell = [f"{work} {ratio:.3g} of {stored[work]}" for work, ratio in ratios.items() if ratio < SHARE * stored[work]]
    if fell:
        raise BenchmarkError(f"guard: expected {SHARE} of the stored ratios, got {', '.join(fell)}. Repeat it alone.")


def _ratios(options: Options) -> Iterator[tuple[str, float]]:
    """Yield each work, and how many times as fast it is as the peer, by the least times, which load disturbs least."""
    yield from _scoring(options)
    systems = ("rerank", "lightgbm")
    rows = list(trainings(replace(options, repeats=options.n_repeats(3)), systems, options.pick(ROWS, 5000)))
    yield "training", rows[1]["least"] / rows[0]["least"]
    if find_spec("jnius"):
        rows = list(default_latency(replace(options, collections=(COLLECTION,))))
        yield "query", rows[2]["ms p50"] / rows[0]["ms p50"]
        yield "query of BM25's candidates", rows[2]["ms p50"] / rows[1]["ms p50"]


def _scoring(options: Options) -> Iterator[tuple[str, float]]:
    """Yield the ratios of scoring some rows at once, on one thread."""
    from rerank.runtime.threads import kernel_threads

    X, labels, _ = generated(options.pick(20_000, 2000), 1)
    with kernel_threads(1):
        for size, times in by_size(train(X, labels, 31, options.pick(200, 10)), X, options.pick(21, 2)):
            yield f"scoring {size:,}", times["LightGBM predict"].least / times["rerank"].least
