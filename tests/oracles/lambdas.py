"""Slow, obvious LambdaRank: one pair after the other, as Burges 2010 writes it (sections 4 and 7)."""

from __future__ import annotations

import numpy as np


def discount(rank: int, truncation: int) -> float:
    """1 / log2(1 + rank) by 0-based rank, 0 beyond the truncation level."""
    return 1.0 / np.log2(rank + 2) if rank < truncation else 0.0


def frozen_deltas(scores, labels, ideal, truncation):
    """|delta nDCG| of every pair of one query at the present order, (n, n)."""
    n = len(scores)
    order = sorted(range(n), key=lambda row: (-scores[row], row))
    rank = {row: position for position, row in enumerate(order)}
    best = sum(label * discount(position, truncation) for position, label in enumerate(sorted(ideal, reverse=True)))
    deltas = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            change = (labels[i] - labels[j]) * (discount(rank[i], truncation) - discount(rank[j], truncation))
            deltas[i, j] = abs(change) / best if best > 0 else 0.0
    return deltas


def ranks(scores):
    """0-based rank of each row of one query."""
    order = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    return [order.index(row) for row in range(len(scores))]


def lambdaloss(scores, labels, ideal, truncation):
    """NDCG-Loss2++ of Wang et al. 2018 with mu = 10: |delta nDCG| and 10 times the bound by the distance of ranks."""
    n, rank = len(scores), ranks(scores)
    best = sum(label * discount(position, truncation) for position, label in enumerate(sorted(ideal, reverse=True)))
    deltas = frozen_deltas(scores, labels, ideal, truncation)
    for i in range(n):
        for j in range(n):
            if i != j and min(rank[i], rank[j]) < truncation:
                gap = abs(rank[i] - rank[j])
                bound = 1.0 / np.log2(1 + gap) - 1.0 / np.log2(2 + gap)
                deltas[i, j] += 10.0 * abs(labels[i] - labels[j]) * bound / best if best > 0 else 0.0
    return deltas


def lambdagap(scores, labels, cutoff, truncation):
    """LambdaGap-X: 1 for pairs with one relevant document whose ranks are at least the cutoff apart."""
    n, rank = len(scores), ranks(scores)
    deltas = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            counts = (labels[i] > 0) != (labels[j] > 0) and abs(rank[i] - rank[j]) >= cutoff
            deltas[i, j] = float(counts and min(rank[i], rank[j]) < truncation)
    return deltas


def cost(scores, labels, deltas, sigma):
    """Sum over pairs with l_i > l_j of |delta_ij| log(1 + exp(-sigma (s_i - s_j)))."""
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                total += deltas[i, j] * np.log1p(np.exp(-sigma * (scores[i] - scores[j])))
    return total


def lambdas(scores, labels, ideal, sigma, truncation, normalize, as_better=None, as_worse=None, deltas=None):
    """Gradient and curvature of one query; the pair (i above j) is multiplied by as_better[i] as_worse[j]."""
    n = len(scores)
    deltas = frozen_deltas(scores, labels, ideal, truncation) if deltas is None else deltas
    grad, hess, total = np.zeros(n), np.zeros(n), 0.0
    spread = max(scores) > min(scores)
    for i in range(n):
        for j in range(n):
            if labels[i] <= labels[j]:
                continue
            weight = deltas[i, j] / (0.01 + sigma * abs(scores[i] - scores[j]) if normalize and spread else 1.0)
            weight *= 1.0 if as_better is None else as_better[i] * as_worse[j]
            rho = 1.0 / (1.0 + np.exp(sigma * (scores[i] - scores[j])))
            grad[i] -= sigma * weight * rho
            grad[j] += sigma * weight * rho
            hess[i] += sigma**2 * weight * rho * (1 - rho)
            hess[j] += sigma**2 * weight * rho * (1 - rho)
            total += 2 * weight * rho
    factor = np.log2(1 + total) / total if normalize and total > 0 else 1.0
    return grad * factor, hess * factor
