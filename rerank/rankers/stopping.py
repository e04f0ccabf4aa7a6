"""Early stopping: the best state of a model by a measure on validation data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rerank.metrics.base import Measure
from rerank.rankers.base_scores import WeightedBase
from rerank.rankers.training import TrainingSet, Validation
from rerank.types import Floats


@dataclass
class TrainingProgress:
    """State of a training, as its callbacks get it.

    Attributes
    ----------
    iteration : int
        Number of the iteration that has ended, from 1.
    evals_result : dict
        {"valid": {measure: values}}: the metric on the validation data before the first and after each iteration;
        empty without validation data.

    """

    iteration: int
    evals_result: dict[str, dict[str, list[float]]]
    stopped: bool = field(default=False, init=False)

    def stop(self) -> None:
        """End the training: the model keeps its best iteration, the last one without validation data."""
        self.stopped = True


Callback = Callable[[TrainingProgress], object]


class EarlyStopping:
    """Follows a validation measure from iteration 0, the base ranker itself, on, and calls the callbacks.

    Attributes
    ----------
    history : list of float
        The measure after 0, 1, 2 ... iterations; empty without validation data.
    best : int
        The iteration to keep: the first with the highest measure, or the last without validation data.

    """

    def __init__(
        self,
        valid: TrainingSet | None,
        measure: Measure,
        rounds: int,
        callbacks: Sequence[Callback] = (),
        base: WeightedBase | None = None,
    ) -> None:
        """Take the validation data, None for none, and the iterations without a better value before the end.

        base  the validation data's, where the scores to come are without it: each gets the weight that is best there
        """
        self._measure, self._rounds, self._callbacks, self._base = measure, rounds, callbacks, base
        self._validation = None if valid is None else Validation(valid, measure)
        self.history = [] if self._validation is None else [self._validation.value(self._validation.data.start_scores)]
        self.best = self._iteration = 0
        self._stopped = False

    def add(self, scores: Floats) -> bool:
        """Take the validation rows' scores (n_rows,) after one more iteration; return whether it is the best yet.

        Without validation data every iteration is the best yet, and `scores` are not read.
        """
        self._iteration += 1
        is_best = self._validation is None
        if self._validation is not None:
            self.history.append(self._validation.value(self._base.best_of(scores) if self._base else scores))
            is_best = self.history[-1] > self.history[self.best]
        if is_best:
            self.best = self._iteration
        for callback in self._callbacks:
            progress = TrainingProgress(self._iteration, self.results())
            callback(progress)
            self._stopped |= progress.stopped
        return is_best

    def resume(self, history: Sequence[float], iterations: int) -> None:
        """Go on after an earlier training of so many iterations, whose history is given."""
        self._iteration, self.history = iterations, list(history)
        self.best = self.history.index(max(self.history)) if self.history else iterations

    @property
    def data(self) -> TrainingSet | None:
        """The validation data."""
        return None if self._validation is None else self._validation.data

    @property
    def over(self) -> bool:
        """Whether a callback stopped the training, or the measure has not risen for so many iterations."""
        return self._stopped or (bool(self.history) and len(self.history) - 1 - self.best >= self._rounds)

    def results(self) -> dict[str, dict[str, list[float]]]:
        """Return the history as `evals_result_` holds it."""
        return {"valid": {self._measure.name: list(self.history)}} if self.history else {}
