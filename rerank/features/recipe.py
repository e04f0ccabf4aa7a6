"""What to extract: fields, families and the parameters of the models."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import inf, isfinite, nextafter
from numbers import Real
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, unknown_name
from rerank.features.families import default_family_names, family_names

_ABOVE_ZERO = nextafter(0.0, 1.0)
_RANGES = {
    "bm25_k1": (0.0, inf),
    "bm25_b": (0.0, 1.0),
    "lm_absolute_delta": (_ABOVE_ZERO, 1.0),
    "lm_dirichlet_mu": (_ABOVE_ZERO, inf),
    "lm_jelinek_mercer_lambda": (_ABOVE_ZERO, 1.0),
}


@dataclass(frozen=True)
class Recipe:
    """How features are made; it travels, as plain values, in the data and in the model.

    fields                    names of fields of the index, `contents` is the whole document; None: all of them
    families                  names of families; None: those that pay for most collections, see `rerank features --list`
    runs                      names of other runs whose scores are features; the runs are given with the candidates
    bm25_k1, bm25_b           Anserini's defaults
    lm_absolute_delta         delta of absolute discounting, in occurrences
    lm_dirichlet_mu           mu of Dirichlet smoothing, in tokens; Lucene and Anserini have 1000, MSLR had 2000
    lm_jelinek_mercer_lambda  share of the collection's model

    Raises InvalidInputError on an unknown family or a parameter out of its range.
    """

    fields: tuple[str, ...] | None = None
    families: tuple[str, ...] | None = None
    runs: tuple[str, ...] = ()
    bm25_k1: float = 0.9
    bm25_b: float = 0.4
    lm_absolute_delta: float = 0.7
    lm_dirichlet_mu: float = 1000.0
    lm_jelinek_mercer_lambda: float = 0.1

    def __post_init__(self) -> None:
        for key in ("fields", "families"):
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        object.__setattr__(self, "runs", _names("runs", self.runs or None) or ())
        for name in self.families or ():
            if name not in family_names():
                raise unknown_name("recipe: families", name, family_names())
        for key in _RANGES:
            object.__setattr__(self, key, _parameter(key, getattr(self, key)))

    def resolve(self, index_fields: Iterable[str]) -> Recipe:
        """Return the recipe with all names spelt out for an index that has these fields.

        Raises InvalidInputError where the recipe names a field that the index does not have.
        """
        known = tuple(index_fields)
        wanted = known if self.fields is None else self.fields
        strangers = [name for name in wanted if name not in known]
        if strangers:
            raise InvalidInputError(
                f"recipe: expected fields of the index ({', '.join(sorted(known))}), found "
                f"{len(strangers)} that it does not have, e.g. {strangers[0]!r}; name its fields or none."
            )
        return replace(self, fields=wanted, families=default_family_names() if self.families is None else self.families)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; `from_dict` makes the same recipe of them."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Make a recipe of plain values; a key that is not there keeps its default.

        Raises InvalidInputError on an unknown key, naming the nearest known one, or on a wrong value.
        """
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise unknown_name("recipe", str(key), known)
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> Recipe:
        """Read a recipe from a TOML file whose keys are the recipe's attributes.

        Raises MissingFileError, or FileFormatError with the file's name and the fault.
        """
        try:
            text = Path(path).read_text("utf8")
        except (FileNotFoundError, IsADirectoryError):
            raise MissingFileError(path, "a recipe (TOML)") from None
        except UnicodeDecodeError as error:
            raise FileFormatError(path, None, f"expected UTF-8 text, found {error.reason}; save it as UTF-8.") from None
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            number = int(line[1]) if line else None
            raise FileFormatError(path, number, f"expected TOML, found a fault: {error}; mend it.") from None
        except InvalidInputError as error:
            raise FileFormatError(path, None, str(error)) from None


def _names(key: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) for name in value):
        if len(set(value)) == len(value):
            return tuple(value)
        repeated = next(name for name in value if value.count(name) > 1)
        raise InvalidInputError(f"recipe: {key}: expected each name once, found {repeated!r} twice; drop one.")
    raise InvalidInputError(
        f"recipe: {key}: expected a non-empty list of names, found {value!r}; leave it out for all."
    )


def _parameter(key: str, value: Any) -> float:
    low, high = _RANGES[key]
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and isfinite(value) and low <= value <= high:
        return float(value)
    least = "above 0" if low else "at least 0"
    most = "" if high == inf else f" and at most {high:g}"
    raise InvalidInputError(f"recipe: {key}: expected a number {least}{most}, found {value!r}; mend it.")
