"""Settings of a study.

Candidates, features and new rankers of a study.

What a study is made of: an index with topics and judgements, or data with labels; and runs of other systems.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.features.recipe import Recipe
from rerank.files.data import read_data
from rerank.files.lists import QrelsLike, RunLike, TopicsLike, qrels_of, topics_of
from rerank.index.bound import named_runs
from rerank.index.index import Index
from rerank.metrics.registry import each_named, named
from rerank.rankers.parameters import check_names, declared_parameters
from rerank.rankers.ranker import Ranker, given_base, ranker_class
from rerank.rankers.store import fitted_model
from rerank.retrieval.base import Candidates
from rerank.retrieval.union import UnionRun
from rerank.runtime.codec import Anything, Field, Flag, Items, Plain, Record, Sizes, Table, Text, Whole, at
from rerank.training.folds import FoldData, groups_by_id, groups_of_topics, logged_groups
from rerank.training.train import TRAINED, among_first, judged_queries, sources_of
from rerank.types import Qrels, RankingData, Run, Topics

MEASURES = ("RR@10", "nDCG@10", "AP")
BASES = UNSUPERVISED, RUN, NO_BASE = "unsupervised", "run", "none"  # without a name
MODEL = "model"
SYSTEMS = OF_BM25, FIRST_STAGE, FUSED, BASE = "BM25", "candidates", "RRF", "base"  # that learn nothing
OF_RANKER = {"metric": "metric", "random_state": "random_state", "n_jobs": "threads", "base": "base"}


@dataclass(frozen=True)
class _Folds(Field):
    """A number of folds, or the fold of each query."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the folds."""
        fold = Whole(0, 1_000_000)
        return Table(fold).read(value, sizes) if isinstance(value, Mapping) else fold.read(value, sizes)


@dataclass(frozen=True)
class _Base(Text):
    """A base by its name, or none that is named."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the base."""
        return None if value is None else super().read(value, sizes)


def _setting(accepts: Field, default: Any) -> Any:
    """Declare a setting by what it accepts and its default."""
    return field(default=default, metadata={"accepts": accepts})


