"""Swap deltas of measures without a specific formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints

Scores = Callable[[RankedLists], Floats]  # the value of a measure for every query
LABELS_AT_ONCE = 1 << 20  # labels of the swapped lists that are measured together: 8 MB


def fill_from_weights(swap: SwapWeights, query_ptr: Ints, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out with |gain_i - gain_j| * |discount_i - discount_j| * inverse_norm, gains in rank order."""
    for q, rows, block in _blocks(query_ptr, depth, out, out_ptr):
        gains, discounts = swap.gains[rows], swap.discounts[: block.shape[1]]
        np.abs(np.subtract.outer(gains[: len(block)], gains), out=block)
        block *= np.abs(np.subtract.outer(discounts[: len(block)], discounts)) * swap.inverse_norms[q]


def fill_by_recomputing(scores: Scores, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out by computing the measure again after each swap of two different labels."""
    for q, rows, block in _blocks(lists.query_ptr, depth, out, out_ptr):
        labels = lists.labels[rows]
        ideal = lists.ideal_labels[lists.ideal_ptr[q] : lists.ideal_ptr[q + 1]]
        before = scores(RankedLists.of_query(labels, ideal))[0]
        upper, lower = np.nonzero(np.triu(np.not_equal.outer(labels[: len(block)], labels), 1))
        block[:] = 0.0
        at_once = max(1, LABELS_AT_ONCE // len(labels))
        for part in (slice(first, first + at_once) for first in range(0, len(upper), at_once)):
            deltas = np.abs(_after_swaps(scores, labels, ideal, upper[part], lower[part]) - before)
            block[upper[part], lower[part]] = deltas
            mirrored = lower[part] < len(block)
            block[lower[part][mirrored], upper[part][mirrored]] = deltas[mirrored]


def _blocks(query_ptr: Ints, depth: int, out: Floats, out_ptr: Ints) -> Iterator[tuple[int, slice, Floats]]:
    """Yield each query with rows, its rows, and its block of out, (min(depth, n), n)."""
    for q, (first, last) in enumerate(zip(query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True)):
        if first < last:
            block = out[out_ptr[q] : out_ptr[q + 1]].reshape(min(depth, last - first), last - first)
            yield q, slice(first, last), block


def _after_swaps(scores: Scores, labels: Floats, ideal: Floats, i: Ints, j: Ints) -> Floats:
    """Return the measure of a list after each swap of ranks i and j, (n_swaps,) float64."""
    n_swaps = len(i)
    swapped = np.tile(labels, (n_swaps, 1))
    swap = np.arange(n_swaps)
    swapped[swap, i], swapped[swap, j] = labels[j], labels[i]
    pointers = np.arange(n_swaps + 1)
    return scores(RankedLists(swapped.ravel(), pointers * len(labels), np.tile(ideal, n_swaps), pointers * len(ideal)))
