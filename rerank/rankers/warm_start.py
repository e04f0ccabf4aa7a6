"""The base ranker of a warm start, with start='base' F_0 of LambdaSMART: stored in the model and applied at predict.

Burges 2010, section 7: F_0(x) = BaseModel(x) where there is a base model, else 0.

    unsupervised  the sum of standardised scores (below)
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

The scores that training starts from: their unit, and their weight beside learned scores.

A learner's limits and penalties (least hessian of a leaf, weight decay, a margin) are numbers without a unit, so base
scores are divided by their spread before training, and what was learned is multiplied by it: BM25's 20 and a
probability's 0.9 start alike, and a base times any factor gives the same trees.

A model that is trained from the base's scores (Burges 2010, section 7: F_0 = base) is left with the pairs that the
base orders wrongly, and with few judged queries fits their noise. Trained from 0 and added to the base it was better on
every collection that was tried (docs/benchmarks.md). The weight is the ratio of the two spreads, each the standard
deviation of the best 30 scores inside queries, so that neither the scale of the base nor the number of iterations has
an effect on it. It is chosen where the model's scores are held out: the geometric mean of all ratios, each with the
weight exp(-t^2), t the metric's distance from the best ratio in standard errors of the difference, paired by query.
With few queries no ratio is far from the best, and the choice is close to equal spreads. For the unsupervised sum, a
strong base, the ratio is then multiplied by 1 + 10 / queries, since so few queries also teach little.

References
----------
Montague & Aslam, CIKM 2001 (standardised scores, CombSUM).

"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, log, shown
from rerank.metrics.base import Measure
from rerank.rankers.training import TrainingSet, Validation
from rerank.runtime.codec import Choice, Field, Names, Number, Record, SchemaError, Sizes, Text, plain
from rerank.runtime.numerics import array_exp, array_log
from rerank.runtime.registry import Registry
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


def standardised(data: RankingData, names: Sequence[str]) -> dict[str, Floats]:
    """Return z of each score among some features, (n_rows,), by its name."""
    query = query_rows(data.query_ptr)
    first = data.column(RANK) <= DEPTH if RANK in names else np.ones(data.n_rows, dtype=np.bool_)
    of = query[first]
    counts = np.maximum(np.bincount(of, minlength=len(data)), 1)
    out = {}
    for name in filter(SCORES.__contains__, names):
        values = data.column(name)
        least, lowest, highest = np.full((3, len(data)), np.array([[np.inf], [np.inf], [-np.inf]]))
        np.fmin.at(least, query, values)
        values = np.where(np.isnan(values), np.where(np.isfinite(least), least, 0.0)[query], values)
        np.minimum.at(lowest, of, values[first])
        np.maximum.at(highest, of, values[first])
        centred = values - (np.bincount(of, values[first], len(data)) / counts)[query]
        deviation = np.sqrt(np.bincount(of, centred[first] ** 2, len(data)) / counts)
        spreads = (highest > lowest) & (deviation > 0.0)
        z = centred / np.where(spreads, deviation, 1.0)[query]
        out[name] = np.where(spreads[query], np.clip(z, -LARGEST, LARGEST), 0.0)
    return out


UNSUPERVISED = "unsupervised"
_READERS: Registry[Callable[[object, tuple[str, ...] | None], Any]] = Registry("system", "rerank.exchange")
model_readers = _READERS.known
reads_models = _READERS.register  # decorates a function of a model and feature names; None for what it does not know
CANDIDATES = ""  # name of the run that the rows came from, among the runs whose scores are features


class Base(ABC):
    """Where a model's starting scores come from.

    needs         names of the features without which a model cannot start from the base
    source        the run that they depend on: CANDIDATES, or the name of another run whose scores are features; None:
                  neither
    by_query      whether they depend on the other candidates of the query
    worth         number of training queries that teach as much as the base knows (warm_start.py)
    """

    kind: ClassVar[str]
    needs: tuple[str, ...] = ()
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
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column's name."""
        return (self.name,)

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


