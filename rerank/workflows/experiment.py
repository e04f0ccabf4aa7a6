"""Studies: candidates, features, cross-validation by query, held-out runs, and a table with significance tests.

Every query is reranked by a model that did not use its labels in training, early stopping or tuning: of k folds one is
held out, the next one is the validation fold for early stopping and tuning, and the others train, as in LETOR. A ranker
that needs no validation fold learns from it, too (`Ranker.learns_from_all`). With repeats, the folds are assigned
again, and the value of a query is its mean over the repeats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.evaluation.report import comparison_table
from rerank.files.lists import write_folds
from rerank.files.records import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.files.trec import write_run
from rerank.history.history import History
from rerank.rankers.ranker import Ranker, ranker_class
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.retrieval.candidates import Part
from rerank.runtime.output import whole_file
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.retriever import BM25
from rerank.workflows.fold_history import FoldHistories, is_learned
from rerank.workflows.folds import (
    FoldData,
    FoldTraining,
    SameData,
    assign_folds,
    given_folds,
    held_out,
    training_size,
)
from rerank.workflows.index import Index
from rerank.workflows.output_folder import check_output_folder, staged_output
from rerank.workflows.record import RECORD, input_checksums, write_provenance, write_record
from rerank.workflows.rerank import rerank
from rerank.workflows.study import RUN, Study
from rerank.workflows.study_data import learns_from_all, new_model, study_candidates, study_features
from rerank.workflows.train import judged_queries
from rerank.workflows.tuning import Try, best_model, best_try, draw_settings


@dataclass(frozen=True, eq=False)
class Trial:
    """Results of one assignment of queries to folds.

    Parameters
    ----------
    folds : mapping of str to int
        Fold of each judged query.
    runs : mapping of str to Run
        Held-out run of each system.
    models : mapping of str to sequence of Ranker
        Models of each trained system, by held-out fold.
    tries : mapping of str to sequence of sequence of Try
        Settings that were tried for each trained system and fold, without the held-out queries.
    histories : sequence of History
        What was learned from the judgements of the training queries of each fold, where the study asks for it.

    """

    folds: Mapping[str, int]
    runs: Mapping[str, Run]
    models: Mapping[str, Sequence[Ranker]]
    tries: Mapping[str, Sequence[Sequence[Try]]]
    histories: Sequence[History] = ()


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Results of a study.

    Parameters
    ----------
    trials : sequence of Trial
        One trial for each repeat.
    results : mapping of str to EvaluationResult
        Results of each system, averaged over the trials for each query.
    table : str
        The comparison as text.

    """

    trials: Sequence[Trial]
    results: Mapping[str, EvaluationResult]
    table: str

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


