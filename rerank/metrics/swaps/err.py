"""Swap deltas of expected reciprocal rank."""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel


@kernel(parallel=True)
def fill_err(stopping, query_ptr, scales, cutoff, depth, out, out_ptr):  # type: ignore[no-untyped-def]
    """Fill the blocks of |ΔERR|; a thread takes a query at a time, and n^2 steps for a list (Burges 2010, section 3).

    stopping  (n_rows,) float64 in rank order: R, below 1
    scales    (n_queries,) float64, multiplied into each query's block

    With T = 1 - R and pi_r the product of T above rank r, swapping i and j changes the term of i to pi_i R_j / i, those
    between by the factor T_j / T_i, and the term of j to pi_j T_j / T_i R_i / j. The other terms do not change.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, start = query_ptr[q], query_ptr[q + 1] - query_ptr[q], out_ptr[q]
        out[start : out_ptr[q + 1]] = 0.0
        reached, terms = np.zeros(n), np.zeros(n)  # pi_r / r, and with R_r; 0 beyond the cutoff
        going_on = 1.0
        for rank in range(min(n, cutoff)):
            reached[rank] = going_on / (rank + 1)
            terms[rank] = reached[rank] * stopping[first + rank]
            going_on *= 1.0 - stopping[first + rank]
        top = min(depth, n)
        for i in range(top):
            stop_i = stopping[first + i]
            inverse = 1.0 / (1.0 - stop_i)
            between = 0.0
            for j in range(i + 1, n):
                stop_j = stopping[first + j]
                factor = (1.0 - stop_j) * inverse
                change = reached[i] * (stop_j - stop_i) + between * (factor - 1.0)
                change += reached[j] * (stop_i * factor - stop_j)
                between += terms[j]
                if stop_i != stop_j:
                    delta = abs(change) * scales[q]
                    out[start + i * n + j] = delta
                    if j < top:
                        out[start + j * n + i] = delta
