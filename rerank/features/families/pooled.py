"""The pooled family: ten statistics of each query term, pooled over the query's terms in six ways.

With the LETOR, proximity and performance families these are the features of Pyserini 0.22's extractor for a field.
Those that the LETOR family has (sums of BM25 and tf, least and largest tf, ...) are left out.

T, tf, len, N, df, cf, idf  as in the LETOR family
dl       len as Lucene stores it in one byte; avgdl: mean tokens of the N documents
tokens   tokens of the field in all documents

BM25, Dirichlet and the two DFR models are Lucene's similarities: a term that the field does not hold scores 0.
Each distinct query term is used once. ratio = max / min, 0 where |min| is at most 1e-9. A term that no document holds
scores 0 in all models, including idf and ictf.

References
----------
Zhai & Lafferty, SIGIR 2001; Amati & van Rijsbergen, TOIS 2002; Amati et al., TREC 2007; Kwok, SIGIR 1996; Lucene's
similarities.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.runtime.elementary import array_exp, array_log, array_log1p, array_log2, log, log1p, log2
from rerank.runtime.kernels import helper, kernel

NEGLIGIBLE = 1e-9  # rounding may turn 0 into a number up to this
_FEW = 32  # values, up to which insertion sort is used
POOLS = ("sum", "mean", "median", "max", "min", "ratio")
_IN_LETOR = {  # pools that the LETOR family has
    "bm25": ("sum",),
    "tf": ("sum", "mean", "max", "min"),
    "normalised_tf": ("sum", "mean", "max", "min"),
    "idf": ("sum",),
}

_MODELS = (
    ("bm25", "BM25", "idf * tf / (tf + k1 * (1 - b + b * dl / avgdl))", "Lucene's BM25Similarity", "nats"),
    (
        "dirichlet",
        "Dirichlet-smoothed language model",
        "max(0, ln(1 + tf / (mu * q)) + ln(mu / (dl + mu))), q = (cf + 1) / (tokens + 1)",
        "Lucene's LMDirichletSimilarity; Zhai & Lafferty, SIGIR 2001",
        "nats",
    ),
    (
        "dfr_gl2",
        "Divergence from randomness, geometric model, Laplace after-effect, normalisation 2",
        "(log2(1 + L) + x * log2((1 + L) / L)) / (1 + x), L = (cf + 1) / (N + cf + 1), x = tf * log2(1 + avgdl / dl)",
        "Lucene's DFRSimilarity(G, L, H2); Amati & van Rijsbergen, TOIS 2002",
        "bits",
    ),
    (
        "dfr_inexpb2",
        "Divergence from randomness, expected idf, Bernoulli after-effect, normalisation 2",
        "log2((N + 1) / (n + 0.5)) * (cf + 2) / (df + 1) * x / (1 + x), n = N * (1 - (1 - 1 / N)^cf), x as in dfr_gl2",
        "Lucene's DFRSimilarity(Ine, B, H2); Amati & van Rijsbergen, TOIS 2002",
        "bits",
    ),
    (
        "dph",
        "Parameter-free divergence from randomness",
        "(1 - f)^2 / (tf + 1) * (tf * log2(tf * avgdl / len * N / cf) + 0.5 * log2(2 pi tf (1 - f))), f = tf / len; "
        "0 where f = 1",
        "Amati et al., TREC 2007 (DPH), as in Terrier",
        "bits",
    ),
    ("sublinear_tf_idf", "Damped tf times idf", "(1 + ln tf) * idf", "Manning et al. 2008, eq. 6.13", "nats"),
    ("tf", "Term frequency", "tf", "Pyserini 0.22", "occurrences"),
    ("normalised_tf", "Term frequency as a share of the field", "tf / len", "Pyserini 0.22", "share"),
    ("idf", "Rarity by documents", "idf", "Lucene's BM25Similarity", "nats"),
    ("ictf", "Rarity by occurrences", "ln(tokens / cf)", "Kwok, SIGIR 1996", "nats"),
)
_SIGNED = ("dph",)
_OF_QUERY = ("idf", "ictf")


def _pooled() -> list[Feature]:
    return [
        Feature(
            name=f"{stem}_{pool}",
            meaning=f"{model}, {pool} over the query's terms.",
            formula=f"{pool} over t in T of {formula}",
            source=source,
            unit="ratio" if pool == "ratio" else unit,
            low=-np.inf if stem in _SIGNED else 0.0,
            missing=(Missing.NO_QUERY_TERMS,),
            cost=Cost.QUERY if stem in _OF_QUERY else Cost.TERMS,
        )
        for stem, model, formula, source, unit in _MODELS
        for pool in POOLS
        if pool not in _IN_LETOR.get(stem, ())
    ]


_FEATURES = (
    *_pooled(),
    Feature(
        "normalised_tf_idf",
        "Share of the field's tokens that each query term has, times its rarity.",
        "sum over t in T of tf / len * idf",
        "Pyserini 0.22's NormalizedTfIdf",
        "nats",
        missing=(Missing.NO_QUERY_TERMS,),
    ),
)
_COLUMNS = np.array([[pool not in _IN_LETOR.get(stem, ()) for pool in POOLS] for stem, *_ in _MODELS], dtype=np.bool_)
_BM25, _DIRICHLET, _GL2, _INEXPB2, _DPH, _SUBLINEAR, _TF, _NORMALISED, _IDF, _ICTF = range(10)


@register("pooled")
class PooledFeatures(FieldFamily):
    """BM25, Dirichlet, DFR, DPH, tf, tf-idf, idf and ictf of each term, pooled."""

    evidence = "match"
    on_request = True
    independent_rows = True
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 49)."""
        batch = block.candidates
        _fill(
            (batch.query_ptr, batch.term_ptr, block.tf_ptr, block.tf),
            term_constants(block, recipe),
            block.lengths,
            array_log2(1.0 + 1.0 / np.maximum(block.relative_lengths, 1e-9)),
            block.bm25_saturation(recipe),
            array_log(recipe.lm_dirichlet_mu / (block.lucene_lengths + recipe.lm_dirichlet_mu)),
            block.field.average_length,
            _COLUMNS,
            out,
        )


