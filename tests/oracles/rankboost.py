"""Slow, obvious RankBoost: a distribution over listed pairs (Freund et al. 2003)."""

from __future__ import annotations

import numpy as np


def pairs(labels, query_ptr, weights):
    """(x, y, weight) of every pair with x above y, rows of all queries; each query's pairs share its weight evenly."""
    found = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        own = [(x, y) for x in rows for y in rows if labels[x] > labels[y]]
        found += [(x, y, weights[q] / len(own)) for x, y in own]
    return found


def distribution(pairs, scores):
    """D of the pairs: weight exp(-(s_x - s_y)), summing to 1; and the sum before that."""
    shares = np.array([weight * np.exp(scores[y] - scores[x]) for x, y, weight in pairs])
    return shares / shares.sum(), shares.sum()


def agreement(pairs, D, h):
    """r = sum D (h(x) - h(y))."""
    return sum(share * (float(h[x]) - float(h[y])) for share, (x, y, _) in zip(D, pairs, strict=True))


def right_and_wrong(pairs, D, h):
    """W+ and W-."""
    right = sum(share for share, (x, y, _) in zip(D, pairs, strict=True) if h[x] > h[y])
    wrong = sum(share for share, (x, y, _) in zip(D, pairs, strict=True) if h[x] < h[y])
    return right, wrong


def normaliser(pairs, D, h, alpha):
    """Z(alpha) = sum D exp(alpha (h(y) - h(x)))."""
    return sum(share * np.exp(alpha * (float(h[y]) - float(h[x]))) for share, (x, y, _) in zip(D, pairs, strict=True))


def thresholds(X):
    """Every h in {0, 1}: a feature above a value, a missing one on either side."""
    for column in X.T:
        for value in np.unique(column[~np.isnan(column)]):
            for missing in (False, True):
                yield np.where(np.isnan(column), missing, column > value)
