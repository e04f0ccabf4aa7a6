"""Engines and their registry: a new engine is a file of this package that registers a class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, NoReturn

from rerank.errors import InvalidInputError
from rerank.runtime.registry import Registry
from rerank.runtime.schema import Number, Record, SchemaError, Table, Text
from rerank.types.retriever import CONTENTS

STATIC, NO_FIELD = "static", "query.terms"
_MOST_NAMED = 10
# The keys of a recipe that decide on a query, with their ranges and defaults in rerank.features.recipe.
RECIPE = Record(
    {"bm25_k1": Number(0.0, 1e9), "bm25_b": Number(0.0, 1.0), "normalisation": Table(Text())},
    {"bm25_k1": 0.9, "bm25_b": 0.4, "normalisation": {}},
)


@dataclass(frozen=True)
class EngineSettings:
    """What the queries of an engine depend on besides the feature.

    k1, b        BM25's parameters in the recipe of the model
    query_field  the field by whose analyser the terms of a query are counted
    """

    k1: float
    b: float
    query_field: str


Query = Callable[[str, EngineSettings], dict[str, Any]]


@dataclass(frozen=True)
class EngineFeature:
    """A feature for which an engine computes the values of this package.

    name   without the field: `bm25`; `static` is a number of the documents, `query.terms` has no field
    query  returns the engine's query for a field (for `static`: a number)
    needs  what the engine's index must have for it, with `{field}` for the name of the field; empty for nothing
    exact  whether values are equal; otherwise they are rounded to float32 at each step, and within 2e-6 of the value
    missing_is_zero  whether a missing value reaches the model as 0
    """

    name: str
    query: Query
    needs: str = ""
    exact: bool = True
    missing_is_zero: bool = False


class Engine(ABC):
    """An engine that computes features of documents for a query.

    title     name for messages
    formats   the formats of models that it reads
    features  the features for which it computes the values of this package
    k1, b     BM25's parameters where the index of the engine does not set them
    """

    name: ClassVar[str] = ""
    title: ClassVar[str]
    formats: ClassVar[tuple[str, ...]]
    features: ClassVar[tuple[EngineFeature, ...]]
    k1: ClassVar[float] = 1.2
    b: ClassVar[float] = 0.75

    @abstractmethod
    def entry(self, name: str, query: dict[str, Any]) -> dict[str, Any]:
        """Return a feature as the engine stores it."""

    @abstractmethod
    def feature_set(self, entries: Sequence[dict[str, Any]]) -> Any:
        """Return the content of a file of features."""

    def feature(self, name: str) -> tuple[EngineFeature, str] | None:
        """Return a feature by its whole name, with its field; None where the engine does not compute it."""
        known = {feature.name: feature for feature in self.features}
        if name in known and name == NO_FIELD:
            return known[name], ""
        family, _, field = name.partition(".")
        return (known[family], field) if family in known and field else None

    def query(self, name: str, settings: EngineSettings) -> dict[str, Any]:
        """Return the query of a feature, which the engine computes, by its whole name."""
        feature, field = self.feature(name) or _refuse(self, [name])
        return feature.query(field, settings)

    def entries(self, names: Sequence[str], settings: EngineSettings) -> list[dict[str, Any]]:
        """Return features, which the engine computes, as it stores them."""
        return [self.entry(name, self.query(name, settings)) for name in names]

    def needs(self, names: Sequence[str], settings: EngineSettings) -> list[str]:
        """Return what the engine's index must have for these features, a sentence each."""
        known = [self.feature(name) or _refuse(self, [name]) for name in names]
        sentences = [feature.needs.format(field=field, k1=settings.k1, b=settings.b) for feature, field in known]
        return list(dict.fromkeys(filter(None, sentences)))


