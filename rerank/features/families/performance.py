"""The performance family: predictors of the query's difficulty in a field, which do not depend on the document.

Terms that no document holds in the field are left out. Clarity, which needs the first documents, is in the feedback
family; the spread of the run's scores is in the run family.

T         terms of the query
qtf       occurrences of a term in the query
df, cf    documents with the term in the field, and occurrences of the term in the field
N         documents with the field

References
----------
He & Ounis, SPIRE 2004; Zhao, Scholer & Tsegay, ECIR 2008.

"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.runtime.elementary import log, log1p, log2
from rerank.runtime.kernels import kernel

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
        _fill(
            (batch.query_ptr, batch.term_ptr, batch.query_freq),
            (block.doc_freq, block.collection_freq, block.idf),
            max(block.field.n_docs_with, 1),
            max(block.field.n_tokens, 1),
            out,
        )


@kernel()
def _fill(queries, of_terms, n_docs_with, n_tokens, out):
    """Fill `out` (n_rows, 6) float32; the rows of a query without a known term are NaN.

    queries   query_ptr, term_ptr, query_freq as in CandidateBatch
    of_terms  df, cf and idf of the query terms, (n_terms,) each
    """
    query_ptr, term_ptr, query_freq = queries
    doc_freq, collection_freq, all_idf = of_terms
    values = np.empty(6)
    for query in range(len(query_ptr) - 1):
        known = term_ptr[query] + np.flatnonzero(doc_freq[term_ptr[query] : term_ptr[query + 1]] > 0)
        n_query_tokens = query_freq[known].sum()
        scs = 0.0
        scq = 0.0
        greatest_scq = 0.0
        mean_idf = 0.0
        df_share = 0.0
        for term in known:
            share = query_freq[term] / n_query_tokens
            similarity = (1.0 + log(collection_freq[term])) * log1p(n_docs_with / doc_freq[term])
            scs += share * log2(share / (collection_freq[term] / n_tokens))
            scq += similarity
            greatest_scq = max(greatest_scq, similarity)
            mean_idf += all_idf[term] / len(known)
            df_share = max(df_share, doc_freq[term] / n_docs_with)
        squares = 0.0
        for term in known:
            squares += (all_idf[term] - mean_idf) ** 2
        values[:] = np.nan
        if len(known) > 0:
            values[0], values[1], values[2], values[3] = scs, scq, scq / len(known), greatest_scq
            values[4], values[5] = np.sqrt(squares / len(known)), df_share
        for row in range(query_ptr[query], query_ptr[query + 1]):
            out[row] = values
