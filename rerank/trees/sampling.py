"""Minimal variance sampling (MVS): rows are drawn by the size of their gradients, and weighted so that sums are kept.

A row with gradient g and hessian h is drawn with probability p = min(1, v / mu), v = sqrt(g^2 + 0.1 h^2), and then both
are multiplied by 1 / p: the sums over the drawn rows, on which splits and leaves are chosen, estimate those over all
rows with the least variance (the lambda of the paper is 0.1 here). mu is such that the expected number of rows is the
share that is asked for, to within about 1 %: it is found from one count of the rows by v^2, rounded down to 3 binary
digits. Rows that are not drawn need no square root.

A row's draw depends on the seed, the number of the tree and the number of the row alone, and so not on threads.
`probabilities` in `tests/oracles/sampling.py` is the slow form.

References
----------
B. Ibragimov, G. Gusev, Minimal Variance Sampling in Stochastic Gradient Boosting, NeurIPS 2019.

"""

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.elementary import random_bits
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats

WEIGHT_OF_HESSIAN = 0.1
N_SHARES = 4  # of the rows: what threads take at a time
SHIFT = 50  # of a float64 of at least 0: 11 bits of exponent and 2 of fraction are left
N_SIZES = 2047 << 2  # finite ones
LARGEST_SQUARE = 1e306  # in place of larger squares; below the greatest float64, so that mu is among the sizes
_EDGES = np.sqrt((np.arange(N_SIZES) << SHIFT).view(np.float64))
_MIDDLES = np.sqrt(((np.arange(N_SIZES) << SHIFT) + (1 << (SHIFT - 1))).view(np.float64))


def draw_by_gradient(
    share: float, seed: list[int], grad: Floats, hess: Floats, rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the share of rows (k,) that a tree is grown on, in their order.

    Their gradients and hessians in grad and hess (n_rows,) are multiplied by 1 / p.
    """
    counts = np.empty((N_SHARES, N_SIZES), dtype=np.int64)
    _count_sizes(grad, hess, rows, counts)
    least = _least_certain(counts.sum(axis=0), share * len(rows))
    of_rows = np.random.default_rng(seed).integers(1 << 63, dtype=np.uint64)
    drawn = np.empty(len(rows), dtype=np.int32)
    n_drawn = np.zeros(N_SHARES, dtype=np.int64)
    _draw(grad, hess, rows, least, of_rows, drawn, n_drawn)
    firsts = np.arange(N_SHARES) * len(rows) // N_SHARES
    return np.concatenate([drawn[first : first + n] for first, n in zip(firsts, n_drawn.tolist(), strict=True)])


def _least_certain(counts: NDArray[np.int64], n_drawn: float) -> float:
    """Return mu, from the number of rows of each size (N_SIZES,) and the expected number of rows to draw."""
    certain = counts[::-1].cumsum()[::-1]  # rows of each size or a larger one
    below = np.cumsum(counts * _MIDDLES) - counts * _MIDDLES
    with np.errstate(divide="ignore", invalid="ignore"):
        mu = below / (n_drawn - certain)
    fits = (certain < n_drawn) & (mu <= _EDGES)
    return max(float(mu[np.argmax(fits)]), float(_EDGES[1]))


@helper()
def _bounds(n_rows, share, n_shares):
    """Return the first row of a share, and that of the next one."""
    return share * n_rows // n_shares, (share + 1) * n_rows // n_shares


@helper()
def _importance(grad, hess):
    """Return v^2 of a row."""
    return min(grad * grad + WEIGHT_OF_HESSIAN * hess * hess, LARGEST_SQUARE)


@helper()
def _count_share(grad, hess, rows, share, n_shares, counts):
    """Count the rows of one share."""
    first, last = _bounds(rows.shape[0], share, n_shares)
    counts[:] = 0
    for i in range(first, last):
        v = np.float64(_importance(grad[rows[i]], hess[rows[i]]))
        counts[v.view(np.uint64) >> np.uint64(SHIFT)] += 1


@kernel(parallel=True)
def _count_sizes(grad, hess, rows, counts):
    """Fill counts (N_SHARES, N_SIZES) int64 with the number of rows (k,) of each size."""
    for share in prange(counts.shape[0]):
        _count_share(grad, hess, rows, np.int64(share), counts.shape[0], counts[share])


@helper()
def _uniform(seed, row):
    """Return a number in [0, 1) for a row."""
    return np.float64(np.int64(random_bits(seed, np.uint64(row)) >> np.uint64(11))) * 2.0**-53


@helper()
def _draw_share(grad, hess, rows, mu, seed, share, n_shares, drawn):
    """Write the rows of one share that are drawn to `drawn`, from its first place on; return their number."""
    first, last = _bounds(rows.shape[0], share, n_shares)
    n = first
    for i in range(first, last):
        row = rows[i]
        limit = _uniform(seed, row) * mu
        drawn[n] = row
        n += np.int64(limit * limit < _importance(grad[row], hess[row]))  # no branch to mispredict
    for i in range(first, n):
        row = drawn[i]
        factor = max(mu / np.sqrt(_importance(grad[row], hess[row])), 1.0)
        grad[row] *= factor
        hess[row] *= factor
    return n - first


@kernel(parallel=True)
def _draw(grad, hess, rows, mu, seed, drawn, counts):
    """Write the rows (k,) of each share that are drawn to drawn (k,) int32, from its first place on.

    counts  (N_SHARES,) int64, OUT: rows of each share that are drawn
    """
    n = counts.shape[0]
    for share in prange(n):
        counts[share] = _draw_share(grad, hess, rows, mu, seed, np.int64(share), n, drawn)
