"""Statistics of a collection: its terms and how frequent they are in each field, without its documents.

Features of texts that no index holds need nothing else of an index. A model file holds them as one compressed table:

    lengths of the terms in bytes, uint32; the terms; and for each field document frequencies, uint32, and collection
    frequencies less document frequencies, uint64

Where features need vectors of terms, float32, these are a second table, and the map of the vectors of queries a third.
They are read when texts come: a process that ranks documents of an index does not wait for them.

Numbers are stored in planes of bytes, first the lowest byte of every number, which zlib compresses well. The
fingerprint has a checksum of terms and document frequencies: a table of another collection, or a damaged one, is
refused.
"""

from __future__ import annotations

import binascii
import hashlib
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.fields import Number, Record, SchemaError, Table, Text, Whole
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots
from rerank.types.ids import id_array
from rerank.types.query_rows import Ints, pointers

MOST_TERMS = 1 << 20  # about 8 MB of a model file
MOST_VECTOR_BYTES = 1 << 25  # of vectors of terms: about 38 MB of a model file
_MOST_CHARACTERS = 1 << 26
_MOST_BYTES = 1 << 27  # of all terms
_COUNT = Whole(0, 2**62)
FINGERPRINT = Record(
    {
        "language": Text(),
        "documents": _COUNT,
        "terms": Whole(0, MOST_TERMS),
        "checksum": Text(),
        "fields": Table(
            Record({"documents": Whole(0, 2**31 - 1), "tokens": _COUNT, "terms": _COUNT, "average_length": Number(0.0)})
        ),
    }
)


