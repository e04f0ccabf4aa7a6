"""The relative family: where the main scores of a document stand among those of the query's other candidates.

A tree compares a value with one threshold for all queries, though a BM25 of 9 is high for one query and low for
another: these features make the scores comparable. They depend on the candidates: compare models on equal runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import Cost, Feature, FieldFamily, family, field_columns

MAIN = {
    "letor": ("tf_idf_sum", "vector_space", "bm25", "lm_dirichlet", "lm_jelinek_mercer"),
    "feedback": ("rm3_10", "rocchio", "similarity_10"),
}
_SOURCE = "score normalisation of Lee, SIGIR 1997, and of LETOR 4.0, over the query's candidates"
_FORMS = (
    (
        "minmax",
        "Score {} on a scale from the query's least (0) to its greatest (1).",
        "(x - least) / (greatest - least); 0 where all are equal",
        "share",
        0.0,
        1.0,
    ),
    (
        "zscore",
        "Score {} in deviations from the query's mean.",
        "(x - mean) / standard deviation; 0 where all are equal",
        "deviations",
        -inf,
        inf,
    ),
    ("rank", "Place of the document by {}.", "1 + number of candidates with a greater value", "ranks", 1.0, inf),
)


class RelativeFeatures(FieldFamily):
    """Min-max, z-score and rank, within the query, of the main scores; missing where the score is."""

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [
            Feature(
                name=f"{score.name}_{form}",
                meaning=meaning.format(score.name),
                formula=f"{formula}; x = {score.name}",
                source=_SOURCE,
                unit=unit,
                low=low,
                high=high,
                missing=score.missing,
                cost=Cost.PAIR,
            )
            for name in MAIN
            for score in _scores(name, recipe)
            for form, meaning, formula, unit, low, high in _FORMS
        ]

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 24)."""
        scores = np.concatenate(
            [
                field_columns(name, block, recipe)[:, [columns.index(score) for score in MAIN[name]]]
                for name in MAIN
                for columns in [[feature.name for feature in family(name).features(recipe)]]
            ],
            axis=1,
        )
        relate(block.candidates.query_ptr, np.ascontiguousarray(scores), out)


def _scores(name: str, recipe: Recipe) -> list[Feature]:
    by_name = {feature.name: feature for feature in family(name).features(recipe)}
    return [by_name[score] for score in MAIN[name]]


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def relate(query_ptr, scores, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, 3 * n_scores) float32 with min-max, z-score and rank of `scores` (n_rows, n_scores).

    A rank is found by sorting; equal values have the best rank among them.
    """
    for query in prange(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        for score in range(scores.shape[1]):
            column = 3 * score
            out[first:last, column : column + 3] = np.nan
            rows, n_rows = np.empty(last - first, np.int64), 0
            total, least, most = 0.0, np.inf, -np.inf
            for row in range(first, last):
                value = scores[row, score]
                if not np.isnan(value):
                    rows[n_rows] = row
                    n_rows += 1
                    total += value
                    least, most = min(least, value), max(most, value)
            values = np.empty(n_rows, np.float32)
            mean, squares = total / n_rows, 0.0
            for number in range(n_rows):
                values[number] = -scores[rows[number], score]
                squares += (-values[number] - mean) ** 2
            deviation = np.sqrt(squares / n_rows)
            order, rank = np.argsort(values), 0
            for place in range(n_rows):
                number = order[place]
                if place == 0 or values[number] != values[order[place - 1]]:
                    rank = place + 1
                row, value = rows[number], -values[number]
                spread = most > least
                out[row, column] = (value - least) / (most - least) if spread else 0.0
                out[row, column + 1] = (value - mean) / deviation if spread else 0.0
                out[row, column + 2] = rank


FAMILY = RelativeFeatures()
