"""Studies: candidates, features, cross-validation by query, held-out runs, and a table with significance tests.

Every query is reranked by a model that did not use its labels in training, early stopping or tuning: of k folds one is
held out, the next one is the validation fold for early stopping and tuning, and the others train, as in LETOR. A ranker
that needs no validation fold learns from it, too (`Ranker.learns_from_all`). With repeats, the folds are assigned
again, and the value of a query is its mean over the repeats.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.evaluation.comparison import Comparison, compare_results, figure, render
from rerank.evaluation.comparison_page import report
from rerank.evaluation.evaluate import EvaluationResult, evaluate, log_absent
from rerank.evaluation.page import Axis, Curve, Section
from rerank.experiments.study import (
    BASE,
    FIRST_STAGE,
    FUSED,
    NO_BASE,
    OF_BM25,
    RUN,
    SETTINGS,
    SYSTEMS,
    UNSUPERVISED,
    Study,
    output_folder,
    staged_output,
    write_settings,
)
from rerank.features.recipe import Recipe
from rerank.files.data import read_data
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike, qrels_of, topics_of
from rerank.files.lists import write_folds
from rerank.files.trec import write_run
from rerank.history.history import History
from rerank.index.index import Index, opened
from rerank.index.resources import named_runs, needed_resources
from rerank.pipeline.rerank import rerank
from rerank.rankers.bases import UnsupervisedBase
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.rankers.matching import HISTORY
from rerank.rankers.other_names import check_names
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.retrieval.candidates import Candidates, Part
from rerank.retrieval.fusion import fuse
from rerank.retrieval.union import UnionRun
from rerank.runtime.output import write_text
from rerank.runtime.progress import InProcess
from rerank.training.cross_validation import (
    FoldData,
    FoldHistories,
    FoldTraining,
    Try,
    Workers,
    cross_validated,
    noise_of,
)
from rerank.training.estimate import DEFAULT_METRIC, judged_values, scorer_gain
from rerank.training.folds import (
    assign_folds,
    given_folds,
    groups_by_id,
    groups_of_topics,
    logged_groups,
    training_size,
)
from rerank.training.inputs import TRAINED, check_base, judged_queries, sources_of, with_depth_of_history
from rerank.training.tuning import Tuning, best_try, check_tuning, fit_best
from rerank.types import BM25, Floats, Qrels, RankingData, Run, Topics, query_rows
from rerank.types.ids import same_ids

SourceLike = Index | RankingData | str | Path | Sequence[str | Path]
OF_INDEX = ("k", "candidates", "recipe", "history")  # settings of a study of an index alone
WITH_SCORER = "with scorer"
WITHOUT_HISTORY = "without history"
RESOURCES = ("vectors", "history", "encoder")  # parts of a recipe
ADDED = (OF_BM25, FIRST_STAGE, UNSUPERVISED, FUSED)
FIRST = 10  # documents of a query of which a warning tells


@dataclass(frozen=True, repr=False)
class ScorerCurve(Curve):
    """A measure by the number of documents of a query that a scorer is called for.

    Parameters
    ----------
    measure : str
        Name of the measure.
    gains : mapping of str to Gain
        What the scorer brings to each system.

    """

    measure: str
    gains: Mapping[str, Gain]
    header = ("system", "calls", "measure")

    @property
    def title(self) -> str:  # type: ignore[override]
        """What is shown, as a heading."""
        return f"{self.measure} on held-out queries by the calls of the scorer for a query"

    @property
    def rows(self) -> list[tuple[str, int, float]]:
        """System, number of calls and mean of each point; the scorer's own order of all that it scores is the last."""
        rows = []
        for system, gain in self.gains.items():
            rows.append((system, 0, gain.without))
            rows += [(system, stage.depth, value) for stage, value in gain.curve]
            rows.append((f"scorer alone, of {system}", DEPTHS[-1], gain.alone))
        return rows

    def parts(self, page: bool = False) -> list[Section]:
        """Return the points, with their chart."""
        rows = [[system, f"{calls}", figure(value)] for system, calls, value in self.rows]
        chart = self.chart(Axis("calls of the scorer for a query", [0, *DEPTHS], lambda calls: (1.0 + calls) ** 0.5))
        return [Section("Points", (), rows, ["system", "calls", self.measure], 1, [chart])]


