"""Swap deltas by the formulas of average precision, reciprocal rank, ERR and pairs in the right order.

A query has a block with the delta of ranks i < j in row i and column j; the rest of the block is 0.
"""

import numpy as np
from numba import prange

from rerank.runtime.kernels import helper, kernel


@helper()
def _cleared_block(query_ptr, out, out_ptr, q):
    """Return the first row of a query, its number of documents, and its block, set to 0: a row for each first rank."""
    first = query_ptr[q]
    n = query_ptr[q + 1] - first
    block = out[out_ptr[q] : out_ptr[q + 1]]
    block[:] = 0.0
    return first, n, block.reshape(len(block) // max(n, 1), n)


@kernel(parallel=True)
def fill_ap(relevant, query_ptr, scales, cutoff, out, out_ptr):
    """Fill the blocks of |ΔAP|; a thread takes a query at a time.

    relevant  (n_rows,) bool in rank order
    scales    (n_queries,) float64, 1 / number of relevant documents

    Let rank i be above j, exactly one of them relevant, and c(r) the number of relevant documents up to rank r without
    i. The swap adds or removes the precision at i, (c(i) + 1) / i, 1 / k for every relevant rank k between i and j, and
    the precision at j. Terms beyond the cutoff are 0.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, block = _cleared_block(query_ptr, out, out_ptr, q)
        upper = np.zeros(n)
        lower = np.zeros(n)
        between = np.zeros(n + 1)
        so_far = 0
        for rank in range(n):
            here = relevant[first + rank]
            counts = 1.0 / (rank + 1) if rank < cutoff else 0.0
            upper[rank] = (so_far + 1) * counts
            so_far += here
            lower[rank] = so_far * counts
            between[rank + 1] = between[rank] + (counts if here else 0.0)
        for i in range(len(block)):
            for j in range(i + 1, n):
                if relevant[first + i] != relevant[first + j]:
                    block[i, j] = abs(upper[i] + (between[j] - between[i + 1]) - lower[j]) * scales[q]


@helper()
def _value(rank, n, cutoff):
    """Return 1 / rank, for ranks from 0; 0 beyond the list or the cutoff."""
    return 1.0 / (rank + 1) if rank < min(n, cutoff) else 0.0


@kernel(parallel=True)
def fill_rr(relevant, query_ptr, cutoff, out, out_ptr):
    """Fill the blocks of |ΔRR|; a thread takes a query at a time.

    relevant  (n_rows,) bool in rank order

    A relevant document that moves up to i becomes the first if i is above the first relevant rank. If the first one
    moves down to j, the first relevant rank becomes j or that of the second one, whichever is higher. No other swap
    changes the measure.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, block = _cleared_block(query_ptr, out, out_ptr, q)
        hits = np.flatnonzero(relevant[first : first + n])
        best = hits[0] if len(hits) > 0 else n  # ranks from 0 of the first two relevant documents; n if there is none
        second = hits[1] if len(hits) > 1 else n
        before = _value(best, n, cutoff)
        for i in range(min(len(block), best + 1)):
            for j in range(i + 1, n):
                if relevant[first + i] == relevant[first + j]:
                    continue
                after = min(second, j) if i == best else i
                block[i, j] = abs(_value(after, n, cutoff) - before)


@kernel(parallel=True)
def fill_err(stopping, query_ptr, scales, cutoff, out, out_ptr):
    """Fill the blocks of |ΔERR|; a thread takes a query at a time, and n^2 steps for a list (Burges 2010, section 3).

    stopping  (n_rows,) float64 in rank order: R, below 1
    scales    (n_queries,) float64, multiplied into each query's block

    With T = 1 - R and pi_r the product of T above rank r, swapping i and j changes the term of i to pi_i R_j / i, those
    between by the factor T_j / T_i, and the term of j to pi_j T_j / T_i R_i / j. The other terms do not change.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, block = _cleared_block(query_ptr, out, out_ptr, q)
        reached, terms = np.zeros(n), np.zeros(n)  # pi_r / r, and with R_r; 0 beyond the cutoff
        going_on = 1.0
        for rank in range(min(n, cutoff)):
            reached[rank] = going_on / (rank + 1)
            terms[rank] = reached[rank] * stopping[first + rank]
            going_on *= 1.0 - stopping[first + rank]
        for i in range(len(block)):
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
                    block[i, j] = abs(change) * scales[q]


@kernel(parallel=True)
def fill_pairs(labels, balances, query_ptr, scales, out, out_ptr):
    """Fill the blocks of the change in pairs in the right order; a thread takes a query at a time.

    labels    (n_rows,) float64 in rank order
    balances  (n_rows,) float64: worse minus better documents above each
    scales    (n_queries,) float64, 1 / number of pairs

    Moving a document of label l above documents of labels l_k changes the number of pairs in the right order by
    sum_k sign(l - l_k). A swap of i and j does so for j upwards and for i downwards over the ranks between them, and
    inverts the pair of i and j.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, block = _cleared_block(query_ptr, out, out_ptr, q)
        risen = balances[first : first + n].copy()  # of j, over the ranks between i and j
        for i in range(len(block)):
            fallen = 0.0  # of i, over the same ranks
            for j in range(i + 1, n):
                gap = np.sign(labels[first + j] - labels[first + i])
                risen[j] -= gap
                if gap != 0.0:
                    block[i, j] = abs(risen[j] - fallen + gap) * scales[q]
                fallen -= gap
