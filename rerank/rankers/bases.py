"""The base ranker of a warm start, with start='base' F_0 of LambdaSMART: stored in the model and applied at predict.

Burges 2010, section 7: F_0(x) = BaseModel(x) where there is a base model, else 0.

    unsupervised  the sum of standardised scores (`standard_scores.py`)
    feature:NAME  a column of the data
    run:FILE      the scores of a run; the data hold those of the run that they were made from
    model:FILE    another ranker, stored inside this one
    init_score    scores given to `fit`: `predict` needs them too
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, check_known, shown
from rerank.rankers.matching import may_be_absent
from rerank.rankers.standard_scores import RANK, SCORES, standardised
from rerank.runtime.codec import plain
from rerank.runtime.fields import Choice, Field, Names, Record, SchemaError, Text
from rerank.runtime.registry import Registry
from rerank.types import Floats, RankingData, Run

UNSUPERVISED = "unsupervised"
_READERS: Registry[Callable[[object, tuple[str, ...] | None], Any]] = Registry("system")
model_readers = _READERS.known
reads_models = _READERS.register  # decorates a function of a model and feature names; None for what it does not know
OWN_RUN = ""  # name of the run that the rows came from, among the runs whose scores are features


class Base(ABC):
    """Where a model's starting scores come from.

    needs         names of the features without which a model cannot start from the base
    source        the run that they depend on: OWN_RUN, or the name of another run whose scores are features; None:
                  neither
    by_query      whether they depend on the other candidates of the query
    worth         number of training queries that teach as much as the base knows (base_weight.py)
    words         what a model starts from, in words, with members of the base in braces
    """

    kind: ClassVar[str]
    words: ClassVar[str]
    needs: tuple[str, ...] = ()
    source: str | None = None
    by_query: bool = False
    worth: ClassVar[float] = 0.0

    def __str__(self) -> str:
        return self.words.format(**vars(self))

    @abstractmethod
    def scores(self, data: RankingData) -> Floats:
        """Return the starting score of every row, (n_rows,) float64."""

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add what each feature adds to the base scores to out (n_rows, n_features + 1); by default the last column."""
        out[:, -1] += self.scores(data)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise SchemaError where a model that has these features cannot start from the base."""
        missing = next((name for name in self.needs if name not in names), None)
        if missing is not None:
            raise SchemaError("features of the model", shown(missing))

    def features_read(self) -> frozenset[str]:
        """Return the names of the features that the base scores depend on."""
        return frozenset(self.needs)

    def to_dict(self) -> dict[str, Any]:
        """Return what the model file keeps: the kind, and the fields of the dataclass."""
        return {"kind": self.kind, **{name: plain(value) for name, value in vars(self).items()}}


@dataclass(frozen=True)
class NoBase(Base):
    """A cold start: every document begins at 0."""

    kind: ClassVar[str] = "none"
    words: ClassVar[str] = "nothing"

    def scores(self, data: RankingData) -> Floats:
        """Return zeros."""
        return np.zeros(data.n_rows)


NO_BASE = NoBase()


@dataclass(frozen=True)
class FeatureBase(Base):
    """A column of the data, such as BM25's score."""

    name: str
    kind: ClassVar[str] = "feature"
    words: ClassVar[str] = "the feature {name}"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column's name."""
        return (self.name,)

    @property
    def source(self) -> str | None:  # type: ignore[override]
        """The run whose score, rank or deviation the column holds (`run.score`, `run.NAME.score`)."""
        if not self.name.startswith("run."):
            return None
        *run, _ = self.name.removeprefix("run.").split(".")
        return ".".join(run) or OWN_RUN

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


@dataclass(frozen=True)
class UnsupervisedBase(Base):
    """The sum of standardised scores over some features (`standard_scores.py`)."""

    features: tuple[str, ...]
    kind: ClassVar[str] = UNSUPERVISED
    words: ClassVar[str] = "the unsupervised ranking"
    by_query: ClassVar[bool] = True  # type: ignore[misc]
    worth: ClassVar[float] = 10.0

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The features."""
        return self.features

    @classmethod
    def of(cls, names: tuple[str, ...]) -> UnsupervisedBase:
        """Return the sum over those of its features that some data have; refuse data without a score."""
        if not any(name in SCORES for name in names):
            raise InvalidInputError(
                f"base unsupervised: expected features that it sums ({', '.join(SCORES)}), got none of them. Compute "
                "them, or start from another base (none: a cold start)."
            )
        return cls(tuple(name for name in names if name in SCORES or name == RANK))

    def scores(self, data: RankingData) -> Floats:
        """Return the sum of every row."""
        total = np.zeros(data.n_rows)
        for z in standardised(data, self.features).values():  # in one order on every processor
            total += z
        return total

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add each standardised score to the column of its feature."""
        for name, z in standardised(data, self.features).items():
            out[:, data.feature_names.index(name)] += z


