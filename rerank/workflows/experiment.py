"""The whole study: BM25, features, k folds by query, held-out runs, and a table with significance.

Every query is reranked by a model that saw neither its labels in training nor in early stopping: of k
folds one is held out, the next one stops the training, the others train (LETOR's scheme).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.evaluation.report import comparison_table
from rerank.files.output import whole_file
from rerank.files.trec import write_run
from rerank.progress import track
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.types import Ints, Qrels, RankingData, Run, Topics
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
    """The held-out runs and their figures by system, the folds, and the table as text."""

    runs: Mapping[str, Run]
    results: Mapping[str, EvaluationResult]
    folds: Mapping[str, int]
    table: str


def deal_folds(query_ids: Sequence[str], folds: int, random_state: int) -> Ints:
    """Return the fold of every query, (n_queries,) int64: sizes differ by one at most, any input order.

    Raises InvalidInputError where there are fewer than 3 folds (train, stop, test) or too few queries.
    """
    if folds < 3:
        raise InvalidInputError(f"folds: expected at least 3 (to train, to stop, to test), found {folds}.")
    if len(query_ids) < folds:
        raise InvalidInputError(
            f"folds: expected at least {folds} judged queries for {folds} folds, found {len(query_ids)}; "
            "judge more queries or use fewer folds."
        )
    by_name = np.argsort(np.asarray(query_ids, dtype=np.str_), kind="stable")
    dealt = np.empty(len(query_ids), dtype=np.int64)
    dealt[by_name] = np.random.default_rng(random_state).permutation(len(query_ids)) % folds
    return dealt


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
    folder = None if output is None else Path(output)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    judged = Topics({query_id: text for query_id, text in topics.items() if query_id in qrels})
    if not judged:
        raise InvalidInputError(
            f"experiment: expected topics with judgements, found none (topic {next(iter(topics))!r}, qrels "
            f"{next(iter(qrels), 'empty')!r}); check that both files name queries alike."
        )
    bm25 = index.search(judged, study.k, k1=study.k1, b=study.b, threads=study.threads)
    data = index.features(bm25, judged, qrels, threads=study.threads)
    folds = deal_folds(list(data), study.folds, study.random_state)
    cold, warm = system_names(study.ranker)
    runs = {"BM25": bm25}
    for system, base in ((cold, None), (warm, "run")):
        runs[system] = _held_out_run(data, folds, system, base, study, folder)
    judgements = Qrels.of({query_id: qrels[query_id] for query_id in judged})
    results = {system: evaluate(judgements, run, study.measures, complete=True) for system, run in runs.items()}
    table = comparison_table(results, baseline="BM25")
    result = StudyResult(runs, results, dict(zip(data, folds.tolist(), strict=True)), table)
    if folder is not None:
        _write(result, study, folder)
    return result


def system_names(ranker: str) -> tuple[str, str]:
    """Return what the cold and the warm-started system are called in tables and file names."""
    name = ranker_class(ranker).__name__
    return name, "LambdaSMART" if name == "LambdaMART" else f"{name} from BM25"


def _held_out_run(
    data: RankingData, folds: Ints, system: str, base: str | None, study: Study, folder: Path | None
) -> Run:
    scores = np.empty(data.n_rows)
    query = np.repeat(folds, np.diff(data.query_ptr))
    for fold in track(range(study.folds), f"{system}, folds", study.folds):
        stop = (fold + 1) % study.folds
        model = _new_model(study, base)
        model.fit(
            data.select(np.flatnonzero((folds != fold) & (folds != stop))),
            eval_set=data.select(np.flatnonzero(folds == stop)),
        )
        scores[query == fold] = model.predict(data.select(np.flatnonzero(folds == fold)))
        if folder is not None:
            model.save(folder / f"{_file_name(system)}.fold{fold}.model.json")
    return data.run(scores, system.replace(" ", "-"))


def _new_model(study: Study, base: str | None) -> Ranker:
    parameters = {"metric": study.metric, "random_state": study.random_state, "n_jobs": study.threads}
    return ranker_class(study.ranker)(base=base, **{**parameters, **study.parameters})


def _write(result: StudyResult, study: Study, folder: Path) -> None:
    for system, run in result.runs.items():
        write_run(run, folder / f"{_file_name(system)}.run")
    with whole_file(folder / "folds.tsv") as file:
        file.writelines(f"{query_id}\t{fold}\n" for query_id, fold in result.folds.items())
    with whole_file(folder / "table.txt") as file:
        file.write(result.table + "\n")
    figures = {
        "study": {**vars(study), "parameters": dict(study.parameters)},
        "systems": {
            system: {
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
