"""Ids as arrays: text for people, UTF-8 bytes and 64-bit words for comparing many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.str_]
Words = NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: multiplying by it mixes upwards


def id_array(ids: Any) -> Ids:
    """Return ids as a NumPy text array, never of width 0."""
    array = np.asarray(ids, dtype=np.str_) if len(ids) else np.empty(0, dtype="U1")
    return array if array.dtype.itemsize else array.astype("U1")


def id_bytes(ids: NDArray[Any]) -> NDArray[np.bytes_]:
    """Return ids (text or bytes) as UTF-8 bytes, which order as the text does, of a width that eight divides."""
    if ids.dtype.kind == "U":
        letters = np.ascontiguousarray(ids)[:, None].view(np.uint32)
        plain = letters.max(initial=0) < 128
        ids = letters.astype(np.uint8).view(f"S{letters.shape[1]}")[:, 0] if plain else np.char.encode(ids, "utf-8")
    return np.ascontiguousarray(ids, dtype=f"S{-(-ids.dtype.itemsize // 8) * 8}")


def sort_keys(ids: NDArray[Any]) -> list[Words]:
    """Return numbers that order as the ids do, for `np.lexsort`: the one that decides first stands last."""
    words = id_bytes(ids)[:, None].view(">u8")
    return [word.astype(np.uint64) for word in words.T[::-1]]


def row_codes(query: NDArray[np.int64], doc_ids: NDArray[Any]) -> Words:
    """Return a 64-bit code of every row's query number and document id: equal for equal pairs, hardly ever for others.

    code = query * odd + sum over words of fold(word * odd_k) * odd, where a word is eight bytes of the id and
    fold(x) = x ^ x >> 32. A word of 0 adds nothing: ids have the same code in arrays of any width.
    """
    words, codes = id_bytes(doc_ids)[:, None].view("<u8"), query.astype(np.uint64) * ODD
    factors = np.cumprod(np.full(words.shape[1], 0xD1342543DE82EF95, dtype=np.uint64))
    for word, factor in zip(words.T, factors, strict=True):  # type: ignore[call-overload]
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