@dataclass(frozen=True)
class UnsupervisedBase(Base):
    """The sum of standardised scores over some features (below)."""

    features: tuple[str, ...]
    kind: ClassVar[str] = UNSUPERVISED
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
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The features of the inner model."""
        return tuple(self.model.feature_names_)

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
    if isinstance(base, Run):
        scores = run_scores(base, data)
        is_own = data.base_scores is not None and np.array_equal(scores, data.base_scores)
        return CandidateRunBase() if is_own else OtherRunBase(base.name), scores
    start: Base
    if base is None:
        start = NO_BASE
    elif base == UNSUPERVISED:
        start = UnsupervisedBase.of(data.feature_names)
    elif isinstance(base, str) and base.startswith("feature:"):
        start = FeatureBase(base.removeprefix("feature:"))
    elif base == "run":
        start = CandidateRunBase()
    elif hasattr(base, "predict") and hasattr(base, "to_dict"):
        start = ModelBase(copy(base))  # `fit` changes none of its attributes' values: a later one does not show here
    else:
        raise InvalidInputError(
            "base: expected None, 'run', 'feature:NAME', 'unsupervised', 'run:FILE', 'model:FILE', a run or a fitted "
            f"ranker, got {shown(base if isinstance(base, str) else repr(base))}. Write e.g. 'feature:bm25.contents'."
        )
    return start, start.scores(data)


class StoredBase(Field):
    """A base as its `to_dict` wrote it; `model` reads an inner model."""

    def __init__(self, model: Field) -> None:
        self._fields = {"name": Text(), "features": Names(), "model": model}

    def read(self, value: object, sizes: Sizes) -> Base:
        """Return the base."""
        kinds: dict[str, Any] = {base.kind: base for base in Base.__subclasses__()}
        kind = value.get("kind") if isinstance(value, Mapping) else None
        names = [field.name for field in fields(kinds[kind])] if isinstance(kind, str) and kind in kinds else []
        record = Record({"kind": Choice(lambda: kinds), **{name: self._fields[name] for name in names}})
        stored = record.read(value, sizes)
        return kinds[stored.pop("kind")](**stored)  # type: ignore[no-any-return]


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
    models = list(_with_bases(model)) if starts_there else [model]
    sources = {one.base_.source for one in models} if starts_there else set()
    for one in models:
        _compare("candidates", one.retriever_, retriever, CANDIDATES in sources, what)
        for name, trained in one.run_retrievers_.items():
            _compare(f"run {name}", trained, run_retrievers.get(name), name in sources, what)


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


DEPTH_OF_SPREAD = 30
LEAST_SHARE = 2.0**-40  # of the largest score: a smaller unit would leave learned scores too few digits beside it
SHARE_OF_EVEN = 2.0**-10  # the same where scores do not spread: evaluation reads the sums as float32
GRID = 2.0**26  # steps of a unit, or of the largest score if that is less: what rounding the base's scale left is gone


def spread_at_the_top(train: TrainingSet, depth: int = DEPTH_OF_SPREAD) -> float:
    """Return the standard deviation, inside queries, of the best `depth` starting scores: the unit of a warm start.

    Queries count by their weights. Where the best scores of every query are equal, the spread of all its scores; where
    these are equal, too, 1. It is never so small that learned scores would be lost beside the largest base score. Pairs
    that lie many slopes apart have no curvature left, and Newton steps on them overshoot.
    """
    scores = train.start_scores
    if not scores.any():  # a cold start, which need not look at each query
        return 1.0
    largest = np.abs(scores).max()
    spread = _spread(scores, train, depth) or _spread(scores, train, len(scores))
    return float(max(spread, LEAST_SHARE * largest) if spread > 0.0 else max(SHARE_OF_EVEN * largest, 1.0))


def start_in_units(train: TrainingSet, unit: float, by_query: bool) -> tuple[Floats, float]:
    """Return (start_scores - centre) / unit, (n_rows,) float64, and the centre in the scores' own unit.

    by_query  take off each query's mean, for a learner that only knows differences inside queries; the centre
              returned is then 0. Otherwise the mean of all rows, weighed as their queries are.
    """
    scores = train.start_scores
    if not scores.any():
        return np.zeros(len(scores)), 0.0
    sizes = np.diff(train.query_ptr)
    if by_query:
        best = np.full(len(sizes), -np.inf)
        query = query_rows(train.query_ptr)
        np.maximum.at(best, query, scores)
        scores, centre = scores - best[query], 0.0  # exact where scores are equal, as their mean need not be
        scores -= (np.bincount(query, scores, len(sizes)) / np.maximum(sizes, 1))[query]
    else:
        best = scores.max()
        rows = np.repeat(train.weights, sizes)
        scores = scores - best
        mean = float(np.average(scores, weights=rows if rows.any() else None))
        scores = scores - mean
        centre = float(best + mean)
    scores = scores / unit
    grid = float(np.ldexp(GRID, max(-int(np.frexp(np.abs(scores).max())[1]), 0)))
    return np.rint(scores * grid) / grid, centre


def _spread(scores: Floats, train: TrainingSet, depth: int) -> float:
    """Return the root of the queries' mean variance of their best `depth` scores (n_rows,) float64."""
    variances = np.zeros(len(train.weights))
    for query, (first, last) in enumerate(pairwise(train.query_ptr.tolist())):
        best = np.sort(scores[first:last])[-depth:]
        if len(best):
            variances[query] = (best - best[-1]).var()
    weights = train.weights if train.weights.any() else None
    return float(np.sqrt(np.average(variances, weights=weights)))


