"""The passages family: how well the passages of a field fit the query. It needs an index with positions.

passage  window of WINDOW words, a new one every STRIDE words: the recipe's `passages`, 200/100 by default. A removed
         stop word counts as a word. A field of at most WINDOW words is one passage; the last one ends with the field
n        number of passages, 0 for an empty field, whose scores are 0
score    BM25 of a passage: sum over t in T of qtf * idf * tf / (tf + k1 * (1 - b + b * pl / avgdl)), with the passage's
         tf, idf and avgdl of the whole field, and pl = min(dl, WINDOW): Lucene's length of the field, up to a window
T, qtf, idf, dl, avgdl  as in the LETOR family

Where a field is one passage, passage_max, passage_mean3, passage_mean and passage_first are the feature bm25.

References
----------
Callan, SIGIR 1994; Dai & Callan, SIGIR 2019; Zhang, Yates & Lin, ECIR 2021.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.features.windows import fill_passages
from rerank.types.passages import Passages

_CALLAN, _DAI, _ZHANG = "Callan, SIGIR 1994", "Dai & Callan, SIGIR 2019", "Zhang, Yates & Lin, ECIR 2021"


def _feature(
    name: str,
    meaning: str,
    formula: str,
    source: str,
    unit: str = "score",
    missing: tuple[Missing, ...] = (Missing.NO_QUERY_TERMS,),
) -> Feature:
    high, cost = 1.0 if unit == "share" else np.inf, Cost.POSITIONS if missing else Cost.PAIR
    return Feature(name, meaning, formula, source, unit, high=high, missing=missing, cost=cost)


_FEATURES = (
    _feature("passages", "Number of passages.", "n", _CALLAN, "passages", ()),
    _feature("passage_max", "Score of the best passage.", "max of the scores", f"{_DAI}, MaxP"),
    _feature(
        "passage_mean3",
        "Mean score of the best three passages.",
        "sum of the 3 greatest scores / min(3, n)",
        f"{_ZHANG}, KMaxAvgP",
    ),
    _feature("passage_mean", "Mean score of all passages.", "sum of the scores / n", f"{_ZHANG}, AvgP"),
    _feature("passage_first", "Score of the first passage.", "score of passage 0", f"{_DAI}, FirstP"),
    _feature(
        "passage_hits", "Passages with a term of the query.", "passages with tf > 0 for a t in T", _CALLAN, "passages"
    ),
    _feature(
        "passage_share",
        "Share of the passages that hold a term of the query.",
        "passage_hits / n",
        _CALLAN,
        "share",
        (Missing.NO_QUERY_TERMS, Missing.EMPTY_FIELD),
    ),
    _feature(
        "passage_covered",
        "Greatest share of the query's terms in one passage.",
        "max over passages of the terms of T in it / |T|",
        _CALLAN,
        "share",
    ),
    _feature(
        "passage_place",
        "Where the best passage begins; the first one of several that are best.",
        "position of its first word / words of the field",
        f"{_DAI}, MaxP",
        "share",
        (Missing.NO_MATCH,),
    ),
)


@register("passages")
class PassageFeatures(FieldFamily):
    """Scores of the best, the best three, the first and all passages; how many match, and where the best one is."""

    evidence = "passages"
    rising = ("passage_max", "passage_mean*", "passage_first", "passage_hits", "passage_share", "passage_covered")
    on_request = True
    needs_positions = True
    independent_rows = True
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 9)."""
        fill_passages(block, recipe, Passages() if recipe.passages is None else Passages.parse(recipe.passages), out)
