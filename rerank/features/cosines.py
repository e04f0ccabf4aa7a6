"""Cosines of the families that compare vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Feature
from rerank.runtime.elementary import dot
from rerank.runtime.kernels import kernel
from rerank.runtime.views import read_only_view
from rerank.types import Ints

cosine_feature = partial(Feature, unit="cosine", low=-1.0 - 1e-6, high=1.0 + 1e-6)


def fill_cosines(
    query_ptr: Ints,
    rows: Ints,
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    levels: Sequence[int],
    out: NDArray[np.float32],
) -> None:
    """Fill `out` with the cosines of the vectors of queries and documents, see `_fill_cosines`."""
    arrays = (read_only_view(rows), read_only_view(queries), read_only_view(documents))
    _fill_cosines(query_ptr, *arrays, np.array(levels), out)


@kernel()
def _fill_cosines(query_ptr, rows, queries, documents, levels, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, n_levels) with the cosines of the first dimensions of query and document.

    rows       (n_rows,) row of each candidate in `documents`
    queries    (n_queries, dimensions) float32
    documents  (n, dimensions) float32
    levels     (n_levels,) int64, ascending: numbers of dimensions; all where there are fewer
    NaN where either has the zero vector.
    """
    for query in range(len(query_ptr) - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            first, product, of_query, of_document = 0, 0.0, 0.0, 0.0
            for level in range(len(levels)):
                last = min(levels[level], queries.shape[1])
                left, right = queries[query, first:last], documents[rows[row], first:last]
                product += dot(left, right)
                of_query += dot(left, left)
                of_document += dot(right, right)
                first = last
                known = of_query > 0.0 and of_document > 0.0
                out[row, level] = product / np.sqrt(of_query * of_document) if known else np.nan


@kernel()
def fill_soft_matches(query_ptr, term_ptr, query_rows, weights, docs, postings, term_rows, units, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows,) with the weighted mean over the query's terms of the best cosine with a term of the field.

    term_ptr    (n_queries + 1,) first query term of each query
    query_rows  (n_query_terms,) row of each query term in `units`, -1 where it has none
    weights     (n_query_terms,) weight of each query term in the mean
    docs        (n_rows,) document of each candidate
    postings    doc_ptr and terms of the field
    term_rows   (n_terms,) row of each term in `units`, -1 where it has none
    units       (n, dimensions) float32 vectors of norm 1
    NaN where no term of the query, or none of the field, has a vector.
    """
    doc_ptr, doc_terms = postings
    slots = np.full(len(units), -1, np.int32)
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        terms = np.empty(term_ptr[query + 1] - term_ptr[query], np.int64)
        n_terms, total = 0, 0.0
        for term in range(term_ptr[query], term_ptr[query + 1]):
            if query_rows[term] >= 0 and weights[term] > 0.0:
                terms[n_terms] = term
                n_terms += 1
                total += weights[term]
        n_postings = 0
        for row in range(first, last):
            n_postings += doc_ptr[docs[row] + 1] - doc_ptr[docs[row]]
        n_slots, most = 0, min(n_postings, len(units))
        cosines = np.empty((most, max(n_terms, 1)), np.float32)
        used, best = np.empty(most, np.int32), np.empty(max(n_terms, 1), np.float32)
        for row in range(first, last):
            best[:], n_known = -1.0, 0
            for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
                term = doc_terms[posting]
                unit = term_rows[term] if term < len(term_rows) else np.int32(-1)
                if unit < 0 or n_terms == 0:
                    continue
                n_known += 1
                if slots[unit] < 0:
                    slots[unit], used[n_slots] = n_slots, unit
                    for index in range(n_terms):
                        cosines[n_slots, index] = dot(units[query_rows[terms[index]]], units[unit])
                    n_slots += 1
                of_unit = cosines[slots[unit]]
                for index in range(n_terms):
                    best[index] = max(best[index], of_unit[index])
            mean = 0.0
            for index in range(n_terms):
                mean += weights[terms[index]] * best[index]
            out[row] = mean / total if n_known > 0 else np.nan
        for slot in range(n_slots):
            slots[used[slot]] = -1
