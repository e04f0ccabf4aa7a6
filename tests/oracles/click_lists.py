"""Slow, obvious LambdaRank on the lists of a click log, one pair after the other (Hu et al. 2019; LightGBM)."""

from __future__ import annotations

import numpy as np

from tests.oracles.lambdas import discount


def pairs(clicked, scores, truncation):
    """Clicked i, unclicked j and |delta nDCG| of every pair of one list whose labels are its clicks."""
    n = len(clicked)
    order = sorted(range(n), key=lambda place: (-scores[place], place))
    rank = {place: number for number, place in enumerate(order)}
    ideal = sum(discount(number, truncation) for number in range(sum(map(bool, clicked))))
    for i in range(n):
        for j in range(n):
            if clicked[i] and not clicked[j]:
                yield i, j, abs(discount(rank[i], truncation) - discount(rank[j], truncation)) / ideal


def gradients(lists, scores, truncation, t_plus, t_minus, offsets):
    """Gradient and curvature of each row; lists of (rows, positions, clicked, count)."""
    grad, hess = np.zeros(len(scores)), np.zeros(len(scores))
    slopes, curvatures = np.zeros(len(offsets)), np.zeros(len(offsets))
    for rows, positions, clicked, count in lists:
        own = [scores[row] + offsets[place] for row, place in zip(rows, positions, strict=True)]
        for i, j, delta in pairs(clicked, own, truncation):
            weight = count * delta / (t_plus[positions[i]] * t_minus[positions[j]])
            rho = 1.0 / (1.0 + np.exp(own[i] - own[j]))
            for place, sign in ((i, -1.0), (j, 1.0)):
                grad[rows[place]] += sign * weight * rho
                hess[rows[place]] += weight * rho * (1.0 - rho)
                slopes[positions[place]] -= sign * weight * rho
                curvatures[positions[place]] += weight * rho * (1.0 - rho)
    return grad, hess, slopes, curvatures


def propensities(lists, scores, truncation, t_plus, t_minus):
    """t+ and t- of each position after one step."""
    sums = np.zeros((2, len(t_plus)))
    for rows, positions, clicked, count in lists:
        own = [scores[row] for row in rows]
        for i, j, delta in pairs(clicked, own, truncation):
            cost = count * delta * np.log1p(np.exp(-(own[i] - own[j])))
            sums[0, positions[i]] += cost / t_minus[positions[j]]
            sums[1, positions[j]] += cost / t_plus[positions[i]]
    return np.sqrt(sums / sums[:, :1])
