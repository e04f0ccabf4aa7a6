"""A comparison as a part of a notebook: means, differences with intervals and p, and a chart of the first measure."""

from __future__ import annotations

from xml.etree.ElementTree import tostring

from rerank.evaluation.comparison import Comparison, shows
from rerank.evaluation.page.build import html_page
from rerank.evaluation.page.figures import PageContent, interval_figures
from rerank.evaluation.page.markup import element, folded, table
from rerank.evaluation.report import DIFFERENCE_HEADER, difference_cells, figure, notes

# Of the notebook's page nothing but this part is styled; light and dark colours are those of the text around it.
STYLE = """
.rerank-shown { max-width: 60rem; }
.rerank-shown table { margin: 0 0 1em 0; }
.rerank-shown th, .rerank-shown td { padding: 2px 10px 2px 0; text-align: right; white-space: nowrap; }
.rerank-shown th:first-child, .rerank-shown td:first-child { text-align: left; }
.rerank-shown figure { margin: 0 0 1em 0; max-width: 34rem; }
.rerank-shown svg { width: 100%; font-size: 12px; }
.rerank-shown svg text { fill: currentColor; }
.rerank-shown svg .middle { text-anchor: middle; }
.rerank-shown svg .end { text-anchor: end; }
.rerank-shown svg .rule { stroke: currentColor; stroke-opacity: 0.15; }
.rerank-shown svg .zero { stroke: currentColor; stroke-opacity: 0.6; }
.rerank-shown svg .whisker { stroke-width: 2; stroke: #59636e; }
.rerank-shown svg .point { stroke-width: 2; stroke: #59636e; fill: none; }
.rerank-shown svg .whisker.gain, .rerank-shown svg .point.gain { stroke: #0a7a5a; }
.rerank-shown svg .whisker.loss, .rerank-shown svg .point.loss { stroke: #b3391e; }
.rerank-shown svg .point.gain { fill: #0a7a5a; }
.rerank-shown svg .point.loss { fill: #b3391e; }
"""


@shows("html")
def comparison_page(comparison: Comparison) -> str:
    """Return a whole page, which loads nothing."""
    title = f"Comparison with {comparison.baseline}" if comparison.systems else f"Evaluation of {comparison.baseline}"
    return html_page(PageContent(title, comparison))


@shows("notebook")
def notebook_part(comparison: Comparison) -> str:
    """Return the part of a notebook."""
    means = [
        [name, *(figure(result[measure]) for measure in comparison.measures)]
        for name, result in comparison.results.items()
    ]
    content = [element("style", STYLE), element("p", comparison.summary()), table(["run", *comparison.measures], means)]
    if comparison.pairs:
        content.append(table(DIFFERENCE_HEADER, [difference_cells(comparison, *pair) for pair in comparison.pairs]))
        content += interval_figures(comparison)
    lines = element("ul", [element("li", line) for line in notes(comparison)])
    content.append(folded("What the figures rest on", lines))
    return tostring(element("div", content, class_="rerank-shown"), encoding="unicode", method="html")
