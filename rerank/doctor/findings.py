"""Findings, the registry of checks, and the function that runs all checks.

To add a check, add a function with the decorator `@check(kind, ...)` to a module of this package. Its arguments are the
contents of a file of each kind (`qrels`, `run`, `topics`, `data`, `train`, `test`, `index`; see `reading.py`), and it
yields findings.

error    rerank refuses the file, or a result computed from it is wrong
warning  a result or a model may be misleading
note     no error, but worth knowing
"""

from __future__ import annotations

import json
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product

import numpy as np

from rerank.doctor.reading import Files, Rows
from rerank.errors import unknown_name
from rerank.types import Ints

SEVERITIES = ("error", "warning", "note")
SHOWN = 4  # line numbers that a finding lists


@dataclass(frozen=True)
class Finding:
    """A problem in a file.

    Parameters
    ----------
    severity : {"error", "warning", "note"}
        How serious the problem is.
    path : str
        The file.
    lines : tuple of int
        The first few line numbers; empty for a file without lines.
    count : int
        Number of occurrences.
    message : str
        The problem, for its first occurrence.
    effect : str
        What it does to results.

    """

    severity: str
    path: str
    lines: tuple[int, ...]
    count: int
    message: str
    effect: str

    @property
    def location(self) -> str:
        """`file:line`, or the file if it has no lines."""
        return f"{self.path}:{self.lines[0]}" if self.lines else self.path

    @property
    def text(self) -> str:
        """The finding as one line."""
        others = ", ".join(str(line) for line in self.lines[1:])
        also = f"also line{'s' * (len(self.lines) > 2)} {others}; " if others else ""
        more = f" ({also}{self.count} in all)" if self.count > 1 else ""
        return f"{self.severity:<7}  {self.location}: {self.message}{more}; {self.effect}"


Check = Callable[..., Iterator[Finding]]
_CHECKS: list[tuple[tuple[str, ...], Check]] = []


def check(*kinds: str) -> Callable[[Check], Check]:
    """Return the decorator that registers a check of a file, or of several files, by their kinds."""

    def decorate(function: Check) -> Check:
        _CHECKS.append((kinds, function))
        return function

    return decorate


def at(
    rows: Rows, severity: str, row_numbers: Ints, message: Callable[[int], str] | str, effect: str
) -> Iterator[Finding]:
    """Yield one finding about rows of a file; none if there are no rows.

    row_numbers  in any order
    message      the problem, or a function that describes it for the first row
    """
    if len(row_numbers):
        row_numbers = np.sort(row_numbers)
        lines = () if rows.lines is None else tuple(rows.lines[row_numbers[:SHOWN]].tolist())
        text = message if isinstance(message, str) else message(int(row_numbers[0]))
        yield Finding(severity, rows.path, lines, len(row_numbers), text, effect)


def missing_queries(rows: Rows, others: Rows, severity: str, what: str, effect: str) -> Iterator[Finding]:
    """Yield one finding about the queries of a file that are not in another."""
    known = set(others.names)
    missing = rows.rows_of([name for name in rows.names if name not in known])
    yield from at(rows, severity, missing, lambda row: f"{what} {rows.name(row)} is not in {others.path}", effect)


def examine(files: Files) -> list[Finding]:
    """Run every check on the files of its kinds; return the findings, the most severe first."""
    package = import_module("rerank.doctor")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"rerank.doctor.{module.name}")
    findings = [
        finding
        for kinds, function in _CHECKS
        for parts in product(*(getattr(files, kind) for kind in kinds))
        for finding in function(*parts)
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


@check("qrels")
@check("run")
@check("topics")
@check("data")
@check("train_qrels")
@check("test_qrels")
@check("train_topics")
@check("test_topics")
def unreadable(rows: Rows) -> Iterator[Finding]:
    """Lines that the reader refuses: one finding for each kind of error."""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for fault in rows.faults:
        line = fault.line or 0
        message = str(fault).removeprefix(f"{fault.path}:{line}: ").rstrip(".")
        kinds.setdefault(message.split(", got")[0], []).append((line, message))
    for faults in kinds.values():
        faults.sort()
        lines = tuple(dict.fromkeys(line for line, _ in faults if line))[:SHOWN]
        yield Finding("error", rows.path, lines, len(faults), faults[0][1], "rerank refuses the file")


def render(findings: Sequence[Finding], n_files: int, form: str = "table") -> str:
    """Return findings as text."""
    counts = Counter(finding.severity for finding in findings)
    if form == "json":
        entries = [vars(finding) | {"lines": list(finding.lines)} for finding in findings]
        return json.dumps(
            {"files": n_files, "counts": {name: counts[name] for name in SEVERITIES}, "findings": entries}
        )
    if form != "table":
        raise unknown_name("format", form, ["table", "json"])
    summary = ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in SEVERITIES)
    files = f"{n_files} file{'s' * (n_files != 1)}"
    return "\n".join([*(finding.text for finding in findings), f"{files} examined: {summary}"])
