"""Swap deltas of the number of pairs in the right order."""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel


@kernel(parallel=True)
def fill_pairs(labels, balances, query_ptr, scales, depth, out, out_ptr):  # type: ignore[no-untyped-def]
    """Fill the blocks of the change in pairs in the right order; a thread takes a query at a time.

    labels    (n_rows,) float64 in rank order
    balances  (n_rows,) float64: worse minus better documents above each
    scales    (n_queries,) float64, 1 / number of pairs

    Moving a document of label l above documents of labels l_k changes the number of pairs in the right order by
    sum_k sign(l - l_k). A swap of i and j does so for j upwards and for i downwards over the ranks between them, and
    inverts the pair of i and j.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, start = query_ptr[q], query_ptr[q + 1] - query_ptr[q], out_ptr[q]
        out[start : out_ptr[q + 1]] = 0.0
        risen = balances[first : first + n].copy()  # of j, over the ranks between i and j
        top = min(depth, n)
        for i in range(top):
            fallen = 0.0  # of i, over the same ranks
            for j in range(i + 1, n):
                gap = np.sign(labels[first + j] - labels[first + i])
                risen[j] -= gap
                if gap != 0.0:
                    delta = abs(risen[j] - fallen + gap) * scales[q]
                    out[start + i * n + j] = delta
                    if j < top:
                        out[start + j * n + i] = delta
                fallen -= gap
