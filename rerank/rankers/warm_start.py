"""The base ranker of a warm start, F_0 of LambdaSMART: stored in the model and applied at predict.

Burges 2010, section 7: F_0(x) = BaseModel(x) where there is a base model, else 0.

    unsupervised  the sum of standardised scores (standard_scores.py)
    feature:NAME  a column of the data
    run:FILE      the scores of a run; the data hold those of the run that they were made from
    model:FILE    another ranker, stored inside this one
    init_score    scores given to `fit`: `predict` needs them too

BM25's scores change with k1 and b: a model that starts from them has learned for one scale, so candidates that were
retrieved with other parameters are refused. For a model without such a start a warning is logged: features of the run,
and those computed over a query's candidates, change as well. A tag without parameters is never refused.

The sum of a document's standardised scores by several models: an order of candidates that needs no judgements.

z_s(d) = (s(d) - mean) / standard deviation, from -5 to 5
s         one of SCORES, as far as the data have it; a missing value is the least one of the query
mean      like the deviation, over the first 100 candidates of the query: the further documents of a deep list would
          make every first one look alike
sum(d)    sum over s of z_s(d): the weights are equal, nothing is learned

References
----------
Montague & Aslam, CIKM 2001 (standardised scores, CombSUM).

"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, shown
from rerank.runtime.codec import plain
from rerank.runtime.registry import Registry
from rerank.runtime.schema import Choice, Field, Names, Record, SchemaError, Sizes, Text
from rerank.types import Floats, Ints, RankingData, Run, query_rows
from rerank.types.retriever import UNNAMED, Retriever

RANK = "run.rank"
DEPTH = 100
LARGEST = 5.0
SCORES = {  # with the family of each
    "bm25.contents": "letor",
    "rm3_10.contents": "feedback",
    "similarity_10.contents": "feedback",
    "sdm.contents": "proximity",
    "lsi_200.contents": "lsi",
    "encoder.cosine": "encoder",
}


def columns_read(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of some features that the sum reads: scores, and the rank among the candidates."""
    return tuple(name for name in names if name in SCORES or name == RANK)


def summed(names: Iterable[str]) -> list[str]:
    """Return those of some features whose standardised values are summed."""
    return [name for name in names if name in SCORES]


def standardised(data: RankingData, names: Sequence[str]) -> Floats:
    """Return z of each score among some features, (n_rows, n_scores)."""
    query = query_rows(data.query_ptr)
    first = data.column(RANK) <= DEPTH if RANK in names else np.ones(data.n_rows, dtype=np.bool_)
    scores = [data.column(name).astype(np.float64) for name in summed(names)]
    return np.column_stack([_standardised(values, first, query, len(data)) for values in scores])


def _standardised(values: Floats, first: NDArray[np.bool_], query: Ints, n_queries: int) -> Floats:
    """Return z of one score, (n_rows,).

    values  (n_rows,), NaN is missing
    first   (n_rows,) whether a row is among the first candidates
    query   (n_rows,) number of the row's query
    """
    least = np.full(n_queries, np.inf)
    np.fmin.at(least, query, values)
    values = np.where(np.isnan(values), np.where(np.isfinite(least), least, 0.0)[query], values)
    of = query[first]
    some = values[first]
    lowest = np.full(n_queries, np.inf)
    highest = np.full(n_queries, -np.inf)
    np.minimum.at(lowest, of, some)
    np.maximum.at(highest, of, some)
    counts = np.maximum(np.bincount(of, minlength=n_queries), 1)
    centred = values - (np.bincount(of, some, n_queries) / counts)[query]
    deviation = np.sqrt(np.bincount(of, centred[first] ** 2, n_queries) / counts)
    spreads = (highest > lowest) & (deviation > 0.0)
    z = centred / np.where(spreads, deviation, 1.0)[query]
    return np.where(spreads[query], np.clip(z, -LARGEST, LARGEST), 0.0)


UNSUPERVISED = "unsupervised"
_READERS: Registry[Callable[[object, tuple[str, ...] | None], Any]] = Registry("system", "rerank.exchange")
model_readers = _READERS.known
reads_models = _READERS.register  # decorates a function of a model and feature names; None for what it does not know
CANDIDATES = ""  # name of the run that the rows came from, among the runs whose scores are features


