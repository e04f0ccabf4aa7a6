"""Curves of a measure on held-out queries, e.g. by the number of documents of a query that a slow scorer scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rerank.evaluation.comparison import figure
from rerank.evaluation.page import Account, Axis, Element, Section, Series, line_chart, ticks, write_account
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.runtime.output import whole_file


class Curve(Account):
    """Base class of curves: the measure of each system by a number."""

    measure: str
    header: Sequence[str]  # of the rows in a file

    @property
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """System, number, value, and more values of each point."""
        raise NotImplementedError

    def chart(self, x: Axis) -> Element:
        """Return a line for each system; that of one point is level, from the first tick of the axis to the last."""
        lines: dict[str, list[tuple[float, float]]] = {}
        for system, number, value, *_ in self.rows:
            lines.setdefault(system, []).append((float(number), value))
        ends = x.ticks[0], x.ticks[-1]
        series = [
            Series(
                system,
                points if len(points) > 1 else [(end, points[0][1]) for end in ends],
                number,
                points[-1] if points[-1][0] else None,
            )
            for number, (system, points) in enumerate(lines.items())
        ]
        values = [value for line in series for _, value in line.points]
        y = Axis(self.measure, ticks(min(values), max(values)))
        description = "; ".join(f"{one.name} {figure(one.points[-1][1])}" for one in series)
        return line_chart("curve", self.title, description, series, x, y)

    def write(self, folder: Path, name: str) -> None:
        """Write the rows, and the page."""
        with whole_file(folder / f"{name}.tsv") as file:
            file.writelines("\t".join(map(str, values)) + "\n" for values in (self.header, *self.rows))
        write_account(self, folder / f"{name}.html")


@dataclass(frozen=True, repr=False)
class ScorerCurve(Curve):
    """A measure by the number of documents of a query that a scorer is called for.

    Parameters
    ----------
    measure : str
        Name of the measure.
    gains : mapping of str to Gain
        What the scorer brings to each system.

    """

    measure: str
    gains: Mapping[str, Gain]
    header = ("system", "calls", "measure")

    @property
    def title(self) -> str:  # type: ignore[override]
        """What is shown, as a heading."""
        return f"{self.measure} on held-out queries by the calls of the scorer for a query"

    @property
    def rows(self) -> list[tuple[str, int, float]]:
        """System, number of calls and mean of each point; the scorer's own order of all that it scores is the last."""
        rows = []
        for system, gain in self.gains.items():
            rows.append((system, 0, gain.without))
            rows += [(system, stage.depth, value) for stage, value in gain.curve]
            rows.append((f"scorer alone, of {system}", DEPTHS[-1], gain.alone))
        return rows

    def parts(self, page: bool = False) -> list[Section]:
        """Return the points, with their chart."""
        rows = [[system, f"{calls}", figure(value)] for system, calls, value in self.rows]
        chart = self.chart(Axis("calls of the scorer for a query", [0, *DEPTHS], lambda calls: (1.0 + calls) ** 0.5))
        return [Section("Points", (), rows, ["system", "calls", self.measure], 1, [chart])]
