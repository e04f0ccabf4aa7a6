"""The whole study: BM25, features, k folds by query, held-out runs, and a table with significance.

Every query is reranked by a model that saw neither its labels in training nor in early stopping: of k
folds one is held out, the next one stops the training, the others train (LETOR's scheme).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.evaluation.report import comparison_table
from rerank.files.trec import write_run
from rerank.output import whole_file
from rerank.progress import track
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.workflows.index import Index

MEASURES = ("RR@10", "nDCG@10", "AP")


@dataclass(frozen=True)
class Study:
    """What is to be compared, and how.

    ranker      name of the learner that is trained cold and, as its warm-started twin, from BM25
    metric      what is trained for and what early stopping watches
    k           BM25's documents of a query that are reranked
    folds       parts that the judged queries are dealt into, by `random_state`
    parameters  of the learner, beyond its defaults
    """

    ranker: str = "lambdamart"
    metric: str = "nDCG@10"
    measures: tuple[str, ...] = MEASURES
    k: int = 1000
    k1: float = 0.9
    b: float = 0.4
    folds: int = 5
    random_state: int = 0
    threads: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study found.

    runs     held-out run of each system
    models   of each trained system, by the fold that the model was held out from
    results  figures of each system
    folds    fold of each judged query
    table    the comparison as text
    """

    runs: Mapping[str, Run]
    models: Mapping[str, Sequence[Ranker]]
    results: Mapping[str, EvaluationResult]
    folds: Mapping[str, int]
    table: str


def deal_folds(query_ids: Iterable[str], folds: int, random_state: int) -> dict[str, int]:
    """Return the fold of every query: sizes differ by one at most, and the order of the queries is without effect.

    Raises InvalidInputError where there are fewer than 3 folds (train, stop, test) or too few queries.
    """
    if folds < 3:
        raise InvalidInputError(f"folds: expected at least 3 (to train, to stop, to test), found {folds}.")
    query_ids = list(query_ids)
    if len(query_ids) < folds:
        raise InvalidInputError(
            f"folds: expected at least {folds} judged queries for {folds} folds, found {len(query_ids)}; "
            "judge more queries or use fewer folds."
        )
    dealt = np.random.default_rng(random_state).permutation(len(query_ids)) % folds
    by_name = dict(zip(sorted(query_ids), dealt.tolist(), strict=True))
    return {query_id: by_name[query_id] for query_id in query_ids}


def run_experiment(
    index: Index,
    topics: Topics | Mapping[str, str],
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    output: str | Path | None = None,
    study: Study | None = None,
) -> StudyResult:
    """Compare BM25 with a ranker trained cold and started from BM25, on held-out queries.

    output  folder for runs, models, folds and figures; nothing is written where none is given
    Raises InvalidInputError where topics, judgements and index do not meet.
    """
    study, topics, qrels = study or Study(), Topics.of(topics), Qrels.of(qrels)
    folder = None if output is None else check_output_folder(output)
    judged = _judged(topics, qrels)
    folds = deal_folds(judged, study.folds, study.random_state)
    systems = system_names(study.ranker)
    bm25 = index.search(judged, study.k, k1=study.k1, b=study.b, threads=study.threads)
    data = index.features(bm25, judged, qrels, threads=study.threads)
    runs, models = {"BM25": bm25}, {}
    for system, base in zip(systems, (None, "run"), strict=True):
        models[system], runs[system] = _held_out(data, folds, system, base, study)
    judgements = Qrels.of({query_id: qrels[query_id] for query_id in judged})
    results = {system: evaluate(judgements, run, study.measures, complete=True) for system, run in runs.items()}
    result = StudyResult(runs, models, results, folds, comparison_table(results, baseline="BM25"))
    if folder is not None:
        _write(result, study, folder)
    return result


def check_output_folder(path: str | Path) -> Path:
    """Return the path of a folder that is there or may be made; refuse it before the work, not after."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: expected a folder to write into, found a file; name a folder.")
    return folder


def _judged(topics: Topics, qrels: Qrels) -> Topics:
    """Return the topics that have judgements."""
    judged = {query_id: text for query_id, text in topics.items() if query_id in qrels}
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the topics, found none (a topic is {next(iter(topics))!r}, a judged query "
            f"{next(iter(qrels), 'none')!r}); check that both files name queries alike."
        )
    return Topics(judged)


def system_names(ranker: str) -> tuple[str, str]:
    """Return what the cold and the warm-started system are called in tables and file names."""
    name = ranker_class(ranker).__name__
    return name, "LambdaSMART" if name == "LambdaMART" else f"{name} from BM25"


def _held_out(
    data: RankingData, folds: Mapping[str, int], system: str, base: str | None, study: Study
) -> tuple[list[Ranker], Run]:
    """Return the model of each fold, and the run in which it ranked the queries it had not seen."""
    scores, models = np.empty(data.n_rows), []
    fold_of = np.array([folds[query_id] for query_id in data], dtype=np.int64)
    rows = np.repeat(fold_of, np.diff(data.query_ptr))
    for fold in track(range(study.folds), f"{system}, folds", study.folds):
        stop = (fold + 1) % study.folds
        model = _new_model(study, base)
        model.fit(
            data.select(np.flatnonzero((fold_of != fold) & (fold_of != stop))),
            eval_set=data.select(np.flatnonzero(fold_of == stop)),
        )
        scores[rows == fold] = model.predict(data.select(np.flatnonzero(fold_of == fold)))
        models.append(model)
    return models, data.run(scores, system.replace(" ", "-"))


def _new_model(study: Study, base: str | None) -> Ranker:
    ranker = ranker_class(study.ranker)
    shared = {"metric": study.metric, "random_state": study.random_state, "n_jobs": study.threads}
    known = ranker().get_params(deep=False)  # a ranker that draws nothing has no random_state
    parameters = {name: value for name, value in shared.items() if name in known}
    return ranker(base=base, **{**parameters, **study.parameters})


def _write(result: StudyResult, study: Study, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for system, run in result.runs.items():
        write_run(run, folder / f"{_file_name(system)}.run")
    for system, models in result.models.items():
        for fold, model in enumerate(models):
            model.save(folder / f"{_file_name(system)}.fold{fold}.model.json")
    with whole_file(folder / "folds.tsv") as file:
        file.writelines(f"{query_id}\t{fold}\n" for query_id, fold in result.folds.items())
    with whole_file(folder / "table.txt") as file:
        file.write(result.table + "\n")
    figures = {
        "study": {**vars(study), "parameters": dict(study.parameters)},
        "systems": {
            system: {
                "policy": found.policy,
                "mean": {measure: found[measure] for measure in study.measures},
                "per_query": {measure: dict(found.per_query[measure]) for measure in study.measures},
            }
            for system, found in result.results.items()
        },
    }
    with whole_file(folder / "results.json") as file:
        file.write(json.dumps(figures, indent=1) + "\n")


def _file_name(system: str) -> str:
    return system.lower().replace(" ", "-")
