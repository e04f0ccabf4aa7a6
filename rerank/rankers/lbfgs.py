"""Smooth costs minimised by L-BFGS, every sum in one order (Nocedal and Wright 2006, algorithms 7.4 and 7.5).

Other libraries' L-BFGS calls BLAS, whose rounding depends on the processor, and starts from the identity as its guess
of the Hessian; from one of the same size in all directions, weights of features that say nearly the same take hundreds
of iterations. Here the guess is the Hessian of some of the rows, computed anew after 1, 4, 16, ... iterations from 0: a
listwise cost depends on other documents once the weights order them. A step is halved until the cost falls enough;
where the cost's own rounding hides its fall, the slope decides (Hager and Zhang 2005). The cost is strictly convex, so
that every step has a curvature above 0.
"""

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from rerank.runtime.products import array_dot
from rerank.types import Floats

PAIRS = 20  # of steps and changes of the gradient that are remembered
LEAST_FALL = 1e-4  # of the cost, share of what the slope promises (Armijo)
LENGTHS = np.ldexp(1.0, -np.arange(40))  # of steps along a line, in the order in which they are tried
ANEW = 4 ** np.arange(16)  # iterations from 0 after which the guess of the Hessian is computed anew
COST_ROUNDING = 1e-12  # share of the cost below which a rise is rounding
Guess = Callable[[Floats], Floats]


def minimise_smooth(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    first: Floats,
    guess_here: Callable[[], Guess],
    tolerance: float,
    max_iter: int,
) -> Iterator[Floats]:
    """Yield the weights (n_weights,) after each iteration of minimising a smooth convex cost.

    It ends when the gradient's norm is `tolerance` times that of the weights.

    Of a cost that holds 1/2 |w|^2 the weights are then within that share of their norm of the minimum.

    first       weights that it begins at: 0, or those of a cost that is much the same
    guess_here  returns what multiplies a vector (n_weights,) with a guess of the inverse Hessian, positive definite, at
                the weights that the cost was last computed at
    """
    weights = first
    value, gradient = value_and_gradient(weights)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=PAIRS)
    for number in range(max_iter):
        if array_dot(gradient, gradient) <= tolerance**2 * array_dot(weights, weights):
            return
        if number == 0 or (number in ANEW and not first.any()):
            guess = guess_here()
        direction = _direction(gradient, guess, pairs)
        slope = array_dot(gradient, direction)
        if not slope < 0.0:
            return
        for length in LENGTHS:
            moved = weights + length * direction
            there, new_gradient = value_and_gradient(moved)
            falls = there <= value + LEAST_FALL * length * slope
            level = there <= value + COST_ROUNDING * abs(value)
            if falls or (level and array_dot(new_gradient, direction) <= (2.0 * LEAST_FALL - 1.0) * slope):
                break
        else:  # rounding hides any further fall
            return
        pairs.append((moved - weights, new_gradient - gradient))
        weights = moved
        value = there
        gradient = new_gradient
        yield weights


def _direction(gradient: Floats, guess: Guess, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Return minus the approximate inverse Hessian, a guess and what the pairs change in it, times the gradient."""
    direction = -gradient
    shares = []
    for step, change in reversed(pairs):
        share = array_dot(step, direction) / array_dot(step, change)
        direction = direction - share * change
        shares.append(share)
    direction = guess(direction)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - array_dot(change, direction) / array_dot(step, change)) * step
    return direction
