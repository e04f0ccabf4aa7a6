"""Studies: candidates, features, cross-validation by query, held-out runs, and a table with significance tests.

Every query is reranked by a model that did not use its labels in training, early stopping or tuning: one of k folds is
held out, the next fold is the validation fold for early stopping and tuning, and the model is trained on the others, as
in LETOR. A ranker that needs no validation fold is trained on that fold, too (`Ranker.learns_from_all`). Each repeat
assigns queries to folds anew, and the value of a query is its mean over the repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.experiments.prepared import FoldCandidates, Prepared, SourceLike, prepare
from rerank.experiments.study import (
    BASE,
    FIRST_STAGE,
    FUSED,
    OF_BM25,
    SETTINGS,
    UNSUPERVISED,
    Study,
    output_folder,
    staged_output,
    write_settings,
)
from rerank.experiments.study_result import StudyResult, Trial, write_result
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike
from rerank.rankers.matching import HISTORY_PREFIX
from rerank.rankers.other_names import check_names
from rerank.rankers.ranker import Ranker
from rerank.training.cross_validation import FoldData, FoldHistories, FoldTraining, Try, cross_validated, noise_of
from rerank.types import Qrels, RankingData, Run

WITH_SCORER = "with scorer"
WITHOUT_HISTORY = "without history"
ADDED = (OF_BM25, FIRST_STAGE, UNSUPERVISED, FUSED)


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
    """Compare a ranker with its base, and with runs of other systems, on held-out queries.

    With an index, the systems are BM25, the unsupervised ranking, and the ranker without and with its base. By default,
    candidates, features and training are those of `rerank.train`, and candidates of a held-out query are ranked as by
    `rerank.rerank`. With data (features and labels), the systems are the run that the data were made from, if the data
    hold its scores, the ranker without a base and, if a base is named, the ranker with it. A base that is a model is a
    system, too.

    Parameters
    ----------
    source : Index, RankingData, path or sequence of paths
        The index or its folder, with topics and qrels; or data, or their files. Each model holds a history of the
        training queries of its fold, as models of `rerank.train` do; a history of the index is not used.
    topics : Topics, mapping, DataFrame, path or None
        Topics of an index; those without judgements are ignored.
    qrels : Qrels, mapping, DataFrame, path or None
        Judgements. With data, they are those of the evaluation; None takes the labels of the data, and a document of
        a run that is not in the data is then not relevant.
    output : path or None
        Folder for runs, models, folds, results and settings; None writes nothing. A folder that holds a study is
        refused. All files appear at the end; after an error, the folder is unchanged.
    study : Study or None
        Settings; None is the defaults.
    runs : mapping of str to Run, mapping, DataFrame or path, or None
        Runs of other systems by name, compared unchanged. The reciprocal rank fusion of these runs and the
        first-stage run is a system, too: RRF.
    inputs : mapping or None
        Paths of index, topics, qrels, data and runs by name. They are stored with the settings, as is the file of a
        base "model:FILE" or "run:FILE", so that `rerank experiment FOLDER` can repeat the study.
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
                write_result(result, study, staging, {} if prepared.inputs is None else prepared.inputs.topics)
                write_settings(
                    staging, folder, study.to_dict(), {**given.base_file, **(inputs or {})}, result.resources
                )
    return result


def _without_history(data_of: Callable[[int], FoldData], fold: int) -> FoldData:
    """Return the data of a fold without the features that are learned from judgements."""
    found = data_of(fold)
    names = found.data.feature_names
    kept = [number for number, name in enumerate(names) if not name.startswith(HISTORY_PREFIX)]
    data = replace(found.data, X=found.data.X[:, kept], feature_names=tuple(names[number] for number in kept))
    return replace(found, data=data)


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
    if prepared.history is not None and prepared.data is not None:
        system, base = next(iter(study.trained.items()))
        training = prepared.training(partial(_without_history, data_of), folds, base)
        system = f"{system} {WITHOUT_HISTORY}"
        runs[system] = cross_validated(prepared.workers, training, system)[2]
    gains = {system: gain for system in models if (gain := prepared.scorer_gain(runs[system], folds)) is not None}
    runs |= {f"{system} {WITH_SCORER}": gain.run for system, gain in gains.items()}
    return Trial(folds, runs, models, tries, gains, noise)


def run_of_base(prepared: Prepared, data_of: Callable[[int], FoldData], folds: Mapping[str, int], base: Ranker) -> Run:
    """Return the run of all held-out queries that a base, which is a model, gives without training."""
    fixed = FoldTraining(data_of, folds, partial(_not_trained, base), learns_from_all=True)
    return cross_validated(prepared.workers, fixed, BASE)[2]


def _not_trained(model: Ranker, train: RankingData, stop: RankingData | None) -> tuple[Ranker, list[Try]]:
    """Return the model unchanged; it takes the place of a search that trains on the fold's data."""
    return model, []


def _mean_result(qrels: Qrels, trials: Sequence[Trial], system: str, measures: Sequence[str]) -> EvaluationResult:
    """Return the results of a system, averaged over the trials for each query."""
    results = [evaluate(qrels, trial.runs[system], measures, complete=True) for trial in trials]
    if len(results) == 1:
        return results[0]
    means = {name: np.mean([result.values[name] for result in results], axis=0) for name in results[0].values}
    return replace(results[0], values=means)
