"""What a study computes once: judgements, folds, candidates, features, and the runs of systems without training."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.evaluation.evaluate import evaluate, log_absent
from rerank.experiments.study import BASE, FIRST_STAGE, FUSED, NO_BASE, OF_BM25, RUN, SYSTEMS, UNSUPERVISED, Study
from rerank.features.recipe import Recipe
from rerank.files.data import read_data
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike, qrels_of, topics_of
from rerank.history.history import History
from rerank.index.index import Index, opened
from rerank.index.resources import named_runs, needed_resources
from rerank.pipeline.rerank import rerank
from rerank.rankers.bases import UnsupervisedBase
from rerank.rankers.last_stage import Gain
from rerank.rankers.matching import HISTORY_PREFIX
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.retrieval.candidates import Candidates, Part
from rerank.retrieval.fusion import fuse
from rerank.retrieval.union import UnionRun
from rerank.runtime.progress import InProcess
from rerank.training.cross_validation import FoldData, FoldHistories, FoldTraining, Workers
from rerank.training.estimate import judged_values, scorer_gain
from rerank.training.folds import (
    assign_folds,
    given_folds,
    groups_by_id,
    groups_of_topics,
    logged_groups,
    training_size,
)
from rerank.training.inputs import TRAINED, check_base, judged_queries, sources_of, with_depth_of_history
from rerank.training.tuning import Tuning, check_tuning, fit_best
from rerank.types import BM25, Floats, Qrels, RankingData, Run, Topics, query_rows
from rerank.types.ids import same_ids

SourceLike = Index | RankingData | str | Path | Sequence[str | Path]
OF_INDEX = ("k", "candidates", "recipe", "history")  # settings of a study of an index alone
RESOURCES = ("vectors", "history", "encoder")  # parts of a recipe
LOOKED_UP = 10  # documents of each query that are looked up in the data


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """The inputs of the features of a study of an index; if a source of candidates is learned, it is BM25's run."""

    index: Index
    run: Run
    topics: Topics
    qrels: Qrels
    study: Study

    def features(self, recipe: Recipe | None = None) -> FoldData:
        """Return the features of all candidates, and the rows to train on; a recipe of None is the study's."""
        study = self.study
        run = self.run.take(self.run.trec_order())
        sources = sources_of(self.index, study.candidates, study.k)
        k = with_depth_of_history(sources, self.index, len(self.qrels)).k
        some = run if k is None else run.head(k)
        trained = None if study.base == RUN else some.among_first(TRAINED)
        some = some.without_sources() if study.candidates is None and isinstance(some, UnionRun) else some
        if recipe is None and study.base != NO_BASE:
            check_base(study.base, self.index.some_features((), some.head(1), self.topics, recipe=study.recipe))
        data = self.index.features(some, self.topics, self.qrels, recipe=study.recipe if recipe is None else recipe)
        if trained is not None and data.retriever is not None:  # models rerank as many candidates as the study
            data = replace(data, retriever=replace(data.retriever, depth=k))
        return FoldData(data, trained, run)

    def with_history(self, history: History) -> StudyInputs:
        """Return the inputs with a history; if a source of candidates is learned, it searches with this history."""
        index = self.index.using(history=history)
        candidates = self.study.candidates
        run = self.run
        if is_learned(candidates):
            run = index.search(self.topics, candidates=sources_of(index, candidates, self.study.k))
        return replace(self, index=index, run=run)


