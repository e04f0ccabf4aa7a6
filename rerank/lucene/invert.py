"""Kernels that convert postings from term order to document order, by counting sort.

posting   one term in one document; `docs` has the document, `freqs` the number of occurrences
"""

from __future__ import annotations

from typing import Any

from rerank.runtime.kernels import kernel


@kernel()
def count_postings(doc_freq: Any, docs: Any, freqs: Any, postings: Any, tokens: Any, collection_freq: Any) -> None:
    """Add the postings and tokens of some terms to those of each document, and count the tokens of each term.

    doc_freq          (n_terms,) int32 postings of each term
    docs, freqs       (n_postings,) int32, term by term
    postings, tokens  (n_docs,) int64, ADDED TO
    collection_freq   (n_terms,) int64, OUT
    """
    i = 0
    for term in range(len(doc_freq)):
        total = 0
        for _ in range(doc_freq[term]):
            postings[docs[i]] += 1
            tokens[docs[i]] += freqs[i]
            total += freqs[i]
            i += 1
        collection_freq[term] = total


@kernel()
def invert_postings(
    by_term: Any, numbers: Any, first: Any, last: Any, first_term: Any, next_row: Any, out_terms: Any, out_freqs: Any
) -> None:
    """Write the postings of some terms in the documents [first, last) in the order of documents.

    Terms ascend within a document, since they are read in ascending order.

    by_term               doc_freq (n_terms,), docs and freqs (n_postings,), int32
    numbers               (n_docs,) int32 number of each document by Lucene's number
    first_term            number of the first term
    next_row              (last - first,) int64, where the next posting of a document goes; CHANGED
    out_terms, out_freqs  (n_postings of the documents,) int32, OUT
    """
    doc_freq, docs, freqs = by_term
    i = 0
    for term in range(len(doc_freq)):
        for _ in range(doc_freq[term]):
            doc = numbers[docs[i]]
            if first <= doc < last:
                row = next_row[doc - first]
                next_row[doc - first] = row + 1
                out_terms[row] = first_term + term
                out_freqs[row] = freqs[i]
            i += 1


@kernel()
def invert_positions(
    by_term: Any, numbers: Any, first: Any, last: Any, positions: Any, next_token: Any, out_positions: Any
) -> None:
    """Write the token positions of some terms in the documents [first, last) in the order of documents.

    by_term, numbers  as for `invert_postings`
    positions         (n_tokens,) int32, term by term
    next_token        (last - first,) int64, where the next position of a document goes; CHANGED
    out_positions     (n_tokens of the documents,) int32, OUT
    """
    _, docs, freqs = by_term
    token = 0
    for i in range(len(docs)):
        doc = numbers[docs[i]]
        if first <= doc < last:
            start = next_token[doc - first]
            for j in range(freqs[i]):
                out_positions[start + j] = positions[token + j]
            next_token[doc - first] = start + freqs[i]
        token += freqs[i]
