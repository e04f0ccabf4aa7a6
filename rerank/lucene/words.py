"""Kernels: texts are cut into words, words are looked up in a table, and tokens are put in order as postings.

word    a run of bytes above 32, that is without ASCII white space and controls; in blocks: eight bytes in a uint64, the
        last one filled up with zeros
entry   number of a word in the table; it has the word's tokens as the analyser makes them of the word alone
info    of an entry: number of blocks | kind << 8 | span << 16 | term << 32; the term is that of a word that is ONE
        token; words of other kinds than NO_TOKEN and ONE have MANY tokens, which are in arrays
offset  position of a token, counted from the beginning of its word
span    number of positions of a word or text, those of dropped stop words included
key     term number << 32 | position of a token in its text; the keys of a text ascend

The keys of text t begin at key_start[t], at first (text_ptr[t] + t + 1) // 2: n bytes have at most (n + 1) // 2 tokens,
or else the text is not cut into words.
"""

from __future__ import annotations

import numpy as np

from rerank.runtime.kernels import helper, kernel

MOST_BLOCKS = 16  # of a word in the table: Lucene's tokenizer cuts at 255 characters, wherever the word begins
NO_TOKEN, ONE, MANY = range(3)
TOKENS, SPAN, UNKNOWN, BLOCKS, WHOLE = range(5)  # columns of `counts`
_SEED, _FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_LOWEST, _HIGHEST = 0x0101010101010101, 0x8080808080808080  # bits of each byte
_SPACES = 33 * _LOWEST  # the first byte that is no space, eight times
_BYTE_OF = 0x0001020304050607  # times 1 << 8 * k has k in its highest byte
_RUN = 256  # words that are looked up together: the processor then waits for many places of the table at once
_MOST_SPAN = 0xFFFF  # of a word whose info has all of it


@kernel()
def find_words(text, text_ptr, first, last, table, tokens, n_known, key_start, keys, counts, used):  # type: ignore[no-untyped-def]
    """Look up the words of the texts from `first` to before `last`, and sort their tokens.

    text       uint64, the texts in UTF-8, one after another, without NUL, and 16 zero bytes or more
    text_ptr   (n_texts + 1,) int64, in bytes
    table      slots (a power of two, 4) uint64 (first and second block, info and number of the slot's entry; info is 0
               if the slot is free), block_ptr (n_entries + 1,) int64, blocks (n_blocks,) uint64
    tokens     token_ptr (n_entries + 1,) int64, terms and offsets (n_tokens,) int32, spans (n_entries,) int32
    n_known    number of terms of the index; greater term numbers are new terms
    key_start  (n_texts,) int64
    keys       int64, OUT
    counts     (n_texts, 5) int64, OUT: tokens, span, unknown words and their blocks, 1 for a text not cut into words
    used       (n_new_terms,) uint8, OUT: 1 for the new terms of the words
    """
    slots, block_ptr, words = table
    token_ptr, terms, offsets, spans = tokens
    blocks, codes, ends = (
        np.empty(_RUN * (MOST_BLOCKS + 1), np.uint64),
        np.empty(_RUN, np.int64),
        np.empty(_RUN, np.int64),
    )
    counters, spare = np.empty(256, np.int64), np.empty(0, np.int64)
    mask = np.int64(len(slots) - 1)
    for number in range(first, last):
        end, start = text_ptr[number + 1], text_ptr[number]
        first_key, capacity = key_start[number], (end - start + 1) // 2
        n_keys, position = np.int64(0), np.int64(0)
        n_unknown, n_unknown_blocks, whole = 0, 0, 0
        while start < end and whole == 0:
            # _next_word by hand: a helper that takes arrays costs as much again, as it counts references
            n_words, n_blocks = 0, 0
            while start < end and n_words < _RUN:
                code, first_block, length = np.uint64(_SEED), n_blocks, 8
                while length == 8 and start < end and n_blocks - first_block <= MOST_BLOCKS:
                    shift = np.uint64((start & 7) << 3)
                    block = text[start >> 3] >> shift | (
                        text[(start >> 3) + 1] << (np.uint64(63) - shift)
                    ) << np.uint64(1)
                    length = min(_length(block), end - start)
                    if length < 8:
                        block &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
                    if length > 0:
                        blocks[n_blocks] = block
                        n_blocks += 1
                        code = _mixed(code, block)
                        start += length
                start += 1 if length < 8 else 0  # the space that ends the word
                if n_blocks > first_block:
                    codes[n_words], ends[n_words] = np.int64(code) & mask, n_blocks
                    n_words += 1
                if n_blocks - first_block > MOST_BLOCKS:
                    whole = 1
                    break
            begin_block = 0
            for word in range(n_words):
                if whole == 1 or n_keys == capacity:
                    whole = 1
                    break
                slot, base, n_blocks = codes[word], begin_block, ends[word] - begin_block
                begin_block = ends[word]
                while slots[slot, 2] != 0:
                    if slots[slot, 0] == blocks[base] and np.int64(slots[slot, 2]) & 255 == n_blocks:
                        if n_blocks == 1 or (slots[slot, 1] == blocks[base + 1] and n_blocks == 2):
                            break
                        index, place = 1, block_ptr[np.int64(slots[slot, 3])]
                        while index < n_blocks and words[place + index] == blocks[base + index]:
                            index += 1
                        if index == n_blocks:
                            break
                    slot = (slot + 1) & mask
                info = np.int64(slots[slot, 2])
                if info == 0:
                    n_unknown += 1
                    n_unknown_blocks += n_blocks
                    continue
                kind, term = (info >> 8) & 255, info >> 32
                if kind != MANY:  # without a branch for no token, which would be mispredicted
                    keys[first_key + n_keys] = term << 32 | position
                    n_keys += kind
                    position += (info >> 16) & _MOST_SPAN
                    if term >= n_known:
                        used[term - n_known] = 1
                    continue
                entry = np.int64(slots[slot, 3])
                begin, stop = token_ptr[entry], token_ptr[entry + 1]
                if n_keys + stop - begin > capacity:
                    whole = 1
                    break
                for token in range(begin, stop):
                    keys[first_key + n_keys] = np.int64(terms[token]) << 32 | (position + offsets[token])
                    n_keys += 1
                    if terms[token] >= n_known:
                        used[terms[token] - n_known] = 1
                position += spans[entry]
        counts[number, TOKENS], counts[number, SPAN] = n_keys, position
        counts[number, UNKNOWN], counts[number, BLOCKS], counts[number, WHOLE] = n_unknown, n_unknown_blocks, whole
        if whole == 0 and n_unknown == 0:
            if len(spare) < n_keys:
                spare = np.empty(2 * n_keys, np.int64)
            _sort(keys[first_key : first_key + n_keys], spare, counters)