@dataclass(frozen=True)
class CandidateRunBase(Base):
    """The run that the rows came from; the data carry its scores."""

    kind: ClassVar[str] = "candidates"
    words: ClassVar[str] = "the score of the candidates' run"
    source: ClassVar[str | None] = OWN_RUN  # type: ignore[misc]

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
    words: ClassVar[str] = "the score of the run {name}"

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
    words: ClassVar[str] = "the scores that it is given (init_score)"

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
    words: ClassVar[str] = "the score of another model ({model.kind})"

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The features of the inner model."""
        return tuple(self.model.feature_names_)

    @property
    def by_query(self) -> bool:  # type: ignore[override]
        """Whether the base scores of the inner model depend on the other candidates."""
        return bool(self.model.base_.by_query)

    def scores(self, data: RankingData) -> Floats:
        """Return the inner model's scores."""
        return np.asarray(self.model.predict(data))

    def add_contributions(self, data: RankingData, out: Floats) -> None:
        """Add the inner model's contributions to those of its features; of features that the data lack, to the last."""
        column_of = {name: column for column, name in enumerate(self.model._names_of(data))}
        columns = [column_of.get(name, -1) for name in self.model.feature_names_]
        np.add.at(out.T, [*columns, -1], self.model.contributions(data).T)

    def check_features(self, names: tuple[str, ...]) -> None:
        """Leave to the inner model which features rows may lack: those of a history, and what LETOR text does not list.

        Raises SchemaError where a model that has these features lacks others.
        """
        named = self.model._as_trained(names)
        super().check_features((*named, *(name for name in self.needs if may_be_absent(name))))

    def features_read(self) -> frozenset[str]:
        """Return the features that the inner model reads."""
        return frozenset(self.model.features_read())


def run_scores(run: Run, data: RankingData) -> Floats:
    """Return the run's score of every row of the data.

    A document that the run lacks gets the lowest score that its query has there: the run ranks it below all others. A
    query that the run lacks is refused.
    """
    scores = np.empty(data.n_rows)
    for query_id in data:
        retrieved = run.get(query_id)
        if not retrieved:
            raise InvalidInputError(
                f"base run {run.name}: expected every query of the data, got none of query {query_id}. "
                "Give a run that covers them."
            )
        lowest = min(retrieved.values())
        rows = data.rows(query_id)
        scores[rows] = [retrieved.get(doc_id, lowest) for doc_id in data.doc_ids[rows].tolist()]
    return scores


def resolve_base(base: object, data: RankingData) -> tuple[Base, Floats]:
    """Return the base that a ranker was asked to start from, and its scores on the training data.

    base  what `given_base` returns: None, "run" (the run that the data came from), "feature:NAME", "unsupervised", a
          Run or a fitted ranker
    """
    if isinstance(base, Run):
        scores = run_scores(base, data)
        is_own = data.base_scores is not None and np.array_equal(scores, data.base_scores)
        return CandidateRunBase() if is_own else OtherRunBase(base.name), scores
    start = start_of(base, data.feature_names)
    return start, start.scores(data)


def start_of(base: object, names: tuple[str, ...]) -> Base:
    """Return the base that a ranker was asked to start from, which is no run; `names` are those of the features."""
    name = base if isinstance(base, str) else ""  # arrays are equal to a text element by element
    if base is None:
        return NO_BASE
    if name == UNSUPERVISED:
        return UnsupervisedBase.of(names)
    if name.startswith("feature:"):
        feature = name.removeprefix("feature:")
        check_known("base feature", feature, names)
        return FeatureBase(feature)
    if name == "run":
        return CandidateRunBase()
    if hasattr(base, "predict") and hasattr(base, "to_dict"):
        return ModelBase(copy(base))  # `fit` changes none of its attributes' values: a later one does not show here
    raise InvalidInputError(
        "base: expected None, 'run', 'feature:NAME', 'unsupervised', 'run:FILE', 'model:FILE', a run or a fitted "
        f"ranker, got {shown(name or repr(base))}. Write e.g. 'feature:bm25.contents'; scores of rows are "
        "init_score= of fit."
    )


class StoredBase(Field):
    """A base as its `to_dict` wrote it; `model` reads an inner model."""

    def __init__(self, model: Field) -> None:
        self._fields = {"name": Text(), "features": Names(), "model": model}

    def read(self, value: object) -> Base:
        """Return the base."""
        kinds: dict[str, Any] = {base.kind: base for base in Base.__subclasses__()}
        kind = value.get("kind") if isinstance(value, Mapping) else None
        names = [field.name for field in fields(kinds[kind])] if isinstance(kind, str) and kind in kinds else []
        stored = Record({"kind": Choice(lambda: kinds), **{name: self._fields[name] for name in names}}).read(value)
        return kinds[stored.pop("kind")](**stored)  # type: ignore[no-any-return]
