"""Studies: candidates, features, cross-validation by query, held-out runs, and a table with significance tests.

Every query is reranked by a model that did not use its labels in training, early stopping or tuning: of k folds one is
held out, the next one is the validation fold for early stopping and tuning, and the others train, as in LETOR. A ranker
that needs no validation fold learns from it, too (`Ranker.learns_from_all`). With repeats, the folds are assigned
again, and the value of a query is its mean over the repeats.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from rerank.evaluation.comparison import Comparison, compare_results, comparison_table
from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.experiments.prepared import Prepared, trial_folds
from rerank.experiments.settings import SETTINGS, check_output_folder, staged_output, write_settings
from rerank.experiments.study import BASE, SourceLike, Study, StudyInputs, new_model, opened_source
from rerank.files.lists import QrelsLike, RunLike, TopicsLike, write_folds
from rerank.files.trec import write_run
from rerank.history.history import History
from rerank.rankers.ranker import Ranker
from rerank.runtime.output import whole_file
from rerank.training.folds import FoldTraining, Try, held_out
from rerank.training.tuning import Tuning, best_try, search_space
from rerank.types import Qrels, RankingData, Run


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


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """Results of a study, which `print` shows as tables.

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

    @cached_property
    def comparison(self) -> Comparison:
        """The results, compared with those of the first system."""
        return compare_results(self.results)

    def __repr__(self) -> str:
        return self.table

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, see `Comparison.to_frame`."""
        return self.comparison.to_frame()

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
    by default candidates, features and training are those of `rerank.train`, and all candidates of a held-out query are
    ranked. With data (features and labels), they are the run that the data were made from, where the data hold its
    scores, and the ranker without a base and, where one is named, from one. A base that is a model is a system, too.

    Parameters
    ----------
    source : Index, RankingData, path or sequence of paths
        The index or its folder, beside topics and qrels; or data, or their files. A history that an index has is not
        used: in each fold, one is learned from the training queries where the study asks for it.
    topics : Topics, mapping, DataFrame, path or None
        Topics of an index; those without judgements are ignored.
    qrels : Qrels, mapping, DataFrame, path or None
        Judgements. With data, what is evaluated on; None is the labels of the data, by which a document of a run that
        is not in the data is not relevant.
    output : path or None
        Folder for runs, models, folds, results and settings; None writes nothing. All files appear at the end; after
        an error, the folder is as it was.
    study : Study or None
        Settings; None is the defaults.
    runs : mapping of str to Run, mapping, DataFrame or path, or None
        Runs of other systems, by name, which are compared as they are. Their reciprocal rank fusion, with the
        first-stage run, is a system, too: RRF.
    inputs : mapping or None
        Paths of index, topics, qrels, data, model and runs by name, which are stored with the settings, so that `rerank
        experiment FOLDER` runs the study again.
    **settings : object
        Settings of the study by name, e.g. `k=50, ranker="lambdamart"`, see `Study`.

    Returns
    -------
    StudyResult
        Trials, results and the table.

    Raises
    ------
    InvalidInputError
        If no topic is judged, or a setting is invalid.

    Examples
    --------
    >>> rerank.run_experiment(index, "topics.tsv", "qrels.txt", k=50, ranker=rerank.LambdaMART(num_leaves=15))
    >>> rerank.run_experiment("data.npz", base="model:model.json", runs={"dense": "dense.run"})

    """
    study = Study.of(study, settings)
    folder = None if output is None else check_output_folder(output)
    with opened_source(source, topics) as opened:
        given = StudyInputs.of(opened, topics, qrels, runs)
        study = given.study(study)
        folds_of_trials = trial_folds(given.judgements, study, given.groups())
        tuning = None if not study.tune else Tuning(study.tune, random_state=study.random_state)
        if tuning is not None:
            search_space(new_model(study, study.ranker, None))  # before features are computed
        prepared = Prepared.of(given, study)
        trials = [_trial(prepared, folds, tuning) for folds in folds_of_trials]
    results = {system: _mean_result(given.judgements, trials, system, study.measures) for system in trials[0].runs}
    result = StudyResult(trials, results, comparison_table(results, baseline=next(iter(results))))
    if folder is not None:
        with staged_output(folder, last=SETTINGS) as staging:
            _write(result, study, staging)
            write_settings(staging, study.to_dict(), inputs or {})
    return result


def _trial(prepared: Prepared, folds: dict[str, int], tuning: Tuning | None) -> Trial:
    study, (histories, data_of) = prepared.study, prepared.data_of(folds)
    runs = dict(prepared.runs)
    models = {}
    tries = {}
    if isinstance(study.base, Ranker):
        given = FoldTraining(data_of, folds, partial(_not_trained, study.base), learns_from_all=True)
        runs[BASE] = held_out(prepared.workers, given, BASE)[2]
    for system, base in study.trained.items():
        training = prepared.training(data_of, folds, study.ranker, base, tuning)
        models[system], tries[system], runs[system] = held_out(prepared.workers, training, system)
    return Trial(folds, runs, models, tries, histories)


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


def _write(result: StudyResult, study: Study, folder: Path) -> None:
    """Write all files but the settings."""
    for number, trial in enumerate(result.trials):
        _write_trial(trial, folder, f".repeat{number}" if len(result.trials) > 1 else "")
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
        "trials": _choices(result.trials),
    }
    with whole_file(folder / "results.json") as file:
        file.write(json.dumps(figures, indent=1) + "\n")


def _write_trial(trial: Trial, folder: Path, suffix: str) -> None:
    for system, run in trial.runs.items():
        write_run(run, folder / f"{_file_name(system)}{suffix}.run")
    for system, models in trial.models.items():
        for fold, model in enumerate(models):
            model.save(folder / f"{_file_name(system)}{suffix}.fold{fold}.model.json")
    for fold, history in enumerate(trial.histories):
        history.save(folder / f"history{suffix}.fold{fold}.npz")
    write_folds(trial.folds, folder / f"folds{suffix}.tsv")


def _file_name(system: str) -> str:
    return system.lower().replace(" ", "-")
