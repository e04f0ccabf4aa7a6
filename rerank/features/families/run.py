"""The run that the candidates came from, and the query's length."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import Candidates
from rerank.features.recipe import Recipe
from rerank.features.registry import Feature, RunFamily
from rerank.types import query_rows

_FEATURES = (
    Feature(
        name="run.score",
        meaning="Score that the run gives the document.",
        formula="as it stands in the run",
        source="the run",
        unit="the run's",
        low=-inf,
    ),
    Feature(
        name="run.rank",
        meaning="Place of the document in the run, ties broken by document id, descending.",
        formula="1 + number of documents of the query before it",
        source="trec_eval's order",
        unit="ranks",
        low=1.0,
    ),
    Feature(
        name="query.length",
        meaning="Length of the query, repeated terms included.",
        formula="number of analysed tokens",
        source="LETOR 4.0, query-level statistics",
        unit="tokens",
    ),
)


class RunFeatures(RunFamily):
    """Score and rank of the run, length of the query; never missing."""

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return _FEATURES

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3)."""
        query = query_rows(candidates.query_ptr)
        out[:, 0] = candidates.scores
        out[:, 1] = np.arange(candidates.n_rows) - candidates.query_ptr[query] + 1
        out[:, 2] = candidates.query_lengths[query]


FAMILY = RunFeatures()