def _refuse(engine: Engine, names: Sequence[str]) -> NoReturn:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    known = ", ".join(feature.name for feature in engine.features)
    raise InvalidInputError(
        f"feature set: expected features that {engine.title} computes ({known}), got "
        f"{', '.join(names[:_MOST_NAMED])}{more}. Train with the recipe of "
        f"`rerank features --recipe-template --portable {engine.name}`."
    )


def check_portable(engine: Engine, names: Sequence[str], recipe: Mapping[str, Any] | None) -> EngineSettings:
    """Return the settings of a model's features; raise InvalidInputError where the engine cannot compute all of them.

    names   of the model's features
    recipe  of the model, as plain values; None where it has none
    """
    if recipe is None:
        raise InvalidInputError(
            "feature set: expected a model with the recipe of its features, got one without. Train it on data of "
            "`rerank features`, or import it with --recipe FILE."
        )
    others = [name for name in names if engine.feature(name) is None]
    if others:
        _refuse(engine, others)
    table = _read(recipe)["normalisation"]
    changed = {name: _normalisation(name, table) for name in names}
    normalised = [f"{name} ({form})" for name, form in changed.items() if form != "none"]
    if normalised:
        raise InvalidInputError(
            f"feature set: expected values as they are, got {', '.join(normalised[:_MOST_NAMED])} within the query, "
            "which an engine cannot compute. Train with a recipe without normalisation."
        )
    return query_settings(engine, names, recipe)


def query_settings(engine: Engine, names: Sequence[str], recipe: Mapping[str, Any]) -> EngineSettings:
    """Return the settings of the queries of features that the engine computes."""
    known = [feature for name in names if (feature := engine.feature(name)) is not None]
    fields = [field for feature, field in known if feature.name != STATIC and field]
    values = _read(recipe)
    return EngineSettings(values["bm25_k1"], values["bm25_b"], fields[0] if fields else CONTENTS)


def portable_names(engine: Engine, names: Sequence[str], recipe: Mapping[str, Any] | None) -> list[str]:
    """Return those of a model's features that an engine computes; none where the recipe is unknown."""
    if recipe is None:
        return []
    table = _read(recipe)["normalisation"]
    return [name for name in names if engine.feature(name) is not None and _normalisation(name, table) == "none"]


def _read(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `RECIPE`; raise InvalidInputError for a wrong one."""
    given = {key: recipe[key] for key in RECIPE.fields if key in recipe}
    if isinstance(given.get("normalisation"), str):  # a single word applies to all columns
        given["normalisation"] = {"*": given["normalisation"]}
    try:
        return RECIPE.read(given, {})
    except SchemaError as error:
        raise InvalidInputError(f"recipe: {error.fault('Correct it.')}") from None


def _normalisation(name: str, table: Mapping[str, str]) -> str:
    """Return the normalisation of a column: that of the last pattern that fits."""
    forms = [form for pattern, form in table.items() if name == pattern or fnmatchcase(name, pattern)]
    return forms[-1] if forms else "none"


_REGISTRY: Registry[type[Engine]] = Registry("engine", "rerank.exchange.engines")


def register_engine(name: str) -> Callable[[type[Engine]], type[Engine]]:
    """Return a decorator that registers an engine's class under a name."""

    def add(kind: type[Engine]) -> type[Engine]:
        kind.name = name
        return _REGISTRY.register(name)(kind)

    return add


def known_engines() -> dict[str, Engine]:
    """Return all engines by name, in alphabetical order."""
    return {name: kind() for name, kind in _REGISTRY.known().items()}


def engine_named(name: str) -> Engine:
    """Return an engine; raises InvalidInputError, with the nearest known name, for an unknown one."""
    return _REGISTRY.get(name)()


def engine_of_format(format: str) -> Engine:
    """Return the engine that reads a format of models; raises InvalidInputError where there is none."""
    engines = known_engines().values()
    for engine in engines:
        if format in engine.formats:
            return engine
    formats = ", ".join(each for engine in engines for each in engine.formats)
    raise InvalidInputError(f"feature set: expected a format of an engine ({formats}), got {format}. Leave it out.")
