"""How benchmarks measure: times of jobs in turns, processes of their own, qualities of scores, intervals."""

from __future__ import annotations

import logging
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rerank
from benchmarks.registry import ROOT, BenchmarkError, Row

MEASURE = "nDCG@10"
FOLDS = 5


def warm_up() -> None:
    """Compile or load the kernels of a training, before the clock starts."""
    X = np.random.default_rng(0).normal(size=(400, 8)).astype(np.float32)
    rerank.LambdaMART(n_estimators=2).fit(X, X[:, 0] > 0, qid=np.repeat(np.arange(20), 20)).predict(X)


class Times(NamedTuple):
    """Seconds of one job: median, least and greatest of its runs."""

    median: float
    least: float
    greatest: float


def timed(job: Callable[[], Any]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def times_in_turns(
    jobs: Mapping[str, Callable[[], Any]], repeats: int, before: Callable[[], Any] | None = None
) -> dict[str, Times]:
    """Return the times of each job; jobs take turns, so that what disturbs one disturbs the others.

    `before` is called, untimed, before each job: no job then pays for another's garbage.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            if before is not None:
                before()
            seconds[name].append(timed(job))
    return {name: Times(statistics.median(each), min(each), max(each)) for name, each in seconds.items()}


def compared(work: str, times: Mapping[str, Times], per: float = 1.0) -> Iterator[Row]:
    """Yield a row for the first job, which is this package's, and for each peer: milliseconds and their ratio to it.

    `per` is the number of units that a job does.
    """
    first = next(iter(times.values()))
    for name, each in times.items():
        median, least, greatest = (1e3 * seconds / per for seconds in each)
        row = {"work": work, "system": name, "ms": median, "least": least, "greatest": greatest}
        yield {**row, "times the first": each.median / first.median}


def percentiles(what: str, seconds: Sequence[float]) -> Row:
    """Return the row of a job's median and 99th percentile in milliseconds."""
    middle, high = np.percentile(seconds, [50, 99]) * 1e3
    return {"work": what, "queries": len(seconds), "ms p50": middle, "ms p99": high}


@dataclass(frozen=True)
class Usage:
    """What a process took: its result or output, seconds, processor seconds, and peaks of memory in MB."""

    result: Any
    seconds: float
    processor: float
    resident: float
    anonymous: float = 0.0

    def row(self, work: str) -> Row:
        """Return the row of some work."""
        return {"work": work, "s": self.seconds, "processor s": self.processor, "peak MB": self.resident}


def run_command(*words: str | Path, folder: Path | None = None, **environment: str) -> Usage:
    """Run a command to its end, and return its output and what the system says that it took."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"PYTHONPATH": str(ROOT), **environment}
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(word) for word in words], cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchmarkError(f"{' '.join(map(str, words[:5]))} ...: ended with {process.returncode}")
    seconds = time.perf_counter() - start
    return Usage(output, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_verb(*words: str | Path, folder: Path | None = None, **environment: str) -> Usage:
    """Run a verb of `rerank` in a process of its own."""
    return run_command(sys.executable, "-m", "rerank", "-q", *words, folder=folder, **environment)


def in_process(function: Callable[..., Any], *arguments: Any) -> Usage:
    """Call a function of a module in a new process, and look at its memory 50 times a second."""
    receiver, sender = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=_send, args=(sender, function, arguments))
    process.start()
    sender.close()
    start, anonymous = time.perf_counter(), 0.0
    try:
        while not receiver.poll(0.02):
            anonymous = max(anonymous, memory("RssAnon", process.pid))
        result, processor, resident = receiver.recv()
    except EOFError as error:
        raise BenchmarkError(f"{function.__name__}: its process ended without a result") from error
    seconds = time.perf_counter() - start
    process.join()
    return Usage(result, seconds, processor, resident, anonymous)


def _send(sender: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    logging.getLogger("rerank").setLevel(logging.ERROR)
    result = function(*arguments)
    sender.send((result, time.process_time(), memory("VmHWM")))
    sender.close()


def memory(name: str, process: int | None = None) -> float:
    """Return MB by their name in /proc/PID/status, 0 where the system has none or the process has ended."""
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), 0.0)


def forget_peak() -> float:
    """Let the peak of this process's memory begin anew; return the MB that are resident now."""
    file = Path("/proc/self/clear_refs")
    if file.exists():
        file.write_text("5")
    return memory("VmRSS")


@contextmanager
def anonymous_peak() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the MB of memory, mapped files left out, that came in the block."""
    stop, before = threading.Event(), memory("RssAnon")
    most = [before]

    def watch() -> None:
        while not stop.wait(0.005):
            most.append(memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: max(most) - before
    finally:
        stop.set()
        watcher.join()


def folds(n: int, seed: int, n_folds: int = FOLDS) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the numbers of the queries that train and of those that are held out, for each fold."""
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    for number in range(n_folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


def values_of(data: rerank.RankingData, scores: np.ndarray, measure: str = MEASURE) -> np.ndarray:
    """Return the measure of each query by scores of its rows, ties as trec_eval breaks them."""
    from rerank.metrics.registry import parse_measure
    from rerank.training.cross_validation import query_values

    return query_values(data, np.asarray(scores, dtype=np.float64), parse_measure(measure))


def mean_of(data: rerank.RankingData, scores: np.ndarray, measure: str = MEASURE) -> float:
    """Return the mean of the measure over the queries."""
    return float(values_of(data, scores, measure).mean())


def values_of_run(qrels: Any, run: Any, measure: str = MEASURE) -> np.ndarray:
    """Return the measure of each judged query by a run, 0 where the run does not have it."""
    values = rerank.evaluate(qrels, run, [measure], complete=True).per_query[measure]
    return np.array([values[query_id] for query_id in qrels])


def mean_of_run(qrels: Any, run: Any, measure: str = MEASURE) -> float:
    """Return the mean of the measure over the judged queries."""
    return float(values_of_run(qrels, run, measure).mean())


def held_out_values(data: rerank.RankingData, make: Callable[[], Any], seed: int, measure: str = MEASURE) -> np.ndarray:
    """Return the measure of each query by models of the other folds; `make` returns a ranker."""
    out = np.empty(len(data))
    for train, test in folds(len(data), seed):
        part = data.select(test)
        out[test] = values_of(part, make().fit(data.select(train)).predict(part), measure)
    return out


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean over queries."""
    from rerank.evaluation.significance import bootstrap_intervals

    low, high = bootstrap_intervals(np.asarray(differences, dtype=np.float64)[:, None])
    return float(low[0]), float(high[0])


def against(values: np.ndarray, reference: np.ndarray) -> Row:
    """Return the columns of a mean over queries, and of its difference from a reference with its interval."""
    low, high = interval(values - reference)
    return {MEASURE: float(values.mean()), "difference": float((values - reference).mean()), "from": low, "to": high}


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure of Matplotlib."""
    figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
