"""Candidates: queries with their terms, and the documents that a run retrieved for them.

query term  a distinct term of a query; those of a query ascend by number, -1 where no field holds it
candidate   one row: a document that the run retrieved for a query
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rerank.types import Floats, Ints, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.ids import Ids
from rerank.types.vocabulary import find_terms

if TYPE_CHECKING:
    from rerank.vectors.encoder import QueryVectors

Documents = Callable[[Ints], Sequence[str | None]]
MOST_MATCHES = 1 << 23  # row-term pairs of a batch, of 4 bytes each


class IndexHistory(Protocol):
    """What is learned from judgements, on an index: `rerank.history.base.IndexHistory`."""

    def queries(self, candidates: Candidates) -> Sequence[Any]:
        """Return the queries of the candidates as the families need them that are learned from judgements."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """A batch of queries with their rows: the part of the features' input that depends on no field.

    Parameters
    ----------
    query_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First row of each query; its rows are in trec_eval's order.
    docs : ndarray of shape (n_rows,) and dtype int64
        Document numbers.
    scores : ndarray of shape (n_rows,) and dtype float64
        Scores of the run.
    query_lengths : ndarray of shape (n_queries,) and dtype int64
        Tokens of each query.
    term_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First query term of each query.
    terms : ndarray of shape (n_query_terms,) and dtype int64
        Term numbers.
    query_freq : ndarray of shape (n_query_terms,) and dtype int64
        Occurrences in the query.
    token_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First token of each query.
    tokens : ndarray of shape (n_query_tokens,) and dtype int64
        Query term of each token, counted from the first term of the query.
    other_runs : mapping from str to ndarray of shape (n_rows, 2) and dtype float64
        Score and rank in other runs, by name; NaN where the run does not hold the row.
    words : sequence of tuple of str
        Query terms of each query as text.
    numbers : mapping from str to ndarray of shape (n_docs,) and dtype float64
        Numbers of all documents, by name.
    documents : callable, optional
        Returns documents by number as they were indexed; None where the index does not store them.
    vectors : QueryVectors, optional
        Vectors of the queries and of the documents, for the families that need them.
    query_ids, doc_ids : sequence of str
        Ids of the queries and of the rows' documents, for user-defined functions and the history.
    history : IndexHistory, optional
        What is learned from judgements, for the families that need it.

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
    other_runs: Mapping[str, Floats] = dataclass_field(default_factory=dict)
    words: Sequence[tuple[str, ...]] = ()
    numbers: Mapping[str, Floats] = dataclass_field(default_factory=dict)
    documents: Documents | None = None
    query_ids: Sequence[str] | Ids = ()
    doc_ids: Sequence[str] | Ids = ()
    vectors: QueryVectors | None = None
    history: IndexHistory | None = None

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.docs)

    @cached_property
    def history_queries(self) -> Sequence[Any]:
        """The queries as the families need them that are learned from judgements."""
        return () if self.history is None else self.history.queries(self)

    def query_tokens(self, query: int) -> list[str]:
        """Return the tokens of a query, repetitions included."""
        tokens = self.tokens[self.token_ptr[query] : self.token_ptr[query + 1]]
        return [self.words[query][token] for token in tokens.tolist()]

    def first_terms(self, limit: int) -> Candidates:
        """Return the candidates with each query cut before the token that would be its term number `limit` + 1.

        Returns this object where no query has more terms.
        """
        if not (np.diff(self.term_ptr) > limit).any():
            return self
        n_queries = len(self.query_lengths)
        cut = [self._first_terms_of(query, limit) for query in range(n_queries)]
        chosen = np.concatenate([self.term_ptr[query] + cut[query][0] for query in range(n_queries)])
        words = [tuple(self.words[query][term] for term in cut[query][0].tolist()) for query in range(n_queries)]
        return replace(
            self,
            query_lengths=np.array([len(tokens) for _, tokens in cut], dtype=np.int64),
            term_ptr=pointers([len(terms) for terms, _ in cut]),
            terms=self.terms[chosen],
            query_freq=np.concatenate([np.bincount(tokens, minlength=len(terms)) for terms, tokens in cut]),
            token_ptr=pointers([len(tokens) for _, tokens in cut]),
            tokens=np.concatenate([tokens for _, tokens in cut]),
            words=words,
        )

    def _first_terms_of(self, query: int, limit: int) -> tuple[Ints, Ints]:
        """Return the first terms of one query, ascending, and the query's tokens up to the cut as indices of these."""
        tokens = self.tokens[self.token_ptr[query] : self.token_ptr[query + 1]]
        _, first_use = np.unique(tokens, return_index=True)
        if len(first_use) > limit:
            tokens = tokens[: np.partition(first_use, limit)[limit]]
        terms, term_indices = np.unique(tokens, return_inverse=True)
        return terms, term_indices

    def batches(self, n_rows: int, n_matches: int = MOST_MATCHES) -> Iterator[tuple[slice, Candidates]]:
        """Yield batches of whole queries, and the rows of each batch.

        n_rows     about the number of rows of a batch; at least one query
        n_matches  row-term pairs of a batch, which bound the memory of `match`; a single query may have more
        """
        first = 0
        n_queries = len(self.query_lengths)
        match_ptr = pointers(np.diff(self.query_ptr) * np.diff(self.term_ptr))
        while first < n_queries:
            last = int(np.searchsorted(self.query_ptr, self.query_ptr[first] + n_rows, side="right")) - 1
            last = min(last, int(np.searchsorted(match_ptr, match_ptr[first] + n_matches, side="right")) - 1)
            last = min(max(last, first + 1), n_queries)
            yield slice(int(self.query_ptr[first]), int(self.query_ptr[last])), self._queries(first, last)
            first = last

    def rows_of_one_query(self, rows: slice) -> Candidates:
        """Return some rows of candidates that have a single query."""
        docs = self.docs[rows]
        return replace(
            self,
            query_ptr=np.array([0, len(docs)], dtype=np.int64),
            docs=docs,
            scores=self.scores[rows],
            other_runs={name: table[rows] for name, table in self.other_runs.items()},
            doc_ids=self.doc_ids[rows],
        )

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
            other_runs={name: table[rows] for name, table in self.other_runs.items()},
            words=self.words[first:last],
            numbers=self.numbers,
            documents=self.documents,
            query_ids=self.query_ids[first:last],
            doc_ids=self.doc_ids[rows],
            vectors=None if self.vectors is None else self.vectors.of_queries(first, last),
            history=self.history,
        )


