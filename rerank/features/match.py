"""Matching: how often each query term occurs in a field of each candidate.

query term  a distinct term of a query; those of a query ascend by number, -1 where no field holds it
candidate   one row: a document that the run gives for a query

A pair takes 4 bytes a query term. Repeated terms are counted once: what a pair costs grows with the distinct terms of
the query and the terms of the document, never with their product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rerank.features.recipe import Recipe
from rerank.features.statistics import frozen, inverse_document_frequency, lucene_lengths, vector_norms
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats, Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.ids import Ids

Documents = Callable[[Ints], Sequence[str | None]]
MOST_MATCHES = 1 << 23  # of a batch of queries, of 4 bytes each


@dataclass(frozen=True, eq=False)
class Candidates:
    """A batch of queries with their rows: what does not depend on a field.

    query_ptr      (n_queries + 1,) int64: rows of each query, in trec_eval's order
    docs           (n_rows,) int64 document numbers
    scores         (n_rows,) float64 scores of the run
    query_lengths  (n_queries,) int64 tokens of each query
    term_ptr       (n_queries + 1,) int64: query terms of each query
    terms          (n_query_terms,) int64 term numbers
    query_freq     (n_query_terms,) int64 occurrences in the query
    token_ptr      (n_queries + 1,) int64: tokens of each query
    tokens         (n_query_tokens,) int64 the query term that each token is, counted within the query
    outside        score and rank in other runs, by name: (n_rows, 2) float64, NaN where the run lacks the row
    words          query terms of each query as text
    numbers        numbers of all documents, by name: (n_docs,) float64
    documents      documents by number as they were indexed; None where nobody can read them
    query_ids      (n_queries,) and doc_ids (n_rows,): for the errors of the user's functions
    """

    query_ptr: Ints
    docs: Ints
    scores: Floats
    query_lengths: Ints
    term_ptr: Ints
    terms: Ints
    query_freq: Ints
    token_ptr: Ints
    tokens: Ints
    outside: Mapping[str, Floats] = dataclass_field(default_factory=dict)
    words: Sequence[tuple[str, ...]] = ()
    numbers: Mapping[str, Floats] = dataclass_field(default_factory=dict)
    documents: Documents | None = None
    query_ids: Sequence[str] | Ids = ()
    doc_ids: Sequence[str] | Ids = ()

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.docs)

    def query_tokens(self, query: int) -> list[str]:
        """Return the tokens of a query, repetitions included."""
        tokens = self.tokens[self.token_ptr[query] : self.token_ptr[query + 1]]
        return [self.words[query][token] for token in tokens.tolist()]

    def first_terms(self, limit: int) -> Candidates:
        """Return the candidates with each query cut before its first token beyond `limit` distinct terms.

        Where no query has more terms, these candidates themselves are returned.
        """
        if not (np.diff(self.term_ptr) > limit).any():
            return self
        n_queries = len(self.query_lengths)
        cut = [self._first_terms_of(query, limit) for query in range(n_queries)]
        kept = np.concatenate([self.term_ptr[query] + cut[query][0] for query in range(n_queries)])
        words = [tuple(self.words[query][term] for term in cut[query][0].tolist()) for query in range(n_queries)]
        return replace(
            self,
            query_lengths=np.array([len(tokens) for _, tokens in cut], dtype=np.int64),
            term_ptr=pointers([len(terms) for terms, _ in cut]),
            terms=self.terms[kept],
            query_freq=np.concatenate([np.bincount(tokens, minlength=len(terms)) for terms, tokens in cut]),
            token_ptr=pointers([len(tokens) for _, tokens in cut]),
            tokens=np.concatenate([tokens for _, tokens in cut]),
            words=words,
        )

    def _first_terms_of(self, query: int, limit: int) -> tuple[Ints, Ints]:
        """Return the terms of one query that are kept, ascending, and its tokens up to there, numbered among them."""
        tokens = self.tokens[self.token_ptr[query] : self.token_ptr[query + 1]]
        _, first_said = np.unique(tokens, return_index=True)
        if len(first_said) > limit:
            tokens = tokens[: np.partition(first_said, limit)[limit]]
        terms, numbered = np.unique(tokens, return_inverse=True)
        return terms, numbered

    def batches(self, n_rows: int, n_matches: int = MOST_MATCHES) -> Iterator[tuple[slice, Candidates]]:
        """Yield whole queries of about `n_rows` rows together (at least one query), and where they stand.

        n_matches  pairs of row and query term together: what bounds the memory of `match` where queries are long
        """
        first, n_queries = 0, len(self.query_lengths)
        match_ptr = pointers(np.diff(self.query_ptr) * np.diff(self.term_ptr))
        while first < n_queries:
            last = int(np.searchsorted(self.query_ptr, self.query_ptr[first] + n_rows, side="right")) - 1
            last = min(last, int(np.searchsorted(match_ptr, match_ptr[first] + n_matches, side="right")) - 1)
            last = min(max(last, first + 1), n_queries)
            yield slice(int(self.query_ptr[first]), int(self.query_ptr[last])), self._queries(first, last)
            first = last

    def _queries(self, first: int, last: int) -> Candidates:
        rows = slice(self.query_ptr[first], self.query_ptr[last])
        terms = slice(self.term_ptr[first], self.term_ptr[last])
        tokens = slice(self.token_ptr[first], self.token_ptr[last])
        return Candidates(
            query_ptr=self.query_ptr[first : last + 1] - self.query_ptr[first],
            docs=self.docs[rows],
            scores=self.scores[rows],
            query_lengths=self.query_lengths[first:last],
            term_ptr=self.term_ptr[first : last + 1] - self.term_ptr[first],
            terms=self.terms[terms],
            query_freq=self.query_freq[terms],
            token_ptr=self.token_ptr[first : last + 1] - self.token_ptr[first],
            tokens=self.tokens[tokens],
            outside={name: table[rows] for name, table in self.outside.items()},
            words=self.words[first:last],
            numbers=self.numbers,
            documents=self.documents,
            query_ids=self.query_ids[first:last],
            doc_ids=self.doc_ids[rows],
        )


@dataclass(frozen=True, eq=False)
class FieldBlock:
    """A batch of queries matched with one field: what a family of features reads.

    candidates       the queries and their rows
    field            forward arrays of the field
    doc_freq         (n_query_terms,) int64 documents that hold the term in this field
    collection_freq  (n_query_terms,) int64 occurrences in this field
    tf_ptr           (n_queries + 1,) int64: matches of each query
    tf               (n_matches,) int32: with T terms in query q, those of row r begin at
                     tf_ptr[q] + (r - query_ptr[q]) * T, one for each query term
    lengths          (n_rows,) int32 tokens of the row's field (the exact count)
    columns          columns of families that were filled already, by family: see `registry.field_columns`
    """

    candidates: Candidates
    field: FieldArrays
    doc_freq: Ints
    collection_freq: Ints
    tf_ptr: Ints
    tf: NDArray[np.int32]
    lengths: NDArray[np.int32]
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)

    @cached_property
    def idf(self) -> Floats:
        """Lucene's idf of each query term, 0 where the field does not hold it."""
        return inverse_document_frequency(self.doc_freq, self.field.n_docs_with)

    @cached_property
    def lucene_lengths(self) -> NDArray[np.int32]:
        """Length of each row's field as Lucene's one byte holds it, (n_rows,)."""
        return lucene_lengths(self.lengths)

    @cached_property
    def unique_terms(self) -> Ints:
        """Number of distinct terms in each row's field, (n_rows,)."""
        docs = self.candidates.docs
        return self.field.doc_ptr[docs + 1] - self.field.doc_ptr[docs]

    @cached_property
    def relative_lengths(self) -> Floats:
        """Length of each row's field as Lucene holds it, over the average length, (n_rows,)."""
        return self.lucene_lengths.astype(np.float64) / (self.field.average_length or 1.0)

    def bm25_saturation(self, recipe: Recipe) -> Floats:
        """Return k1 * (1 - b + b * dl / avgdl) of each row: the tf at which half of the idf is reached."""
        return recipe.bm25_k1 * (1.0 - recipe.bm25_b + recipe.bm25_b * self.relative_lengths)

    @cached_property
    def vector_norms(self) -> Floats:
        """Norm of the tf * idf vector of each row's field, (n_rows,)."""
        return vector_norms(self.field)[self.candidates.docs]


