"""Examination: how likely a searcher is to look at a position.

Position-based model (`pbm`): P(click at k) = theta_k gamma. The examination theta_k is the probability that a searcher
looks at position k, relative to the first position; gamma of the pair is P(click | examined). With n_dk impressions and
c_dk clicks of pair d at position k, theta solves, for every k,

    sum_d c_dk = theta_k sum_d n_dk c_d / sum_j n_dj theta_j        (c_d = sum_k c_dk)

whose terms have expectation 0 at the true theta whatever gamma is, so that no gamma has to be estimated: with a few
impressions a pair, expectation maximisation of theta and gamma together is off by two to three times as much, with a
prior on gamma by ten times (benchmarks examination). It is the likelihood of clicks given c_d where clicks are rare,
solved by iterative proportional fitting, and starts from the adjacent chain: theta_(k+1) / theta_k = sum c / n at k + 1
over sum c / n at k, over the pairs shown at both.

References
----------
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017 (the model).
A. Agarwal, I. Zaitsev, X. Wang, C. Li, M. Najork and T. Joachims, Estimating Position Bias without Intrusive
Interventions, WSDM 2019 (pairs that moved, and the adjacent chain).

"""

from dataclasses import dataclass, field

import numpy as np

from rerank.clicks.cells import Cells
from rerank.runtime.products import array_dot
from rerank.runtime.sums import total
from rerank.types import Floats, Ints

ROUNDS = 500
TOLERANCE = 1e-7
FEW_CLICKS = 30  # of documents that moved, below which a note names the position


@dataclass(frozen=True, eq=False)
class Examination:
    """Probability of examination by position, relative to the first position of the log that has clicks.

    theta       (n_positions,) float64
    is_assumed  (n_positions,) bool: where no clicked document connects the position with the first, theta is the click
                rate, which takes the documents of all positions for equally attractive
    notes       notes on the estimates, for users
    """

    theta: Floats
    is_assumed: np.ndarray
    notes: tuple[str, ...] = field(default=())


def examination(cells: Cells) -> Examination:
    """Return the examination of each position."""
    clicks = cells.by_place(cells.clicks)
    impressions = cells.by_place(cells.impressions)
    moved = _moved(cells)
    theta = _fitted(moved, _adjacent_chain(moved))
    group = _connected(moved)
    reference = int(np.argmax(clicks > 0))
    scaled = np.where(clicks > 0, theta, 0.0)
    for number in np.unique(group[clicks > 0]):
        inside = (group == number) & (clicks > 0)
        if number == group[reference]:
            scaled[inside] /= theta[reference]
        else:  # the same mean attractiveness as at the reference
            rate = total(clicks[inside]) / array_dot(impressions[inside], theta[inside])
            scaled[inside] *= rate * impressions[reference] / clicks[reference]
    is_assumed = (group != group[reference]) & (impressions > 0)
    notes = _examination_notes(is_assumed, moved.by_place(moved.clicks), impressions, clicks, reference)
    return Examination(np.minimum(scaled, 1e6), is_assumed, notes)


def _moved(cells: Cells) -> Cells:
    """Return the cells of the pairs that have a click and were shown at several positions; others say nothing."""
    several = np.bincount(cells.pair, minlength=cells.n_pairs) > 1
    return cells.select((several & (cells.by_pair(cells.clicks) > 0))[cells.pair])


def _adjacent_chain(moved: Cells) -> Floats:
    rate = moved.clicks / moved.impressions
    next_to = (moved.pair[1:] == moved.pair[:-1]) & (moved.place[1:] == moved.place[:-1] + 1)
    upper = np.flatnonzero(next_to)
    above = np.bincount(moved.place[upper], rate[upper], moved.n_positions)
    below = np.bincount(moved.place[upper], rate[upper + 1], moved.n_positions)
    ratios = np.ones(moved.n_positions)
    np.divide(below[:-1], above[:-1], out=ratios[1:], where=(above[:-1] > 0) & (below[:-1] > 0))
    return np.asarray(np.cumprod(ratios), dtype=np.float64)


def _fitted(moved: Cells, theta: Floats) -> Floats:
    """Return the solution of the equation of the module, where there are clicks."""
    clicks = moved.by_place(moved.clicks)
    of_pair = moved.by_pair(moved.clicks)
    for _ in range(ROUNDS if len(moved.pair) else 0):
        expected = moved.by_pair(moved.impressions * theta[moved.place])[moved.pair]
        norm = moved.by_place(moved.impressions * of_pair[moved.pair] / expected)
        following = np.divide(clicks, norm, out=theta.copy(), where=(norm > 0) & (clicks > 0))
        change = float(np.abs(following / following.max() - theta / theta.max()).max())
        theta = following
        if change < TOLERANCE:
            break
    return theta


def _connected(moved: Cells) -> Ints:
    """Return the group (n_positions,) of each position: two are in one where clicked documents moved between them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    same = np.flatnonzero(moved.pair[1:] == moved.pair[:-1])
    ends = moved.place[same], moved.place[same + 1]
    links = coo_array((np.ones(len(same)), ends), shape=(moved.n_positions, moved.n_positions))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _examination_notes(
    is_assumed: np.ndarray, moved: Floats, impressions: Floats, clicks: Floats, reference: int
) -> tuple[str, ...]:
    """Return the notes on the estimates."""
    few = ~is_assumed & (impressions > 0) & (moved < FEW_CLICKS) & (np.arange(len(moved)) != reference)
    causes = (
        (
            is_assumed,
            f"no clicked document was shown there and at position {reference + 1}: examination is the click rate, "
            "which takes the documents of all positions for equally attractive.",
        ),
        (few, f"examination rests on fewer than {FEW_CLICKS} clicks of documents that moved."),
        ((impressions > 0) & (clicks == 0), "no clicks: examination is 0."),
    )
    return tuple(f"position {_listed(positions)}: {note}" for positions, note in causes if positions.any())


def _listed(positions: np.ndarray) -> str:
    """Return positions, from 1, as `3, 5 to 10`."""
    places = np.flatnonzero(positions) + 1
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
