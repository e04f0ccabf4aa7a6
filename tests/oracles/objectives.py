"""Slow, obvious costs: one pair or one document after the other, as the papers write them."""

from __future__ import annotations

from math import exp, log, log1p


def _pairs(scores, labels):
    """Score differences of all pairs of one query with l_i > l_j."""
    n = len(scores)
    return [scores[i] - scores[j] for i in range(n) for j in range(n) if labels[i] > labels[j]]


def ranknet(scores, labels, sigma=1.0):
    return sum(log1p(exp(-sigma * gap)) for gap in _pairs(scores, labels))


def hinge(scores, labels):
    return sum(max(0.0, 1.0 - gap) for gap in _pairs(scores, labels))


def exponential(scores, labels):
    return sum(exp(-gap) for gap in _pairs(scores, labels))


def gbrank(scores, labels, tau=0.1):
    return sum(0.5 * max(0.0, tau - gap) ** 2 for gap in _pairs(scores, labels))


def plackett_luce(scores, labels):
    total = 0.0
    for score, label in zip(scores, labels, strict=True):
        left = exp(score) + sum(exp(s) for s, other in zip(scores, labels, strict=True) if other < label)
        total -= log(exp(score) / left)
    return total


def least_squares(scores, labels):
    return sum(0.5 * (score - label) ** 2 for score, label in zip(scores, labels, strict=True))


def logistic(scores, labels, sigma=1.0):
    classes = [1 if label > 0 else -1 for label in labels]
    return sum(log1p(exp(-2 * y * sigma * score)) for score, y in zip(scores, classes, strict=True))


def logistrank(scores, labels):
    """Labels 0 to 4, perfect is 4 and among them: positive are 2, 3 and 4."""
    scale = {4: 3, 3: 2, 2: 1, 1: 1, 0: 1}
    rows = zip(scores, labels, strict=True)
    return sum(scale[int(label)] * log1p(exp(-(1 if label >= 2 else -1) * score)) for score, label in rows)
