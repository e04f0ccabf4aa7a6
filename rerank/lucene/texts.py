"""Forward arrays of texts that are in no index: the analyser and the statistics are those of an index.

Where the analyser treats the words between white space one by one, the tokens of each word are kept, and Java analyses
new words only. Where it does not (Chinese, Japanese, Korean), Java analyses each text as a whole. The tokens of each
text are kept, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from itertools import chain, pairwise, repeat
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.lucene.requests import ask, ask_json
from rerank.lucene.text_documents import TextDocument
from rerank.runtime.threads import kernel_threads
from rerank.types import (
    CONTENTS,
    FieldArrays,
    Floats,
    ForwardIndex,
    Ids,
    Ints,
    joined_rows,
    pointers,
    query_blocks,
    query_rows,
)
from rerank.types.vocabulary import find_terms

MOST_WORDS = 1 << 18  # words kept between two calls; the same limit holds for new terms
MOST_TOKENS = 1 << 21  # tokens of the texts kept between two calls, 16 bytes each
MOST_WORD_BYTES = 128  # longest word kept: Lucene's tokenizer cuts at 255 characters, wherever the word begins
_REQUEST_BYTES = 1 << 24  # of text in one call of Java
_FEW_BYTES = 1 << 12  # less text than this is analysed sooner than Java starts a thread


class UnusableTextError(ValueError):
    """A text has a lone surrogate or NUL."""


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
        """Return the document number of each row of the run; refuse ids that are not those of the rows."""
        if not np.array_equal(doc_ids, self.doc_ids[self.rows]):
            raise ValueError("rows: expected those of the run that has these texts, got others. Pass that run.")
        return self.rows


class Tokens(NamedTuple):
    """The tokens of words or texts.

    counts     (n,) int64 number of tokens of each word or text
    spans      (n,) int64 number of positions of each word or text, those of dropped stop words included
    terms      (n_tokens,) int64 term of each token
    positions  (n_tokens,) int64 position of each token, counted from the beginning of its word or text
    """

    counts: Ints
    spans: Ints
    terms: Ints
    positions: Ints

    @property
    def ptr(self) -> Ints:
        """The first token of each word or text, and the number of all tokens; (n + 1,) int64."""
        return pointers(self.counts)

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """Return the words or texts of several parts, one part after another."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def parts(self) -> Iterator[Tokens]:
        """Yield the tokens of each word or text."""
        for number, (first, last) in enumerate(pairwise(self.ptr.tolist())):
            one, own = slice(number, number + 1), slice(first, last)
            yield Tokens(self.counts[one], self.spans[one], self.terms[own], self.positions[own])

    def one_after_another(self, numbers: Ints, part_ptr: Ints) -> Tokens:
        """Return the tokens of joined texts; text t joins the entries numbers[part_ptr[t] : part_ptr[t + 1]]."""
        rows, token_ptr = joined_rows(self.ptr[numbers], self.counts[numbers])
        ends = pointers(self.spans[numbers])
        starts = ends[:-1] - np.repeat(ends[part_ptr[:-1]], np.diff(part_ptr))
        positions = self.positions[rows] + np.repeat(starts, self.counts[numbers])
        return Tokens(np.diff(token_ptr[part_ptr]), np.diff(ends[part_ptr]), self.terms[rows], positions)


_NO_TOKENS = Tokens(*np.empty((4, 0), dtype=np.int64))


