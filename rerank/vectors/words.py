"""Word vectors: the singular vectors of the positive pointwise mutual information of words that occur near each other.

    c(t, u)   sum over pairs of occurrences of t and u at a distance of at most WINDOW of WINDOW + 1 - distance
    PPMI      max(0, ln(c(t, u) * sum of c / (c(t) * c(u)))), with c(u) raised to 0.75 (and its sum, too)
    v(t)      row of t in V * sqrt(S), where U S V' is the truncated singular value decomposition

References
----------
Levy, Goldberg & Dagan, TACL 2015.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import array_exp, array_log
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.progress import track
from rerank.runtime.views import read_only_view
from rerank.types.arrays import Ints, pointers
from rerank.types.forward import FieldArrays
from rerank.vectors.lsi import frequent_terms, sampled_documents, term_weights, with_vectors
from rerank.vectors.space import Space
from rerank.vectors.svd import SparseRows, right_singular_vectors

DIMENSIONS = 200
WINDOW = 10  # tokens
SMOOTHING = 0.75  # exponent of a context's count
LEAST_DOCUMENTS = 3  # of a word with a vector
MOST_WORDS = 1 << 15  # with a vector: those that most documents hold
MOST_TOKENS = 1 << 22  # that are learned from; documents of more are drawn at random
MOST_PAIRS = 1 << 22  # of words with a value; of more, those that occur most
_DOCUMENTS = 1 << 10  # counted at a time
_FIRST_SLOTS = 1 << 20
_FREE = -1


def learn_words(field: FieldArrays, dimensions: int = DIMENSIONS, threads: int | None = None) -> Space:
    """Return the space of word vectors of a field that is indexed with positions.

    Of the documents, some with about 4 million tokens in all are learned from; pairs of words are counted in a table of
    12 bytes for each of two to four times their number.
    """
    rows = frequent_terms(field, LEAST_DOCUMENTS, MOST_WORDS)
    n_words = int(rows.max(initial=-1)) + 1
    keys, counts = _pair_counts(field, rows, n_words)
    vectors, values = right_singular_vectors(_mutual_information(keys, counts, n_words), dimensions, threads)
    vectors *= np.sqrt(values).astype(np.float32)
    return Space(with_vectors(rows, vectors), term_weights(field), vectors)


def _pair_counts(field: FieldArrays, rows: NDArray[np.int32], n_words: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return the pairs of words t < u that occur near each other, as t * n_words + u ascending, and their counts."""
    if field.positions is None:
        raise ValueError(f"{field.name}: no positions")
    most = max(int(MOST_TOKENS / max(field.average_length, 1.0)), 1)
    docs = sampled_documents(len(field.lengths), most)
    arrays = (field.doc_ptr, field.terms, field.freqs, field.position_ptr, field.positions)
    postings = tuple(read_only_view(array) for array in arrays)
    keys, counts, n_used = np.full(_FIRST_SLOTS, _FREE, np.int64), np.zeros(_FIRST_SLOTS, np.int32), 0
    for first in track(range(0, len(docs), _DOCUMENTS), "pairs of words"):
        batch = docs[first : first + _DOCUMENTS]
        done = 0
        while done < len(batch):
            counted, n_used = _count_pairs(postings, batch[done:], rows, n_words, keys, counts, n_used)
            done += counted
            if done < len(batch):
                keys, counts = larger_table(keys, counts, int(field.lengths[batch[done]]))
    used = np.flatnonzero(keys != _FREE)
    used = used[np.argsort(keys[used])]
    return keys[used], counts[used]


def larger_table(keys: Ints, counts: NDArray[np.int32], length: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return a hash table of at least twice the size, which a document of this length fits in beside the others."""
    size = 2 * len(keys)
    while size < 4 * length * WINDOW:
        size *= 2
    new_keys, new_counts = np.full(size, _FREE, np.int64), np.zeros(size, np.int32)
    _insert(keys, counts, new_keys, new_counts)
    return new_keys, new_counts


def _mutual_information(keys: Ints, counts: NDArray[np.int32], n_words: int) -> SparseRows:
    """Return the matrix of the positive pointwise mutual information: rows are contexts, columns are words."""
    first, second = np.divmod(keys, max(n_words, 1))
    total = np.bincount(first, counts, n_words) + np.bincount(second, counts, n_words)
    if len(counts) > MOST_PAIRS:
        kept = np.flatnonzero(counts > np.partition(counts, len(counts) - MOST_PAIRS - 1)[len(counts) - MOST_PAIRS - 1])
        first, second, counts = first[kept], second[kept], counts[kept]
    word, context = np.concatenate([first, second]), np.concatenate([second, first])
    both = np.concatenate([counts, counts]).astype(np.float64)
    smooth = array_exp(SMOOTHING * array_log(total))
    values = array_log(both * smooth.sum() / (total[word] * smooth[context]))
    positive = np.flatnonzero(values > 0.0)
    order = positive[np.lexsort((word[positive], context[positive]))]
    ptr = pointers(np.bincount(context[order], minlength=n_words))
    return SparseRows(ptr, word[order].astype(np.int32), values[order].astype(np.float32), n_words)


@kernel()
def _count_pairs(postings, docs, rows, n_words, keys, counts, n_used):  # type: ignore[no-untyped-def]
    """Add the pairs of documents to the hash table, until one does not fit; return how many did, and the used slots."""
    doc_ptr, doc_terms, freqs, position_ptr, positions = postings
    for index in range(len(docs)):
        doc, n_tokens = docs[index], 0
        length = position_ptr[doc + 1] - position_ptr[doc]
        if 2 * (n_used + length * WINDOW) > len(keys):
            return index, n_used
        at, token_row = np.empty(length, np.int64), np.empty(length, np.int64)
        position = position_ptr[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            for _ in range(freqs[posting]):
                if rows[doc_terms[posting]] >= 0:
                    at[n_tokens], token_row[n_tokens] = positions[position], rows[doc_terms[posting]]
                    n_tokens += 1
                position += 1
        order = np.argsort(at[:n_tokens], kind="mergesort")
        for left in range(n_tokens):
            for right in range(left + 1, n_tokens):
                distance = at[order[right]] - at[order[left]]
                if distance > WINDOW:
                    break
                a, b = token_row[order[left]], token_row[order[right]]
                if a != b:
                    n_used += _add(keys, counts, min(a, b) * n_words + max(a, b), WINDOW + 1 - distance)
    return len(docs), n_used


@kernel()
def _insert(keys, counts, out_keys, out_counts):  # type: ignore[no-untyped-def]
    """Fill an empty hash table with the pairs of another."""
    for slot in range(len(keys)):
        if keys[slot] >= 0:
            _add(out_keys, out_counts, keys[slot], counts[slot])


@helper()
def _add(keys, counts, key, count):  # type: ignore[no-untyped-def]
    """Add to the count of a key in a hash table with open addressing; return whether the key is new."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while keys[slot] != key:
        if keys[slot] < 0:
            keys[slot], counts[slot] = key, count
            return 1
        slot = (slot + 1) & mask
    counts[slot] += count
    return 0
