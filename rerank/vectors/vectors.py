"""Vectors of an index: learned from its documents, kept in memory or in a memory-mapped file."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.mapped import BlockArray, MappedFault, MappedFile, read_mapped, write_mapped
from rerank.runtime.mapped_rows import read_in_order
from rerank.types.arrays import Ints
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.retriever import CONTENTS
from rerank.vectors.lsi import DIMENSIONS, learn_lsi
from rerank.vectors.space import LSI, WORDS, Space
from rerank.vectors.words import DIMENSIONS as WORD_DIMENSIONS
from rerank.vectors.words import learn_words

KIND, FORMAT = "vectors", 1
OTHER = "an index with other documents or another analyser"
REMEDY = "Learn them with `rerank vectors`."
MOST_DIMENSIONS = 4096
_BLOCK = 1 << 16  # ids hashed at a time
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class Vectors:
    """Spaces of vectors of an index's terms and documents.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index.
    spaces : mapping from str to Space
        The spaces by name: `lsi`, and `words` where the index has positions.
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
        word_dimensions: int = WORD_DIMENSIONS,
        threads: int | None = None,
    ) -> Self:
        """Learn vectors from the documents of an index.

        Latent semantic indexing: the right singular vectors of the tf-idf matrix of the whole documents, of at most
        1,000,000 documents drawn at random and of the 131,072 terms that most documents hold. Memory is about
        8 bytes for each entry of the matrix, and 16 bytes for each learned term and dimension.

        Parameters
        ----------
        index : Index or ForwardIndex
            The index.
        dimensions, word_dimensions : int
            Number of dimensions of latent semantic indexing and of word vectors; fewer where documents or terms are
            fewer.
        threads : int, optional
            Number of threads; by default one per core. The result does not depend on it, bit for bit.

        Returns
        -------
        Vectors
            The vectors.

        """
        for name, value in (("dimensions", dimensions), ("word_dimensions", word_dimensions)):
            if not isinstance(value, int | np.integer) or not 1 <= value <= MOST_DIMENSIONS:
                raise InvalidInputError(
                    f"{name}: expected a whole number from 1 to {MOST_DIMENSIONS}, got {shown(value)}. Pass e.g. 400."
                )
        forward: ForwardIndex = getattr(index, "forward", index)
        whole = whole_document(forward)
        with read_in_order(whole.terms, whole.freqs, whole.positions):
            spaces = {LSI: learn_lsi(whole, int(dimensions), threads)[0]}
            if whole.positions is None:
                _log.info("word vectors are left out: the index has no positions.")
            else:
                spaces[WORDS] = learn_words(whole, int(word_dimensions), threads)
        return cls(forward, spaces)

    @cached_property
    def checksum(self) -> str:
        """A hash of the vectors of the terms, 16 hexadecimal digits; features and models name it."""
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
        arrays: dict[str, NDArray[Any] | BlockArray] = {}
        for name, space in self.spaces.items():
            arrays |= {
                f"{name}.rows": space.rows,
                f"{name}.weights": space.weights,
                f"{name}.terms": space.term_vectors,
            }
            for of_field, postings in self.forward.fields.items():
                shape = (self.forward.n_docs, space.dimensions)
                arrays[f"{name}.{of_field}"] = BlockArray(np.dtype("<f4"), shape, space.document_blocks(postings))
        write_mapped(path, KIND, FORMAT, values, arrays)

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
        content = read_mapped(path, KIND, FORMAT, check_contents, REMEDY)
        check_identity(str(path), content.values, forward)
        spaces, stored = _read_spaces(content)
        n_terms = len(forward.term_ptr) - 1
        if any(len(space.rows) != n_terms for space in spaces.values()) or any(
            len(array) != forward.n_docs for array in stored.values()
        ):
            raise FileFormatError(path, None, f"expected a vector of each document, got another number. {REMEDY}")
        of_fields = {key: array for key, array in stored.items() if key[1] in forward.fields}
        return cls(forward, spaces, of_fields, content.values["checksum"])

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
        return self.spaces[space].documents(self.forward.fields[of_field], docs)

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
        if stored is not None:
            return stored
        return self.documents(space, of_field, np.arange(self.forward.n_docs))


