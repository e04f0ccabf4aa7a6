"""Slow, obvious RankBoost: a distribution over listed pairs (Freund et al. 2003)."""

from __future__ import annotations

import numpy as np


def pairs(labels, query_ptr, weights):
    """x, y and weight, (n_pairs, 3), of every pair with x above y; the pairs of a query share its weight evenly."""
    results = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        own = [(x, y) for x in rows for y in rows if labels[x] > labels[y]]
        results += [(x, y, weights[q] / len(own)) for x, y in own]
    return np.array(results)


def gaps(pairs, values):
    """values[x] - values[y] of every pair."""
    x, y, _ = np.asarray(pairs).T
    return np.asarray(values, float)[x.astype(int)] - np.asarray(values, float)[y.astype(int)]


def distribution(pairs, scores):
    """D of the pairs: weight exp(-(s_x - s_y)), summing to 1; and the sum before that."""
    shares = np.asarray(pairs)[:, 2] * np.exp(-gaps(pairs, scores))
    return shares / shares.sum(), shares.sum()


def agreement(pairs, D, h):
    """r = sum D (h(x) - h(y))."""
    return D @ gaps(pairs, h)


def right_and_wrong(pairs, D, h):
    """W+ and W-."""
    result = gaps(pairs, h)
    return D[result > 0].sum(), D[result < 0].sum()


def normaliser(pairs, D, h, alpha):
    """Z(alpha) = sum D exp(alpha (h(y) - h(x)))."""
    return D @ np.exp(-alpha * gaps(pairs, h))


def thresholds(X):
    """Every h in {0, 1}: a feature above a value, a missing one on either side."""
    for column in X.T:
        for value in np.unique(column[~np.isnan(column)]):
            for missing in (False, True):
                yield np.where(np.isnan(column), missing, column > value)