@dataclass(frozen=True, eq=False)
class Trial:
    """Results of one assignment of queries to folds.

    Parameters
    ----------
    folds : mapping of str to int
        Fold of each judged query.
    runs : mapping of str to Run
        Held-out run of each system; with a scorer, each trained system is another one with it, whose last stage was
        chosen on the other folds.
    models : mapping of str to sequence of Ranker
        Models of each trained system, by held-out fold.
    tries : mapping of str to sequence of sequence of Try
        Settings that were tried for each trained system and fold, without the held-out queries.
    gains : mapping of str to Gain
        What the scorer of the index brings to each trained system.
    noise : mapping of str to float
        Standard deviation of the training's measure over random states, of each trained system that draws: a smaller
        difference of two systems says nothing. Measured in the first fold of the first trial.

    """

    folds: Mapping[str, int]
    runs: Mapping[str, Run]
    models: Mapping[str, Sequence[Ranker]]
    tries: Mapping[str, Sequence[Sequence[Try]]]
    gains: Mapping[str, Gain] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """Results of a study, which `print` shows as tables.

    Parameters
    ----------
    trials : sequence of Trial
        One trial for each repeat.
    results : mapping of str to EvaluationResult
        Results of each system, averaged over the trials for each query.
    baseline : str or None
        System that the others are compared with; None is the first.
    added : sequence of str
        Systems that the study added by itself: their p-values are corrected apart.
    measure : str
        Measure of the training.
    resources : mapping of str to str
        What features were computed from, besides the documents, by name: history (judgements of other queries),
        vectors, encoder.

    """

    trials: Sequence[Trial]
    results: Mapping[str, EvaluationResult]
    baseline: str | None = None
    added: Sequence[str] = ()
    measure: str = DEFAULT_METRIC
    resources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def comparison(self) -> Comparison:
        """The results, compared with those of the baseline."""
        remarks = resource_notes(self.resources)
        if noise := self.trials[0].noise:
            figures = ", ".join(f"{system} {value:.4f}" for system, value in noise.items())
            remarks.append(f"standard deviation of {self.measure} over random states: {figures}")
        return compare_results(self.results, self.baseline, added=self.added, remarks=remarks)

    def __repr__(self) -> str:
        return repr(self.comparison)

    def _repr_markdown_(self) -> str:
        return self.comparison._repr_markdown_()

    @property
    def folds(self) -> Mapping[str, int]:
        """Fold of each judged query in the first trial."""
        return self.trials[0].folds

    @property
    def runs(self) -> Mapping[str, Run]:
        """Held-out run of each system in the first trial."""
        return self.trials[0].runs

    @property
    def models(self) -> Mapping[str, Sequence[Ranker]]:
        """Models of each trained system in the first trial, by held-out fold."""
        return self.trials[0].models


def resource_notes(resources: Mapping[str, str]) -> list[str]:
    """Return the line that names what features were computed from, none where that is the documents alone."""
    names = [f"{name} ({value})" for name, value in resources.items()]
    return [f"features use {', '.join(names)}"] if names else []