def gather_candidates(
    forward: ForwardIndex,
    query_terms: Sequence[Sequence[str]],
    query_ptr: Ints,
    docs: Ints,
    scores: Floats,
    outside: Mapping[str, Floats] | None = None,
    documents: Documents | None = None,
) -> Candidates:
    """Return the candidates of queries given as analysed tokens, one list each, repetitions included."""
    occurrences = [Counter(tokens) for tokens in query_terms]
    numbers = _term_numbers(forward, list(dict.fromkeys(term for counts in occurrences for term in counts)))
    counted = [sorted((numbers[term], count, term) for term, count in counts.items()) for counts in occurrences]
    places = [{term: place for place, (_, _, term) in enumerate(triples)} for triples in counted]
    flat = np.array([triple[:2] for triples in counted for triple in triples], dtype=np.int64).reshape(-1, 2)
    return Candidates(
        query_ptr=np.asarray(query_ptr, dtype=np.int64),
        docs=docs,
        scores=scores,
        query_lengths=np.array([len(tokens) for tokens in query_terms], dtype=np.int64),
        term_ptr=pointers([len(triples) for triples in counted]),
        terms=np.ascontiguousarray(flat[:, 0]),
        query_freq=np.ascontiguousarray(flat[:, 1]),
        token_ptr=pointers([len(tokens) for tokens in query_terms]),
        tokens=np.array(
            [place[term] for place, tokens in zip(places, query_terms, strict=True) for term in tokens], dtype=np.int64
        ),
        outside=dict(outside or {}),
        words=[tuple(word for _, _, word in triples) for triples in counted],
        numbers=forward.numbers,
        documents=documents,
    )