@dataclass(frozen=True)
class Study:
    """Settings of a study, for `run_experiment`.

    Parameters
    ----------
    ranker : str or Ranker
        Name of the ranker, or one with its parameters, e.g. `LambdaMART(num_leaves=15)`. It is trained twice:
        without a base, and from `base`.
    metric : str
        Measure for training and early stopping.
    measures : tuple of str
        Measures of the evaluation.
    k : int
        Number of documents per query, from each source whose depth is not given.
    folds : int or mapping of str to int
        Number of folds, to which judged queries are assigned at random, stratified by their number of relevant
        documents; or the fold of each query, from 0.
    random_state : int
        Random seed of folds, tuning and rankers.
    threads : int or None
        Number of threads; None is all cores.
    parameters : mapping
        Hyper-parameters of the ranker that differ from its defaults.
    repeats : int
        Number of times that queries are assigned to folds, with random_state, random_state + 1, ...
    tune : int
        Number of settings of hyper-parameters to try in each fold, in addition to `parameters`; 0 for no tuning.
    recipe : Recipe or None
        The features; None is the default recipe.
    candidates : str or None
        Sources of the documents that are reranked, see `Index.search`; None is the union of BM25, RM3 and, with
        vectors, the nearest documents, as in `rerank.train`. The baseline is BM25 with their k1 and b.
    base : str, Ranker, model of LightGBM or XGBoost, or None
        What the second system starts from: "unsupervised", "feature:NAME", "run" (the scores of the candidates),
        "model:FILE" or a fitted model, which is then a system, too, or "none" for no second system. None is
        "unsupervised" for an index and "none" for data. With "run", all candidates of an index are trained on, and a
        fold is always left to stop on; otherwise rankers are trained as `rerank.train` does, on the first 100 documents
        of each source, and the unsupervised ranking is a system, too.
    learn_history : bool
        Whether features are learned from judgements too: in each fold from its training queries only, whose own
        features are out of fold.

    """

    ranker: Any = _setting(Text(100), "lambdamart")  # always a name once the study is made
    metric: str = _setting(Text(1000), "nDCG@10")
    measures: tuple[str, ...] = _setting(Items(Text(1000)), MEASURES)
    k: int = _setting(Whole(1, 2**31 - 1), 1000)
    folds: int | Mapping[str, int] = _setting(_Folds(), 5)
    random_state: int = _setting(Whole(0, 2**63), 0)
    threads: int | None = _setting(Whole(1, 1_000_000, optional=True), None)
    parameters: Mapping[str, Any] = field(default_factory=dict, metadata={"accepts": Table(Anything())})
    repeats: int = _setting(Whole(1, 1_000_000), 1)
    tune: int = _setting(Whole(0, 1_000_000), 0)
    recipe: Recipe | None = _setting(Plain(), None)
    candidates: str | None = _setting(Anything(), None)
    base: Any = _setting(_Base(), None)
    learn_history: bool = _setting(Flag(), False)

    def __post_init__(self) -> None:
        """Take a ranker's settings, keep measures of ir_measures by their names, and check numbers and the base."""
        if isinstance(self.ranker, Ranker):
            for name, value in _settings_of(self.ranker, self.parameters).items():
                object.__setattr__(self, name, value)
        kind, _, name = str(self.base).partition(":")
        if isinstance(self.base, str) and self.base not in BASES and not (name and kind in ("feature", MODEL)):
            raise _unknown_base(self.base)
        for name in ("k", "random_state", "threads", "tune", "learn_history"):
            with at(name):
                _STUDY.fields[name].read(getattr(self, name), {})
        object.__setattr__(self, "metric", named(self.metric))
        object.__setattr__(self, "measures", tuple(each_named(self.measures)))

    @property
    def trained(self) -> dict[str, str | Ranker | None]:
        """What each system that is trained starts from, by its name in tables and files."""
        name = ranker_class(self.ranker).__name__
        base = self.base
        if base == NO_BASE:
            return {name: None}
        kind = MODEL if isinstance(base, Ranker) else OF_BM25 if base == RUN else str(base).partition(":")[0]
        return {name: None, "LambdaSMART" if name == "LambdaMART" else f"{name} from {kind}": base}

    @classmethod
    def of(cls, study: Study | None, settings: Mapping[str, Any]) -> Study:
        """Return a study with other settings, by name; None is the defaults.

        Parameters
        ----------
        study : Study or None
            The study.
        settings : mapping
            Settings that differ.

        Returns
        -------
        Study
            The study.

        """
        check_names("study", settings, [each.name for each in fields(cls)])
        return replace(study or cls(), **settings)

    def starting(self, default: str, names: tuple[str, ...] | None = None) -> Study:
        """Return the study with the fitted model that its base names, and a default base.

        Parameters
        ----------
        default : str
            The base where the study names none.
        names : tuple of str or None
            Names of the features, where they are known.

        Returns
        -------
        Study
            The study.

        """
        base = default if self.base is None else given_base(self.base, names)
        if not isinstance(base, str | Ranker):
            raise _unknown_base(base)
        return replace(self, base=fitted_model(base) if isinstance(base, Ranker) else base)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, in which a model to start from is "model"; see `from_dict`.

        Returns
        -------
        dict
            The settings.

        """
        folds = self.folds if isinstance(self.folds, int) else dict(self.folds)
        recipe = None if self.recipe is None else self.recipe.to_dict()
        in_words = self.base is None or (isinstance(self.base, str) and not self.base.startswith(f"{MODEL}:"))
        plain = {"measures": list(self.measures), "folds": folds, "parameters": dict(self.parameters), "recipe": recipe}
        return {**vars(self), **plain, "base": self.base if in_words else MODEL}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], model: Any = None) -> Study:
        """Return the study of plain values.

        Parameters
        ----------
        values : mapping
            What `to_dict` returned.
        model : Ranker, str or None
            The model that the study starts from, or "model:FILE", where it starts from one.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        InvalidInputError
            If a part is missing or invalid.

        """
        with at("study"):
            given = _STUDY.read(values, {})
        recipe = None if given["recipe"] is None else Recipe.from_dict(given["recipe"])
        if given["base"] == MODEL and model is not None:
            given["base"] = model
        return cls(**{**given, "measures": tuple(given["measures"]), "recipe": recipe})


def _settings_of(ranker: Ranker, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a study that a ranker's parameters give: those that differ from their defaults."""
    defaults = {name: each.default for name, each in declared_parameters(type(ranker)).items()}
    values = ranker.get_params(deep=False)
    changed = {name: value for name, value in values.items() if name in defaults and value is not defaults[name]}
    given = {OF_RANKER[name]: value for name, value in changed.items() if name in OF_RANKER and value != defaults[name]}
    own = {name: value for name, value in changed.items() if name not in OF_RANKER}
    return {"ranker": ranker.kind, **given, "parameters": {**own, **parameters}}


