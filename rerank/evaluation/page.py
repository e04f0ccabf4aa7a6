"""Accounts: what is known of a model, a feature, an order or a comparison, as Markdown, page, JSON and pictures.

A page is one file that loads and runs nothing. It is made as a tree of elements, in which all text is escaped. Charts
are inline SVG with a title and a description; colours come from the style of the page. Pictures of the same charts, as
PNG, SVG or PDF, are drawn by matplotlib.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.resources import files
from math import ceil, floor, log10
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element as Element, tostring

from rerank.errors import InvalidInputError
from rerank.runtime.codec import finite, plain
from rerank.runtime.output import whole_file, write_text
from rerank.types.text_tables import text_table

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # characters that HTML does not allow
# What Markdown would read as markup; not a _ inside a word, which it reads as a letter.
_MARKUP = re.compile(r"[\\`*|<>\[\]]|(?<![^\W_])_|_(?![^\W_])")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # the browser loads and runs nothing, whatever a text holds
WIDTH = 400
HEIGHT = 270
UNITS_OF_INCH = 80  # of a picture by matplotlib
LEFT = 54
RIGHT = 20
TOP = 10
BOTTOM = 42
ROW = 20  # height of a name with its value
NAMES = 225  # width of names, those of features and of runs
LONGEST_NAME = 32  # characters; of a longer name the end is shown
STYLES = 8  # series with different styles in page.css
PAGES = ".html", ".htm"  # endings of a page
PICTURES = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # endings; no picture holds a date
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
Point = tuple[float, float]


@dataclass(frozen=True)
class Section:
    """A part of an account: charts, paragraphs and a table.

    Parameters
    ----------
    title : str
        The heading.
    text : sequence of str
        The paragraphs.
    rows : sequence of sequence of str
        The rows of the table; none is no table.
    header : sequence of str
        Names of the columns.
    n_left : int
        Number of columns of text, which are left-aligned.
    figures : sequence of Chart or DotChart
        Charts, which pages and pictures show.

    """

    title: str
    text: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    header: Sequence[str] = ("", "")
    n_left: int = 2
    figures: Sequence[Chart | DotChart] = ()


class Account:
    """Base class of what has sections: `print` and notebooks show it as Markdown."""

    title: str
    subtitle = ""

    @abstractmethod
    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the sections of the text, or of the page."""

    def to_markdown(self) -> str:
        """Return the account in Markdown.

        Returns
        -------
        str
            The text.

        """
        lines = [f"# {_escaped(self.title)}", *([_escaped(self.subtitle)] if self.subtitle else [])]
        for part in self.parts():
            lines += [f"## {part.title}", *map(_escaped, part.text)]
            if part.rows:
                header, *rows = ([_escaped(cell) for cell in row] for row in (part.header, *part.rows))
                lines.append(text_table(rows, header, part.n_left, "github"))
        return "\n\n".join(lines) + "\n"

    __repr__ = __str__ = _repr_markdown_ = to_markdown

    def to_html(self) -> str:
        """Return the account as a self-contained page, with charts.

        Returns
        -------
        str
            The page.

        """
        return page_text(self.title, self.subtitle, self.parts(page=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; a number that is missing or infinite is None.

        Returns
        -------
        dict
            The fields.

        """
        return finite(  # type: ignore[no-any-return]
            {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        )


def write_account(account: Account, path: str | Path) -> None:
    """Write an account in the form that the ending of the file says: a page, JSON, a picture, or else Markdown."""
    ending = Path(path).suffix.lower()
    if ending in PICTURES:
        write_picture([chart for part in account.parts(page=True) for chart in part.figures], path)
        return
    text = account.to_html() if ending in PAGES else str(account)
    if ending == ".json":
        text = json.dumps(account.to_dict(), ensure_ascii=False, indent=1) + "\n"
    write_text(path, text)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: in one line, without markup."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def page_text(title: str, subtitle: str, parts: Sequence[Section]) -> str:
    """Return a whole page of sections, with links to them under its heading."""
    names = [part.title.lower().replace(" ", "-") for part in parts]
    links = [element("a", part.title, href=f"#{name}") for name, part in zip(names, parts, strict=True)]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", files(__package__).joinpath("page.css").read_text("utf8")),
    )
    heading = element(
        "header",
        element("h1", title),
        element("p", subtitle, class_="subtitle"),
        element("nav", links, aria_label="Sections"),
    )
    sections = [_section(name, part) for name, part in zip(names, parts, strict=True)]
    root = element("html", head, element("body", heading, element("main", sections)), lang="en")
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"  # all but `<style>` escaped


def _section(name: str, part: Section) -> Element:
    """Return a section with its heading, charts, paragraphs and table; `name` is its id."""
    words = element("div", [element("p", text) for text in part.text], class_="words")
    figures = [chart.element() for chart in part.figures]
    return element("section", element("h2", part.title), figures, words, _table(part), id=name)


def _table(part: Section) -> Element | None:
    """Return the table of a section, in a box that scrolls if it is wide, by keyboard too; None without rows."""
    if not part.rows:
        return None

    def side(column: int) -> str | None:
        return None if column < part.n_left else "figure"

    head = [element("th", title, scope="col", class_=side(column)) for column, title in enumerate(part.header)]
    rows = [
        element(
            "tr",
            element("th", row[0], scope="row") if row[0] else element("td"),  # of the same thing as the row above
            [element("td", cell, class_=side(column)) for column, cell in enumerate(row[1:], 1)],
        )
        for row in part.rows
    ]
    header = element("thead", element("tr", head)) if any(part.header) else None
    table = element("table", header, element("tbody", rows))
    return element("div", table, class_="scroll", role="region", tabindex=0, aria_label=part.title)


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


@dataclass(frozen=True)
class Chart:
    """A line chart.

    name     unique in its page
    lines    points by ascending x of each line, by its name
    measure  what the other axis is of
    ranges   the least and the greatest height at each point of some lines, which are shaded
    """

    name: str
    caption: str
    lines: Mapping[str, Sequence[Point]]
    x: Axis
    measure: str
    ranges: Mapping[str, Sequence[Point]] = field(default_factory=dict)

    height = HEIGHT

    @property
    def y(self) -> Axis:
        """The axis of the measure, over the range of the lines."""
        heights = [height for line in self.lines.values() for _, height in line]
        heights += [height for ends in self.ranges.values() for end in ends for height in end]
        return Axis(self.measure, ticks(min(heights), max(heights)))

    def element(self) -> Element:
        """Return the chart as SVG, with its caption and its legend."""
        width = WIDTH - LEFT - RIGHT
        height = HEIGHT - TOP - BOTTOM
        y = self.y

        def point(value: Point) -> str:
            return f"{self.x.position(value[0], LEFT, width):.1f},{y.position(value[1], TOP + height, -height):.1f}"

        described = "; ".join(f"{name} {line[0][1]:.4g} to {line[-1][1]:.4g}" for name, line in self.lines.items())
        shaded = [
            element("polygon", points=" ".join(map(point, self._outline(name))), class_=f"range s{number % STYLES}")
            for number, name in enumerate(self.lines)
            if name in self.ranges
        ]
        lines = [
            element("polyline", points=" ".join(map(point, line)), class_=f"series s{number % STYLES}")
            for number, line in enumerate(self.lines.values())
        ]
        drawn = [*_y_axis(y, height), *_x_axis(self.x, TOP + height), *shaded, *lines]
        keys = element("ul", list(map(_key, range(len(self.lines)), self.lines)), class_="keys")
        return _figure(self, described, drawn, keys)

    def _outline(self, name: str) -> list[Point]:
        """Return the points around the range of a line."""
        lows, highs = zip(*self.ranges[name], strict=True)
        places = [place for place, _ in self.lines[name]]
        return [*zip(places, lows, strict=True), *zip(places[::-1], highs[::-1], strict=True)]

    def draw(self, axes: Any) -> None:
        """Draw the chart on axes of matplotlib; its caption is left to the text around the picture."""
        for name, line in self.lines.items():
            places = [self.x.scale(place) for place, _ in line]
            (drawn,) = axes.plot(places, [height for _, height in line], label=name)
            if name in self.ranges:
                axes.fill_between(
                    places, *zip(*self.ranges[name], strict=True), color=drawn.get_color(), alpha=0.15, linewidth=0
                )
        axes.set_xticks(list(map(self.x.scale, self.x.ticks)), [f"{tick:g}" for tick in self.x.ticks])
        axes.set(xlabel=self.x.label, ylabel=self.y.label)
        axes.legend()


@dataclass(frozen=True)
class DotChart:
    """A chart of values by name, each on a line of its own.

    name     unique in its page
    caption  what is shown
    values   the value of each name, and the ends of its interval where it has one
    measure  what the axis is of
    """

    name: str
    caption: str
    values: Mapping[str, Sequence[float]]
    measure: str

    @property
    def height(self) -> int:
        """The height, by the number of names."""
        return TOP + ROW * len(self.values) + BOTTOM

    def element(self) -> Element:
        """Return the chart as SVG, with its caption."""
        every = [value for values in self.values.values() for value in values]
        x = Axis(self.measure, ticks(min(every), max(every), 4))
        drawn = _x_axis(x, self.height - BOTTOM, NAMES)
        for number, (name, values) in enumerate(self.values.items()):
            y = TOP + ROW * (number + 0.5)
            value, *ends = (x.position(value, NAMES, WIDTH - RIGHT - NAMES) for value in values)
            shown = name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
            drawn.append(_text(shown, NAMES - 8, y + 4, "end"))
            if ends:
                points = " ".join(f"{end:.1f},{y:.1f}" for end in ends)
                drawn.append(element("polyline", points=points, class_="series s1"))
            drawn.append(element("circle", cx=f"{value:.1f}", cy=f"{y:.1f}", r=4, class_="dot s1"))
        described = "; ".join(f"{name} {values[0]:.4g}" for name, values in self.values.items())
        return _figure(self, described, drawn)

    def draw(self, axes: Any) -> None:
        """Draw the chart on axes of matplotlib; its caption is left to the text around the picture."""
        for y, (value, *ends) in enumerate(self.values.values()):
            axes.plot(value, y, "o", color="C0")
            axes.plot(ends, [y] * len(ends), color="C0")
        axes.set_yticks(range(len(self.values)), list(self.values))
        axes.set(xlabel=self.measure, ylim=(len(self.values) - 0.5, -0.5))


def _figure(chart: Chart | DotChart, described: str, drawn: list[Element], *keys: Element) -> Element:
    """Return what is drawn as SVG with a title and a description, below its caption and legend."""
    svg = element(
        "svg",
        element("title", chart.caption, id=f"{chart.name}-title"),
        element("desc", described, id=f"{chart.name}-desc"),
        drawn,
        viewBox=f"0 0 {WIDTH} {chart.height}",
        role="img",
        aria_labelledby=f"{chart.name}-title {chart.name}-desc",
    )
    return element("figure", element("figcaption", f"{chart.caption}."), *keys, svg)


def matplotlib_figure(height: float = HEIGHT) -> Any:
    """Return an empty figure for charts of this height together; refuse where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInputError(
            "matplotlib: expected it installed to draw a picture, got none. Run `pip install matplotlib` (extra plot)."
        ) from None
    return Figure((WIDTH / UNITS_OF_INCH, height / UNITS_OF_INCH), layout="constrained")


def write_picture(charts: Sequence[Chart | DotChart], path: str | Path) -> None:
    """Write charts below each other in the format that the ending of the file says; the same bytes every time."""
    if not charts:
        raise InvalidInputError(f"{path}: expected something with a chart, got none. Write a page (.html) or text.")
    heights = [chart.height for chart in charts]
    figure = matplotlib_figure(sum(heights))
    from matplotlib import rc_context

    places = figure.subplots(len(charts), squeeze=False, gridspec_kw={"height_ratios": heights})
    for chart, axes in zip(charts, places[:, 0], strict=True):
        chart.draw(axes)
    ending = Path(path).suffix.lower()
    with whole_file(path, binary=True) as file, rc_context({"svg.hashsalt": ""}):
        figure.savefig(file, format=ending[1:], dpi=200, metadata=PICTURES[ending])


def _key(number: int, name: str) -> Element:
    """Return an entry of a legend: a name with its line."""
    line = element("line", x1=0, y1=4, x2=28, y2=4, class_=f"series s{number % STYLES}")
    return element("li", element("svg", line, viewBox="0 0 28 8", aria_hidden="true"), name, class_="key")


def _y_axis(y: Axis, height: float) -> list[Element]:
    drawn = []
    for tick in y.ticks:
        position = y.position(tick, TOP + height, -height)
        drawn += [
            _line(LEFT, position, WIDTH - RIGHT, position),
            _text(f"{tick:g}", LEFT - 6, position + 4, "end"),
        ]
    rotation = f"rotate(-90 12 {TOP + height / 2:g})"
    return [*drawn, _text(y.label, 12, TOP + height / 2, "axis-label middle", rotation)]


def _x_axis(x: Axis, bottom: float, left: float = LEFT) -> list[Element]:
    drawn = []
    width = WIDTH - RIGHT - left
    for tick in x.ticks:
        position = x.position(tick, left, width)
        drawn += [_line(position, TOP, position, bottom), _text(f"{tick:g}", position, bottom + 15, "middle")]
    return [*drawn, _text(x.label, left + width / 2, bottom + BOTTOM - 8, "axis-label middle")]


def _line(x1: float, y1: float, x2: float, y2: float) -> Element:
    return element("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_="rule")


def _text(text: str, x: float, y: float, style: str, transform: str | None = None) -> Element:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", class_=style, transform=transform)


class Curve(Account):
    """Base class of curves: the measure of each system by a number."""

    measure: str
    header: Sequence[str]  # of the rows in a file

    @property
    @abstractmethod
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """System, number, value, and more values of each point."""

    def chart(self, x: Axis, n_rows: int | None = None) -> Chart:
        """Return a line for each system of the first rows; that of one point is level, over all of the axis."""
        lines: dict[str, list[Point]] = {}
        ranges: dict[str, list[Point]] = {}
        for system, number, value, *interval in self.rows[:n_rows]:
            lines.setdefault(system, []).append((float(number), value))
            if interval:
                ranges.setdefault(system, []).append((interval[0], interval[1]))
        ranges = {name: ends for name, ends in ranges.items() if len(ends) > 1}
        ends = x.ticks[0], x.ticks[-1]
        lines |= {name: [(end, line[0][1]) for end in ends] for name, line in lines.items() if len(line) == 1}
        caption = f"{self.title}; shaded: 95 % intervals" if ranges else self.title
        return Chart("curve", caption, lines, x, self.measure, ranges)

    def write(self, folder: Path, name: str) -> None:
        """Write the rows, and the page."""
        write_text(
            folder / f"{name}.tsv", "".join("\t".join(map(str, values)) + "\n" for values in (self.header, *self.rows))
        )
        write_account(self, folder / f"{name}.html")
