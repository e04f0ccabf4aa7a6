"""Ids as arrays: text for users, UTF-8 bytes and 64-bit words for vectorised comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.str_]
Words = NDArray[np.uint64]

WHITE_SPACE = " \t\n\r\x0b\x0c\0"
MOST_LETTERS = 512  # maximum length of an id: arrays of ids are as wide as the longest one
QUERY = "query"  # id of a query that is given as text
ID_RULE = f"of 1 to {MOST_LETTERS} characters without white space"
QUERY_RULE = f"{ID_RULE} that do not begin with # or a byte order mark"

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, an odd number: a multiplicative (Fibonacci) hash


def id_array(ids: Any) -> Ids:
    """Return ids as a NumPy text array, never of width 0."""
    array = np.asarray(ids, dtype=np.str_) if len(ids) else np.empty(0, dtype="U1")
    return array if array.dtype.itemsize else array.astype("U1")


def id_bytes(ids: NDArray[Any]) -> NDArray[np.bytes_]:
    """Return ids (text or bytes) as UTF-8 bytes, which sort as the text does; the width is a multiple of eight."""
    if ids.dtype.kind == "U":
        letters = np.ascontiguousarray(ids)[:, None].view(np.uint32)
        plain = letters.max(initial=0) < 128
        ids = letters.astype(np.uint8).view(f"S{letters.shape[1]}")[:, 0] if plain else np.char.encode(ids, "utf-8")
    return np.ascontiguousarray(ids, dtype=f"S{-(-ids.dtype.itemsize // 8) * 8}")


def sort_keys(ids: NDArray[Any]) -> list[Words]:
    """Return integer keys that sort as the ids do, in the order of `np.lexsort`: the primary key is last."""
    words = id_bytes(ids)[:, None].view(">u8")
    return [word.astype(np.uint64) for word in words.T[::-1]]


def row_codes(query: NDArray[np.int64], doc_ids: NDArray[Any]) -> Words:
    """Return a 64-bit hash of every row's query number and document id.

    hash = query * odd + sum over words of fold(word * odd_k) * odd, where a word is eight bytes of the id and
    fold(x) = x ^ x >> 32. A word of 0 adds nothing, so that the width of the array does not change the hash.
    """
    words, codes = id_bytes(doc_ids)[:, None].view("<u8"), query.astype(np.uint64) * ODD
    factors = np.cumprod(np.full(words.shape[1], 0xD1342543DE82EF95, dtype=np.uint64))
    for word, factor in zip(words.T, factors, strict=True):
        mixed = word * factor
        mixed ^= mixed >> np.uint64(32)
        codes += mixed * ODD
    return codes


def id_texts(ids: NDArray[np.bytes_]) -> Ids:
    """Return the text of UTF-8 bytes."""
    letters = np.ascontiguousarray(ids)[:, None].view(np.uint8)
    if letters.max(initial=0) > 127:
        return id_array(np.char.decode(ids, "utf-8"))
    width = int(np.flatnonzero(letters.any(axis=0)).max(initial=0)) + 1
    return letters[:, :width].astype(np.uint32).view(f"U{width}")[:, 0]


def first_broken(names: list[str], also: str = "") -> str | None:
    """Return the first id that cannot be written to a file (see `ID_RULE`), or None; `also` lists forbidden characters.

    White space is ASCII white space, as for trec_eval: a no-break space is allowed in an id. Lone surrogates are
    refused, since UTF-8 cannot encode them.
    """
    forbidden = WHITE_SPACE + also

    def is_broken(name: str) -> bool:
        if not name or len(name) > MOST_LETTERS or any(letter in name for letter in forbidden):
            return True
        return not name.isascii() and not is_unicode(name)

    joined = "".join(names)
    is_plain = joined.isascii() and not any(letter in joined for letter in forbidden)
    if is_plain and all(names) and max(map(len, names), default=0) <= MOST_LETTERS:
        return None
    return next((name for name in names if is_broken(name)), None)


def first_broken_query(names: list[str]) -> str | None:
    """Return the first query id that cannot begin a line, or None.

    A line that begins with `#` is a comment, and a byte order mark at the beginning of a file is dropped.
    """
    with_mark = next((name for name in names if name.startswith(("#", "\ufeff"))), None)
    return first_broken(names) if with_mark is None else with_mark


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates, which are not characters."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


@dataclass(frozen=True, eq=False)
class QueryDocIndex:
    """Index of rows by query number and document id.

    codes  (n_rows,) uint64 hashes of `row_codes`, ascending
    order  (n_rows,) int64 row of each hash
    first  position in `codes` of the first hash with the given leading bits; -1 if there is none
    """

    query: NDArray[np.int64]
    doc_ids: NDArray[Any]
    codes: Words
    order: NDArray[np.int64]
    first: NDArray[np.int32]

    @classmethod
    def of(cls, query: NDArray[np.int64], doc_ids: NDArray[Any]) -> QueryDocIndex:
        """Index rows (n_rows,) of query numbers and document ids, text or bytes."""
        codes = row_codes(query, doc_ids)
        order = np.argsort(codes, kind="stable")
        codes, bits = codes[order], len(codes).bit_length() + 2
        first = np.full(1 << bits, -1, dtype=np.int32)
        first[(codes >> np.uint64(64 - bits))[::-1]] = np.arange(len(codes), dtype=np.int32)[::-1]
        return cls(query, doc_ids, codes, order, first)

    def find(self, query: NDArray[np.int64], doc_ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which of other rows are indexed, ascending, and the indexed row of each."""
        codes = row_codes(query, doc_ids)
        position = self.first[codes >> np.uint64(65 - len(self.first).bit_length())].astype(np.int64)
        rows = np.flatnonzero(position >= 0)
        position, matches = position[rows], np.full(len(codes), -1)
        while len(rows):
            indexed = self.order[position]
            equal = np.flatnonzero((self.codes[position] == codes[rows]) & (self.query[indexed] == query[rows]))
            equal = equal[id_bytes(self.doc_ids[indexed[equal]]) == id_bytes(doc_ids[rows[equal]])]
            matches[rows[equal]] = indexed[equal]
            position += 1
            next_codes = self.codes.take(position, mode="clip")
            more = (matches[rows] < 0) & (next_codes <= codes[rows]) & (position < len(self.codes))
            rows, position = rows[more], position[more]
        rows = np.flatnonzero(matches >= 0)
        return rows, matches[rows]
