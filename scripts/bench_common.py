"""Functions of all benchmarks: arguments, medians of jobs run alternately, the table of ratios, JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tabulate import tabulate

REPEATS = 5


def arguments(description: str | None, *options: str) -> argparse.Namespace:
    """Return the arguments that every benchmark takes; `options` are further ones that take a value."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small data, under a minute in all")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    for option in options:
        parser.add_argument(option)
    return parser.parse_args()


def machine(*packages: str) -> dict[str, str]:
    """Return the processor, its cores, and the versions of Python and of packages."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def seconds(
    jobs: Mapping[str, Callable[[], Any]], repeats: int = REPEATS, tidy: Callable[[], Any] = lambda: None
) -> dict[str, float]:
    """Return the median time of each job; they take turns, so that what disturbs one disturbs the others.

    `tidy` runs, untimed, before each: no job then pays for another's garbage.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            tidy()
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def ratio(work: str, against: str, ours: float, theirs: float, bar: float | None = None) -> dict[str, Any]:
    """Return one line of the table: seconds of this package and of a peer, their ratio and the ratio to reach."""
    return {"work": work, "against": against, "ours_s": ours, "theirs_s": theirs, "ratio": theirs / ours, "bar": bar}


def report(ratios: Sequence[Mapping[str, Any]], figures: Mapping[str, Any], output: Path | None) -> None:
    """Print the machine, the ratios and all other figures; write them as JSON where an output is named."""
    of_machine = figures["machine"]
    print(", ".join(f"{name} {value}" for name, value in of_machine.items()))
    print(tabulate([_cells(line) for line in ratios], headers="keys", tablefmt="github"))
    for name, value in figures.items():
        if name != "machine":
            print(f"{name}: {f'{value:,.6g}' if isinstance(value, float) else value}")
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps({**figures, "ratios": list(ratios)}, indent=1) + "\n", encoding="utf8")


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
