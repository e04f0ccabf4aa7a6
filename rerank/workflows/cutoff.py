"""Where a ranking ends: the least probability of a document, and of any document of a list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.rankers.calibration import Probabilities
from rerank.rankers.ranker import Ranker
from rerank.types import RankingData, Run, pointers, query_rows


@dataclass(frozen=True)
class Cutoff:
    """Which documents are returned, by their probability of relevance: of a calibrated model only.

    The scores of what is returned are the probabilities. Their order is the model's; `Cutoff()` leaves nothing out.

    Parameters
    ----------
    min_score : float
        Least probability that a document is relevant, from 0 to 1. Others are left out.
    abstain : float
        Least probability that any document of the query is relevant, from 0 to 1; below it, nothing is returned. It is
        that of a query that is as likely to have an answer as to have none.

    """

    min_score: float = 0.0
    abstain: float = 0.0

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
        query = query_rows(run.query_ptr)
        kept = (run.scores >= self.min_score) & (probabilities.lists >= self.abstain)[query]
        sizes = np.bincount(query[kept], minlength=len(run))
        return replace(run, query_ptr=pointers(sizes), doc_ids=run.stored_ids[kept], scores=run.scores[kept])


def check_cutoff(cutoff: object, model: Ranker) -> None:
    """Refuse what is no cutoff, and one of a model without probabilities."""
    if cutoff is None:
        return
    if not isinstance(cutoff, Cutoff):
        raise InvalidInputError(
            f"cutoff: expected a Cutoff, got {shown(cutoff)}. Pass e.g. rerank.Cutoff(min_score=0.3)."
        )
    model.calibrated()


def ranked(
    model: Ranker, data: RankingData, cutoff: Cutoff | None, base: Run | None = None, texts: bool = False
) -> Run:
    """Return the documents of data in a model's order: with its scores, or with a cutoff what is likely enough.

    texts  whether they were handed over
    """
    if cutoff is None:
        return model.rank(data, base=base)
    return cutoff.run(data, model.probabilities(data, base=base, texts=texts), model.kind)
