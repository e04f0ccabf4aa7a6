"""Features of the user's own: one decorated Python function each.

    @rerank.feature("first_word", meaning="Whether the field holds the query's first word.")
    def first_word(matches):
        return matches.tf[:, 0] > 0

    @rerank.feature("is_review", over="document")
    def is_review(tokens, document):
        return "review" in document["title"].lower()

Data and models keep a function's name, never its code: where it is not defined, they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, MissingFileError, RerankError
from rerank.features.match import FieldBlock
from rerank.features.registry import Cost, Feature, Missing
from rerank.forward import FieldArrays
from rerank.types import Floats, Ints

Compute = TypeVar("Compute", bound=Callable[..., Any])
OVER = ("field", "document")
_functions: dict[str, Function] = {}


@dataclass(frozen=True, eq=False)
class Matches:
    """A query, and one field of each of its candidates: what a function over a field is given.

    terms       distinct terms of the query, as the analyser made them
    query_freq  (n_terms,) int64 occurrences in the query
    tf          (n_rows, n_terms) int32 occurrences in the candidate's field
    idf         (n_terms,) float64, Lucene's; 0 for a term that the field never holds
    lengths     (n_rows,) int32 tokens of the candidate's field
    docs        (n_rows,) int64 document numbers: places in the arrays of `field`
    scores      (n_rows,) float64 scores of the run
    field       forward arrays of the field
    """

    terms: tuple[str, ...]
    query_freq: Ints
    tf: NDArray[np.int32]
    idf: Floats
    lengths: NDArray[np.int32]
    docs: Ints
    scores: Floats
    field: FieldArrays

    @classmethod
    def of(cls, block: FieldBlock, query: int) -> Matches:
        """Return one query of a block."""
        candidates = block.candidates
        rows = slice(*candidates.query_ptr[query : query + 2].tolist())
        terms = slice(*candidates.term_ptr[query : query + 2].tolist())
        tf = block.tf[slice(*block.tf_ptr[query : query + 2].tolist())]
        return cls(
            terms=candidates.words[query],
            query_freq=candidates.query_freq[terms],
            tf=tf.reshape(rows.stop - rows.start, terms.stop - terms.start),
            idf=block.idf[terms],
            lengths=block.lengths[rows],
            docs=candidates.docs[rows],
            scores=candidates.scores[rows],
            field=block.field,
        )


@dataclass(frozen=True)
class Function:
    """A function that is a feature, and what it says of itself."""

    feature: Feature
    over: str
    compute: Callable[..., Any]

    def column(self, values: Any, n_rows: int) -> NDArray[np.float32]:
        """Return what the function gave as (n_rows,) float32; refuse another shape, text or infinity."""
        try:
            column = np.asarray(values, dtype=np.float32)
        except (TypeError, ValueError):
            column = np.full(1, np.inf, dtype=np.float32)
        if column.shape != (n_rows,) or np.isinf(column).any():
            raise InvalidInputError(
                f"feature {self.feature.name!r}: expected {n_rows} finite numbers, or NaN where missing, found "
                f"{type(values).__name__} of shape {column.shape}; mend the function."
            )
        return column


def feature(
    name: str,
    *,
    over: str = "field",
    meaning: str = "A feature of the user's own.",
    formula: str = "a Python function",
    source: str = "the user",
    unit: str = "the function's",
    low: float = -inf,
    high: float = inf,
) -> Callable[[Compute], Compute]:
    """Return a decorator that makes a function a feature.

    name  of the column; a function over a field becomes a column for each field (`name.title`)
    over  field: the function is given Matches and returns (n_rows,) numbers; document: it is given the query's
          tokens and the document (a mapping where it is JSON, else text) and returns one number
    NaN is missing. Raises InvalidInputError for a name that has a full stop or white space in it.
    """
    if over not in OVER:
        raise InvalidInputError(f"feature {name!r}: expected over={' or '.join(OVER)}, found {over!r}; name one.")
    if not name.isidentifier():
        raise InvalidInputError(
            f"feature {name!r}: expected a name of letters, digits and _, found another; rename it."
        )
    described = Feature(name, meaning, formula, source, unit, low, high, (Missing.FUNCTION,), Cost.PAIR)

    def define(compute: Compute) -> Compute:
        _functions[name] = Function(described, over, compute)
        return compute

    return define


def functions() -> Mapping[str, Function]:
    """Return the functions that are defined, by name."""
    return _functions


def load_functions(path: str | Path) -> None:
    """Run a Python file of the user's that defines features.

    Raises MissingFileError, or InvalidInputError with what Python says of the file.
    """
    file = Path(path)
    if not file.is_file():
        raise MissingFileError(file, "a Python file with features")
    spec = spec_from_file_location(f"rerank_functions_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInputError(f"{file}: expected a Python file, found another ending; name it .py.")
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except RerankError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{file}: expected Python that runs, found {type(error).__name__}: {error}; mend it."
        ) from error
