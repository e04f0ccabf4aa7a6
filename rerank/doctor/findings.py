"""Findings, the checks that make them, and the one call that runs all checks.

To add a check is to add a function under `@check(kind, …)` in a file of this room: it takes what was read of a file of
each kind (`qrels`, `run`, `topics`, `data`, `train`, `test`; see `reading.py`) and yields findings.

error    rerank refuses the file, or a figure that rests on it is wrong
warning  a figure or a model is not what it seems to be
note     worth knowing
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import product

import numpy as np

from rerank.doctor.reading import Files, Rows
from rerank.types import Ints

GRAVITIES = ("error", "warning", "note")
SHOWN = 4  # places of a finding that are named


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    gravity  one of GRAVITIES
    path     file
    lines    the first few lines, none where the file has no lines
    count    number of places in all
    found    what was found, for the first place
    effect   what it does to the result
    """

    gravity: str
    path: str
    lines: tuple[int, ...]
    count: int
    found: str
    effect: str

    @property
    def place(self) -> str:
        """`file:line`, or the file where there is no line."""
        return f"{self.path}:{self.lines[0]}" if self.lines else self.path

    @property
    def text(self) -> str:
        """The finding as one line."""
        others = ", ".join(str(line) for line in self.lines[1:])
        also = f"also line{'s' * (len(self.lines) > 2)} {others}; " if others else ""
        more = f" ({also}{self.count} in all)" if self.count > 1 else ""
        return f"{self.gravity:<7}  {self.place}: {self.found}{more}; {self.effect}"


Check = Callable[..., Iterator[Finding]]
_CHECKS: list[tuple[tuple[str, ...], Check]] = []


def check(*kinds: str) -> Callable[[Check], Check]:
    """Enter a check of a file, or of files against each other, under their kinds."""

    def enter(function: Check) -> Check:
        _CHECKS.append((kinds, function))
        return function

    return enter


def at(rows: Rows, gravity: str, where: Ints, found: Callable[[int], str] | str, effect: str) -> Iterator[Finding]:
    """Yield one finding about some rows of a file, or none where there are no rows.

    where  row numbers, in any order
    found  what was found, or what says it of the first of the rows
    """
    if len(where):
        where = np.sort(where)
        lines = () if rows.lines is None else tuple(rows.lines[where[:SHOWN]].tolist())
        said = found if isinstance(found, str) else found(int(where[0]))
        yield Finding(gravity, rows.path, lines, len(where), said, effect)


def lacking(rows: Rows, others: Rows, gravity: str, what: str, effect: str) -> Iterator[Finding]:
    """Yield one finding about the queries of a file that another lacks."""
    known = set(others.names)
    missing = rows.rows_of([name for name in rows.names if name not in known])
    yield from at(rows, gravity, missing, lambda row: f"{what} {rows.name(row)} is not in {others.path}", effect)


def examine(files: Files) -> list[Finding]:
    """Run every check on all files it looks at; the gravest findings stand first."""
    package = import_module("rerank.doctor")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"rerank.doctor.{module.name}")
    found = [
        finding
        for kinds, function in _CHECKS
        for parts in product(*(getattr(files, kind) for kind in kinds))
        for finding in function(*parts)
    ]
    return sorted(found, key=lambda finding: GRAVITIES.index(finding.gravity))


@check("qrels")
@check("run")
@check("topics")
@check("data")
def unreadable(rows: Rows) -> Iterator[Finding]:
    """What the reader refuses: one finding for each kind of fault."""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for fault in rows.faults:
        line = fault.line or 0
        message = str(fault).removeprefix(f"{fault.path}:{line}: ").rstrip(".")
        kinds.setdefault(message.split(", got")[0], []).append((line, message))
    for faults in kinds.values():
        faults.sort()
        lines = tuple(dict.fromkeys(line for line, _ in faults if line))[:SHOWN]
        yield Finding("error", rows.path, lines, len(faults), faults[0][1], "rerank refuses the file")