@dataclass(frozen=True, eq=False)
class FoldCandidates:
    """Data of each fold, whose candidates come from the fold's own history."""

    inputs: StudyInputs
    histories: Sequence[History]

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        return self.inputs.with_history(self.histories[fold]).features()


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a study computes once.

    study     the settings; the base is set
    qrels     judgements of the queries of the study, and of no others
    folds     the fold of each query in each trial
    workers   what trains in each fold: this process, or the workers of a cluster
    data      of all folds; None where a source of the candidates is learned from judgements
    runs      of the systems that learn nothing
    inputs    of a study of an index
    history   of the judged queries of an index; None where nothing is learned from judgements
    """

    study: Study
    qrels: Qrels
    folds: Sequence[Mapping[str, int]]
    workers: Workers
    data: FoldData | None
    runs: Mapping[str, Run]
    inputs: StudyInputs | None = None
    history: History | None = None

    @property
    def resources(self) -> dict[str, str]:
        """What features are computed from, besides the documents, by name."""
        recipe = {} if self.data is None else self.data.data.recipe or {}
        if self.data is None and self.inputs is not None:  # each fold has candidates and data of its own
            vectors, encoder = self.inputs.index.vectors, self.inputs.index.encoder
            recipe = {"vectors": vectors and vectors.checksum, "encoder": encoder and encoder.name}
        used = {name: str(recipe[name]) for name in RESOURCES if recipe.get(name)}
        if self.history is not None:
            used["history"] = "judgements of the training queries of each fold"
        return used

    def of_folds(self, learned_from: Sequence[Collection[str]]) -> Callable[[int], FoldData]:
        """Return the data of each fold, whose history holds the queries that its model may learn from."""
        inputs = self.inputs
        if self.history is None or inputs is None:
            return self.data  # type: ignore[return-value]
        histories = [self.history.of_queries(query_ids) for query_ids in learned_from]
        if self.data is None:
            return FoldCandidates(inputs, histories)
        return FoldHistories.of(
            self.data, histories, lambda history, recipe: inputs.with_history(history).features(recipe).data
        )

    def training(
        self, data_of: Callable[[int], FoldData], folds: Mapping[str, int], base: str | Ranker | None
    ) -> FoldTraining:
        """Return the training of the ranker in each fold."""
        study = self.study
        tuning = Tuning(study.tune, random_state=study.random_state) if study.tune else None
        search = partial(fit_best, new_model(study, base), tuning)
        return FoldTraining(data_of, folds, search, learns_from_all(study, training_size(folds)))

    def values(self, run: Run) -> Floats:
        """Return the training's measure of each query, (n_queries,); 0 for a query that the run lacks."""
        return evaluate(self.qrels, run, [self.study.metric], complete=True).vector(self.study.metric)

    def scorer_gain(self, run: Run, folds: Mapping[str, int]) -> Gain | None:
        """Return the gain of a run of held-out queries by the scorer of the index; None without a scorer."""
        if self.inputs is None:
            return None
        fold_of = {query_id: folds[query_id] for query_id in self.qrels}
        values = partial(judged_values, self.qrels, self.study.metric)
        return scorer_gain(self.inputs.index, self.inputs.topics, run, fold_of, values)


@contextmanager
def prepare(
    source: SourceLike,
    topics: TopicsLike | None,
    qrels: QrelsLike | None,
    study: Study,
    runs: Mapping[str, RunLike] | None = None,
) -> Iterator[Prepared]:
    """Yield what a study of an index or its folder, of data or their files computes once."""
    if isinstance(source, Index) or (topics is not None and isinstance(source, str | Path)):
        with opened(source) as index:
            yield _of_index(index, topics, qrels, study, runs)
    else:
        data = source if isinstance(source, RankingData) else read_data(source)
        yield _of_data(data, topics, qrels, study, runs)


def _of_index(
    index: Index,
    topics: TopicsLike | None,
    qrels: QrelsLike | None,
    study: Study,
    others: Mapping[str, RunLike] | None,
) -> Prepared:
    """Return the features of the candidates of judged topics, and the runs of BM25 and of the unsupervised ranking."""
    if topics is None or qrels is None:
        missing = "topics" if topics is None else "qrels"
        raise InvalidInputError(f"{missing}: expected {missing} beside an index, got none. Pass both, or pass data.")
    judged, judgements = judged_queries(topics_of(topics), qrels_of(qrels))
    runs = {name: index.candidates_of(run) for name, run in _judged_runs(others, judgements).items()}
    study = _checked(study.starting(UNSUPERVISED), runs)
    folds = trial_folds(judgements, study, logged_groups(judged, groups_of_topics(index, judged)))
    learned = is_learned(study.candidates)
    if learned and not study.history:
        raise InvalidInputError(
            "candidates: expected no source of a history, which is off, got one. Name other sources."
        )
    learns = learned or (study.history and index.learns_history and "history" in needed_resources(study.recipe))
    history = History.learn(index, judged, judgements) if learns else None
    index = index.using(history=False, threads=study.threads)
    sources = sources_of(index, study.candidates, study.k)
    baseline = replace(sources, sources=(Part(BM25, study.k),))
    run = bm25 = index.search(judged, candidates=baseline)
    if not learned and sources != baseline:
        run = index.search(judged, candidates=sources)
    inputs = StudyInputs(index, run, judged, judgements, study)
    data = None if learned else (inputs if history is None else inputs.with_history(history)).features()
    own = {OF_BM25: bm25}
    if isinstance(study.base, Run):
        own[BASE] = index.candidates_of(_judged_runs({BASE: study.base}, judgements)[BASE])
    if study.base not in (RUN, NO_BASE):
        ranked = rerank(index, UNSUPERVISED, judged, None if learned else run, k=sources.k)
        own[UNSUPERVISED] = replace(ranked, name=UNSUPERVISED)
    if data is not None and not any(name.startswith(HISTORY_PREFIX) for name in data.data.feature_names):
        history = None
    return Prepared(study, judgements, folds, index, data, _with_others(own, runs), inputs, history)


