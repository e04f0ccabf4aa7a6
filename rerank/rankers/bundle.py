"""The bundle method for regularised costs with kinks (Teo et al. 2010, Bundle methods for regularized risk).

A convex cost R lies above each of its tangents. Round t adds the tangent a_t w + b_t at the present weights, and moves
to the minimum of 1/2 |w|^2 + max_i (a_i w + b_i). That minimum is a bound from below, so that the distance to the best
possible cost is known. Its dual is a quadratic programme over a simplex with one variable a tangent: small, and solved
by moving weight between two tangents at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.runtime.kernels import kernel
from rerank.types import Floats

MOST_MOVES = 1_000_000  # between tangents, in one round


def minimise_by_bundle(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    n_weights: int,
    tolerance: float,
    max_iter: int,
    follow: Callable[[Floats], None],
) -> None:
    """Minimise 1/2 |w|^2 + R(w) for convex R from w = 0, until within `tolerance`, a share of the cost, of the minimum.

    value_and_gradient  the whole cost and a slope of it
    follow              is called with the best weights (n_weights,) after each round; its StopIteration ends the search
    """
    weights, least = np.zeros(n_weights), np.inf
    best = weights
    tangents, offsets, shares = np.empty((0, n_weights)), np.empty(0), np.empty(0)
    for _ in range(max_iter):
        value, gradient = value_and_gradient(weights)
        if value < least:
            best, least = weights, value
        slope = gradient - weights
        tangents = np.vstack([tangents, slope])
        offsets = np.append(offsets, value - 0.5 * (weights @ weights) - slope @ weights)
        shares = np.append(shares, 0.0 if len(shares) else 1.0)
        products = tangents @ tangents.T
        _share_out(products, offsets, 0.1 * tolerance * abs(least), MOST_MOVES, shares)
        weights = -shares @ tangents
        try:
            follow(best)
        except StopIteration:
            return
        bound = offsets @ shares - 0.5 * (shares @ products @ shares)
        if least - bound <= tolerance * abs(least):
            return


@kernel()
def _share_out(products, offsets, tolerance, most_moves, shares):  # type: ignore[no-untyped-def]
    """Minimise 1/2 shares' products shares - offsets' shares over the simplex, from `shares` (m,), in place.

    products (m, m) float64, offsets (m,) float64. Ends when the slopes of no two tangents are `tolerance` apart.
    """
    slopes = products @ shares - offsets
    for _ in range(most_moves):
        low = np.argmin(slopes)
        high = -1
        for tangent in range(shares.shape[0]):
            if shares[tangent] > 0.0 and (high < 0 or slopes[tangent] > slopes[high]):
                high = tangent
        gain = slopes[high] - slopes[low]
        if gain <= tolerance:
            break
        curvature = products[low, low] + products[high, high] - 2.0 * products[low, high]
        move = shares[high] if curvature * shares[high] <= gain else gain / curvature
        shares[low] += move
        shares[high] = 0.0 if move == shares[high] else shares[high] - move
        slopes += move * (products[:, low] - products[:, high])