def terms_checksum(vocabulary: NDArray[np.uint8], term_ptr: Ints, doc_freqs: Mapping[str, NDArray[np.int32]]) -> str:
    """Return a checksum of terms, see `ForwardIndex`, and their document frequencies by field, (n_terms,) each."""
    checksum = hashlib.sha256(vocabulary.tobytes() + term_ptr.tobytes())
    for name in sorted(doc_freqs):
        checksum.update(name.encode("utf8", "replace") + doc_freqs[name].tobytes())
    return checksum.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of a collection, as a model file holds them.

    Parameters
    ----------
    fingerprint : dict
        That of the index, see `ForwardIndex`.
    fields : dict of str to bool
        Whether each field was indexed with positions, in the order of the index.
    numbers : list of str
        Names of the numeric fields.
    joined_fields : list of str or None
        Fields that make up `contents`, in order, where the build of the index named them.
    table : str
        Terms and frequencies, compressed, in base64.
    vectors : str
        Vectors of terms, in the same form.
    n_vectors, dimensions : int
        Number of terms that have a vector, and length of each; 0 without vectors.
    queries : str
        Map of the vectors of queries, in the same form; empty where they are as they are.

    """

    fingerprint: Annotated[dict[str, Any], FINGERPRINT]
    fields: dict[str, bool]
    numbers: list[str]
    joined_fields: list[str] | None
    table: Annotated[str, Text(_MOST_CHARACTERS)]
    vectors: Annotated[str, Text(_MOST_CHARACTERS, may_be_empty=True)] = ""
    n_vectors: Annotated[int, Whole(0, MOST_TERMS)] = 0
    dimensions: Annotated[int, Whole(0, 1 << 12)] = 0
    queries: Annotated[str, Text(_MOST_CHARACTERS, may_be_empty=True)] = ""

    @classmethod
    def of(
        cls,
        forward: ForwardIndex,
        joined_fields: Sequence[str] | None,
        term_vectors: NDArray[np.float32] | None = None,
        query_map: NDArray[np.float32] | None = None,
    ) -> Self | None:
        """Return the statistics of an index; None for one of too many terms or vectors.

        Parameters
        ----------
        forward : ForwardIndex
            Its forward arrays.
        joined_fields : sequence of str or None
            Fields that make up `contents`, see the class.
        term_vectors : ndarray of shape (n_vectors, dimensions) and dtype float32, optional
            Vectors of terms, see `rerank.vectors.space.Space`.
        query_map : ndarray of shape (dimensions, dimensions) and dtype float32, optional
            Map of the vectors of queries, see the same.

        Returns
        -------
        Statistics or None
            The statistics.

        """
        vectors = np.empty((0, 0), np.float32) if term_vectors is None else term_vectors
        n_terms = len(forward.term_ptr) - 1
        if n_terms > MOST_TERMS or len(forward.vocabulary) > _MOST_BYTES or vectors.nbytes > MOST_VECTOR_BYTES:
            return None
        parts = [_planes(np.diff(forward.term_ptr), "<u4"), forward.vocabulary.tobytes()]
        for field in forward.fields.values():
            parts += [_planes(field.doc_freq, "<u4"), _planes(field.collection_freq - field.doc_freq, "<u8")]
        return cls(
            dict(forward.fingerprint),
            {name: field.positions is not None for name, field in forward.fields.items()},
            list(forward.numbers),
            None if joined_fields is None else list(joined_fields),
            _packed(b"".join(parts)),
            _packed(_planes(vectors.ravel(), "<f4")) if vectors.size else "",
            n_vectors=len(vectors),
            dimensions=vectors.shape[1],
            queries="" if query_map is None else _packed(_planes(query_map.ravel(), "<f4")),
        )

    @classmethod
    def of_nothing(cls, language: str, fields: Sequence[str], numbers: Sequence[str]) -> Self:
        """Return the statistics of a collection without documents.

        Parameters
        ----------
        language : str
            Code of its analyser.
        fields, numbers : sequence of str
            Names of its fields and numbers.

        Returns
        -------
        Statistics
            The statistics.

        """
        none = np.empty(0, np.int32)
        counts = {"documents": 0, "tokens": 0, "terms": 0, "average_length": 0.0}
        fingerprint = {
            "language": language,
            "documents": 0,
            "terms": 0,
            "checksum": terms_checksum(none.view(np.uint8), np.zeros(1, np.int64), dict.fromkeys(fields, none)),
            "fields": {name: dict(counts) for name in sorted(fields)},
        }
        return cls(fingerprint, dict.fromkeys(fields, True), list(numbers), None, "")

    @cached_property
    def term_vectors(self) -> NDArray[np.float32] | None:
        """Vectors of terms, (n_vectors, dimensions) float32; None without."""
        if not self.dimensions:
            return None
        return self._rows_of("vectors", self.n_vectors)

    @cached_property
    def query_map(self) -> NDArray[np.float32] | None:
        """Map of the vectors of queries, (dimensions, dimensions) float32; None where they are as they are."""
        return self._rows_of("queries", self.dimensions) if self.queries else None

    def _rows_of(self, name: str, n_rows: int) -> NDArray[np.float32]:
        """Return the vectors in a table of floats, (n_rows, dimensions)."""
        vectors = _Columns(getattr(self, name), n_rows * self.dimensions, f"statistics.{name}").numbers("<f4")
        if not np.isfinite(vectors).all():
            raise SchemaError("finite vectors", "others", path=f"statistics.{name}")
        return vectors.reshape(n_rows, self.dimensions)

    @cached_property
    def forward(self) -> ForwardIndex:
        """Forward arrays of the collection without documents; SchemaError where the table is not what it should be."""
        columns = _Columns(self.table, self.fingerprint["terms"], "table")
        term_ptr = pointers(columns.numbers("<u4"))  # from the lengths
        if term_ptr[-1] > _MOST_BYTES:
            raise SchemaError(f"terms of at most {_MOST_BYTES:,} bytes", f"{term_ptr[-1]:,}", path="table")
        vocabulary = np.frombuffer(columns.next_bytes(int(term_ptr[-1])), np.uint8)
        fields = {name: self._field(name, has_positions, columns) for name, has_positions in self.fields.items()}
        checksum = terms_checksum(vocabulary, term_ptr, {name: field.doc_freq for name, field in fields.items()})
        if checksum != self.fingerprint["checksum"]:
            raise SchemaError(f"terms of checksum {self.fingerprint['checksum']}", f"those of {checksum}", path="table")
        return ForwardIndex(
            doc_ids=id_array([]),
            doc_slots=document_slots(id_array([])),
            vocabulary=vocabulary,
            term_ptr=term_ptr,
            fields=fields,
            fingerprint=self.fingerprint,
            numbers={name: np.empty(0) for name in self.numbers},
        )

    def _field(self, name: str, has_positions: bool, columns: _Columns) -> FieldArrays:
        """Return the arrays of a field without documents; its number of tokens is all that `position_ptr` holds."""
        counts = self.fingerprint["fields"][name]
        doc_freq = columns.numbers("<u4").astype(np.int32)
        collection_freq = doc_freq.astype(np.int64) + columns.numbers("<u8").astype(np.int64)
        if (doc_freq < 0).any() or (collection_freq < doc_freq).any():
            raise SchemaError("frequencies from 0", "others", path="table")
        none = np.empty(0, np.int32)
        return FieldArrays(
            name=name,
            doc_ptr=np.zeros(1, np.int64),
            terms=none,
            freqs=none,
            positions=none if has_positions else None,
            position_ptr=np.array([counts["tokens"]], np.int64),
            lengths=none,
            doc_freq=doc_freq,
            collection_freq=collection_freq,
            n_docs_with=counts["documents"],
        )

    def check(self) -> None:
        """Raise SchemaError for content that no statistics have."""
        if sorted(self.fields) != sorted(self.fingerprint["fields"]):
            raise SchemaError("the fields of the fingerprint", "others", path="fields")
        if not set(self.joined_fields or ()) <= set(self.fields):
            raise SchemaError("fields of the collection", "others", path="joined_fields")
        if 4 * self.n_vectors * self.dimensions > MOST_VECTOR_BYTES:
            raise SchemaError(f"vectors of at most {MOST_VECTOR_BYTES:,} bytes", "more", path="n_vectors")
        _ = self.forward


class _Columns:
    """Reads a table from its beginning on, no more than is asked for; raises SchemaError, which names the table."""

    def __init__(self, table: str, length: int, name: str) -> None:
        self._length = length
        self._name = name
        self._reader = zlib.decompressobj()
        try:
            self._rest = b64decode(table, validate=True)
        except binascii.Error:
            raise SchemaError("a compressed table in base64", "other text", path=name) from None

    def next_bytes(self, n_bytes: int) -> bytes:
        """Return the next bytes; refuse a table that ends before."""
        parts = [b""]
        while n_bytes:
            try:
                parts.append(self._reader.decompress(self._rest, n_bytes))
            except zlib.error:
                raise SchemaError("a compressed table", "a damaged one", path=self._name) from None
            self._rest = self._reader.unconsumed_tail
            n_bytes -= len(parts[-1])
            if not parts[-1]:
                raise SchemaError(f"columns of {self._length}", "shorter ones", path=self._name)
        return b"".join(parts)

    def numbers(self, dtype: str) -> NDArray[Any]:
        """Return the next column, a number for each of its rows."""
        size = np.dtype(dtype).itemsize
        planes = np.frombuffer(self.next_bytes(size * self._length), np.uint8).reshape(size, self._length)
        return np.ascontiguousarray(planes.T).view(dtype)[:, 0]


def _packed(table: bytes) -> str:
    """Return bytes compressed, in base64; the highest level takes six times as long and saves one percent."""
    return b64encode(zlib.compress(table, 4)).decode("ascii")


def _planes(values: NDArray[Any], dtype: str) -> bytes:
    """Return the bytes of numbers in planes, first the lowest byte of every number."""
    stored = np.asarray(values).astype(dtype)
    return np.ascontiguousarray(stored.view(np.uint8).reshape(-1, stored.itemsize).T).tobytes()
