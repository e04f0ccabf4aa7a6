"""Matching: the queries of a run with their candidates, and how often each query term occurs in a candidate's field.

query term  a distinct term of a query, as a number: -1 if no field holds the term; those of a query ascend
candidate   one row: a document that the run retrieved for a query

A query-document pair takes 8 bytes for each distinct query term. Repeated terms are counted once: the time of a pair
grows with the distinct terms of the query and the terms of the document, never with their product.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.recipe import Recipe
from rerank.features.statistics import (
    burstiness,
    half_saturation,
    inverse_document_frequency,
    lucene_lengths,
    postings,
)
from rerank.runtime.kernels import kernel
from rerank.runtime.llvm import LINE, prefetch
from rerank.runtime.mapped_rows import read_only_view
from rerank.types import FieldArrays, Floats, ForwardIndex, Ids, Ints, pointers
from rerank.types.vocabulary import find_terms

Documents = Callable[[Ints], Sequence[str | None]]
PREFETCHED = 256  # at most so many postings of a document are prefetched


@dataclass(frozen=True, eq=False)
class CandidateBatch:
    """A batch of queries with their rows: the input of features that does not depend on a field.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the documents.
    query_tokens : sequence of sequence of str
        Tokens of each query, repetitions included.
    query_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First row of each query; its rows are in trec_eval's order.
    docs : ndarray of shape (n_rows,) and dtype int64
        Document numbers.
    scores : ndarray of shape (n_rows,) and dtype float64
        Scores of the run.
    term_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First query term of each query.
    terms : ndarray of shape (n_query_terms,) and dtype int64
        Term numbers.
    query_freq : ndarray of shape (n_query_terms,) and dtype int64
        Occurrences in the query.
    words : sequence of tuple of str
        Query terms of each query as text.
    token_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First token of each query.
    tokens : ndarray of shape (n_query_tokens,) and dtype int64
        Query term of each token, counted from the first term of the query.
    query_ids, doc_ids : sequence of str
        Ids of the queries and of the rows' documents, for user-defined functions and the history.
    other_runs : mapping from str to ndarray of shape (n_rows, 2) and dtype float64
        Score and rank in other runs, by name; NaN where the run does not hold the row.
    documents : callable, optional
        Returns documents by number as they were indexed; None where the index does not store them.
    vectors : rerank.vectors.query_vectors.QueryVectors, optional
        Vectors of the queries and of the documents, for the families that need them.
    history : rerank.history.judged.IndexHistory, optional
        What is learned from judgements, for the families that need it.
    least_score : float
        Rows with at most this score were not found by the retriever of the run: BM25 gives 0 to a text without a word
        of the query.
    columns : dict from str to ndarray
        Columns that are computed already, by family, see `columns.columns_of`.

    """

    forward: ForwardIndex
    query_tokens: Sequence[Sequence[str]]
    query_ptr: Ints
    docs: Ints
    scores: Floats
    term_ptr: Ints
    terms: Ints
    query_freq: Ints
    words: Sequence[tuple[str, ...]]
    token_ptr: Ints
    tokens: Ints
    query_ids: Sequence[str] | Ids = ()
    doc_ids: Sequence[str] | Ids = ()
    other_runs: Mapping[str, Floats] = dataclass_field(default_factory=dict)
    documents: Documents | None = None
    vectors: Any = None
    history: Any = None
    least_score: float = -math.inf
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.docs)

    @cached_property
    def tf_ptr(self) -> Ints:
        """First match of each query in the `matches` of a field, (n_queries + 1,) int64."""
        return pointers(np.diff(self.query_ptr) * np.diff(self.term_ptr))

    @cached_property
    def history_queries(self) -> Sequence[Any]:
        """The queries in the form that the families of the history need, one for each query of the batch."""
        return [self.history.query(self, query) for query in range(len(self.words))]


def gather_candidates(
    forward: ForwardIndex, query_tokens: Sequence[Sequence[str]], query_ptr: Ints, docs: Ints, scores: Floats
) -> CandidateBatch:
    """Return the batch of queries, their terms numbered; parameters are those of `CandidateBatch`."""
    numbers = term_numbers(forward, list(dict.fromkeys(chain.from_iterable(query_tokens))))
    terms_of = [
        sorted((numbers[term], count, term) for term, count in Counter(tokens).items()) for tokens in query_tokens
    ]
    indices = [{term: index for index, (_, _, term) in enumerate(terms)} for terms in terms_of]
    flat = np.array([term[:2] for terms in terms_of for term in terms], dtype=np.int64).reshape(-1, 2)
    tokens = [index[term] for index, of_query in zip(indices, query_tokens, strict=True) for term in of_query]
    return CandidateBatch(
        forward=forward,
        query_tokens=query_tokens,
        query_ptr=np.asarray(query_ptr, dtype=np.int64),
        docs=docs,
        scores=scores,
        term_ptr=pointers([len(terms) for terms in terms_of]),
        terms=np.ascontiguousarray(flat[:, 0]),
        query_freq=np.ascontiguousarray(flat[:, 1]),
        words=[tuple(word for _, _, word in terms) for terms in terms_of],
        token_ptr=pointers([len(of_query) for of_query in query_tokens]),
        tokens=np.array(tokens, dtype=np.int64),
    )


def term_numbers(forward: ForwardIndex, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of each term; -1 if no document holds it. The terms are distinct."""
    numbers = find_terms(forward, [term.encode("utf8") for term in terms]).tolist()
    return {term: forward.new_terms.get(term, number) for term, number in zip(terms, numbers, strict=True)}


