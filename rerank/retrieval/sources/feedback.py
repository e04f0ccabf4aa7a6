"""Feedback: BM25 of the query expanded by its first documents (RM3), or moved towards them (Rocchio)."""

from __future__ import annotations

import numpy as np

from rerank.retrieval.base import SearchInputs, Source, register, run_of
from rerank.retrieval.expansion import (
    DOCUMENTS,
    WeightedTerms,
    best_terms,
    centroid,
    expanded_hits,
    mixed,
    relevance_model,
)
from rerank.types import Floats, Ints, Run
from rerank.types.forward import FieldArrays

RM3_TERMS, SHARE = 20, 0.5
ROCCHIO_TERMS, ALPHA, BETA = 30, 1.0, 0.75


@register("rm3")
class Rm3(Source):
    """Expansion by the 20 best terms of the first 10 documents, which have half of the weight."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        name = f"rm3-docs={DOCUMENTS}-terms={RM3_TERMS}-share={SHARE}"
        return run_of(inputs, expanded_hits(inputs, _rm3, k), name)


@register("rocchio")
class Rocchio(Source):
    """The query plus 0.75 of the centroid of the first 10 documents, cut to its 30 best terms."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        name = f"rocchio-docs={DOCUMENTS}-terms={ROCCHIO_TERMS}-alpha={ALPHA}-beta={BETA}"
        return run_of(inputs, expanded_hits(inputs, _rocchio, k), name)


def _rm3(field: FieldArrays, query: WeightedTerms, docs: Ints) -> WeightedTerms:
    """Return (1 - s) * q / |q|_1 + s * p / |p|_1, with p the best terms of the relevance model."""
    terms, freqs = query
    model_terms, model = best_terms(field, relevance_model(field, docs), RM3_TERMS)
    if not len(model):
        return terms, freqs / max(freqs.sum(), 1.0)
    return mixed((terms, (1.0 - SHARE) * freqs / freqs.sum()), (model_terms, SHARE * model / model.sum()))


def _rocchio(field: FieldArrays, query: WeightedTerms, docs: Ints) -> WeightedTerms:
    """Return alpha * q / |q| + beta * c / |c|, with c the best terms of the centroid."""
    terms, freqs = query
    moved_terms, moved = best_terms(field, centroid(field, docs), ROCCHIO_TERMS)
    of_query = ALPHA * freqs / max(_norm(freqs), 1.0)
    if not len(moved):
        return terms, of_query
    return mixed((terms, of_query), (moved_terms, BETA * moved / _norm(moved)))


def _norm(weights: Floats) -> float:
    """Return the norm of the weights of terms (n,)."""
    return float(np.sqrt(np.sum(weights * weights)))
