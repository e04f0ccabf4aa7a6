"""Forward arrays of texts that no index holds, analysed as those of an index, with the statistics of that index.

Where the analyser treats the words between white space one by one, the tokens of a word are kept: Java is asked only
for words that are new. Where it does not (Chinese, Japanese, Korean), Java analyses every text whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.lucene import words
from rerank.lucene.documents import joined
from rerank.lucene.jvm import ask, ask_json
from rerank.runtime.threads import in_threads, kernel_threads, row_parts
from rerank.types import Floats, Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.ids import Ids
from rerank.types.retriever import CONTENTS
from rerank.types.vocabulary import find_terms

MOST_WORDS = 1 << 18  # that are kept between two calls, and the same number of new terms
_FEW_BYTES = 1 << 21  # as with few rows, waking another thread costs more time than it saves
_REQUEST_CHARACTERS = 1 << 24  # of text in one call of Java
_FEW_CHARACTERS = 1 << 12  # starting a thread in Java takes longer
_SLOTS, _NEW_TERMS = 1 << 12, 1 << 10


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
            words.number_new_terms(keys.start, keys.counts, n_known, new_terms, keys.keys)
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
            made.counts[:, words.WHOLE] = 1
        used = self._found(text, text_ptr, made, n_threads)
        unknown = (made.counts[:, words.UNKNOWN] > 0) & (made.counts[:, words.WHOLE] == 0)
        if unknown.any():
            self._add_words(text, text_ptr, made.counts, unknown, java_threads)
            used = self._found(text, text_ptr, made, n_threads)
        whole = np.flatnonzero(made.counts[:, words.WHOLE]).tolist()
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
                lambda rows: words.find_words(
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
        table.reserve(*counts[unknown][:, [words.UNKNOWN, words.BLOCKS]].sum(axis=0).tolist())
        before = table.n_entries
        table.n_entries = words.add_words(text, text_ptr, counts, table.words, before)
        table.add_tokens(*self._analysed(table.texts(before), n_threads))

    def _with_whole_texts(
        self, made: _Keys, used: NDArray[np.uint8], whole: list[int], texts: list[str], n_threads: int
    ) -> tuple[_Keys, NDArray[np.uint8]]:
        """Return the keys with those of the texts that Java analyses whole."""
        counts, spans, terms, positions = self._analysed(texts, n_threads)
        key_ptr, keys = pointers(counts), terms << 32 | positions
        words.sort_keys(key_ptr, keys)
        made.start[whole] = len(made.keys) + key_ptr[:-1]
        made.counts[whole, words.TOKENS], made.counts[whole, words.SPAN] = counts, spans
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
        position_ptr = pointers(made.counts[text_of_part, words.TOKENS])[part_ptr]
        terms, freqs, positions = np.empty((3, int(position_ptr[-1])), dtype=np.int32)
        n_postings = np.empty(n_docs, dtype=np.int64)
        in_threads(
            lambda rows: words.fill_postings(
                rows.start, min(rows.stop, n_docs), parts, (made.start, made.keys, made.counts), position_ptr,
                (terms, freqs, positions, n_postings),
            ),
            row_parts(n_docs, n_threads),
            n_threads,
        )  # fmt: skip
        doc_ptr = pointers(n_postings)
        compact = np.empty((2, int(doc_ptr[-1])), dtype=np.int32)
        words.join_postings(position_ptr, doc_ptr, terms, freqs, compact[0], compact[1])
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
    """The keys of texts, see `words.find_words`."""

    start: Ints
    keys: Ints
    counts: Ints


class _WordTable:
    """Words and their tokens in arrays that grow, see `words.find_words`."""

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
            words.fill_slots(self.words, self.n_entries)

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
        words.fill_info(self.words, self.tokens)


def _free_slots(n_slots: int) -> NDArray[np.uint64]:
    return np.zeros((n_slots, 4), dtype=np.uint64)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy with a capacity of at least `size` elements."""
    if size <= len(array):
        return array
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
