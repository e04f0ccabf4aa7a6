"""Distillation: a ranker learns the order of a teacher, another system's run over queries that nobody has judged.

A teacher's scores, of a cross-encoder or a language model, are comparable within a query only. They become gains of a
scale of five grades without steps: 2^(4 s) - 1, s from 0 for the query's lowest score to 1 for its highest. LambdaMART
then moves most what the teacher prefers most (as in distillation by ranks; Tang and Wang, Ranking Distillation, KDD
2018). Candidates that the teacher has not scored are not learned from: it has not said that they are worse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.types import Floats, RankingData, Run, query_rows

GRADES = 4.0  # above 0


def with_gains(data: RankingData, teacher: Run) -> RankingData:
    """Return the rows of data that a teacher has scored, with its gains as labels; queries without order are left out.

    Raises InvalidInputError for scores that are not finite.
    """
    known = set(teacher)
    found = [teacher[query_id] if query_id in known else {} for query_id in data]
    query = query_rows(data.query_ptr)
    scores = np.array(
        [found[q].get(name, np.nan) for q, name in zip(query.tolist(), data.doc_ids.tolist(), strict=True)]
    )
    if np.isinf(scores).any():
        raise InvalidInputError("teacher: expected finite scores, got infinite ones. Correct the run.")
    scored = data.of_rows(np.flatnonzero(~np.isnan(scores)))
    gains, orders = _gains(scored, scores[~np.isnan(scores)])
    return replace(scored, labels=gains).select(np.flatnonzero(orders))


def _gains(data: RankingData, scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the gain of each row, and whether the scores of each query differ."""
    query = query_rows(data.query_ptr)
    n_queries = len(data)
    low = np.full(n_queries, np.inf)
    high = np.full(n_queries, -np.inf)
    np.minimum.at(low, query, scores)
    np.maximum.at(high, query, scores)
    orders = high > low
    span = np.where(orders, high - np.where(orders, low, 0.0), 1.0)
    shares = np.where(orders[query], (scores - np.where(orders, low, 0.0)[query]) / span[query], 0.0)
    return np.exp2(GRADES * shares) - 1.0, orders
