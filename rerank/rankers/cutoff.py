"""The cut-off of a calibrated model: the least probability of a document, and of any document of a query."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.rankers.calibration import Probabilities
from rerank.rankers.ranker import Ranker
from rerank.types import RankingData, Run, query_rows


@dataclass(frozen=True)
class Cutoff:
    """Which documents are returned, by their probability of relevance: of a calibrated model only.

    The scores of what is returned are the probabilities. Their order is the model's; `Cutoff()` leaves nothing out.

    Parameters
    ----------
    min_score : float
        Least probability that a document is relevant, from 0 to 1. Others are left out.
    abstain : float
        Least probability that any document of the query is relevant, from 0 to 1; below it, nothing is returned. The
        probability is calibrated as if half of all queries had a relevant document.

    """

    min_score: float = 0.0
    abstain: float = 0.0

    @classmethod
    def of(cls, min_score: float | None, abstain: float | None) -> Self | None:
        """Return the cutoff of two probabilities of which either may be None; None without both.

        Parameters
        ----------
        min_score, abstain : float or None
            As for the class.

        Returns
        -------
        Cutoff or None
            The cutoff.

        """
        return None if min_score is None and abstain is None else cls(min_score or 0.0, abstain or 0.0)

    def __post_init__(self) -> None:
        for name in ("min_score", "abstain"):
            value = getattr(self, name)
            if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
                raise InvalidInputError(f"{name}: expected a probability from 0 to 1, got {shown(value)}. Give one.")

    def run(self, data: RankingData, probabilities: Probabilities, name: str) -> Run:
        """Return the documents of data that are likely enough, with their probabilities as scores.

        Parameters
        ----------
        data : RankingData
            The candidates.
        probabilities : Probabilities
            Those of a model: `model.probabilities(data)`.
        name : str
            Name of the run.

        Returns
        -------
        Run
            The documents of each query, best first; none where the model abstains.

        """
        run = data.run(probabilities.documents, name)
        likely = (run.scores >= self.min_score) & (probabilities.lists >= self.abstain)[query_rows(run.query_ptr)]
        return run.of_rows(np.flatnonzero(likely))


def check_cutoff(cutoff: object, model: Ranker) -> None:
    """Refuse an argument that is no Cutoff, and a cutoff for a model that is not calibrated; None is no cutoff."""
    if cutoff is None:
        return
    if not isinstance(cutoff, Cutoff):
        raise InvalidInputError(
            f"cutoff: expected a Cutoff, got {shown(cutoff)}. Pass e.g. rerank.Cutoff(min_score=0.3)."
        )
    model.calibrated()