@kernel()
def add_words(text, text_ptr, counts, table, n_entries):  # type: ignore[no-untyped-def]
    """Add the unknown words of the texts that are cut into words, and return the new number of entries.

    table      as in `find_words`, with capacity for all of them; CHANGED
    n_entries  number of entries
    """
    slots, block_ptr, words = table
    blocks = np.empty(MOST_BLOCKS + 1, np.uint64)
    for number in range(len(counts)):
        if counts[number, UNKNOWN] == 0 or counts[number, WHOLE] > 0:
            continue
        start = text_ptr[number]
        while True:
            start, n_blocks, code = _next_word(text, start, text_ptr[number + 1], blocks)
            if n_blocks == 0:
                break
            slot = _find(blocks, n_blocks, code, table)
            if slots[slot, 2] == 0:
                block_ptr[n_entries + 1] = block_ptr[n_entries] + n_blocks
                for block in range(n_blocks):
                    words[block_ptr[n_entries] + block] = blocks[block]
                _take_slot(slots, slot, n_entries, block_ptr, words)
                n_entries += 1
    return n_entries


@kernel()
def fill_slots(table, n_entries):  # type: ignore[no-untyped-def]
    """Fill the slots of a table, all of them free, with its entries."""
    slots, block_ptr, words = table
    for entry in range(n_entries):
        code = np.uint64(_SEED)
        for block in range(block_ptr[entry], block_ptr[entry + 1]):
            code = _mixed(code, words[block])
        slot = np.int64(code) & (len(slots) - 1)
        while slots[slot, 2] != 0:
            slot = (slot + 1) & (len(slots) - 1)
        _take_slot(slots, slot, entry, block_ptr, words)


