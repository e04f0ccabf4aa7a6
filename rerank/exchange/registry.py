"""Formats of models, and search engines that compute features of documents for a query.

A new format needs only a module in this package that registers a class. An engine is a declaration: its queries, and
what they need of its index. In Elasticsearch and OpenSearch, the query of a feature matches every document: a document
that a query does not match would have no value of the feature, which some versions of the plug-ins read as 0 and others
as missing. Values are those of this package; those of BM25 are rounded to float32 at each step, and within 2e-6 of the
value.
"""

import json
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError, check_known, shown
from rerank.features.columns import default_features
from rerank.features.family import FieldFamily, known_families
from rerank.features.recipe import Recipe
from rerank.runtime.fields import SchemaError
from rerank.runtime.registry import Registry
from rerank.trees.forest import Forest
from rerank.types import CONTENTS, Ints


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
    missing_values   numbers that are read as missing, as NaN is
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


class FormatFault(SchemaError):
    """A file whose content is not what its format asks for; `import_model` adds the file's name.

    line  number of the line, from 1; None where it is not known
    """

    def __init__(
        self, expected: str, got: str, line: int | None = None, remedy: str | None = None, path: str = ""
    ) -> None:
        super().__init__(expected, got, remedy or "Export the model again, or fetch the file again.", path)
        self.line = line


@contextmanager
def damage_found(part: str = "") -> Iterator[None]:
    """Raise errors in reading a part of a file as FormatFault."""
    try:
        yield
    except SchemaError as fault:
        path = fault.within(part).path if part else fault.path
        raise FormatFault(fault.expected, fault.got, getattr(fault, "line", None), fault.remedy, path) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        got = f"a damaged one, or one of another form ({type(error).__name__}: {shown(str(error))})"
        raise FormatFault("a whole model file", got, path=part) from None


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
    linear_only  of a format that writes linear models alone: what it expects, and what to do; None for one of trees
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
    linear_only: ClassVar[tuple[str, str] | None] = None

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the content of a model file; raises InvalidInputError for what the format cannot say.

        name    of the model in an engine's model store
        recipe  of the model's features, as plain values; None where it has none
        """
        raise NotImplementedError

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the content of a file of a linear model; most formats are of trees only."""
        raise cannot_say(self.name, "a ranker of boosted trees, or an imported one", "a linear ranker")

    def query(self, name: str, start: str) -> dict[str, Any]:
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


_REGISTRY: Registry[Format] = Registry("format", "rerank.exchange", of_instances=True)
known_formats = _REGISTRY.known
format_named = _REGISTRY.get


def register(name: str) -> Any:
    """Return a decorator that registers a format's class under a name."""

    def add(kind: type[Format]) -> type[Format]:
        kind.name = name
        return _REGISTRY.register(name)(kind)

    return add


def cannot_say(name: str, expected: str, got: str, remedy: str = "Choose another format.") -> InvalidInputError:
    """Return the error for a model that a format cannot hold."""
    return InvalidInputError(f"{name}: expected {expected}, got {got}. {remedy}")


