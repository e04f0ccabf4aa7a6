"""The map of queries: from the vector of a few words to that of documents about them, learned without judgements.

The title of a document, or its first 20 words, stands for a query, and its other words for a relevant document. The
whole document may begin or end with the title, or be without it. With q and d, the vectors of norm 1 of the query and
of the other words of each document, M minimises

    sum of |q' M - d'|^2 + s * |M - c * I|^2

c  mean of q' d; the greater s is, the nearer M is to c * I, which leaves cosines as they are
s  0.3 times the mean, over the dimensions, of the sum of squares of q

References
----------
Bai et al., Learning to rank with (a lot of) word features, Information Retrieval 2010 (queries mapped to documents).

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.products import cross_product, inverse_matrix, product
from rerank.types import FieldArrays, Floats, Ints, pointers, query_rows
from rerank.types.query_rows import rows_of_groups
from rerank.vectors.space import Space, sampled_documents, unit_vectors

FIRST_WORDS = 20  # of a document without a title, stop words included
LEAST_OTHERS = 20  # other words of a document that is learned from
MOST_PAIRS = 1 << 13  # documents that are learned from; of more, this many are drawn at random
STRENGTH = 0.3


def learn_query_map(space: Space, field: FieldArrays, titles: FieldArrays | None) -> Floats | None:
    """Return the map M of queries, (dimensions, dimensions) float64; None where there is nothing to learn it from.

    field   the whole documents
    titles  the field of their titles; None: their first words are learned from
    """
    if field.positions is None:
        return None
    docs = sampled_documents(len(field.lengths), MOST_PAIRS)
    postings, doc_ptr = rows_of_groups(field.doc_ptr, docs)
    terms = field.terms[postings]
    first = np.zeros(len(postings), np.int32)
    others = np.zeros(len(postings), np.int32)
    no_titles = np.zeros(len(field.lengths) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    of_titles = no_titles if titles is None else (titles.doc_ptr, titles.terms, titles.freqs)
    _divide_words(
        docs,
        tuple(map(read_only_view, (field.doc_ptr, field.terms, field.freqs))),
        tuple(map(read_only_view, (field.position_ptr, field.positions))),
        tuple(map(read_only_view, of_titles)),
        first,
        others,
    )
    queries, relevant = (_units_of(space, doc_ptr, terms, freqs) for freqs in (first, others))
    queries += unit_vectors(space.project(*of_titles, docs))  # one of both is 0
    pairs = np.flatnonzero(queries.any(axis=1) & relevant.any(axis=1))
    if not len(pairs):
        return None
    squares = cross_product(queries[pairs], queries[pairs])
    products = cross_product(queries[pairs], relevant[pairs])
    strength = STRENGTH * len(pairs) / space.dimensions  # vectors have norm 1: this is the mean of the diagonal
    unit = np.eye(space.dimensions)
    likeness = np.diag(products).sum() / len(pairs)
    return product(inverse_matrix(squares + strength * unit), products + strength * likeness * unit)


def _units_of(space: Space, doc_ptr: Ints, terms: NDArray[np.int32], freqs: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the vectors, of norm 1, of documents of which only some words count: those with a frequency above 0."""
    held = np.flatnonzero(freqs)
    ptr = pointers(np.bincount(query_rows(doc_ptr)[held], minlength=len(doc_ptr) - 1))
    return unit_vectors(space.project(ptr, terms[held], freqs[held], np.arange(len(ptr) - 1)))


@kernel()
def _divide_words(docs, field_postings, field_positions, title_postings, first, others):
    """Count the first words of each document without a title, and the other words of each that has enough.

    field_postings, title_postings  doc_ptr, terms and freqs of the whole documents and of their titles
    field_positions                 position_ptr and positions of the whole documents
    first, others                   frequencies of each posting of `docs`, document by document, 0 before; OUT
    """
    doc_ptr, terms, freqs = field_postings
    position_ptr, positions = field_positions
    title_ptr, title_terms, title_freqs = title_postings
    start = 0
    for doc in docs:
        title = title_ptr[doc]
        end_title = title_ptr[doc + 1]
        has_title = title < end_title
        token = position_ptr[doc]
        n_postings = doc_ptr[doc + 1] - doc_ptr[doc]
        for posting in range(n_postings):
            term = terms[doc_ptr[doc] + posting]
            freq = freqs[doc_ptr[doc] + posting]
            while title < end_title and title_terms[title] < term:
                title += 1
            if title < end_title and title_terms[title] == term:
                others[start + posting] = max(freq - title_freqs[title], 0)
            else:
                others[start + posting] = freq
            if not has_title:
                first[start + posting] = (positions[token : token + freq] < FIRST_WORDS).sum()
                others[start + posting] = freq - first[start + posting]
            token += freq
        if others[start : start + n_postings].sum() < LEAST_OTHERS:
            others[start : start + n_postings] = 0
        start += n_postings