@kernel()
def fill_info(table, tokens):  # type: ignore[no-untyped-def]
    """Fill the info of all entries that have a slot."""
    slots, block_ptr, _ = table
    token_ptr, terms, offsets, spans = tokens
    for slot in range(len(slots)):
        entry = np.int64(slots[slot, 3])
        if slots[slot, 2] == 0:
            continue
        info = block_ptr[entry + 1] - block_ptr[entry]
        begin, n_tokens = token_ptr[entry], token_ptr[entry + 1] - token_ptr[entry]
        simple = n_tokens == 0 or (n_tokens == 1 and offsets[begin] == 0)
        if simple and spans[entry] <= _MOST_SPAN:
            info |= n_tokens << 8 | np.int64(spans[entry]) << 16
            if n_tokens == 1:
                info |= np.int64(terms[begin]) << 32
        else:
            info |= MANY << 8
        slots[slot, 2] = info


@kernel()
def number_new_terms(key_start, counts, n_known, new_terms, keys):  # type: ignore[no-untyped-def]
    """Replace the numbers of new terms, and put the keys in order again.

    new_terms  (n_new_terms,) int64 number of each new term in this batch
    """
    spare, counters = np.empty(0, np.int64), np.empty(256, np.int64)
    for number in range(len(key_start)):
        last = key_start[number] + counts[number, TOKENS]
        first = last
        while first > key_start[number] and keys[first - 1] >> 32 >= n_known:
            first -= 1
            keys[first] = new_terms[(keys[first] >> 32) - n_known] << 32 | (keys[first] & 0xFFFFFFFF)
        if last - first > len(spare):
            spare = np.empty(2 * (last - first), np.int64)
        _sort(keys[first:last], spare, counters)


@kernel()
def sort_keys(key_ptr, keys):  # type: ignore[no-untyped-def]
    """Sort the keys of texts, (n_texts + 1,) `key_ptr`, which are in the order of their positions."""
    spare, counters = np.empty(len(keys), np.int64), np.empty(256, np.int64)
    for number in range(len(key_ptr) - 1):
        _sort(keys[key_ptr[number] : key_ptr[number + 1]], spare, counters)


@kernel()
def fill_postings(first, last, parts, texts, position_ptr, out):  # type: ignore[no-untyped-def]
    """Fill terms, freqs and positions of the documents from `first` to before `last`.

    parts         part_ptr (n_docs + 1,) int64 and texts (n_parts,) int64: a document is these texts, one after another
    texts         key_start, keys and counts as in `find_words`
    position_ptr  (n_docs + 1,) int64
    out           terms, freqs, positions, all (n_tokens,) int32, and n_postings (n_docs,) int64; the postings of a
                  document begin at position_ptr, in ascending order of the terms
    """
    (part_ptr, text_of_part), (key_start, keys, counts) = parts, texts
    out_terms, out_freqs, out_positions, n_postings = out
    most = 0
    for doc in range(first, last):
        most = max(most, position_ptr[doc + 1] - position_ptr[doc])
    merged, spare = np.empty(most, np.int64), np.empty(most, np.int64)
    for doc in range(first, last):
        start, n_keys = position_ptr[doc], position_ptr[doc + 1] - position_ptr[doc]
        of_doc = merged[:n_keys]
        if part_ptr[doc + 1] - part_ptr[doc] == 1:
            number = text_of_part[part_ptr[doc]]
            of_doc = keys[key_start[number] : key_start[number] + n_keys]
        else:
            n_merged, span = 0, 0
            for part in range(part_ptr[doc], part_ptr[doc + 1]):
                number = text_of_part[part]
                more = keys[key_start[number] : key_start[number] + counts[number, TOKENS]]
                _merge(merged[:n_merged], more, span, spare)
                n_merged += len(more)
                span += counts[number, SPAN]
                merged, spare = spare, merged
            of_doc = merged[:n_keys]
        posting, before = start - 1, np.int64(-1)
        for index in range(n_keys):
            term = of_doc[index] >> 32
            if term != before:
                posting, before = posting + 1, term
                out_terms[posting], out_freqs[posting] = term, 0
            out_freqs[posting] += 1
            out_positions[start + index] = of_doc[index] & 0xFFFFFFFF
        n_postings[doc] = posting + 1 - start


@kernel()
def join_postings(position_ptr, doc_ptr, terms, freqs, out_terms, out_freqs):  # type: ignore[no-untyped-def]
    """Copy the postings of documents from where `fill_postings` put them to one after another."""
    for doc in range(len(doc_ptr) - 1):
        for number in range(doc_ptr[doc + 1] - doc_ptr[doc]):
            out_terms[doc_ptr[doc] + number] = terms[position_ptr[doc] + number]
            out_freqs[doc_ptr[doc] + number] = freqs[position_ptr[doc] + number]


