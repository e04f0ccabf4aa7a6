"""The feedback family: similarity to the query's first documents (pseudo-relevance feedback).

k       number of feedback documents: the first documents of the query, in the order of the run, with a non-empty field
w       weight of the feedback document at rank r: 1 / log2(r + 1), divided by the sum of the k weights; it does not
        depend on the scale of the run's scores
p(t)    relevance model: sum over feedback documents of w * tf / len
u(t)    a field as a vector: tf * idf, divided by its norm
q(t)    qtf / tokens of the query that some document holds

An expanded query has the terms with the greatest weight, of those that at most a tenth of the documents (or one) hold,
as in Anserini. Ties are broken by the first appearance of the term, in the order of the documents and then of term
numbers. Documents are scored by BM25 with the weight in place of qtf. In `similarity_*` a feedback document is compared
with the other feedback documents only; all other features include it, as query expansion in search engines does.

References
----------
Lavrenko & Croft, SIGIR 2001; Abdul-Jaleel et al., TREC 2004 (RM3); Rocchio 1971; Cronen-Townsend, Zhou & Croft, SIGIR
2002 (clarity).

"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.feedback import (
    MODEL,
    OVERLAP_TERMS,
    RM3_DOCUMENTS,
    RM3_TERMS,
    ROCCHIO_DOCUMENTS,
    ROCCHIO_TERMS,
    SIMILARITY_DOCUMENTS,
    fill_feedback,
)
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.features.statistics import field_idf, vector_norms
from rerank.runtime.views import read_only_view

MAX_DOC_SHARE = 0.1  # terms of more documents do not enter expanded queries

_LAVRENKO = "Lavrenko & Croft, SIGIR 2001; RM3: Abdul-Jaleel et al., TREC 2004"
_ROCCHIO_SOURCE = "Rocchio 1971; alpha and beta as in Anserini"
_MISSING = (Missing.NO_FEEDBACK,)

_FEATURES = (
    *(
        Feature(
            name=f"rm3_{k}",
            meaning=f"Score under the query expanded by the first {k} documents.",
            formula=f"BM25 with weights (1 - s) * q(t) + s * p(t), s = rm3_share, k = {k}, the best {n} terms of p",
            source=_LAVRENKO,
            unit="BM25",
            missing=_MISSING,
            cost=Cost.DOCUMENT,
        )
        for k, n in zip(RM3_DOCUMENTS, RM3_TERMS, strict=True)
    ),
    Feature(
        name="rocchio",
        meaning=f"Score under the query moved towards the first {ROCCHIO_DOCUMENTS} documents.",
        formula=f"BM25 with weights alpha * q / |q| + beta * c / |c|, c = mean u, its best {ROCCHIO_TERMS} terms",
        source=_ROCCHIO_SOURCE,
        unit="BM25",
        missing=_MISSING,
        cost=Cost.DOCUMENT,
    ),
    *(
        Feature(
            name=f"similarity_{k}",
            meaning=f"Similarity to the first {k} documents (the document itself left out); 0 where there is no other.",
            formula=f"mean over the other feedback documents, k = {k}, of the cosine of u and u",
            source=_ROCCHIO_SOURCE if k > 1 else "nearest-neighbour form of Rocchio 1971",
            unit="cosine",
            high=1.0 + 1e-6,
            missing=(*_MISSING, Missing.EMPTY_FIELD),
            cost=Cost.DOCUMENT,
        )
        for k in SIMILARITY_DOCUMENTS
    ),
    Feature(
        name="feedback_overlap",
        meaning=f"Share of the {OVERLAP_TERMS} best feedback terms that the field holds.",
        formula=f"share of the best {OVERLAP_TERMS} terms of p, k = {RM3_DOCUMENTS[MODEL]}, that have tf > 0",
        source=_LAVRENKO,
        unit="share",
        high=1.0,
        missing=_MISSING,
        cost=Cost.DOCUMENT,
    ),
    Feature(
        name="clarity",
        meaning="How far the language of the first documents is from that of all documents.",
        formula=f"sum over t of p(t) * log2(p(t) / (cf / tokens of all documents)), k = {RM3_DOCUMENTS[MODEL]}",
        source="Cronen-Townsend, Zhou & Croft, SIGIR 2002, eq. 1, over the terms of the feedback documents",
        unit="bits",
        low=-inf,
        missing=_MISSING,
        cost=Cost.QUERY,
    ),
)


@register("feedback")
class FeedbackFeatures(FieldFamily):
    """RM3, Rocchio, similarity to the first documents, overlap with their terms, clarity."""

    evidence = "feedback from the first documents"
    rising = ("rm3_*", "rocchio", "similarity_*")
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 10)."""
        batch, field = block.candidates, block.field
        fill_feedback(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms, batch.query_freq, block.doc_freq),
            (
                read_only_view(field.doc_ptr),
                read_only_view(field.terms),
                read_only_view(field.freqs),
                read_only_view(field.lengths),
            ),
            field_idf(field),
            read_only_view(field.doc_freq),
            read_only_view(field.collection_freq),
            float(max(field.n_tokens, 1)),
            max(MAX_DOC_SHARE * field.n_docs_with, 1.0),
            vector_norms(field),
            block.bm25_saturation(recipe),
            (recipe.rm3_share, recipe.rocchio_alpha, recipe.rocchio_beta),
            out,
        )
