"""Matching: the queries of a run with their candidates, and how often each query term occurs in a field of each.

query term  a distinct term of a query; those of a query ascend by number, -1 where no field holds it
candidate   one row: a document that the run retrieved for a query

A query-document pair takes 8 bytes for each distinct query term. Repeated terms are counted once: the time of a pair
grows with the distinct terms of the query and the terms of the document, never with their product.

Statistics of a field that several families use: idf, lengths as Lucene encodes them, vector norms.

BM25 of candidates that were not retrieved from an index: texts that a user passes.

Groups of near-duplicate queries.

    w(t, q)   (1 + ln tf) * ln(N / df), divided by the norm of the query's weights

Two queries are near duplicates where the cosine of their weights is at least NEAR, or their analysed terms are the
same; a group is a component of the graph of near duplicates.

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from functools import cache, cached_property, wraps
from itertools import chain
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.features.recipe import Recipe
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import LINE, array_log, array_log1p, prefetch
from rerank.types.forward import FieldArrays, ForwardIndex, counted_terms
from rerank.types.ids import Floats, Ids, Ints, pointers, query_rows, sort_keys
from rerank.types.retriever import CONTENTS
from rerank.types.vocabulary import find_terms
from rerank.vectors.vectors import log_idf

Documents = Callable[[Ints], Sequence[str | None]]
Result = TypeVar("Result")
_EXACT_LENGTHS = 24  # SmallFloat.NUM_FREE_VALUES: the encoding of lengths below it is the identity
_SCALE = 10_000.0  # Anserini rounds the scores of its hits to four decimals
NEAR = 0.8  # least cosine of near-duplicate queries
_BLOCK = 512  # queries that are compared with all others at once
PREFETCHED = 256  # postings of a document


@dataclass(frozen=True, eq=False)
class Candidates:
    """A batch of queries with their rows: the part of the features' input that depends on no field.

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
    vectors : rerank.vectors.encoder.QueryVectors, optional
        Vectors of the queries and of the documents, for the families that need them.
    history : rerank.history.judged.IndexHistory, optional
        What is learned from judgements, for the families that need it.
    columns : dict from str to ndarray
        Columns that are computed already, by family, see `recipe.columns_of`.

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
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.docs)

    @cached_property
    def history_queries(self) -> Sequence[Any]:
        """The queries as the families need them that are learned from judgements."""
        return [self.history.query(self, query) for query in range(len(self.words))]


