"""Forward arrays of texts that no index holds, analysed as those of an index, with the statistics of that index.

Where the analyser treats the words between white space one by one, the tokens of a word are kept: Java is asked only
for words that are new. Where it does not (Chinese, Japanese, Korean), Java analyses every text whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.lucene import words
from rerank.lucene.documents import joined
from rerank.lucene.jvm import ask, ask_json
from rerank.runtime.threads import in_threads, kernel_threads, row_parts
from rerank.runtime.views import read_only_view
from rerank.types import Floats, Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.ids import Ids
from rerank.types.retriever import CONTENTS
from rerank.types.vocabulary import find_terms

MOST_WORDS = 1 << 18  # that are kept between two calls, and the same number of new terms
_FEW_BYTES = 1 << 16  # starting threads takes longer than so many bytes
_REQUEST_BYTES = 1 << 24  # of text in one call of Java
_SLOTS, _NEW_TERMS = 1 << 12, 1 << 10


@dataclass(frozen=True)
class TextDocument:
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

        Parameters
        ----------
        documents : sequence of TextDocument
            The documents.
        doc_ids : ndarray of shape (n_documents,)
            Their ids.
        numbers : mapping from str to ndarray of shape (n_documents,) and dtype float64
            Their numbers, by the names of the index; NaN where a document has none.
        threads : int, optional
            Number of threads; by default one per core.

        Returns
        -------
        TextIndex

        """
        texts, parts = self._parts(documents)
        encoded = [text.encode("utf8") for text in texts]
        n_bytes = sum(map(len, encoded))
        with self._lock, kernel_threads(threads) as n_threads:
            if self._table.n_entries > MOST_WORDS or len(self._new) > MOST_WORDS:
                self._forget()
            try:
                return self._index(texts, encoded, parts, doc_ids, numbers, n_threads if n_bytes > _FEW_BYTES else 1)
            except BaseException:
                self._forget()  # a call that is stopped may leave words without tokens
                raise

    def _parts(self, documents: Sequence[TextDocument]) -> tuple[list[str], dict[str, tuple[Ints, Ints]]]:
        """Return the distinct texts, and for each field which of them each document consists of."""
        number_of: dict[str, int] = {}
        parts = {}
        for name in self._forward.fields:
            sizes, numbers = [], []
            for document in documents:
                texts: Sequence[str | None] = [document.texts.get(name)]
                if name == CONTENTS and texts[0] is None:
                    of_parts = self._wordwise
                    texts = [document.texts[part] for part in document.parts] if of_parts else [document.contents]
                held = [number_of.setdefault(text, len(number_of)) for text in texts if text]
                sizes.append(len(held))
                numbers += held
            parts[name] = pointers(sizes), np.array(numbers, dtype=np.int64)
        return list(number_of), parts

    def _index(
        self,
        texts: list[str],
        encoded: list[bytes],
        parts: Mapping[str, tuple[Ints, Ints]],
        doc_ids: Ids,
        numbers: Mapping[str, Floats],
        n_threads: int,
    ) -> TextIndex:
        found = self._find(texts, encoded, n_threads)
        n_known = len(self._forward.term_ptr) - 1
        used = np.flatnonzero(found.used).tolist()
        new_texts = list(self._new)
        ordered = sorted(used, key=new_texts.__getitem__)
        new_terms = np.zeros(len(new_texts), dtype=np.int32)
        new_terms[ordered] = np.arange(n_known, n_known + len(ordered))
        fields = {
            name: self._field(field, parts[name], found, new_terms, len(ordered), n_threads)
            for name, field in self._forward.fields.items()
        }
        self._table.cut(found.n_entries)
        named = {new_texts[uid].decode("utf8", "replace"): n_known + place for place, uid in enumerate(ordered)}
        return TextIndex(
            doc_ids=doc_ids,
            doc_slots=np.empty(0, dtype=np.int32),
            vocabulary=self._forward.vocabulary,
            term_ptr=self._forward.term_ptr,
            fields=fields,
            fingerprint=self._forward.fingerprint,
            numbers=numbers,
            new_terms=named,
        )

    def _find(self, texts: list[str], encoded: list[bytes], n_threads: int) -> _Found:
        """Look up the words of all texts; Java analyses the unknown ones, and the texts that are one entry each."""
        table = self._table
        text, text_ptr = np.frombuffer(b"".join(encoded), dtype=np.uint8), pointers([len(each) for each in encoded])
        entries = np.empty((len(text) + len(texts)) // 2 + 1, dtype=np.int32)
        counts = np.zeros((len(texts), 6), dtype=np.int64)
        n_known = len(self._forward.term_ptr) - 1

        def find(used: NDArray[np.uint8]) -> None:
            views = tuple(map(read_only_view, (text, text_ptr)))
            in_threads(
                lambda rows: words.find_words(
                    *views, rows.start, min(rows.stop, len(texts)), table.words, table.tokens[:3], n_known, entries,
                    counts, used,
                ),
                row_parts(len(texts), n_threads),
                n_threads,
            )  # fmt: skip

        used = np.zeros(len(self._new), dtype=np.uint8)
        if self._wordwise:
            find(used)
            addable = (counts[:, 3] > 0) & (counts[:, 5] == 0)
            if addable.any():
                table.reserve(int(counts[addable, 3].sum()), int(counts[addable, 4].sum()))
                before = table.n_entries
                table.n_entries = words.add_words(
                    read_only_view(text), read_only_view(text_ptr), counts, table.words, before
                )
                self._analyse(table.texts(before), n_threads)
                used = np.zeros(len(self._new), dtype=np.uint8)
                find(used)
        n_entries = table.n_entries
        whole = np.flatnonzero(counts[:, 5] > 0) if self._wordwise else np.arange(len(texts))
        if len(whole):
            table.reserve(len(whole), 0)
            table.n_entries += len(whole)
            self._analyse([texts[number] for number in whole.tolist()], n_threads)
            token_ptr, terms, spans = table.tokens[:3]
            of_texts = np.arange(n_entries, table.n_entries)
            entries[(text_ptr[whole] + whole + 1) // 2] = of_texts
            counts[whole, 0], counts[whole, 1] = 1, token_ptr[of_texts + 1] - token_ptr[of_texts]
            counts[whole, 2] = spans[of_texts]
            fresh = np.zeros(len(self._new), dtype=np.uint8)
            fresh[: len(used)] = used
            later = terms[token_ptr[n_entries] : token_ptr[table.n_entries]]
            fresh[later[later >= n_known] - n_known] = 1
            used = fresh
        return _Found(text_ptr, entries, counts, used, n_entries)

    def _analyse(self, texts: list[str], n_threads: int) -> None:
        """Give the last entries of the table, those without tokens yet, the tokens of these texts."""
        first = 0
        while first < len(texts):
            last, size = first, 0
            while last < len(texts) and size < _REQUEST_BYTES:
                size += len(texts[last])
                last += 1
            few = size < 1 << 12
            answer = ask(
                "analyze_texts", at_once=few, texts=texts[first:last], language=self._language, threads=n_threads
            )
            self._table.add_tokens(*self._numbered(np.frombuffer(answer[: len(answer) // 4 * 4], np.int32), answer, last - first))
            first = last

    def _numbered(self, integers: NDArray[np.int32], answer: memoryview, n_texts: int) -> tuple[Any, ...]:
        """Return number of tokens and span of each text, and term number and position of each token."""
        n_terms = int(integers[0])
        counts, spans = integers[1 : 1 + n_texts], integers[1 + n_texts : 1 + 2 * n_texts]
        start, n_tokens = 1 + 2 * n_texts, int(counts.sum())
        local, positions = integers[start : start + n_tokens], integers[start + n_tokens : start + 2 * n_tokens]
        start += 2 * n_tokens
        ptr = pointers(integers[start : start + n_terms]) + 4 * (start + n_terms)
        vocabulary = [bytes(answer[begin:end]) for begin, end in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)]
        numbers = find_terms(self._forward, vocabulary)
        n_known = len(self._forward.term_ptr) - 1
        for place in np.flatnonzero(numbers < 0).tolist():
            numbers[place] = n_known + self._new.setdefault(vocabulary[place], len(self._new))
        return counts, spans, numbers[local], positions

    def _field(
        self,
        field: FieldArrays,
        parts: tuple[Ints, Ints],
        found: _Found,
        new_terms: NDArray[np.int32],
        n_new: int,
        n_threads: int,
    ) -> FieldArrays:
        """Return the arrays of one field of the documents."""
        part_ptr, text_of_part = parts
        n_docs = len(part_ptr) - 1
        part_tokens = pointers(found.counts[text_of_part, 1])
        position_ptr = part_tokens[part_ptr]
        n_tokens = int(position_ptr[-1])
        terms, freqs, positions = np.empty((3, n_tokens), dtype=np.int32)
        n_postings = np.empty(n_docs, dtype=np.int64)
        in_threads(
            lambda rows: words.fill_postings(
                rows.start, min(rows.stop, n_docs), parts, (found.text_ptr, found.entries, found.counts),
                self._table.tokens_with_offsets, len(self._forward.term_ptr) - 1, new_terms, position_ptr,
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
        """Return document and collection frequencies of a field, at least 1, with room for so many new terms."""
        held = self._statistics.get(field.name)
        n_known = len(field.doc_freq)
        if held is None or len(held[0]) < n_known + n_new:
            n_more = max(_NEW_TERMS, 1 << max(n_new - 1, 0).bit_length())
            held = tuple(  # type: ignore[assignment]
                np.concatenate([np.maximum(values, 1), np.ones(n_more, dtype=values.dtype)])
                for values in (field.doc_freq, field.collection_freq)
            )
            self._statistics[field.name] = held
        return held


@dataclass(frozen=True, eq=False)
class _Found:
    """The entries of each text's words, see `words.find_words`; `n_entries` of the table are kept after the call."""

    text_ptr: Ints
    entries: NDArray[np.int32]
    counts: Ints
    used: NDArray[np.uint8]
    n_entries: int


class _WordTable:
    """Words and their tokens in arrays that grow, see `words.find_words`."""

    def __init__(self) -> None:
        self.n_entries, self._n_with_tokens = 0, 0
        self._slots = np.full(_SLOTS, words.FREE, dtype=np.int32)
        self._hashes = np.zeros(_SLOTS, dtype=np.uint64)
        self._byte_ptr = np.zeros(_SLOTS + 1, dtype=np.int64)
        self._bytes = np.zeros(8 * _SLOTS, dtype=np.uint8)
        self._token_ptr = np.zeros(_SLOTS + 1, dtype=np.int64)
        self._spans = np.zeros(_SLOTS, dtype=np.int32)
        self._terms = np.zeros(_SLOTS, dtype=np.int32)
        self._offsets = np.zeros(_SLOTS, dtype=np.int32)

    @property
    def words(self) -> tuple[Any, ...]:
        """Slots, hashes, byte_ptr, bytes."""
        return self._slots, self._hashes, self._byte_ptr, self._bytes

    @property
    def tokens(self) -> tuple[Any, ...]:
        """Offsets of tokens, terms, spans."""
        return self._token_ptr, self._terms, self._spans

    @property
    def tokens_with_offsets(self) -> tuple[Any, ...]:
        """The arrays that `words.fill_postings` takes."""
        return self._token_ptr, self._terms, self._offsets, self._spans

    def reserve(self, n_entries: int, n_bytes: int) -> None:
        """Make room for more entries and bytes."""
        wanted = self.n_entries + n_entries
        self._hashes = _grown(self._hashes, wanted)
        self._spans = _grown(self._spans, wanted)
        self._byte_ptr = _grown(self._byte_ptr, wanted + 1)
        self._token_ptr = _grown(self._token_ptr, wanted + 1)
        self._bytes = _grown(self._bytes, int(self._byte_ptr[self.n_entries]) + n_bytes)
        if len(self._slots) < 2 * wanted:
            self._slots = np.full(1 << (2 * wanted).bit_length(), words.FREE, dtype=np.int32)
            words.fill_slots(self._hashes, self.n_entries, self._slots)

    def texts(self, first: int) -> list[str]:
        """Return the words from an entry on."""
        ptr = self._byte_ptr[first : self.n_entries + 1]
        together, start = self._bytes[ptr[0] : ptr[-1]].tobytes(), int(ptr[0])
        ends = (ptr - start).tolist()
        return [together[begin:end].decode("utf8") for begin, end in zip(ends[:-1], ends[1:], strict=True)]

    def add_tokens(self, counts: Any, spans: Any, terms: Any, positions: Any) -> None:
        """Give the next entries their tokens."""
        first, last = self._n_with_tokens, self._n_with_tokens + len(counts)
        start = int(self._token_ptr[first])
        self._token_ptr[first : last + 1] = start + pointers(counts)
        self._spans[first:last] = spans
        self._terms = _grown(self._terms, start + len(terms))
        self._offsets = _grown(self._offsets, start + len(terms))
        self._terms[start : start + len(terms)] = terms
        self._offsets[start : start + len(terms)] = positions
        self._n_with_tokens = last

    def cut(self, n_entries: int) -> None:
        """Drop the entries from `n_entries` on, which have no slot."""
        self.n_entries = self._n_with_tokens = n_entries


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or a copy with room for at least so many elements."""
    if size <= len(array):
        return array
    grown = np.zeros(max(size, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
