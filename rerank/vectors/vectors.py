"""Vectors of an index: learned from its documents, kept in memory or in a memory-mapped file.

Latent semantic indexing: the vectors of terms are singular vectors of the matrix of documents and terms (`space.py`
says what the vectors of texts are).

References
----------
Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.files.source import check_file
from rerank.runtime import store
from rerank.runtime.elementary import log
from rerank.runtime.fields import Field, Names, Plain, Record, Text, Whole, read_at
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.store import Blocks, Fault, Kind, Stored, note_path
from rerank.runtime.threads import kernel_threads
from rerank.types import CONTENTS, FieldArrays, Floats, ForwardIndex, Ints, pointers
from rerank.vectors.query_map import learn_query_map
from rerank.vectors.space import Space, learned_rows, log_idf, rounded, sampled_documents
from rerank.vectors.svd import SparseRows, right_singular_vectors

LSI, ENCODER = "lsi", "encoder"  # names of the spaces
DIMENSIONS = 400
MOST_DOCUMENTS = 1_000_000  # that are learned from; of more, this many are drawn at random
OTHER = "an index with other documents or another analyser"
REMEDY = "Learn them with `rerank vectors`."
MOST_DIMENSIONS = 4096
_BLOCK = 1 << 16  # ids hashed at a time
IDENTITY: dict[str, Field] = {"fingerprint": Plain(optional=False), "documents": Text(64)}  # see `identity`
_HEADER = Record({**IDENTITY, "checksum": Text(16), "spaces": Names(), "fields": Names()})


def learn_lsi(field: FieldArrays, dimensions: int = DIMENSIONS, threads: int | None = None) -> tuple[Space, Floats]:
    """Return the space of the right singular vectors of the tf-idf matrix, and the singular values.

    A row of the matrix has w(t) = (1 + ln tf) * ln(N / df) of a document's terms, divided by its norm. Columns are the
    terms that most documents hold, ties by term number.

    Shapes: values float64 (dimensions,).
    """
    rows = learned_rows(field)
    weights = log_idf(field).astype(np.float32)
    docs = sampled_documents(len(field.lengths), MOST_DOCUMENTS)
    doc_ptr, terms, freqs, docs = map(read_only_view, (field.doc_ptr, field.terms, field.freqs, docs))
    counts = np.zeros(len(docs), dtype=np.int64)
    _count_known(doc_ptr, terms, docs, rows, counts)
    matrix = SparseRows(
        pointers(counts),
        np.empty(counts.sum(), np.int32),
        np.empty(counts.sum(), np.float32),
        int(rows.max(initial=-1)) + 1,
    )
    _fill_rows(doc_ptr, terms, freqs, docs, rows, weights, matrix)
    vectors, values = right_singular_vectors(matrix, dimensions, threads)
    return Space.of(field, rounded(vectors)), values


@kernel()
def _count_known(doc_ptr, terms, docs, rows, out):
    """Fill `out` (n,) with the number of terms of each document that have a row."""
    for index in range(len(docs)):
        for posting in range(doc_ptr[docs[index]], doc_ptr[docs[index] + 1]):
            out[index] += rows[terms[posting]] >= 0


@kernel()
def _fill_rows(doc_ptr, terms, freqs, docs, rows, weights, out):
    """Fill the columns and the normalised values of each document's row in `out`, SparseRows."""
    for index in range(len(docs)):
        entry = out.row_ptr[index]
        squares = 0.0
        for posting in range(doc_ptr[docs[index]], doc_ptr[docs[index] + 1]):
            row = rows[terms[posting]]
            if row >= 0:
                value = (1.0 + log(np.float64(freqs[posting]))) * weights[terms[posting]]
                out.columns[entry], out.values[entry] = row, value
                squares += value * value
                entry += 1
        if squares > 0.0:
            for known in range(out.row_ptr[index], out.row_ptr[index + 1]):
                out.values[known] /= np.sqrt(squares)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of the terms and documents of an index, in one or more spaces.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index.
    spaces : mapping from str to Space
        The spaces by name: `lsi`.
    stored : mapping from (str, str) to ndarray of shape (n_docs, dimensions) and dtype float32
        Vectors of all documents by space and field, where they are in a file; others are computed when they are used.
    known_checksum : str or None
        The checksum, where a file has it.

    """

    forward: ForwardIndex
    spaces: Mapping[str, Space]
    stored: Mapping[tuple[str, str], NDArray[np.float32]] = field(default_factory=dict)
    known_checksum: str | None = None

    @classmethod
    def learn(
        cls,
        index: Any,
        *,
        dimensions: int = DIMENSIONS,
        threads: int | None = None,
    ) -> Self:
        """Learn vectors from the documents of an index.

        Latent semantic indexing: the right singular vectors of the tf-idf matrix of the whole documents, of at most
        1,000,000 documents drawn at random and of the 131,072 terms that most documents hold. Memory is about
        8 bytes for each entry of the matrix, and 16 bytes for each learned term and dimension. Where the index has
        positions, a map of queries is learned, too, from the first and the other words of documents.

        Parameters
        ----------
        index : Index or ForwardIndex
            The index.
        dimensions : int
            Number of dimensions; fewer where documents or terms are fewer.
        threads : int, optional
            Number of threads; by default one per core. The result does not depend on it, bit for bit.

        Returns
        -------
        Vectors
            The vectors.

        """
        dimensions = read_at("dimensions", Whole(1, MOST_DIMENSIONS), dimensions)
        forward: ForwardIndex = getattr(index, "forward", index)
        whole = _whole(forward)
        with read_in_order(whole.terms, whole.freqs):
            space, _ = learn_lsi(whole, int(dimensions), threads)
            with kernel_threads(threads):
                learned = learn_query_map(space, whole, forward.fields.get("title"))
            query_map = None if learned is None else rounded(learned.astype(np.float32))
            return cls(forward, {LSI: replace(space, query_map=query_map)})

    @cached_property
    def checksum(self) -> str:
        """A hash of the vectors of the terms and of the map of queries, 16 hexadecimal digits; models name it."""
        return _checksum(self.spaces) if self.known_checksum is None else self.known_checksum

    def on(self, forward: ForwardIndex) -> Vectors:
        """Return the vectors with the documents of other arrays: of texts that the index does not hold.

        Parameters
        ----------
        forward : ForwardIndex
            Arrays of the documents.

        Returns
        -------
        Vectors
            The vectors themselves, where the documents are the same.

        Raises
        ------
        InvalidInputError
            If the arrays are of another index.

        """
        if forward is self.forward:
            return self
        if dict(forward.fingerprint) != dict(self.forward.fingerprint):
            raise InvalidInputError(f"vectors: expected vectors of this index, got those of {OTHER}. {REMEDY}")
        same = np.array_equal(forward.doc_ids, self.forward.doc_ids) and not forward.new_terms
        texts = any(of_field.collection is not None for of_field in forward.fields.values())
        return self if same and not texts else replace(self, forward=forward, stored={})

    def save(self, path: str | Path) -> None:
        """Write the vectors of all terms and documents to a file; the same vectors give the same bytes.

        Parameters
        ----------
        path : str or Path
            The file; it is complete or missing.

        """
        values = {
            **identity(self.forward),
            "checksum": self.checksum,
            "spaces": list(self.spaces),
            "fields": list(self.forward.fields),
        }
        arrays: dict[str, NDArray[Any] | Blocks] = {}
        for name, space in self.spaces.items():
            arrays |= {
                f"{name}.rows": space.rows,
                f"{name}.weights": space.weights,
                f"{name}.terms": space.term_vectors,
            }
            if space.query_map is not None:
                arrays[f"{name}.queries"] = space.query_map
            for of_field, postings in self.forward.fields.items():
                shape = (self.forward.n_docs, space.dimensions)
                arrays[f"{name}.{of_field}"] = Blocks(np.float32, shape, space.document_blocks(postings))
        store.write(path, KIND, values, arrays)

    @classmethod
    def read(cls, path: str | Path, index: Any) -> Self:
        """Read the vectors of an index from a file; the arrays are memory maps.

        Parameters
        ----------
        path : path
            File that `save` wrote.
        index : Index or ForwardIndex
            The index that the vectors were learned from.

        Returns
        -------
        Vectors
            The vectors.

        Raises
        ------
        MissingFileError
            If there is no such file.
        FileFormatError
            If the file is damaged, or not one of vectors.
        InvalidInputError
            If the vectors are of another index.

        """
        forward: ForwardIndex = getattr(index, "forward", index)
        path = check_file(path, "a file of vectors")
        values, arrays = store.read(path, KIND, [note_path(path)])
        own = identity(forward)
        if any(values[name] != own[name] for name in own):
            other = OTHER if values["fingerprint"] != own["fingerprint"] else "an index with documents in another order"
            raise InvalidInputError(f"{path}: expected vectors of this index, got those of {other}. {REMEDY}")
        spaces = _spaces(values, arrays)
        fields = [field for field in values["fields"] if field in forward.fields]
        stored = {(name, field): arrays[f"{name}.{field}"] for name in spaces for field in fields}
        if any(len(space.rows) != len(forward.term_ptr) - 1 for space in spaces.values()) or any(
            len(array) != forward.n_docs for array in stored.values()
        ):
            raise KIND.error(path, "vectors of another number of terms or documents")
        return cls(forward, spaces, stored, values["checksum"])

    def queries(self, space: str, query_terms: Any) -> NDArray[np.float32]:
        """Return the vectors of queries in a space, see `Space.queries`.

        Parameters
        ----------
        space : str
            Name of the space.
        query_terms : sequence of sequence of str
            Tokens of each query.

        Returns
        -------
        ndarray of shape (n_queries, dimensions), dtype float32
            The vectors.

        """
        return self.spaces[space].queries(self.forward, query_terms)

    def documents(self, space: str, of_field: str, docs: Ints) -> NDArray[np.float32]:
        """Return the vectors of a field of documents in a space, (n, dimensions) float32, by document number.

        Parameters
        ----------
        space : str
            Name of the space.
        of_field : str
            The field.
        docs : ndarray of shape (n,), dtype int64
            Numbers of the documents.

        Returns
        -------
        ndarray of shape (n, dimensions), dtype float32
            The vectors.

        """
        stored = self.stored.get((space, of_field))
        if stored is not None:
            return stored[docs]
        field = self.forward.fields[of_field]
        return self.spaces[space].project(field.doc_ptr, field.terms, field.freqs, docs)

    def all_documents(self, space: str, of_field: str = CONTENTS) -> NDArray[np.float32]:
        """Return the vectors of a field of all documents in a space, (n_docs, dimensions) float32.

        Parameters
        ----------
        space : str
            Name of the space.
        of_field : str
            The field.

        Returns
        -------
        ndarray of shape (n_docs, dimensions), dtype float32
            The vectors, by document number.

        """
        stored = self.stored.get((space, of_field))
        return self.documents(space, of_field, np.arange(self.forward.n_docs)) if stored is None else stored


def _whole(forward: ForwardIndex) -> FieldArrays:
    """Return the field that vectors are learned from."""
    return forward.fields.get(CONTENTS) or next(iter(forward.fields.values()))


def vectors_of_terms(
    forward: ForwardIndex, term_vectors: NDArray[np.float32], query_map: NDArray[np.float32] | None
) -> Vectors:
    """Return the vectors of a collection whose vectors of terms, (n, dimensions) float32, and map are known."""
    return Vectors(forward, {LSI: Space.of(_whole(forward), term_vectors, query_map)})


def identity(forward: ForwardIndex) -> dict[str, Any]:
    """Return the fingerprint of an index, and a hash of its document ids in their order, which arrays depend on."""
    ids = hashlib.sha256()
    for first in range(0, forward.n_docs, _BLOCK):
        block = "\n".join(["", *forward.doc_ids[first : first + _BLOCK].tolist()])
        ids.update(block.removeprefix("" if first else "\n").encode("utf8", "surrogatepass"))
    return {"fingerprint": dict(forward.fingerprint), "documents": ids.hexdigest()}


def _arrays(values: Mapping[str, Any]) -> dict[str, Stored]:
    arrays: dict[str, Stored] = {}
    for name in values["spaces"]:
        columns = f"dimensions of {name}"
        of_documents = Stored(np.float32, ("n_docs", columns), mapped=True)
        arrays |= {
            f"{name}.rows": Stored(np.int32, ("n_terms",), mapped=True),
            f"{name}.weights": Stored(np.float32, ("n_terms",), mapped=True),
            f"{name}.terms": Stored(np.float32, (f"terms of {name}", columns), mapped=True),
            f"{name}.queries": Stored(np.float32, (columns, columns), mapped=True, optional=True),
            **{f"{name}.{of_field}": of_documents for of_field in values["fields"]},
        }
    return arrays


def _check(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise Fault for impossible vectors: rows out of range, numbers that are not finite."""
    spaces = _spaces(values, arrays)
    for name, space in spaces.items():
        if len(space.rows) and not -1 <= space.rows.min() <= space.rows.max() < len(space.term_vectors):
            raise Fault(f"{name}.rows beyond the terms")
    for name, array in arrays.items():
        if array.dtype == np.float32:
            check_finite_array(name, array)
    if values["checksum"] != _checksum(spaces):
        raise Fault("vectors with another checksum than their own")


def _spaces(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Space]:
    return {
        name: Space(
            arrays[f"{name}.rows"], arrays[f"{name}.weights"], arrays[f"{name}.terms"], arrays.get(f"{name}.queries")
        )
        for name in values["spaces"]
    }


KIND = Kind("rerank vectors", 1, "vectors", REMEDY, _HEADER, _arrays, _check)


def _checksum(spaces: Mapping[str, Space]) -> str:
    """Return a hash of the vectors of the terms and of the map of queries."""
    digest = hashlib.sha256()
    for name, space in spaces.items():
        digest.update(name.encode("utf8"))
        learned = () if space.query_map is None else (space.query_map,)
        for array in (space.rows, space.weights, space.term_vectors, *learned):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def check_finite_array(name: str, array: NDArray[np.float32]) -> None:
    """Raise Fault for numbers that are not finite; the array is read in blocks of rows."""
    rows = 1 << 12
    if not all(np.isfinite(array[first : first + rows]).all() for first in range(0, len(array), rows)):
        raise Fault(f"numbers of {name} that are not finite")
