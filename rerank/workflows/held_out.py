"""A split of queries and a small model, on which the importance of features is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.evaluation.significance import bootstrap_intervals
from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.runtime.progress import track
from rerank.types import Floats, RankingData
from rerank.types.ordering import trec_order
from rerank.workflows.folds import assign_folds, groups_by_id

MODEL: dict[str, Any] = {"num_leaves": 15, "learning_rate": 0.1, "min_child_samples": 50, "random_state": 0}


@dataclass(frozen=True)
class Loss:
    """Loss of the measure on held-out queries without some features: mean and 95 % bootstrap interval."""

    without: str
    features: int
    loss: float
    low: float
    high: float


class HeldOutSplit:
    """The split of the queries, and the small model on all features."""

    def __init__(self, data: RankingData, measure: Measure, trees: int, threads: int | None) -> None:
        fold_of = assign_folds(data, 3, 0, groups=groups_by_id(data))
        fold = np.array([fold_of[query_id] for query_id in data])
        self.train, self.held_out = data.select(np.flatnonzero(fold)), data.select(np.flatnonzero(fold == 0))
        self.measure, self._threads = measure, threads
        self._settings = {**MODEL, "n_estimators": trees, "n_jobs": threads, "metric": measure.name}
        self.model = LambdaMART(**self._settings).fit(self.train)
        self.values = query_values(self.held_out, self.model.predict(self.held_out), measure)

    def loss(self, name: str, columns: Sequence[str]) -> Loss:
        """Return the loss if the model is trained on these columns only."""
        indices = np.array([self.train.feature_names.index(column) for column in columns], dtype=np.int64)
        train, held_out = (
            replace(part, X=np.ascontiguousarray(part.X[:, indices]), feature_names=tuple(columns), recipe=None)
            for part in (self.train, self.held_out)
        )
        scores = LambdaMART(**self._settings).fit(train).predict(held_out)
        losses = self.values - query_values(held_out, scores, self.measure)
        low, high = bootstrap_intervals(losses[:, None])
        return Loss(name, self.train.n_features - len(columns), float(losses.mean()), float(low[0]), float(high[0]))

    def permutation(self, model: Ranker) -> dict[str, float]:
        """Return the loss of the measure if the values of a feature are shuffled over the held-out rows.

        L. Breiman, Random Forests, Machine Learning 45, 2001, section 10.
        """
        random = np.random.default_rng(0)
        held_out = replace(self.held_out, X=self.held_out.X.copy())
        before = query_values(held_out, model.predict(held_out), self.measure).mean()
        losses = {}
        for column, name in track(list(enumerate(held_out.feature_names)), "permutation"):
            values = held_out.X[:, column].copy()
            held_out.X[:, column] = random.permutation(values)
            losses[name] = float(before - query_values(held_out, model.predict(held_out), self.measure).mean())
            held_out.X[:, column] = values
        return losses


def query_values(data: RankingData, scores: Floats, measure: Measure) -> Floats:
    """Return the measure of every query, (n_queries,) float64, for scores (n_rows,) of labelled data."""
    labels = np.zeros(data.n_rows) if data.labels is None else data.labels
    order = trec_order(data.query_ptr, scores, data.stored_ids)
    return measure.scores(RankedLists(labels[order], data.query_ptr, *data.ideal()))
