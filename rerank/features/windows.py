"""Passages of candidates, scored by BM25 from the positions of the query's words in the forward arrays.

A document of s words has 1 passage where s is at most the window, otherwise 1 + ceil((s - window) / stride): passage j
holds the positions from j * stride to before j * stride + window, and the last one ends with the document. A document
of one passage takes the time of its query terms; another one takes that of its matches, and for each passage with a
match that of the query terms which it holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import cached_by_field
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.views import read_only_view
from rerank.types.arrays import Ints
from rerank.types.forward import FieldArrays
from rerank.types.passages import Passages

BEST = 3  # passages whose mean is a feature
N_COLUMNS = 9
COUNT, MAX, MEAN_OF_BEST, MEAN, FIRST, HITS, SHARE, COVERED, PLACE = range(N_COLUMNS)
_FAR = np.iinfo(np.int32).max


def fill_passages(block: FieldBlock, recipe: Recipe, passages: Passages, out: NDArray[np.float32]) -> Ints:
    """Fill `out` (n_rows, 9), and return the number of each row's best passage, (n_rows,) int64; 0 without a match."""
    batch, field = block.candidates, block.field
    if field.positions is None:
        raise ValueError(f"{field.name} is indexed without positions")
    relative = np.minimum(block.lucene_lengths, passages.window).astype(np.float64) / (field.average_length or 1.0)
    best = np.zeros(batch.n_rows, dtype=np.int64)
    _fill(
        (batch.query_ptr, batch.docs, batch.term_ptr, batch.query_freq),
        (block.tf_ptr, *block.matches, block.idf),
        (read_only_view(field.position_ptr), read_only_view(field.positions)),
        field_spans(field),
        recipe.bm25_k1 * (1.0 - recipe.bm25_b + recipe.bm25_b * relative),
        (passages.window, passages.stride),
        out,
        best,
    )
    return best


@cached_by_field
def field_spans(field: FieldArrays) -> NDArray[np.int32]:
    """Return the words of each document, (n_docs,) int32: up to the last one that is indexed; 0 for an empty field."""
    spans = np.zeros(len(field.lengths), dtype=np.int32)
    if field.positions is not None:
        arrays = (read_only_view(field.position_ptr), read_only_view(field.positions))
        with read_in_order(*arrays):
            _fill_spans(*arrays, spans)
    return spans


@kernel()
def _fill_spans(position_ptr, positions, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_docs,) with 1 + the greatest position of each document."""
    for doc in range(len(out)):
        last = np.int32(-1)
        for token in range(position_ptr[doc], position_ptr[doc + 1]):
            last = max(last, positions[token])
        out[doc] = last + 1


@kernel()
def _fill(queries, matches, field_positions, spans, saturation, sizes, out, best):  # type: ignore[no-untyped-def]
    """Fill all columns of `out` (n_rows, 9) float32, and the number of the best passage, `best` (n_rows,).

    queries     query_ptr, docs, term_ptr, query_freq as in Candidates
    matches     tf_ptr, tf, first_tokens, idf as in FieldBlock
    field_positions  position_ptr, positions of the field
    spans       (n_docs,) of `field_spans`
    saturation  (n_rows,) BM25's K of the row's passages
    sizes       window and stride
    lows, highs  of each held term, its first position that is not before the passage, and the first one after it
    """
    query_ptr, docs, term_ptr, query_freq = queries
    tf_ptr, tf, first_tokens, idf = matches
    position_ptr, positions = field_positions
    window, stride = sizes
    for query in range(len(query_ptr) - 1):
        first_term, n_terms = term_ptr[query], term_ptr[query + 1] - term_ptr[query]
        held, lows, highs, ends = np.empty((4, n_terms), np.int64)
        for row in range(query_ptr[query], query_ptr[query + 1]):
            span, start = np.int64(spans[docs[row]]), tf_ptr[query] + (row - query_ptr[query]) * n_terms
            n_passages = 1 + (max(span - window, 0) + stride - 1) // stride if span > 0 else 0
            for column in range(out.shape[1]):
                out[row, column] = np.nan
            out[row, COUNT] = n_passages
            if n_terms == 0:
                continue
            n_held = 0
            for number in range(n_terms):
                if tf[start + number] > 0:
                    lows[n_held] = position_ptr[docs[row]] + first_tokens[start + number]
                    held[n_held], ends[n_held] = first_term + number, lows[n_held] + tf[start + number]
                    highs[n_held] = ends[n_held] if n_passages == 1 else lows[n_held]
                    n_held += 1
            total, most, second, third, first, n_hits, most_covered = 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0
            passage = 0
            while passage < n_passages and n_held > 0:
                score, covered, nearest = 0.0, 0, _FAR
                for index in range(n_held):
                    if n_passages > 1:
                        low, high, end = lows[index], highs[index], ends[index]
                        while low < end and positions[low] < passage * stride:
                            low += 1
                        high = max(low, high)
                        while high < end and positions[high] < passage * stride + window:
                            high += 1
                        if low < end:
                            nearest = min(nearest, positions[low])
                        lows[index], highs[index] = low, high
                    count, term = highs[index] - lows[index], held[index]
                    if count > 0:
                        covered += 1
                        score += query_freq[term] * idf[term] * count / (count + saturation[row])
                if covered == 0:
                    # on to the first passage that holds the next match
                    passage = (nearest - window) // stride + 1 if nearest < _FAR else n_passages
                    continue
                n_hits, most_covered, total = n_hits + 1, max(most_covered, covered), total + score
                if passage == 0:
                    first = score
                if score > most:
                    best[row], third, second, most = passage, second, most, score
                elif score > second:
                    third, second = second, score
                elif score > third:
                    third = score
                passage += 1
            out[row, MAX], out[row, FIRST], out[row, HITS] = most, first, n_hits
            out[row, MEAN_OF_BEST] = (most + second + third) / max(min(n_passages, BEST), 1)
            out[row, MEAN], out[row, COVERED] = total / max(n_passages, 1), most_covered / n_terms
            if n_passages > 0:
                out[row, SHARE] = n_hits / n_passages
            if n_hits > 0:
                out[row, PLACE] = best[row] * stride / span