def run_experiment(
    source: SourceLike,
    topics: TopicsLike | None = None,
    qrels: QrelsLike | None = None,
    output: str | Path | None = None,
    study: Study | None = None,
    *,
    runs: Mapping[str, RunLike] | None = None,
    inputs: Mapping[str, Any] | None = None,
    **settings: Any,
) -> StudyResult:
    """Compare rankers with what they start from, and with runs of other systems, on held-out queries.

    With an index, the systems are BM25, the unsupervised ranking, the ranker without a base, and the ranker from one;
    by default candidates, features and training are those of `rerank.train`, and candidates of a held-out query are
    ranked as by `rerank.rerank`. With data (features and labels), they are the run that the data were made from, where
    the data hold its scores, and the ranker without a base and, where one is named, from one. A base that is a model is
    a system, too.

    Parameters
    ----------
    source : Index, RankingData, path or sequence of paths
        The index or its folder, with topics and qrels; or data, or their files. Models hold a history of the
        training queries of their fold, as those of `rerank.train` do; one that the index has is not used.
    topics : Topics, mapping, DataFrame, path or None
        Topics of an index; those without judgements are ignored.
    qrels : Qrels, mapping, DataFrame, path or None
        Judgements. With data, what is evaluated on; None is the labels of the data, by which a document of a run that
        is not in the data is not relevant.
    output : path or None
        Folder for runs, models, folds, results and settings; None writes nothing. One that holds a study is
        refused. All files appear at the end; after an error, the folder is as it was.
    study : Study or None
        Settings; None is the defaults.
    runs : mapping of str to Run, mapping, DataFrame or path, or None
        Runs of other systems, by name, which are compared as they are. Their reciprocal rank fusion, with the
        first-stage run, is a system, too: RRF.
    inputs : mapping or None
        Paths of index, topics, qrels, data and runs by name, which are stored with the settings beside that of a base
        "model:FILE" or "run:FILE", so that `rerank experiment FOLDER` runs the study again.
    **settings : object
        Settings of the study by name, e.g. `k=50, ranker="lambdamart"`, see `Study`.

    Returns
    -------
    StudyResult
        Trials, results and the table.

    Raises
    ------
    InvalidInputError
        If no topic is judged, a setting is invalid, or another process is writing the folder.

    Examples
    --------
    >>> rerank.run_experiment(index, "topics.tsv", "qrels.txt", k=50, ranker=rerank.LambdaMART(num_leaves=15))
    >>> rerank.run_experiment("data.npz", base="model:model.json", runs={"dense": "dense.run"})

    """
    check_names("study", settings, [setting.name for setting in fields(Study)])
    given = replace(study or Study(), **settings)
    with output_folder(output) as folder:
        with prepare(source, topics, qrels, given, runs) as prepared:
            trials = [_trial(prepared, folds, not number) for number, folds in enumerate(prepared.folds)]
        study = prepared.study
        results = {system: _mean_result(prepared.qrels, trials, system, study.measures) for system in trials[0].runs}
        baseline = study.baseline or next((name for name in (BASE, study.base) if name in results), None)
        added = [system for system in results if system in ADDED or system.endswith(WITHOUT_HISTORY)]
        result = StudyResult(trials, results, baseline, added, study.metric, prepared.resources)
        if folder is not None:
            with staged_output(folder, last=SETTINGS) as staging:
                _write(result, study, staging)
                write_settings(
                    staging, folder, study.to_dict(), {**given.base_file, **(inputs or {})}, result.resources
                )
    return result


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """What the features of a study of an index are made of; the run is that of BM25 where a source is learned."""

    index: Index
    run: Run
    topics: Topics
    qrels: Qrels
    study: Study

    def features(self, recipe: Recipe | None = None) -> FoldData:
        """Return the features of all candidates, and which of these are trained on; None is the study's recipe."""
        study = self.study
        run = self.run.take(self.run.trec_order())
        sources = sources_of(self.index, study.candidates, study.k)
        k = with_depth_of_history(sources, self.index, self.qrels).k
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
        """Return the inputs with a history, and with the candidates that it finds where a source is learned."""
        index = self.index.using(history=history)
        candidates = self.study.candidates
        run = self.run
        if is_learned(candidates):
            run = index.search(self.topics, candidates=sources_of(index, candidates, self.study.k))
        return replace(self, index=index, run=run)


@dataclass(frozen=True, eq=False)
class FoldCandidates:
    """Data of each fold, whose candidates come from a history of its own."""

    inputs: StudyInputs
    histories: Sequence[History]

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        return self.inputs.with_history(self.histories[fold]).features()


