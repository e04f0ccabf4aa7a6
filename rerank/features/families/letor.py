"""The LETOR family: the 25 features of MSLR-WEB for each field, and `bm25_bursty`.

T     distinct terms of the query          qtf   occurrences of a term in the query
tf    occurrences in the document's field  len   tokens of the document's field (the exact count)
N     documents that hold the field        df    documents that hold the term in the field
cf    occurrences of the term in the field of all documents; p = cf / tokens of the field in all documents
u     distinct terms of the document's field
idf   ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's; a term that no document holds has none

Pooled statistics use each distinct query term once; the models weight a term by qtf. A term that no document holds is
in T with tf = 0, so it is not covered; sums of idf and the models leave it out. If a query has no terms, all features
but the stream length are missing.

References
----------
Qin & Liu, Introducing LETOR 4.0 Datasets, 2013; Manning, Raghavan & Schuetze, Introduction to Information Retrieval,
2008, chapter 6; Zhai & Lafferty, SIGIR 2001; Lucene's BM25Similarity.

"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import vector_norms
from rerank.runtime.elementary import log, log1p
from rerank.runtime.kernels import helper, kernel

_MSLR = "MSLR-WEB features (Qin & Liu 2013)"
_ZHAI = "Zhai & Lafferty, SIGIR 2001, table 1"
_QUERY = (Missing.NO_QUERY_TERMS,)
_KNOWN = (Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM)
_BOTH = (*_KNOWN, Missing.EMPTY_FIELD)
_POOLED = (
    ("tf", "tf", "occurrences", "Term frequency", inf, _QUERY),
    (
        "normalised_tf",
        "tf / len",
        "share",
        "Term frequency as a share of the field's length",
        1.0,
        (*_QUERY, Missing.EMPTY_FIELD),
    ),
    ("tf_idf", "tf * idf", "nats", "Term frequency times idf", inf, _QUERY),
)
_POOLS = (
    ("sum", "sum over t in T of {}"),
    ("min", "least {} over t in T"),
    ("max", "largest {} over t in T"),
    ("mean", "sum over t in T of {}, / |T|"),
    ("variance", "mean over t in T of ({} - mean)^2, divided by |T|"),
)
_COVERED, _COVERED_RATIO, _STREAM_LENGTH, _IDF_SUM = range(4)
_TF, _NORMALISED_TF, _TF_IDF = range(4, 19, 5)
_BOOLEAN, _VECTOR_SPACE, _BM25, _LM_ABSOLUTE, _LM_DIRICHLET, _LM_JELINEK_MERCER, _BM25_BURSTY = range(19, 26)


@register("letor")
class LetorFeatures(FieldFamily):
    """Counts, pooled statistics of tf, tf / len and tf * idf, and seven retrieval models."""

    evidence = "match"
    rising = ("covered*", "boolean", "vector_space", "bm25*", "lm_*")
    listed = (
        Feature(
            "covered",
            "Query terms that the field holds.",
            "number of t in T with tf > 0",
            _MSLR,
            "terms",
            missing=_QUERY,
        ),
        Feature(
            "covered_ratio",
            "Share of the query terms that the field holds.",
            "covered / |T|",
            _MSLR,
            "share",
            high=1.0,
            missing=_QUERY,
        ),
        Feature("stream_length", "Length of the field.", "len", _MSLR, "tokens"),
        Feature(
            "idf_sum",
            "How rare the query's terms are.",
            "sum over t in T with df > 0 of idf",
            _MSLR + ", Lucene's idf",
            "nats",
            missing=_KNOWN,
        ),
        *(
            Feature(
                name=f"{stem}_{pool}",
                meaning=f"{meaning}: {pool} over the query's terms.",
                formula=pooling.format(formula),
                source=_MSLR,
                unit=f"{unit}^2" if pool == "variance" else unit,
                high=high,
                missing=missing,
            )
            for stem, formula, unit, meaning, high, missing in _POOLED
            for pool, pooling in _POOLS
        ),
        Feature(
            name="boolean",
            meaning="1 where the field holds every query term, else 0.",
            formula="covered = |T|",
            source=_MSLR,
            unit="truth value",
            high=1.0,
            missing=_QUERY,
        ),
        Feature(
            name="vector_space",
            meaning="Cosine of the angle between query and field as vectors of tf * idf.",
            formula="sum over t in T of (qtf * idf) * (tf * idf), / (norm of query * norm of field)",
            source="Manning, Raghavan & Schuetze 2008, eq. 6.10, weights eq. 6.8, with Lucene's idf",
            unit="cosine",
            high=1.0,
            missing=_BOTH,
        ),
        Feature(
            name="bm25",
            meaning="BM25 of the field, as in Lucene.",
            formula="sum over t in T of qtf * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl)), "
            "dl = len as Lucene stores it in one byte, avgdl = mean len of the N documents",
            source="Lucene's BM25Similarity: no factor k1 + 1; Lucene rounds to float32 at each step (1e-6)",
            unit="nats",
            missing=_QUERY,
        ),
        Feature(
            name="lm_absolute",
            meaning="Log probability of the query under a language model with absolute discounting.",
            formula="sum over t in T with df > 0 of qtf * ln(max(tf - delta, 0) / len + delta * u / len * p)",
            source=_ZHAI,
            unit="nats",
            low=-inf,
            high=0.0,
            missing=_BOTH,
        ),
        Feature(
            name="lm_dirichlet",
            meaning="Log probability of the query under a language model with Dirichlet smoothing.",
            formula="sum over t in T with df > 0 of qtf * ln((tf + mu * p) / (len + mu))",
            source=_ZHAI,
            unit="nats",
            low=-inf,
            high=0.0,
            missing=_KNOWN,
        ),
        Feature(
            name="lm_jelinek_mercer",
            meaning="Log probability of the query under a language model with Jelinek-Mercer smoothing.",
            formula="sum over t in T with df > 0 of qtf * ln((1 - lambda) * tf / len + lambda * p)",
            source=_ZHAI,
            unit="nats",
            low=-inf,
            high=0.0,
            missing=_BOTH,
        ),
        Feature(
            name="bm25_bursty",
            meaning="BM25 of the field, with more weight on terms that crowd in few documents.",
            formula="bm25 with qtf * v in place of qtf, v = 0.2 + max(0, log2(N / df) + log2(1 - exp(-cf / N)))",
            source="residual idf of Church & Gale, Natural Language Engineering 1995",
            unit="nats",
            missing=_QUERY,
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 26)."""
        batch = block.candidates
        field = block.field
        _fill(
            (batch.query_ptr, batch.term_ptr, block.matches[0]),
            (batch.query_freq, block.idf, block.collection_freq / max(field.n_tokens, 1), block.burstiness),
            (block.lengths, block.unique_terms, vector_norms(field)[batch.docs], block.bm25_saturation(recipe)),
            (recipe.lm_absolute_delta, recipe.lm_dirichlet_mu, recipe.lm_jelinek_mercer_lambda),
            out,
        )


