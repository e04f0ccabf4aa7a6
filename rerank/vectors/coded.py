"""Vectors in eight bits a dimension: they exclude most documents from being among the nearest of a query.

A document's vector of d dimensions, divided by its norm, is u = s c + r, with a step s and whole numbers c from -127 to
127, so that |r| is s sqrt(d) / 2 at most. A query's vector is v = t b + w, with whole numbers b of 16 bits. The cosine
u v differs from s t (c b) by |r| + |w| (1 + |r|) at most. Products of whole numbers are faster than those of float32
(`benchmarks nearest`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import dot
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.types import Ints
from rerank.vectors.space import unit_vectors

_FEW = 1 << 12  # documents, of which all are compared
_SLACK = 1e-4  # more than sums of float32 and the six digits of scores change a cosine
_LARGEST = 127
_LARGEST_OF_QUERY = 32_767
_LARGEST_SUM = 1 << 30  # of products, in 32 bits


class CodedVectors(NamedTuple):
    """Vectors of documents in eight bits a dimension.

    Attributes
    ----------
    codes : int8 array of shape (n_docs, dimensions)
        The whole numbers c of each vector.
    norms : float32 array of shape (n_docs,)
        The norm of each.
    steps : float32 array of shape (n_docs,)
        The step s of each.

    """

    codes: NDArray[np.int8]
    norms: NDArray[np.float32]
    steps: NDArray[np.float32]

    @classmethod
    def of(cls, documents: NDArray[np.float32]) -> CodedVectors:
        """Return the vectors (n_docs, dimensions), coded."""
        numbers = np.empty((2, len(documents)), dtype=np.float32)
        coded = cls(np.empty(documents.shape, dtype=np.int8), *numbers)
        _fill_codes(read_only_view(documents), *coded)
        return coded

    def possible(self, query: NDArray[np.float32], k: int) -> Ints:
        """Return the documents that may be among the k of the greatest cosine above 0, ascending.

        A document is left out only where the cosines of k others are certainly greater, even rounded to six digits.
        """
        n_docs, dimensions = self.codes.shape
        if n_docs <= max(k, _FEW):
            return np.arange(n_docs)
        unit = unit_vectors(query[None])[0].astype(np.float64)
        step = max(np.abs(unit).max() / _LARGEST_OF_QUERY, _LARGEST * np.sqrt(dimensions) / _LARGEST_SUM)
        codes = np.rint(unit / step).astype(np.int16)
        error = np.linalg.norm(unit - step * codes)
        lowest, highest = np.empty((2, n_docs), dtype=np.float32)
        _fill_bounds(codes, step, error, self.codes, self.steps, lowest, highest)
        least = np.partition(lowest, n_docs - k)[n_docs - k]
        return np.flatnonzero(highest >= max(least, 0.0))


@kernel()
def _fill_codes(documents, codes, norms, steps):
    """Fill the arrays of `CodedVectors`; those of a vector of zeros are 0."""
    for doc in range(len(documents)):
        norms[doc] = np.sqrt(dot(documents[doc], documents[doc]))
        largest = np.float32(0.0)
        for value in documents[doc]:
            largest = max(largest, abs(value))
        is_zero = norms[doc] == 0.0
        steps[doc] = 0.0 if is_zero else largest / (_LARGEST * norms[doc])
        scale = np.float32(0.0 if is_zero else _LARGEST / largest)
        for dimension in range(documents.shape[1]):
            codes[doc, dimension] = np.int8(np.rint(documents[doc, dimension] * scale))


@kernel()
def _fill_bounds(query, query_step, query_error, codes, steps, lowest, highest):
    """Fill `lowest` and `highest` (n_docs,) with bounds of the cosine of each document."""
    most_left = np.sqrt(len(query)) / 2.0
    for doc in range(len(codes)):
        products = np.int32(0)
        for dimension in range(len(query)):
            products += np.int32(query[dimension]) * np.int32(codes[doc, dimension])
        cosine = query_step * steps[doc] * products
        left = steps[doc] * most_left
        width = left + query_error * (1.0 + left) + _SLACK
        lowest[doc] = cosine - width
        highest[doc] = cosine + width