STATIC = "static"
NO_FIELD = "query.terms"
PARAMETER = "keywords"  # of a search request of OpenSearch, with the text that is searched for
_MOST_NAMED = 10


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
    missing_is_zero  whether a missing value reaches the model as 0
    """

    name: str
    query: Query
    needs: str = ""
    missing_is_zero: bool = False


@dataclass(frozen=True)
class SearchEngine:
    """An engine that computes features of documents for a query.

    title        name for messages
    formats      the formats of models that it reads
    features     the features for which it computes the values of this package
    entry        returns a feature as the engine stores it, of its name and query
    feature_set  returns the content of a file of stored features
    """

    name: str
    title: str
    formats: tuple[str, ...]
    features: tuple[EngineFeature, ...]
    entry: Callable[[str, dict[str, Any]], dict[str, Any]]
    feature_set: Callable[[list[dict[str, Any]]], Any]

    def known(self, names: Iterable[str]) -> dict[str, tuple[EngineFeature, str]]:
        """Return those of some features, by whole name, that the engine computes, each with its field."""
        features = {feature.name: feature for feature in self.features}
        found = {}
        for name in names:
            kind, _, field = (name, "", "") if name == NO_FIELD else name.partition(".")
            if kind in features and (field or kind == NO_FIELD):
                found[name] = features[kind], field
        return found

    def entries(self, names: Mapping[str, str], settings: EngineSettings) -> list[dict[str, Any]]:
        """Return features as the engine stores them; all must be features that it computes.

        names  this package's name of each feature, by its name in the engine
        """
        known = self.known(names.values())
        of_names = {stored: known[name] for stored, name in names.items()}
        return [self.entry(stored, feature.query(field, settings)) for stored, (feature, field) in of_names.items()]

    def needs(self, names: Sequence[str], settings: EngineSettings) -> list[str]:
        """Return what the engine's index must have for these features, a sentence each."""
        sentences = [
            feature.needs.format(field=field, k1=settings.k1, b=settings.b)
            for feature, field in self.known(names).values()
        ]
        return list(dict.fromkeys(filter(None, sentences)))

    def checked(self, names: Sequence[str], recipe: Mapping[str, Any] | None) -> EngineSettings:
        """Return the settings of a model's features; raise InvalidInputError where not all of them can be computed.

        recipe  of the model, as plain values; None where it has none
        """
        if recipe is None:
            raise InvalidInputError(
                "feature set: expected a model with the recipe of its features, got one without. Train it on data of "
                "`rerank features`, or import it with --recipe FILE."
            )
        known = self.known(names)
        others = [name for name in names if name not in known]
        if others:
            more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
            raise InvalidInputError(
                f"feature set: expected features that {self.title} computes "
                f"({', '.join(feature.name for feature in self.features)}), got "
                f"{', '.join(others[:_MOST_NAMED])}{more}. Train with the recipe of "
                f"`rerank features --recipe-template {self.name}`."
            )
        normalised = [f"{name} ({form})" for name, form in _normalisations(names, recipe).items() if form != "none"]
        if normalised:
            raise InvalidInputError(
                f"feature set: expected values as they are, got {', '.join(normalised[:_MOST_NAMED])} within the "
                "query, which an engine cannot compute. Train with a recipe without normalisation."
            )
        return self.settings(names, recipe)

    def settings(self, names: Sequence[str], recipe: Mapping[str, Any]) -> EngineSettings:
        """Return the settings of the queries of features that the engine computes."""
        fields = [field for feature, field in self.known(names).values() if feature.name != STATIC and field]
        values = Recipe.from_dict(recipe)
        return EngineSettings(values.bm25_k1, values.bm25_b, fields[0] if fields else CONTENTS)

    def portable(self, names: Sequence[str], recipe: Mapping[str, Any] | None) -> list[str]:
        """Return those of a model's features that the engine computes; none where the recipe is unknown."""
        forms = {} if recipe is None else _normalisations(names, recipe)
        return [name for name in self.known(names) if forms.get(name) == "none"]


def _normalisations(names: Sequence[str], recipe: Mapping[str, Any]) -> dict[str, str]:
    """Return the normalisation of each column: that of the last pattern that fits."""
    table = Recipe.from_dict(recipe).normalisation
    return {
        name: ["none", *(form for pattern, form in table.items() if name == pattern or fnmatchcase(name, pattern))][-1]
        for name in names
    }


def engine_of_format(format: str) -> SearchEngine:
    """Return the engine that reads a format of models; raises InvalidInputError where there is none."""
    for engine in ENGINES.values():
        if format in engine.formats:
            return engine
    formats = ", ".join(form for engine in ENGINES.values() for form in engine.formats)
    raise InvalidInputError(
        f"feature set: expected a format of an engine ({formats}), got {format}. Choose one of them."
    )


