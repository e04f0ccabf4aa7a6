"""Charts as inline SVG with a title and a description; colours come from the style of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.etree.ElementTree import tostring

from rerank.evaluation.page.markup import Element, element, style_sheet

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 10, 42
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
        low, high = self.scale(self.ticks[0]), self.scale(self.ticks[-1])
        return start + (self.scale(value) - low) / (high - low) * length


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers, about `most`, from at or below `low` to at or above `high`."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** floor(log10(span / most))
    step = next(step * power for step in STEPS if span / (step * power) <= most)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def line_chart(name: str, title: str, description: str, series: Sequence[Series], x: Axis, y: Axis) -> Element:
    """Return a line chart.

    name  unique in the page; it is part of the ids of the SVG's title and description
    """
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

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
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    zero, step = y.position(0.0, TOP + height, -height), width / len(values)
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
    height, line = TOP + BOTTOM + 24 * len(rows), 24
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
    line, top = 20, max(share for _, share in rows) or 1.0
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
    line, values = 20, [value for _, value in rows]
    height, left = TOP + BOTTOM + line * len(rows), _name_width([row[0] for row in rows], 230.0)
    x = Axis(label, ticks(min(0.0, *values), max(0.0, *values), 3))
    width = WIDTH - left - RIGHT - 10
    drawn = [*_x_axis(x, height, left, width)]
    zero = x.position(0.0, left, width)
    for number, (label_text, value) in enumerate(rows):
        y, end = TOP + line * number, x.position(value, left, width)
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
    bottom, drawn = height - BOTTOM, []
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