def _of_data(
    data: RankingData,
    topics: TopicsLike | None,
    qrels: QrelsLike | None,
    study: Study,
    others: Mapping[str, RunLike] | None,
) -> Prepared:
    """Return the data, and the run that they were made from where they hold its scores."""
    if topics is not None:
        raise InvalidInputError("topics: expected none beside data, got some. Leave them out.")
    data, judgements = _judged_data(data, None if qrels is None else qrels_of(qrels))
    runs = _judged_runs(others, judgements)
    if qrels is None:
        _warn_of_others(runs, data)
    if data.weights is not None or data.row_weights is not None:
        log.warning("data: weights count in the training, and not in the figures: each query counts once there.")
    defaults = {setting.name: setting.default for setting in fields(Study)}
    other = next((name for name in OF_INDEX if getattr(study, name) != defaults[name]), None)
    if other is not None:
        raise InvalidInputError(f"{other}: expected none for data, whose candidates are given, got some. Leave it out.")
    study = _checked(study.starting(NO_BASE, data.feature_names), runs)
    if study.base != NO_BASE:
        check_base(study.base, data)
    folds = trial_folds(judgements, study, groups_by_id(data))
    own = {}
    made = data.retriever
    if data.base_scores is not None:
        name = OF_BM25 if made is not None and made.known else FIRST_STAGE
        own[name] = data.run(data.base_scores, FIRST_STAGE if made is None else str(made))
    if study.base == UNSUPERVISED:
        own[UNSUPERVISED] = data.run(UnsupervisedBase.of(data.feature_names).scores(data), UNSUPERVISED)
    if isinstance(study.base, Run):
        own |= _judged_runs({BASE: study.base}, judgements)
    return Prepared(study, judgements, folds, InProcess(), FoldData(data), _with_others(own, runs))


def _checked(study: Study, runs: Mapping[str, Run]) -> Study:
    """Return the study; refuse run names that a system has, an unknown baseline and an impossible tuning."""
    systems = (*SYSTEMS, UNSUPERVISED, *study.trained, *runs)
    taken = Counter(name.lower() for name in systems)
    name = next((name for name in runs if taken[name.lower()] > 1), None)
    if name is not None:
        raise InvalidInputError(f"runs: expected names that no other system has, in any case, got {name}. Rename it.")
    if study.baseline not in (None, *systems):
        raise unknown_name("baseline", str(study.baseline), systems)
    if study.tune:
        check_tuning(Tuning(study.tune), new_model(study, None))
    return study


def is_learned(candidates: str | None) -> bool:
    """Return whether candidates have a source that is learned from judgements."""
    return candidates is not None and Candidates.parse(candidates).is_learned


def trial_folds(qrels: Qrels, study: Study, groups: Mapping[str, int] | None) -> list[dict[str, int]]:
    """Return the folds of the judged queries in each trial; those of a group are in the same fold."""
    if study.repeats < 1:
        raise InvalidInputError(f"repeats: expected a number from 1, got {study.repeats}. Raise it.")
    if isinstance(study.folds, Mapping):
        if study.repeats > 1:
            raise InvalidInputError(
                f"repeats: expected 1 with the fold of each query, got {study.repeats}. Pass a number of folds."
            )
        return [given_folds(qrels, study.folds)]
    relevant = {query_id: sum(label > 0 for label in qrels[query_id].values()) for query_id in qrels}
    seeds = range(study.random_state, study.random_state + study.repeats)
    return [assign_folds(qrels, study.folds, seed, relevant, groups) for seed in seeds]


