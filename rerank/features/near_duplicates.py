"""Groups of near-duplicate queries.

    w(t, q)   (1 + ln tf) * ln(N / df), divided by the norm of the query's weights

Two queries are near duplicates where the cosine of their weights is at least NEAR, or their analysed terms are the
same; a group is a component of the graph of near duplicates.

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import cached_by_field
from rerank.runtime.numerics import array_log
from rerank.types import Floats, Ints, query_rows
from rerank.types.forward import ForwardIndex
from rerank.types.retriever import CONTENTS
from rerank.types.vocabulary import counted_terms, find_terms
from rerank.vectors.vectors import log_idf

NEAR = 0.8  # least cosine of near-duplicate queries
_BLOCK = 512  # queries that are compared with all others at once
_cached_log_idf = cached_by_field(log_idf)


def query_groups(forward: ForwardIndex, tokens: Sequence[Sequence[str]]) -> Ints:
    """Return the group of each query, (n_queries,) int64, by its analysed terms; see `near_duplicates`.

    All words count alike where the index has no text of whole documents.
    """
    words = sorted(set().union(*tokens))
    numbers = {word: number for number, word in enumerate(words)}
    word_ptr, query_words, freqs = counted_terms(tokens, numbers)
    idf = word_idf(forward, words) if CONTENTS in forward.fields else np.ones(len(words))
    weights = unit_weights(freqs, idf[query_words], word_ptr)
    same: dict[object, int] = {}
    first = [same.setdefault(frozenset(Counter(of_query).items()), query) for query, of_query in enumerate(tokens)]
    return near_duplicates(weights, query_words, word_ptr, np.array(first, dtype=np.int64), NEAR)


def near_duplicates(
    weights: Floats, query_words: NDArray[np.int32], word_ptr: Ints, first: Ints, cosine: float
) -> Ints:
    """Return the group of each query, (n_queries,) int64: the components of the graph of near duplicates.

    Shapes: weights and query_words (n_query_words,); word_ptr (n_queries + 1,); first (n_queries,) the first query of
    the same terms.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_queries = len(first)
    vectors = csr_array((weights, query_words, word_ptr), shape=(n_queries, int(query_words.max(initial=-1)) + 1))
    by_word = vectors.T.tocsr()
    left = [np.arange(n_queries)]
    right = [first]
    for start in range(0, n_queries, _BLOCK):
        products = (vectors[start : start + _BLOCK] @ by_word).tocoo()
        near = np.flatnonzero(products.data >= cosine)
        left.append(products.coords[0][near] + start)
        right.append(products.coords[1][near])
    rows = np.concatenate(left)
    columns = np.concatenate(right)
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n_queries, n_queries))
    _, groups = connected_components(graph, directed=False)
    return np.asarray(groups, dtype=np.int64)


def unit_weights(freqs: NDArray[np.int32], idf: Floats, word_ptr: Ints) -> Floats:
    """Return (1 + ln tf) * idf of the words of each query, divided by the query's norm, (n_query_words,) float64."""
    weights = (1.0 + array_log(freqs)) * idf
    query = query_rows(word_ptr)
    norms = np.sqrt(np.bincount(query, weights**2, len(word_ptr) - 1))
    return weights / np.where(norms > 0.0, norms, 1.0)[query]


def term_idf(forward: ForwardIndex) -> Floats:
    """Return ln(N / df) of each term of the index in the whole document, (n_terms,) float64, 0 for an absent one."""
    return _cached_log_idf(forward.fields[CONTENTS])


def word_idf(forward: ForwardIndex, words: Sequence[str]) -> Floats:
    """Return the idf of words, (n_words,) float64; a word that no document holds has that of one document."""
    terms = find_terms(forward, [word.encode("utf8") for word in words])
    known = np.flatnonzero(terms >= 0)
    values = np.full(len(terms), float(array_log(max(forward.n_docs, 1))))
    values[known] = term_idf(forward)[terms[known]]
    return values