@helper()
def _next_word(text, start, end, blocks):  # type: ignore[no-untyped-def]
    """Put the next word before `end` in `blocks`; return where to go on, the number of its blocks, and its hash.

    The number is 0 if there is no word, and greater than MOST_BLOCKS if the word is longer.
    """
    while start < end:
        code, n_blocks, length = np.uint64(_SEED), 0, 8
        while length == 8 and start < end and n_blocks <= MOST_BLOCKS:
            shift = np.uint64((start & 7) << 3)
            block = text[start >> 3] >> shift | (text[(start >> 3) + 1] << (np.uint64(63) - shift)) << np.uint64(1)
            length = min(_length(block), end - start)
            if length < 8:
                block &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
            if length > 0:
                blocks[n_blocks] = block
                n_blocks += 1
                code = _mixed(code, block)
                start += length
        start += 1 if length < 8 else 0  # the space that ends the word
        if n_blocks > 0:
            return start, n_blocks, code
    return start, 0, np.uint64(_SEED)


@helper()
def _length(block):  # type: ignore[no-untyped-def]
    """Return the number of bytes of a block before the first space, 8 if there is none.

    Subtracting 33 from a lesser byte sets its highest bit, which was not set before: so the first space is found in
    all eight bytes at once.
    """
    spaces = (block - np.uint64(_SPACES)) & ~block & np.uint64(_HIGHEST)
    lowest = (spaces & (~spaces + np.uint64(1))) >> np.uint64(7)
    return np.int64((lowest * np.uint64(_BYTE_OF)) >> np.uint64(56)) if spaces > np.uint64(0) else np.int64(8)


@helper()
def _mixed(code, block):  # type: ignore[no-untyped-def]
    """Return the hash of a word that goes on with a block."""
    code = (code ^ block) * np.uint64(_FACTOR)
    return code ^ (code >> np.uint64(32))


@helper()
def _find(blocks, n_blocks, code, table):  # type: ignore[no-untyped-def]
    """Return the slot of a word, or the free one that it would take."""
    slots, block_ptr, words = table
    mask = len(slots) - 1
    slot = np.int64(code) & mask
    while slots[slot, 2] != 0:
        if np.int64(slots[slot, 2]) & 255 == n_blocks:
            index, place = 0, block_ptr[np.int64(slots[slot, 3])]
            while index < n_blocks and words[place + index] == blocks[index]:
                index += 1
            if index == n_blocks:
                break
        slot = (slot + 1) & mask
    return slot


@helper()
def _take_slot(slots, slot, entry, block_ptr, words):  # type: ignore[no-untyped-def]
    """Put an entry in a free slot; its tokens are not known yet."""
    first, n_blocks = block_ptr[entry], block_ptr[entry + 1] - block_ptr[entry]
    slots[slot, 0], slots[slot, 2], slots[slot, 3] = words[first], n_blocks, entry
    slots[slot, 1] = words[first + 1] if n_blocks > 1 else np.uint64(0)


@helper()
def _sort(keys, spare, counters):  # type: ignore[no-untyped-def]
    """Sort keys by term, in place and stable: by insertion if there are few, otherwise by radix, from the lowest byte.

    spare     (at least n_keys,) int64
    counters  (256,) int64
    """
    if len(keys) < 24:
        for index in range(1, len(keys)):
            key, place = keys[index], index
            while place > 0 and keys[place - 1] > key:
                keys[place] = keys[place - 1]
                place -= 1
            keys[place] = key
        return
    most = np.int64(0)
    for index in range(len(keys)):
        most = max(most, keys[index])
    source, target, shift = keys, spare[: len(keys)], 32
    while most >> shift > 0:
        counters[:] = 0
        for index in range(len(source)):
            counters[(source[index] >> shift) & 255] += 1
        total = 0
        for digit in range(256):
            total, counters[digit] = total + counters[digit], total
        for index in range(len(source)):
            digit = (source[index] >> shift) & 255
            target[counters[digit]] = source[index]
            counters[digit] += 1
        source, target = target, source
        shift += 8
    if ((shift - 32) >> 3) & 1:  # the result is in `spare`
        target[:] = source


@helper()
def _merge(keys, more, span, out):  # type: ignore[no-untyped-def]
    """Merge the keys of a text and those of the text after it, whose positions begin at `span`."""
    left, right = 0, 0
    for index in range(len(keys) + len(more)):
        if right == len(more) or (left < len(keys) and keys[left] < more[right] + span):
            out[index] = keys[left]
            left += 1
        else:
            out[index] = more[right] + span
            right += 1