class Base(ABC):
    """Where a model's starting scores come from.

    source        the run that they depend on: CANDIDATES, or the name of another run whose scores are features; None:
                  neither
    by_query      whether they depend on the other candidates of the query
    worth         number of training queries that teach as much as the base knows (base_scores.py)
    """

    kind: ClassVar[str]
    source: str | None = None
    by_query: bool = False
    worth: ClassVar[float] = 0.0

    @abstractmethod
    def scores(self, data: RankingData) -> Floats:
        """Return the starting score of every row, (n_rows,) float64."""

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add what each feature adds to the base scores to out (n_rows, n_features + 1); by default the last column."""
        out[:, -1] += self.scores(data)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise SchemaError where a model that has these features cannot start from the base."""
        return

    def features_read(self) -> frozenset[str]:
        """Return the names of the features that the base scores depend on."""
        return frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return what the model file keeps: the kind, and the fields of the dataclass."""
        return {"kind": self.kind, **{name: plain(value) for name, value in vars(self).items()}}


@dataclass(frozen=True)
class NoBase(Base):
    """A cold start: every document begins at 0."""

    kind: ClassVar[str] = "none"

    def scores(self, data: RankingData) -> Floats:
        """Return zeros."""
        return np.zeros(data.n_rows)


NO_BASE = NoBase()


@dataclass(frozen=True)
class FeatureBase(Base):
    """A column of the data, such as BM25's score."""

    name: str
    kind: ClassVar[str] = "feature"

    @property
    def source(self) -> str | None:  # type: ignore[override]
        """The run whose score, rank or deviation the column holds (`run.score`, `run.NAME.score`)."""
        if not self.name.startswith("run."):
            return None
        *run, _ = self.name.removeprefix("run.").split(".")
        return ".".join(run) or CANDIDATES

    def scores(self, data: RankingData) -> Floats:
        """Return the column; a missing or infinite value is refused, since a start is a finite score."""
        column = data.column(self.name)
        missing = np.flatnonzero(~np.isfinite(column))
        if len(missing):
            raise InvalidInputError(
                f"base feature {self.name}: expected a value in every row, got {len(missing)} missing or "
                f"infinite, first at document {data.doc_ids[missing[0]]}. Start from a feature that is never missing."
            )
        return column

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add the column to that of its feature."""
        out[:, data.feature_names.index(self.name)] += self.scores(data)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise SchemaError where the column is not among the names."""
        if self.name not in names:
            raise SchemaError("a feature of the model", shown(self.name), path="name")

    def features_read(self) -> frozenset[str]:
        """Return the column's name."""
        return frozenset({self.name})


@dataclass(frozen=True)
class UnsupervisedBase(Base):
    """The sum of standardised scores over some features (standard_scores.py)."""

    features: tuple[str, ...]
    kind: ClassVar[str] = UNSUPERVISED
    by_query: ClassVar[bool] = True  # type: ignore[misc]
    worth: ClassVar[float] = 10.0

    @classmethod
    def of(cls, names: tuple[str, ...]) -> UnsupervisedBase:
        """Return the sum over those of its features that some data have; refuse data without a score."""
        if not summed(names):
            raise InvalidInputError(
                f"base unsupervised: expected features that it sums ({', '.join(SCORES)}), got none of them. Compute "
                "them, or start from another base (none: a cold start)."
            )
        return cls(columns_read(names))

    def scores(self, data: RankingData) -> Floats:
        """Return the sum of every row."""
        total = np.zeros(data.n_rows)
        for z in standardised(data, self.features).T:  # in one order on every processor
            total += z
        return total

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add each standardised score to the column of its feature."""
        out[:, [data.feature_names.index(name) for name in summed(self.features)]] += standardised(data, self.features)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise SchemaError where a feature is not among the names, or none is a score that is summed."""
        unknown = next((name for name in self.features if name not in columns_read(names)), None)
        if unknown is not None:
            raise SchemaError("features of the model that are summed", shown(unknown), path="features")
        if not summed(self.features):
            raise SchemaError("a score that is summed", "none", path="features")

    def features_read(self) -> frozenset[str]:
        """Return the names of the features."""
        return frozenset(self.features)


@dataclass(frozen=True)
class CandidateRunBase(Base):
    """The run that the rows came from; the data carry its scores."""

    kind: ClassVar[str] = "candidates"
    source: ClassVar[str | None] = CANDIDATES  # type: ignore[misc]

    def scores(self, data: RankingData) -> Floats:
        """Return the data's base scores."""
        if data.base_scores is None:
            raise ModelMismatchError(
                "base: expected the scores of the run that the data came from, got none. Make the data with "
                "`rerank features`, or pass init_score=."
            )
        return data.base_scores