@kernel()
def _fill(matches, of_terms, of_rows, parameters, out):
    """Fill all columns of `out` (n_rows, 26) float32.

    matches     query_ptr, term_ptr, tf as in FieldBlock
    of_terms    qtf, idf, p and burstiness, (n_query_terms,); p is 0 for a term that no document holds
    of_rows     length, distinct terms, norm of tf * idf, and BM25's k1 * (1 - b + b * dl / avgdl), (n_rows,)
    parameters  delta, mu, lambda

    The sum of a language model is split as in Zhai & Lafferty (section 2), so that only terms that occur need a
    logarithm: ln p(t|d) = ln(p(t|d) / (a * p)) + ln a + ln p, with a the weight of p in the document.
    """
    query_ptr, term_ptr, tf = matches
    query_freq, idf, probability, burstiness = of_terms
    lengths, unique_terms, norms, saturation = of_rows
    delta, mu, share = parameters
    start = 0
    for query in range(len(query_ptr) - 1):
        first = term_ptr[query]
        n_terms = term_ptr[query + 1] - term_ptr[query]
        idf_sum = 0.0
        known = 0.0
        log_p = 0.0
        query_norm = 0.0
        for term in range(first, first + n_terms):
            if probability[term] > 0.0:
                idf_sum += idf[term]
                known += query_freq[term]
                log_p += query_freq[term] * log(probability[term])
                query_norm += (query_freq[term] * idf[term]) ** 2
        query_norm = np.sqrt(query_norm)
        for row in range(query_ptr[query], query_ptr[query + 1]):
            length = lengths[row]
            unique = unique_terms[row]
            out[row] = np.nan
            out[row, _STREAM_LENGTH] = length
            if n_terms == 0:
                continue
            covered = 0
            product = 0.0
            bm25 = 0.0
            bursty = 0.0
            absolute = 0.0
            dirichlet = 0.0
            mercer = 0.0
            for number in range(n_terms):
                count = tf[start + number]
                term = first + number
                if count == 0:
                    continue
                weight = query_freq[term]
                p = probability[term]
                covered += 1
                product += weight * count * idf[term] * idf[term]
                part = weight * idf[term] * count / (count + saturation[row])
                bm25 += part
                bursty += part * burstiness[term]
                absolute += weight * log1p((count - delta) / (delta * unique * p))
                dirichlet += weight * log1p(count / (mu * p))
                mercer += weight * log1p((1.0 - share) * count / (share * length * p))
            out[row, _COVERED] = covered
            out[row, _COVERED_RATIO] = covered / n_terms
            out[row, _BOOLEAN] = covered == n_terms
            out[row, _BM25] = bm25
            out[row, _BM25_BURSTY] = bursty
            if known > 0.0:
                out[row, _IDF_SUM] = idf_sum
                out[row, _LM_DIRICHLET] = dirichlet + log_p + known * log(mu / (length + mu))
                if length > 0:
                    out[row, _VECTOR_SPACE] = product / (query_norm * norms[row])
                    out[row, _LM_ABSOLUTE] = absolute + log_p + known * log(delta * unique / length)
                    out[row, _LM_JELINEK_MERCER] = mercer + log_p + known * log(share)
            for column in range(_TF, _BOOLEAN, 5):  # literal columns would compile `_pool` three times
                scale = 1.0 / length if column == _NORMALISED_TF else 1.0
                if column != _NORMALISED_TF or length > 0:
                    _pool(tf, start, idf, first, n_terms, column == _TF_IDF, scale, out, row, column)
            start += n_terms


@helper()
def _pool(tf, start, idf, first, n_terms, weighted, scale, out, row, column):
    """Fill sum, min, max, mean and variance of tf * scale, or of tf * idf * scale where `weighted`."""
    total = 0.0
    least = np.inf
    most = -np.inf
    for number in range(n_terms):
        value = tf[start + number] * scale * (idf[first + number] if weighted else 1.0)
        total += value
        least = min(least, value)
        most = max(most, value)
    mean = total / n_terms
    squares = 0.0
    for number in range(n_terms):
        value = tf[start + number] * scale * (idf[first + number] if weighted else 1.0)
        squares += (value - mean) ** 2
    out[row, column] = total
    out[row, column + 1] = least
    out[row, column + 2] = most
    out[row, column + 3] = mean
    out[row, column + 4] = squares / n_terms
