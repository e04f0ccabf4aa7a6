"""Shared code of the measures that count pairs of documents in the right order.

A pair is a retrieved document and a better one, retrieved or not. A document that is not retrieved is below all
retrieved ones, so that its pairs are in the wrong order.
"""

from __future__ import annotations

import numpy as np

from rerank.metrics.lists import ratio, relevant_so_far, sums
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints


def pairs_in_order(lists: RankedLists) -> tuple[Floats, Floats]:
    """Return the number of pairs in the right order and of all pairs of each query, (n_queries,) float64 each."""
    in_order, n_pairs = np.zeros(lists.n_queries), np.zeros(lists.n_queries)
    for label in np.unique(lists.labels):
        worse = lists.labels == label
        in_order += sums(worse * relevant_so_far(lists.labels > label, lists.query_ptr), lists.query_ptr)
        n_pairs += sums(worse, lists.query_ptr) * sums(lists.ideal_labels > label, lists.ideal_ptr)
    return in_order, n_pairs


def fill_pair_deltas(lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out with |change| of the share of pairs in the right order; see `Measure.fill_swap_deltas`."""
    from rerank.metrics.swaps.pairs import fill_pairs

    _, n_pairs = pairs_in_order(lists)
    scales = ratio(np.ones_like(n_pairs), n_pairs)
    fill_pairs(lists.labels, _balances(lists), lists.query_ptr, scales, depth, out, out_ptr)


def _balances(lists: RankedLists) -> Floats:
    """Return the number of worse minus better documents above each document, (n_rows,) float64."""
    balances = np.zeros(len(lists.labels))
    for label in np.unique(lists.labels):
        equal = lists.labels == label
        below, above = (relevant_so_far(some, lists.query_ptr) for some in (lists.labels < label, lists.labels > label))
        balances[equal] = (below - above)[equal]
    return balances
