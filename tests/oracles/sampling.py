"""Slow, obvious probabilities of minimal variance sampling."""

from __future__ import annotations

import numpy as np


def probabilities(grad, hess, share):
    """Return min(1, v / mu) of each row, with mu by bisection so that they sum to a share of the rows."""
    v = [(g * g + 0.1 * h * h) ** 0.5 for g, h in zip(grad.tolist(), hess.tolist(), strict=True)]
    low, high = 0.0, sum(v) / (share * len(v))
    for _ in range(200):
        mu = (low + high) / 2
        if sum(min(1.0, each / mu) for each in v) > share * len(v):
            low = mu
        else:
            high = mu
    return np.array([min(1.0, each / high) for each in v])
