"""The page as text: its content, and that nothing in it can run or load."""

from __future__ import annotations

import html
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any

import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import (
    Comparison,
    compare,
    difference_cells,
    figure,
    mean_rows,
    notes,
)
from rerank.evaluation.comparison_page import charts, query_details, report
from rerank.evaluation.page import PICTURES, Axis, Chart, DotChart, matplotlib_figure, ticks, write_picture
from rerank.types import Qrels, Run
from tests.evaluation.test_comparison import world

NASTY = "<script>alert(1)</script>\"'&amp;</style></title><img src=x onerror=alert(1)>"


def nasty_content(n_queries: int = 40) -> tuple[Any, ...]:
    """A page's content whose every name, id and text would be markup if it could."""
    qrels, runs = world(n_queries)

    def named(table):
        return {
            q: {f"{doc}{NASTY}".replace(" ", ""): value for doc, value in docs.items()} for q, docs in table.items()
        }

    qrels = named(qrels)
    runs = {f"{name}{NASTY}": Run.of(named(run)) for name, run in runs.items()}
    compared = compare(qrels, runs, ["nDCG@10", "AP"])
    topics = {query_id: f"{query_id} {NASTY} \x00\ud800" for query_id in qrels}
    details = query_details(compared, 2, Qrels.of(qrels), runs)
    documents = {move.doc_id: NASTY * 5 for detail in details for move in detail.moves}
    return NASTY, compared, details, documents, topics


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return nasty_content()[1]


@pytest.fixture(scope="module")
def page() -> str:
    return report(*nasty_content())


