"""The words family: similarity of query and field by word vectors of the collection.

u(t)    vector of a word: of the positive pointwise mutual information of words that occur near each other
v       vector of a text: sum over its words of (1 + ln tf) * ln(N / df) * u, see `rerank vectors`
cos     cosine

References
----------
Levy, Goldberg & Dagan, TACL 2015; Mitra et al., arXiv:1602.01137; Kenter & de Rijke, CIKM 2015 (soft matching).

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, FieldFamily, Missing
from rerank.features.cosines import cosine_feature, fill_cosines, fill_soft_matches
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.runtime.views import read_only_view
from rerank.vectors.space import WORDS

LIMIT = 64  # query terms of the soft match

_FEATURES = (
    cosine_feature(
        name="word_cosine",
        meaning="Similarity of query and field as sums of word vectors.",
        formula="cosine of v(query) and v(field)",
        source="Mitra et al., arXiv:1602.01137, with vectors of Levy, Goldberg & Dagan, TACL 2015",
        missing=(Missing.NO_VECTOR,),
        cost=Cost.DIMENSIONS,
    ),
    cosine_feature(
        name="soft_match",
        meaning="How near the query's words are to the nearest word of the field.",
        formula="mean over the query's words t, weighted by idf, of the greatest cos(u(t), u(s)), s in the field",
        source="Kenter & de Rijke, CIKM 2015, eq. 3, without its saturation",
        missing=(Missing.NO_VECTOR,),
        cost=Cost.SOFT,
    ),
)


@register("words")
class WordFeatures(FieldFamily):
    """Cosine of the sums of word vectors, and the mean over the query's words of the best cosine with a word."""

    evidence = "similarity of words"
    rising = ("*",)
    needs_space = WORDS
    limit = f"soft_match reads the first {LIMIT} distinct terms of a query"
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        given, batch, field = block.vectors, block.candidates, block.field
        documents, rows = given.documents(WORDS, field.name, batch.docs)
        cosines = np.empty((batch.n_rows, 1), dtype=np.float32)
        fill_cosines(batch.query_ptr, rows, given.queries[WORDS], documents, (documents.shape[1],), cosines)
        out[:, :1] = cosines
        space, first = given.space(WORDS), batch.first_terms(LIMIT)
        fill_soft_matches(
            batch.query_ptr,
            first.term_ptr,
            *space.of_terms(first.terms),
            batch.docs,
            (read_only_view(field.doc_ptr), read_only_view(field.terms)),
            read_only_view(space.rows),
            read_only_view(space.units),
            out[:, 1],
        )