def _with_all(query: dict[str, Any]) -> dict[str, Any]:
    """Return a query that matches every document, with 0 where the given query does not match."""
    return {"bool": {"should": [query, {"constant_score": {"filter": {"match_all": {}}, "boost": 0.0}}]}}


def _script(query: dict[str, Any], source: str) -> dict[str, Any]:
    return {"script_score": {"query": query, "script": {"source": source}}}


def _doc(field: str) -> str:
    escaped = field.replace("\\", "\\\\").replace("'", "\\'")
    return f"doc['{escaped}']"


def _number(field: str, settings: EngineSettings) -> dict[str, Any]:
    """Return a number of the documents, 0 where a document has none."""
    return _script({"match_all": {}}, f"{_doc(field)}.size() == 0 ? 0 : {_doc(field)}.value")


def _known_number(field: str, settings: EngineSettings) -> dict[str, Any]:
    """Return a number of the documents that have it."""
    return _script({"exists": {"field": field}}, f"{_doc(field)}.value")


def _length(field: str, settings: EngineSettings) -> dict[str, Any]:
    """Return the number of tokens of a field, which is the value of its subfield `length`."""
    return _number(f"{field}.length", settings)


def _bm25(text: str) -> Query:
    """Return BM25 without the constant factor k1 + 1 by which the engine multiplies it."""
    return lambda field, settings: _with_all({"match": {field: {"query": text, "boost": 1.0 / (settings.k1 + 1.0)}}})


def _boolean(text: str) -> Query:
    """Return 1 where all terms are in the field, else 0."""
    return lambda field, settings: _with_all(
        {"constant_score": {"filter": {"match": {field: {"query": text, "operator": "and"}}}, "boost": 1.0}}
    )


def _term_statistic(name: str, source: str) -> EngineFeature:
    """Return a feature that a script of Elasticsearch computes from the statistics of the query's terms."""

    def query(field: str, settings: EngineSettings) -> dict[str, Any]:
        match = {"match": {field or settings.query_field: {"query": "{{query}}"}}}
        return _script(_with_all(match), source)

    return EngineFeature(name, query)


def _explorer(name: str, statistic: str) -> EngineFeature:
    """Return a feature that the plug-ins' match_explorer computes."""

    def query(field: str, settings: EngineSettings) -> dict[str, Any]:
        match = {"match": {field or settings.query_field: {"query": f"{{{{{PARAMETER}}}}}"}}}
        return _with_all({"match_explorer": {"type": statistic, "query": match}})

    return EngineFeature(name, query)


def _simple(field: str, operator: str) -> str:
    """Return a query of Solr of the terms of the search text, in which no character is an operator."""
    return f"{{!simple qf={field} q.operators='' q.op={operator}}}${{query}}"


def _solr(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"class": f"org.apache.solr.ltr.feature.{kind}", "params": parameters}


