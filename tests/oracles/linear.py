"""Slow, obvious RankSVM: dual coordinate descent over listed pairs."""

from __future__ import annotations

import numpy as np


def listed_pairs(labels, query_ptr, weights):
    """(i, j, weight) of every pair with i above j; each query's pairs share its weight evenly."""
    results = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        own = [(i, j) for i in rows for j in rows if labels[i] > labels[j]]
        results += [(i, j, weights[q] / len(own)) for i, j in own]
    return results


def hinge_cost(w, C, start, inputs, pairs):
    """1/2 |w|^2 + C sum weight max(0, 1 - (s_i - s_j))."""
    scores = start + inputs @ w
    return 0.5 * w @ w + C * sum(weight * max(0.0, 1.0 - scores[i] + scores[j]) for i, j, weight in pairs)


def least_hinge_cost(C, start, inputs, pairs, rounds=60):
    """The least cost, by one pair's multiplier after the other."""
    gaps = np.array([inputs[i] - inputs[j] for i, j, _ in pairs])
    margins = np.array([1.0 - start[i] + start[j] for i, j, _ in pairs])
    limits = C * np.array([weight for _, _, weight in pairs])
    squares, multipliers, w = (gaps**2).sum(axis=1), np.zeros(len(pairs)), np.zeros(inputs.shape[1])
    for _ in range(rounds):
        for k in range(len(pairs)):
            new = min(max(multipliers[k] + (margins[k] - gaps[k] @ w) / squares[k], 0.0), limits[k])
            w += (new - multipliers[k]) * gaps[k]
            multipliers[k] = new
    return hinge_cost(w, C, start, inputs, pairs)