def _unknown_base(base: Any) -> InvalidInputError:
    return InvalidInputError(
        f"base: expected unsupervised, run, none, feature:NAME, model:FILE or a fitted model, got {shown(base)}. Start "
        "from one of them."
    )


_STUDY = Record({each.name: each.metadata["accepts"] for each in fields(Study)})


def study_candidates(index: Index, study: Study) -> Candidates:
    """Return the sources of a study's candidates."""
    return sources_of(index, study.candidates, study.k)


def study_features(index: Index, run: Run, topics: Topics, qrels: Qrels, study: Study) -> FoldData:
    """Return the features of all candidates, and which of these are trained on."""
    run = run.take(run.trec_order())
    trained = None if study.base == RUN else among_first(run, TRAINED)
    some = run.without_sources() if study.candidates is None and isinstance(run, UnionRun) else run
    data = index.features(some, topics, qrels, recipe=study.recipe)
    if trained is not None and data.retriever is not None:  # models rerank as many candidates as the study
        data = replace(data, retriever=replace(data.retriever, depth=study_candidates(index, study).k))
    return FoldData(data, trained)


def new_model(study: Study, ranker: str, base: str | Ranker | None) -> Ranker:
    """Return a ranker that is not fitted; the study's parameters are those of the study's ranker."""
    kind = ranker_class(ranker)
    shared = {"metric": study.metric, "random_state": study.random_state, "n_jobs": study.threads}
    accepted = {name: value for name, value in shared.items() if name in kind().get_params(deep=False)}
    parameters = study.parameters if ranker == study.ranker else {}
    return kind(base=base, **{**accepted, **parameters})


def learns_from_all(study: Study, ranker: str, n_queries: int) -> bool:
    """Return whether no training query is left to stop on; settings are compared on such queries."""
    if study.base == RUN or study.tune:
        return ranker_class(ranker).cross_validates
    return new_model(study, ranker, None).learns_from_all(n_queries)


SourceLike = Index | RankingData | str | Path | Sequence[str | Path]
OF_INDEX = ("k", "candidates", "recipe", "learn_history")  # settings of a study of an index alone
FIRST = 10  # documents of a query of which a warning tells
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """The inputs of a study, checked.

    topics      of an index; None for data
    qrels       judgements as they were given; None where they are the labels of the data
    judgements  those of the queries of the study alone, in the order of these
    runs        of other systems, by name, of the queries of the study
    """

    source: Index | RankingData
    topics: Topics | None
    qrels: Qrels | None
    judgements: Qrels
    runs: Mapping[str, Run]

    @classmethod
    def of(
        cls,
        source: Index | RankingData,
        topics: TopicsLike | None,
        qrels: QrelsLike | None,
        runs: Mapping[str, RunLike] | None = None,
    ) -> Self:
        """Return the inputs; an index needs topics and judgements, data neither."""
        given = None if qrels is None else qrels_of(qrels)
        if isinstance(source, RankingData):
            if topics is not None:
                raise InvalidInputError("topics: expected none beside data, got some. Leave them out.")
            source, judgements = _judged_data(source, given)
            judged = _judged_runs(runs, judgements)
            if given is None:
                _warn_of_others(judged, source)
            return cls(source, None, given, judgements, judged)
        if topics is None or given is None:
            missing = "topics" if topics is None else "qrels"
            raise InvalidInputError(
                f"{missing}: expected {missing} beside an index, got none. Pass both, or pass data."
            )
        every = topics_of(topics)
        judgements = judged_queries(every, given)[1]
        return cls(source, every, given, judgements, _judged_runs(runs, judgements))

    @property
    def judged(self) -> Topics:
        """The judged topics of an index."""
        topics = self.topics or Topics({})
        return Topics({query_id: topics[query_id] for query_id in self.judgements if query_id in topics})

    @property
    def index(self) -> Index | None:
        """The index; None for data."""
        return None if isinstance(self.source, RankingData) else self.source

    def groups(self) -> dict[str, int]:
        """Return the group of near duplicates of each judged query."""
        if isinstance(self.source, RankingData):
            return groups_by_id(self.source)
        judged = self.judged
        return logged_groups(judged, groups_of_topics(self.source, judged))

    def study(self, study: Study) -> Study:
        """Return the study with its base; refuse settings of an index for data, and names of runs that are taken."""
        if isinstance(self.source, RankingData):
            defaults = {each.name: each.default for each in fields(Study)}
            other = next((name for name in OF_INDEX if getattr(study, name) != defaults[name]), None)
            if other is not None:
                raise InvalidInputError(
                    f"{other}: expected none for data, whose candidates are given, got some. Leave it out."
                )
            study = study.starting(NO_BASE, self.source.feature_names)
        else:
            study = study.starting(UNSUPERVISED)
        taken = [name.lower() for name in (*SYSTEMS, UNSUPERVISED, *study.trained, *self.runs)]
        name = next((name for name in self.runs if taken.count(name.lower()) > 1), None)
        if name is not None:
            raise InvalidInputError(
                f"runs: expected names that no other system has, in any case, got {name}. Rename it."
            )
        return study


