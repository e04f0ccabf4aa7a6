"""Functions of all benchmarks: arguments, the machine, medians of jobs run alternately, the table of ratios, JSON.

The machine is described by its processor, its memory bandwidth and the time of a fixed reference kernel, so that
figures of two machines can be told apart. Each figure is printed as it comes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from tabulate import tabulate

REPEATS = 5
COPIED = 1 << 27  # bytes of each thread: more than caches hold
REFERENCE_CODES = 20_000_000
SAME = {"xgboost": ("xgboost", "xgboost-cpu")}  # distributions of a package under other names
_spreads: dict[str, tuple[float, float]] = {}


def arguments(description: str | None, *options: str) -> argparse.Namespace:
    """Return the arguments that every benchmark takes; `options` are further ones that take a value."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small data, under a minute in all")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    for option in options:
        parser.add_argument(option)
    return parser.parse_args()


def needs(*packages: str) -> dict[str, str]:
    """Return the versions of packages; end the script where one is missing: before it has run for minutes."""
    found = {name: _version(name) for name in packages}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        raise SystemExit(f"needed: {', '.join(packages)}; missing: {', '.join(missing)}. Run pip install with them.")
    return {name: str(number) for name, number in found.items()}


def _version(name: str) -> str | None:
    """Return the version of a distribution, None where it is not installed."""
    for distribution in SAME.get(name, (name,)):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None


@cache
def machine(*packages: str) -> dict[str, str]:
    """Return the processor, its cores, its speed, and the versions of Python and of packages; print them."""
    about = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory bandwidth": f"{bandwidth():.1f} GB/s",
        "reference kernel": f"{reference_seconds() * 1e3:.1f} ms",
        "python": platform.python_version(),
        **needs(*packages),
    }
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    return about


def bandwidth() -> float:
    """Return GB a second of memory, read and written, with a copy on each core: the best of five."""
    threads = os.cpu_count() or 1
    arrays = [(np.ones(COPIED, np.uint8), np.zeros(COPIED, np.uint8)) for _ in range(threads)]
    taken = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), arrays))
            taken.append(time.perf_counter() - start)
    return 2 * COPIED * threads / min(taken) / 1e9


def reference_seconds() -> float:
    """Return the best of five times of a fixed kernel on one thread: a histogram of 20,000,000 codes of a byte."""
    codes, counts = np.random.default_rng(0).integers(0, 256, REFERENCE_CODES, dtype=np.uint8), np.zeros(256, np.int64)
    _count_codes(codes[:1], counts)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        _count_codes(codes, counts)
        taken.append(time.perf_counter() - start)
    return min(taken)


@njit
def _count_codes(codes, counts):  # type: ignore[no-untyped-def]
    for code in codes:
        counts[code] += 1


def seconds(
    jobs: Mapping[str, Callable[[], Any]], repeats: int = REPEATS, tidy: Callable[[], Any] = lambda: None
) -> dict[str, float]:
    """Return the median time of each job; they take turns, so that what disturbs one disturbs the others.

    `tidy` runs, untimed, before each: no job then pays for another's garbage. Several repeats are printed, with the
    least and the greatest time, which `report` writes too.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            tidy()
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    if repeats > 1:
        for name, values in times.items():
            show(name, values)
    return {name: statistics.median(values) for name, values in times.items()}


def show(name: str, values: Sequence[float]) -> None:
    """Print the median, least and greatest of a job's seconds, and keep the latter two for `report`."""
    _spreads[name] = min(values), max(values)
    middle, least, most = (_time(value) for value in (statistics.median(values), min(values), max(values)))
    print(f"{name}: {middle} ({least} to {most}, {len(values)} runs)", flush=True)


def ratio(work: str, against: str, ours: float, theirs: float, bar: float | None = None) -> dict[str, Any]:
    """Return one line of the table: seconds of this package and of a peer, their ratio and the ratio to reach."""
    return {"work": work, "against": against, "ours_s": ours, "theirs_s": theirs, "ratio": theirs / ours, "bar": bar}


def report(ratios: Sequence[Mapping[str, Any]], figures: Mapping[str, Any], output: Path | None) -> None:
    """Print the ratios and all other figures; write them as JSON where an output is named."""
    print(tabulate([_cells(line) for line in ratios], headers="keys", tablefmt="github"))
    for name, value in figures.items():
        if name != "machine":
            print(f"{name}: {f'{value:,.6g}' if isinstance(value, float) else value}")
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        content = {**figures, "ratios": list(ratios), "least and greatest seconds": _spreads}
        output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf8")


def _cells(line: Mapping[str, Any]) -> dict[str, str]:
    return {
        "work": line["work"],
        "against": line["against"],
        "ours": _time(line["ours_s"]),
        "theirs": _time(line["theirs_s"]),
        "ratio": f"{line['ratio']:.2f}",
        "at least": "" if line["bar"] is None else f"{line['bar']:g}",
    }


def _time(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    for line in names.read_text("utf8").splitlines() if names.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
