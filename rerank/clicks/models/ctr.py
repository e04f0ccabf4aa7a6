"""Click-through rates: clicks over impressions, whatever the position. They follow the order of the log."""

from __future__ import annotations

from rerank.clicks.cells import Cells
from rerank.clicks.estimates import ClickModel, Values, beta_values, register
from rerank.clicks.record import Clicks
from rerank.types import Floats


@register("ctr")
class ClickRate(ClickModel):
    """Clicks over impressions."""

    def estimate(self, clicks: Clicks, prior: float, theta: Floats | None = None) -> Values:
        """Return the click rate of each pair."""
        cells = Cells.of(clicks)
        impressions = cells.by_pair(cells.impressions)
        return Values(cells, *beta_values(cells.by_pair(cells.clicks), impressions, prior), impressions)
