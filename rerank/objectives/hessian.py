"""LambdaRank's matrix of second derivatives times columns, for both forms of the objective.

With the curvature c_ij = sigma^2 |dM_ij| rho (1 - rho) of a pair (Burges 2010, section 7), row i of the product is

    sum over pairs (i, j) of c_ij (column_i - column_j)

so that a constant added to the column of all documents of a query changes nothing. The order and the factors of
`normalize` are held constant, as in the curvature of `rerank.objectives.lambdarank`, the diagonal of this matrix.

`tests/objectives/test_swap_blocks.py` compares the products with differences of the gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from rerank.runtime.elementary import exp, log2
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints


class PairFactors(NamedTuple):
    """Factors of documents in pairs: that of (i above j) is multiplied by as_better[i] as_worse[j].

    Attributes
    ----------
    as_better, as_worse : float64 arrays of shape (n_rows,)
        1 / propensity of inverse propensity weighting, or the weight of the document; at least 0. Both empty: 1.

    """

    as_better: Floats
    as_worse: Floats

    def of_rows(self, rows: slice) -> PairFactors:
        """Return the factors of some rows."""
        return PairFactors(self.as_better[rows], self.as_worse[rows])


EQUAL = PairFactors(np.empty(0), np.empty(0))


class PairWeights(NamedTuple):
    """What the pairs of a query weigh, in either form of the objective.

    Attributes
    ----------
    gains : float64 array of shape (n_rows,)
        The larger one is the better document.
    deltas : float64 array
        Blocks of |dM_ij| by rank, (min(truncation, n), n) for each query. Empty:
        |gain_i - gain_j| |discount_i - discount_j|.
    delta_ptr : int64 array of shape (n_queries + 1,)
        Where the blocks start.
    discounts : float64 array of shape (longest query,)
        By rank; used where `deltas` is empty.
    inverse_norms : float64 array of shape (n_queries,)
        Of the measure; used where `deltas` is empty.
    weights : float64 array of shape (n_queries,)
        Weight of each query.
    as_better, as_worse : float64 arrays of shape (n_rows,)
        Factors of `PairFactors`.

    """

    gains: Floats
    deltas: Floats
    delta_ptr: Ints
    discounts: Floats
    inverse_norms: Floats
    weights: Floats
    as_better: Floats
    as_worse: Floats


@kernel(parallel=True)
def fill_products(query_ptr, scores, pairs, truncation, sigma, normalize, columns, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows, k) with the second derivatives at scores (n_rows,) times columns (n_rows, k).

    query_ptr (n_queries + 1,) int64; pairs `PairWeights`; the others as in `rerank.objectives.lambdarank`
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        n = last - first
        out[first:last] = 0.0
        if n < 2 or pairs.inverse_norms[q] == 0.0 or pairs.weights[q] == 0.0:
            continue
        rows = np.argsort(-scores[first:last], kind="mergesort") + first
        by_distance = normalize and scores[rows[n - 1]] < scores[rows[0]]
        total = 0.0
        for i in range(min(truncation, n)):
            for j in range(i + 1, n):
                gap = pairs.gains[rows[i]] - pairs.gains[rows[j]]
                if gap == 0.0:
                    continue
                if pairs.deltas.shape[0] > 0:
                    share = pairs.deltas[pairs.delta_ptr[q] + i * n + j]
                else:
                    below = pairs.discounts[j] if j < truncation else 0.0
                    share = pairs.inverse_norms[q] * abs(gap) * abs(pairs.discounts[i] - below)
                if pairs.as_better.shape[0] > 0:
                    better, worse = (rows[i], rows[j]) if gap > 0.0 else (rows[j], rows[i])
                    share *= pairs.as_better[better] * pairs.as_worse[worse]
                if share == 0.0:
                    continue
                margin = sigma * (scores[rows[i]] - scores[rows[j]])  # not negative: i ranks above j
                small = exp(-margin)
                if by_distance:
                    share /= 0.01 + margin
                total += share * (small if gap > 0.0 else 1.0) / (1.0 + small)
                curvature = share * small / (1.0 + small) ** 2
                for column in range(columns.shape[1]):
                    product = curvature * (columns[rows[i], column] - columns[rows[j], column])
                    out[rows[i], column] += product
                    out[rows[j], column] -= product
        factor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
        out[first:last] *= factor * pairs.weights[q] * sigma * sigma