def gather_candidates(
    forward: ForwardIndex, query_tokens: Sequence[Sequence[str]], query_ptr: Ints, docs: Ints, scores: Floats
) -> Candidates:
    """Return the candidates of queries."""
    numbers = term_numbers(forward, list(dict.fromkeys(chain.from_iterable(query_tokens))))
    terms_of = [
        sorted((numbers[term], count, term) for term, count in Counter(tokens).items()) for tokens in query_tokens
    ]
    indices = [{term: index for index, (_, _, term) in enumerate(terms)} for terms in terms_of]
    flat = np.array([term[:2] for terms in terms_of for term in terms], dtype=np.int64).reshape(-1, 2)
    tokens = [index[term] for index, of_query in zip(indices, query_tokens, strict=True) for term in of_query]
    return Candidates(
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
    """Return the number of each distinct term, -1 where no document holds it."""
    numbers = find_terms(forward, [term.encode("utf8") for term in terms]).tolist()
    return {term: forward.new_terms.get(term, number) for term, number in zip(terms, numbers, strict=True)}


def cached_by_field(compute: Callable[[FieldArrays], Result]) -> Callable[[FieldArrays], Result]:
    """Return `compute` with a cache, which is shared by threads and holds a result as long as its field exists."""
    results: WeakKeyDictionary[FieldArrays, Result] = WeakKeyDictionary()
    lock = Lock()

    @wraps(compute)
    def cached(field: FieldArrays) -> Result:
        with lock:
            if field not in results:
                results[field] = compute(field)
            return results[field]

    return cached


def postings(field: FieldArrays) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return doc_ptr, terms and freqs of a field for kernels."""
    return read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs)


def inverse_document_frequency(doc_freq: ArrayLike, n_docs_with: int) -> Floats:
    """Return Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is positive where df > 0.

    `BM25Similarity.idf` of Lucene, which rounds it to float32.
    """
    doc_freq = np.asarray(doc_freq, dtype=np.float64)
    return np.where(doc_freq > 0, array_log1p((n_docs_with - doc_freq + 0.5) / (doc_freq + 0.5)), 0.0)


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return lengths as Lucene's one-byte norms store them: exact up to 40, then rounded down to four significant bits.

    Shapes: lengths int32 (n,).

    `SmallFloat.intToByte4` and `SmallFloat.byte4ToInt` of Lucene.
    """
    table = _lucene_length_table()
    return table[np.searchsorted(table, lengths, side="right") - 1]


@cache
def _lucene_length_table() -> NDArray[np.int32]:
    code = np.arange(256 - _EXACT_LENGTHS, dtype=np.int64)
    mantissa = code & 7
    shift = (code >> 3) - 1
    steps = np.where(shift < 0, mantissa, (mantissa | 8) << np.maximum(shift, 0))
    return np.concatenate([np.arange(_EXACT_LENGTHS), _EXACT_LENGTHS + steps]).astype(np.int32)


def field_idf(field: FieldArrays) -> Floats:
    """Return the idf of every term in a field, (n_terms,) float64.

    Batches of texts that no index holds share the document frequencies, which only grow by new terms: the idf is kept
    by their number.
    """
    by_size = _idf_by_size(field.collection or field)
    size = len(field.doc_freq)
    if size not in by_size:
        by_size[size] = inverse_document_frequency(field.doc_freq, field.n_docs_with)
    return by_size[size]


@cached_by_field
def _idf_by_size(field: FieldArrays) -> dict[int, Floats]:
    return {}


@cached_by_field
def vector_norms(field: FieldArrays) -> Floats:
    """Return the Euclidean norm of every document's vector of tf * idf, (n_docs,) float64."""
    norms = np.empty(len(field.lengths), dtype=np.float64)
    arrays = postings(field)
    with read_in_order(*arrays):
        _fill_norms(*arrays, field_idf(field), norms)
    return norms


@kernel()
def _fill_norms(doc_ptr, terms, freqs, idf, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_docs,) with sqrt(sum of (tf * idf)^2) over each document's postings."""
    for doc in range(len(out)):
        total = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            weight = freqs[posting] * idf[terms[posting]]
            total += weight * weight
        out[doc] = np.sqrt(total)


@dataclass(frozen=True, eq=False)
class FieldBlock:
    """One field of a batch of candidates, matched with the queries.

    Parameters
    ----------
    candidates : Candidates
        The queries and their rows.
    field : FieldArrays
        Forward arrays of the field.
    doc_freq, collection_freq : ndarray of shape (n_query_terms,) and dtype int64
        Documents that hold each query term in the field, and its occurrences; 0 for an unknown term.
    lengths : ndarray of shape (n_rows,) and dtype int32
        Tokens of the field (the exact count).
    columns : dict from str to ndarray
        Columns that are computed already, by family, see `recipe.columns_of`.

    """

    candidates: Candidates
    field: FieldArrays
    doc_freq: Ints
    collection_freq: Ints
    lengths: NDArray[np.int32]
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.lengths)

    @cached_property
    def tf_ptr(self) -> Ints:
        """First match of each query in `matches`, (n_queries + 1,) int64."""
        return pointers(np.diff(self.candidates.query_ptr) * np.diff(self.candidates.term_ptr))

    @cached_property
    def matches(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Term frequencies and first tokens, (n_matches,) int32.

        With T terms in query q, those of row r begin at tf_ptr[q] + (r - query_ptr[q]) * T, one for each query term.
        A first token is the number of the document's tokens of terms with a lower number: the term's positions in the
        document begin after so many positions of the document; 0 where tf is 0.
        """
        batch = self.candidates
        tf, first_tokens = np.zeros((2, self.tf_ptr[-1]), dtype=np.int32)
        _fill_matches(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms),
            postings(self.field),
            np.zeros(len(self.field.doc_freq), dtype=np.int32),
            self.tf_ptr,
            tf,
            first_tokens,
        )
        return tf, first_tokens

    def tf_of(self, query: int) -> NDArray[np.int32]:
        """Return the term frequencies of one query, (n_rows, n_terms) int32."""
        shape = [
            int(np.diff(ptr[query : query + 2])[0]) for ptr in (self.candidates.query_ptr, self.candidates.term_ptr)
        ]
        return self.matches[0][self.tf_ptr[query] : self.tf_ptr[query + 1]].reshape(shape)

    @cached_property
    def idf(self) -> Floats:
        """Lucene's idf of each query term, (n_query_terms,) float64; 0 where the field does not hold it."""
        return inverse_document_frequency(self.doc_freq, self.field.n_docs_with)

    @cached_property
    def lucene_lengths(self) -> NDArray[np.int32]:
        """Length of each row's field as Lucene stores it in one byte, (n_rows,) int32 tokens."""
        return lucene_lengths(self.lengths)

    def bm25_saturation(self, recipe: Recipe, longest: float = np.inf) -> Floats:
        """Return k1 * (1 - b + b * dl / avgdl) of each row, (n_rows,): the tf at which half of the idf is reached.

        longest  tokens; longer fields count as if they had so many
        """
        relative = np.minimum(self.lucene_lengths.astype(np.float64), longest) / (self.field.average_length or 1.0)
        return recipe.bm25_k1 * (1.0 - recipe.bm25_b + recipe.bm25_b * relative)


def match(candidates: Candidates, field: FieldArrays) -> FieldBlock:
    """Return the candidates matched with a field."""
    terms = candidates.terms
    source = field.collection or field
    known = np.flatnonzero((terms >= 0) & (terms < len(source.doc_freq)))
    doc_freq, collection_freq = np.zeros((2, len(terms)), dtype=np.int64)
    doc_freq[known] = source.doc_freq[terms[known]]
    collection_freq[known] = source.collection_freq[terms[known]]
    block = FieldBlock(candidates, field, doc_freq, collection_freq, np.asarray(field.lengths[candidates.docs]))
    if field.collection is not None:  # a term of the query's texts that no document of the index holds counts once
        for query in range(len(candidates.words)):
            of_query = slice(*candidates.term_ptr[query : query + 2].tolist())
            held = block.tf_of(query).any(axis=0)
            doc_freq[of_query] = np.maximum(doc_freq[of_query], held)
            collection_freq[of_query] = np.maximum(collection_freq[of_query], held)
    return block


@kernel()
def _fill_matches(queries, postings, slot_of, tf_ptr, tf, first_tokens):  # type: ignore[no-untyped-def]
    """Fill `tf` and `first_tokens` (n_matches,), which are 0 before, see `FieldBlock.matches`.

    queries   query_ptr, docs, term_ptr, terms as in Candidates
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


def bm25_scores(
    forward: ForwardIndex,
    query_terms: Sequence[Sequence[str]],
    query_ptr: Ints,
    docs: Ints,
    field: str,
    recipe: Recipe,
) -> Floats:
    """Return BM25 of documents: the scores of a search whose hits they are.

    Shapes: query_ptr int64 (n_queries + 1,); docs int64 (n_rows,).

    Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in the variant of Lucene's
    BM25Similarity.
    """
    candidates = gather_candidates(forward, query_terms, query_ptr, docs, np.zeros(len(docs)))
    block = match(candidates, forward.fields[field])
    weights = candidates.query_freq.astype(np.float32) * block.idf.astype(np.float32)
    one = np.float32(1)
    k1 = np.float32(recipe.bm25_k1)
    b = np.float32(recipe.bm25_b)
    lengths = block.lucene_lengths.astype(np.float32)
    with np.errstate(divide="ignore", over="ignore"):  # k1 may be 0
        inverse = one / (k1 * ((one - b) + b * lengths / np.float32(block.field.average_length or 1.0)))
    scores = np.zeros(len(docs))
    _add_bm25(candidates.query_ptr, candidates.term_ptr, block.matches[0], weights, inverse, scores)
    exact = scores.astype(np.float32)
    keys: list[Any] = [*sort_keys(forward.doc_ids[docs]), -exact, query_rows(query_ptr)]
    order = np.lexsort(keys)
    spread = (np.floor(exact[order].astype(np.float64) * _SCALE + 0.5) / _SCALE).astype(np.float32)
    _spread_ties(query_ptr, spread)
    scores[order] = spread
    return scores


@kernel()
def _add_bm25(query_ptr, term_ptr, tf, weights, inverse, out):  # type: ignore[no-untyped-def]
    """Add BM25 to `out` (n_rows,) float64: a float32 for each term.

    weights  (n_query_terms,) float32 qtf * idf
    inverse  (n_rows,) float32 1 / K
    """
    match = 0
    one = np.float32(1)
    for query in range(len(query_ptr) - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            for term in range(term_ptr[query], term_ptr[query + 1]):
                if tf[match] > 0:
                    out[row] += weights[term] - weights[term] / (one + np.float32(tf[match]) * inverse[row])
                match += 1


@kernel()
def _spread_ties(query_ptr: Any, scores: Any) -> None:
    """Take 1e-6 more from each further score of a tie of a query, as Anserini's ScoreTiesAdjusterReranker does.

    scores  (n_rows,) float32, descending within each query, IN and OUT
    """
    for query in range(len(query_ptr) - 1):
        ties = np.float32(0)
        for row in range(query_ptr[query] + 1, query_ptr[query + 1]):
            if np.float32(scores[row - 1] - scores[row]) > np.float32(0.0001):
                ties = np.float32(0)
            else:
                ties = np.float32(ties + np.float32(1))
                scores[row] = np.float32(scores[row] - np.float32(np.float32(0.000001) * ties))


def query_groups(forward: ForwardIndex, tokens: Sequence[Sequence[str]]) -> Ints:
    """Return the group of each query, (n_queries,) int64, by its analysed terms: a component of near duplicates.

    All words count alike where the index has no text of whole documents.
    """
    words = sorted(set().union(*tokens))
    word_ptr, query_words, freqs = counted_terms(tokens, {word: number for number, word in enumerate(words)})
    idf = word_idf(forward, words) if CONTENTS in forward.fields else np.ones(len(words))
    weights = unit_weights(freqs, idf[query_words], word_ptr)
    first_of_terms: dict[object, int] = {}
    first = [
        first_of_terms.setdefault(frozenset(Counter(of_query).items()), query) for query, of_query in enumerate(tokens)
    ]
    return near_groups(weights, query_words, word_ptr, first)


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


_field_log_idf = cached_by_field(log_idf)


def term_idf(forward: ForwardIndex) -> Floats:
    """Return ln(N / df) of each term of the index in the whole document, (n_terms,) float64, 0 for an absent one."""
    return _field_log_idf(forward.fields[CONTENTS])


def word_idf(forward: ForwardIndex, words: Sequence[str]) -> Floats:
    """Return the idf of words, (n_words,) float64; a word that no document holds has that of one document."""
    terms = find_terms(forward, [word.encode("utf8") for word in words])
    known = np.flatnonzero(terms >= 0)
    values = np.full(len(terms), float(array_log(max(forward.n_docs, 1))))
    values[known] = term_idf(forward)[terms[known]]
    return values
