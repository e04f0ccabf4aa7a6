"""When a training ends: early stopping by a measure of validation data, and callbacks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rerank.errors import InvalidInputError, RerankError
from rerank.metrics.base import Measure
from rerank.rankers.training_set import TrainingSet
from rerank.rankers.validation import Validation
from rerank.runtime.progress import track
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
        """End the training: the model keeps its best iteration, or the last one where there are no validation data."""
        self.stopped = True


Callback = Callable[[TrainingProgress], object]


def callback_fault(error: Exception, iteration: int) -> Exception:
    """Return the error that `fit` raises where a callback raised one."""
    if isinstance(error, RerankError) or type(error).__name__ == "TrialPruned":  # Optuna ends a trial by it
        return error
    return InvalidInputError(
        f"callbacks: expected each to return, got {type(error).__name__} at iteration {iteration}: "
        f"{' '.join(str(error).split())}. Nothing was trained: correct the callback, or pass what it asks for."
    )


class EarlyStopping:
    """Follows a validation measure, from iteration 0 (the base ranker alone), and calls the callbacks.

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
        judged: Callable[[Floats], Floats] | None = None,
    ) -> None:
        """Measure the base ranker, where there are validation data.

        rounds  number of iterations without a better value after which the training ends
        judged  returns the scores to measure for the scores (n_rows,) that `add` gets; None: the same scores
        """
        self._measure = measure
        self._rounds = rounds
        self._callbacks = callbacks
        self._judged = judged
        self._validation = None if valid is None else Validation(valid, measure)
        self.history = [] if self._validation is None else [self._validation.value(self._validation.data.start_scores)]
        self.best = self._iteration = 0
        self._stopped = False

    def add(self, scores: Floats) -> bool:
        """Measure the validation rows' scores (n_rows,) after one more iteration; return whether it is the best yet.

        Without validation data every iteration is the best yet, and `scores` are not read.
        """
        self._iteration += 1
        is_best = self._validation is None
        if self._validation is not None:
            self.history.append(self._validation.value(self._judged(scores) if self._judged else scores))
            is_best = self.history[-1] > self.history[self.best]
        if is_best:
            self.best = self._iteration
        for callback in self._callbacks:
            progress = TrainingProgress(self._iteration, self.results())
            try:
                callback(progress)
            except Exception as error:
                raise callback_fault(error, self._iteration) from error
            self._stopped |= progress.stopped
        return is_best

    def iterations(self, number: int, what: str) -> Iterator[int]:
        """Yield 0, 1, 2 ... for at most `number` iterations, until the training is over; show the progress."""
        for iteration in track(range(number), what, number):
            yield iteration
            if self.over:
                return

    @property
    def over(self) -> bool:
        """Whether a callback stopped the training, or the measure has not risen for the given number of iterations."""
        return self._stopped or (bool(self.history) and len(self.history) - 1 - self.best >= self._rounds)

    def results(self) -> dict[str, dict[str, list[float]]]:
        """Return the history as `evals_result_` holds it."""
        return {"valid": {self._measure.name: list(self.history)}} if self.history else {}
