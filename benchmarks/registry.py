"""What a benchmark is, the options that all of them share, and the benchmarks that there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
SUPPORT = (
    "registry",
    "data",
    "debian_collections",
    "measuring",
    "load",
    "large_collection",
)  # files without benchmarks
Row = dict[str, Any]
T = TypeVar("T")


class BenchmarkError(Exception):
    """A benchmark cannot run, or a system gave other results than it must; the message is one line."""


@dataclass(frozen=True)
class Options:
    """Options of the command line; with None or an empty tuple, the benchmark uses its own value."""

    data: Path = DATA
    quick: bool = False
    seeds: int | None = None
    repeats: int | None = None
    threads: int | None = None
    rows: int | None = None
    trees: int | None = None
    documents: tuple[int, ...] = ()
    collections: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    folder: Path | None = None

    def pick(self, full: T, quick: T) -> T:
        """Return the first value, or the second where `quick` is set."""
        return quick if self.quick else full

    def n_seeds(self, full: int) -> int:
        """Return the number of seeds."""
        return self.seeds or self.pick(full, 1)

    def n_repeats(self, full: int = 5) -> int:
        """Return how often a job is timed."""
        return self.repeats or self.pick(full, 1)

    def chosen_collections(self, names: Sequence[str]) -> list[str]:
        """Return the collections to measure: those asked for; by default all, with `quick` the first."""
        return _chosen("--collection", names, self.collections) or list(names[: self.pick(len(names), 1)])

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return the systems or parts to measure: those asked for, by default all."""
        return _chosen("--only", names, self.only) or list(names)


def _chosen(option: str, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    unknown = set(wanted) - set(names)
    if unknown:
        raise BenchmarkError(f"{option}: expected {', '.join(names)}, got {', '.join(sorted(unknown))}.")
    return [name for name in names if name in wanted]


@dataclass(frozen=True)
class Benchmark:
    """A registered benchmark.

    data    what it measures on
    peer    what it is compared with, empty where nothing is
    needs   modules of other packages that it imports
    draw    writes the picture of its rows to a file, for those that have one
    """

    function: Callable[[Options], Iterator[Row]]
    data: str
    peer: str
    needs: tuple[str, ...]
    draw: Callable[[list[Row], Path], None] | None

    @property
    def name(self) -> str:
        """Return the name on the command line."""
        return self.function.__name__.replace("_", "-")

    @property
    def summary(self) -> str:
        """Return the first sentence of the docstring."""
        return (self.function.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")


BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(
    *,
    data: str,
    peer: str = "",
    needs: Sequence[str] = (),
    draw: Callable[[list[Row], Path], None] | None = None,
) -> Callable[[Callable[[Options], Iterator[Row]]], Callable[[Options], Iterator[Row]]]:
    """Register a function as a benchmark; the parameters are the fields of `Benchmark`."""

    def register(function: Callable[[Options], Iterator[Row]]) -> Callable[[Options], Iterator[Row]]:
        entry = Benchmark(function, data, peer, tuple(needs), draw)
        BENCHMARKS[entry.name] = entry
        return function

    return register


def known() -> dict[str, Benchmark]:
    """Import the files of this folder and return their benchmarks by name; nothing heavy is imported at their top."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith("_") and path.stem not in SUPPORT:
            import_module(f"benchmarks.{path.stem}")
    return dict(sorted(BENCHMARKS.items()))
