"""The charts of the page, each with its caption, its legend and its values as a table.

HTML and SVG as trees of elements, in which all text is escaped; tables, sections and the frame of a page.

The page is one file that loads and runs nothing.

Charts as inline SVG with a title and a description; colours come from the style of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import count
from math import ceil, floor, log10
from xml.etree.ElementTree import Element as Element
from xml.etree.ElementTree import tostring

from rerank.evaluation.comparison import CUTOFFS, Comparison, QueryDetail, RunCurves, figure
from rerank.metrics.precision import RECALLS
from rerank.metrics.reliability import Reliability

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # characters that HTML does not allow


def element(tag: str, *content: Element | str | Iterable[Element] | None, **attributes: object) -> Element:
    """Return an element.

    content     elements, texts, or sequences of elements; None is left out
    attributes  `class_` and `stroke_width` become `class` and `stroke-width`; None is left out
    """
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    node = Element(tag, {name: _clean(str(value)) for name, value in names.items()})
    for part in content:
        if isinstance(part, str):
            _append_text(node, _clean(part))
        elif isinstance(part, Element):
            node.append(part)
        elif part is not None:
            node.extend(part)
    return node


def document_text(root: Element) -> str:
    """Return a whole HTML page; `<style>` is not escaped, all other text is."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def _append_text(node: Element, text: str) -> None:
    if len(node):
        node[-1].tail = (node[-1].tail or "") + text
    else:
        node.text = (node.text or "") + text


def _clean(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)


def table(header: Sequence[str], rows: Sequence[Sequence[str | Element]], n_left: int = 1) -> Element:
    """Return a table; the first `n_left` columns are left-aligned text, the others right-aligned figures."""
    head = [element("th", title, scope="col", class_=_side(column, n_left)) for column, title in enumerate(header)]
    body = [element("tr", [_cell(cell, column, n_left) for column, cell in enumerate(row)]) for row in rows]
    return element("table", element("thead", element("tr", head)), element("tbody", body))


def scrolling(content: Element, caption: str) -> Element:
    """Return a caption and a table in a box that scrolls if it is wide, by keyboard too."""
    box = element("div", content, class_="scroll", role="region", tabindex=0, aria_label=caption)
    return element("div", element("p", caption, class_="caption"), box, class_="tabled")


def folded(summary: str, content: Element) -> Element:
    """Return collapsed content."""
    return element("details", element("summary", summary), content)


def _cell(cell: str | Element, column: int, n_left: int) -> Element:
    if column == 0:
        return element("th", cell, scope="row")
    return element("td", cell, class_=_side(column, n_left))


def _side(column: int, n_left: int) -> str | None:
    return None if column < n_left else "figure"


# The browser loads nothing and runs nothing, whatever the text of a topic or a document.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def style_sheet() -> str:
    """Return the style of pages and of charts."""
    return files(__package__).joinpath("style.css").read_text("utf8")


def page_text(title: str, subtitle: str, sections: Sequence[Element]) -> str:
    """Return a whole page of sections, with links to them under its heading."""
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", style_sheet()),
    )
    heading = element(
        "header",
        element("h1", title),
        element("p", subtitle, class_="subtitle"),
        element("nav", links, aria_label="Sections"),
    )
    return document_text(element("html", head, element("body", heading, element("main", sections)), lang="en"))


def section(name: str, title: str, *content: Element | Sequence[Element]) -> Element:
    """Return a section with a heading; `name` is its id."""
    return element("section", element("h2", title), *content, id=name)


