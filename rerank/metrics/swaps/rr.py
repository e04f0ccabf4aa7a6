"""Swap deltas of the reciprocal rank."""

from __future__ import annotations

from numba import prange

from rerank.runtime.kernels import helper, kernel


@helper()
def _first_two(relevant, first, n):  # type: ignore[no-untyped-def]
    """Return the 0-based ranks of the first two relevant documents; n if there is none."""
    best, second = n, n
    for rank in range(n):
        if relevant[first + rank]:
            if best < n:
                second = rank
                break
            best = rank
    return best, second


@helper()
def _value(rank, n, cutoff):  # type: ignore[no-untyped-def]
    """Return 1 / rank, for ranks from 0; 0 beyond the list or the cutoff."""
    return 1.0 / (rank + 1) if rank < min(n, cutoff) else 0.0


@kernel(parallel=True)
def fill_rr(relevant, query_ptr, cutoff, depth, out, out_ptr):  # type: ignore[no-untyped-def]
    """Fill the blocks of |ΔRR|; a thread takes a query at a time.

    relevant  (n_rows,) bool in rank order

    A relevant document that moves up to i becomes the first if i is above the first relevant rank. If the first one
    moves down to j, the first relevant rank becomes j or that of the second one, whichever is higher. No other swap
    changes the measure.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, n, start = query_ptr[q], query_ptr[q + 1] - query_ptr[q], out_ptr[q]
        out[start : out_ptr[q + 1]] = 0.0
        best, second = _first_two(relevant, first, n)
        before = _value(best, n, cutoff)
        top = min(depth, n)
        for i in range(min(top, best + 1)):
            for j in range(i + 1, n):
                if relevant[first + i] == relevant[first + j]:
                    continue
                after = min(second, j) if i == best else i
                delta = abs(_value(after, n, cutoff) - before)
                out[start + i * n + j] = delta
                if j < top:
                    out[start + j * n + i] = delta
