"""The last stage of a ranking: the first documents of a model's order, reordered with the scores of a slow scorer.

The first m documents of a query are ordered by z(s) + w z(c): s is the score of the model, c that of the scorer, and z
standardises within these m documents; a missing c counts as the mean. m and w are chosen on queries that the models had
not seen: of all pairs whose measure is the best within a tolerance, the one with the smallest m. If m and w lower the
measure by more than a standard error on queries that they were not chosen on, the scorer is not called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from rerank.runtime.fields import Number, Text, Whole
from rerank.types import Floats, Ints, Run

DEPTHS = (5, 10, 20, 50, 100)  # documents of a query that are scored
WEIGHTS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
ALONE = 1e9  # with this weight the model's scores count only among equal ones
TOLERANCE = 0.001  # of the measure: within it, fewer documents are better


@dataclass(frozen=True)
class LastStage:
    """How the scores of a slow scorer reorder the first documents.

    Parameters
    ----------
    scorer : str
        Name of the scorer.
    depth : int
        Number of documents of a query that the scorer scores.
    weight : float
        Weight of the scorer's standardised scores; those of the model have weight 1.

    """

    scorer: Annotated[str, Text(1000)]
    depth: Annotated[int, Whole(1, 1_000_000)]
    weight: Annotated[float, Number(0.0)]

    def rescored(self, query_ptr: Ints, order: Ints, scores: Floats, slow: Floats) -> Floats:
        """Return scores by which the first documents of each query are in the new order, and stay above the others.

        order  rows of each query, best first, (n_rows,)
        slow   scores of the scorer, (n_rows,); NaN is missing
        """
        changed = scores.copy()
        for first, end in pairwise(query_ptr.tolist()):
            rows = order[first : min(end, first + self.depth)]
            if len(rows):
                mixed = _standardised(scores[rows]) + self.weight * _standardised(slow[rows])
                above = np.nextafter(np.float32(scores[rows[-1]]), np.float32(np.inf))  # runs are ordered by float32
                changed[rows] = mixed - mixed.min() + above
        return changed

    def reorder(self, run: Run, slow: Floats) -> Run:
        """Return a run in the new order; the scorer's scores `slow` are (n_rows,), NaN is missing."""
        changed = replace(run, scores=self.rescored(run.query_ptr, np.arange(run.n_rows), run.scores, slow))
        return changed.take(changed.trec_order())


@dataclass(frozen=True)
class Gain:
    """What a scorer brings on queries that the models had not seen.

    stage   the chosen depth and weight; None where the model alone is as good
    value   mean measure over queries, each ordered by the stage that was chosen on the other folds
    curve   the stage of the best weight at each depth, and its measure
    without the measure of the model alone
    alone   the measure where the scorer's scores alone order the first documents
    run     each fold in the order of the stage that was chosen on the others
    """

    stage: LastStage | None
    value: float
    curve: Sequence[tuple[LastStage, float]]
    without: float
    alone: float
    run: Run

    def __str__(self) -> str:
        """Return the measure and the documents that are scored, and the measure at each depth."""
        points = ", ".join(f"{stage.depth}: {value:.4f}" for stage, value in self.curve)
        chosen = "the scorer brings nothing" if self.stage is None else f"with the scorer {self.value:.4f}"
        depth = "" if self.stage is None else f" on the first {self.stage.depth} documents"
        return f"{chosen}{depth} ({points})"

    @classmethod
    def of(
        cls,
        scorer: str,
        run: Run,
        slow: Floats,
        folds: Mapping[str, int],
        values_of: Callable[[Run], Floats],
    ) -> Gain:
        """Return the gain of the best stage for a run of held-out queries.

        slow       scores of the scorer, (n_rows,) float64; NaN is missing
        folds      fold of each query
        values_of  returns the measure of each query of `folds`, in their order, for a run
        """
        stages: list[LastStage | None] = [None, *(LastStage(scorer, m, w) for m in DEPTHS for w in WEIGHTS)]
        runs = [run if stage is None else stage.reorder(run, slow) for stage in stages]
        values = np.array([values_of(ordered) for ordered in runs])
        fold_of = np.array(list(folds.values()))
        out_of_fold = np.empty(len(fold_of))
        parts = []
        for fold in np.unique(fold_of):
            own = fold_of == fold
            best_of_others = _best(values[:, ~own])
            out_of_fold[own] = values[best_of_others][own]
            names = [query_id for query_id, number in folds.items() if number == fold and query_id in run]
            parts.append(runs[best_of_others].select(run.query_numbers(names)))
        means = values.mean(axis=1)
        best = np.argmax(means[1:].reshape(len(DEPTHS), len(WEIGHTS)), axis=1)
        numbers = (1 + np.arange(len(DEPTHS)) * len(WEIGHTS) + best).tolist()
        curve = [(stage, float(means[number])) for number in numbers if (stage := stages[number])]
        gains = out_of_fold - values[0]
        loses = gains.mean() < -gains.std() / np.sqrt(len(gains))
        stage = None if loses else stages[_best(values)]
        alone = float(values_of(LastStage(scorer, DEPTHS[-1], ALONE).reorder(run, slow)).mean())
        return cls(stage, float(out_of_fold.mean()), curve, float(means[0]), alone, Run.joined(parts))


def _best(values: Floats) -> int:
    """Return the first setting, by ascending depth, whose mean of values (n_settings, n_queries) is the best.

    Means within the tolerance of the greatest one count as the best, too.
    """
    means = values.mean(axis=1)
    return int(np.argmax(means >= means.max() - TOLERANCE))


def _standardised(scores: Floats) -> Floats:
    """Return scores less their mean, divided by their standard deviation; 0 where missing or all equal."""
    known = scores[~np.isnan(scores)]
    out = np.zeros(len(scores))
    if len(known) and known.std():
        out[~np.isnan(scores)] = (known - known.mean()) / known.std()
    return out
