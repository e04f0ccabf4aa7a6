"""Calibration of a model from the scores of its cross-validation: no further training."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.families.performance import PerformanceFeatures
from rerank.rankers.calibration import RELEVANT, Lists, OutOfFold, Scale
from rerank.rankers.ranker import Ranker
from rerank.types import RankingData
from rerank.types.retriever import CONTENTS
from rerank.workflows.folds import FoldTraining, stop_fold

SCORES = ("bm25", "covered_ratio", "lm_dirichlet", "vector_space", "similarity_10", "rm3_10")  # of any query alike
PREDICTORS = tuple(f"{name}.{CONTENTS}" for name in (*(each.name for each in PerformanceFeatures.listed), *SCORES))
_log = logging.getLogger("rerank")


def out_of_fold(training: FoldTraining, models: Sequence[Ranker], target: float = RELEVANT) -> OutOfFold:
    """Return what calibration learns from: the lists of each fold with the scores of the model that had not seen them.

    target  least label of a relevant document
    """
    parts, relevant, fold_of = [], [], []
    predictors = tuple(name for name in PREDICTORS if name in models[0].feature_names_)
    for fold, model in enumerate(models):
        data = training.data_of(fold).data
        folds = np.array([training.folds[query_id] for query_id in data])
        unseen = np.flatnonzero(folds == fold)
        learned = training.learns_from(data, fold) & (
            folds != stop_fold(fold, training.number, training.learns_from_all)
        )
        scale, held_out = Scale.of(model.predict(data.select(np.flatnonzero(learned)))), data.select(unseen)
        parts.append(Lists.of(held_out, scale.measured(model.predict(held_out)), predictors))
        relevant.append(held_out.labels >= target if held_out.labels is not None else np.empty(0, np.bool_))
        fold_of.append(folds[unseen])
    return OutOfFold(Lists.joined(parts), np.concatenate(fold_of), np.concatenate(relevant), target, predictors)


def calibrate(model: Ranker, learned: RankingData, scored: OutOfFold) -> None:
    """Set the calibration of a model that learned from data, or say in the log what is missing for one."""
    try:
        model.calibration_ = scored.fit(Scale.of(model.predict(learned)), model.checksum())
    except InvalidInputError as error:
        _log.warning("%s The model has no probabilities, which min_score and abstain need.", error)
