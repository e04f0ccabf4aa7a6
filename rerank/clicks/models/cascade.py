"""Cascade models: documents are examined from the top, and clicks say how far.

cascade    down to the first click, or all where there is none
dependent  down to the last click, or all where there is none

The value of a pair is its clicks over its examined impressions, with a prior.

References
----------
N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models, WSDM 2008.
F. Guo, C. Liu and Y. Wang, Efficient multiple-click models in web search, WSDM 2009: the estimate that takes the last
click for the last examined document (section 4.1).

COEC: clicks over the clicks that the positions of the impressions lead one to expect.

    (c + m r) / (sum over impressions of CTR(position) + m r)

with the click rate r of all impressions and m impressions of prior; 1 is as many clicks as expected. Each impression
has its own position. It takes the documents of all positions for equally attractive on average.

References
----------
W. Zhang and R. Jones, Comparing Click Logs and Editorial Labels for Training Query Rewriting, Query Log Analysis
workshop at WWW 2007.

Click-through rates: clicks over impressions, whatever the position. They follow the order of the log.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.estimates import MODELS, Cells, Values, beta_values
from rerank.clicks.record import Clicks
from rerank.types import Floats, query_rows


@MODELS.register("cascade")
def cascade(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on its impressions down to the first click of the list."""
    return _of_rows(clicks, _clicks_before(clicks) == 0, prior)


@MODELS.register("dependent")
def dependent(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on its impressions down to the last click of the list."""
    of_row = query_rows(clicks.list_ptr)
    totals = np.bincount(of_row, clicks.clicked)[of_row]
    to_come = totals - _clicks_before(clicks)  # the row's own click, too
    return _of_rows(clicks, (to_come > 0) | (totals == 0), prior)


def _clicks_before(clicks: Clicks) -> NDArray[np.int64]:
    """Return the number of clicks above each row in its list."""
    above: NDArray[np.int64] = np.cumsum(clicks.clicked) - clicks.clicked
    first = above[clicks.list_ptr[:-1]]
    return above - np.repeat(first, np.diff(clicks.list_ptr))


def _of_rows(clicks: Clicks, rows: NDArray[np.bool_] | None, prior: float) -> Values:
    """Return the click rate of each pair on some impressions, None for all."""
    cells = Cells.of(clicks, rows)
    impressions = cells.by_pair(cells.impressions)
    return Values(cells, *beta_values(cells.by_pair(cells.clicks), impressions, prior), impressions)


@MODELS.register("coec")
def clicks_over_expected(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return clicks over expected clicks of each pair; the errors are those of Poisson counts."""
    cells = Cells.of(clicks)
    rates = cells.by_place(cells.clicks) / np.maximum(cells.by_place(cells.impressions), 1.0)
    expected = cells.by_pair(cells.impressions * rates[cells.place])
    extra = prior * cells.clicks.sum() / cells.impressions.sum()
    counts = cells.by_pair(cells.clicks) + extra
    total = expected + extra
    inverse = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
    return Values(cells, counts * inverse, np.sqrt(counts) * inverse, expected)


@MODELS.register("ctr")
def click_rate(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on all impressions."""
    return _of_rows(clicks, None, prior)
