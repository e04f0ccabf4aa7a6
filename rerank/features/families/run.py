"""The run that the candidates came from, other runs given from outside, and the query's length.

Ranks follow trec_eval's order: by score, ties by document id, both descending. Scores are made comparable within the
query over the rows that the run in question holds; the other run may hold other documents besides, whose ranks count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing, RunFamily
from rerank.features.match import Candidates
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.types import Floats, Ints, query_rows

_LEE = "Lee, SIGIR 1997"
_ORDER = "trec_eval's order"
_DEPTH = 100  # scores that the deviation looks at


def _features_of(run: str, missing: tuple[Missing, ...]) -> list[Feature]:
    def feature(name: str, meaning: str, formula: str, source: str, unit: str, low: float, high: float) -> Feature:
        return Feature(f"{run}.{name}", meaning, formula, source, unit, low, high, missing, Cost.PAIR)

    return [
        feature("score", "Score that the run gives the document.", "as it stands", "the run", "the run's", -inf, inf),
        feature(
            "rank",
            "Place of the document in the run.",
            "1 + number of documents before it",
            _ORDER,
            "ranks",
            1.0,
            inf,
        ),
        feature("reciprocal_rank", "Inverse of the place in the run.", "1 / rank", _ORDER, "inverse ranks", 0.0, 1.0),
        feature(
            "minmax",
            "Score on a scale from the query's least (0) to its greatest (1).",
            "(x - least) / (greatest - least) over the query's rows; 0 where all are equal",
            _LEE,
            "share",
            0.0,
            1.0,
        ),
        feature(
            "zscore",
            "Score in deviations from the query's mean.",
            "(x - mean) / standard deviation over the query's rows; 0 where all are equal",
            "standard score",
            "deviations",
            -inf,
            inf,
        ),
    ]


_QUERY = (
    Feature(
        name="query.length",
        meaning="Length of the query, repeated terms included.",
        formula="number of analysed tokens",
        source="LETOR 4.0, query-level statistics",
        unit="tokens",
        cost=Cost.QUERY,
    ),
    Feature(
        name="query.terms",
        meaning="Number of different terms of the query.",
        formula="|T|",
        source="Pyserini 0.22's UniqueTermCount",
        unit="terms",
        cost=Cost.QUERY,
    ),
    Feature(
        name="query.deviation",
        meaning="How far apart the best scores of the run are: a predictor of its success.",
        formula=f"standard deviation of the first {_DEPTH} scores / their mean size; 0 where all are 0",
        source="Shtok, Kurland & Carmel, ICTIR 2009 (NQC), scaled by the scores themselves",
        unit="ratio",
        cost=Cost.QUERY,
    ),
)


@register("run")
class RunFeatures(RunFamily):
    """Score, rank and normalised score of the run and of every other run; length of the query."""

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        others = [feature for name in recipe.runs for feature in _features_of(f"run.{name}", (Missing.NOT_IN_RUN,))]
        return (*_features_of("run", ()), *_QUERY, *others)

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 8, and 5 for every other run)."""
        query_ptr, query = candidates.query_ptr, query_rows(candidates.query_ptr)
        ranks = (np.arange(candidates.n_rows) - query_ptr[query] + 1).astype(np.float64)
        _fill_run(query, candidates.scores, ranks, out[:, :5])
        distinct = np.diff(candidates.term_ptr)
        for column, values in enumerate(
            (candidates.query_lengths, distinct, _deviations(query_ptr, candidates.scores))
        ):
            out[:, 5 + column] = values[query]
        for number, name in enumerate(recipe.runs):
            first, table = 8 + 5 * number, candidates.outside[name]
            _fill_run(query, table[:, 0], table[:, 1], out[:, first : first + 5])


def _fill_run(query: Ints, scores: Floats, ranks: Floats, out: NDArray[np.float32]) -> None:
    """Fill the five columns of one run; NaN in `scores` (n_rows,) and `ranks` is missing."""
    held = np.flatnonzero(~np.isnan(scores))
    out[:] = np.nan
    mine, x = query[held], scores[held]
    n_queries = int(query[-1]) + 1 if len(query) else 0
    least, greatest = np.full(n_queries, inf), np.full(n_queries, -inf)
    np.minimum.at(least, mine, x)
    np.maximum.at(greatest, mine, x)
    counts = np.maximum(np.bincount(mine, minlength=n_queries), 1)
    centred = x - (np.bincount(mine, x, n_queries) / counts)[mine]
    deviation = np.sqrt(np.bincount(mine, centred**2, n_queries) / counts)[mine]
    spread = greatest[mine] > least[mine]
    out[held, 0], out[held, 1], out[held, 2] = x, ranks[held], 1.0 / ranks[held]
    out[held, 3] = np.where(spread, (x - least[mine]) / np.where(spread, greatest[mine] - least[mine], 1.0), 0.0)
    out[held, 4] = np.where(spread, centred / np.where(deviation > 0.0, deviation, 1.0), 0.0)


def _deviations(query_ptr: Ints, scores: Floats) -> Floats:
    """Return the predictor of each query, from its first scores."""
    values = np.zeros(len(query_ptr) - 1)
    for query in range(len(values)):
        best = scores[query_ptr[query] : min(query_ptr[query + 1], query_ptr[query] + _DEPTH)]
        size = np.abs(best).mean() if len(best) else 0.0
        values[query] = best.std() / size if size > 0.0 else 0.0
    return values
