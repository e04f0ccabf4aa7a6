"""What calibration learns from: the lists of held-out queries, with scores of models that had not seen them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rerank.features.families.performance import PerformanceFeatures
from rerank.rankers.calibration import OutOfFold, Scale, ScoredLists
from rerank.rankers.ranker import Ranker
from rerank.retrieval.union import UnionRun
from rerank.training.cross_validation import FoldData, FoldTraining, predicted
from rerank.types import CONTENTS, Qrels, RankingData, Run

STRIPPED = 500  # queries whose features are computed once more without their relevant documents
# Features that calibration reads: they are comparable between queries.
PREDICTORS = tuple(
    f"{name}.{CONTENTS}"
    for name in (
        *(feature.name for feature in PerformanceFeatures.listed),
        *("bm25", "covered_ratio", "lm_dirichlet", "vector_space", "similarity_10", "rm3_10"),
    )
)


def calibration_lists(
    training: FoldTraining,
    models: Sequence[Ranker],
    target: float,
    stripped: RankingData | None,
    texts: RankingData | None,
) -> tuple[OutOfFold, OutOfFold | None]:
    """Return what calibration learns from, with scores of models that had not seen the queries: candidates, and texts.

    models    of the folds
    target    least label of a relevant document
    stripped  features of `without_relevant`; None where no query has relevant candidates
    texts     of `TrainingInputs.as_texts`; None for a model that cannot rank texts
    """
    scales = [Scale.of(predicted(model, training.train_and_stop(fold)[0])) for fold, model in enumerate(models)]

    def lists_of(data_of: Callable[[int], FoldData]) -> OutOfFold:
        return _out_of_fold(replace(training, data_of=data_of), models, scales, target)

    candidates = lists_of(training.data_of)
    if stripped is not None:
        candidates = replace(candidates, stripped=lists_of(FoldData(stripped)))
    return candidates, None if texts is None else lists_of(FoldData(texts))


def without_relevant(run: Run, qrels: Qrels, target: float) -> Run:
    """Return a run without its relevant documents, of the first queries that have both relevant and other ones."""

    def irrelevant(run: Run) -> Run:
        labels, _ = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)
        return run.of_rows(np.flatnonzero(labels < target))

    stripped = irrelevant(run)
    if isinstance(stripped, UnionRun):
        sources = {name: irrelevant(source) for name, source in stripped.sources.items()}
        stripped = replace(stripped, sources=sources)
    sizes = np.diff(stripped.query_ptr)
    return stripped.select(np.flatnonzero((sizes > 0) & (sizes < np.diff(run.query_ptr)))[:STRIPPED])


def _stripped(run: Run, qrels: Qrels, target: float) -> Run:
    """Return a run without relevant documents, and so the runs of its sources, if it is a union."""
    stripped = run.of_rows(qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)[0] < target)
    if isinstance(stripped, UnionRun):
        sources = {name: _stripped(source, qrels, target) for name, source in stripped.sources.items()}
        return replace(stripped, sources=sources)
    return stripped


def _out_of_fold(training: FoldTraining, models: Sequence[Ranker], scales: Sequence[Scale], target: float) -> OutOfFold:
    """Return the lists of each fold with the scores of the model that had not seen them.

    scales  those of the models' scores of their training rows
    """
    predictors = tuple(name for name in PREDICTORS if name in models[0].feature_names_)
    unseen = [training.unseen(fold) for fold in range(training.n_folds)]
    lists = [
        ScoredLists.of(data, scale.measured(predicted(model, data)), predictors)
        for data, model, scale in zip(unseen, models, scales, strict=True)
    ]
    relevant = [data.labels >= target if data.labels is not None else np.empty(0, np.bool_) for data in unseen]
    fold_of = np.repeat(np.arange(training.n_folds), [len(data) for data in unseen])
    return OutOfFold(ScoredLists.joined(lists), fold_of, np.concatenate(relevant), target, predictors)
