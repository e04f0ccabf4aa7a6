"""Relevance model 3: BM25 of the query expanded by its first documents."""

from __future__ import annotations

from rerank.retrieval.base import SearchInputs, Source, register, run_of
from rerank.retrieval.expansion import best_terms, expanded_hits, mixed, relevance_model
from rerank.retrieval.weighted import WeightedTerms
from rerank.types import Ints, Run
from rerank.types.forward import FieldArrays

DOCUMENTS, TERMS, SHARE = 10, 20, 0.5


@register("rm3")
class Rm3(Source):
    """Expansion by the 20 best terms of the first 10 documents, which have half of the weight."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        name = f"rm3-docs={DOCUMENTS}-terms={TERMS}-share={SHARE}"
        return run_of(inputs, expanded_hits(inputs, DOCUMENTS, expanded, k), name)


def expanded(field: FieldArrays, query: WeightedTerms, docs: Ints) -> WeightedTerms:
    """Return (1 - s) * q / |q|_1 + s * p / |p|_1, with p the best terms of the relevance model."""
    terms, freqs = query
    model_terms, model = best_terms(field, relevance_model(field, docs), TERMS)
    if not len(model):
        return terms, freqs / max(freqs.sum(), 1.0)
    return mixed((terms, (1.0 - SHARE) * freqs / freqs.sum()), (model_terms, SHARE * model / model.sum()))
