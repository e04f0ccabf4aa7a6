"""Rocchio's method: BM25 of the query moved towards its first documents."""

from __future__ import annotations

import numpy as np

from rerank.retrieval.base import SearchInputs, Source, register, run_of
from rerank.retrieval.expansion import best_terms, centroid, expanded_hits, mixed
from rerank.retrieval.weighted import WeightedTerms
from rerank.types import Floats, Ints, Run
from rerank.types.forward import FieldArrays

DOCUMENTS, TERMS, ALPHA, BETA = 10, 30, 1.0, 0.75


@register("rocchio")
class Rocchio(Source):
    """The query plus 0.75 of the centroid of the first 10 documents, cut to its 30 best terms."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        name = f"rocchio-docs={DOCUMENTS}-terms={TERMS}-alpha={ALPHA}-beta={BETA}"
        return run_of(inputs, expanded_hits(inputs, DOCUMENTS, expanded, k), name)


def expanded(field: FieldArrays, query: WeightedTerms, docs: Ints) -> WeightedTerms:
    """Return alpha * q / |q| + beta * c / |c|, with c the best terms of the centroid."""
    terms, freqs = query
    moved_terms, moved = best_terms(field, centroid(field, docs), TERMS)
    of_query = ALPHA * freqs / max(_norm(freqs), 1.0)
    if not len(moved):
        return terms, of_query
    return mixed((terms, of_query), (moved_terms, BETA * moved / _norm(moved)))


def _norm(weights: Floats) -> float:
    """Return the norm of the weights of terms (n,)."""
    return float(np.sqrt(np.sum(weights * weights)))