def _without_history(data_of: Callable[[int], FoldData], fold: int) -> FoldData:
    """Return the data of a fold without the features of judgements."""
    found = data_of(fold)
    names = found.data.feature_names
    kept = [number for number, name in enumerate(names) if not name.startswith(HISTORY)]
    data = replace(found.data, X=found.data.X[:, kept], feature_names=tuple(names[number] for number in kept))
    return replace(found, data=data)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a study computes once.

    study     the settings, with a base
    qrels     the judgements of the queries of the study alone
    folds     the fold of each query in each trial
    workers   what trains in each fold: this process, or the workers of a cluster
    data      of all folds; None where a source of the candidates is learned from judgements
    runs      of the systems that learn nothing
    inputs    of a study of an index
    history   of the judged queries; None where nothing is learned from judgements
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
    def learns_history(self) -> bool:
        """Whether features are learned from the judgements of the training queries."""
        return self.inputs is not None and self.history is not None

    @property
    def resources(self) -> dict[str, str]:
        """What features are computed from, besides the documents, by name."""
        recipe = {} if self.data is None else self.data.data.recipe or {}
        if self.data is None and self.inputs is not None:  # candidates, and so data, are those of each fold
            vectors, encoder = self.inputs.index.vectors, self.inputs.index.encoder
            recipe = {"vectors": vectors and vectors.checksum, "encoder": encoder and encoder.name}
        used = {name: str(recipe[name]) for name in RESOURCES if recipe.get(name)}
        if self.learns_history:
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
        """Return the measure of the training of each query, 0 for those that the run does not have, (n_queries,)."""
        return evaluate(self.qrels, run, [self.study.metric], complete=True).vector(self.study.metric)

    def scorer_gain(self, run: Run, folds: Mapping[str, int]) -> Gain | None:
        """Return what the scorer of the index brings to a run of held-out queries; None without one."""
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
        raise InvalidInputError("candidates: expected none of a history where it is left out, got some. Name others.")
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
    if data is not None and not any(name.startswith(HISTORY) for name in data.data.feature_names):
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
        base = UnsupervisedBase.of(tuple(data.feature_names))
        own[UNSUPERVISED] = data.run(base.scores(data), UNSUPERVISED)
    if isinstance(study.base, Run):
        own |= _judged_runs({BASE: study.base}, judgements)
    return Prepared(study, judgements, folds, InProcess(), FoldData(data), _with_others(own, runs))


def _checked(study: Study, runs: Mapping[str, Run]) -> Study:
    """Return the study; refuse names of other systems, an unknown baseline, and a search that the ranker lacks."""
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
        raise InvalidInputError(f"repeats: expected a number from 1, got {study.repeats}.")
    if not isinstance(study.folds, int):
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
    """Return whether no training query is left to stop on; settings are compared on such queries."""
    if study.base == RUN or study.tune:
        return bool(ranker_class(study.ranker).cross_validates)
    return new_model(study, None).learns_from_all(n_queries)


def _with_others(own: Mapping[str, Run], others: Mapping[str, Run]) -> dict[str, Run]:
    """Return runs of systems that learn nothing: a study's own, those of other systems, and their fusion."""
    fused = [*list(own.values())[:1], *others.values()]
    added = {FUSED: replace(fuse(fused), name=FUSED)} if others and len(fused) > 1 else {}
    return {**own, **others, **added}


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
            f"). {same_ids(data, qrels)}"
        )
    if len(judged) < len(data):
        log.info("data: %d of %d queries have no judgements and are left out.", len(data) - len(judged), len(data))
        data = data.select(np.array(judged))
    return data, Qrels.of({query_id: qrels[query_id] for query_id in data})


