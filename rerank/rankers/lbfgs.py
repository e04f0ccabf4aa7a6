"""L-BFGS for smooth convex costs, every sum in one order (Nocedal and Wright 2006, algorithms 7.4 and 7.5).

Other libraries' L-BFGS calls BLAS, whose rounding depends on the processor, and starts from the identity as its guess
of the Hessian; from one of the same size in all directions, weights of features that say nearly the same take hundreds
of iterations. The search along a line looks for a step
that meets the weak Wolfe conditions by doubling and halving (Lewis and Overton 2013); where the cost's own rounding
hides its fall, the slope decides (Hager and Zhang 2005).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from rerank.runtime.products import dot
from rerank.types import Floats

PAIRS = 20  # of steps and changes of the gradient that are remembered
LEAST_FALL, LEAST_FLATTENING = 1e-4, 0.9  # Wolfe's conditions
MOST_TRIALS = 40  # steps tried along a line
ROUNDING = 1e-12  # share of the cost below which a rise is rounding

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


def minimise_smooth(
    value_and_gradient: ValueAndGradient,
    n_weights: int,
    guess: Callable[[Floats], Floats],
    tolerance: float,
    max_iter: int,
    follow: Callable[[Floats], None],
) -> Floats:
    """Minimise a smooth convex cost from weights 0, until the gradient's norm is `tolerance` times that of the weights.

    Of a cost that holds 1/2 |w|^2 the weights are then within that share of their norm of the minimum.

    guess   multiplies a vector (n_weights,) with a guess of the inverse Hessian, positive definite
    follow  is called with the weights (n_weights,) after each iteration; its StopIteration ends the search
    """
    weights = np.zeros(n_weights)
    value, gradient = value_and_gradient(weights)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=PAIRS)
    for _ in range(max_iter):
        if dot(gradient, gradient) <= tolerance**2 * dot(weights, weights):
            break
        direction = _direction(gradient, guess, pairs)
        found = _wolfe_step(value_and_gradient, weights, value, gradient, direction)
        if found is None:  # rounding hides any further fall
            break
        moved, value, new_gradient = found
        pairs.append((moved - weights, new_gradient - gradient))
        weights, gradient = moved, new_gradient
        try:
            follow(weights)
        except StopIteration:
            break
    return weights


def _direction(gradient: Floats, guess: Callable[[Floats], Floats], pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Return minus the approximate inverse Hessian, a guess and what the pairs change in it, times the gradient."""
    direction, shares = -gradient, []
    for step, change in reversed(pairs):
        share = dot(step, direction) / dot(step, change)
        direction = direction - share * change
        shares.append(share)
    direction = guess(direction)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - dot(change, direction) / dot(step, change)) * step
    return direction


def _wolfe_step(
    value_and_gradient: ValueAndGradient, weights: Floats, value: float, gradient: Floats, direction: Floats
) -> tuple[Floats, float, Floats] | None:
    """Return weights further along the direction, their cost and gradient; None where no trial meets the conditions."""
    slope = dot(gradient, direction)
    if not slope < 0.0:
        return None
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(MOST_TRIALS):
        moved = weights + length * direction
        there, new_gradient = value_and_gradient(moved)
        new_slope = dot(new_gradient, direction)
        falls = there <= value + LEAST_FALL * length * slope
        level = there <= value + ROUNDING * abs(value) and new_slope <= (2.0 * LEAST_FALL - 1.0) * slope
        if not (falls or level):
            high = length
        elif new_slope < LEAST_FLATTENING * slope:
            low = length
        else:
            return moved, there, new_gradient
        length = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return None