@contextmanager
def opened_source(source: SourceLike, topics: object) -> Iterator[Index | RankingData]:
    """Yield the index of a folder, where there are topics, or the data of files; both may be given as they are."""
    if isinstance(source, Index | RankingData):
        yield source
    elif topics is not None and isinstance(source, str | Path):
        with Index.open(source) as index:
            yield index
    else:
        yield read_data(source)


def _judged_data(data: RankingData, qrels: Qrels | None) -> tuple[RankingData, Qrels]:
    """Return the data of judged queries, and their judgements: the labels where no others are given."""
    if qrels is None:
        return data, label_qrels(data)
    if data.labels is None:
        raise InvalidInputError("data: expected labels to train on, got none. Make the data with qrels.")
    judged = [number for number, query_id in enumerate(data) if query_id in qrels]
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the queries of the data, got none (a query is {shown(next(iter(data), ''))}"
            "). Check that both use the same query ids."
        )
    if len(judged) < len(data):
        _log.info("data: %d of %d queries have no judgements and are left out.", len(data) - len(judged), len(data))
        data = data.select(np.array(judged))
    return data, Qrels.of({query_id: qrels[query_id] for query_id in data})


def label_qrels(data: RankingData) -> Qrels:
    """Return the labels of data as judgements.

    Relevant documents that were not retrieved, of which data know the labels alone, have ids that no run has.
    """
    ideal, ideal_ptr = data.ideal()
    labels = data.labels if data.labels is not None else np.empty(0)
    if not (labels == np.rint(labels)).all():
        raise InvalidInputError("data: expected labels that are whole numbers, got others. Give qrels.")
    judged = {}
    for number, (query_id, rows) in enumerate(_rows_of_queries(data)):
        own = labels[rows].astype(np.int64).tolist()
        best = Counter(ideal[ideal_ptr[number] : ideal_ptr[number + 1]].astype(np.int64).tolist())
        others = enumerate((best - Counter(own)).elements(), 1)
        judged[query_id] = dict(zip(data.doc_ids[rows].tolist(), own, strict=True))
        judged[query_id] |= {f"(not retrieved {place})": label for place, label in others}
    return Qrels.of(judged)


def _warn_of_others(runs: Mapping[str, Run], data: RankingData) -> None:
    """Log which runs have documents whose labels the data do not know."""
    for name, run in runs.items():
        known = {query_id: set(data.doc_ids[rows].tolist()) for query_id, rows in _rows_of_queries(data)}
        first = {query_id: list(run[query_id])[:FIRST] for query_id in run}
        others = sum(doc_id not in known[query_id] for query_id, docs in first.items() for doc_id in docs)
        if others:
            text = (
                "run %s: %d of the first %d documents of its queries are not in the data and count as not relevant: "
                "give the judgements (qrels=), or study the index."
            )
            _log.warning(text, name, others, sum(map(len, first.values())))


def _rows_of_queries(data: RankingData) -> Iterator[tuple[str, slice]]:
    """Yield each query of data with its rows."""
    for number, query_id in enumerate(data):
        yield query_id, slice(int(data.query_ptr[number]), int(data.query_ptr[number + 1]))


def _judged_runs(runs: Mapping[str, RunLike] | None, judgements: Qrels) -> dict[str, Run]:
    """Return the judged queries of runs; log how many of these a run lacks."""
    judged = {}
    for name, run in named_runs(runs).items():
        names = [query_id for query_id in judgements if query_id in run]
        if len(names) < len(judgements):
            text = "run %s: no documents for %d of %d judged queries, which count as 0."
            _log.warning(text, name, len(judgements) - len(names), len(judgements))
        judged[name] = run.select(run.query_numbers(names))
    return judged
