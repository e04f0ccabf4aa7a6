"""Click models: what a log says of each query-document pair, and labels made of it.

pair  a query and a document of the log
cell  a pair at a position

Position-based model (`pbm`): P(click at k) = theta_k gamma. The examination theta_k is the probability that a searcher
looks at position k, relative to the first position; gamma of the pair is P(click | examined). With n_dk impressions and
c_dk clicks of pair d at position k, theta solves, for every k,

    sum_d c_dk = theta_k sum_d n_dk c_d / sum_j n_dj theta_j        (c_d = sum_k c_dk)

whose terms have expectation 0 at the true theta whatever gamma is, so that no gamma has to be estimated: with a few
impressions a pair, expectation maximisation of theta and gamma together is off by two to three times as much, with a
prior on gamma by ten times (benchmarks examination). It is the likelihood of clicks given c_d where clicks are rare,
solved by iterative proportional fitting, and starts from the adjacent chain: theta_(k+1) / theta_k = sum c / n at k + 1
over sum c / n at k, over the pairs shown at both.

gamma is the mode of its posterior: with m impressions of the mean mu of all pairs as the prior, it maximises

    (c + m mu) log gamma + m (1 - mu) log(1 - gamma) + sum over unclicked impressions of log(1 - theta gamma)

which is concave in gamma. Its standard error is that of the curvature there.

Cascade models (`cascade`, `dependent`): documents are examined from the top, down to the first or the last click, or
all where there is none. The value of a pair is its clicks over its examined impressions, with a prior.

Clicks over expected clicks (`coec`), with the click rate r of all impressions and m impressions of prior:

    (c + m r) / (sum over impressions of CTR(position) + m r)

1 is as many clicks as expected. It takes the documents of all positions for equally attractive on average.

Click-through rates (`ctr`): clicks over impressions, whatever the position. They follow the order of the log.

References
----------
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017 (the model).
A. Agarwal, I. Zaitsev, X. Wang, C. Li, M. Najork and T. Joachims, Estimating Position Bias without Intrusive
Interventions, WSDM 2019 (pairs that moved, and the adjacent chain).
M. Richardson, E. Dominowska and R. Ragno, Predicting Clicks: Estimating the Click-Through Rate for New Ads, WWW 2007.
A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search, 2015, section 3.2.
N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models, WSDM 2008.
F. Guo, C. Liu and Y. Wang, Efficient multiple-click models in web search, WSDM 2009, section 4.1 (the last click
for the last examined document).
W. Zhang and R. Jones, Comparing Click Logs and Editorial Labels for Training Query Rewriting, Query Log Analysis
workshop at WWW 2007 (clicks over expected clicks).

"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.clicks.record import Clicks, Numbers
from rerank.errors import InvalidInputError, check_known, log, shown
from rerank.types import Floats, Ints, Qrels, RankingData, pointers, query_rows
from rerank.types.ids import QUERY_ID, Ids, first_broken
from rerank.types.query_table import QueryTable
from rerank.types.text_tables import Shown, counted


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells, sorted by query, document and position, and their pairs.

    pair         (n_cells,) int64 number of the pair
    place        (n_cells,) int64 position, from 0
    impressions  (n_cells,) float64
    clicks       (n_cells,) float64
    query        (n_pairs,) int32 number of the query in the log
    document     (n_pairs,) int32
    n_positions  the last position of the log
    """

    pair: Ints
    place: Ints
    impressions: Floats
    clicks: Floats
    query: Numbers
    document: Numbers
    n_positions: int

    @classmethod
    def of(cls, clicks: Clicks, rows: NDArray[np.bool_] | None = None) -> Cells:
        """Return the counts of a log, or of some of its rows."""
        chosen = clicks if rows is None else clicks.select(rows)
        n_documents = max(len(clicks.doc_ids), 1)
        n_positions = clicks.n_positions
        pair_of_row = chosen.query.astype(np.int64) * n_documents + chosen.document
        cells, row, counts = np.unique(
            pair_of_row * n_positions + (chosen.position - 1), return_inverse=True, return_counts=True
        )
        pairs, place = np.divmod(cells, n_positions)
        numbers, pair = np.unique(pairs, return_inverse=True)
        query, document = (part.astype(np.int32) for part in np.divmod(numbers, n_documents))
        clicked = np.bincount(row, chosen.clicked, len(cells)).astype(np.float64)
        return cls(pair, place, counts.astype(np.float64), clicked, query, document, n_positions)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.query)

    def by_pair(self, values: Floats) -> Floats:
        """Return the sum of the values of each pair's cells, (n_pairs,) float64."""
        return np.asarray(np.bincount(self.pair, values, self.n_pairs), dtype=np.float64)

    def by_place(self, values: Floats) -> Floats:
        """Return the sum of the values at each position, (n_positions,) float64."""
        return np.asarray(np.bincount(self.place, values, self.n_positions), dtype=np.float64)

    def matches(self, clicks: Clicks, table: QueryTable) -> tuple[Ints, Ints]:
        """Return the pairs that a table of documents has, and the row of each in it."""
        query_ptr = pointers(np.bincount(self.query, minlength=len(clicks.query_ids)))
        return table.matches(clicks.query_ids, query_ptr, clicks.doc_ids[self.document])

    def select(self, cells: NDArray[np.bool_]) -> Cells:
        """Return some cells; pairs keep their numbers."""
        columns = self.pair[cells], self.place[cells], self.impressions[cells], self.clicks[cells]
        return Cells(*columns, self.query, self.document, self.n_positions)


