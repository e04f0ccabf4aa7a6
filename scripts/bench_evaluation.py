#!/usr/bin/env python
"""Evaluation from files in new processes: `rerank evaluate` compared with ir_measures and ranx.

Two pairs of files of 2,000 queries x 1,000 documents: one as Anserini writes it (seven-digit ids, scores with six
decimals, best first), one with ClueWeb ids, full-precision scores and rows in no order. Five measures. The files are
generated once. The figures are compared before anything is timed.

    scripts/bench_evaluation.py [--quick] [--output FIGURES.json] [--ranx-python venv-with-ranx/bin/python]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import REPEATS, arguments, machine, ratio, report, seconds

MEASURES = {"nDCG@10": "ndcg@10", "AP": "map", "RR": "mrr", "P@10": "precision@10", "R@1000": "recall@1000"}
DEPTH, RUNS = 1000, 20
BARS = {"ir_measures": 4.0, "ranx": 10.0}
RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run = Qrels.from_file(sys.argv[1], kind="trec"), Run.from_file(sys.argv[2], kind="trec")
print(json.dumps({name: float(value) for name, value in evaluate(qrels, run, sys.argv[3:]).items()}))
"""


def main() -> None:
    """Make the files, compare the figures, time the processes, report."""
    options = arguments(__doc__, "--ranx-python")
    n_queries = 400 if options.quick else 2000
    folder = Path(tempfile.gettempdir()) / "rerank-bench-evaluation" / str(n_queries)
    ratios: list[dict[str, Any]] = []
    figures: dict[str, Any] = {"machine": machine("numpy", "ir-measures", "pytrec-eval-terrier")}
    figures["machine"]["ranx"] = ranx_version(options.ranx_python)
    for kind in ("sorted", "shuffled"):
        qrels, run = files(folder, kind, n_queries)
        megabytes: dict[str, float] = {}
        jobs = {
            name: timed(name, command, megabytes) for name, command in commands(qrels, run, options.ranx_python).items()
        }
        check(kind, {name: parse(name, job()) for name, job in jobs.items()})  # the warm-up, too
        times = seconds(jobs, 3 if options.quick else REPEATS)
        work = f"{n_queries:,} x {DEPTH:,} {kind}, 5 measures"
        ours = times.pop("rerank")
        bars = {} if options.quick else BARS  # small files: the start of the process is most of the time
        ratios += [ratio(work, name, ours, theirs, bars.get(name)) for name, theirs in times.items()]
        figures |= {f"peak_megabytes_{kind}_{name}": value for name, value in megabytes.items()}
    if not options.quick:
        figures |= many_runs(folder, n_queries)
    report(ratios, figures, options.output)


def files(folder: Path, kind: str, n_queries: int) -> tuple[Path, Path]:
    """Return qrels and run, written on the first call."""
    qrels, run = folder / f"{kind}.qrels", folder / f"{kind}.run"
    if not run.exists():
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        part = run.with_suffix(".part")
        with open(qrels, "w") as judgements, open(part, "w") as ranking:
            for number in range(n_queries):
                judged, retrieved = query_lines(random, kind, number)
                judgements.write(judged)
                ranking.write(retrieved)
        part.rename(run)
    return qrels, run


def query_lines(random: np.random.Generator, kind: str, number: int) -> tuple[str, str]:
    """Return one query's lines of the qrels and of the run; 50 to 200 documents are judged, most of them retrieved."""
    pool = random.choice(8_841_823, DEPTH + 400, replace=False).tolist()
    scores = np.sort(random.gamma(2.0, 3.0, DEPTH) + 4.0)[::-1].tolist()
    if kind == "sorted":
        query, names, order = str(100_000 + 517 * number), [str(doc) for doc in pool], list(range(DEPTH))
        texts = [f"{score:.6f}" for score in scores]
    else:
        names = [f"clueweb09-en{doc % 124:04d}-{doc // 124 % 100:02d}-{doc // 12_400:05d}" for doc in pool]
        query, order = str(number + 1), random.permutation(DEPTH).tolist()
        texts = [repr(score) for score in scores]
    retrieved = "".join(f"{query} Q0 {names[row]} {row + 1} {texts[row]} bench\n" for row in order)
    n_judged = int(random.integers(50, 201))
    judged = random.choice(len(pool), n_judged, replace=False, p=_chances(len(pool))).tolist()
    labels = random.choice(4, n_judged, p=[0.7, 0.15, 0.1, 0.05]).tolist()
    lines = [f"{query} 0 {names[row]} {label}\n" for row, label in zip(judged, labels, strict=True)]
    return "".join(lines), retrieved


