"""How often query terms occur in documents, and where their positions begin, against a search in Python."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.features.match import _fill_matches
from rerank.types import Ints, pointers

N_TERMS = 4000


QUERIES: list[list[int]] = [
    [],
    [7],
    [-1, -1, 3, 9],
    list(range(0, 320, 10)),
    list(range(52)),
    list(range(0, N_TERMS, 500)),
]


def _documents(random: np.random.Generator, sizes: list[int]) -> tuple[Ints, np.ndarray, np.ndarray]:
    chosen = [np.sort(random.choice(1 << 16 if size < 50 else N_TERMS, size, replace=False)) for size in sizes]
    terms = np.concatenate([np.empty(0), *chosen]).astype(np.int32)
    return pointers(sizes), terms, random.integers(1, 9, len(terms)).astype(np.int32)


@pytest.mark.parametrize("terms", QUERIES, ids=[f"{len(query)} terms" for query in QUERIES])
def test_matches_are_those_of_a_search_in_python(terms: list[int]) -> None:
    random = np.random.default_rng(len(terms))
    sizes = [0, 1, 40, 128, 3000, 0, 2]
    doc_ptr, doc_terms, freqs = _documents(random, sizes)
    for doc, term in zip(range(len(sizes)), terms, strict=False):
        if sizes[doc] and term >= 0:  # every document has a term of the query
            own = slice(doc_ptr[doc], doc_ptr[doc + 1])
            if term not in doc_terms[own]:
                doc_terms[own] = np.sort([*doc_terms[own][1:], term])
    docs = np.tile(np.arange(len(sizes)), 2)
    query_ptr, term_ptr = np.array([0, len(sizes), 2 * len(sizes)]), pointers([len(terms), len(terms)])
    flat = np.array([*terms, *terms], dtype=np.int64)
    tf, first_tokens = np.zeros((2, len(docs) * len(terms)), np.int32)
    tf_ptr = pointers(np.diff(query_ptr) * np.diff(term_ptr))
    slots = np.zeros(1 << 16, np.int32)
    _fill_matches((query_ptr, docs, term_ptr, flat), (doc_ptr, doc_terms, freqs), slots, tf_ptr, tf, first_tokens)
    assert not slots.any()
    expected = [_match(doc_terms[own], freqs[own], term) for own in _postings(doc_ptr, docs) for term in terms]
    np.testing.assert_array_equal(np.column_stack([tf, first_tokens]), np.array(expected).reshape(-1, 2))


def _postings(doc_ptr: Ints, docs: Ints) -> list[slice]:
    return [slice(int(doc_ptr[doc]), int(doc_ptr[doc + 1])) for doc in docs]


def _match(doc_terms: np.ndarray, freqs: np.ndarray, term: int) -> tuple[int, int]:
    """Return the frequency of a term, and the tokens of the terms before it; 0 and 0 where the document lacks it."""
    found = np.flatnonzero(doc_terms == term)
    return (int(freqs[found[0]]), int(freqs[: found[0]].sum())) if len(found) else (0, 0)
