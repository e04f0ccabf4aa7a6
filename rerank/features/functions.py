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
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from inspect import unwrap
from math import inf
from numbers import Real
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, MissingFileError, RerankError
from rerank.features.base import Cost, Feature, Missing
from rerank.features.match import FieldBlock
from rerank.features.statistics import frozen, kept_with_field
from rerank.types import Floats, Ints
from rerank.types.forward import FieldArrays

Compute = TypeVar("Compute", bound=Callable[..., Any])
OVER = ("field", "document")
_functions: dict[str, Function] = {}
_MOST_CHARACTERS = 200  # of what an exception says


@dataclass(frozen=True, eq=False)
class Matches:
    """A query, and one field of each of its candidates: what a function over a field is given, read-only.

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
            query_freq=frozen(candidates.query_freq[terms]),
            tf=frozen(tf.reshape(rows.stop - rows.start, terms.stop - terms.start)),
            idf=frozen(block.idf[terms]),
            lengths=frozen(block.lengths[rows]),
            docs=frozen(candidates.docs[rows]),
            scores=frozen(candidates.scores[rows]),
            field=_frozen_field(block.field),
        )


@dataclass(frozen=True)
class Function:
    """A function that is a feature, and what it says of itself."""

    feature: Feature
    over: str
    compute: Callable[..., Any]

    def call(self, place: str, *arguments: Any) -> Any:
        """Return what the function makes of some arguments; whatever it raises but Ctrl-C is an InvalidInputError.

        place  query and document, for the error
        """
        try:
            return self.compute(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InvalidInputError(
                f"{self._line(error)}feature {self.feature.name!r}: expected numbers for {place}, got "
                f"{_described(error)}. Correct the function."
            ) from error

    def column(self, values: Any, n_rows: int, place: str) -> NDArray[np.float32]:
        """Return what the function gave as (n_rows,) float32; refuse another shape, text, complex or infinite numbers.

        place  query and document, for the error
        """
        try:
            column = _as_float32(values)
        except KeyboardInterrupt:
            raise
        except BaseException:  # the object is the user's, and so is the code that converts it
            column = None
        if column is None or column.shape != (n_rows,) or np.isinf(column).any():
            shape = "" if column is None else f" of shape {column.shape}"
            infinite = column is not None and column.shape == (n_rows,)
            raise InvalidInputError(
                f"{self._line()}feature {self.feature.name!r}: expected {n_rows} finite numbers, or NaN where missing, "
                f"got {'a number that float32 cannot hold' if infinite else type(values).__name__ + shape} for "
                f"{place}. Correct the function."
            )
        return column

    def _line(self, error: BaseException | None = None) -> str:
        """Return file and line of the function, or of the line in its file that raised an error; empty for others'."""
        code = getattr(unwrap(self.compute), "__code__", None)
        if code is None:
            return ""
        frames = [] if error is None else extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        return f"{code.co_filename}:{lines[-1] if lines else code.co_firstlineno}: "


def _as_float32(values: Any) -> NDArray[np.float32] | None:
    """Return numbers as float32, infinity where they are too large, NaN for None or masked; None for what is no number.

    Raises what the objects' own conversions raise.
    """
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind == "O":
        if not all(value is None or isinstance(value, Real | Decimal) for value in array.ravel().tolist()):
            return None
    elif array.dtype.kind not in "biuf":
        return None
    with np.errstate(over="ignore"):
        column = array.astype(np.float32)
    return np.ma.filled(column, np.nan) if isinstance(column, np.ma.MaskedArray) else column


def _described(error: BaseException) -> str:
    """Return name and text of an exception, in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # its __str__ is the user's
        text = ""
    text = text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + " ..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@kept_with_field
def _frozen_field(field: FieldArrays) -> FieldArrays:
    """Return the arrays of a field, read-only."""
    arrays = {each.name: getattr(field, each.name) for each in fields(field)}
    views: dict[str, Any] = {name: frozen(array) for name, array in arrays.items() if isinstance(array, np.ndarray)}
    return replace(field, **views)


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
        raise InvalidInputError(f"feature {name!r}: expected over={' or '.join(OVER)}, got {over!r}. Name one.")
    if not name.isidentifier():
        raise InvalidInputError(f"feature {name!r}: expected a name of letters, digits and _, got another. Rename it.")
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

    Raises MissingFileError, or InvalidInputError with what Python says of the file, or where the file calls exit.
    """
    file = Path(path)
    if file.is_dir():
        raise InvalidInputError(f"{file}: expected a Python file with features, got a folder. Name the file.")
    if not file.is_file():
        raise MissingFileError(file, "a Python file with features")
    spec = spec_from_file_location(f"rerank_functions_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInputError(f"{file}: expected a Python file, got another ending. Name it .py.")
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except (RerankError, KeyboardInterrupt):
        raise
    except BaseException as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = f" (line {lines[-1]})" if lines else ""
        raise InvalidInputError(
            f"{file}: expected Python that runs, got {_described(error)}{line}. Correct it."
        ) from error
