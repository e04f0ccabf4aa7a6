"""Early stopping: the best state of a model by a measure on held-out queries."""

from __future__ import annotations

from rerank.metrics.base import Measure
from rerank.rankers.training import TrainingSet, Validation
from rerank.types import Floats


class EarlyStopping:
    """Follows a validation measure from iteration 0, the base ranker itself, on.

    history  the measure after 0, 1, 2 ... iterations; empty where there is nothing to validate on
    best     the iteration to keep: the first with the highest measure, or the last without validation
    """

    def __init__(self, valid: TrainingSet | None, measure: Measure, rounds: int) -> None:
        """Take the held-out queries, None for none, and the iterations without a better value before the end."""
        self._measure, self._rounds = measure, rounds
        self._watch = None if valid is None else Validation(valid, measure)
        self.history = [] if self._watch is None else [self._watch.value(self._watch.data.start_scores)]
        self.best = 0

    def add(self, scores: Floats) -> bool:
        """Take the held-out rows' scores (n_rows,) after one more iteration; return whether it is the best yet.

        Without held-out rows every iteration is the best yet, and `scores` are not looked at.
        """
        if self._watch is None:
            self.best += 1
            return True
        self.history.append(self._watch.value(scores))
        if self.history[-1] <= self.history[self.best]:
            return False
        self.best = len(self.history) - 1
        return True

    @property
    def over(self) -> bool:
        """Whether the measure has not risen for so many iterations."""
        return bool(self.history) and len(self.history) - 1 - self.best >= self._rounds

    def results(self) -> dict[str, dict[str, list[float]]]:
        """Return the history as `evals_result_` holds it."""
        return {"valid": {self._measure.name: self.history}} if self.history else {}
