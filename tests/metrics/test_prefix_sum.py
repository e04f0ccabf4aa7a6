"""Measures as sums over documents that look upwards: equal to the measure, up to a constant of the query."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.types import ideal_of_rows, pointers
from tests.metrics.test_measures import NAMES

KNOWN = [
    name for name in NAMES if parse_measure(name).prefix_sum(RankedLists.of_query(np.ones(2), np.ones(2))) is not None
]


def by_the_formula(prefix_sum, order, query) -> float:
    """The sum of `PrefixSum`'s docstring for the rows of one query in some order."""
    total, added, kept = 0.0, prefix_sum.initial, 1.0
    for rank, row in enumerate(order):
        total += prefix_sum.gains[row] * prefix_sum.discounts[rank] * added * kept
        added += prefix_sum.add[row]
        kept *= prefix_sum.keep[row]
    return total * prefix_sum.norms[query]


def test_measures_that_add_up_have_a_cascade() -> None:
    symbols = {name.partition("@")[0].partition("(")[0] for name in KNOWN}
    assert symbols >= {"nDCG", "DCG", "P", "R", "RBP", "AP", "RR", "ERR", "nERR", "AUC"}


@pytest.mark.parametrize("name", KNOWN)
def test_cascade_changes_as_the_measure_does(name) -> None:
    random, measure = np.random.default_rng(0), parse_measure(name)
    sizes = random.integers(1, 15, 40)
    query_ptr = pointers(sizes)
    labels = random.integers(-1, 4, query_ptr[-1]).astype(float)
    ideal = ideal_of_rows(labels, query_ptr)
    prefix_sum = measure.prefix_sum(RankedLists(labels, query_ptr, *ideal))
    results = []
    for _ in range(6):
        orders = [first + random.permutation(size) for first, size in zip(query_ptr, sizes, strict=False)]
        lists = RankedLists(labels[np.concatenate(orders)], query_ptr, *ideal)
        formula = [by_the_formula(prefix_sum, order, query) for query, order in enumerate(orders)]
        results.append(measure.scores(lists) - formula)
    np.testing.assert_allclose(results[1:], np.tile(results[0], (5, 1)), atol=1e-12)
