"""Kernels: texts are cut into words, words are looked up in a table, and tokens are put in order as postings.

word    a run of bytes without ASCII white space
entry   number of a word in the table; it has the word's tokens as the analyser makes them of the word alone
offset  position of a token, counted from the beginning of its word (of its text, where a text is one entry)
span    number of positions of a word or text, those of dropped stop words included

The entries of text t begin at (text_ptr[t] + t + 1) // 2 of an array, as n bytes hold at most (n + 1) // 2 words.
"""

from __future__ import annotations

import numpy as np

from rerank.runtime.kernels import helper, kernel

MOST_BYTES = 128  # of a word in the table: Lucene's tokenizer cuts at 255 characters, wherever the word begins
FREE = -1  # a slot without an entry


@kernel()
def find_words(text, text_ptr, first, last, table, tokens, n_known, entries, counts, used):  # type: ignore[no-untyped-def]
    """Look up the words of the texts from `first` to before `last`.

    text      (n_bytes,) uint8, the texts in UTF-8, one after another
    text_ptr  (n_texts + 1,) int64
    table     slots (a power of two,) int32, hashes (n_entries,) uint64, byte_ptr (n_entries + 1,) int64, bytes uint8
    tokens    token_ptr (n_entries + 1,) int64, terms (n_tokens,) int32, spans (n_entries,) int32
    n_known   number of terms of the index; greater term numbers are new terms
    entries   int32, OUT: entries of each text's words
    counts    (n_texts, 6) int64, OUT: words, tokens, span, unknown words, their bytes, words longer than MOST_BYTES
    used      (n_new_terms,) uint8, OUT: 1 for the new terms of the words
    """
    token_ptr, terms, spans = tokens
    for number in range(first, last):
        counts[number] = 0
        place = (text_ptr[number] + number + 1) // 2
        start, end = _next_word(text, text_ptr[number], text_ptr[number + 1])
        while start < end:
            entry = FREE
            if end - start > MOST_BYTES:
                counts[number, 5] += 1
            else:
                entry = _find(text, start, end, table)[0]
            if entry == FREE:
                counts[number, 3] += 1
                counts[number, 4] += end - start
            else:
                entries[place + counts[number, 0]] = entry
                counts[number, 0] += 1
                counts[number, 1] += token_ptr[entry + 1] - token_ptr[entry]
                counts[number, 2] += spans[entry]
                for token in range(token_ptr[entry], token_ptr[entry + 1]):
                    if terms[token] >= n_known:
                        used[terms[token] - n_known] = 1
            start, end = _next_word(text, end, text_ptr[number + 1])


@kernel()
def add_words(text, text_ptr, counts, table, n_entries):  # type: ignore[no-untyped-def]
    """Add the unknown words of texts without long words to the table, and return the new number of entries.

    table      as in `find_words`, with room for all of them; CHANGED
    n_entries  number of entries
    """
    slots, hashes, byte_ptr, words = table
    for number in range(len(counts)):
        if counts[number, 3] == 0 or counts[number, 5] > 0:
            continue
        start, end = _next_word(text, text_ptr[number], text_ptr[number + 1])
        while start < end:
            entry, slot, code = _find(text, start, end, table)
            if entry == FREE:
                slots[slot], hashes[n_entries] = n_entries, code
                byte_ptr[n_entries + 1] = byte_ptr[n_entries] + end - start
                words[byte_ptr[n_entries] : byte_ptr[n_entries + 1]] = text[start:end]
                n_entries += 1
            start, end = _next_word(text, end, text_ptr[number + 1])
    return n_entries


@kernel()
def fill_slots(hashes, n_entries, slots):  # type: ignore[no-untyped-def]
    """Fill the slots of a table, all of them free, with its entries."""
    for entry in range(n_entries):
        slot = np.int64(hashes[entry] & np.uint64(len(slots) - 1))
        while slots[slot] != FREE:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = entry


