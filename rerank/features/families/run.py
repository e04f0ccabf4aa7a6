"""Families of scores: LETOR, run, relative and performance.

The LETOR family: the 25 features of MSLR-WEB for each field.

T     distinct terms of the query          qtf   occurrences of a term in the query
tf    occurrences in the document's field  len   tokens of the document's field (the exact count)
N     documents that hold the field        df    those of them that hold the term
cf    occurrences of the term in the field of all documents; p = cf / tokens of the field in all documents
u     distinct terms of the document's field
idf   ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's; a term that no document holds has none

Pooled statistics use each distinct query term once; the models weight a term by qtf. A term that no document holds is
in T with tf = 0, so it is not covered; sums of idf and the models leave it out. If a query has no terms, all features
but the stream length are missing.

The run family: scores and ranks in the run of the candidates and in other runs, and the query's length. Ranks follow
trec_eval's order: by score, ties by document id, both descending. Scores are normalised within the query over the
candidates that the run holds. The ranks of another run count its other documents too.

The relative family: the main scores of a document relative to those of the query's other candidates. A tree compares a
value with one threshold for all queries, but a BM25 of 9 is high for one query and low for another. These features make
the scores comparable. They depend on the candidates, so models are comparable on equal runs only.

The performance family: predictors of the query's difficulty in a field, which do not depend on the document. A term
that no document holds is left out. Clarity, which needs the first documents, is in the feedback family, and the spread
of the run's scores in the run family.

References
----------
Qin & Liu, Introducing LETOR 4.0 Datasets, 2013; Manning, Raghavan & Schuetze, Introduction to Information Retrieval,
2008, chapter 6; Zhai & Lafferty, SIGIR 2001; Lucene's BM25Similarity; Lee, SIGIR 1997 (score normalisation); Shtok,
Kurland & Carmel, ICTIR 2009 (NQC); He & Ounis, SPIRE 2004; Zhao, Scholer & Tsegay, ECIR 2008.

"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.feedback import FeedbackFeatures
from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import Feature, FieldFamily, Missing, Recipe, RunFamily, columns_of, register
from rerank.features.statistics import vector_norms
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import array_log, array_log1p, array_log2, log, log1p
from rerank.types import Floats, Ints, query_rows
from rerank.types.order import scores_and_ranks

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
_BOOLEAN, _VECTOR_SPACE, _BM25, _LM_ABSOLUTE, _LM_DIRICHLET, _LM_JELINEK_MERCER = range(19, 25)


@register("letor")
class LetorFeatures(FieldFamily):
    """Counts, pooled statistics of tf, tf / len and tf * idf, and six retrieval models."""

    evidence = "match"
    rising = ("covered*", "boolean", "vector_space", "bm25", "lm_*")
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
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 25)."""
        batch = block.candidates
        field = block.field
        unique_terms = field.doc_ptr[batch.docs + 1] - field.doc_ptr[batch.docs]
        _fill(
            (batch.query_ptr, batch.term_ptr, block.matches[0]),
            (batch.query_freq, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            (block.lengths, unique_terms, vector_norms(field)[batch.docs], block.bm25_saturation(recipe)),
            (recipe.lm_absolute_delta, recipe.lm_dirichlet_mu, recipe.lm_jelinek_mercer_lambda),
            out,
        )


@kernel()
def _fill(matches, of_terms, of_rows, parameters, out):  # type: ignore[no-untyped-def]
    """Fill all columns of `out` (n_rows, 25) float32.

    matches     query_ptr, term_ptr, tf as in FieldBlock
    of_terms    qtf, idf and p, (n_query_terms,); p is 0 for a term that no document holds
    of_rows     length, distinct terms, norm of tf * idf, and BM25's k1 * (1 - b + b * dl / avgdl), (n_rows,)
    parameters  delta, mu, lambda

    The sum of a language model is split as in Zhai & Lafferty (section 2), so that only terms that occur need a
    logarithm: ln p(t|d) = ln(p(t|d) / (a * p)) + ln a + ln p, with a the weight of p in the document.
    """
    query_ptr, term_ptr, tf = matches
    query_freq, idf, probability = of_terms
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
                bm25 += weight * idf[term] * count / (count + saturation[row])
                absolute += weight * log1p((count - delta) / (delta * unique * p))
                dirichlet += weight * log1p(count / (mu * p))
                mercer += weight * log1p((1.0 - share) * count / (share * length * p))
            out[row, _COVERED] = covered
            out[row, _COVERED_RATIO] = covered / n_terms
            out[row, _BOOLEAN] = covered == n_terms
            out[row, _BM25] = bm25
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
def _pool(tf, start, idf, first, n_terms, weighted, scale, out, row, column):  # type: ignore[no-untyped-def]
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

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
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


_SCORES = [
    (name, column, score)
    for name, listed, main in (
        ("letor", LetorFeatures.listed, ("tf_idf_sum", "vector_space", "bm25", "lm_dirichlet", "lm_jelinek_mercer")),
        ("feedback", FeedbackFeatures.listed, ("rm3_10", "rocchio", "similarity_10")),
    )
    for column, score in enumerate(listed)
    if score.name in main
]
_MEANINGS = (
    (
        "minmax",
        "Score {} on a scale from the query's least (0) to its greatest (1).",
        "(x - min) / (max - min); 0 where all are equal",
        "share",
        0.0,
        1.0,
    ),
    (
        "zscore",
        "Score {} in standard deviations from the query's mean.",
        "(x - mean) / standard deviation; 0 where all are equal",
        "deviations",
        -inf,
        inf,
    ),
    ("rank", "Rank of the document by {}.", "1 + number of candidates with a greater value", "ranks", 1.0, inf),
)
FORMS = ("minmax", "zscore", "rank")
_LOW = np.uint64(0xFFFFFFFF)  # the half of a key that holds the row


@register("relative")
class RelativeFeatures(FieldFamily):
    """Min-max, z-score and rank, within the query, of the main scores; missing where the score is."""

    evidence = "match"
    rising = ("*_minmax", "*_zscore")
    falling = ("*_rank",)
    listed = tuple(
        Feature(
            name=f"{score.name}_{form}",
            meaning=meaning.format(score.name),
            formula=f"{formula}; x = {score.name}",
            source="score normalisation of Lee, SIGIR 1997, and of LETOR 4.0, over the query's candidates",
            unit=unit,
            low=low,
            high=high,
            missing=score.missing,
        )
        for _, _, score in _SCORES
        for form, meaning, formula, unit, low, high in _MEANINGS
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 24)."""
        scores = [columns_of(name, block, recipe)[:, column] for name, column, _ in _SCORES]
        out[:] = relate(block.candidates.query_ptr, np.stack(scores, axis=1))


def relate(query_ptr: Ints, scores: NDArray[Any]) -> NDArray[np.float32]:
    """Return min-max, z-score and rank of scores (n_rows, n_scores), (n_rows, 3 * n_scores); NaN where they are.

    Equal values, as float32, all have the best rank among them.
    """
    out = np.empty((len(scores), len(FORMS) * scores.shape[1]), dtype=np.float32)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    with np.errstate(over="ignore"):
        bits = (scores.astype(np.float32) + np.float32(0.0)).view(np.uint32)  # -0 becomes 0
    _relate(query_ptr, scores, bits, out)
    return out


@kernel()
def _relate(query_ptr, scores, bits, out):  # type: ignore[no-untyped-def]
    """Fill `out` as `relate` says; bits (n_rows, n_scores) uint32 are those of the scores as float32."""
    for query in range(len(query_ptr) - 1):
        first = query_ptr[query]
        last = query_ptr[query + 1]
        keys = np.empty((2, last - first), np.uint64)
        for score in range(scores.shape[1]):
            column = 3 * score
            n_rows = 0
            total = 0.0
            least = np.inf
            most = -np.inf
            for row in range(first, last):
                value = scores[row, score]
                if np.isnan(value):
                    out[row, column], out[row, column + 1], out[row, column + 2] = np.nan, np.nan, np.nan
                    continue
                bit = bits[row, score]
                key = np.uint64(bit) if bit >> np.uint32(31) else np.uint64(bit ^ np.uint32(0x7FFFFFFF))  # descending
                keys[0, n_rows] = key << np.uint64(32) | np.uint64(row - first)
                n_rows += 1
                total += np.float64(value)
                least = min(least, value)
                most = max(most, value)
            if n_rows == 0:
                continue
            mean = total / n_rows
            squares = 0.0
            for number in range(n_rows):
                squares += (scores[first + np.int64(keys[0, number] & _LOW), score] - mean) ** 2
            deviation = np.sqrt(squares / n_rows)
            rank = 0
            spread = most > least
            order = _sorted(keys[0, :n_rows], keys[1, :n_rows])
            for index in range(n_rows):
                if index == 0 or order[index] >> np.uint64(32) != order[index - 1] >> np.uint64(32):
                    rank = index + 1
                row = first + np.int64(order[index] & _LOW)
                value = scores[row, score]
                out[row, column] = (value - least) / (most - least) if spread else 0.0
                out[row, column + 1] = (value - mean) / deviation if spread and deviation > 0.0 else 0.0
                out[row, column + 2] = rank


@helper()
def _sorted(keys, spare):  # type: ignore[no-untyped-def]
    """Return `keys` (uint64) in ascending order of their upper half; a stable sort that overwrites both arrays.

    A radix sort by one byte at a time, from the lowest; a byte that all keys share is skipped.
    """
    counts = np.zeros((4, 256), np.int64)
    for number in range(len(keys)):
        for byte in range(4):
            counts[byte, np.int64(keys[number] >> np.uint64(32 + 8 * byte)) & 255] += 1
    for byte in range(4):
        total = 0
        shift = np.uint64(32 + 8 * byte)
        if len(keys) == 0 or counts[byte, np.int64(keys[0] >> shift) & 255] == len(keys):
            continue
        for digit in range(counts.shape[1]):
            total, counts[byte, digit] = total + counts[byte, digit], total
        for number in range(len(keys)):
            digit = np.int64(keys[number] >> shift) & 255  # type: ignore[assignment]
            spare[counts[byte, digit]] = keys[number]
            counts[byte, digit] += 1
        keys, spare = spare, keys
    return keys


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
