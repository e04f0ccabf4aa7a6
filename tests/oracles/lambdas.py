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


def cost(scores, labels, deltas, sigma):
    """Sum over pairs with l_i > l_j of |delta_ij| log(1 + exp(-sigma (s_i - s_j)))."""
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                total += deltas[i, j] * np.log1p(np.exp(-sigma * (scores[i] - scores[j])))
    return total


def lambdas(scores, labels, ideal, sigma, truncation, normalize, row_weights=None):
    """Gradient and curvature of one query; a pair is multiplied by the weights of both documents."""
    n = len(scores)
    deltas = frozen_deltas(scores, labels, ideal, truncation)
    grad, hess, total = np.zeros(n), np.zeros(n), 0.0
    spread = max(scores) > min(scores)
    for i in range(n):
        for j in range(n):
            if labels[i] <= labels[j]:
                continue
            weight = deltas[i, j] / (0.01 + sigma * abs(scores[i] - scores[j]) if normalize and spread else 1.0)
            weight *= 1.0 if row_weights is None else row_weights[i] * row_weights[j]
            rho = 1.0 / (1.0 + np.exp(sigma * (scores[i] - scores[j])))
            grad[i] -= sigma * weight * rho
            grad[j] += sigma * weight * rho
            hess[i] += sigma**2 * weight * rho * (1 - rho)
            hess[j] += sigma**2 * weight * rho * (1 - rho)
            total += 2 * weight * rho
    factor = np.log2(1 + total) / total if normalize and total > 0 else 1.0
    return grad * factor, hess * factor
