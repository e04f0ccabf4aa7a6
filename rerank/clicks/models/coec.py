"""COEC: clicks over the clicks that the positions of the impressions lead one to expect.

    (c + m r) / (sum over impressions of CTR(position) + m r)

with the click rate r of all impressions and m impressions of prior; 1 is as many clicks as expected. Each impression
has its own position. It takes the documents of all positions for equally attractive on average.

References
----------
W. Zhang and R. Jones, Comparing Click Logs and Editorial Labels for Training Query Rewriting, Query Log Analysis
workshop at WWW 2007.

"""

from __future__ import annotations

import numpy as np

from rerank.clicks.cells import Cells
from rerank.clicks.estimates import ClickModel, Values, register
from rerank.clicks.record import Clicks
from rerank.types import Floats


@register("coec")
class ClicksOverExpected(ClickModel):
    """Clicks over expected clicks."""

    def estimate(self, clicks: Clicks, prior: float, theta: Floats | None = None) -> Values:
        """Return clicks over expected clicks of each pair; the errors are those of Poisson counts."""
        cells = Cells.of(clicks)
        rates = cells.by_place(cells.clicks) / np.maximum(cells.by_place(cells.impressions), 1.0)
        expected = cells.by_pair(cells.impressions * rates[cells.place])
        extra = prior * cells.clicks.sum() / cells.impressions.sum()
        counts, total = cells.by_pair(cells.clicks) + extra, expected + extra
        inverse = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
        return Values(cells, counts * inverse, np.sqrt(counts) * inverse, expected)
