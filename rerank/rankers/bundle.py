"""The bundle method for regularised costs with kinks (Teo et al. 2010, Bundle methods for regularized risk).

A convex cost R lies above each of its tangents. Round t adds the tangent a_t w + b_t at the present weights, and moves
to the minimum of 1/2 |w|^2 + max_i (a_i w + b_i). That minimum is a bound from below, so that the distance to the best
possible cost is known; as the cost has the term 1/2 |w|^2, so is the distance to the best weights. The dual of finding
the minimum is a quadratic programme over a simplex, with one variable (a share) for each tangent. It is small, and is
solved on the tangents whose share is not 0, to which one is added at a time.
"""

from collections.abc import Callable, Iterator

import numpy as np

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.products import array_dot, cross_product, product
from rerank.types import Floats

MOST_MOVES = 10_000  # of shares in one round
SHARE_OF_GAP = 0.1  # share of the allowed gap of costs that a round's programme may leave
LEAST_GAP = 1e-14  # share of the cost: rounding hides a smaller one
RIDGE = 1e-13  # share of the largest curvature


def minimise_by_bundle(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    n_weights: int,
    tolerance: float,
    max_iter: int,
) -> Iterator[Floats]:
    """Yield the best weights (n_weights,) after each round of minimising 1/2 |w|^2 + R(w), R convex, from w = 0.

    The iteration ends when the best weights are within `tolerance` times their norm of those of the minimum: 1/2 of the
    square of that distance is at most the distance of the costs.

    value_and_gradient  returns the whole cost at some weights and a subgradient (n_weights,)
    """
    weights = np.zeros(n_weights)
    least = np.inf
    tangents = np.empty((0, n_weights))
    offsets = np.empty(0)
    shares = np.empty(0)
    products = np.empty((0, 0))
    for _ in range(max_iter):
        value, gradient = value_and_gradient(weights)
        if value < least:
            best = weights
            least = value
        slope = gradient - weights
        tangents = np.vstack([tangents, slope])
        offsets = np.append(offsets, value - 0.5 * array_dot(weights, weights) - array_dot(slope, weights))
        shares = np.append(shares, 0.0 if len(shares) else 1.0)
        row = product(tangents, slope)
        products = np.block([[products, row[:-1, None]], [row[None]]])
        allowed = max(0.5 * tolerance**2 * array_dot(best, best), LEAST_GAP * abs(least))
        _share_out(products, offsets, SHARE_OF_GAP * allowed, MOST_MOVES, shares)
        weights = -cross_product(shares[:, None], tangents)[0]
        yield best
        bound = array_dot(offsets, shares) - 0.5 * array_dot(weights, weights)
        if least - bound <= allowed:
            return


@kernel()
def _share_out(products, offsets, tolerance, most_moves, shares):
    """Minimise 1/2 shares' products shares - offsets' shares over the simplex, from `shares` (m,), in place.

    products (m, m) float64, offsets (m,) float64. Ends when the slopes of no two tangents are `tolerance` apart.
    """
    slopes = np.empty(shares.shape[0])
    for _ in range(most_moves):
        for tangent in range(shares.shape[0]):
            slopes[tangent] = -offsets[tangent]
            for other in range(shares.shape[0]):
                slopes[tangent] += products[tangent, other] * shares[other]
        low = np.argmin(slopes)
        high = np.argmax(np.where(shares > 0.0, slopes, -np.inf))
        gain = slopes[high] - slopes[low]
        if gain <= tolerance:
            break
        curvature = products[low, low] + products[high, high] - 2.0 * products[low, high]
        move = shares[high] if curvature * shares[high] <= gain else gain / curvature
        shares[low] += move
        shares[high] = 0.0 if move == shares[high] else shares[high] - move
        slopes += move * (products[low] - products[high])
        _settle(products, slopes, low, shares)


@helper()
def _solve(system, values):
    """Replace values (n,) by the solution of system (n, n), by Gaussian elimination; by 0 where nothing curves."""
    n = values.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            factor = system[j, i] / system[i, i] if system[i, i] > 0.0 else 0.0
            values[j] -= factor * values[i]
            for k in range(i, n):
                system[j, k] -= factor * system[i, k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            values[i] -= system[i, k] * values[k]
        values[i] = values[i] / system[i, i] if system[i, i] > 0.0 else 0.0


@helper()
def _settle(products, slopes, low, shares):
    """Move towards the minimum over the tangents that have a share, until one of them has none left.

    low  a tangent with a share, against which the others' are exchanged
    """
    held = np.flatnonzero((shares > 0.0) & (np.arange(shares.shape[0]) != low))
    n = held.shape[0]
    largest = 0.0
    system = np.empty((n, n))
    moves = slopes[low] - slopes[held]
    for i in range(n):
        for j in range(n):
            k = held[j]
            system[i, j] = products[held[i], k] - products[held[i], low] - products[low, k] + products[low, low]
        largest = max(largest, system[i, i])
    for i in range(n):
        system[i, i] += RIDGE * largest
    _solve(system, moves)
    total = 0.0
    length = 1.0
    blocked = -1
    for i in range(n):
        total += moves[i]
        if moves[i] < 0.0 and shares[held[i]] < -length * moves[i]:
            length = -shares[held[i]] / moves[i]
            blocked = held[i]
    if total > 0.0 and shares[low] < length * total:
        length = shares[low] / total
        blocked = low
    for i in range(n):
        shares[held[i]] += length * moves[i]
    shares[low] -= length * total
    if blocked >= 0:
        shares[blocked] = 0.0