def new_model(study: Study, base: str | Ranker | None) -> Ranker:
    """Return the study's ranker, which is not fitted."""
    kind: type[Ranker] = ranker_class(study.ranker)
    shared = {"metric": study.metric, "random_state": study.random_state, "n_jobs": study.threads}
    accepted = {name: value for name, value in shared.items() if name in kind().get_params(deep=False)}
    return kind(base=base, **{**accepted, **study.parameters})


def learns_from_all(study: Study, n_queries: int) -> bool:
    """Return whether the ranker trains on all queries, so that none are left for early stopping or tuning."""
    if study.base == RUN or study.tune:
        return bool(ranker_class(study.ranker).cross_validates)
    return new_model(study, None).learns_from_all(n_queries)


def _with_others(own: Mapping[str, Run], others: Mapping[str, Run]) -> dict[str, Run]:
    """Return runs of systems that learn nothing: a study's own, those of other systems, and their fusion."""
    fused = [*list(own.values())[:1], *others.values()]
    added = {FUSED: replace(fuse(fused), name=FUSED)} if others and len(fused) > 1 else {}
    return {**own, **others, **added}


def _judged_data(data: RankingData, qrels: Qrels | None) -> tuple[RankingData, Qrels]:
    """Return the data of judged queries and their judgements; without qrels, these are the labels of the data."""
    if qrels is None:
        return data, label_qrels(data)
    if data.labels is None:
        raise InvalidInputError(
            "data: expected labels to train on, got none. Make the data with qrels, or call their column label."
        )
    judged = [number for number, query_id in enumerate(data) if query_id in qrels]
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the queries of the data, got none (a query is {shown(next(iter(data), ''))}"
            f"). {same_ids(data, qrels)}"
        )
    if len(judged) < len(data):
        log.info("data: %d of %d queries have no judgements and are left out.", len(data) - len(judged), len(data))
        data = data.select(np.array(judged))
    return data, Qrels.of({query_id: qrels[query_id] for query_id in data})


def label_qrels(data: RankingData) -> Qrels:
    """Return the labels of data as judgements.

    Of relevant documents that were not retrieved, data store only the labels; they are given ids that no run has.
    """
    ideal, ideal_ptr = data.ideal()
    labels = np.asarray(data.labels)
    if not (labels == np.rint(labels)).all():
        raise InvalidInputError("data: expected labels that are whole numbers, got others. Give qrels.")
    judged = {}
    for number, query_id in enumerate(data):
        rows = data.rows(query_id)
        own = labels[rows].astype(np.int64).tolist()
        best = Counter(ideal[ideal_ptr[number] : ideal_ptr[number + 1]].astype(np.int64).tolist())
        missed = enumerate((best - Counter(own)).elements(), 1)
        judged[query_id] = dict(zip(data.doc_ids[rows].tolist(), own, strict=True))
        judged[query_id] |= {f"(not retrieved {place})": label for place, label in missed}
    return Qrels.of(judged)


def _warn_of_others(runs: Mapping[str, Run], data: RankingData) -> None:
    """Warn of runs whose first documents are not all in the data, and hence have no label."""
    known = set(zip(data.query_ids[query_rows(data.query_ptr)].tolist(), data.doc_ids.tolist(), strict=True))
    for name, run in runs.items():
        first = {(query_id, doc_id) for query_id in run for doc_id in list(run[query_id])[:LOOKED_UP]}
        if not first <= known:
            log.warning(
                "run %s: %d of the first %d documents of its queries are not in the data and count as not relevant: "
                "give the judgements (qrels=), or study the index.",
                name,
                len(first - known),
                len(first),
            )


def _judged_runs(runs: Mapping[str, RunLike] | None, judgements: Qrels) -> dict[str, Run]:
    """Return the runs with their judged queries only; warn of judged queries that a run lacks."""
    judged = {name: run.select(run.query_numbers(judgements)) for name, run in named_runs(runs).items()}
    log_absent(
        logging.WARNING,
        "run %s: no documents for %d of %d judged queries, which count as 0.",
        {name: len(judgements) - len(run) for name, run in judged.items()},
        len(judgements),
    )
    return judged