PRIOR = 10.0
GRADES = 4


@dataclass(frozen=True, eq=False, repr=False)
class ClickEstimates(Shown):
    """Values of query-document pairs, estimated from clicks.

    Parameters
    ----------
    query_ids, doc_ids : ndarray of str
        The queries and documents of the log.
    query, document : ndarray of shape (n_pairs,), dtype int32
        Query and document of each pair, as numbers in `query_ids` and `doc_ids`.
    values : ndarray of shape (n_pairs,), dtype float64
        The value: the larger, the better. `pbm`, `cascade` and `dependent`: probability of a click on the examined
        document, `ctr`: of a click; `coec`: clicks over expected clicks.
    errors : ndarray of shape (n_pairs,), dtype float64
        Standard errors of the values.
    impressions, clicks : ndarray of shape (n_pairs,), dtype float64
        Counts that the value rests on.
    exposures : ndarray of shape (n_pairs,), dtype float64
        Clicks that the model expects of a document of value 1: impressions times their examination.
    examination : ndarray of shape (n_positions,), dtype float64, optional
        Probability of examination by position, where the model estimates it.
    notes : tuple of str
        What could not be estimated, and what was assumed.

    """

    query_ids: Ids
    doc_ids: Ids
    query: Numbers
    document: Numbers
    values: Floats
    errors: Floats
    impressions: Floats
    clicks: Floats
    exposures: Floats
    examination: Floats | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def grades(self, grades: int = GRADES, thresholds: Sequence[float] | None = None) -> Ints:
        """Return the values as whole numbers from 0.

        Parameters
        ----------
        grades : int
            The greatest grade. Grade g is given to the best 2^-g of all pairs that have it; a pair without a click
            has grade 0.
        thresholds : sequence of float, optional
            The least value of grade 1, 2, ..., in place of `grades`.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype int64
            Grade of each pair.

        Raises
        ------
        InvalidInputError
            If thresholds do not rise, or `grades` is not from 1 to 20.

        """
        if thresholds is None:
            if not 1 <= grades <= 20:
                raise InvalidInputError(f"grades: expected a number from 1 to 20, got {grades}. Give another.")
            steps = np.quantile(self.values, 1.0 - 0.5 ** np.arange(1, grades + 1))
            return np.where(self.clicks > 0, np.searchsorted(steps, self.values, side="right"), 0).astype(np.int64)
        steps = np.asarray(thresholds, dtype=np.float64)
        if not len(steps) or not np.isfinite(steps).all() or (np.diff(steps) <= 0).any():
            raise InvalidInputError(
                f"thresholds: expected finite numbers that rise, got {shown(list(thresholds))}. Write e.g. 0.1,0.2,0.4."
            )
        return np.searchsorted(steps, self.values, side="right").astype(np.int64)

    def to_qrels(self, grades: int = GRADES, thresholds: Sequence[float] | None = None) -> Qrels:
        """Return the grades as judgements, of all pairs that were shown.

        Parameters
        ----------
        grades, thresholds
            As for `grades`.

        Returns
        -------
        Qrels
            The labels.

        Raises
        ------
        InvalidInputError
            If a query is a text with white space, which cannot be an id: read the log with topics.

        """
        labels = self.grades(grades, thresholds)
        names = self.query_ids[np.unique(self.query)].tolist()
        broken = first_broken(names, QUERY_ID)
        if broken is not None:
            raise InvalidInputError(
                f"labels: expected queries with ids, got the text {shown(broken)}. Read the log with topics that have "
                "ids (`--topics FILE`, topics=)."
            )
        return Qrels.from_rows(self.query_ids[self.query], self.doc_ids[self.document], labels)

    def matches(self, data: RankingData) -> tuple[Ints, Ints]:
        """Return the pairs that are rows of ranking data, and their rows, which ascend; (n_matches,) each."""
        query_ptr = pointers(np.bincount(self.query, minlength=len(self.query_ids)))
        pairs, rows = data.matches(self.query_ids, query_ptr, self.doc_ids[self.document])
        order = np.argsort(rows)
        return pairs[order], rows[order]

    def shown(self, data: RankingData) -> tuple[RankingData, Ints]:
        """Return the rows of ranking data that the log showed, with their values as labels, and their pairs.

        What was never shown is left out, since it is not known to be bad.

        Parameters
        ----------
        data : RankingData
            Features of query-document pairs, with the query ids of the log.

        Returns
        -------
        data : RankingData
            The rows that were shown, without queries that have none.
        pairs : ndarray of shape (n_rows,), dtype int64
            Number of the pair of each row.

        Raises
        ------
        InvalidInputError
            If no row was shown.

        """
        pairs, rows = self.matches(data)
        if not len(rows):
            raise InvalidInputError(
                "data: expected rows that the log showed, got none. Give features of the log's queries and documents."
            )
        shown_rows = replace(data.of_rows(rows), labels=self.values[pairs], ideal_labels=None, ideal_ptr=None)
        return shown_rows.select(np.flatnonzero(np.diff(shown_rows.query_ptr) > 0)), pairs

    def summary(self) -> str:
        """Return the counts.

        Returns
        -------
        str
            One line.

        """
        queries = counted(len(np.unique(self.query)), "query", "queries")
        return f"ClickEstimates: {counted(len(self), 'pair')} of {queries}, {int(self.clicks.sum()):,} clicks"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        header : list of str
            The column names.
        rows : list of list
            The values of the first n rows.
        n_rows : int
            Number of all rows.

        """
        columns: dict[str, list[Any]] = {
            "query": self.query_ids[self.query[:n]].tolist(),
            "document": self.doc_ids[self.document[:n]].tolist(),
            "value": self.values[:n].tolist(),
            "error": self.errors[:n].tolist(),
            "impressions": self.impressions[:n].astype(np.int64).tolist(),
            "clicks": self.clicks[:n].astype(np.int64).tolist(),
        }
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)], len(self)


@dataclass(frozen=True)
class Values:
    """What a model says of the pairs of `cells`; see `ClickEstimates`."""

    cells: Cells
    values: Floats
    errors: Floats
    exposures: Floats
    examination: Floats | None = None
    notes: tuple[str, ...] = ()


# A click model returns the values of a log's pairs. It takes the log, the number of impressions that the mean of all
# pairs has, and examination by position, (n_positions,), for models that read it; None is estimated.
ClickModel = Callable[[Clicks, float, Floats | None], Values]


def estimate_clicks(
    clicks: Clicks, model: str = "pbm", *, prior: float = PRIOR, theta: ArrayLike | None = None
) -> ClickEstimates:
    """Estimate from clicks how good each document is for each query.

    Parameters
    ----------
    clicks : Clicks
        The log.
    model : {"pbm", "coec", "cascade", "dependent", "ctr"}
        The click model: examination by position, clicks over expected clicks, documents down to the first click, down
        to the last click, or click rates, which follow the order of the log.
    prior : float
        Number of impressions with the mean of all pairs that is added to each pair.
    theta : array of shape (n_positions,), optional
        Examination by position for `pbm`; estimated from the log if None.

    Returns
    -------
    ClickEstimates
        The values, with standard errors. What could not be estimated is in its notes, and logged as warnings.

    Raises
    ------
    InvalidInputError
        For an unknown model, a negative prior, or a log without a click.

    Notes
    -----
    Debiased labels predict clicks better. On Baidu's logs they did not always agree better with judgements (P. Hager,
    R. Deffayet, J.-M. Renders, O. Zoeter and M. de Rijke, Unbiased Learning to Rank Meets Reality, arXiv 2404.02543).

    """
    if not 0.0 <= prior < 1e9:
        raise InvalidInputError(f"prior: expected a number from 0, got {prior!r}. Give another.")
    if not clicks.clicked.any():
        raise InvalidInputError("clicks: expected at least one click, got none. Give a log with clicks.")
    check_known("click model", model, MODELS)
    found = MODELS[model](clicks, prior, None if theta is None else checked_theta(theta, clicks))
    lists = np.bincount(clicks.query[clicks.list_ptr[:-1]], minlength=len(clicks.query_ids))
    notes = found.notes
    if (lists == 1).any():
        once = f"{np.count_nonzero(lists == 1):,} of {np.count_nonzero(lists):,} queries were seen once"
        notes = (*notes, f"{once}: their values are mostly the prior.")
    for note in notes:
        log.warning("clicks: %s", note)
    cells = found.cells
    return ClickEstimates(
        query_ids=clicks.query_ids,
        doc_ids=clicks.doc_ids,
        query=cells.query,
        document=cells.document,
        values=found.values,
        errors=found.errors,
        impressions=cells.by_pair(cells.impressions),
        clicks=cells.by_pair(cells.clicks),
        exposures=found.exposures,
        examination=found.examination,
        notes=notes,
    )


def checked_theta(theta: ArrayLike, clicks: Clicks) -> Floats:
    """Return examination by position as floats; refuse another number of positions than the log has."""
    values = np.asarray(theta, dtype=np.float64)
    if values.shape != (clicks.n_positions,) or not (values >= 0).all():
        raise InvalidInputError(
            f"theta: expected {clicks.n_positions} numbers from 0, one for each position, got an array of shape "
            f"{values.shape}. Give the examination of every position of the log."
        )
    return values


def beta_values(clicks: Floats, impressions: Floats, prior: float) -> tuple[Floats, Floats]:
    """Return (c + prior * mean) / (n + prior) and its standard error, that of a beta distribution."""
    mean = clicks.sum() / max(impressions.sum(), 1.0)
    total = impressions + prior
    values = np.divide(clicks + prior * mean, total, out=np.full(len(clicks), mean), where=total > 0)
    return values, np.sqrt(values * (1.0 - values) / (total + 1.0))


ROUNDS = 500
TOLERANCE = 1e-7
FEW_CLICKS = 30  # of documents that moved, below which a position is told of


@dataclass(frozen=True, eq=False)
class Examination:
    """Probability of examination by position, relative to the first position of the log that has clicks.

    theta       (n_positions,) float64
    is_assumed  (n_positions,) bool: where no clicked document connects the position with the first, theta is the click
                rate, which takes the documents of all positions for equally attractive
    notes       what is to be told of it
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
            rate = clicks[inside].sum() / (impressions[inside] @ theta[inside])
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
    notes = []
    if is_assumed.any():
        notes.append(
            f"position {_listed(is_assumed)}: no clicked document was shown there and at position {reference + 1}: "
            "examination is the click rate, which takes the documents of all positions for equally attractive."
        )
    few = ~is_assumed & (impressions > 0) & (moved < FEW_CLICKS) & (np.arange(len(moved)) != reference)
    if few.any():
        notes.append(
            f"position {_listed(few)}: examination rests on fewer than {FEW_CLICKS} clicks of documents that moved."
        )
    unclicked = (impressions > 0) & (clicks == 0)
    if unclicked.any():
        notes.append(f"position {_listed(unclicked)}: no clicks: examination is 0.")
    return tuple(notes)


def _listed(positions: np.ndarray) -> str:
    """Return positions, from 1, as `3, 5 to 10`."""
    places = np.flatnonzero(positions) + 1
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


HALVINGS = 40


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


def cascade(clicks: Clicks, prior: float, theta: Floats | None) -> Values:
    """Return the click rate of each pair on its impressions down to the first click of the list."""
    return _of_rows(clicks, _clicks_before(clicks) == 0, prior)


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