class TextAnalyser:
    """Makes forward arrays of texts; keeps words, terms and statistics from one call to the next.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index.
    language : str
        Code of the index's analyser.
    own_statistics : bool
        Whether the statistics are those of the texts of each call, not those of the index.

    """

    def __init__(self, forward: ForwardIndex, language: str, own_statistics: bool = False) -> None:
        self._forward = forward
        self._own_statistics = own_statistics
        self._n_known = len(forward.term_ptr) - 1  # terms of the index
        self._language = language
        self._wordwise = bool(ask_json("wordwise", at_once=True, language=language)["wordwise"])
        self._lock = Lock()
        self._statistics: dict[str, tuple[NDArray[np.int32], Ints]] = {}
        self._forget()

    def _forget(self) -> None:
        self._texts: dict[bytes, Tokens] = {}
        self._n_kept = 0  # tokens in `_texts`
        self._words: dict[bytes, int] = {}  # word -> its number in `_tokens`
        self._tokens = _NO_TOKENS
        self._new: dict[bytes, int] = {}  # term that the index does not have -> its place after the terms of the index

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
        if any(b"\0" in text for text in encoded):
            raise UnusableTextError
        with self._lock, kernel_threads(threads) as n_threads:
            if max(len(self._words), len(self._new)) > MOST_WORDS:
                self._forget()
            tokens = self._kept_tokens(encoded, n_threads)
            new_terms, tokens = self._in_order(tokens)
            fields = {
                name: self._field(field, tokens.one_after_another(*parts[name]), len(new_terms))
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
            new_terms=new_terms,
        )

    def _parts(self, documents: Sequence[TextDocument]) -> tuple[list[str], dict[str, tuple[Ints, Ints]]]:
        """Return the distinct texts, and for each field the numbers of each document's texts, with their pointers."""
        number_of: dict[str, int] = {}
        parts = {}
        for name in self._forward.fields:
            if name == CONTENTS:
                held = [[text for text in self._contents(document) if text] for document in documents]
            else:
                held = [[text] if (text := document.texts.get(name)) else [] for document in documents]
            numbers = [number_of.setdefault(text, len(number_of)) for of_document in held for text in of_document]
            parts[name] = np.array(numbers, dtype=np.int64), pointers(list(map(len, held)))
        return list(number_of), parts

    def _contents(self, document: TextDocument) -> list[str]:
        """Return the texts that make up `contents`."""
        if CONTENTS in document.texts or not self._wordwise:
            return [document.contents]
        return [document.texts[name] for name in document.parts]

    def _kept_tokens(self, texts: Sequence[bytes], n_threads: int) -> Tokens:
        """Return the tokens of texts, and keep them: lists of candidates often repeat texts of earlier lists."""
        new = [text for text in texts if text not in self._texts]
        if new:
            tokens = self._tokens_of(new, n_threads)
            order = np.lexsort((tokens.terms, query_rows(tokens.ptr)))  # so that later sorts move little
            tokens = tokens._replace(terms=tokens.terms[order], positions=tokens.positions[order])
            self._texts |= zip(new, tokens.parts(), strict=True)
            self._n_kept += len(tokens.terms)
        tokens = Tokens.joined([_NO_TOKENS, *(self._texts[text] for text in texts)])
        if self._n_kept > MOST_TOKENS:
            self._texts, self._n_kept = {}, 0
        return tokens

    def _tokens_of(self, texts: Sequence[bytes], n_threads: int) -> Tokens:
        """Return the tokens of texts; Java analyses new words, and texts that are not treated word by word."""
        if not self._wordwise:
            return self._analysed(texts, n_threads)
        words = [text.split() for text in texts]
        entries = self._entries(words)
        whole: list[int] = []
        if (entries < 0).any():
            unknown = set(chain.from_iterable(words)) - self._words.keys()
            too_long = {word for word in unknown if len(word) > MOST_WORD_BYTES}
            if too_long:
                whole = [number for number, of_text in enumerate(words) if not too_long.isdisjoint(of_text)]
            for number in whole:
                words[number] = []
            new = sorted(unknown - too_long)
            self._tokens = Tokens.joined([self._tokens, self._analysed(new, n_threads)])
            self._words |= dict(zip(new, range(len(self._words), len(self._words) + len(new)), strict=True))
            entries = self._entries(words)
        tokens = self._tokens.one_after_another(entries, pointers(list(map(len, words))))
        if not whole:
            return tokens
        both = Tokens.joined([tokens, self._analysed([texts[number] for number in whole], n_threads)])
        chosen = np.arange(len(texts))
        chosen[whole] = len(texts) + np.arange(len(whole))
        return both.one_after_another(chosen, np.arange(len(texts) + 1))

    def _entries(self, words: Sequence[Sequence[bytes]]) -> Ints:
        """Return the number of each word of all texts, -1 for a new word."""
        flat = list(chain.from_iterable(words))
        return np.fromiter(map(self._words.get, flat, repeat(-1)), np.int64, len(flat))

    def _in_order(self, tokens: Tokens) -> tuple[dict[str, int], Tokens]:
        """Return the new terms, numbered after those of the index in the order of their bytes, and the tokens."""
        new = np.unique(tokens.terms[tokens.terms >= self._n_known])
        if not len(new):
            return {}, tokens
        names = list(self._new)
        ordered = sorted(new.tolist(), key=lambda term: names[term - self._n_known])
        number = np.arange(self._n_known + len(names))
        number[ordered] = self._n_known + np.arange(len(ordered))
        texts = [names[term - self._n_known].decode("utf8") for term in ordered]
        return dict(zip(texts, number[ordered].tolist(), strict=True)), tokens._replace(terms=number[tokens.terms])

    def _analysed(self, texts: Sequence[bytes], n_threads: int) -> Tokens:
        """Return the tokens that Java makes of texts or words."""
        parts = [self._numbered(memoryview(bytes(4)), 0)]
        byte_ptr = pointers(list(map(len, texts)))
        for first, last in query_blocks(byte_ptr, _REQUEST_BYTES):
            answer = ask(
                "analyze_texts",
                at_once=bool(byte_ptr[last] - byte_ptr[first] < _FEW_BYTES),
                texts=[text.decode("utf8") for text in texts[first:last]],
                language=self._language,
                threads=n_threads,
            )
            parts.append(self._numbered(answer, last - first))
        return Tokens.joined(parts)

    def _numbered(self, answer: memoryview, n_texts: int) -> Tokens:
        """Return the tokens of an answer of Java, with the numbers of the terms; see Analysing.java."""
        n_terms = int(np.frombuffer(answer, np.int32, 1)[0])
        counts, spans = np.frombuffer(answer, np.int32, 2 * n_texts, 4).reshape(2, n_texts).astype(np.int64)
        n_tokens = int(counts.sum())
        start = 4 + 8 * n_texts
        local, positions = np.frombuffer(answer, np.int32, 2 * n_tokens, start).reshape(2, n_tokens).astype(np.int64)
        start += 8 * n_tokens
        ends = (start + 4 * n_terms + pointers(np.frombuffer(answer, np.int32, n_terms, start))).tolist()
        vocabulary = [bytes(answer[begin:end]) for begin, end in pairwise(ends)]
        numbers = find_terms(self._forward, vocabulary)
        for place in np.flatnonzero(numbers < 0).tolist():
            numbers[place] = self._n_known + self._new.setdefault(vocabulary[place], len(self._new))
        return Tokens(counts, spans, numbers[local], positions)

    def _field(self, field: FieldArrays, tokens: Tokens, n_new: int) -> FieldArrays:
        """Return the arrays of one field of the documents; `tokens` are those of the field, document by document."""
        doc = query_rows(tokens.ptr)
        order = np.argsort(doc * (self._n_known + n_new) + tokens.terms, kind="stable")  # positions ascend already
        terms = tokens.terms[order]
        is_first = np.ones(len(terms), dtype=np.bool_)  # of a posting
        is_first[1:] = (terms[1:] != terms[:-1]) | (doc[1:] != doc[:-1])
        first = np.flatnonzero(is_first)
        lengths = tokens.counts.astype(np.int32)
        if self._own_statistics:
            n_terms = self._n_known + n_new
            doc_freq = np.bincount(terms[first], minlength=n_terms).astype(np.int32)
            collection_freq = np.bincount(terms, minlength=n_terms)
            n_docs_with = int(np.count_nonzero(lengths))
        else:
            doc_freq, collection_freq = self._statistics_of(field, n_new)
            n_docs_with = max(field.n_docs_with, 1)
        return replace(
            field,
            doc_ptr=pointers(np.bincount(doc[first], minlength=len(tokens.counts))),
            terms=terms[first].astype(np.int32),
            freqs=np.diff(np.append(first, len(terms))).astype(np.int32),
            positions=None if field.positions is None else tokens.positions[order].astype(np.int32),
            position_ptr=tokens.ptr,
            lengths=lengths,
            doc_freq=doc_freq,
            collection_freq=collection_freq,
            n_docs_with=n_docs_with,
            collection=None if self._own_statistics else field,
        )

    def _statistics_of(self, field: FieldArrays, n_new: int) -> tuple[NDArray[np.int32], Ints]:
        """Return document and collection frequencies of a field, at least 1, with capacity for `n_new` new terms."""
        known = self._statistics.get(field.name)
        if known is not None and len(known[0]) >= len(field.doc_freq) + n_new:
            return known
        n_more = max(1 << 10, 1 << max(n_new - 1, 0).bit_length())
        doc_freq, collection_freq = (
            np.concatenate([np.maximum(values, 1), np.ones(n_more, dtype=values.dtype)])
            for values in (field.doc_freq, field.collection_freq)
        )
        self._statistics[field.name] = doc_freq, collection_freq
        return doc_freq, collection_freq
