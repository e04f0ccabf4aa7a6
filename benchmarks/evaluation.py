"""Evaluation from files, and swaps of measures."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.measuring import Times, Usage, compared, run_command, run_verb, timed, times_in_turns
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

MEASURES = {"nDCG@10": "ndcg@10", "AP": "map", "RR": "mrr", "P@10": "precision@10", "R@1000": "recall@1000"}
DEPTH, RUNS = 1000, 20
RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
print(json.dumps({name: float(value) for name, value in evaluate(qrels, run, sys.argv[3:]).items()}))
"""
SWAPPED, TRUNCATION = ("AP", "RR", "ERR", "nERR", "AUC", "PairAccuracy"), 30


@benchmark(
    data="generated, 2,000 queries x 1,000 documents: sorted as Anserini writes it; ClueWeb ids in no order",
    peer="ir_measures; ranx where it is installed",
    needs=("ir_measures",),
)
def evaluation(options: Options) -> Iterator[Row]:
    """Milliseconds and memory of `rerank evaluate` as a process, five measures; the figures must be the peers'."""
    from importlib.util import find_spec

    n_queries = options.pick(2000, 100)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind in ("sorted", "shuffled"):
            qrels, run = write_files(Path(folder), kind, n_queries)
            commands: dict[str, Callable[[], Usage]] = {
                "rerank": partial(run_verb, "evaluate", qrels, run, *_wanted("-m"), "--format", "json"),
                "ir_measures": partial(
                    run_command, sys.executable, "-m", "ir_measures", qrels, run, *MEASURES, "-p", "9"
                ),
            }
            if find_spec("ranx") and not options.quick:  # it compiles for half a minute at each start
                commands["ranx"] = partial(run_command, sys.executable, "-c", RANX, qrels, run, *MEASURES.values())
            _check({name: _parsed(name, command().result) for name, command in commands.items()})
            usages = {name: [command() for _ in range(options.n_repeats())] for name, command in commands.items()}
            times = {name: _times([usage.seconds for usage in each]) for name, each in usages.items()}
            yield from compared(f"{n_queries:,} x {DEPTH:,}, {kind}", times)
            for name, each in usages.items():
                yield {"rows": kind, "process": name, "peak MB": max(usage.resident for usage in each)}
        links = [Path(folder) / f"run{number:02d}" for number in range(RUNS)]
        for link in links:
            link.symlink_to(Path(folder) / "sorted.run")
        yield run_verb("evaluate", Path(folder) / "sorted.qrels", *links).row(f"comparing {RUNS} runs")


def _wanted(option: str) -> list[str]:
    return [word for measure in MEASURES for word in (option, measure)]


def _times(seconds: list[float]) -> Times:
    return Times(float(np.median(seconds)), min(seconds), max(seconds))


def write_files(folder: Path, kind: str, n_queries: int) -> tuple[Path, Path]:
    """Write qrels and run: seven-digit ids, six decimals, best first; or ClueWeb ids, full precision, in no order."""
    random, paths = np.random.default_rng(0), (folder / f"{kind}.qrels", folder / f"{kind}.run")
    with open(paths[0], "w") as qrels, open(paths[1], "w") as run:
        for number in range(n_queries):
            judged, retrieved = _query_lines(random, kind, number)
            qrels.write(judged)
            run.write(retrieved)
    return paths