def gather_candidates(
    forward: ForwardIndex,
    query_terms: Sequence[Sequence[str]],
    query_ptr: Ints,
    docs: Ints,
    scores: Floats,
    other_runs: Mapping[str, Floats] | None = None,
    documents: Documents | None = None,
) -> Candidates:
    """Return the candidates of queries."""
    occurrences = [Counter(tokens) for tokens in query_terms]
    numbers = term_numbers(forward, list(dict.fromkeys(term for counts in occurrences for term in counts)))
    terms_of = [sorted((numbers[term], count, term) for term, count in counts.items()) for counts in occurrences]
    indices = [{term: index for index, (_, _, term) in enumerate(terms)} for terms in terms_of]
    flat = np.array([term[:2] for terms in terms_of for term in terms], dtype=np.int64).reshape(-1, 2)
    return Candidates(
        query_ptr=np.asarray(query_ptr, dtype=np.int64),
        docs=docs,
        scores=scores,
        query_lengths=np.array([len(tokens) for tokens in query_terms], dtype=np.int64),
        term_ptr=pointers([len(terms) for terms in terms_of]),
        terms=np.ascontiguousarray(flat[:, 0]),
        query_freq=np.ascontiguousarray(flat[:, 1]),
        token_ptr=pointers([len(tokens) for tokens in query_terms]),
        tokens=np.array(
            [index[term] for index, tokens in zip(indices, query_terms, strict=True) for term in tokens], dtype=np.int64
        ),
        other_runs=dict(other_runs or {}),
        words=[tuple(word for _, _, word in terms) for terms in terms_of],
        numbers=forward.numbers,
        documents=documents,
    )


def term_numbers(forward: ForwardIndex, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of each distinct term, -1 where no document holds it."""
    numbers = find_terms(forward, [term.encode("utf8") for term in terms]).tolist()
    found = dict(zip(terms, numbers, strict=True))
    if forward.new_terms:
        found.update({term: forward.new_terms[term] for term in terms if term in forward.new_terms})
    return found
