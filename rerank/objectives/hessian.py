"""LambdaRank's matrix of second derivatives times columns, for both forms of the objective.

With the curvature c_ij = sigma^2 |dM_ij| rho (1 - rho) of a pair (Burges 2010, section 7), row i of the product is

    sum over pairs (i, j) of c_ij (column_i - column_j)

so what a column adds to all documents of a query alike is without effect. The order and what `normalize` multiplies
the pairs by are held, as in the curvature of `rerank.objectives.lambdarank`, which is the diagonal of this matrix.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel


@kernel(parallel=True)
def fill_products(  # type: ignore[no-untyped-def]
    query_ptr, scores, gains, deltas, delta_ptr, discounts, weights, truncation, sigma, normalize, columns, out
):
    """Fill out (n_rows, k) with the second derivatives at scores (n_rows,) times columns (n_rows, k).

    gains    (n_rows,): the larger one is the better document
    deltas   blocks of |dM_ij| by rank, (min(truncation, n), n) a query, by delta_ptr; where empty,
             |gain_i - gain_j| |discount_i - discount_j|, discounts (longest query,) by rank
    weights  (n_queries,) of the pairs
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        n = last - first
        out[first:last] = 0.0
        if n < 2 or weights[q] == 0.0:
            continue
        rows = np.argsort(-scores[first:last], kind="mergesort") + first
        by_distance = normalize and scores[rows[n - 1]] < scores[rows[0]]
        total = 0.0
        for i in range(min(truncation, n)):
            for j in range(i + 1, n):
                gap = gains[rows[i]] - gains[rows[j]]
                if gap == 0.0:
                    continue
                if deltas.shape[0] > 0:
                    share = weights[q] * deltas[delta_ptr[q] + i * n + j]
                else:
                    below = discounts[j] if j < truncation else 0.0
                    share = weights[q] * abs(gap) * abs(discounts[i] - below)
                if share == 0.0:
                    continue
                margin = sigma * (scores[rows[i]] - scores[rows[j]])  # not negative: i stands above j
                small = np.exp(-margin)
                if by_distance:
                    share /= 0.01 + margin
                total += share * (small if gap > 0.0 else 1.0) / (1.0 + small)
                curvature = share * small / (1.0 + small) ** 2
                for column in range(columns.shape[1]):
                    product = curvature * (columns[rows[i], column] - columns[rows[j], column])
                    out[rows[i], column] += product
                    out[rows[j], column] -= product
        factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        out[first:last] *= factor * sigma * sigma
