"""User-defined features: one decorated Python function each.

    @rerank.feature("first_word", meaning="Whether the field holds the query's first word.")
    def first_word(matches):
        return matches.tf[:, 0] > 0

    @rerank.feature("is_review", over="document")
    def is_review(tokens, document):
        return "review" in document["title"].lower()

Data and models store a function's name, never its code: if the function is not defined when they are used, an error
names it. The family `function` calls functions over a field, `document` those over the raw document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.features.family import Feature, FieldFamily, Missing, RunFamily, register
from rerank.features.match import CandidateBatch, FieldBlock
from rerank.features.recipe import Recipe
from rerank.files.source import check_file
from rerank.runtime.json_text import check_nesting
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.registry import exception_text
from rerank.types import FieldArrays, Floats, Ints

Compute = TypeVar("Compute", bound=Callable[..., Any])
OVER = ("field", "document")
FUNCTIONS: dict[str, Function] = {}  # the defined functions by name


@dataclass(frozen=True, eq=False)
class Matches:
    """A query, and one field of each of its candidates: the read-only argument of a function over a field.

    Parameters
    ----------
    terms : tuple of str
        Distinct terms of the query, as the analyser made them.
    query_freq : ndarray of shape (n_terms,) and dtype int64
        Occurrences in the query.
    tf : ndarray of shape (n_rows, n_terms) and dtype int32
        Occurrences in the candidate's field.
    idf : ndarray of shape (n_terms,) and dtype float64
        Lucene's idf; 0 for a term that occurs in the field of no document.
    lengths : ndarray of shape (n_rows,) and dtype int32
        Tokens of the candidate's field.
    docs : ndarray of shape (n_rows,) and dtype int64
        Document numbers: indices into the arrays of `field`.
    scores : ndarray of shape (n_rows,) and dtype float64
        Scores of the run.
    field : FieldArrays
        Forward arrays of the field.

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
        return cls(
            terms=candidates.words[query],
            query_freq=read_only_view(candidates.query_freq[terms]),
            tf=read_only_view(block.tf_of(query)),
            idf=read_only_view(block.idf[terms]),
            lengths=read_only_view(block.lengths[rows]),
            docs=read_only_view(candidates.docs[rows]),
            scores=read_only_view(candidates.scores[rows]),
            field=block.field,
        )