@dataclass(frozen=True, eq=False)
class FieldBlock:
    """One field of a batch of candidates, matched with the queries.

    Parameters
    ----------
    candidates : CandidateBatch
        The queries and their rows.
    field : FieldArrays
        Forward arrays of the field.
    doc_freq, collection_freq : ndarray of shape (n_query_terms,) and dtype int64
        Documents that hold each query term in the field, and its occurrences; 0 for an unknown term.
    lengths : ndarray of shape (n_rows,) and dtype int32
        Tokens of the field (the exact count).
    columns : dict from str to ndarray
        Columns that are computed already, by family, see `columns.columns_of`.
    saturations : dict from tuple to ndarray
        What `bm25_saturation` has returned, by its parameters.

    """

    candidates: CandidateBatch
    field: FieldArrays
    doc_freq: Ints
    collection_freq: Ints
    lengths: NDArray[np.int32]
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)
    saturations: dict[tuple[float, ...], Floats] = dataclass_field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.lengths)

    @cached_property
    def matches(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Term frequencies and first tokens, (n_matches,) int32.

        Row r of query q, which has T terms, has the T matches from tf_ptr[q] + (r - query_ptr[q]) * T, with tf_ptr of
        the candidates. The first token of a term is the number of the document's tokens whose terms have a lower
        number: the positions of the term begin there among those of the document. It is 0 where tf is 0.
        """
        batch = self.candidates
        tf, first_tokens = np.zeros((2, batch.tf_ptr[-1]), dtype=np.int32)
        _fill_matches(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms),
            postings(self.field),
            np.zeros(len(self.field.doc_freq), dtype=np.int32),
            batch.tf_ptr,
            tf,
            first_tokens,
        )
        return tf, first_tokens

    def tf_of(self, query: int) -> NDArray[np.int32]:
        """Return the term frequencies of one query, (n_rows, n_terms) int32."""
        batch = self.candidates
        shape = [int(np.diff(ptr[query : query + 2])[0]) for ptr in (batch.query_ptr, batch.term_ptr)]
        return self.matches[0][batch.tf_ptr[query] : batch.tf_ptr[query + 1]].reshape(shape)

    @cached_property
    def idf(self) -> Floats:
        """Lucene's idf of each query term, (n_query_terms,) float64; 0 where the field does not hold it."""
        return inverse_document_frequency(self.doc_freq, self.field.n_docs_with)

    @cached_property
    def burstiness(self) -> Floats:
        """Weight of each query term, larger if its occurrences crowd in few documents, (n_query_terms,) float64."""
        return burstiness(self.doc_freq, self.collection_freq, self.field.n_docs_with)

    @cached_property
    def unique_terms(self) -> Ints:
        """Number of distinct terms of each row's field, (n_rows,) int64."""
        doc_ptr = self.field.doc_ptr
        return doc_ptr[self.candidates.docs + 1] - doc_ptr[self.candidates.docs]

    @cached_property
    def lucene_lengths(self) -> NDArray[np.int32]:
        """Length of each row's field as Lucene stores it in one byte, (n_rows,) int32 tokens."""
        return lucene_lengths(self.lengths)

    def bm25_saturation(self, recipe: Recipe, longest: float = np.inf) -> Floats:
        """Return k1 * (1 - b + b * dl / avgdl) of each row, (n_rows,): the tf at which half of the idf is reached.

        longest  in tokens; a longer field counts as one of this length
        """
        parameters = recipe.bm25_k1, recipe.bm25_b, longest
        if parameters not in self.saturations:
            lengths = np.minimum(self.lucene_lengths, longest)
            self.saturations[parameters] = half_saturation(lengths, self.field, *parameters[:2])
        return self.saturations[parameters]


def match(candidates: CandidateBatch, field: FieldArrays) -> FieldBlock:
    """Return the candidates matched with a field."""
    source = field.collection or field
    doc_freq, collection_freq = np.zeros((2, len(candidates.terms)), dtype=np.int64)
    frequencies = read_only_view(source.doc_freq), read_only_view(source.collection_freq)
    _fill_frequencies(candidates.terms, *frequencies, doc_freq, collection_freq)
    block = FieldBlock(candidates, field, doc_freq, collection_freq, np.asarray(field.lengths[candidates.docs]))
    # Candidates may be texts outside of the index, with `field.collection` as statistics. A term that such a text holds
    # and no document of the index counts as held by one document, once.
    if field.collection is not None:
        for query in range(len(candidates.words)):
            of_query = slice(*candidates.term_ptr[query : query + 2].tolist())
            held = block.tf_of(query).any(axis=0)
            doc_freq[of_query] = np.maximum(doc_freq[of_query], held)
            collection_freq[of_query] = np.maximum(collection_freq[of_query], held)
    return block


@kernel()
def _fill_frequencies(terms, all_doc_freq, all_collection_freq, doc_freq, collection_freq):
    """Fill `doc_freq` and `collection_freq` (n_query_terms,), which are 0 before; unknown terms keep 0."""
    for index in range(len(terms)):
        if 0 <= terms[index] < len(all_doc_freq):
            doc_freq[index] = all_doc_freq[terms[index]]
            collection_freq[index] = all_collection_freq[terms[index]]


@kernel()
def _fill_matches(queries, postings, slot_of, tf_ptr, tf, first_tokens):
    """Fill `tf` and `first_tokens` (n_matches,), which are 0 before, see `FieldBlock.matches`.

    queries   query_ptr, docs, term_ptr, terms as in CandidateBatch
    postings  doc_ptr, terms, freqs of the field
    slot_of   (n_terms,) of the vocabulary, 0 before and after: 1 + number of the term in the query, 0 if it has none
    """
    query_ptr, docs, term_ptr, terms = queries
    doc_ptr, doc_terms, freqs = postings
    for query in range(len(query_ptr) - 1):
        index = tf_ptr[query]
        last = query_ptr[query + 1]
        of_query = terms[term_ptr[query] : term_ptr[query + 1]]
        for number in range(len(of_query)):
            if of_query[number] >= 0:
                slot_of[of_query[number]] = number + 1
        for row in range(query_ptr[query], last):
            if row + 4 < last:
                prefetch(doc_ptr, docs[row + 4])
            if row + 2 < last:
                start = doc_ptr[docs[row + 2]]
                for posting in range(start, min(doc_ptr[docs[row + 2] + 1], start + PREFETCHED), LINE):
                    prefetch(doc_terms, posting)
                    prefetch(freqs, posting)
            n_tokens = 0
            for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
                slot = slot_of[doc_terms[posting]]
                if slot > 0:
                    tf[index + slot - 1], first_tokens[index + slot - 1] = freqs[posting], n_tokens
                n_tokens += freqs[posting]
            index += len(of_query)
        for term in of_query:
            if term >= 0:
                slot_of[term] = 0
