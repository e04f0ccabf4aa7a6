"""Families of scores: the run family, the relative family and the performance family.

The run family: scores and ranks in the run of the candidates and in other runs, and the query's length. Ranks follow
trec_eval's order: by score, ties by document id, both descending. Scores are normalised within the query over the
candidates that the run holds. The ranks of another run count its other documents too.

The relative family: the main scores of a document relative to those of the query's other candidates. A tree compares a
value with one threshold for all queries, but a BM25 of 9 is high for one query and low for another. These features make
the scores comparable. They depend on the candidates, so models are comparable on equal runs only.

The performance family: predictors of the query's difficulty in a field, which do not depend on the document. T, qtf, N,
df, cf, idf as in the LETOR family; a term that no document holds is left out. Clarity, which needs the first documents,
is in the feedback family, and the spread of the run's scores in the run family.

References
----------
Lee, SIGIR 1997 (score normalisation); Qin & Liu 2013 (LETOR 4.0); Shtok, Kurland & Carmel, ICTIR 2009 (NQC); He &
Ounis, SPIRE 2004; Zhao, Scholer & Tsegay, ECIR 2008.

"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.feedback import FeedbackFeatures
from rerank.features.families.letor import LetorFeatures
from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import Feature, FieldFamily, Missing, Recipe, RunFamily, columns_of, register
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import array_log, array_log1p, array_log2
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
)


def _features_of(run: str, missing: tuple[Missing, ...]) -> list[Feature]:
    def feature(name: str, meaning: str, formula: str, source: str, unit: str, low: float, high: float) -> Feature:
        return Feature(f"{run}.{name}", meaning, formula, source, unit, low, high, missing)

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
        query = query_rows(query_ptr)
        own = np.stack((candidates.scores, np.arange(candidates.n_rows) - query_ptr[query] + 1.0), axis=1)
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


MAIN = {
    "letor": ("tf_idf_sum", "vector_space", "bm25", "lm_dirichlet", "lm_jelinek_mercer"),
    "feedback": ("rm3_10", "rocchio", "similarity_10"),
}
_SCORES = [
    (name, column, score)
    for name, listed in (("letor", LetorFeatures.listed), ("feedback", FeedbackFeatures.listed))
    for column, score in enumerate(listed)
    if score.name in MAIN[name]
]
_SOURCE = "score normalisation of Lee, SIGIR 1997, and of LETOR 4.0, over the query's candidates"
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
            source=_SOURCE,
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


_UNKNOWN = (Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM)
_HE = "He & Ounis, SPIRE 2004"
_ZHAO = "Zhao, Scholer & Tsegay, ECIR 2008"
_COLLECTION_QUERY = "(1 + ln cf) * ln(1 + N / df)"


def _predictor(name: str, meaning: str, formula: str, source: str, unit: str, low: float = 0.0) -> Feature:
    return Feature(name, meaning, formula, source, unit, low, inf, _UNKNOWN)


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
