"""Slow, obvious objectives for scores of any size, in long double: cost, gradient and curvature of one query.

Every exponential is of a difference of two scores, so that nothing but the answer itself can leave the range.
"""

from __future__ import annotations

import numpy as np

Wide = np.longdouble
WIDEST = 600  # larger margins of misordered pairs are cut to this: the exponential would overflow float64


def _empty(scores):
    return Wide(0), np.zeros(len(scores), Wide), np.zeros(len(scores), Wide)


def _pairs(labels):
    n = len(labels)
    return [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]


def _add_pair(grad, hess, i, j, slope, bend):
    grad[i] += slope
    grad[j] -= slope
    hess[i] += bend
    hess[j] += bend


def _logistic(margin):
    """log(1 + exp(-m)), its slope -1 / (1 + exp(m)) and its curvature, from exp(-|m|) <= 1."""
    small = np.exp(-abs(margin))
    rho = small / (1 + small) if margin >= 0 else 1 / (1 + small)
    return np.log1p(small) + max(-margin, Wide(0)), -rho, small / (1 + small) ** 2


def pairwise_logistic(scores, labels, worth=None, sigma=1.0):
    """worth (n, n): what a pair's cost is multiplied by; None: 1."""
    cost, grad, hess = _empty(scores)
    for i, j in _pairs(labels):
        factor = Wide(1 if worth is None else worth[i, j])
        if factor == 0:
            continue
        own, slope, bend = _logistic(Wide(sigma) * (Wide(scores[i]) - Wide(scores[j])))
        cost += factor * own
        _add_pair(grad, hess, i, j, factor * sigma * slope, factor * sigma**2 * bend)
    return cost, grad, hess


def exponential(scores, labels):
    cost, grad, hess = _empty(scores)
    for i, j in _pairs(labels):
        share = np.exp(min(Wide(scores[j]) - Wide(scores[i]), Wide(WIDEST)))
        cost += share
        _add_pair(grad, hess, i, j, -share, share)
    return cost, grad, hess


def hinge(scores, labels):
    cost, grad, hess = _empty(scores)
    for i, j in _pairs(labels):
        lacking = 1 - (Wide(scores[i]) - Wide(scores[j]))
        if lacking > 0:
            cost += lacking
            _add_pair(grad, hess, i, j, -1, 1)
    return cost, grad, hess


def gbrank(scores, labels, tau=0.1):
    cost, grad, hess = _empty(scores)
    for i, j in _pairs(labels):
        lacking = Wide(tau) - (Wide(scores[i]) - Wide(scores[j]))
        if lacking > 0:
            cost += lacking**2 / 2
            _add_pair(grad, hess, i, j, -lacking, 1)
    return cost, grad, hess


def plackett_luce(scores, labels):
    cost, grad, hess = _empty(scores)
    for i in range(len(scores)):
        drawn = [i, *(j for j in range(len(scores)) if labels[j] < labels[i])]
        gaps = np.array([Wide(scores[j]) - Wide(max(scores[k] for k in drawn)) for j in drawn])
        shares = np.exp(gaps) / np.exp(gaps).sum()
        cost += np.log(np.exp(gaps).sum()) - gaps[0]
        for position, j in enumerate(drawn):
            others = np.delete(shares, position).sum()
            grad[j] += -others if j == i else shares[position]
            hess[j] += shares[position] * others
    return cost, grad, hess


def logistic(scores, labels, slope=2.0, scale=None, positive=None):
    """Pointwise; slope is 2 sigma; scale of each row's cost."""
    cost, grad, hess = _empty(scores)
    for row, score in enumerate(scores):
        y = 1 if (labels[row] > 0 if positive is None else positive[row]) else -1
        factor = Wide(1 if scale is None else scale[row])
        own, down, bend = _logistic(Wide(slope) * y * Wide(score))
        cost += factor * own
        grad[row] = factor * slope * y * down
        hess[row] = factor * slope**2 * bend
    return cost, grad, hess


def least_squares(scores, labels):
    gaps = np.asarray(scores, Wide) - np.asarray(labels, Wide)
    return (gaps**2).sum() / 2, gaps, np.ones(len(gaps), Wide)


def xe_ndcg(scores, labels, gammas):
    cost, grad, hess = _empty(scores)
    gains = [Wide(2) ** label - gamma for label, gamma in zip(labels, gammas, strict=True)]
    gaps = np.array([Wide(s) - Wide(max(scores)) for s in scores])
    shares = np.exp(gaps) / np.exp(gaps).sum()
    for i, gain in enumerate(gains):
        target = gain / sum(gains)
        cost += target * (np.log(np.exp(gaps).sum()) - gaps[i])
        grad[i], hess[i] = shares[i] - target, shares[i] * np.delete(shares, i).sum()
    return cost, grad, hess