WIDTH = 400
HEIGHT = 270
LEFT = 54
RIGHT = 12
TOP = 10
BOTTOM = 42
STYLES = 8  # series with different styles in style.css
LETTER = 7.7  # approximate width of a character at 12 px
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line: its name, its points by ascending x, and the number of its colour."""

    name: str
    points: Sequence[Point]
    number: int
    mark: Point | None = None


@dataclass(frozen=True)
class Axis:
    """Label, ticks and scale of an axis."""

    label: str
    ticks: Sequence[float]
    scale: Callable[[float], float] = float

    def position(self, value: float, start: float, length: float) -> float:
        """Return the coordinate of a value on an axis from `start` (the first tick) to `start + length` (the last)."""
        low = self.scale(self.ticks[0])
        high = self.scale(self.ticks[-1])
        return start + (self.scale(value) - low) / (high - low) * length


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers, about `most`, from at or below `low` to at or above `high`."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** floor(log10(span / most))
    step = next(step * power for step in STEPS if span / (step * power) <= most)
    first = floor(low / step + 1e-9)
    last = ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def line_chart(name: str, title: str, description: str, series: Sequence[Series], x: Axis, y: Axis) -> Element:
    """Return a line chart.

    name  unique in the page; it is part of the ids of the SVG's title and description
    """
    width = WIDTH - LEFT - RIGHT
    height = HEIGHT - TOP - BOTTOM

    def point(value: Point) -> str:
        return f"{x.position(value[0], LEFT, width):.1f},{y.position(value[1], TOP + height, -height):.1f}"

    lines = []
    for one in series:
        style = f"series s{one.number % STYLES}"
        lines.append(element("polyline", points=" ".join(map(point, one.points)), class_=style))
        if one.mark is not None:
            cx, cy = point(one.mark).split(",")
            lines.append(element("circle", cx=cx, cy=cy, r=4, class_=f"dot s{one.number % STYLES}"))
    return _svg(name, title, description, HEIGHT, [*_y_axis(y, height), *_x_axis(x, HEIGHT), *lines])


def svg_file(chart: Element, series: Sequence[Series]) -> str:
    """Return a line chart as a file, with the style of the page and the names of the lines below it."""
    height = HEIGHT + 20 * len(series)
    keys = []
    for number, one in enumerate(series):
        y = HEIGHT + 20 * number + 8
        style = f"series s{one.number % STYLES}"
        keys += [_line(LEFT, y, LEFT + 28, y, style), _text(one.name, LEFT + 36, y + 4, "axis-label")]
    paper = element("rect", width=WIDTH, height=height, style="fill: var(--paper)")
    named = {**dict(chart.items()), "viewBox": f"0 0 {WIDTH} {height}", "xmlns": "http://www.w3.org/2000/svg"}
    drawing = element(
        "svg", element("style", style_sheet()), paper, list(chart), keys, **named, font_family="sans-serif"
    )
    return tostring(drawing, encoding="unicode") + "\n"


def bars_by_query(
    name: str, title: str, description: str, differences: Sequence[tuple[str, float]], label: str
) -> Element:
    """Return a bar for each query, in the order of `differences`, which are (tooltip, value)."""
    values = [value for _, value in differences]
    y = Axis(label, ticks(min(0.0, *values), max(0.0, *values)))
    width = WIDTH - LEFT - RIGHT
    height = HEIGHT - TOP - BOTTOM
    zero = y.position(0.0, TOP + height, -height)
    step = width / len(values)
    bars = []
    for number, (tooltip, value) in enumerate(differences):
        if value == 0.0:
            continue
        end = y.position(value, TOP + height, -height)
        bars.append(
            element(
                "rect",
                element("title", tooltip),
                x=f"{LEFT + number * step:.2f}",
                y=f"{min(zero, end):.2f}",
                width=f"{max(step * 0.86, 0.2):.2f}",
                height=f"{abs(zero - end):.2f}",
                class_="gain" if value > 0 else "loss",
            )
        )
    axis = [
        _line(LEFT, zero, WIDTH - RIGHT, zero, "zero"),
        _text(f"{len(values)} queries, the greatest gain first", LEFT + width / 2, HEIGHT - 8, "axis-label middle"),
    ]
    return _svg(name, title, description, HEIGHT, [*_y_axis(y, height), *bars, *axis])


def interval_chart(
    name: str, title: str, description: str, rows: Sequence[tuple[str, float, float, float, bool]], label: str
) -> Element:
    """Return a dot with its interval for each row (name, value, low, high, whether it is significant)."""
    height = TOP + BOTTOM + 24 * len(rows)
    line = 24
    left = _name_width([row[0] for row in rows])
    x = Axis(label, ticks(min(0.0, *(row[2] for row in rows)), max(0.0, *(row[3] for row in rows)), 3))
    width = WIDTH - left - RIGHT - 10
    drawn = [*_x_axis(x, height, left, width)]
    zero = x.position(0.0, left, width)
    drawn.append(_line(zero, TOP, zero, height - BOTTOM, "zero"))
    for number, (label_text, value, low, high, is_significant) in enumerate(rows):
        y = TOP + line * (number + 0.5)
        positions = [x.position(one, left, width) for one in (low, value, high)]
        side = ("gain" if value > 0 else "loss") if is_significant else "open"
        drawn += [
            _text(_shortened(label_text, left), left - 8, y + 4, "end"),
            _line(positions[0], y, positions[2], y, f"whisker {side}"),
            element("circle", cx=f"{positions[1]:.1f}", cy=f"{y:.1f}", r=4.5, class_=f"point {side}"),
        ]
    return _svg(name, title, description, height, drawn)


def bar_list(name: str, title: str, description: str, rows: Sequence[tuple[str, float]]) -> Element:
    """Return a horizontal bar for each row (name, share from 0 to 1)."""
    line = 20
    top = max(share for _, share in rows) or 1.0
    left = _name_width([label for label, _ in rows])
    width = WIDTH - left - 52
    drawn = []
    for number, (label, share) in enumerate(rows):
        y = TOP + line * number
        length = share / top * width
        drawn += [
            _text(_shortened(label, left), left - 8, y + 13, "end"),
            element("rect", x=left, y=y + 3, width=f"{length:.1f}", height=line - 6, class_="amount"),
            _text(f"{share:.1%}", left + length + 5, y + 13, "start"),
        ]
    return _svg(name, title, description, TOP + line * len(rows) + 4, drawn)


def difference_list(name: str, title: str, description: str, rows: Sequence[tuple[str, float]], label: str) -> Element:
    """Return a horizontal bar for each row (name, value), from zero to the right (gain) or to the left (loss)."""
    line = 20
    values = [value for _, value in rows]
    height = TOP + BOTTOM + line * len(rows)
    left = _name_width([row[0] for row in rows], 230.0)
    x = Axis(label, ticks(min(0.0, *values), max(0.0, *values), 3))
    width = WIDTH - left - RIGHT - 10
    drawn = [*_x_axis(x, height, left, width)]
    zero = x.position(0.0, left, width)
    for number, (label_text, value) in enumerate(rows):
        y = TOP + line * number
        end = x.position(value, left, width)
        drawn += [
            _text(_shortened(label_text, left), left - 8, y + 14, "end"),
            element(
                "rect",
                element("title", f"{label_text}: {value:+.4g}"),
                x=f"{min(zero, end):.1f}",
                y=y + 3,
                width=f"{abs(zero - end):.1f}",
                height=line - 6,
                class_="gain" if value > 0 else "loss",
            ),
        ]
    drawn.append(_line(zero, TOP, zero, height - BOTTOM, "zero"))
    return _svg(name, title, description, height, drawn)


def key_line(number: int) -> Element:
    """Return a short piece of the line of a series, for a legend."""
    line = element("line", x1=0, y1=4, x2=28, y2=4, class_=f"series s{number % STYLES}")
    return element("svg", line, viewBox="0 0 28 8", aria_hidden="true")


def _svg(name: str, title: str, description: str, height: float, content: Sequence[Element]) -> Element:
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        content,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def _y_axis(y: Axis, height: float) -> list[Element]:
    drawn = []
    for tick in y.ticks:
        position = y.position(tick, TOP + height, -height)
        drawn += [
            _line(LEFT, position, WIDTH - RIGHT, position, "rule"),
            _text(f"{tick:g}", LEFT - 6, position + 4, "end"),
        ]
    rotation = f"rotate(-90 12 {TOP + height / 2:g})"
    return [*drawn, _text(y.label, 12, TOP + height / 2, "axis-label middle", rotation)]


def _x_axis(x: Axis, height: float, left: float = LEFT, width: float = WIDTH - LEFT - RIGHT) -> list[Element]:
    bottom = height - BOTTOM
    drawn = []
    for tick in x.ticks:
        position = x.position(tick, left, width)
        drawn += [
            _line(position, TOP, position, bottom, "rule"),
            _text(f"{tick:g}", position, bottom + 15, "middle"),
        ]
    return [*drawn, _text(x.label, left + width / 2, height - 8, "axis-label middle")]


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Element:
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=style)


def _text(text: str, x: float, y: float, style: str, transform: str | None = None) -> Element:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", class_=style, transform=transform)


def _name_width(names: Sequence[str], most: float = 180.0) -> float:
    return min(most, 14.0 + LETTER * max(map(len, names)))


def _shortened(name: str, width: float) -> str:
    """Return the end of a name that is too long for its column, where paths differ."""
    most = int((width - 14) / LETTER)
    return name if len(name) <= most else "…" + name[1 - most :]


@dataclass(frozen=True)
class TrainedModel:
    """The training of a model.

    measure         validation measure
    history         its values after 0, 1, 2 ... iterations; empty without validation data
    best_iteration  number of iterations of the final model
    importances     share of the total gain by feature, largest first; empty if the learner has none
    reliability     of its probabilities on queries that were not learned from, where it is calibrated
    """

    name: str
    measure: str
    history: Sequence[float]
    best_iteration: int
    importances: Mapping[str, float]
    reliability: Reliability | None = None


@dataclass(frozen=True)
class PageContent:
    """The content of a page; empty parts are left out.

    curves     curves of each run, by name
    details    queries that gained and lost most
    documents  texts by document id
    topics     texts by query id
    """

    title: str
    comparison: Comparison
    curves: Mapping[str, RunCurves] = field(default_factory=dict)
    details: Sequence[QueryDetail] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


MOST_FEATURES = 12
TABLE_STEPS = 25  # approximate number of rows in the table of a training curve
Curves = Sequence[tuple[str, RunCurves]]


def interval_figures(comparison: Comparison) -> list[Element]:
    """Return a chart of the differences to the baseline, with intervals, for each measure in which a query differs."""
    differing = [
        measure
        for measure in comparison.compared
        if any(
            comparison.differences[run][measure].ties < comparison.differences[run][measure].n_queries
            for run in comparison.systems
        )
    ]
    return [_interval_figure(comparison, number, measure) for number, measure in enumerate(differing)]


def _interval_figure(comparison: Comparison, number: int, measure: str) -> Element:
    rows = []
    for run in comparison.systems:
        difference = comparison.differences[run][measure]
        rows.append(
            (run, difference.difference, difference.low, difference.high, comparison.is_significant(run, measure))
        )
    description = "; ".join(f"{run} {value:+.4f} ({low:+.4f} to {high:+.4f})" for run, value, low, high, _ in rows)
    title = f"{measure}: difference to {comparison.baseline}"
    chart = interval_chart(f"interval{number}", title, description, rows, f"difference in {measure}")
    return _figure(chart, f"{title} with its 95 % interval; a full dot is significant.")


def query_figure(comparison: Comparison, run: str, number: int, topics: Mapping[str, str]) -> Element:
    """Return a bar chart of the gain or loss of each query under the first measure that is compared."""
    measure = comparison.compared[0]
    paired = comparison.differences[run][measure]
    bars = [
        (f"{change.query_id} {topics.get(change.query_id, '')}: {change.difference:+.4f}", change.difference)
        for change in comparison.changes(run, measure)
    ]
    counts = f"{paired.wins} queries won, {paired.ties} tied, {paired.losses} lost; mean {paired.difference:+.4f}"
    title = f"{measure} by query, {run} minus {comparison.baseline}"
    chart = bars_by_query(f"queries{number}", title, counts, bars, f"difference in {measure}")
    return _figure(chart, f"{title}: {counts}. Its figures are under Every query.")


def recall_figure(curves: Curves) -> Element:
    """Return interpolated precision by recall, a line for each run."""
    series = [
        Series(run, list(zip(RECALLS, curve.precision, strict=True)), number)
        for number, (run, curve) in enumerate(curves)
    ]
    top = max(max(curve.precision) for _, curve in curves)
    title = "Interpolated precision at eleven levels of recall"
    x = Axis("recall", [level / 5 for level in range(6)])
    y = Axis("precision", ticks(0.0, top))
    chart = line_chart("recall", title, _named(series), series, x, y)
    return _figure(chart, f"{title}.", series, _line_table("recall", series))


def cutoff_figure(curves: Curves) -> Element:
    """Return a measure by cutoff, a line for each run."""
    series = [
        Series(run, list(zip(CUTOFFS, curve.by_cutoff, strict=True)), number)
        for number, (run, curve) in enumerate(curves)
    ]
    measure = curves[0][1].measure
    values = [value for _, curve in curves for value in curve.by_cutoff]
    title = f"{measure}@k by cutoff k"
    x = Axis("cutoff k (logarithmic)", [1, 2, 5, 10, 20, 50, 100], log10)
    chart = line_chart(
        "cutoff", title, _named(series), series, x, Axis(f"{measure}@k", ticks(min(values), max(values)))
    )
    return _figure(chart, f"{title}.", series, _line_table("k", series))


def training_figures(models: Sequence[TrainedModel], runs: Sequence[str]) -> list[Element]:
    """Return charts of the validation measure by iteration and of the most important features.

    A model with the name of a run has the colour of the run.
    """
    others = count(len(runs))
    numbers = [runs.index(model.name) if model.name in runs else next(others) for model in models]
    drawn = [_training_figure(models, numbers)] if any(len(model.history) > 1 for model in models) else []
    calibrated = [(model, n) for model, n in zip(models, numbers, strict=True) if model.reliability is not None]
    drawn += [_reliability_figure(calibrated)] if calibrated else []
    return drawn + [_importance_figure(model, n) for n, model in enumerate(models) if model.importances]


def _reliability_figure(models: Sequence[tuple[TrainedModel, int]]) -> Element:
    """Return the share of relevant documents by promised probability, a line for each model."""
    series = []
    texts = []
    rows = []
    for model, number in models:
        found = model.reliability
        if found is not None:
            points = list(zip(found.predicted.tolist(), found.observed.tolist(), strict=True))
            series.append(Series(model.name, points, number))
            texts.append(f"{model.name}: Brier score {found.brier:.4f}, expected calibration error {found.error:.4f}")
            counted = zip(points, found.counts.tolist(), strict=True)
            rows += [[model.name, f"{low:.4f}", f"{share:.4f}", f"{count}"] for (low, share), count in counted]
    top = max(max(max(point) for point in one.points) for one in series)
    ideal = Series("as promised", [(0.0, 0.0), (ticks(0.0, top)[-1],) * 2], max(number for _, number in models) + 1)
    title = "Observed share of relevant documents by promised probability"
    x = Axis("promised probability", ticks(0.0, top))
    y = Axis("relevant", ticks(0.0, top))
    chart = line_chart("reliability", title, "; ".join(texts), [*series, ideal], x, y)
    caption = f"{title}, in bins of equal mass, of queries that were not learned from. {'; '.join(texts)}."
    return _figure(chart, caption, [*series, ideal], table(["model", "promised", "observed", "documents"], rows))


def _training_figure(models: Sequence[TrainedModel], numbers: Sequence[int]) -> Element:
    series = [
        Series(
            model.name,
            list(enumerate(model.history)),
            number,
            (model.best_iteration, model.history[model.best_iteration]),
        )
        for model, number in zip(models, numbers, strict=True)
        if len(model.history) > 1
    ]
    watched = [model for model in models if len(model.history) > 1]
    measure = ", ".join(sorted({model.measure for model in watched}))
    values = [value for model in watched for value in model.history]
    last = max(len(model.history) for model in watched) - 1
    title = f"{measure} on the validation data by iteration"
    x = Axis("iteration", ticks(0, last))
    y = Axis(measure, ticks(min(values), max(values)))
    chart = line_chart("training", title, _named(series), series, x, y)
    every = [one for one in range(last + 1) if one % max(1, last // TABLE_STEPS) == 0 or one == last]
    shown = [Series(one.name, [point for point in one.points if point[0] in every], one.number) for one in series]
    return _figure(chart, f"{title}; the dot is the final model.", series, _line_table("iteration", shown))


def _importance_figure(model: TrainedModel, number: int) -> Element:
    rows = list(model.importances.items())[:MOST_FEATURES]
    rows = [(name, share) for name, share in rows if share > 0]
    title = f"Importance of features in {model.name}"
    description = ", ".join(f"{name} {share:.1%}" for name, share in rows)
    chart = bar_list(f"importance{number}", title, description, rows)
    count = f"the {len(rows)} greatest of {len(model.importances)}"
    caption = f"{title}: share of the total gain, {count}."
    return _figure(chart, caption, (), table(["feature", "share"], [[name, f"{share:.4f}"] for name, share in rows]))


def key(name: str, number: int) -> Element:
    """Return an entry of a legend: a name with its line."""
    return element("span", key_line(number), name, class_="key")


def _named(series: Sequence[Series]) -> str:
    return "; ".join(f"{one.name}: from {one.points[0][1]:.4f} to {one.points[-1][1]:.4f}" for one in series)


def _line_table(x: str, series: Sequence[Series]) -> Element:
    values = [dict(one.points) for one in series]
    x_values = sorted({x_value for one in values for x_value in one})
    rows = [
        [f"{x_value:g}", *(figure(one[x_value]) if x_value in one else "–" for one in values)] for x_value in x_values
    ]
    return table([x, *(one.name for one in series)], rows)


def _figure(chart: Element, caption: str, series: Sequence[Series] = (), fallback: Element | None = None) -> Element:
    keys = [element("li", key(one.name, one.number)) for one in series]
    return element(
        "figure",
        element("figcaption", caption),
        element("ul", keys, class_="keys") if keys else None,
        chart,
        folded("Figures", scrolling(fallback, caption)) if fallback is not None else None,
    )
