"""Calibration of a model from the scores of its cross-validation: no further training."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.families.performance import PerformanceFeatures
from rerank.rankers.calibration import Lists, OutOfFold, Scale
from rerank.rankers.ranker import Ranker
from rerank.retrieval.union import UnionRun
from rerank.types import Qrels, RankingData, Run, pointers, query_rows
from rerank.types.retriever import CONTENTS
from rerank.workflows.folds import FoldTraining, SameData, stop_fold

SCORES = ("bm25", "covered_ratio", "lm_dirichlet", "vector_space", "similarity_10", "rm3_10")  # of any query alike
PREDICTORS = tuple(f"{name}.{CONTENTS}" for name in (*(each.name for each in PerformanceFeatures.listed), *SCORES))
EMPTIED = 500  # queries whose features are computed once more without their relevant documents
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class Scored:
    """Lists with the scores of models that had not seen their queries.

    texts  BM25's first documents alone, as texts that are handed over; None for a model that cannot rank texts
    """

    candidates: OutOfFold
    texts: OutOfFold | None

    @classmethod
    def of(
        cls,
        training: FoldTraining,
        models: Sequence[Ranker],
        target: float,
        emptied: RankingData | None,
        texts: RankingData | None,
    ) -> Self:
        """Return the lists of each fold with the scores of its model.

        target   least label of a relevant document
        emptied  of `without_relevant`; None where no query has relevant candidates
        """
        scales = [_scale(training, fold, model) for fold, model in enumerate(models)]
        candidates = _out_of_fold(training, models, scales, target)
        if emptied is not None:
            others = _out_of_fold(replace(training, data_of=SameData(emptied)), models, scales, target)
            candidates = replace(candidates, emptied=others)
        if texts is None:
            return cls(candidates, None)
        return cls(candidates, _out_of_fold(replace(training, data_of=SameData(texts)), models, scales, target))

    def calibrate(self, model: Ranker, learned: RankingData) -> None:
        """Set the calibration of a model that learned from data, or say in the log what is missing for one."""
        try:
            scale = Scale.of(model.predict(learned))
            model.calibration_ = self.candidates.fit(scale, model.checksum(), self.texts)
        except InvalidInputError as error:
            _log.warning("%s The model has no probabilities, which min_score and abstain need.", error)


def without_relevant(run: Run, qrels: Qrels, target: float) -> Run:
    """Return the first of the queries that have relevant and other documents in a run, without the relevant ones."""
    stripped = _stripped(run, qrels, target)
    left = np.diff(stripped.query_ptr)
    return stripped.select(np.flatnonzero((left > 0) & (left < np.diff(run.query_ptr)))[:EMPTIED])


def _stripped(run: Run, qrels: Qrels, target: float) -> Run:
    """Return a run and its sources without relevant documents."""
    kept = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)[0] < target
    sizes = np.bincount(query_rows(run.query_ptr)[kept], minlength=len(run))
    stripped = replace(run, query_ptr=pointers(sizes), doc_ids=run.stored_ids[kept], scores=run.scores[kept])
    if isinstance(stripped, UnionRun):
        others = {name: _stripped(source, qrels, target) for name, source in stripped.sources.items()}
        return replace(stripped, sources=others)
    return stripped


def _scale(training: FoldTraining, fold: int, model: Ranker) -> Scale:
    """Return the scale of the scores of the queries that a fold's model learned from."""
    data, stop = training.data_of(fold).data, stop_fold(fold, training.number, training.learns_from_all)
    folds = np.array([training.folds[query_id] for query_id in data])
    learned = training.learns_from(data, fold) & (folds != stop)
    return Scale.of(model.predict(data.select(np.flatnonzero(learned))))


def _out_of_fold(training: FoldTraining, models: Sequence[Ranker], scales: Sequence[Scale], target: float) -> OutOfFold:
    """Return the lists of each fold with the scores of the model that had not seen them."""
    parts, relevant, fold_of = [], [], []
    predictors = tuple(name for name in PREDICTORS if name in models[0].feature_names_)
    for fold, (model, scale) in enumerate(zip(models, scales, strict=True)):
        data = training.data_of(fold).data
        folds = np.array([training.folds[query_id] for query_id in data])
        unseen = np.flatnonzero(folds == fold)
        held_out = data.select(unseen)
        parts.append(Lists.of(held_out, scale.measured(model.predict(held_out)), predictors))
        relevant.append(held_out.labels >= target if held_out.labels is not None else np.empty(0, np.bool_))
        fold_of.append(folds[unseen])
    return OutOfFold(Lists.joined(parts), np.concatenate(fold_of), np.concatenate(relevant), target, predictors)
