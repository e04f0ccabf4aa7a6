"""Distillation: a ranker learns the order of a teacher, another system's run over queries that nobody has judged.

A teacher's scores, of a cross-encoder or a language model, are comparable within a query only. They become gains of a
scale of five grades without steps: 2^(4 s) - 1, s from 0 for the query's lowest score to 1 for its highest. LambdaMART
then moves most what the teacher prefers most (as in distillation by ranks; Tang and Wang, Ranking Distillation, KDD
2018). Candidates that the teacher has not scored are not learned from: it has not said that they are worse.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.recipe import Recipe
from rerank.files.records import RunLike, TopicsLike, run_of, topics_of
from rerank.metrics.registry import parse_measure
from rerank.rankers.ranker import Ranker, ranker_class
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.retrieval.candidates import DEPTH, Candidates
from rerank.types import Floats, RankingData, Run, Topics, query_rows
from rerank.workflows.folds import FoldTraining, SameData, assign_folds, groups_by_id, held_out
from rerank.workflows.importance import query_values
from rerank.workflows.index import Index
from rerank.workflows.rerank import rerank
from rerank.workflows.train import (
    FOLDS,
    LEAST_QUERIES,
    TRAINED,
    TrainingInputs,
    default_ranker,
    fit_with_stop,
    sources_of,
)
from rerank.workflows.tuning import fit_best

MEASURE = "nDCG@10"
GRADES = 4.0  # above 0
TIMED = 20  # queries


@dataclass(frozen=True)
class StudentEstimate:
    """How near a ranker is to what it learns from on queries that it has not learned from, and what it costs.

    Parameters
    ----------
    measure : str
        Name of the measure; the gains of the teacher or of the clicks are the labels.
    candidates, student : float or None
        Means of the candidates as retrieved and of students by cross-validation; None without it.
    n_queries : int
        Number of queries that were learned from.
    milliseconds : float
        Median time of a query, from its text to the student's order.
    source : str
        What the labels are made of.

    """

    measure: str
    candidates: float | None
    student: float | None
    n_queries: int
    milliseconds: float
    source: str = "the teacher"

    def __str__(self) -> str:
        """Return one line."""
        cost = f"{self.milliseconds:.1f} ms a query"
        if self.candidates is None or self.student is None:
            return f"model of {self.n_queries} queries: {cost}"
        return (
            f"{self.measure} against {self.source} by cross-validation in {FOLDS} folds of {self.n_queries} queries: "
            f"candidates {self.candidates:.4f}, model {self.student:.4f} ({self.student - self.candidates:+.4f}); "
            f"{cost}"
        )


class Distilled(NamedTuple):
    """A student and how near it is to its teacher.

    Attributes
    ----------
    model : Ranker
        The student.
    estimate : StudentEstimate
        Its measure against the teacher, and its time.

    """

    model: Ranker
    estimate: StudentEstimate


def distil(
    index: Index,
    topics: TopicsLike,
    teacher: RunLike,
    model: Ranker | None = None,
    *,
    candidates: Candidates | str | None = None,
    k: int = DEPTH,
    recipe: Recipe | None = None,
    estimate: bool = True,
) -> Distilled:
    """Fit a model to the scores of a teacher; no judgements are needed.

    Parameters
    ----------
    index : Index
        The index.
    topics : Topics, mapping, DataFrame or path
        Topics; those that the teacher has not ranked are left out.
    teacher : Run, mapping, DataFrame or path
        The scores of another system: a cross-encoder, a language model, a large model of this package.
    model : Ranker or None
        The ranker with its parameters, which is fitted; None is that of `rerank.train`.
    candidates, k, recipe : as for `rerank.train`
        Sources of the candidates, their number, and the features.
    estimate : bool
        Whether the measure against the teacher is estimated by cross-validation, which trains five more models.

    Returns
    -------
    Distilled
        The student, and how near it is to its teacher.

    Raises
    ------
    InvalidInputError
        If the teacher has different scores for documents of fewer than ten topics.

    """
    topics, teacher = topics_of(topics), run_of(teacher)
    taught = Topics({query_id: text for query_id, text in topics.items() if query_id in teacher})
    sources = sources_of(index, candidates, k)
    inputs = TrainingInputs(index, taught, None, recipe, TRAINED, keep_sources=candidates is not None)
    data = inputs.data(index.search(taught, candidates=sources), sources.k) if len(taught) else None
    data = None if data is None else with_gains(data, teacher)
    if data is None or len(data) < LEAST_QUERIES:
        raise InvalidInputError(
            f"teacher: expected at least {LEAST_QUERIES} topics with different scores of their candidates, got "
            f"{0 if data is None else len(data)}. Let it rank the candidates of more topics (`rerank retrieve`)."
        )
    return fit_student(index, taught, data, model, data if estimate else None, "the teacher")


def fit_student(
    index: Index,
    topics: Topics,
    data: RankingData,
    model: Ranker | None,
    judged: RankingData | None,
    source: str,
) -> Distilled:
    """Fit a model to labels that no person has given.

    model   None: that of `rerank.train`
    judged  the same rows with the labels that the estimate uses; None: no estimate
    source  what the labels are made of
    """
    model = ranker_class(default_ranker(len(data)))(base=UNSUPERVISED) if model is None else model
    on_all, folds = model.learns_from_all(len(data)), assign_folds(data, FOLDS, 0, groups=groups_by_id(data))
    before = after = None
    if judged is not None:
        training = FoldTraining(SameData(data), folds, partial(fit_best, model, None), on_all)
        before, after = _agreement(index, training, judged)
    fit_with_stop(model, data, {} if on_all else folds)
    milliseconds = _milliseconds(index, model, topics)
    return Distilled(model, StudentEstimate(MEASURE, before, after, len(data), milliseconds, source))


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
    query, n_queries = query_rows(data.query_ptr), len(data)
    low, high = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
    np.minimum.at(low, query, scores)
    np.maximum.at(high, query, scores)
    orders = high > low
    span = np.where(orders, high - np.where(orders, low, 0.0), 1.0)
    shares = np.where(orders[query], (scores - np.where(orders, low, 0.0)[query]) / span[query], 0.0)
    return np.exp2(GRADES * shares) - 1.0, orders


def _agreement(index: Index, training: FoldTraining, data: RankingData) -> tuple[float, float]:
    """Return the measure of the candidates and of students on queries that each was not trained on."""
    measure = parse_measure(MEASURE)
    models, _, _ = held_out(index, training, "estimate")
    fold_of = np.array([training.folds[query_id] for query_id in data])
    before, after = np.empty(len(data)), np.empty(len(data))
    for fold, model in enumerate(models):
        rows = np.flatnonzero(fold_of == fold)
        part = data.select(rows)
        start = part.base_scores if part.base_scores is not None else np.zeros(part.n_rows)
        before[rows] = query_values(part, start, measure)
        after[rows] = query_values(part, model.predict(part), measure)
    return float(before.mean()), float(after.mean())


def _milliseconds(index: Index, model: Ranker, topics: Topics) -> float:
    """Return the median time of ranking one query, after a first one."""
    taken = []
    for query_id in list(topics)[: TIMED + 1]:
        start = time.perf_counter()
        rerank(index, model, {query_id: topics[query_id]})
        taken.append(1e3 * (time.perf_counter() - start))
    return float(np.median(taken[1:] or taken))
