"""Kernels that convert postings from term order to document order, by counting sort.

posting   one term in one document; `docs` has the document, `freqs` the number of occurrences
"""

from __future__ import annotations

from typing import Any

from rerank.runtime.kernels import kernel


@kernel()
def count_postings(docs: Any, freqs: Any, postings: Any, tokens: Any) -> None:
    """Count the postings and tokens of each document.

    docs, freqs       (n_postings,) int32, term by term
    postings, tokens  (n_docs,) int64, OUT, 0 before
    """
    for i in range(len(docs)):
        postings[docs[i]] += 1
        tokens[docs[i]] += freqs[i]


@kernel()
def invert_postings(
    doc_freq: Any, docs: Any, freqs: Any, next_row: Any, out_terms: Any, out_freqs: Any, collection_freq: Any
) -> None:
    """Write postings in document order; terms ascend within a document, since they are read in ascending order.

    doc_freq              (n_terms,) int32 postings of each term
    next_row              (n_docs,) int64, where the next posting of a document goes; CHANGED
    out_terms, out_freqs  (n_postings,) int32, OUT
    collection_freq       (n_terms,) int64, OUT
    """
    i = 0
    for term in range(len(doc_freq)):
        total = 0
        for _ in range(doc_freq[term]):
            row = next_row[docs[i]]
            next_row[docs[i]] = row + 1
            out_terms[row] = term
            out_freqs[row] = freqs[i]
            total += freqs[i]
            i += 1
        collection_freq[term] = total


@kernel()
def invert_positions(docs: Any, freqs: Any, positions: Any, next_token: Any, out_positions: Any) -> None:
    """Write token positions in document order, posting by posting.

    positions      (n_tokens,) int32, term by term
    next_token     (n_docs,) int64, where the next position of a document goes; CHANGED
    out_positions  (n_tokens,) int32, OUT
    """
    first = 0
    for i in range(len(docs)):
        start = next_token[docs[i]]
        for j in range(freqs[i]):
            out_positions[start + j] = positions[first + j]
        next_token[docs[i]] = start + freqs[i]
        first += freqs[i]
