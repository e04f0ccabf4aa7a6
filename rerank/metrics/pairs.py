"""What measures share that count pairs of documents in the right order.

A pair is a retrieved document and a better one, retrieved or not; one that was not retrieved stands below all that
were, so its pairs are in the wrong order.
"""

from __future__ import annotations

import numpy as np

from rerank.metrics.lists import ratio, relevant_so_far, sums
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints


def pairs_in_order(lists: RankedLists) -> tuple[Floats, Floats]:
    """Return for each query the number of pairs in the right order, and of all pairs, (n_queries,) float64 each."""
    in_order, every = np.zeros(lists.n_queries), np.zeros(lists.n_queries)
    for label in np.unique(lists.labels):
        worse = lists.labels == label
        in_order += sums(worse * relevant_so_far(lists.labels > label, lists.query_ptr), lists.query_ptr)
        every += sums(worse, lists.query_ptr) * sums(lists.ideal_labels > label, lists.ideal_ptr)
    return in_order, every


def fill_pair_deltas(lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out with |change| of the share of pairs in the right order; see `Measure.fill_swap_deltas`."""
    from rerank.metrics.swaps.pairs import fill_pairs

    _, every = pairs_in_order(lists)
    scales = ratio(np.ones_like(every), every)
    fill_pairs(lists.labels, _balances(lists), lists.query_ptr, scales, depth, out, out_ptr)


def _balances(lists: RankedLists) -> Floats:
    """Return how many more worse than better documents stand above each, (n_rows,) float64."""
    balances = np.zeros(len(lists.labels))
    for label in np.unique(lists.labels):
        here = lists.labels == label
        below, above = (relevant_so_far(some, lists.query_ptr) for some in (lists.labels < label, lists.labels > label))
        balances[here] = (below - above)[here]
    return balances
