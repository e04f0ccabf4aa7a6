"""The ids of the documents of an index build, to find one that occurs again."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 16  # ids that are kept as text
_FIRST_SLOTS = 1 << 18


class SeenIds:
    """A set of ids; many are kept as hashes of 128 bits, in 21 to 43 bytes each, where text takes over 100.

    Two of a billion different ids have the same hash with a probability below 1e-20.
    """

    def __init__(self) -> None:
        self._few: set[str] = set()
        self._table: NDArray[np.uint64] | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, doc_id: str) -> bool:
        """Add an id; return whether it is new."""
        if self._table is None:
            if doc_id in self._few:
                return False
            self._few.add(doc_id)
            self._count += 1
            if self._count > _FEW:
                self._hash_all()
            return True
        from rerank.lucene.hash_table import insert

        is_new = bool(insert(self._table, _hash(doc_id)))
        self._count += is_new
        if 4 * self._count > 3 * len(self._table):
            self._table = _grown(self._table)
        return is_new

    def _hash_all(self) -> None:
        from rerank.lucene.hash_table import insert

        self._table = np.zeros((_FIRST_SLOTS, 2), dtype=np.uint64)
        for doc_id in self._few:
            insert(self._table, _hash(doc_id))
        self._few.clear()


def _hash(doc_id: str) -> NDArray[np.uint64]:
    """Return the hash of an id, two words of which the first is odd, see `rerank.lucene.hash_table`."""
    digest = hashlib.blake2b(doc_id.encode("utf8"), digest_size=16).digest()
    words = np.frombuffer(bytes([digest[0] | 1]) + digest[1:], dtype="<u8")
    return words.astype(np.uint64)


def _grown(table: NDArray[np.uint64]) -> NDArray[np.uint64]:
    from rerank.lucene.hash_table import insert_all

    larger = np.zeros((2 * len(table), 2), dtype=np.uint64)
    insert_all(table, larger)
    return larger
