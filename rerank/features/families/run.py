"""The run family: scores and ranks in the run of the candidates and in other runs, and the query's length.

Ranks follow trec_eval's order: by score, ties by document id, both descending. Scores are normalised within the query
over the candidates that the run holds. The ranks of another run count its other documents too.

References
----------
Lee, SIGIR 1997 (min-max); Shtok, Kurland & Carmel, ICTIR 2009 (NQC).

The function family: user-defined functions over a field (`@rerank.feature`).

"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing, RunFamily
from rerank.features.candidates import Candidates
from rerank.features.functions import Function, Matches, functions
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe, register
from rerank.types import Floats, Ints, query_rows

_LEE = "Lee, SIGIR 1997"
_ORDER = "trec_eval's order"
_DEPTH = 100  # scores of which `query.deviation` is computed
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
        meaning="Number of distinct terms of the query.",
        formula="|T|",
        source="Pyserini 0.22's UniqueTermCount",
        unit="terms",
        cost=Cost.QUERY,
    ),
    Feature(
        name="query.deviation",
        meaning="Spread of the best scores of the run: a predictor of its effectiveness.",
        formula=f"standard deviation of the first {_DEPTH} scores / their mean size; 0 where all are 0",
        source="Shtok, Kurland & Carmel, ICTIR 2009 (NQC), scaled by the scores themselves",
        unit="ratio",
        cost=Cost.QUERY,
    ),
)


def _features_of(run: str, missing: tuple[Missing, ...]) -> list[Feature]:
    def feature(name: str, meaning: str, formula: str, source: str, unit: str, low: float, high: float) -> Feature:
        return Feature(f"{run}.{name}", meaning, formula, source, unit, low, high, missing, Cost.PAIR)

    return [
        feature("score", "Score of the document in the run.", "the score", "the run", "the run's", -inf, inf),
        feature(
            "rank",
            "Rank of the document in the run.",
            "1 + number of documents before it",
            _ORDER,
            "ranks",
            1.0,
            inf,
        ),
        feature("reciprocal_rank", "Inverse of the rank in the run.", "1 / rank", _ORDER, "inverse ranks", 0.0, 1.0),
        feature(
            "minmax",
            "Score on a scale from the query's least (0) to its greatest (1).",
            "(x - min) / (max - min) over the query's rows; 0 where all are equal",
            _LEE,
            "share",
            0.0,
            1.0,
        ),
        feature(
            "zscore",
            "Score in standard deviations from the query's mean.",
            "(x - mean) / standard deviation over the query's rows; 0 where all are equal",
            "standard score",
            "deviations",
            -inf,
            inf,
        ),
    ]


@register("run")
class RunFeatures(RunFamily):
    """Score, rank and normalised score of the run and of every other run; length of the query."""

    evidence = "scores of the retrieval"
    rising = ("*.score", "*.reciprocal_rank", "*.minmax", "*.zscore")
    falling = ("*.rank",)

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        others = [feature for name in recipe.runs for feature in _features_of(f"run.{name}", (Missing.NOT_IN_RUN,))]
        return (*_features_of("run", ()), *_QUERY, *others)

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 8, and 5 for every other run)."""
        query_ptr = candidates.query_ptr
        query = query_rows(candidates.query_ptr)
        ranks = (np.arange(candidates.n_rows) - query_ptr[query] + 1).astype(np.float64)
        _fill_run(query, candidates.scores, ranks, out[:, :5])
        distinct = np.diff(candidates.term_ptr)
        for column, values in enumerate(
            (candidates.query_lengths, distinct, _deviations(query_ptr, candidates.scores))
        ):
            out[:, 5 + column] = values[query]
        for number, name in enumerate(recipe.runs):
            first = 8 + 5 * number
            table = candidates.other_runs[name]
            _fill_run(query, table[:, 0], table[:, 1], out[:, first : first + 5])


def _fill_run(query: Ints, scores: Floats, ranks: Floats, out: NDArray[np.float32]) -> None:
    """Fill the five columns of one run; NaN in `scores` and `ranks` (n_rows,) means missing."""
    rows = np.flatnonzero(~np.isnan(scores))
    out[:] = np.nan
    row_query = query[rows]
    x = scores[rows]
    n_queries = int(query[-1]) + 1 if len(query) else 0
    least = np.full(n_queries, inf)
    greatest = np.full(n_queries, -inf)
    np.minimum.at(least, row_query, x)
    np.maximum.at(greatest, row_query, x)
    counts = np.maximum(np.bincount(row_query, minlength=n_queries), 1)
    centred = x - (np.bincount(row_query, x, n_queries) / counts)[row_query]
    deviation = np.sqrt(np.bincount(row_query, centred**2, n_queries) / counts)[row_query]
    spread = (greatest - least)[row_query]
    differ = spread > 0.0
    out[rows, 0], out[rows, 1], out[rows, 2] = x, ranks[rows], 1.0 / ranks[rows]
    out[rows, 3] = np.where(differ, (x - least[row_query]) / np.where(differ, spread, 1.0), 0.0)
    out[rows, 4] = np.where(differ, centred / np.where(deviation > 0.0, deviation, 1.0), 0.0)


def _deviations(query_ptr: Ints, scores: Floats) -> Floats:
    """Return `query.deviation` of each query."""
    values = np.zeros(len(query_ptr) - 1)
    for query in range(len(values)):
        best = scores[query_ptr[query] : min(query_ptr[query + 1], query_ptr[query] + _DEPTH)]
        size = np.abs(best).mean() if len(best) else 0.0
        values[query] = best.std() / size if size > 0.0 else 0.0
    return values


@register("function")
class FunctionFeatures(FieldFamily):
    """A feature for each user-defined function over a field, and for each field."""

    evidence = "functions"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _field_functions(recipe)]

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function), query by query."""
        chosen = _field_functions(recipe)
        for query in range(len(block.candidates.query_lengths) if chosen else 0):
            first, last = block.candidates.query_ptr[query : query + 2].tolist()
            matches = Matches.of(block, query)
            subject = f"field {block.field.name!r} of query {str(block.candidates.query_ids[query])!r}"
            for column, function in enumerate(chosen):
                out[first:last, column] = function.column(function.call(subject, matches), last - first, subject)


def _field_functions(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "field"]
