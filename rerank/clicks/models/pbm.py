"""Position-based model: P(click) = theta of the position times gamma of the pair, gamma = P(click | examined).

theta is that of `rerank.clicks.estimates`. gamma is the mode of its posterior: with m impressions of the mean mu of
all pairs as the prior, it maximises

    (c + m mu) log gamma + m (1 - mu) log(1 - gamma) + sum over unclicked impressions of log(1 - theta gamma)

which is concave in gamma. Its standard error is that of the curvature there.

References
----------
M. Richardson, E. Dominowska and R. Ragno, Predicting Clicks: Estimating the Click-Through Rate for New Ads, WWW 2007.
A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search, 2015, section 3.2.

"""

from __future__ import annotations

import numpy as np

from rerank.clicks.estimates import MODELS, Cells, Examination, Values, examination
from rerank.clicks.record import Clicks
from rerank.types import Floats

HALVINGS = 40


@MODELS.register("pbm")
def position_based(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the attractiveness of each pair: the click rate on impressions that were examined."""
    cells = Cells.of(clicks)
    seen = examination(cells) if theta is None else Examination(theta, np.zeros(len(theta), dtype=np.bool_))
    of_cell = np.minimum(seen.theta, 1.0)[cells.place]
    exposures = cells.by_pair(cells.impressions * of_cell)
    return Values(cells, *attractiveness(cells, of_cell, prior), exposures, seen.theta, seen.notes)


def attractiveness(cells: Cells, theta: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return gamma of each pair and its standard error; theta is that of each cell."""
    missed = cells.impressions - cells.clicks
    counts = cells.by_pair(cells.clicks)
    mean = min(float(cells.clicks.sum() / max(cells.impressions @ theta, 1.0)), 1.0)
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