def match(candidates: Candidates, field: FieldArrays) -> FieldBlock:
    """Look up every query term in the field of every candidate."""
    known = candidates.terms >= 0
    place = np.where(known, candidates.terms, 0)
    n_matches = np.diff(candidates.query_ptr) * np.diff(candidates.term_ptr)
    tf_ptr = pointers(n_matches)
    tf = np.empty(tf_ptr[-1], dtype=np.int32)
    _fill_tf(
        candidates.query_ptr,
        candidates.docs,
        candidates.term_ptr,
        candidates.terms,
        frozen(field.doc_ptr),
        frozen(field.terms),
        frozen(field.freqs),
        tf_ptr,
        tf,
    )
    return FieldBlock(
        candidates=candidates,
        field=field,
        doc_freq=_taken(field.doc_freq, place, known),
        collection_freq=_taken(field.collection_freq, place, known),
        tf_ptr=tf_ptr,
        tf=tf,
        lengths=np.asarray(field.lengths[candidates.docs]),
    )


def _taken(values: NDArray[np.int32] | Ints, place: Ints, known: NDArray[np.bool_]) -> Ints:
    if not len(values):
        return np.zeros(len(place), dtype=np.int64)
    return np.where(known, values[place], 0).astype(np.int64)


def _term_numbers(forward: ForwardIndex, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of each distinct term, -1 where no field holds it."""
    encoded = [term.encode("utf8") for term in terms]
    numbers = np.empty(len(terms), dtype=np.int64)
    wanted = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    _find_terms(
        frozen(wanted),
        pointers([len(term) for term in encoded]),
        frozen(forward.vocabulary),
        frozen(forward.term_ptr),
        numbers,
    )
    return dict(zip(terms, numbers.tolist(), strict=True))


@kernel()
def _find_terms(wanted, wanted_ptr, vocabulary, term_ptr, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_wanted,) with the number of each term, -1 where there is none; a binary search each.

    wanted, vocabulary    bytes of terms, one after the other; those of the vocabulary ascend
    wanted_ptr, term_ptr  where each begins
    """
    for number in range(len(out)):
        low, high = 0, len(term_ptr) - 1
        own = wanted[wanted_ptr[number] : wanted_ptr[number + 1]]
        out[number] = -1
        while low < high:
            middle = (low + high) >> 1
            order = _compare(vocabulary[term_ptr[middle] : term_ptr[middle + 1]], own)
            if order == 0:
                out[number] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle


@helper()
def _compare(ours, theirs):  # type: ignore[no-untyped-def]
    """Return a number below 0 where the first text (bytes) is less than the second, 0 where equal, else above 0."""
    for place in range(min(len(ours), len(theirs))):
        if ours[place] != theirs[place]:
            return np.int64(ours[place]) - np.int64(theirs[place])
    return len(ours) - len(theirs)


@kernel()
def _fill_tf(query_ptr, docs, term_ptr, terms, doc_ptr, doc_terms, doc_freqs, tf_ptr, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_matches,) with term frequencies; a binary search a query term.

    Both term lists ascend, so each search begins where the one before it ended.
    """
    for query in range(len(query_ptr) - 1):
        place = tf_ptr[query]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            low, end = doc_ptr[docs[row]], doc_ptr[docs[row] + 1]
            for number in range(term_ptr[query], term_ptr[query + 1]):
                wanted, high = terms[number], end
                while low < high:
                    middle = (low + high) >> 1
                    if doc_terms[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                out[place] = doc_freqs[low] if low < end and doc_terms[low] == wanted else 0
                place += 1
