"""What a slow scorer brings in a study: the measure on held-out queries by the number of documents that it scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rerank.evaluation.comparison import figure
from rerank.evaluation.page.account import Account, Section, write_account
from rerank.evaluation.page.figures import Axis, Element, Series, captioned, line_chart, ticks
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.runtime.output import whole_file

TABLE = "scorer.tsv"
PAGE = "scorer.html"
HEADER = ("system", "calls", "measure")


@dataclass(frozen=True, repr=False)
class ScorerCurve(Account):
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
        """Return the points, and the chart of a page."""
        rows = [[system, f"{calls}", figure(value)] for system, calls, value in self.rows]
        points = Section("Points", (), rows, ["system", "calls", self.measure], 1)
        return [Section("Curves", figures=[_chart(self)]), points] if page else [points]

    def write(self, folder: Path) -> None:
        """Write the table and the page."""
        with whole_file(folder / TABLE) as file:
            file.writelines("\t".join(map(str, values)) + "\n" for values in (HEADER, *self.rows))
        write_account(self, folder / PAGE)


def _chart(curve: ScorerCurve) -> Element:
    """Return a line for each system, and a level one for the scorer's own order."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for system, calls, value in curve.rows:
        lines.setdefault(system, []).append((float(calls), value))
    ends = (0.0, float(DEPTHS[-1]))
    series = [
        Series(system, points if len(points) > 1 else [(end, points[0][1]) for end in ends], number, points[-1])
        for number, (system, points) in enumerate(lines.items())
    ]
    values = [value for _, _, value in curve.rows]
    x = Axis("calls of the scorer for a query", [0, *DEPTHS], lambda calls: (1.0 + calls) ** 0.5)
    description = "; ".join(f"{one.name} {figure(one.points[-1][1])}" for one in series)
    y = Axis(curve.measure, ticks(min(values), max(values)))
    return captioned(line_chart("curve", curve.title, description, series, x, y), f"{curve.title}.", series)
