"""Encoders: functions from texts to vectors, which users bring or name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.runtime.registry import exception_text, named_function
from rerank.vectors.encoders_by_name import named_functions
from rerank.vectors.vectors import MOST_DIMENSIONS

_BATCH = 256  # texts of a call


@dataclass(frozen=True, eq=False)
class Encoder:
    """A function from texts to vectors.

    Parameters
    ----------
    name : str
        `module:function`, or the name of a model, see `encoders_by_name.py`.
    function : callable
        Takes a list of n texts, returns an array-like of shape (n, dimensions).
    query_function : callable or None
        The same of queries, where it is another function.

    """

    name: str
    function: Callable[[list[str]], Any]
    query_function: Callable[[list[str]], Any] | None = None

    @classmethod
    def of(cls, encoder: Encoder | str | Callable[[list[str]], Any]) -> Encoder:
        """Return an encoder as it is, of a callable, or of a name; raises InvalidInputError."""
        if isinstance(encoder, cls):
            return encoder
        if isinstance(encoder, str) and (functions := named_functions(encoder)) is not None:
            return cls(encoder, *functions)
        return cls(*named_function("encoder", encoder, "from a list of texts to an array"))

    def encode_queries(self, texts: Sequence[str], dimensions: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of queries."""
        return Encoder(self.name, self.query_function or self.function).encode(texts, dimensions)

    def encode(self, texts: Sequence[str], dimensions: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if not rows:
            return np.zeros((len(texts), dimensions or 1), dtype=np.float32)
        batches = [rows[first : first + _BATCH] for first in range(0, len(rows), _BATCH)]
        parts = [self._called([texts[row] for row in batch]) for batch in batches]
        if len({part.shape[1] for part in parts} | ({dimensions} if dimensions else set())) > 1:
            raise self._fault(f"{dimensions or parts[0].shape[1]} dimensions in every call", f"{parts[-1].shape[1]}")
        out = np.zeros((len(texts), parts[0].shape[1]), dtype=np.float32)
        out[rows] = np.concatenate(parts)
        return out

    def _called(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the checked vectors of one call."""
        try:
            returned = self.function(list(texts))
        except Exception as error:
            raise self._fault("vectors", exception_text(error)) from error
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(returned, dtype=np.float32)
        except (TypeError, ValueError):
            raise self._fault("an array of numbers", type(returned).__name__) from None
        if vectors.ndim != 2 or len(vectors) != len(texts) or not 1 <= vectors.shape[1] <= MOST_DIMENSIONS:
            raise self._fault(
                f"shape ({len(texts)}, dimensions) with 1 to {MOST_DIMENSIONS} dimensions", f"{vectors.shape}"
            )
        are_finite = np.isfinite(vectors).all(axis=1)
        if not are_finite.all():
            raise self._fault("finite numbers", f"NaN or infinity for the text {shown(texts[are_finite.argmin()])}")
        have_length = vectors.any(axis=1)
        if not have_length.all():
            raise self._fault("vectors other than zero", f"zero for the text {shown(texts[have_length.argmin()])}")
        return vectors

    def _fault(self, expected: str, got: str) -> InvalidInputError:
        return InvalidInputError(f"encoder {self.name}: expected {expected}, got {got}. Correct the function.")