def term_constants(block: FieldBlock, recipe: Recipe) -> NDArray[np.float64]:
    """Return constants of each query term, (n_query_terms, 7) float64; all 0 where no document holds the term.

    The columns are idf, ictf, 1 / (mu * q), the two logarithms of model G, the factor of model Ine, and N / cf.
    """
    field, df, cf = block.field, block.doc_freq.astype(np.float64), block.collection_freq.astype(np.float64)
    n_docs = np.float64(max(field.n_docs_with, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (cf + 1.0) / (field.n_tokens + 1.0)
        geometric = (cf + 1.0) / (n_docs + cf + 1.0)
        expected = n_docs * (1.0 - array_exp(cf * array_log1p(-1.0 / n_docs)))
        columns = (
            block.idf,
            array_log(field.n_tokens / cf),
            1.0 / (recipe.lm_dirichlet_mu * share),
            array_log2(geometric + 1.0),
            array_log2((1.0 + geometric) / geometric),
            array_log2((n_docs + 1.0) / (expected + 0.5)) * (cf + 2.0) / (df + 1.0),
            n_docs / cf,
        )
    return np.where((df > 0)[:, None], np.stack(columns, axis=1), 0.0)


@kernel()
def _fill(matches, constants, lengths, per_tf, saturation, log_mu, average, columns, out):  # type: ignore[no-untyped-def]
    """Fill all columns.

    matches     query_ptr, term_ptr, tf_ptr, tf as in FieldBlock
    constants   (n_query_terms, 7) of `term_constants`
    per_tf      (n_rows,) log2(1 + avgdl / dl); saturation (n_rows,); log_mu (n_rows,) ln(mu / (dl + mu))
    columns     (10, 6) bool: the pools of each model that have a column
    """
    query_ptr, term_ptr, tf_ptr, tf = matches
    for query in range(len(query_ptr) - 1):
        first, n_terms = term_ptr[query], term_ptr[query + 1] - term_ptr[query]
        values, spare, pools = np.empty((10, n_terms)), np.empty(n_terms), np.empty((10, 6))
        for row in range(query_ptr[query], query_ptr[query + 1]):
            if n_terms == 0:
                out[row] = np.nan
                continue
            start = tf_ptr[query] + (row - query_ptr[query]) * n_terms
            length, sum_tf_idf = np.float64(lengths[row]), 0.0
            for number in range(n_terms):
                count, term = np.float64(tf[start + number]), constants[first + number]
                values[_IDF, number], values[_ICTF, number] = term[0], term[1]
                values[:_IDF, number] = 0.0
                if count > 0.0:
                    share, normal = count / length, count * per_tf[row]
                    values[_BM25, number] = term[0] * count / (count + saturation[row])
                    values[_DIRICHLET, number] = max(log1p(count * term[2]) + log_mu[row], 0.0)
                    values[_GL2, number] = (term[3] + normal * term[4]) / (1.0 + normal)
                    values[_INEXPB2, number] = term[5] * normal / (1.0 + normal)
                    if share < 1.0:
                        values[_DPH, number] = (
                            (1.0 - share) ** 2
                            / (count + 1.0)
                            * (
                                count * log2(share * average * term[6])
                                + 0.5 * log2(2.0 * np.pi * count * (1.0 - share))
                            )
                        )
                    values[_SUBLINEAR, number] = (1.0 + log(count)) * term[0]
                    values[_TF, number], values[_NORMALISED, number] = count, share
                    sum_tf_idf += share * term[0]
            column = 0
            for model in range(10):
                if model < _IDF or row == query_ptr[query]:
                    if n_terms > _FEW:
                        _pool_many(values[model], spare, pools[model])
                    else:
                        _pool(values[model], pools[model])
                for pool in range(6):
                    if columns[model, pool]:
                        out[row, column] = pools[model, pool]
                        column += 1
            out[row, column] = sum_tf_idf


@helper()
def _pool(values, out):  # type: ignore[no-untyped-def]
    """Fill sum, mean, median, max, min and ratio of `values`, which are sorted in index."""
    total = 0.0
    for number in range(len(values)):
        value, index = values[number], number
        total += value
        while index > 0 and values[index - 1] > value:
            values[index] = values[index - 1]
            index -= 1
        values[index] = value
    n_values, least, most = len(values), values[0], values[-1]
    out[0], out[1], out[3], out[4] = total, total / n_values, most, least
    out[2] = 0.5 * (values[(n_values - 1) >> 1] + values[n_values >> 1])
    out[5] = most / least if abs(least) > NEGLIGIBLE else 0.0


@helper()
def _pool_many(values, spare, out):  # type: ignore[no-untyped-def]
    """Do what `_pool` does, in time n ln n; the sum is taken before sorting, since it depends on the order."""
    total = 0.0
    for number in range(len(values)):
        total += values[number]
    _sort(values, spare)
    _pool(values, out)
    out[0], out[1] = total, total / len(values)


@helper()
def _sort(values, spare):  # type: ignore[no-untyped-def]
    """Sort values by merging adjacent runs of doubling size; `spare` is overwritten."""
    size, n_values = 1, len(values)
    while size < n_values:
        for low in range(0, n_values, 2 * size):
            middle, end = min(low + size, n_values), min(low + 2 * size, n_values)
            left, right = low, middle
            for index in range(low, end):
                if right == end or (left < middle and values[left] <= values[right]):
                    spare[index] = values[left]
                    left += 1
                else:
                    spare[index] = values[right]
                    right += 1
        for index in range(n_values):  # an assignment of the array would compile the text of its error for a second
            values[index] = spare[index]
        size *= 2
