"""Click models: estimates for each query-document pair of a log.

Position-based model (`pbm`): the examination theta of each position is estimated first (`examination.py`), then the
attractiveness gamma of each pair. gamma is the mode of its posterior. The prior is m examined impressions with the
mean mu of all pairs, and gamma maximises

    (c + m mu) log gamma + m (1 - mu) log(1 - gamma) + sum over unclicked impressions of log(1 - theta gamma)

which is concave in gamma. The standard error of gamma is the inverse square root of the curvature at the maximum.

Cascade models (`cascade`, `dependent`): documents are examined from the top, down to the first or the last click, or
all where there is none. The value of a pair is its clicks over its examined impressions, with a prior.

Clicks over expected clicks (`coec`), with the click rate r of all impressions and m impressions of prior:

    (c + m r) / (sum over impressions of CTR(position) + m r)

The value is 1 for as many clicks as expected. The model assumes that documents are equally attractive on average at
all positions.

Click-through rates (`ctr`): clicks over impressions, whatever the position. They favour documents that were shown at
the top.

References
----------
M. Richardson, E. Dominowska and R. Ragno, Predicting Clicks: Estimating the Click-Through Rate for New Ads, WWW 2007.
A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search, 2015, section 3.2.
N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models, WSDM 2008.
F. Guo, C. Liu and Y. Wang, Efficient multiple-click models in web search, WSDM 2009, section 4.1 (the last click
for the last examined document).
W. Zhang and R. Jones, Comparing Click Logs and Editorial Labels for Training Query Rewriting, Query Log Analysis
workshop at WWW 2007 (clicks over expected clicks).

"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.cells import Cells
from rerank.clicks.examination import Examination, examination
from rerank.clicks.record import Clicks
from rerank.runtime.products import array_dot
from rerank.runtime.sums import total
from rerank.types import Floats, Ints, query_rows

HALVINGS = 40  # of the interval from 0 to 1 that holds gamma


@dataclass(frozen=True)
class Values:
    """Estimates of a model for the pairs of `cells`; see `ClickEstimates`."""

    cells: Cells
    values: Floats
    errors: Floats
    exposures: Floats
    examination: Floats | None = None
    notes: tuple[str, ...] = ()


# A click model returns the values of a log's pairs. It takes the log, the number of prior impressions, which have the
# mean click rate of all pairs, and examination by position, (n_positions,). Only `pbm` uses examination; None estimates
# it from the log.
ClickModel = Callable[[Clicks, float, Floats | None], Values]


def beta_values(clicks: Floats, impressions: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return (c + prior * mean) / (n + prior) and the standard deviation of the beta distribution with that mean."""
    mean = total(clicks) / max(total(impressions), 1.0)
    divisor = impressions + prior
    values = np.divide(clicks + prior * mean, divisor, out=np.full(len(clicks), mean), where=divisor > 0)
    return values, np.sqrt(values * (1.0 - values) / (divisor + 1.0))


def position_based(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the attractiveness of each pair: the click rate on impressions that were examined."""
    cells = Cells.of(clicks)
    seen = examination(cells) if theta is None else Examination(theta, np.zeros(len(theta), dtype=np.bool_))
    of_cell = np.minimum(seen.theta, 1.0)[cells.place]
    exposures = cells.by_pair(cells.impressions * of_cell)
    return Values(cells, *attractiveness(cells, of_cell, prior), exposures, seen.theta, seen.notes)


def attractiveness(cells: Cells, theta: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return gamma of each pair and its standard error, (n_pairs,); theta is that of each cell, (n_cells,)."""
    missed = cells.impressions - cells.clicks
    counts = cells.by_pair(cells.clicks)
    mean = min(total(cells.clicks) / max(array_dot(cells.impressions, theta), 1.0), 1.0)
    up = counts + prior * mean
    down = np.full(len(counts), prior * (1.0 - mean))

    def slope(gamma: Floats) -> Floats:
        return up / gamma - down / (1.0 - gamma) - cells.by_pair(missed * theta / (1.0 - theta * gamma[cells.pair]))

    low = np.zeros(len(counts))
    high = np.ones(len(counts))
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        rises = slope(middle) > 0.0
        low = np.where(rises, middle, low)
        high = np.where(rises, high, middle)
    gamma = np.clip((low + high) / 2.0, 1e-9, 1.0 - 1e-9)
    curved = up / gamma**2 + down / (1.0 - gamma) ** 2
    curved += cells.by_pair(missed * (theta / (1.0 - theta * gamma[cells.pair])) ** 2)
    return gamma, 1.0 / np.sqrt(np.maximum(curved, 1e-12))


def cascade(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on its impressions down to the first click of the list."""
    return _of_rows(clicks, _clicks_before(clicks) == 0, prior)


def dependent(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on its impressions down to the last click of the list."""
    of_row = query_rows(clicks.list_ptr)
    totals = np.bincount(of_row, clicks.clicked)[of_row]
    to_come = totals - _clicks_before(clicks)  # clicks from the row on, its own included
    return _of_rows(clicks, (to_come > 0) | (totals == 0), prior)


def _clicks_before(clicks: Clicks) -> Ints:
    """Return the number of clicks above each row in its list."""
    above: Ints = np.cumsum(clicks.clicked) - clicks.clicked
    return above - np.repeat(above[clicks.list_ptr[:-1]], np.diff(clicks.list_ptr))


def _of_rows(clicks: Clicks, rows: NDArray[np.bool_] | None, prior: float) -> Values:
    """Return the click rate of each pair on the impressions that `rows` selects, (n_rows,) bool; None for all."""
    cells = Cells.of(clicks, rows)
    impressions = cells.by_pair(cells.impressions)
    return Values(cells, *beta_values(cells.by_pair(cells.clicks), impressions, prior), impressions)


def clicks_over_expected(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return clicks over expected clicks of each pair; the errors are those of Poisson counts."""
    cells = Cells.of(clicks)
    rates = cells.by_place(cells.clicks) / np.maximum(cells.by_place(cells.impressions), 1.0)
    expected = cells.by_pair(cells.impressions * rates[cells.place])
    extra = prior * total(cells.clicks) / total(cells.impressions)
    counts = cells.by_pair(cells.clicks) + extra
    divisor = expected + extra
    inverse = np.divide(1.0, divisor, out=np.zeros(len(divisor)), where=divisor > 0)
    return Values(cells, counts * inverse, np.sqrt(counts) * inverse, expected)


def click_rate(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on all impressions."""
    return _of_rows(clicks, None, prior)


MODELS: dict[str, ClickModel] = {
    "pbm": position_based,
    "cascade": cascade,
    "dependent": dependent,
    "coec": clicks_over_expected,
    "ctr": click_rate,
}
