"""How well probabilities of relevance agree with labels: bins of equal mass, Brier score, calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, Shown, counted

BINS = 15


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Shown):
    """Probabilities of relevance and observed relevance, in bins of about as many documents.

    Parameters
    ----------
    predicted, observed : ndarray of shape (n_bins,), dtype float64
        Mean probability and share of relevant documents of each bin, by ascending probability.
    counts : ndarray of shape (n_bins,), dtype int64
        Documents in each bin. Documents of the same probability are in the same bin.
    brier : float
        Mean squared distance of the probabilities from 1 for a relevant document and 0 for another.

    References
    ----------
    G. Brier, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review 78(1), 1950.
    M. Naeini, G. Cooper and M. Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI 2015,
    section 3 (expected calibration error).

    """

    predicted: Floats
    observed: Floats
    counts: Ints
    brier: float

    @classmethod
    def of(cls, relevant: NDArray[np.bool_], probabilities: Floats) -> Reliability:
        """Return the reliability of probabilities.

        Parameters
        ----------
        relevant : ndarray of shape (n,), dtype bool
            Whether each document is relevant.
        probabilities : ndarray of shape (n,), dtype float64
            The promised probability of each document.

        Returns
        -------
        Reliability
            The bins.

        Raises
        ------
        InvalidInputError
            If there is no document, or a probability is not from 0 to 1.

        """
        wrong = probabilities[~((probabilities >= 0.0) & (probabilities <= 1.0))]
        if not len(probabilities) or len(wrong):
            found = f"{wrong[0]:g}" if len(wrong) else "none"
            raise InvalidInputError(
                f"probabilities: expected numbers from 0 to 1, got {found}. Give the run of a calibrated model "
                "(`rerank rerank --min-score`)."
            )
        ordered = np.sort(probabilities)
        lowest = np.unique(ordered[np.arange(BINS) * len(ordered) // BINS])  # of each bin
        number = np.searchsorted(lowest, probabilities, side="right") - 1
        counts = np.bincount(number, minlength=len(lowest))
        sums = (np.bincount(number, values, len(lowest)) for values in (probabilities, relevant.astype(np.float64)))
        predicted, observed = (total / counts for total in sums)
        return cls(predicted, observed, counts, mean((probabilities - relevant) ** 2))

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of promised and observed shares, weighted by the bins' counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    def summary(self) -> str:
        """Return the number of documents, Brier score and expected calibration error in one line."""
        figures = f"Brier score {self.brier:.4f}, expected calibration error {self.error:.4f}"
        return f"Reliability: {counted(int(self.counts.sum()), 'document')}, {figures}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the first n bins, and the number of all bins."""
        columns = (column[:n].tolist() for column in (self.predicted, self.observed, self.counts))
        return ["promised", "observed", "documents"], list(map(list, zip(*columns, strict=True))), len(self.counts)
