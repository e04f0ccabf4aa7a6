"""The performance family: predictors of the query's difficulty in a field, which do not depend on the document.

T, qtf, N, df, cf, idf as in the LETOR family; a term that no document holds is left out. Clarity, which needs the first
documents, is in the feedback family, and the spread of the run's scores in the run family.

References
----------
He & Ounis, SPIRE 2004; Zhao, Scholer & Tsegay, ECIR 2008.

"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.types import Floats, Ints, query_rows

_MISSING = (Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM)
_HE = "He & Ounis, SPIRE 2004"
_ZHAO = "Zhao, Scholer & Tsegay, ECIR 2008"
_COLLECTION_QUERY = "(1 + ln cf) * ln(1 + N / df)"


def _feature(name: str, meaning: str, formula: str, source: str, unit: str, low: float = 0.0) -> Feature:
    return Feature(name, meaning, formula, source, unit, low, inf, _MISSING, Cost.QUERY)


_FEATURES = (
    _feature(
        "scs",
        "Simplified clarity: divergence of the query's terms from the terms of the collection.",
        "sum over t in T of r * log2(r / (cf / tokens of all documents)), r = qtf / sum of qtf",
        f"{_HE}, section 2.4",
        "bits",
        low=-inf,
    ),
    _feature(
        "scq_sum",
        "Similarity of query and collection.",
        f"sum over t in T of {_COLLECTION_QUERY}",
        f"{_ZHAO}, section 3",
        "nats",
    ),
    _feature(
        "scq_mean",
        "Similarity of query and collection, by term.",
        f"mean over t in T with df > 0 of {_COLLECTION_QUERY}",
        _ZHAO,
        "nats",
    ),
    _feature(
        "scq_max", "Similarity of the query's most similar term.", f"largest {_COLLECTION_QUERY} over T", _ZHAO, "nats"
    ),
    _feature(
        "idf_deviation", "How much the terms differ in rarity.", "standard deviation of idf", f"{_HE}, gamma1", "nats"
    ),
    _feature(
        "df_share", "Share of documents with the most frequent term.", "largest df / N", f"{_HE}, query scope", "share"
    ),
)


@register("performance")
class PerformanceFeatures(FieldFamily):
    """Query-performance predictors from statistics of the query's terms."""

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 6)."""
        batch, n_docs = block.candidates, block.field.n_docs_with
        values = np.full((len(batch.query_lengths), len(_FEATURES)), np.nan)
        for query in range(len(values)):
            of_query = slice(batch.term_ptr[query], batch.term_ptr[query + 1])
            known = block.doc_freq[of_query] > 0
            if known.any():
                df, cf = block.doc_freq[of_query][known], block.collection_freq[of_query][known]
                share = cf / block.field.n_tokens
                query_freq, idf = batch.query_freq[of_query][known], block.idf[of_query][known]
                values[query] = _predictors(df, cf, share, query_freq, idf, n_docs)
        out[:] = values[query_rows(batch.query_ptr)]


def _predictors(df: Ints, cf: Ints, share: Floats, query_freq: Ints, idf: Floats, n_docs: int) -> Sequence[float]:
    """Return the columns of one query from its known terms; `share` is cf / tokens of all documents."""
    r = query_freq / query_freq.sum()
    scq = (1.0 + np.log(cf)) * np.log1p(n_docs / df)
    scs = (r * np.log2(r / share)).sum()
    return scs, scq.sum(), scq.mean(), scq.max(), idf.std(), df.max() / n_docs
