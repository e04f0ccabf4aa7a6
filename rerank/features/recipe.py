"""Recipes: which features to compute, and the parameters of the retrieval models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, check_known, shown, unknown_name
from rerank.features.family import known_families
from rerank.files.source import read_toml
from rerank.runtime.fields import Choice, Field, Names, Number, Record, SchemaError, Table, Text
from rerank.types.retriever import PASSAGE_EXAMPLE, PASSAGE_RULE, Passages

NORMALISATIONS = ("none", "minmax", "zscore", "rank")
_MOST = 1e9  # larger parameters overflow, or make all documents equal
_LEAST = 1e-9  # of parameters that are divisors: 0 would divide by zero


class _Passages(Field):
    """Window and stride of passages, e.g. 200/100."""

    def read(self, value: Any) -> str:
        """Return the passages in their shortest form, as text."""
        try:
            return str(Passages.parse(value))
        except InvalidInputError:
            raise SchemaError(PASSAGE_RULE, shown(value), PASSAGE_EXAMPLE) from None


class _Normalisation(Table):
    """A table of normalisations by column or pattern; a single word applies to all columns."""

    def read(self, value: Any) -> dict[str, Any]:
        """Return the table."""
        table = {"*": value} if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            raise SchemaError(
                f"one of {', '.join(NORMALISATIONS)} or a table of them by column",
                shown(value),
                'Write e.g. normalisation = "zscore".',
            )
        return super().read(table)


_FIELDS: dict[str, Field] = {
    "fields": Names(),
    "families": Names(Choice(known_families)),
    "features": Names(),
    "normalisation": _Normalisation(Choice(lambda: NORMALISATIONS)),
    "numbers": Names(may_be_empty=True),
    "functions": Names(may_be_empty=True),
    "runs": Names(may_be_empty=True),
    "vectors": Text(),
    "history": Text(),
    "encoder": Text(may_be_empty=True),
    "passages": _Passages(),
    "bm25_k1": Number(0.0, _MOST),
    "bm25_b": Number(0.0, 1.0),
    "lm_absolute_delta": Number(_LEAST, 1.0),
    "lm_dirichlet_mu": Number(_LEAST, _MOST),
    "lm_jelinek_mercer_lambda": Number(_LEAST, 1.0),
    "rm3_share": Number(0.0, 1.0),
    "rocchio_alpha": Number(0.0, _MOST),
    "rocchio_beta": Number(0.0, _MOST),
}


@dataclass(frozen=True)
class Recipe:
    """The features to compute, and their parameters. A recipe is stored in data and models.

    Parameters
    ----------
    fields : tuple of str, optional
        Fields of the index; `contents` is the whole document. All fields by default.
    families : tuple of str, optional
        Families of features. By default all but those computed on request only, see `rerank features --list`.
    features : tuple of str, optional
        Columns to keep, by name or pattern (`bm25.title`, `bm25.*`). All columns of the families by default.
    normalisation : mapping from str to str, or str
        Normalisation within the query by column or pattern: none, minmax, zscore or rank. The last matching pattern
        applies. A single word applies to all columns.
    numbers : tuple of str, optional
        Numbers of the documents. All numbers of the index by default.
    functions : tuple of str, optional
        User-defined functions (`rerank.feature`). All defined functions by default.
    runs : tuple of str, default=()
        Other runs whose scores are features; the runs themselves are arguments of `extract`.
    vectors : str, optional
        Checksum of the vectors that the features were made with; extraction sets it where it is given vectors.
    history : str, optional
        Checksum of the history that the features were made with; extraction sets it where it is given one.
    encoder : str, optional
        Name of the encoder that the features were made with; extraction sets it where it is given one.
    passages : str, optional
        Words of a passage, and words from the beginning of one passage to that of the next, for the family
        `passages`, e.g. "200/100". By default those that the index stores (`rerank index --passages`), else 200/100.
    bm25_k1, bm25_b : float, default=0.9, 0.4
        Parameters of BM25; the defaults are Anserini's.
    lm_absolute_delta : float, default=0.7
        Delta of absolute discounting, in occurrences.
    lm_dirichlet_mu : float, default=1000.0
        Mu of Dirichlet smoothing, in tokens; 1000 in Lucene and Anserini, 2000 in MSLR.
    lm_jelinek_mercer_lambda : float, default=0.1
        Lambda of Jelinek-Mercer smoothing: the weight of the collection's model.
    rm3_share : float, default=0.5
        Weight of the feedback documents' model in the expanded query.
    rocchio_alpha, rocchio_beta : float, default=1.0, 0.75
        Weights of the query and of the feedback documents' centroid; the defaults are Anserini's.

    Raises
    ------
    InvalidInputError
        If a family is unknown, or a parameter is out of its range.

    """

    fields: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    normalisation: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[str, ...] | None = None
    functions: tuple[str, ...] | None = None
    runs: tuple[str, ...] = ()
    vectors: str | None = None
    history: str | None = None
    encoder: str | None = None
    passages: str | None = None
    bm25_k1: float = 0.9
    bm25_b: float = 0.4
    lm_absolute_delta: float = 0.7
    lm_dirichlet_mu: float = 1000.0
    lm_jelinek_mercer_lambda: float = 0.1
    rm3_share: float = 0.5
    rocchio_alpha: float = 1.0
    rocchio_beta: float = 0.75

    def __post_init__(self) -> None:
        optional = {part.name for part in fields(self) if part.default is None}
        values = {key: value for key, value in vars(self).items() if value is not None or key not in optional}
        try:
            for key, value in Record(_FIELDS, partial=True).read(values).items():
                object.__setattr__(self, key, value)
        except SchemaError as error:
            raise InvalidInputError(f"recipe: {error.fault('Correct it or leave it out.')}") from None

    def __hash__(self) -> int:
        return hash((self.fields, self.families, self.features, *self.normalisation.items(), self.numbers, self.runs))

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain JSON values, the inverse of `from_dict`.

        Returns
        -------
        dict
            The attributes; tuples are lists.

        """
        values = {**vars(self), "normalisation": dict(self.normalisation)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    def to_toml(self) -> str:
        """Return the recipe as TOML, the inverse of `from_toml`; keys without a value are left out.

        Returns
        -------
        str
            The content of a TOML file.

        """
        values = {key: value for key, value in self.to_dict().items() if value is not None and value != {}}
        normalisation = values.pop("normalisation", {})
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
        table = [f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(form)}" for name, form in normalisation.items()]
        return "\n".join([*lines, *(["", "[normalisation]", *table] if table else [])]) + "\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Return the recipe of plain values; a missing key has its default.

        Parameters
        ----------
        values : mapping
            Attributes by name.

        Returns
        -------
        Recipe
            The recipe.

        Raises
        ------
        InvalidInputError
            If a key is unknown (the message names the nearest known one) or a value is wrong.

        """
        if not isinstance(values, Mapping):
            raise InvalidInputError(f"recipe: expected an object of its parts, got {shown(values)}. Correct it.")
        for key in values:
            check_known("recipe", str(key), _FIELDS)
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file whose keys are the recipe's attributes.

        Parameters
        ----------
        path : str or Path
            The TOML file.

        Returns
        -------
        Recipe
            The recipe.

        Raises
        ------
        MissingFileError
            If there is no such file.
        FileFormatError
            If the file is not TOML, or not a recipe.

        """
        values = read_toml(path, "a recipe (TOML)")
        try:
            return cls.from_dict(values)
        except InvalidInputError as error:
            raise FileFormatError(path, None, str(error)) from None


def names_matching(what: str, patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that are, or match, one of the patterns, in order; refuse a pattern without a match."""
    found = {pattern: {name for name in names if name == pattern or fnmatchcase(name, pattern)} for pattern in patterns}
    for pattern, of_pattern in found.items():
        if not of_pattern:
            raise unknown_name(f"recipe: {what}", pattern, names)
    chosen = set().union(*found.values())
    return [name for name in names if name in chosen]


def known_names(key: str, names: tuple[str, ...] | None, of_index: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a recipe lists, or all names of the index for None; refuse names that the index lacks."""
    known = dict.fromkeys(of_index)  # without repeated names, in order
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InvalidInputError(
            f"recipe: expected {key} of the index ({', '.join(sorted(known)) or 'it has none'}), got "
            f"{len(unknown)} that it does not have, e.g. {shown(unknown[0])}. Name only {key} of the index."
        )
    return tuple(known) if names is None else names


def defined_functions(names: tuple[str, ...] | None, defined: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions that a recipe lists, or all defined ones for None; refuse functions that are not defined."""
    missing = [name for name in names or () if name not in defined]
    if missing:
        raise InvalidInputError(
            f"recipe: functions: expected the function {missing[0]!r}, which the features were made with, got "
            f"{', '.join(defined) or 'none'} defined. Define it with @rerank.feature({missing[0]!r}) first, or name "
            "its file (--functions FILE)."
        )
    return defined if names is None else names
