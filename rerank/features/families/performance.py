"""The performance family: predictors of the query's difficulty in a field, which do not depend on the document.

A term that no document holds is left out. Clarity, which needs the first documents, is in the feedback family, and the
spread of the run's scores in the run family.

References
----------
He & Ounis, SPIRE 2004; Zhao, Scholer & Tsegay, ECIR 2008.

"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import FieldBlock
from rerank.features.recipe import Feature, FieldFamily, Missing, Recipe, register
from rerank.runtime.elementary import array_log, array_log1p, array_log2
from rerank.types import Floats, Ints, query_rows

_KNOWN = (Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM)
_HE = "He & Ounis, SPIRE 2004"
_ZHAO = "Zhao, Scholer & Tsegay, ECIR 2008"
_COLLECTION_QUERY = "(1 + ln cf) * ln(1 + N / df)"


def _predictor(name: str, meaning: str, formula: str, source: str, unit: str, low: float = 0.0) -> Feature:
    return Feature(name, meaning, formula, source, unit, low, inf, _KNOWN)


@register("performance")
class PerformanceFeatures(FieldFamily):
    """Query-performance predictors from statistics of the query's terms."""

    evidence = "difficulty of the query"
    listed = (
        _predictor(
            "scs",
            "Simplified clarity: divergence of the query's terms from the terms of the collection.",
            "sum over t in T of r * log2(r / (cf / tokens of all documents)), r = qtf / sum of qtf",
            f"{_HE}, section 2.4",
            "bits",
            low=-inf,
        ),
        _predictor(
            "scq_sum",
            "Similarity of query and collection.",
            f"sum over t in T of {_COLLECTION_QUERY}",
            f"{_ZHAO}, section 3",
            "nats",
        ),
        _predictor(
            "scq_mean",
            "Similarity of query and collection, by term.",
            f"mean over t in T with df > 0 of {_COLLECTION_QUERY}",
            _ZHAO,
            "nats",
        ),
        _predictor(
            "scq_max",
            "Similarity of the query's most similar term.",
            f"largest {_COLLECTION_QUERY} over T",
            _ZHAO,
            "nats",
        ),
        _predictor(
            "idf_deviation",
            "How much the terms differ in rarity.",
            "standard deviation of idf",
            f"{_HE}, gamma1",
            "nats",
        ),
        _predictor(
            "df_share",
            "Share of documents with the most frequent term.",
            "largest df / N",
            f"{_HE}, query scope",
            "share",
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 6)."""
        batch = block.candidates
        values = np.full((len(batch.words), len(self.listed)), np.nan)
        rows = np.flatnonzero(block.doc_freq > 0)
        ends = np.searchsorted(rows, batch.term_ptr)
        counts = np.diff(ends)
        for count in np.unique(counts[counts > 0]):  # queries with as many known terms together
            queries = np.flatnonzero(counts == count)
            values[queries] = _predictors(block, rows[ends[queries][:, None] + np.arange(count)])
        out[:] = values[query_rows(batch.query_ptr)]


def _predictors(block: FieldBlock, rows: Ints) -> Floats:
    """Return the columns of some queries, (n_queries, 6), from the rows (n_queries, n_terms) of their known terms."""
    df = block.doc_freq[rows]
    cf = block.collection_freq[rows]
    idf = block.idf[rows]
    share = cf / block.field.n_tokens
    query_freq = block.candidates.query_freq[rows]
    r = query_freq / query_freq.sum(axis=1, keepdims=True)
    scq = (1.0 + array_log(cf)) * array_log1p(block.field.n_docs_with / df)
    scs = (r * array_log2(r / share)).sum(axis=1)
    frequent = df.max(axis=1) / block.field.n_docs_with
    return np.stack((scs, scq.sum(axis=1), scq.mean(axis=1), scq.max(axis=1), idf.std(axis=1), frequent), axis=1)