class Reader(HTMLParser):
    """Collects tags with their attributes, and all text, of a page in which every tag must be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_page_is_whole_and_nothing_in_it_runs_or_loads(page: str) -> None:
    reader = read(page)
    names = {tag for tag, _ in reader.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "base", "form", "image", "use", "foreignobject"}
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "xlink:href")], tag
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page
    policy = next(attributes for tag, attributes in reader.tags if attributes.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_what_users_wrote_is_shown_as_they_wrote_it(page: str, compared: Comparison) -> None:
    text = read(page).text
    assert text.count(NASTY) > 50
    for name in compared.results:
        assert name in text
    page.encode("utf8")
    assert not re.search("[\x00\ud800]", page)


def test_figures_are_those_of_the_terminal(page: str, compared: Comparison) -> None:
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", page)
    shown = [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in cells]
    rows = "\n".join(shown)
    for row, result in zip(mean_rows(compared, marked=True), compared.results.values(), strict=True):
        assert "\n".join(row) in rows
        assert all(figure(value) in shown for value in result.per_query["nDCG@10"].values())
    for name in compared.systems:
        for measure in compared.measures:
            assert "\n".join(difference_cells(compared, name, measure)) in rows
    text = read(page).text
    assert all(line in text for line in notes(compared))


def test_means_that_differ_significantly_are_marked(compared: Comparison) -> None:
    marked = {row[0]: row[1:] for row in mean_rows(compared, marked=True)}
    for run in compared.systems:
        for measure, cell in zip(compared.measures, marked[run], strict=True):
            is_worse = compared.differences[run][measure].difference < 0
            assert cell.endswith("†" if is_worse else "*") == (compared.p_values[run][measure] < 0.05)
            assert not cell.endswith("*" if is_worse else "†")
    assert not any(cell.endswith(("*", "†")) for cell in marked[compared.baseline])


def test_charts_have_titles_descriptions_and_a_line_for_each_run(page: str, compared: Comparison) -> None:
    reader = read(page)
    charts = [attributes for tag, attributes in reader.tags if tag == "svg" and attributes.get("role") == "img"]
    ids = {attributes["id"] for _, attributes in reader.tags if "id" in attributes}
    assert len(ids) == sum("id" in attributes for _, attributes in reader.tags)
    assert {name for chart in charts for name in (chart["aria-labelledby"] or "").split()} <= ids
    lines = [attributes["points"] or "" for tag, attributes in reader.tags if tag == "polyline"]
    intervals, lines = lines[: len(compared.results)], lines[len(compared.results) :]
    assert {len(points.split()) for points in intervals} == {2}
    n_queries = len(compared.results[compared.baseline].query_ids)
    assert [len(points.split()) for points in lines] == [2] + [n_queries] * len(compared.systems)  # first the baseline
    heights = [float(point.split(",")[1]) for point in lines[1].split()]
    assert heights == sorted(heights)  # the greatest gain first, at the top


def test_page_of_one_run_compares_nothing() -> None:
    qrels, runs = world(4)
    page = report("One", compare(qrels, {"base": runs["base"]}, ["AP"]), [], {}, {})
    text = read(page).text
    assert "Differences" not in text
    assert "baseline" not in text.split("}")[-1]
    assert "4 queries" in text


def test_page_is_the_same_every_time(page: str) -> None:
    assert report(*nasty_content()) == page


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 0.0), (0.0, 1.0), (-0.013, 0.029), (0.31, 0.32), (0, 899), (-3e-7, 4e-7), (-2e-15, 1e-15), (0.25, 0.25)],
)
def test_ticks_are_round_few_and_hold_the_range(low: float, high: float) -> None:
    result = ticks(low, high)
    assert 2 <= len(result) <= 8
    assert result[0] <= low <= high <= result[-1]
    step = result[1] - result[0]
    steps = {round((after - before) / step, 6) for before, after in pairwise(result)}
    assert steps == {1.0}
    assert all(len(f"{tick:g}") <= 7 for tick in result)


@pytest.mark.parametrize("ending", PICTURES)
def test_pictures_of_the_same_charts_are_the_same_bytes(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = {"one": [(1.0, 0.5), (100.0, 0.7)], "two": [(1.0, 0.2), (10.0, 0.4)]}
    chart = Chart("curve", "A curve", lines, Axis("queries", [1, 10, 100], log10), "AP")
    contents = []
    for name in ("first", "second"):
        write_picture([chart, chart], tmp_path / f"{name}{ending}")
        contents.append((tmp_path / f"{name}{ending}").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending])


def test_chart_is_drawn_with_its_lines_ticks_and_names() -> None:
    pytest.importorskip("matplotlib")
    chart = Chart("c", "C", {"one": [(1.0, 0.5), (100.0, 0.7)]}, Axis("n", [1, 100], log10), "AP")
    axes = matplotlib_figure().subplots()
    chart.draw(axes)
    (line,) = axes.get_lines()
    assert line.get_xydata().tolist() == [[0.0, 0.5], [2.0, 0.7]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "100"]
    assert axes.get_xticks().tolist() == [0, 2]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_legend().get_texts()[0].get_text()) == ("n", "AP", "one")


def test_chart_shades_the_ranges_of_lines_in_both_forms() -> None:
    to_hex = pytest.importorskip("matplotlib").colors.to_hex
    lines = {"level": [(1.0, 0.4), (100.0, 0.4)], "one": [(1.0, 0.5), (100.0, 0.7)]}
    chart = Chart("c", "C", lines, Axis("n", [1, 100], log10), "AP", {"one": [(0.45, 0.55), (0.3, 0.95)]})
    assert (chart.y.ticks[0], chart.y.ticks[-1]) == (0.2, 1.0)
    axes = matplotlib_figure().subplots()
    chart.draw(axes)
    (shaded,) = axes.collections
    corners = {tuple(corner) for corner in shaded.get_paths()[0].vertices.tolist()}
    assert corners == {(0.0, 0.45), (0.0, 0.55), (2.0, 0.3), (2.0, 0.95)}
    assert to_hex(shaded.get_facecolor()) == to_hex(axes.get_lines()[1].get_color())
    (polygon,) = [each for each in chart.element().iter("polygon")]
    assert (polygon.get("class"), len(polygon.get("points").split())) == ("range s1", 4)


def test_dots_have_the_place_of_their_value_between_the_ends_of_its_interval() -> None:
    chart = DotChart("d", "D", {"one": (0.5, 0.25, 0.75), "two": (1.0,)}, "AP")
    drawn = chart.element()
    dots = [float(dot.get("cx")) for dot in drawn.iter("circle")]
    (interval,) = [line.get("points").split() for line in drawn.iter("polyline")]
    low, high = (float(point.split(",")[0]) for point in interval)
    assert (low + high) / 2 == pytest.approx(dots[0], abs=0.1)
    assert dots[1] - dots[0] == pytest.approx(high - low, abs=0.1)
    assert [text.text for text in drawn.iter("text")][-2:] == ["one", "two"]


def test_dots_are_drawn_from_top_to_bottom() -> None:
    pytest.importorskip("matplotlib")
    axes = matplotlib_figure().subplots()
    DotChart("d", "D", {"one": (0.5, 0.25, 0.75), "two": (1.0,)}, "AP").draw(axes)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two"]
    assert axes.yaxis_inverted()
    points = [line.get_xydata().tolist() for line in axes.get_lines() if len(line.get_xydata())]
    assert points == [[[0.5, 0.0]], [[0.25, 0.0], [0.75, 0.0]], [[1.0, 1.0]]]


def test_charts_of_a_comparison_are_means_and_gains_where_there_are_any(compared: Comparison) -> None:
    means, gains = charts(compared)
    assert isinstance(means, DotChart)
    for name, (mean, low, high) in means.values.items():
        assert low <= mean == compared.results[name]["nDCG@10"] <= high
    assert gains.name == "gains"
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    (alone,) = charts(compare(qrels, {"run": run}, ["AP"]))
    assert alone.name == "means"
    assert charts(compare(qrels, {"run": run}, ["num_ret"])) == []


def test_picture_is_refused_without_charts_or_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match=r"none\.png: expected something with a chart, got none\. Write a page"):
        write_picture([], tmp_path / "none.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidInputError, match=r"matplotlib: expected it installed .*\(extra plot\)"):
        matplotlib_figure()