def whole_document(forward: ForwardIndex) -> FieldArrays:
    """Return the field of the whole document; the first field where the index has none."""
    return forward.fields.get(CONTENTS) or next(iter(forward.fields.values()))


def identity(forward: ForwardIndex) -> dict[str, Any]:
    """Return the fingerprint of an index, and a hash of its document ids in their order, which arrays depend on."""
    ids, separator = hashlib.sha256(), ""
    for first in range(0, forward.n_docs, _BLOCK):
        block = separator + "\n".join(forward.doc_ids[first : first + _BLOCK].tolist())
        ids.update(block.encode("utf8", "surrogatepass"))
        separator = "\n"
    return {"fingerprint": dict(forward.fingerprint), "documents": ids.hexdigest()}


def check_identity(what: str, values: Mapping[str, Any], forward: ForwardIndex) -> None:
    """Refuse what was learned from another index; `values` is the output of `identity`."""
    own = identity(forward)
    if values["fingerprint"] != own["fingerprint"]:
        raise InvalidInputError(f"{what}: expected vectors of this index, got those of {OTHER}. {REMEDY}")
    if values["documents"] != own["documents"]:
        raise InvalidInputError(
            f"{what}: expected vectors of this index, got those of an index with the documents in another order. "
            f"{REMEDY}"
        )


def check_contents(content: MappedFile) -> None:
    """Raise MappedFault for impossible vectors: rows out of range, numbers that are not finite."""
    spaces, stored = _read_spaces(content)
    for name, space in spaces.items():
        if len(space.rows) and not -1 <= space.rows.min() <= space.rows.max() < len(space.term_vectors):
            raise MappedFault(f"{name}.rows beyond the terms")
        for array in (space.weights, space.term_vectors):
            check_finite(name, array)
    for (name, of_field), array in stored.items():
        check_finite(f"{name}.{of_field}", array)
    if content.values["checksum"] != _checksum(spaces):
        raise MappedFault("vectors with another checksum than their own")


def _checksum(spaces: Mapping[str, Space]) -> str:
    """Return a hash of the vectors of the terms."""
    digest = hashlib.sha256()
    for name, space in spaces.items():
        digest.update(name.encode("utf8"))
        for array in (space.rows, space.weights, space.term_vectors):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def check_finite(name: str, array: NDArray[np.float32]) -> None:
    """Raise MappedFault for numbers that are not finite; the array is read in blocks of rows."""
    rows = 1 << 12
    if not all(np.isfinite(array[first : first + rows]).all() for first in range(0, len(array), rows)):
        raise MappedFault(f"numbers of {name} that are not finite")


def _read_spaces(content: MappedFile) -> tuple[dict[str, Space], dict[tuple[str, str], NDArray[np.float32]]]:
    """Return the spaces of a file and its vectors of documents; raise MappedFault where they do not fit together."""
    values = content.values
    names, fields = _names(values.get("spaces")), _names(values.get("fields"))
    texts = (values.get("documents"), values.get("checksum"))
    if not isinstance(values.get("fingerprint"), dict) or not all(isinstance(text, str) for text in texts):
        raise MappedFault("a damaged header")
    spaces, stored, n_docs = {}, {}, None
    for name in names:
        rows = content.array(f"{name}.rows", np.int32, None)
        terms = content.array(f"{name}.terms", np.float32, None, None)
        spaces[name] = Space(rows, content.array(f"{name}.weights", np.float32, len(rows)), terms)
        for of_field in fields:
            array = content.array(f"{name}.{of_field}", np.float32, n_docs, terms.shape[1])
            stored[name, of_field], n_docs = array, len(array)
    return spaces, stored


def _names(value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value):
        return value
    raise MappedFault("a damaged header")