@dataclass(frozen=True)
class Function:
    """A user-defined function, its documentation as a feature, and whether it is over a field or a document."""

    feature: Feature
    over: str
    compute: Callable[..., Any]

    def call(self, subject: str, *arguments: Any) -> Any:
        """Return the function's result; any exception but KeyboardInterrupt becomes an InvalidInputError.

        subject  query and document, for the error
        """
        try:
            return self.compute(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InvalidInputError(
                f"{self._line(error)}feature {self.feature.name!r}: expected numbers for {subject}, got "
                f"{exception_text(error)}. Correct the function."
            ) from error

    def column(self, values: Any, n_rows: int, subject: str) -> NDArray[np.float32]:
        """Return the function's result as (n_rows,) float32; refuse other shapes, text, complex and infinite numbers.

        subject  query and document, for the error
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
                f"{subject}. Correct the function."
            )
        return column

    def _line(self, error: BaseException | None = None) -> str:
        """Return file and line of the function, or of the line in its file that raised an error; empty if unknown."""
        code = getattr(unwrap(self.compute), "__code__", None)
        if code is None:
            return ""
        frames = [] if error is None else extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        return f"{code.co_filename}:{lines[-1] if lines else code.co_firstlineno}: "


def _as_float32(values: Any) -> NDArray[np.float32] | None:
    """Return numbers as float32; None if a value is not a number.

    Numbers beyond float32 become infinity; None and masked values become NaN. The conversion of a user's objects may
    raise any exception.
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


def feature(
    name: str,
    *,
    over: str = "field",
    meaning: str = "A user-defined feature.",
    formula: str = "a Python function",
    source: str = "the user",
    unit: str = "the function's",
    low: float = -inf,
    high: float = inf,
) -> Callable[[Compute], Compute]:
    """Return a decorator that makes a function a feature; NaN means missing.

    Parameters
    ----------
    name : str
        Name of the column. A function over a field becomes a column for each field, e.g. `name.title`.
    over : {"field", "document"}, default="field"
        "field": the function takes `Matches` and returns (n_rows,) numbers. "document": it takes the query's tokens
        and the document (a mapping if it is JSON, else text) and returns one number.
    meaning, formula, source, unit : str
        Documentation, see `rerank.features.family.Feature`.
    low, high : float, default=-inf, inf
        Bounds of the values, for documentation.

    Returns
    -------
    callable
        The decorator, which returns the function unchanged.

    Raises
    ------
    InvalidInputError
        If the name is not an identifier, or `over` is another word.

    """
    if over not in OVER:
        raise InvalidInputError(
            f"feature {shown(name)}: expected over={' or '.join(OVER)}, got {shown(over)}. Name one."
        )
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInputError(
            f"feature {shown(name)}: expected a name of letters, digits and _, got another. Rename it."
        )
    described = Feature(name, meaning, formula, source, unit, low, high, (Missing.FUNCTION,))

    def define(compute: Compute) -> Compute:
        FUNCTIONS[name] = Function(described, over, compute)
        return compute

    return define


def load_functions(path: str | Path) -> None:
    """Run a Python file that defines features."""
    file = check_file(path, "a Python file with features")
    spec = spec_from_file_location(f"rerank_functions_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInputError(f"{file}: expected a Python file, got another ending. Name it .py.")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up annotations that are text
    try:
        spec.loader.exec_module(module)
    except (RerankError, KeyboardInterrupt):
        raise
    except BaseException as error:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = f" (line {lines[-1]})" if lines else ""
        raise InvalidInputError(
            f"{file}: expected Python that runs, got {exception_text(error)}{line}. Correct it."
        ) from error


def _chosen(recipe: Recipe, over: str) -> list[Function]:
    return [FUNCTIONS[name] for name in recipe.functions or () if FUNCTIONS[name].over == over]


@register("function")
class FunctionFeatures(FieldFamily):
    """A feature for each user-defined function over a field, and for each field."""

    evidence = "functions"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _chosen(recipe, "field")]

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function), query by query."""
        for query, query_id in enumerate(block.candidates.query_ids):
            first, last = block.candidates.query_ptr[query : query + 2].tolist()
            matches = Matches.of(block, query)
            subject = f"field {block.field.name!r} of query {str(query_id)!r}"
            for column, function in enumerate(_chosen(recipe, "field")):
                out[first:last, column] = function.column(function.call(subject, matches), last - first, subject)


@register("document")
class DocumentFeatures(RunFamily):
    """A feature for each user-defined function over the raw document."""

    evidence = "functions of the document"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _chosen(recipe, "document")]

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        assert candidates.documents is not None  # the recipe names no such function otherwise
        numbers, number_of_row = np.unique(candidates.docs, return_inverse=True)
        texts = candidates.documents(numbers)
        for query, query_id in enumerate(candidates.query_ids):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens = candidates.query_tokens[query]
            subjects = [f"query {str(query_id)!r}, document {str(name)!r}" for name in candidates.doc_ids[first:last]]
            for column, function in enumerate(_chosen(recipe, "document")):
                values = [
                    function.call(subject, list(tokens), _parsed(texts[number]))
                    for subject, number in zip(subjects, number_of_row[first:last].tolist(), strict=True)
                ]
                out[first:last, column] = _column(function, values, subjects)


def _column(function: Function, values: Sequence[Any], subjects: Sequence[str]) -> NDArray[np.float32]:
    """Return a function's values; the error for a value that is no number names the document."""
    try:
        return function.column(values, len(values), "the query's documents")
    except InvalidInputError:
        for value, subject in zip(values, subjects, strict=True):
            function.column([value], 1, subject)
        raise


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a mapping of its own, any other document as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        check_nesting(text)
        document: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return text
    return document