@kernel()
def fill_postings(first, last, parts, texts, tokens, n_known, new_terms, position_ptr, out):  # type: ignore[no-untyped-def]
    """Fill terms, freqs and positions of the documents from `first` to before `last`.

    parts         part_ptr (n_docs + 1,) int64 and texts (n_parts,) int64: a document is these texts, one after another
    texts         text_ptr, entries and counts as in `find_words`
    tokens        token_ptr, terms, offsets (n_tokens,) int32, spans
    new_terms     (n_new_terms,) int32 numbers of the new terms in this batch
    position_ptr  (n_docs + 1,) int64
    out           terms, freqs, positions, all (n_tokens,) int32, and n_postings (n_docs,) int64; the postings of a
                  document begin at position_ptr, in ascending order of the terms
    """
    (part_ptr, text_of_part), (text_ptr, entries, counts) = parts, texts
    token_ptr, terms, offsets, spans = tokens
    out_terms, out_freqs, out_positions, n_postings = out
    most = 0
    for doc in range(first, last):
        most = max(most, position_ptr[doc + 1] - position_ptr[doc])
    keys = np.empty(most, np.int64)
    for doc in range(first, last):
        n_keys, position = 0, 0
        for part in range(part_ptr[doc], part_ptr[doc + 1]):
            number = text_of_part[part]
            place = (text_ptr[number] + number + 1) // 2
            for index in range(place, place + counts[number, 0]):
                entry = entries[index]
                for token in range(token_ptr[entry], token_ptr[entry + 1]):
                    term = terms[token] if terms[token] < n_known else new_terms[terms[token] - n_known]
                    keys[n_keys] = np.int64(term) << 32 | (position + offsets[token])
                    n_keys += 1
                position += spans[entry]
        keys[:n_keys].sort()
        start = position_ptr[doc]
        posting, before = start - 1, np.int64(-1)
        for index in range(n_keys):
            term = keys[index] >> 32
            if term != before:
                posting, before = posting + 1, term
                out_terms[posting], out_freqs[posting] = term, 0
            out_freqs[posting] += 1
            out_positions[start + index] = keys[index] & 0xFFFFFFFF
        n_postings[doc] = posting + 1 - start


@kernel()
def join_postings(position_ptr, doc_ptr, terms, freqs, out_terms, out_freqs):  # type: ignore[no-untyped-def]
    """Copy the postings of documents from where `fill_postings` put them to one after another."""
    for doc in range(len(doc_ptr) - 1):
        for number in range(doc_ptr[doc + 1] - doc_ptr[doc]):
            out_terms[doc_ptr[doc] + number] = terms[position_ptr[doc] + number]
            out_freqs[doc_ptr[doc] + number] = freqs[position_ptr[doc] + number]


@helper()
def _next_word(text, start, end):  # type: ignore[no-untyped-def]
    """Return first and last byte (excluded) of the next word before `end`; both are `end` if there is none."""
    while start < end and (text[start] == 32 or 9 <= text[start] <= 13):
        start += 1
    stop = start
    while stop < end and not (text[stop] == 32 or 9 <= text[stop] <= 13):
        stop += 1
    return start, stop


@helper()
def _find(text, start, end, table):  # type: ignore[no-untyped-def]
    """Return the entry of a word, FREE if it has none; its slot or the one that it would take; and its hash (FNV-1a)."""
    slots, hashes, byte_ptr, words = table
    code = np.uint64(0xCBF29CE484222325)
    for index in range(start, end):
        code = (code ^ np.uint64(text[index])) * np.uint64(0x100000001B3)
    code ^= code >> np.uint64(32)
    slot = np.int64(code & np.uint64(len(slots) - 1))
    while slots[slot] != FREE:
        entry = slots[slot]
        if hashes[entry] == code and byte_ptr[entry + 1] - byte_ptr[entry] == end - start:
            shift, same = byte_ptr[entry] - start, True
            for index in range(start, end):
                if words[index + shift] != text[index]:
                    same = False
                    break
            if same:
                return entry, slot, code
        slot = (slot + 1) & (len(slots) - 1)
    return np.int32(FREE), slot, code
