"""Values of query-document pairs, estimated from clicks, and labels made of the values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.clicks.cells import matched_pairs
from rerank.clicks.models import MODELS
from rerank.clicks.record import Clicks, Numbers
from rerank.errors import InvalidInputError, check_known, log, shown
from rerank.runtime.fields import Number, Whole, read_at
from rerank.types import Floats, Ints, Qrels, RankingData, Shown, counted
from rerank.types.ids import QUERY_ID, Ids, first_broken

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
        Clicks that the model expects of a document of value 1: the sum of examination over its impressions.
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

    def grades(self, grades: int = GRADES) -> Ints:
        """Return the values as whole numbers from 0.

        Parameters
        ----------
        grades : int
            The greatest grade. A pair has at least grade g if its value is among the best 2^-g of all pairs and it has
            a click; a pair without a click has grade 0.

        Returns
        -------
        ndarray of shape (n_pairs,), dtype int64
            Grade of each pair.

        Raises
        ------
        InvalidInputError
            If `grades` is not a whole number from 1 to 20.

        """
        grades = read_at("grades", Whole(1, 20), grades)
        steps = np.quantile(self.values, 1.0 - 0.5 ** np.arange(1, grades + 1))
        return np.where(self.clicks > 0, np.searchsorted(steps, self.values, side="right"), 0).astype(np.int64)

    def to_qrels(self, grades: int = GRADES) -> Qrels:
        """Return the grades as judgements, of all pairs that were shown.

        Parameters
        ----------
        grades : int
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
        labels = self.grades(grades)
        names = self.query_ids[np.unique(self.query)].tolist()
        broken = first_broken(names, QUERY_ID)
        if broken is not None:
            raise InvalidInputError(
                f"labels: expected queries with ids, got the text {shown(broken)}. Read the log with topics that have "
                "ids (`--topics FILE`, topics=)."
            )
        return Qrels.from_rows(self.query_ids[self.query], self.doc_ids[self.document], labels)

    def matches(self, data: RankingData) -> tuple[Ints, Ints]:
        """Return the pairs that are rows of ranking data, and their rows, ascending; (n_matches,) int64 each."""
        return matched_pairs(data, self.query_ids, self.doc_ids, self.query, self.document)

    def shown(self, data: RankingData) -> tuple[RankingData, Ints]:
        """Return the rows of ranking data that the log showed, with their values as labels, and their pairs.

        Rows that were never shown are left out, since they are not known to be bad.

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


def estimate_clicks(
    clicks: Clicks, model: str = "pbm", *, prior: float = PRIOR, theta: ArrayLike | None = None
) -> ClickEstimates:
    """Estimate from clicks how good each document is for each query.

    Parameters
    ----------
    clicks : Clicks
        The log.
    model : {"pbm", "coec", "cascade", "dependent", "ctr"}
        The click model: examination by position; clicks over expected clicks; examination down to the first click;
        examination down to the last click; click rates, which favour documents that the log ranks high.
    prior : float
        Number of impressions added to each pair, with the mean value of all pairs; from 0 to 1e9.
    theta : array of shape (n_positions,), optional
        Examination by position for `pbm`; estimated from the log if None.

    Returns
    -------
    ClickEstimates
        The values, with standard errors. What could not be estimated is in its notes, and logged as warnings.

    Raises
    ------
    InvalidInputError
        For an unknown model, a prior or theta out of bounds, theta with another model, or a log without a click.

    Notes
    -----
    Debiased labels predict clicks better. On Baidu's logs they did not always agree better with judgements (P. Hager,
    R. Deffayet, J.-M. Renders, O. Zoeter and M. de Rijke, Unbiased Learning to Rank Meets Reality, arXiv 2404.02543).

    """
    prior = read_at("prior", Number(0.0, 1e9), prior)
    if not clicks.clicked.any():
        raise InvalidInputError("clicks: expected at least one click, got none. Give a log with clicks.")
    check_known("click model", model, MODELS)
    if theta is not None and model != "pbm":
        raise InvalidInputError(f"theta: expected it for the model pbm alone, got it for {model}. Leave it out.")
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
    """Return examination by position, (n_positions,) float64; refuse another shape, negative and infinite values."""
    values = np.asarray(theta, dtype=np.float64)
    wrong = values[~((values >= 0) & np.isfinite(values))]
    if values.shape != (clicks.n_positions,) or len(wrong):
        got = f"{wrong[0]:g}" if len(wrong) else f"an array of shape {values.shape}"
        raise InvalidInputError(
            f"theta: expected {clicks.n_positions} numbers from 0, one for each position, got {got}. Give the "
            "examination of every position of the log."
        )
    return values