@dataclass(frozen=True)
class OtherRunBase(Base):
    """A run of another system (dense, neural, another engine): each use of the model needs its scores again."""

    name: str
    kind: ClassVar[str] = "run"

    def scores(self, data: RankingData) -> Floats:
        """Refuse: the run of these queries was not given."""
        raise ModelMismatchError(
            f"base: expected the scores of run {self.name!r}, got none. Give that run for these queries (base=, "
            "--base run:FILE)."
        )


@dataclass(frozen=True)
class GivenScoresBase(Base):
    """Scores that the caller passes to `fit` and `predict` as `init_score`."""

    kind: ClassVar[str] = "init_score"

    def scores(self, data: RankingData) -> Floats:
        """Refuse: the scores of these rows were not given."""
        raise ModelMismatchError(
            "base: expected init_score, as in fit, got none. Pass init_score= with the base "
            "ranker's score of every row."
        )


@dataclass(frozen=True)
class ModelBase(Base):
    """Another ranker, applied to the same features."""

    model: Any
    kind: ClassVar[str] = "model"

    @property
    def by_query(self) -> bool:  # type: ignore[override]
        """Whether those of the inner model do."""
        return bool(self.model.base_.by_query)

    def scores(self, data: RankingData) -> Floats:
        """Return the inner model's scores."""
        return np.asarray(self.model.predict(data))

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add the inner model's contributions to those of its features."""
        columns = [data.feature_names.index(name) for name in self.model.feature_names_]
        out[:, [*columns, -1]] += self.model.contributions(data)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise SchemaError where the inner model needs a feature that is not among the names."""
        missing = sorted(set(self.model.feature_names_) - set(names))
        if missing:
            raise SchemaError("features of the outer model", shown(missing[0]), path="model.feature_names")

    def features_read(self) -> frozenset[str]:
        """Return those of the inner model."""
        return frozenset(self.model.features_read())


def run_scores(run: Run, data: RankingData) -> Floats:
    """Return the run's score of every row of the data.

    A document that the run lacks gets the lowest score that its query has there: the run ranks it below all others. A
    query that the run lacks is refused.
    """
    scores = np.empty(data.n_rows)
    for number, query_id in enumerate(data):
        if query_id not in run or not len(run[query_id]):
            raise InvalidInputError(
                f"base run {run.name}: expected every query of the data, got none of query {query_id}. "
                "Give a run that covers them."
            )
        retrieved = run[query_id]
        lowest = min(retrieved.values())
        rows = slice(int(data.query_ptr[number]), int(data.query_ptr[number + 1]))
        scores[rows] = [retrieved.get(doc_id, lowest) for doc_id in data.doc_ids[rows].tolist()]
    return scores


def resolve_base(base: object, data: RankingData) -> tuple[Base, Floats]:
    """Return the base that a ranker was asked to start from, and its scores on the training data.

    base  what `given_base` returns: None, "run" (the run that the data came from), "feature:NAME", "unsupervised", a
          Run or a fitted ranker
    """
    start = _as_base(base, data.feature_names)
    if not isinstance(start, Run):
        return start, start.scores(data)
    scores = run_scores(start, data)
    if data.base_scores is not None and np.array_equal(scores, data.base_scores):
        return CandidateRunBase(), scores
    return OtherRunBase(start.name), scores


def _as_base(base: Any, names: tuple[str, ...]) -> Base | Run:
    if base is None:
        return NoBase()
    if base == UNSUPERVISED:
        return UnsupervisedBase.of(names)
    if isinstance(base, str) and base.startswith("feature:"):
        return FeatureBase(base.removeprefix("feature:"))
    if base == "run":
        return CandidateRunBase()
    if isinstance(base, Run):
        return base
    if hasattr(base, "predict") and hasattr(base, "to_dict"):
        return ModelBase(copy(base))  # `fit` changes none of its attributes' values: a later one does not show here
    raise InvalidInputError(
        "base: expected None, 'run', 'feature:NAME', 'unsupervised', 'run:FILE', 'model:FILE', a run or a fitted "
        f"ranker, got {shown(base if isinstance(base, str) else repr(base))}. Write e.g. 'feature:bm25.contents'."
    )


class StoredBase(Field):
    """A base as its `to_dict` wrote it; `model` reads an inner model."""

    def __init__(self, model: Field) -> None:
        self._fields = {"name": Text(), "features": Names(), "model": model}

    def read(self, value: object, sizes: Sizes) -> Base:
        """Return the base."""
        kinds: dict[str, Any] = {base.kind: base for base in _BASES}
        kind = value.get("kind") if isinstance(value, Mapping) else None
        names = [field.name for field in fields(kinds[kind])] if isinstance(kind, str) and kind in kinds else []
        record = Record({"kind": Choice(lambda: kinds), **{name: self._fields[name] for name in names}})
        stored = record.read(value, sizes)
        base: Base = kinds[stored.pop("kind")](**stored)
        return base


_BASES: tuple[Any, ...] = (
    NoBase,
    FeatureBase,
    UnsupervisedBase,
    CandidateRunBase,
    OtherRunBase,
    GivenScoresBase,
    ModelBase,
)
log = logging.getLogger("rerank")


def trained_retriever(model: Any) -> Retriever | None:
    """Return what retrieved the candidates that a model, or the model it starts from, was trained on."""
    return next((start.retriever_ for start in _with_bases(model) if start.retriever_ is not None), None)


def check_retrievers(
    model: Any,
    retriever: Retriever | None,
    run_retrievers: Mapping[str, Retriever],
    what: str,
    starts_there: bool = True,
) -> None:
    """Refuse other scores than those that a model starts from; log where features come from another retriever.

    retriever       of the candidates, None where it is unknown
    run_retrievers  of the other runs whose scores are features, by name
    what            what the message calls the candidates
    starts_there    False where the scores to start from are given by themselves
    Raises ModelMismatchError.
    """
    pairs: dict[tuple[str, Retriever | None, Retriever | None], bool] = {}
    for start_model in _with_bases(model) if starts_there else [model]:
        start = start_model.base_.source if starts_there else None
        made = [("candidates", start_model.retriever_, retriever, CANDIDATES)]
        for name, of_run in start_model.run_retrievers_.items():
            made.append((f"run {name}", of_run, run_retrievers.get(name), name))
        for part, trained, applied, source in made:
            pairs[part, trained, applied] = pairs.get((part, trained, applied), False) or start == source
    for (part, trained, applied), is_start in pairs.items():
        _compare(part, trained, applied, is_start, what)


def check_base_run(model: Any, run: Run) -> None:
    """Refuse a run to start from whose retriever had other parameters than that of training; log another name."""
    trained = model.retriever_
    if isinstance(model.base_, OtherRunBase):
        trained = None if model.base_.name == UNNAMED else Retriever.of_tag(model.base_.name)
    _compare("a base run", trained, run.retriever, True, f"base run {run.name}")


def note_unknown_start(model: Any) -> None:
    """Log that the retriever of the scores to start from is unknown and cannot be checked at `predict`."""
    if model.base_.source == CANDIDATES and not (model.retriever_ and model.retriever_.known):
        tag = f" (tag {model.retriever_})" if model.retriever_ else ""
        _note(
            f"base: what retrieved the run is unknown{tag}; apply the model to candidates retrieved in the same way",
            logging.INFO,
        )


def _with_bases(model: Any) -> Iterator[Any]:
    """Yield a model, the model it starts from, and so on."""
    yield model
    if isinstance(model.base_, ModelBase):
        yield from _with_bases(model.base_.model)


def _compare(part: str, trained: Retriever | None, applied: Retriever | None, is_start: bool, what: str) -> None:
    """Refuse scores to start from of BM25 of other parameters than in training; log any other retriever."""
    if trained == applied or (trained is None and not is_start):
        return
    if is_start and trained and applied and trained.known and applied.known:
        field = "" if trained.field == applied.field else f" on field {trained.field}"
        raise ModelMismatchError(
            f"{what}: expected {part} of {trained}, whose scores the model starts from, got {part} of {applied}. "
            f"Retrieve with k1 {trained.k1!r} and b {trained.b!r}{field}, or train the model on such a run."
        )
    unknown = "an unknown retriever"
    _note(
        f"model: trained on {part} of {trained or unknown}, applied to {part} of {applied or unknown}; "
        f"{'the scores it starts from' if is_start else 'features'} may differ",
        logging.WARNING if trained and applied else logging.INFO,
    )


@lru_cache(maxsize=1024)
def _note(message: str, level: int) -> None:
    """Log a message, once in a process."""
    log.log(level, message)
