"""The relative family: the main scores of a document relative to those of the query's other candidates.

A tree compares a value with one threshold for all queries, but a BM25 of 9 is high for one query and low for another.
These features make the scores comparable. They depend on the candidates: compare models on the same candidates only.

References
----------
Lee, SIGIR 1997 (score normalisation).

"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.columns import columns_of
from rerank.features.families.feedback import FeedbackFeatures
from rerank.features.families.letor import LetorFeatures
from rerank.features.family import Feature, FieldFamily, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.runtime.kernels import helper, kernel
from rerank.types import Ints

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
    """Min-max, z-score and rank, within the query, of the main scores; missing where the score is missing."""

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
    """Return min-max, z-score and rank of each score, (n_rows, 3 * n_scores); NaN where the score is NaN.

    Scores (n_rows, n_scores) that are equal as float32 share the best of their ranks.
    """
    out = np.empty((len(scores), len(FORMS) * scores.shape[1]), dtype=np.float32)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    with np.errstate(over="ignore"):
        bits = (scores.astype(np.float32) + np.float32(0.0)).view(np.uint32)  # -0 becomes 0
    _relate(query_ptr, scores, bits, out)
    return out


@kernel()
def _relate(query_ptr, scores, bits, out):
    """Fill `out` as `relate` says; bits (n_rows, n_scores) uint32 of the scores as float32."""
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
def _sorted(keys, spare):
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