_SIMILARITY = "field {field}: BM25 with k1 = {k1:g} and b = {b:g}, and the analyser of the index of training"
_LENGTH = "field {field}.length: a token_count of {field} with its analyser and enable_position_increments false"
_NUMBER = "field {field}: a number of 0 or more"
ELASTICSEARCH = SearchEngine(  # feature extractors, with term statistics in scripts (from version 8.16)
    name="elasticsearch",
    title="Elastic's learning to rank",
    formats=("elasticsearch",),
    features=(
        EngineFeature("bm25", _bm25("{{query}}"), _SIMILARITY),
        EngineFeature("boolean", _boolean("{{query}}")),
        _term_statistic("covered", "_termStats.matchedTermsCount()"),
        _term_statistic("covered_ratio", "_termStats.matchedTermsCount() / (double) _termStats.uniqueTermsCount()"),
        _term_statistic("tf_sum", "_termStats.termFreq().getSum()"),
        _term_statistic("tf_min", "_termStats.termFreq().getMin()"),
        _term_statistic("tf_max", "_termStats.termFreq().getMax()"),
        _term_statistic("tf_mean", "_termStats.termFreq().getAverage()"),
        EngineFeature("stream_length", _length, _LENGTH),
        EngineFeature(STATIC, _known_number, _NUMBER),
        _term_statistic(NO_FIELD, "_termStats.uniqueTermsCount()"),
    ),
    entry=lambda name, query: {"query_extractor": {"feature_name": name, "query": query}},
    feature_set=lambda entries: {"inference_config": {"learning_to_rank": {"feature_extractors": entries}}},
)
OPENSEARCH = SearchEngine(  # the plug-ins for OpenSearch and Elasticsearch: the body of `POST _ltr/_featureset/NAME`
    name="opensearch",
    title="the learning-to-rank plug-in of OpenSearch and Elasticsearch",
    formats=("xgboost-dump", "ranklib"),
    features=(
        EngineFeature(
            "bm25",
            _bm25(f"{{{{{PARAMETER}}}}}"),
            f"{_SIMILARITY}; in OpenSearch 3 the similarity LegacyBM25",
        ),
        EngineFeature("boolean", _boolean(f"{{{{{PARAMETER}}}}}")),
        _explorer("tf_sum", "sum_raw_tf"),
        _explorer("tf_max", "max_raw_tf"),
        EngineFeature("stream_length", _length, _LENGTH),
        EngineFeature(STATIC, _number, _NUMBER, missing_is_zero=True),
        _explorer(NO_FIELD, "unique_terms_count"),
    ),
    entry=lambda name, query: {
        "name": name,
        "params": [PARAMETER],
        "template_language": "mustache",
        "template": query,
    },
    feature_set=lambda entries: {"featureset": {"features": entries}},
)
SOLR = SearchEngine(  # a feature store, for `PUT schema/feature-store`; the search text is the parameter `efi.query`
    name="solr",
    title="Solr",
    formats=("solr",),
    features=(
        EngineFeature(
            "bm25",
            lambda field, settings: _solr("SolrFeature", q=_simple(field, "OR")),
            _SIMILARITY.replace("BM25 with", "BM25SimilarityFactory with"),
        ),
        EngineFeature("boolean", lambda field, settings: _solr("SolrFeature", fq=[_simple(field, "AND")])),
        EngineFeature(
            STATIC,
            lambda field, settings: _solr("FieldValueFeature", field=field, defaultValue="NaN"),
            "field {field}: a number with docValues or stored",
        ),
    ),
    entry=lambda name, query: {"name": name, **query},
    feature_set=lambda entries: entries,
)
ENGINES = {engine.name: engine for engine in (ELASTICSEARCH, OPENSEARCH, SOLR)}


def portable_template(name: str) -> str:
    """Return a recipe as TOML, with comments, of the features that an engine computes, except its numbers."""
    check_known("engine", name, ENGINES)
    engine = ENGINES[name]
    families = []
    patterns = []
    for family, member in known_families().items():
        of_family = {feature.name for feature in default_features(family)}
        known = [feature.name for feature in engine.features if feature.name in of_family]
        patterns += [f"{column}.*" if isinstance(member, FieldFamily) else column for column in known]
        if known or family == STATIC:
            families.append(family)
    return "\n".join(
        [
            f"# A recipe of features that {engine.title} computes.",
            f"# `rerank export MODEL --to {engine.formats[0]} --feature-set FILE` writes their queries.",
            "",
            "# Fields of the index, which must have the same names in the engine; all of them by default.",
            '# fields = ["title", "body"]',
            "",
            f"families = {json.dumps(families)}",
            "",
            f'# Where the documents have numbers, add "{STATIC}.*".',
            f"features = {json.dumps(patterns)}",
            "",
            "# As in the engine's index; these are its defaults.",
            "bm25_k1 = 1.2",
            "bm25_b = 0.75",
            "",
        ]
    )
