"""How swaps change a measure, by measuring each swapped list anew."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from rerank.metrics.ranked_lists import RankedLists
from rerank.types import Floats, Ints

LABELS_AT_ONCE = 1 << 20  # labels of the swapped lists that are measured together: 8 MB
Scores = Callable[[RankedLists], Floats]  # the value of a measure for every query


def fill_by_recomputing(scores: Scores, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
    """Fill out by computing the measure again after each swap of two different labels."""
    for q, (first, last) in enumerate(pairwise(lists.query_ptr.tolist())):
        if first == last:
            continue
        labels = lists.labels[first:last]
        ideal = lists.ideal_labels[lists.ideal_ptr[q] : lists.ideal_ptr[q + 1]]
        before = scores(RankedLists.of_query(labels, ideal))[0]
        block = out[out_ptr[q] : out_ptr[q + 1]].reshape(-1, len(labels))
        block[:] = 0.0
        upper, lower = np.nonzero(np.triu(np.not_equal.outer(labels[: len(block)], labels), 1))
        at_once = max(1, LABELS_AT_ONCE // len(labels))
        for start in range(0, len(upper), at_once):
            i = upper[start : start + at_once]
            j = lower[start : start + at_once]
            block[i, j] = np.abs(_after_swaps(scores, labels, ideal, i, j) - before)


def _after_swaps(scores: Scores, labels: Floats, ideal: Floats, i: Ints, j: Ints) -> Floats:
    """Return the measure of a list after each swap of ranks i and j, (n_swaps,) float64."""
    swap = np.arange(len(i))
    swapped = np.tile(labels, (len(i), 1))
    swapped[swap, i] = labels[j]
    swapped[swap, j] = labels[i]
    ptr = np.arange(len(i) + 1)
    return scores(RankedLists(swapped.ravel(), ptr * len(labels), np.tile(ideal, len(i)), ptr * len(ideal)))
