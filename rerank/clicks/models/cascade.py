"""Cascade models: documents are examined from the top, and clicks say how far.

cascade    down to the first click, or all where there is none
dependent  down to the last click, or all where there is none

The value of a pair is its clicks over its examined impressions, with a prior.

References
----------
N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models, WSDM 2008.
F. Guo, C. Liu and Y. Wang, Efficient multiple-click models in web search, WSDM 2009: the estimate that takes the last
click for the last examined document (section 4.1).

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.cells import Cells
from rerank.clicks.estimates import ClickModel, Values, beta_values, register
from rerank.clicks.record import Clicks
from rerank.types import Floats, query_rows


@register("cascade")
class Cascade(ClickModel):
    """Documents down to the first click."""

    def estimate(self, clicks: Clicks, prior: float, theta: Floats | None = None) -> Values:
        """Return the click rate of each pair on its examined impressions."""
        return _of_examined(clicks, _clicks_before(clicks) == 0, prior)


@register("dependent")
class Dependent(ClickModel):
    """Documents down to the last click."""

    def estimate(self, clicks: Clicks, prior: float, theta: Floats | None = None) -> Values:
        """Return the click rate of each pair on its examined impressions."""
        of_row = query_rows(clicks.list_ptr)
        totals = np.bincount(of_row, clicks.clicked)[of_row]
        to_come = totals - _clicks_before(clicks)  # the row's own click, too
        return _of_examined(clicks, (to_come > 0) | (totals == 0), prior)


def _clicks_before(clicks: Clicks) -> NDArray[np.int64]:
    """Return the number of clicks above each row in its list."""
    above: NDArray[np.int64] = np.cumsum(clicks.clicked) - clicks.clicked
    first = above[clicks.list_ptr[:-1]]
    return above - np.repeat(first, np.diff(clicks.list_ptr))


def _of_examined(clicks: Clicks, examined: NDArray[np.bool_], prior: float) -> Values:
    cells = Cells.of(clicks, examined)
    impressions = cells.by_pair(cells.impressions)
    return Values(cells, *beta_values(cells.by_pair(cells.clicks), impressions, prior), impressions)
