"""What a format is, and which there are: a file of this package that registers a class is all that a new one needs."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.runtime.codec import SchemaError
from rerank.runtime.registry import Registry
from rerank.trees.forest import Forest
from rerank.types import Ints

REMEDY = "Export the model again, or fetch the file again."


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Trees as formats read and write them; the score of a row is constant + (sum of leaf values) / divisor.

    forest         the trees; float32 leaf values where their owner sums in float32
    n_features     number of columns
    feature_names  of the columns; None where the file has numbers only
    constant       added to the sum
    divisor        1, or the number of trees where their owner takes the mean
    zero_missing   (m,) int64 features of which 0 is read as missing, as LightGBM can
    is_ordered     whether the columns are in the order of training; a file may name them in another
    category_values  by column: the values of a data frame's category column, in the order of their codes
    missing_values   numbers that are read as missing, beside NaN
    unlisted_missing  whether a feature that a sparse row does not list is missing; if not, it is 0
    first_number   number of the first column in LETOR text; -1 where it may be 0 or 1
    """

    forest: Forest
    n_features: int
    feature_names: tuple[str, ...] | None = None
    constant: float = 0.0
    divisor: float = 1.0
    zero_missing: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_ordered: bool = True
    category_values: Mapping[int, list[Any]] = field(default_factory=dict)
    missing_values: tuple[float, ...] = ()
    unlisted_missing: bool = False
    first_number: int = 1


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Weights of features: the score of a row is constant + sum of weight * value, a missing value counting as 0."""

    weights: tuple[float, ...]
    feature_names: tuple[str, ...] | None = None
    constant: float = 0.0

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.weights)


@dataclass(frozen=True)
class WriteOptions:
    """What an export may say beside the model itself.

    name    of the model in an engine's model store
    recipe  of the model's features, as plain values; None where it has none
    """

    name: str = "rerank"
    recipe: Mapping[str, Any] | None = None


class FormatFault(SchemaError):
    """A file whose content is not what its format asks for; `import_model` adds the file's name.

    line  1-based, or None where it is not known
    """

    def __init__(
        self, expected: str, got: str, line: int | None = None, remedy: str | None = None, path: str = ""
    ) -> None:
        super().__init__(expected, got, remedy or REMEDY, path)
        self.line = line


@contextmanager
def damage_found(part: str = "") -> Iterator[None]:
    """Raise what goes wrong in reading a part of a file as a FormatFault."""
    try:
        yield
    except SchemaError as fault:
        path = fault.within(part).path if part else fault.path
        raise FormatFault(fault.expected, fault.got, getattr(fault, "line", None), fault.remedy, path) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise FormatFault(
            "a whole model file", f"a damaged one ({type(error).__name__}: {shown(str(error))})", path=part
        ) from None


def compact_json(value: object) -> bytes:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def indented_json(value: object) -> bytes:
    """Return a value as JSON for people to read."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


class Format(ABC):
    """A format of models.

    title   what it is, in a few words
    writes  whether models can be written
    reads   whether models can be read
    sums    the type in which the owner sums leaf values
    adds_first_score  whether an engine that uses the file can add the score of its first stage
    by_name  whether the owner finds features by their names, whatever their order
    categories  whether a node can test a set of categories
    writes_values  whether the file holds the values of the categories of a data frame
    trees  whether the format is of trees; one that is not writes linear models alone
    """

    name: ClassVar[str] = ""
    title: ClassVar[str]
    writes: ClassVar[bool] = False
    reads: ClassVar[bool] = False
    sums: ClassVar[str] = "float64"
    adds_first_score: ClassVar[bool] = False
    by_name: ClassVar[bool] = False
    categories: ClassVar[bool] = False
    writes_values: ClassVar[bool] = False
    trees: ClassVar[bool] = True

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the content of a model file; raises InvalidInputError for what the format cannot say."""
        raise NotImplementedError

    def not_linear(self, kind: str) -> InvalidInputError:
        """Return the error for a ranker of another kind, of a format that is not of trees."""
        raise NotImplementedError

    def write_linear(self, model: LinearModel, options: WriteOptions) -> bytes:
        """Return the content of a file of a linear model; most formats are of trees only."""
        raise cannot_say(self.name, "a ranker of boosted trees, or an imported one", "a linear ranker")

    def query(self, options: WriteOptions, start: str) -> dict[str, Any]:
        """Return the engine's request that adds the first stage's score to the model's, of a format that can.

        start  whose BM25 score the model starts from: the feature `bm25.FIELD`, or the first stage over all text
        """
        raise NotImplementedError

    def recognises(self, content: bytes) -> bool:
        """Return whether the content looks like this format."""
        return False

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel | LinearModel:
        """Return the model of a file; raises FormatFault.

        names  of the features as the user gave them, for formats whose features have names but no order
        """
        raise NotImplementedError

    def content_of(self, estimator: object) -> bytes | TreeModel | None:
        """Return what a fitted estimator of the format's library holds; None where it is none of it."""
        return None


_REGISTRY: Registry[type[Format]] = Registry("format", "rerank.exchange")


def register(name: str) -> Any:
    """Return a decorator that registers a format's class under a name."""

    def add(kind: type[Format]) -> type[Format]:
        kind.name = name
        return _REGISTRY.register(name)(kind)

    return add


def known_formats() -> dict[str, Format]:
    """Return all formats by name, in alphabetical order."""
    return {name: kind() for name, kind in _REGISTRY.known().items()}


def format_named(name: str) -> Format:
    """Return a format; raises InvalidInputError, with the nearest known name, for an unknown one."""
    return _REGISTRY.get(name)()


def cannot_say(name: str, expected: str, got: str, remedy: str = "Choose another format.") -> InvalidInputError:
    """Return the error for a model that a format cannot hold."""
    return InvalidInputError(f"{name}: expected {expected}, got {got}. {remedy}")
