"""What to extract: fields, families and the parameters of the models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import nextafter
from numbers import Real
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, shown, unknown_name
from rerank.features.registry import default_family_names, family_names
from rerank.files.source import read_text
from rerank.runtime.strict_json import ParseFault
from rerank.runtime.strict_toml import parse_toml

NORMALISATIONS = ("none", "minmax", "zscore", "rank")
_ABOVE_ZERO = nextafter(0.0, 1.0)
MOST = 1e9  # beyond it features overflow, or no longer tell documents apart
_RANGES = {
    "bm25_k1": (0.0, MOST),
    "bm25_b": (0.0, 1.0),
    "lm_absolute_delta": (_ABOVE_ZERO, 1.0),
    "lm_dirichlet_mu": (_ABOVE_ZERO, MOST),
    "lm_jelinek_mercer_lambda": (_ABOVE_ZERO, 1.0),
    "rm3_share": (0.0, 1.0),
    "rocchio_alpha": (0.0, MOST),
    "rocchio_beta": (0.0, MOST),
}


@dataclass(frozen=True)
class Recipe:
    """How features are made; it travels, as plain values, in the data and in the model.

    fields                    names of fields of the index, `contents` is the whole document; None: all of them
    families                  names of families; None: those that pay for most collections, see `rerank features --list`
    features                  columns to keep, by name or pattern (`bm25.title`, `bm25.*`); None: all of the families'
    normalisation             column or pattern -> none, minmax, zscore or rank within the query; the last that fits
                              holds; one word is for all
    numbers                   names of numbers of the documents; None: all that the index has
    functions                 names of functions of the user's own (`rerank.feature`); None: all that are defined
    runs                      names of other runs whose scores are features; the runs are given with the candidates
    bm25_k1, bm25_b           Anserini's defaults
    lm_absolute_delta         delta of absolute discounting, in occurrences
    lm_dirichlet_mu           mu of Dirichlet smoothing, in tokens; Lucene and Anserini have 1000, MSLR had 2000
    lm_jelinek_mercer_lambda  share of the collection's model
    rm3_share                 share of the feedback documents' model in the expanded query
    rocchio_alpha, _beta      weight of the query and of the feedback documents' centroid; Anserini's defaults

    Raises InvalidInputError on an unknown family or a parameter out of its range.
    """

    fields: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    normalisation: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[str, ...] | None = None
    functions: tuple[str, ...] | None = None
    runs: tuple[str, ...] = ()
    bm25_k1: float = 0.9
    bm25_b: float = 0.4
    lm_absolute_delta: float = 0.7
    lm_dirichlet_mu: float = 1000.0
    lm_jelinek_mercer_lambda: float = 0.1
    rm3_share: float = 0.5
    rocchio_alpha: float = 1.0
    rocchio_beta: float = 0.75

    def __post_init__(self) -> None:
        for key in ("fields", "families", "features"):
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        for key in ("numbers", "functions", "runs"):
            given = getattr(self, key)
            object.__setattr__(self, key, () if given in ((), []) else _names(key, given))
        object.__setattr__(self, "normalisation", _normalisation(self.normalisation))
        for name in self.families or ():
            if name not in family_names():
                raise unknown_name("recipe: families", name, family_names())
        for key in _RANGES:
            object.__setattr__(self, key, _parameter(key, getattr(self, key)))

    def resolve(
        self, index_fields: Iterable[str], index_numbers: Iterable[str] = (), functions: Iterable[str] = ()
    ) -> Recipe:
        """Return the recipe with all names spelt out for an index that has these fields and numbers.

        functions  names of the user's functions that are defined
        Raises InvalidInputError where the recipe names what is not there.
        """
        return replace(
            self,
            fields=_known("fields", self.fields, index_fields),
            numbers=_known("numbers", self.numbers, index_numbers),
            functions=_defined(self.functions, tuple(functions)),
            families=default_family_names() if self.families is None else self.families,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; `from_dict` makes the same recipe of them."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def to_toml(self) -> str:
        """Return the recipe as TOML; `from_toml` reads it again. What is left to its default is not written."""
        given = {key: value for key, value in self.to_dict().items() if value is not None and value != {}}
        normalisation = given.pop("normalisation", {})
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in given.items()]
        table = [f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(how)}" for name, how in normalisation.items()]
        return "\n".join([*lines, *(["", "[normalisation]", *table] if table else [])]) + "\n"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Make a recipe of plain values; a key that is not there keeps its default.

        Raises InvalidInputError on an unknown key, naming the nearest known one, or on a wrong value.
        """
        known = [attribute.name for attribute in fields(cls)]
        if not isinstance(values, Mapping):
            raise InvalidInputError(f"recipe: expected an object of its parts, got {shown(values)}. Correct it.")
        for key in values:
            if key not in known:
                raise unknown_name("recipe", str(key), known)
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file whose keys are the recipe's attributes.

        Raises MissingFileError, or FileFormatError with the file's name and the fault.
        """
        text = read_text(path, "a recipe (TOML)")
        try:
            return cls.from_dict(parse_toml(text))
        except ParseFault as fault:
            raise FileFormatError(path, fault.line, f"expected TOML, got {fault}. Correct it.") from None
        except InvalidInputError as error:
            raise FileFormatError(path, None, str(error)) from None


def _known(key: str, wanted: tuple[str, ...] | None, there: Iterable[str]) -> tuple[str, ...]:
    known = tuple(there)
    strangers = [name for name in wanted or () if name not in known]
    if strangers:
        raise InvalidInputError(
            f"recipe: expected {key} of the index ({', '.join(sorted(known)) or 'it has none'}), got "
            f"{len(strangers)} that it does not have, e.g. {strangers[0]!r}. Name its {key} or none."
        )
    return known if wanted is None else wanted


def _defined(wanted: tuple[str, ...] | None, defined: tuple[str, ...]) -> tuple[str, ...]:
    missing = [name for name in wanted or () if name not in defined]
    if missing:
        raise InvalidInputError(
            f"recipe: functions: expected the function {missing[0]!r}, which the features were made with, got "
            f"{', '.join(defined) or 'none'} defined. Define it with @rerank.feature({missing[0]!r}) first, or name "
            "its file (--functions FILE)."
        )
    return defined if wanted is None else wanted


def _normalisation(value: Any) -> dict[str, str]:
    table = {"*": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise InvalidInputError(
            f"recipe: normalisation: expected one of {', '.join(NORMALISATIONS)} or a table of them by column, "
            f'got {shown(value)}. Write e.g. normalisation = "zscore".'
        )
    for name, how in table.items():
        if how not in NORMALISATIONS:
            found = how if isinstance(how, str) else shown(how)
            raise unknown_name(f"recipe: normalisation: {shown(str(name))[1:-1]}", found, NORMALISATIONS)
    return {str(name): str(how) for name, how in table.items()}


def _names(key: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
        if len(set(value)) == len(value):
            return tuple(value)
        repeated = next(name for name in value if value.count(name) > 1)
        raise InvalidInputError(f"recipe: {key}: expected each name once, got {shown(repeated)} twice. Drop one.")
    raise InvalidInputError(
        f"recipe: {key}: expected a non-empty list of names, got {shown(value)}. Leave it out for all."
    )


def _parameter(key: str, value: Any) -> float:
    low, high = _RANGES[key]
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and low <= value <= high:
        return float(value)
    least = "above 0" if low else "at least 0"
    most = f" and at most {high:g}" if high < MOST or (number and value > high) else ""
    raise InvalidInputError(f"recipe: {key}: expected a number {least}{most}, got {shown(value)}. Correct it.")
