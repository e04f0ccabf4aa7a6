"""Swap deltas of average precision."""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel


@kernel(parallel=True)
def fill_ap(relevant, query_ptr, scales, cutoff, depth, out, out_ptr):  # type: ignore[no-untyped-def]
    """Fill the blocks of |ΔAP|; a thread takes a query at a time.

    relevant  (n_rows,) bool in rank order
    scales    (n_queries,) float64, 1 / number of relevant documents

    Let rank i be above j, exactly one of them relevant, and c(r) the number of relevant documents up to rank r without
    i. The swap adds or removes the precision at i, (c(i) + 1) / i, 1 / k for every relevant rank k between i and j, and
    the precision at j. Terms beyond the cutoff are 0.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, start = query_ptr[q], query_ptr[q + 1] - query_ptr[q], out_ptr[q]
        out[start : out_ptr[q + 1]] = 0.0
        upper, lower, between = np.zeros(n), np.zeros(n), np.zeros(n + 1)
        so_far = 0
        for rank in range(n):
            here = relevant[first + rank]
            counts = 1.0 / (rank + 1) if rank < cutoff else 0.0
            upper[rank] = (so_far + 1) * counts
            so_far += here
            lower[rank] = so_far * counts
            between[rank + 1] = between[rank] + (counts if here else 0.0)
        top = min(depth, n)
        for i in range(top):
            for j in range(i + 1, n):
                if relevant[first + i] != relevant[first + j]:
                    delta = abs(upper[i] + (between[j] - between[i + 1]) - lower[j]) * scales[q]
                    out[start + i * n + j] = delta
                    if j < top:
                        out[start + j * n + i] = delta
