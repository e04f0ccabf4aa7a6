"""Groups of near-duplicate queries.

    w(t, q)   (1 + ln tf) * ln(N / df), divided by the norm of the query's weights

Two queries are near duplicates where the cosine of their weights is at least NEAR, or their analysed terms are the
same; a group is a component of the graph of near duplicates.

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.statistics import word_idf
from rerank.runtime.elementary import array_log
from rerank.types import CONTENTS, Floats, ForwardIndex, Ints, query_rows
from rerank.types.forward import counted_terms

NEAR = 0.8  # least cosine of near-duplicate queries
_BLOCK = 512  # queries that are compared with all others at once


def query_groups(forward: ForwardIndex, tokens: Sequence[Sequence[str]]) -> Ints:
    """Return the group of each query, (n_queries,) int64, by its analysed terms: a component of near duplicates.

    All words count alike where the index has no text of whole documents.
    """
    words = sorted(set().union(*tokens))
    word_ptr, query_words, freqs = counted_terms(tokens, {word: number for number, word in enumerate(words)})
    idf = word_idf(forward, words) if CONTENTS in forward.fields else np.ones(len(words))
    first_of_terms: dict[object, int] = {}
    first = [
        first_of_terms.setdefault(frozenset(Counter(of_query).items()), query) for query, of_query in enumerate(tokens)
    ]
    return near_groups(unit_weights(freqs, idf[query_words], word_ptr), query_words, word_ptr, first)


def near_groups(weights: Floats, columns: NDArray[Any], ptr: Ints, same: Sequence[int] | Ints = ()) -> Ints:
    """Return the group of each query, (n_queries,) int64: a component of those whose vectors have a cosine of NEAR.

    weights, columns  (n_entries,) of the queries' vectors of norm 1, by `ptr` (n_queries + 1,)
    same              a query that each is grouped with, too; empty: none
    """
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.csgraph import connected_components

    n_queries = len(ptr) - 1
    vectors = csr_array((weights, columns, ptr), shape=(n_queries, int(columns.max(initial=-1)) + 1))
    by_column = vectors.T.tocsr()
    starts = range(0, max(n_queries, 1), _BLOCK)
    near = vstack([vectors[start : start + _BLOCK] @ by_column >= NEAR for start in starts])
    given = csr_array((np.ones(len(same)), (np.arange(len(same)), list(same))), shape=(n_queries, n_queries))
    _, groups = connected_components(near + given, directed=False)
    return np.asarray(groups, dtype=np.int64)


def unit_weights(freqs: NDArray[np.int32], idf: Floats, word_ptr: Ints) -> Floats:
    """Return (1 + ln tf) * idf of the words of each query, divided by the query's norm, (n_query_words,) float64."""
    weights = (1.0 + array_log(freqs)) * idf
    query = query_rows(word_ptr)
    norms = np.sqrt(np.bincount(query, weights**2, len(word_ptr) - 1))
    return weights / np.where(norms > 0.0, norms, 1.0)[query]