def label_qrels(data: RankingData) -> Qrels:
    """Return the labels of data as judgements.

    Relevant documents that were not retrieved, of which data know the labels alone, have ids that no run has.
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
    """Log which runs have documents whose labels the data do not know."""
    known = set(zip(data.query_ids[query_rows(data.query_ptr)].tolist(), data.doc_ids.tolist(), strict=True))
    for name, run in runs.items():
        first = {(query_id, doc_id) for query_id in run for doc_id in list(run[query_id])[:FIRST]}
        if not first <= known:
            text = (
                "run %s: %d of the first %d documents of its queries are not in the data and count as not relevant: "
                "give the judgements (qrels=), or study the index."
            )
            log.warning(text, name, len(first - known), len(first))


def _judged_runs(runs: Mapping[str, RunLike] | None, judgements: Qrels) -> dict[str, Run]:
    """Return the judged queries of runs; log how many of these a run lacks."""
    judged = {}
    absent = {}
    for name, run in named_runs(runs).items():
        names = [query_id for query_id in judgements if query_id in run]
        absent[name] = len(judgements) - len(names)
        judged[name] = run.select(run.query_numbers(names))
    text = "run %s: no documents for %d of %d judged queries, which count as 0."
    log_absent(logging.WARNING, text, absent, len(judgements))
    return judged


def _trial(prepared: Prepared, folds: Mapping[str, int], is_first: bool) -> Trial:
    """Return the held-out runs and the models of all systems for one assignment of queries to folds.

    is_first  whether the noise of the trained systems is measured
    """
    study = prepared.study
    number = max(folds.values()) + 1
    others = [[query_id for query_id, of_query in folds.items() if of_query != fold] for fold in range(number)]
    data_of = prepared.of_folds(others)
    runs = dict(prepared.runs)
    models = {}
    tries = {}
    if isinstance(study.base, Ranker):
        runs[BASE] = run_of_base(prepared, data_of, folds, study.base)
    noise = {}
    for system, base in study.trained.items():
        training = prepared.training(data_of, folds, base)
        models[system], tries[system], runs[system] = cross_validated(prepared.workers, training, system)
        if is_first and (value := noise_of(training, models[system][0], prepared.values)) is not None:
            noise[system] = value
        if isinstance(data_of, FoldHistories | FoldCandidates):
            for model, history in zip(models[system], data_of.histories, strict=True):
                model.history_ = history
    if prepared.learns_history and prepared.data is not None:
        system, base = next(iter(study.trained.items()))
        training = prepared.training(partial(_without_history, data_of), folds, base)
        system = f"{system} {WITHOUT_HISTORY}"
        runs[system] = cross_validated(prepared.workers, training, system)[2]
    gains = {system: gain for system in models if (gain := prepared.scorer_gain(runs[system], folds)) is not None}
    runs |= {f"{system} {WITH_SCORER}": gain.run for system, gain in gains.items()}
    return Trial(folds, runs, models, tries, gains, noise)


def run_of_base(prepared: Prepared, data_of: Callable[[int], FoldData], folds: Mapping[str, int], base: Ranker) -> Run:
    """Return the run of all held-out queries by a base that is a model."""
    fixed = FoldTraining(data_of, folds, partial(_not_trained, base), learns_from_all=True)
    return cross_validated(prepared.workers, fixed, BASE)[2]


def _not_trained(model: Ranker, train: RankingData, stop: RankingData | None) -> tuple[Ranker, list[Try]]:
    """Return a model as it is, in the place of one that learns from a fold's training data."""
    return model, []


def _mean_result(qrels: Qrels, trials: Sequence[Trial], system: str, measures: Sequence[str]) -> EvaluationResult:
    """Return the results of a system, averaged over the trials for each query."""
    results = [evaluate(qrels, trial.runs[system], measures, complete=True) for trial in trials]
    if len(results) == 1:
        return results[0]
    means = {name: np.mean([result.values[name] for result in results], axis=0) for name in results[0].values}
    return replace(results[0], values=means)


def _write(result: StudyResult, study: Study, folder: Path) -> None:
    """Write all files but the settings."""
    for number, trial in enumerate(result.trials):
        _write_trial(trial, folder, f".repeat{number}" if len(result.trials) > 1 else "")
    if result.trials[0].gains:
        ScorerCurve(study.metric, result.trials[0].gains).write(folder, "scorer")
    texts = {
        "table.txt": f"{result}\n",
        "table.tex": render(result.comparison, "latex") + "\n",
        "report.html": report("Cross-validation", result.comparison, (), {}, {}),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    figures = {
        "study": study.to_dict(),
        "resources": dict(result.resources),
        "baseline": result.comparison.baseline,
        "systems": {
            system: {
                "policy": evaluated.policy,
                "mean": {measure: evaluated[measure] for measure in study.measures},
                "per_query": {measure: dict(evaluated.per_query[measure]) for measure in study.measures},
            }
            for system, evaluated in result.results.items()
        },
        "trials": [
            {
                "folds": dict(trial.folds),
                "systems": {
                    system: [
                        {"chosen": dict(best_try(tried).parameters), "tried": [vars(setting) for setting in tried]}
                        for tried in tries
                    ]
                    for system, tries in trial.tries.items()
                },
                "noise": dict(trial.noise),
            }
            for trial in result.trials
        ],
    }
    write_text(folder / "results.json", json.dumps(figures, indent=1) + "\n")


def _write_trial(trial: Trial, folder: Path, suffix: str) -> None:
    for system, run in trial.runs.items():
        write_run(run, folder / f"{_file_name(system)}{suffix}.run")
    for system, models in trial.models.items():
        for fold, model in enumerate(models):
            model.save(folder / f"{_file_name(system)}{suffix}.fold{fold}.model.json")
    write_folds(trial.folds, folder / f"folds{suffix}.tsv")


def _file_name(system: str) -> str:
    return system.lower().replace(" ", "-")