def _query_lines(random: np.random.Generator, kind: str, number: int) -> tuple[str, str]:
    """Return one query's lines of qrels and run; 50 to 200 documents are judged, most of them retrieved."""
    pool = random.choice(8_841_823, DEPTH + 400, replace=False).tolist()
    scores = np.sort(random.gamma(2.0, 3.0, DEPTH) + 4.0)[::-1].tolist()
    if kind == "sorted":
        query, names, order = str(100_000 + 517 * number), [str(doc) for doc in pool], list(range(DEPTH))
        shown = [f"{score:.6f}" for score in scores]
    else:
        names = [f"clueweb09-en{doc % 124:04d}-{doc // 124 % 100:02d}-{doc // 12_400:05d}" for doc in pool]
        query, order, shown = str(number + 1), random.permutation(DEPTH).tolist(), [repr(score) for score in scores]
    retrieved = "".join(f"{query} Q0 {names[row]} {row + 1} {shown[row]} bench\n" for row in order)
    chances = 1.0 / (np.arange(len(pool)) + 20.0)
    n_judged = int(random.integers(50, 201))
    rows = random.choice(len(pool), n_judged, replace=False, p=chances / chances.sum()).tolist()
    labels = random.choice(4, n_judged, p=[0.7, 0.15, 0.1, 0.05]).tolist()
    return "".join(f"{query} 0 {names[row]} {label}\n" for row, label in zip(rows, labels, strict=True)), retrieved


def _parsed(name: str, printed: str) -> dict[str, float]:
    """Return the figures that a system printed, by the names of ir_measures."""
    if name == "rerank":
        (results,) = json.loads(printed)["runs"].values()
        return {measure: results["mean"][measure] for measure in MEASURES}
    if name == "ranx":
        results = json.loads(printed)
        return {ours: results[theirs] for ours, theirs in MEASURES.items()}
    return {measure: float(value) for measure, value in (line.split("\t") for line in printed.splitlines())}


def _check(results: dict[str, dict[str, float]]) -> None:
    """Raise an error if the figures of a peer differ; ranx breaks ties in another way, hence its wider margin."""
    for name, margin in (("ir_measures", 1e-8), ("ranx", 1e-3)):
        for measure, value in results.get(name, {}).items():
            if abs(value - results["rerank"][measure]) > margin:
                raise BenchmarkError(f"{measure} is {results['rerank'][measure]} here and {value} by {name}")


@benchmark(data="one generated list of 1,000 documents, a tenth relevant")
def swaps(options: Options) -> Iterator[Row]:
    """Milliseconds of |delta M| of all swaps of a list and of its first 30 rows, by formula and by evaluating again."""
    from rerank.metrics.recomputed import fill_by_recomputing
    from rerank.metrics.registry import parse_measure
    from rerank.runtime.threads import kernel_threads

    with kernel_threads(1):
        for name, n_rows in product(SWAPPED, (1000, TRUNCATION)):
            job = _filling(parse_measure(name).fill_swap_deltas, 1000, n_rows)
            job()
            seconds = times_in_turns({"": job}, options.n_repeats())[""].median
            yield {"measure": name, "documents": 1000, "rows": n_rows, "how": "formula", "ms": 1e3 * seconds}
        for measure, n_docs in product((parse_measure("AP"), parse_measure(reciprocal_rank)), (100, 1000)):
            seconds = timed(_filling(partial(fill_by_recomputing, measure.scores), n_docs, TRUNCATION))
            row = {"measure": measure.name, "documents": n_docs, "rows": TRUNCATION}
            yield {**row, "how": "evaluating again", "ms": 1e3 * seconds}


def reciprocal_rank(ranked_labels: np.ndarray, ideal_labels: np.ndarray) -> float:
    """A measure of a user."""
    relevant = np.flatnonzero(ranked_labels > 0)
    return 1.0 / (relevant[0] + 1) if len(relevant) else 0.0


def _filling(fill: Callable[..., None], n_docs: int, n_rows: int) -> Callable[[], None]:
    """Return a job that fills the first rows of the block of swaps of one list."""
    from rerank.metrics.ranked_lists import RankedLists
    from rerank.types import pointers

    random = np.random.default_rng(0)
    labels = np.where(random.random(n_docs) < 0.1, random.integers(1, 5, n_docs), 0).astype(np.float64)
    ideal = np.sort(labels[labels > 0])[::-1]
    lists, out_ptr = RankedLists(labels, pointers([n_docs]), ideal, pointers([len(ideal)])), pointers([n_rows * n_docs])
    return partial(fill, lists, np.empty(out_ptr[-1]), out_ptr)
