"""Forward arrays of texts that no index holds, analysed as those of an index, with the statistics of that index.

Where the analyser treats the words between white space one by one, the tokens of a word are kept: Java is asked only
for words that are new. Where it does not (Chinese, Japanese, Korean), Java analyses every text whole.

Kernels: texts are cut into words, words are looked up in a table, and tokens are put in order as postings.

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

Documents that users pass as texts, as the fields and numbers of an index.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import pairwise
from numbers import Real
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.lucene.documents import ID_KEYS, field_order, is_text, joined
from rerank.lucene.jvm import ask, ask_json
from rerank.runtime.kernels import helper, in_threads, kernel, kernel_threads, row_parts
from rerank.types import Floats, Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex, find_terms
from rerank.types.frames import number_of, plain_value
from rerank.types.ids import Ids, is_unicode
from rerank.types.retriever import CONTENTS

MOST_WORDS = 1 << 18  # that are kept between two calls, and the same number of new terms
_FEW_BYTES = 1 << 21  # as with few rows, waking another thread costs more time than it saves
_REQUEST_CHARACTERS = 1 << 24  # of text in one call of Java
_FEW_CHARACTERS = 1 << 12  # starting a thread in Java takes longer
_SLOTS, _NEW_TERMS = 1 << 12, 1 << 10
MOST_BLOCKS = 16  # of a word in the table: Lucene's tokenizer cuts at 255 characters, wherever the word begins
NO_TOKEN, ONE, MANY = range(3)
TOKENS, SPAN, UNKNOWN, BLOCKS, WHOLE = range(5)  # columns of `counts`
_SEED, _FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_LOWEST, _HIGHEST = 0x0101010101010101, 0x8080808080808080  # bits of each byte
_SPACES = 33 * _LOWEST  # the first byte that is no space, eight times
_BYTE_OF = 0x0001020304050607  # times 1 << 8 * k has k in its highest byte
_RUN = 256  # words that are looked up together: the processor then waits for many places of the table at once
_MOST_SPAN = 0xFFFF  # of a word whose info has all of it
MOST_CHARACTERS = 1 << 24  # of one text


class UnusableTextError(ValueError):
    """A text has a lone surrogate or NUL."""


class TextDocument(NamedTuple):
    """A document that no index holds: its text fields, and those that make up its `contents`.

    Parameters
    ----------
    texts : mapping from str to str
        Texts by field; `contents` only if the document has its own.
    parts : sequence of str
        Fields whose texts make up `contents` where the document has none of its own, in order.

    """

    texts: Mapping[str, str]
    parts: Sequence[str]

    @property
    def contents(self) -> str:
        """The whole document: its own `contents`, otherwise its texts joined as the index build joins them."""
        own = self.texts.get(CONTENTS)
        return joined(self.texts[name] for name in self.parts) if own is None else own


@dataclass(frozen=True, eq=False)
class TextIndex(ForwardIndex):
    """Forward arrays of texts; a document id may be that of several texts, each for another query.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,) and dtype int64
        Document number of each row of the run whose features are computed.

    """

    rows: Ints = dataclass_field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def doc_numbers(self, doc_ids: Ids) -> Ints:
        """Return the document number of each row of the run; refuse the ids of other rows."""
        if not np.array_equal(doc_ids, self.doc_ids[self.rows]):
            raise ValueError("expected the rows of the run that the texts are of")
        return self.rows


class TextAnalyser:
    """Makes forward arrays of texts; keeps words, terms and statistics from one call to the next.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index.
    language : str
        Code of the index's analyser.

    """

    def __init__(self, forward: ForwardIndex, language: str) -> None:
        self._forward, self._language = forward, language
        self._wordwise = bool(ask_json("wordwise", at_once=True, language=language)["wordwise"])
        self._lock = Lock()
        self._statistics: dict[str, tuple[NDArray[np.int32], Ints]] = {}
        self._forget()

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers that documents of the index have."""
        return tuple(self._forward.numbers)

    def _forget(self) -> None:
        self._table, self._new = _WordTable(), {}  # type: tuple[_WordTable, dict[bytes, int]]

    def index(
        self,
        documents: Sequence[TextDocument],
        doc_ids: Ids,
        numbers: Mapping[str, Floats],
        threads: int | None = None,
    ) -> TextIndex:
        """Return the forward arrays of documents.

        Shapes: doc_ids (n_documents,); numbers float64 (n_documents,).
        """
        texts, parts = self._parts(documents)
        try:
            encoded = [text.encode("utf8") for text in texts]
        except UnicodeEncodeError:
            raise UnusableTextError from None
        text = b"".join(encoded)
        if b"\0" in text:
            raise UnusableTextError
        with self._lock, kernel_threads(threads) as n_threads:
            if self._table.n_entries > MOST_WORDS or len(self._new) > MOST_WORDS:
                self._forget()
            try:
                return self._index(text, encoded, parts, doc_ids, numbers, n_threads)
            except BaseException:
                self._forget()  # a call that is stopped may leave words without tokens
                raise

    def _parts(self, documents: Sequence[TextDocument]) -> tuple[list[str], dict[str, tuple[Ints, Ints]]]:
        """Return the distinct texts, and for each field which of them each document consists of."""
        number_of: dict[str, int] = {"": -1}
        parts = {}
        for name in self._forward.fields:
            texts = [document.texts.get(name, "") for document in documents]
            n_parts = np.ones(len(texts), dtype=np.int64)
            if name == CONTENTS and not all(texts):
                texts, n_parts = self._contents(documents)
            numbers = np.array([number_of.setdefault(text, len(number_of)) for text in texts], dtype=np.int64) - 1
            held = numbers >= 0
            parts[name] = pointers(held)[pointers(n_parts)], numbers[held]
        del number_of[""]
        return list(number_of), parts

    def _contents(self, documents: Sequence[TextDocument]) -> tuple[list[str], Ints]:
        """Return the texts that make up `contents`, document by document, and how many each document has."""
        texts: list[str] = []
        n_parts = np.ones(len(documents), dtype=np.int64)
        for number, document in enumerate(documents):
            if CONTENTS in document.texts or not self._wordwise:
                texts.append(document.contents)
            else:
                n_parts[number] = len(document.parts)
                texts += [document.texts[name] for name in document.parts]
        return texts, n_parts

    def _index(
        self,
        together: bytes,
        encoded: Sequence[bytes],
        parts: Mapping[str, tuple[Ints, Ints]],
        doc_ids: Ids,
        numbers: Mapping[str, Floats],
        n_threads: int,
    ) -> TextIndex:
        java_threads, n_threads = n_threads, n_threads if len(together) > _FEW_BYTES else 1
        keys, used = self._keys(together, encoded, n_threads, java_threads)
        new_texts, n_known = list(self._new), len(self._forward.term_ptr) - 1
        ordered = sorted(np.flatnonzero(used).tolist(), key=new_texts.__getitem__)
        if ordered:
            new_terms = np.zeros(len(new_texts), dtype=np.int64)
            new_terms[ordered] = np.arange(n_known, n_known + len(ordered))
            number_new_terms(keys.start, keys.counts, n_known, new_terms, keys.keys)
        fields = {
            name: self._field(field, parts[name], keys, len(ordered), n_threads)
            for name, field in self._forward.fields.items()
        }
        return TextIndex(
            doc_ids=doc_ids,
            doc_slots=np.empty(0, dtype=np.int32),
            vocabulary=self._forward.vocabulary,
            term_ptr=self._forward.term_ptr,
            fields=fields,
            fingerprint=self._forward.fingerprint,
            numbers=numbers,
            new_terms={new_texts[each].decode("utf8"): n_known + rank for rank, each in enumerate(ordered)},
        )

    def _keys(
        self, together: bytes, encoded: Sequence[bytes], n_threads: int, java_threads: int
    ) -> tuple[_Keys, NDArray[np.uint8]]:
        """Return the keys of all texts, and 1 for each new term in them; Java analyses what is unknown."""
        text_ptr = pointers([len(each) for each in encoded])
        n_bytes = len(together)
        text = np.frombuffer(together + bytes(16 + -n_bytes % 8), dtype="<u8")
        key_start = (text_ptr[:-1] + np.arange(1, len(encoded) + 1)) // 2
        keys = np.empty((n_bytes + len(encoded) + 1) // 2 + 1, dtype=np.int64)
        made = _Keys(key_start, keys, np.zeros((len(encoded), 5), dtype=np.int64))
        if not self._wordwise:
            made.counts[:, WHOLE] = 1
        used = self._found(text, text_ptr, made, n_threads)
        unknown = (made.counts[:, UNKNOWN] > 0) & (made.counts[:, WHOLE] == 0)
        if unknown.any():
            self._add_words(text, text_ptr, made.counts, unknown, java_threads)
            used = self._found(text, text_ptr, made, n_threads)
        whole = np.flatnonzero(made.counts[:, WHOLE]).tolist()
        if not whole:
            return made, used
        return self._with_whole_texts(
            made, used, whole, [encoded[number].decode("utf8") for number in whole], java_threads
        )

    def _found(self, text: Any, text_ptr: Ints, made: _Keys, n_threads: int) -> NDArray[np.uint8]:
        """Fill the keys of the texts that are cut into words, and return 1 for each new term in them."""
        used = np.zeros(len(self._new), dtype=np.uint8)
        if self._wordwise:
            n_texts, n_known = len(made.start), len(self._forward.term_ptr) - 1
            in_threads(
                lambda rows: find_words(
                    text, text_ptr, rows.start, min(rows.stop, n_texts), self._table.words, self._table.tokens, n_known,
                    made.start, made.keys, made.counts, used,
                ),
                row_parts(n_texts, n_threads),
                n_threads,
            )  # fmt: skip
        return used

    def _add_words(self, text: Any, text_ptr: Ints, counts: Ints, unknown: NDArray[np.bool_], n_threads: int) -> None:
        """Add the unknown words of texts to the table, with the tokens that Java makes of them."""
        table = self._table
        table.reserve(*counts[unknown][:, [UNKNOWN, BLOCKS]].sum(axis=0).tolist())
        before = table.n_entries
        table.n_entries = add_words(text, text_ptr, counts, table.words, before)
        table.add_tokens(*self._analysed(table.texts(before), n_threads))

    def _with_whole_texts(
        self, made: _Keys, used: NDArray[np.uint8], whole: list[int], texts: list[str], n_threads: int
    ) -> tuple[_Keys, NDArray[np.uint8]]:
        """Return the keys with those of the texts that Java analyses whole."""
        counts, spans, terms, positions = self._analysed(texts, n_threads)
        key_ptr, keys = pointers(counts), terms << 32 | positions
        sort_keys(key_ptr, keys)
        made.start[whole] = len(made.keys) + key_ptr[:-1]
        made.counts[whole, TOKENS], made.counts[whole, SPAN] = counts, spans
        n_known = len(self._forward.term_ptr) - 1
        used = np.concatenate([used, np.zeros(len(self._new) - len(used), dtype=np.uint8)])
        used[terms[terms >= n_known] - n_known] = 1
        return replace(made, keys=np.concatenate([made.keys, keys])), used

    def _analysed(self, texts: list[str], n_threads: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return Java's number of tokens and span of each text, and term number and position of each token."""
        parts, first = [], 0
        while first < len(texts):
            last, size = first, 0
            while last < len(texts) and size < _REQUEST_CHARACTERS:
                size += len(texts[last])
                last += 1
            answer = ask(
                "analyze_texts",
                at_once=size < _FEW_CHARACTERS,
                texts=texts[first:last],
                language=self._language,
                threads=n_threads,
            )
            parts.append(self._numbered(answer, last - first))
            first = last
        return tuple(np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))  # type: ignore[return-value]

    def _numbered(self, answer: memoryview, n_texts: int) -> tuple[Any, ...]:
        """Return the columns of an answer of Java, with the numbers of the terms; see Analysing.java."""
        n_terms = int(np.frombuffer(answer, np.int32, 1)[0])
        counts, spans = np.frombuffer(answer, np.int32, 2 * n_texts, 4).reshape(2, n_texts)
        n_tokens, start = int(counts.sum()), 4 + 8 * n_texts
        local, positions = np.frombuffer(answer, np.int32, 2 * n_tokens, start).reshape(2, n_tokens)
        start += 8 * n_tokens
        ends = (start + 4 * n_terms + pointers(np.frombuffer(answer, np.int32, n_terms, start))).tolist()
        vocabulary = [bytes(answer[begin:end]) for begin, end in pairwise(ends)]
        numbers, n_known = find_terms(self._forward, vocabulary), len(self._forward.term_ptr) - 1
        for place in np.flatnonzero(numbers < 0).tolist():
            numbers[place] = n_known + self._new.setdefault(vocabulary[place], len(self._new))
        return counts, spans, numbers[local], positions

    def _field(
        self, field: FieldArrays, parts: tuple[Ints, Ints], made: _Keys, n_new: int, n_threads: int
    ) -> FieldArrays:
        """Return the arrays of one field of the documents."""
        part_ptr, text_of_part = parts
        n_docs = len(part_ptr) - 1
        position_ptr = pointers(made.counts[text_of_part, TOKENS])[part_ptr]
        terms, freqs, positions = np.empty((3, int(position_ptr[-1])), dtype=np.int32)
        n_postings = np.empty(n_docs, dtype=np.int64)
        in_threads(
            lambda rows: fill_postings(
                rows.start, min(rows.stop, n_docs), parts, (made.start, made.keys, made.counts), position_ptr,
                (terms, freqs, positions, n_postings),
            ),
            row_parts(n_docs, n_threads),
            n_threads,
        )  # fmt: skip
        doc_ptr = pointers(n_postings)
        compact = np.empty((2, int(doc_ptr[-1])), dtype=np.int32)
        join_postings(position_ptr, doc_ptr, terms, freqs, compact[0], compact[1])
        doc_freq, collection_freq = self._statistics_of(field, n_new)
        return replace(
            field,
            doc_ptr=doc_ptr,
            terms=compact[0],
            freqs=compact[1],
            positions=None if field.positions is None else positions,
            position_ptr=position_ptr,
            lengths=np.diff(position_ptr).astype(np.int32),
            doc_freq=doc_freq,
            collection_freq=collection_freq,
            n_docs_with=max(field.n_docs_with, 1),
            collection=field,
        )

    def _statistics_of(self, field: FieldArrays, n_new: int) -> tuple[NDArray[np.int32], Ints]:
        """Return document and collection frequencies of a field, at least 1, with capacity for `n_new` new terms."""
        known = self._statistics.get(field.name)
        if known is not None and len(known[0]) >= len(field.doc_freq) + n_new:
            return known
        n_more = max(_NEW_TERMS, 1 << max(n_new - 1, 0).bit_length())
        doc_freq, collection_freq = (
            np.concatenate([np.maximum(values, 1), np.ones(n_more, dtype=values.dtype)])
            for values in (field.doc_freq, field.collection_freq)
        )
        self._statistics[field.name] = doc_freq, collection_freq
        return doc_freq, collection_freq


@dataclass(frozen=True, eq=False)
class _Keys:
    """The keys of texts, see `find_words`."""

    start: Ints
    keys: Ints
    counts: Ints


class _WordTable:
    """Words and their tokens in arrays that grow, see `find_words`."""

    def __init__(self) -> None:
        self.n_entries = 0
        self._slots = _free_slots(_SLOTS)
        self._block_ptr, self._blocks = np.zeros(_SLOTS + 1, dtype=np.int64), np.zeros(_SLOTS, dtype=np.uint64)
        self._token_ptr, self._spans = np.zeros(_SLOTS + 1, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int32)
        self._terms, self._offsets = np.zeros(_SLOTS, dtype=np.int32), np.zeros(_SLOTS, dtype=np.int32)

    @property
    def words(self) -> tuple[Any, ...]:
        """The table of words."""
        return self._slots, self._block_ptr, self._blocks

    @property
    def tokens(self) -> tuple[Any, ...]:
        """The tokens of the words."""
        return self._token_ptr, self._terms, self._offsets, self._spans

    def reserve(self, n_entries: int, n_blocks: int) -> None:
        """Grow the arrays for more entries and blocks."""
        wanted = self.n_entries + n_entries
        self._spans = _grown(self._spans, wanted)
        self._block_ptr, self._token_ptr = _grown(self._block_ptr, wanted + 1), _grown(self._token_ptr, wanted + 1)
        self._blocks = _grown(self._blocks, int(self._block_ptr[self.n_entries]) + n_blocks)
        if len(self._slots) < 2 * wanted:
            self._slots = _free_slots(1 << (2 * wanted).bit_length())
            fill_slots(self.words, self.n_entries)

    def texts(self, first: int) -> list[str]:
        """Return the words from an entry on."""
        ends = (8 * (self._block_ptr[first : self.n_entries + 1] - self._block_ptr[first])).tolist()
        together = self._blocks[self._block_ptr[first] : self._block_ptr[self.n_entries]].astype("<u8").tobytes()
        return [together[begin:end].rstrip(b"\0").decode("utf8") for begin, end in pairwise(ends)]

    def add_tokens(self, counts: Ints, spans: Ints, terms: Ints, positions: Ints) -> None:
        """Give the last entries, those without tokens, their tokens."""
        first = self.n_entries - len(counts)
        start = int(self._token_ptr[first])
        self._token_ptr[first : self.n_entries + 1] = start + pointers(counts)
        self._spans[first : self.n_entries] = spans
        self._terms, self._offsets = (
            _grown(self._terms, start + len(terms)),
            _grown(self._offsets, start + len(terms)),
        )
        self._terms[start : start + len(terms)], self._offsets[start : start + len(terms)] = terms, positions
        fill_info(self.words, self.tokens)


def _free_slots(n_slots: int) -> NDArray[np.uint64]:
    return np.zeros((n_slots, 4), dtype=np.uint64)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy with a capacity of at least `size` elements."""
    if size <= len(array):
        return array
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


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


class GivenDocument(NamedTuple):
    """A document: its id, its texts, its numbers by the names of the index, and its scores in other runs by name."""

    doc_id: str
    document: TextDocument
    numbers: Mapping[str, int | float]
    run_scores: Mapping[str, int | float]

    def json(self) -> str:
        """Return the document as the index would store it."""
        texts = {CONTENTS: self.document.contents, **self.document.texts}
        return json.dumps({"id": self.doc_id, **texts, **self.numbers})


class GivenReader:
    """Reads documents that are text or mappings.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index, for the names of its fields and numbers.
    joined_fields : sequence of str, optional
        Fields that make up `contents`, in order, where the build of the index named them.
    field : str, default="contents"
        Field of a document that is a text.
    runs : collection of str, default=()
        Names of runs whose scores documents may have, as numbers.

    Raises
    ------
    InvalidInputError
        If the index does not have the field.

    """

    def __init__(
        self,
        forward: ForwardIndex,
        joined_fields: Iterable[str] | None = None,
        field: str = CONTENTS,
        runs: Collection[str] = (),
    ) -> None:
        if field not in forward.fields:
            raise unknown_name("field", field, forward.fields)
        self._fields, self._numbers, self._field = set(forward.fields), set(forward.numbers), field
        self._joined = None if joined_fields is None else tuple(joined_fields)
        self._parts: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._runs = frozenset(runs) - self._fields - self._numbers

    def read(self, doc_id: str, document: str | Mapping[str, Any]) -> GivenDocument:
        """Return a document; errors do not say where it is."""
        numbers: dict[str, int | float] = {}
        if isinstance(document, str):
            texts = {self._field: document}
        elif isinstance(document, Mapping):
            texts = {}
            for name, value in document.items():
                if type(value) is str and name in self._fields:
                    texts[name] = value
                elif name not in ID_KEYS or name in self._fields:
                    self._add_other(name, value, texts, numbers)
        else:
            raise InvalidInputError(
                f"expected text, or a mapping of fields, got {type(document).__name__}. Pass e.g. "
                "{'contents': 'heat flow'}."
            )
        for name, text in texts.items():
            if len(text) > MOST_CHARACTERS:
                raise InvalidInputError(
                    f"expected at most {MOST_CHARACTERS:,} characters in field {name!r}, got {len(text):,}. Shorten it."
                )
        names = tuple(texts)
        parts = self._parts.get(names)
        if parts is None:
            parts = self._parts[names] = self._parts_of(names)
        run_scores = {name: numbers.pop(name) for name in self._runs & numbers.keys()}
        return GivenDocument(doc_id, TextDocument(texts, parts), numbers, run_scores)

    def _parts_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the fields that make up `contents`, in the order of the index build."""
        if self._joined is not None:
            return tuple(name for name in self._joined if name in names)
        return tuple(sorted((name for name in names if name != CONTENTS), key=field_order))

    def _add_other(self, name: Any, value: Any, texts: dict[str, str], numbers: dict[str, int | float]) -> None:
        """Add a value that is not text of a field: a list of texts, or a number; refuse others of a field."""
        plain = plain_value(value)
        if is_text(plain):
            if name not in self._fields:
                raise self._unknown(name, self._fields)
            texts[name] = str(plain) if isinstance(plain, str) else " ".join(plain)
        elif name in self._numbers or name in self._runs:
            number = number_of(plain)
            if number is not None and abs(number) <= sys.float_info.max:  # others are missing
                numbers[name] = number
        elif plain is not None and name in self._fields:
            raise self._no_text(name, value)
        elif isinstance(plain, Real) and not isinstance(plain, bool):
            raise self._unknown(name, self._fields | self._numbers)

    @staticmethod
    def _unknown(name: Any, known: set[str]) -> InvalidInputError:
        return InvalidInputError(
            f"expected fields of the index ({', '.join(sorted(known))}), got {shown(name)}. Leave it out or rename it."
        )

    @staticmethod
    def _no_text(name: str, value: Any) -> InvalidInputError:
        return InvalidInputError(
            f"expected text in field {name!r}, got {type(value).__name__}. Make it text or leave it out."
        )


def check_characters(texts: Mapping[str, str], location: str) -> None:
    """Refuse texts by field with lone surrogates or NUL, which UTF-8 or Lucene cannot hold."""
    for name, text in texts.items():
        fault = "NUL" if "\0" in text else "a lone surrogate" if not is_unicode(text) else None
        if fault is not None:
            raise InvalidInputError(
                f"{location}: expected Unicode text in field {name!r}, got one with {fault}. Remove it, e.g. with "
                "text.encode('utf8', 'replace').decode('utf8').replace('\\0', ' ')."
            )
