"""HTML and SVG as trees of elements, in which all text is escaped; tables, sections and the frame of a page.

The page is one file that loads and runs nothing. Charts are inline SVG with a title and a description; colours come
from the style of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, floor, log10
from xml.etree.ElementTree import Element as Element, tostring

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


def page_text(title: str, subtitle: str, sections: Sequence[Element]) -> str:
    """Return a whole page of sections, with links to them under its heading."""
    style = files(__package__).joinpath("style.css").read_text("utf8")
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", style),
    )
    heading = element(
        "header",
        element("h1", title),
        element("p", subtitle, class_="subtitle"),
        element("nav", links, aria_label="Sections"),
    )
    root = element("html", head, element("body", heading, element("main", sections)), lang="en")
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"  # all but `<style>` escaped


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
ROW = 20  # height of a row of a chart
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
    places = 12 - floor(log10(step))
    return [round(number * step, places) for number in range(first, max(last, first + 1) + 1)]


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


def row_chart(
    name: str,
    title: str,
    description: str,
    rows: Sequence[tuple[str, float]],
    label: str,
    intervals: Sequence[tuple[float, float, bool]] = (),
) -> Element:
    """Return a horizontal bar from zero for each row (name, value), or a dot with its interval.

    intervals  low, high, and whether the value is significant
    """
    values = [0.0, *(value for _, value in rows), *(end for interval in intervals for end in interval[:2])]
    x = Axis(label, ticks(min(values), max(values), 3))
    left = min(230.0, 14.0 + LETTER * max(len(text) for text, _ in rows))
    width = WIDTH - left - RIGHT - 10
    height = TOP + BOTTOM + ROW * len(rows)
    zero = x.position(0.0, left, width)
    drawn = [*_x_axis(x, height, left, width), _line(zero, TOP, zero, height - BOTTOM, "zero")]
    for number, (text, value) in enumerate(rows):
        y = TOP + ROW * number
        end = x.position(value, left, width)
        side = "gain" if value > 0 else "loss"
        drawn.append(_text(_shortened(text, left), left - 8, y + 14, "end"))
        if intervals:
            low, high, is_significant = intervals[number]
            style = side if is_significant else "open"
            ends = (x.position(low, left, width), x.position(high, left, width))
            drawn.append(_line(ends[0], y + 10, ends[1], y + 10, f"whisker {style}"))
            drawn.append(element("circle", cx=f"{end:.1f}", cy=f"{y + 10:.1f}", r=4.5, class_=f"point {style}"))
        else:
            tooltip = element("title", f"{text}: {value:+.4g}")
            place = {"x": f"{min(zero, end):.1f}", "y": y + 3, "width": f"{abs(zero - end):.1f}", "height": ROW - 6}
            drawn.append(element("rect", tooltip, class_=side, **place))
    return _svg(name, title, description, height, drawn)


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


def _shortened(name: str, width: float) -> str:
    """Return the end of a name that is too long for its column, where paths differ."""
    most = int((width - 14) / LETTER)
    return name if len(name) <= most else "…" + name[1 - most :]


def key(name: str, number: int) -> Element:
    """Return an entry of a legend: a name with its line."""
    line = element("line", x1=0, y1=4, x2=28, y2=4, class_=f"series s{number % STYLES}")
    return element("span", element("svg", line, viewBox="0 0 28 8", aria_hidden="true"), name, class_="key")


def captioned(chart: Element, caption: str, series: Sequence[Series] = (), values: Element | None = None) -> Element:
    """Return a chart with its caption, its legend, and its values as a collapsed table."""
    keys = [element("li", key(one.name, one.number)) for one in series]
    return element(
        "figure",
        element("figcaption", caption),
        element("ul", keys, class_="keys") if keys else None,
        chart,
        folded("Figures", scrolling(values, caption)) if values is not None else None,
    )