def _chances(n: int) -> np.ndarray:
    chances = 1.0 / (np.arange(n) + 20.0)
    return chances / chances.sum()


def commands(qrels: Path, run: Path, ranx_python: str | None) -> dict[str, list[str]]:
    """Return the command line of each peer."""
    here = Path(sys.executable).parent
    wanted = [word for measure in MEASURES for word in ("-m", measure)]
    results = {
        "rerank": [str(here / "rerank"), "-q", "evaluate", str(qrels), str(run), *wanted, "--format", "json"],
        "ir_measures": [str(here / "ir_measures"), str(qrels), str(run), *MEASURES, "-p", "9"],
    }
    if ranx_python:
        results["ranx"] = [ranx_python, "-c", RANX, str(qrels), str(run), *MEASURES.values()]
    return results


def timed(name: str, command: list[str], megabytes: dict[str, float]) -> Callable[[], str]:
    """Return a job that runs a process, returns its output and records its peak memory."""

    # As installed: pip compiles a peer's modules, and Python this package's in the first run.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def job() -> str:
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(command, stdout=output, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{' '.join(command[:3])} ...: ended with {process.returncode}")
            megabytes[name] = max(megabytes.get(name, 0.0), usage.ru_maxrss / 1024)
            output.seek(0)
            return output.read()

    return job


def parse(name: str, printed: str) -> dict[str, float]:
    """Return the figures that a peer printed, by our names of the measures."""
    if name == "rerank":
        (results,) = json.loads(printed)["runs"].values()
        return {measure: results["mean"][measure] for measure in MEASURES}
    if name == "ranx":
        results = json.loads(printed)
        return {ours: results[theirs] for ours, theirs in MEASURES.items()}
    return {measure: float(value) for measure, value in (line.split("\t") for line in printed.splitlines())}


def check(kind: str, results: dict[str, dict[str, float]]) -> None:
    """Stop if a peer's figures differ; ranx breaks ties in another way, hence its wider margin."""
    for name, margin in (("ir_measures", 1e-8), ("ranx", 1e-3)):
        for measure, value in results.get(name, {}).items():
            if abs(value - results["rerank"][measure]) > margin:
                raise SystemExit(f"{kind}: {measure} is {results['rerank'][measure]} here and {value} in {name}")


def many_runs(folder: Path, n_queries: int) -> dict[str, float]:
    """Return seconds and peak of memory of one process that compares many runs."""
    qrels, run = files(folder, "sorted", n_queries)
    links = [folder / f"run{number:02d}" for number in range(RUNS)]
    for link in links:
        if not link.exists():
            link.symlink_to(run)
    megabytes: dict[str, float] = {}
    command = [str(Path(sys.executable).parent / "rerank"), "-q", "evaluate", str(qrels), *map(str, links)]
    start = time.perf_counter()
    timed("many", command, megabytes)()
    return {
        f"seconds_comparing_{RUNS}_runs": time.perf_counter() - start,
        f"peak_megabytes_comparing_{RUNS}_runs": megabytes["many"],
    }


def ranx_version(python: str | None) -> str:
    """Return ranx's version in its own Python."""
    if python is None:
        return "left out (name its Python with --ranx-python)"
    code = "from importlib.metadata import version; print(version('ranx'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
