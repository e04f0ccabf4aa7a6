"""Distillation: a ranker learns the order of a teacher, another system's run over queries that nobody has judged.

A teacher's scores, of a cross-encoder or a language model, are comparable within a query only. They become gains of a
scale of five grades without steps: 2^(4 s) - 1, s from 0 for the query's lowest score to 1 for its highest. LambdaMART
then moves most what the teacher prefers most (as in distillation by ranks; Tang and Wang, Ranking Distillation, KDD
2018). Candidates that the teacher has not scored are not learned from: it has not said that they are worse.
"""

from dataclasses import replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.extract import scores_in
from rerank.runtime.arithmetic import exp2_of
from rerank.types import RankingData, Run, query_rows

GRADES = 4.0  # greatest grade of a teacher's gains; the least is 0


def with_gains(data: RankingData, teacher: Run) -> RankingData:
    """Return the rows of data that a teacher has scored, with its gains as labels.

    Queries whose scores are all equal are left out. Raises InvalidInputError for scores that are not finite.
    """
    scores = scores_in(teacher, data)[:, 0]
    if np.isinf(scores).any():
        raise InvalidInputError("teacher: expected finite scores, got infinite ones. Correct the run.")
    known = np.flatnonzero(~np.isnan(scores))
    scored = data.of_rows(known)
    query = query_rows(scored.query_ptr)
    low = np.full(len(scored), np.inf)
    high = np.full(len(scored), -np.inf)
    np.minimum.at(low, query, scores[known])
    np.maximum.at(high, query, scores[known])
    shares = (scores[known] - low[query]) / np.where(high > low, high - low, 1.0)[query]
    return replace(scored, labels=exp2_of(GRADES * shares) - 1.0).select(np.flatnonzero(high > low))