RATIOS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0])
NAMES = tuple(f"{ratio:g}" for ratio in RATIOS)


@dataclass(frozen=True)
class BaseWeight:
    """A chosen weight.

    ratio     spread of the base's scores beside that of the learned ones
    factor    what learned scores are multiplied by before they are added to the base's
    measures  metric of each ratio on the held-out queries; empty where there were none
    """

    ratio: Annotated[float, Number(0.0)]
    factor: Annotated[float, Number(0.0)]
    measures: dict[str, float]

    def __str__(self) -> str:
        if not self.measures:
            return f"weight of the base {self.ratio:.3g} (no queries held out)"
        best = max(self.measures, key=self.measures.__getitem__)
        figures = ", ".join(
            f"{self.measures[name]:.4f} at {name}" for name in dict.fromkeys((best, "1")) if name in self.measures
        )
        return f"weight of the base {self.ratio:.3g} (on held-out queries {figures})"


class WeightedBase:
    """The base scores of some queries, to which learned scores are added."""

    def __init__(self, data: TrainingSet, measure: Measure) -> None:
        """Take queries with the base's scores as their start."""
        self.unit = spread_at_the_top(data)
        self._data = data
        self._base = start_in_units(data, self.unit, by_query=True)[0]
        self._validation = Validation(data, measure)
        self._weights = data.weights if data.weights.any() else np.ones(len(data.weights))

    def averaged(self, learned: Floats) -> BaseWeight:
        """Return the weight beside learned scores (n_rows,) float64 of these queries, which were held out."""
        spread = self._spread_of(learned)
        values, means = self._tried(learned, spread)
        gaps = [mean_and_error(values[np.argmax(means)] - value, self._weights) for value in values]
        distances = np.array([gap / error if gap > 0.0 else 0.0 for gap, error in gaps])
        mean = np.average(array_log(RATIOS), weights=array_exp(-(distances**2)))
        trust = 1.0 + self._data.base_worth / len(self._weights)
        return self._weight(trust * float(array_exp([mean])[0]), spread, means)

    def best(self, learned: Floats) -> BaseWeight:
        """Return the best weight beside learned scores (n_rows,) float64, for validation data of the caller."""
        _, means = self._tried(learned, 1.0)
        return self._weight(RATIOS[int(np.argmax(means))], 1.0, means)

    def chosen(self, learned: Floats, is_validation: bool) -> BaseWeight:
        """Return the weight beside learned scores: the best one for validation data, else that of `averaged`."""
        return self.best(learned) if is_validation else self.averaged(learned)

    def equal(self, learned: Floats) -> BaseWeight:
        """Return the weight of equal spreads, where no queries are held out."""
        return self._weight(1.0, self._spread_of(learned), np.empty(0))

    def _weight(self, ratio: float, spread: float, means: Floats) -> BaseWeight:
        measures = dict(zip(NAMES, means.tolist(), strict=False))
        return BaseWeight(float(ratio), float(self.unit / (ratio * spread)), measures)

    def best_of(self, learned: Floats) -> Floats:
        """Return base + learned scores (n_rows,), in units of the base's spread, with the weight that is best here."""
        return self._base + learned / self.best(learned).ratio

    def _tried(self, learned: Floats, spread: float) -> tuple[Floats, Floats]:
        """Return the metric of each query with each ratio, (n_ratios, n_queries), and its means."""
        values = np.array([self._validation.values(self._base + learned / (ratio * spread)) for ratio in RATIOS])
        return values, np.average(values, axis=1, weights=self._weights)

    def _spread_of(self, learned: Floats) -> float:
        return spread_at_the_top(replace(self._data, start_scores=learned))


def deviation_in_queries(scores: Floats, query_ptr: Ints) -> float:
    """Return the root of the mean squared distance of scores (n_rows,) from their query's mean."""
    query = query_rows(query_ptr)
    sizes = np.maximum(np.diff(query_ptr), 1)
    means = np.bincount(query, scores, len(sizes)) / sizes
    return float(np.sqrt(np.mean((scores - means[query]) ** 2)))


def mean_and_error(differences: Floats, weights: Floats) -> tuple[float, float]:
    """Return the weighted mean of the queries' differences (n_queries,), and its standard error."""
    shares = weights / weights.sum()
    n_queries = max(len(differences), 2)
    mean = np.sum(shares * differences)
    variance = np.sum((shares * (differences - mean)) ** 2) * n_queries / (n_queries - 1)
    return float(mean), float(np.sqrt(variance))