def run_experiment(
    index: Index,
    topics: TopicsLike,
    qrels: QrelsLike,
    output: str | Path | None = None,
    study: Study | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> StudyResult:
    """Compare BM25, the unsupervised ranking, and a ranker without a base and from one, on held-out queries.

    By default candidates, features and training are those of `rerank.train`; all candidates of a held-out query are
    ranked.

    Parameters
    ----------
    index : Index
        The index. A history that it has is not used: in each fold, one is learned from the training queries where the
        study asks for it.
    topics : Topics, mapping, DataFrame or path
        Topics; those without judgements are ignored.
    qrels : Qrels, mapping, DataFrame or path
        Judgements.
    output : path or None
        Folder for runs, models, folds, results and the record; None writes nothing. All files appear at the end; after
        an error, the folder is as it was.
    study : Study or None
        Settings; None is the defaults.
    provenance : mapping or None
        Paths of the inputs and the command, which are written before the record: a folder with a record is complete.

    Returns
    -------
    StudyResult
        Trials, results and the table.

    Raises
    ------
    InvalidInputError
        If no topic is judged, or a setting is invalid.

    """
    study, topics, qrels = study or Study(), topics_of(topics), qrels_of(qrels)
    folder = None if output is None else check_output_folder(output)
    judged, judgements = judged_queries(topics, qrels)
    folds_of_trials = trial_folds(judged, qrels, study)
    settings = draw_settings(study.ranker, study.parameters, study.tune, study.random_state) if study.tune else [{}]
    prepared = Prepared.of(index, judged, judgements, study)
    trials = [_trial(prepared, folds, settings) for folds in folds_of_trials]
    results = {system: _mean_result(judgements, trials, system, study.measures) for system in trials[0].runs}
    result = StudyResult(trials, results, comparison_table(results, baseline="BM25"))
    if folder is not None:
        with staged_output(folder, last=RECORD) as staging:
            written = _write(result, study, staging)
            if provenance is not None:
                write_provenance(staging, provenance)
            name = "" if index.encoder is None else index.encoder.name
            inputs = input_checksums(index, topics, qrels, index.vectors)
            write_record(staging, study.to_dict(), inputs, _choices(trials), written, name)
    return result


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a study computes once: features, and the runs of systems that learn nothing."""

    index: Index
    qrels: Qrels
    study: Study
    features: FoldHistories | SameData
    runs: Mapping[str, Run]

    @classmethod
    def of(cls, index: Index, topics: Topics, qrels: Qrels, study: Study) -> Self:
        """Retrieve the candidates of judged topics, and compute their features."""
        learned = is_learned(study.candidates)
        if learned and not study.learn_history:
            raise InvalidInputError(
                "candidates: expected features learned in each fold beside the source history, got none. Learn them "
                "(learn_history=True, --learn-history), or leave the source out."
            )
        index = index.using(history=False, threads=study.threads)
        sources = study_candidates(index, study)
        baseline = replace(sources, sources=(Part(BM25, study.k),))
        run = bm25 = index.search(topics, candidates=baseline)
        if not learned and sources != baseline:
            run = index.search(topics, candidates=sources)
        runs = {"BM25": bm25}
        if study.base != RUN:
            ranked = rerank(index, UNSUPERVISED, topics, None if learned else run, k=sources.k)
            runs[UNSUPERVISED] = replace(ranked, name=UNSUPERVISED)
        if study.learn_history:
            return cls(index, qrels, study, FoldHistories(index, run, topics, qrels, study), runs)
        given = study_features(index, run, topics, qrels, study)
        return cls(index, qrels, study, SameData(given.data, given.trained), runs)

    def data_of(self, folds: Mapping[str, int]) -> tuple[Sequence[History], Callable[[int], FoldData]]:
        """Return the history of each fold, if features are learned, and a function that returns the data of a fold."""
        return self.features.of_folds(folds) if isinstance(self.features, FoldHistories) else ((), self.features)

    def training(
        self,
        data_of: Callable[[int], FoldData],
        folds: Mapping[str, int],
        ranker: str,
        base: str | None,
        settings: Sequence[Mapping[str, Any]] = ({},),
    ) -> FoldTraining:
        """Return the training of a ranker in each fold."""
        value = partial(_value, self.qrels, self.study.metric)
        search = partial(best_model, partial(new_model, self.study, ranker, base), settings, value=value)
        return FoldTraining(data_of, folds, search, learns_from_all(self.study, ranker, training_size(folds)))


def system_names(ranker: str, base: str) -> tuple[str, str]:
    """Return the names of the systems without and with a base in tables and file names."""
    name, kind = ranker_class(ranker).__name__, "BM25" if base == RUN else base.partition(":")[0]
    return name, "LambdaSMART" if name == "LambdaMART" else f"{name} from {kind}"


def trial_folds(judged: Topics, qrels: Qrels, study: Study) -> list[dict[str, int]]:
    """Return the folds of each trial."""
    if study.repeats < 1:
        raise InvalidInputError(f"repeats: expected a number from 1, got {study.repeats}.")
    if not isinstance(study.folds, int):
        if study.repeats > 1:
            raise InvalidInputError(
                f"repeats: expected 1 with the fold of each query, got {study.repeats}. Pass a number of folds."
            )
        return [given_folds(judged, study.folds)]
    relevant = {query_id: sum(label > 0 for label in qrels[query_id].values()) for query_id in judged}
    seeds = range(study.random_state, study.random_state + study.repeats)
    return [assign_folds(judged, study.folds, seed, relevant) for seed in seeds]


def _trial(prepared: Prepared, folds: dict[str, int], settings: Sequence[Mapping[str, Any]]) -> Trial:
    study, (histories, data_of) = prepared.study, prepared.data_of(folds)
    runs, models, tries = dict(prepared.runs), {}, {}
    for system, base in zip(system_names(study.ranker, study.base), (None, study.base), strict=True):
        training = prepared.training(data_of, folds, study.ranker, base, settings)
        models[system], tries[system], runs[system] = held_out(prepared.index, training, system)
    return Trial(folds, runs, models, tries, histories)


def _value(qrels: Qrels, metric: str, data: RankingData, model: Ranker) -> float:
    """Return the training measure of a model on the queries of the data."""
    judged = Qrels.of({query_id: qrels[query_id] for query_id in data})
    return evaluate(judged, model.rank(data), [metric], complete=True)[metric]


def _mean_result(qrels: Qrels, trials: Sequence[Trial], system: str, measures: Sequence[str]) -> EvaluationResult:
    """Return the results of a system, averaged over the trials for each query."""
    results = [evaluate(qrels, trial.runs[system], measures, complete=True) for trial in trials]
    if len(results) == 1:
        return results[0]
    means = {name: np.mean([result.values[name] for result in results], axis=0) for name in results[0].values}
    return replace(results[0], values=means)


def _choices(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return folds, tried settings and chosen setting of each trial, as plain JSON values."""
    return [
        {
            "folds": dict(trial.folds),
            "systems": {system: [_choice(tried) for tried in tries] for system, tries in trial.tries.items()},
        }
        for trial in trials
    ]


def _choice(tries: Sequence[Try]) -> dict[str, Any]:
    return {"chosen": dict(best_try(tries).parameters), "tried": [vars(trial) for trial in tries]}


def _write(result: StudyResult, study: Study, folder: Path) -> list[str]:
    """Write all files but the record; return their names."""
    names = []
    for number, trial in enumerate(result.trials):
        suffix = f".repeat{number}" if len(result.trials) > 1 else ""
        names += _write_trial(trial, folder, suffix)
    with whole_file(folder / "table.txt") as file:
        file.write(result.table + "\n")
    figures = {
        "study": study.to_dict(),
        "systems": {
            system: {
                "policy": result_of_system.policy,
                "mean": {measure: result_of_system[measure] for measure in study.measures},
                "per_query": {measure: dict(result_of_system.per_query[measure]) for measure in study.measures},
            }
            for system, result_of_system in result.results.items()
        },
    }
    with whole_file(folder / "results.json") as file:
        file.write(json.dumps(figures, indent=1) + "\n")
    return [*names, "table.txt", "results.json"]


def _write_trial(trial: Trial, folder: Path, suffix: str) -> list[str]:
    names = []
    for system, run in trial.runs.items():
        names.append(f"{_file_name(system)}{suffix}.run")
        write_run(run, folder / names[-1])
    for system, models in trial.models.items():
        for fold, model in enumerate(models):
            names.append(f"{_file_name(system)}{suffix}.fold{fold}.model.json")
            model.save(folder / names[-1])
    for fold, history in enumerate(trial.histories):
        names.append(f"history{suffix}.fold{fold}.npz")
        history.save(folder / names[-1])
    write_folds(trial.folds, folder / f"folds{suffix}.tsv")
    return [*names, f"folds{suffix}.tsv"]


def _file_name(system: str) -> str:
    return system.lower().replace(" ", "-")
