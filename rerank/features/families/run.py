"""The run family: scores and ranks in the run of the candidates and in other runs, and the query's length.

Ranks follow trec_eval's order: by score, ties by document id, both descending. Scores are normalised within the query
over the candidates that the run holds. The ranks of another run count its other documents too.

References
----------
Lee, SIGIR 1997 (score normalisation); Shtok, Kurland & Carmel, ICTIR 2009 (NQC).

"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.relative import relate
from rerank.features.family import Feature, Missing, RunFamily, register
from rerank.features.match import CandidateBatch
from rerank.features.recipe import Recipe
from rerank.types import query_rows
from rerank.types.tie_order import scores_and_ranks

_ORDER = "trec_eval's order"
_DEPTH = 100  # scores of which `query.deviation` is computed


def _features_of(run: str, missing: tuple[Missing, ...]) -> list[Feature]:
    def feature(name: str, meaning: str, formula: str, source: str, unit: str, low: float, high: float) -> Feature:
        return Feature(f"{run}.{name}", meaning, formula, source, unit, low, high, missing)

    return [
        feature("score", "Score of the document in the run.", "the score", "the run", "the run's", -inf, inf),
        feature(
            "rank",
            "Rank of the document in the run; documents of equal scores have the best rank among them.",
            "1 + number of documents with a greater score",
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
            "Lee, SIGIR 1997",
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
        return (
            *_features_of("run", ()),
            Feature(
                name="query.length",
                meaning="Length of the query, repeated terms included.",
                formula="number of analysed tokens",
                source="LETOR 4.0, query-level statistics",
                unit="tokens",
            ),
            Feature(
                name="query.terms",
                meaning="Number of distinct terms of the query.",
                formula="|T|",
                source="Pyserini 0.22's UniqueTermCount",
                unit="terms",
            ),
            Feature(
                name="query.deviation",
                meaning="Spread of the best scores of the run: a predictor of its effectiveness.",
                formula=f"standard deviation of the first {_DEPTH} scores / their mean size; 0 where all are 0",
                source="Shtok, Kurland & Carmel, ICTIR 2009 (NQC), scaled by the scores themselves",
                unit="ratio",
            ),
            *(feature for name in recipe.runs for feature in _features_of(f"run.{name}", (Missing.NOT_IN_RUN,))),
        )

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 8, and 5 for every other run)."""
        query_ptr = candidates.query_ptr
        query = query_rows(query_ptr)
        own = scores_and_ranks(query_ptr, candidates.scores)
        for first, table in enumerate((own, *(candidates.other_runs[name] for name in recipe.runs))):
            columns = out[:, 5 * first + (3 if first else 0) :]
            columns[:, :2] = table
            columns[:, 2] = 1.0 / table[:, 1]
            columns[:, 3:5] = relate(query_ptr, table[:, :1])[:, :2]
        out[:, 5] = np.diff(candidates.token_ptr)[query]
        out[:, 6] = np.diff(candidates.term_ptr)[query]
        for first, last in pairwise(query_ptr.tolist()):
            best = candidates.scores[first : min(last, first + _DEPTH)]
            size = np.abs(best).mean() if len(best) else 0.0
            out[first:last, 7] = best.std() / size if size > 0.0 else 0.0
