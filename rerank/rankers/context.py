"""What a training is given beside its data: callbacks, the memory that it may take, and its checkpoint.

Memory is planned before a training begins. What is counted: memory of the process. Of memory-mapped temporary files the
system keeps as much in memory as is free; it takes that back when another program needs it, and it is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.metrics.base import Measure
from rerank.rankers.checkpoint import Checkpoint
from rerank.rankers.training import TrainingSet, Validation
from rerank.runtime.memory import private_bytes
from rerank.trees.binned import WORKING_BYTES, Storage
from rerank.trees.columns import EXCEPTIONS, GROUP_WIDTH, MOST_CODES, WIDTH
from rerank.types import Floats

ROW_BYTES = 176  # of a training row without its codes: scores, gradients, order, labels, the workspace of a tree
VALID_ROW_BYTES = 64  # of a validation row without its codes
FIXED_BYTES = 220_000_000  # interpreter, libraries, compiled kernels and buffers
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")


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


@dataclass(frozen=True)
class TrainingOptions:
    """How boosted trees are trained. These options do not change the model.

    Parameters
    ----------
    memory : int or str, optional
        Maximum memory of the process, in bytes or as a size such as "4GB". The binned features are kept in a
        memory-mapped temporary file if they do not fit. If the data are mapped, too
        (`rerank.read_data(path, mapped=True)`), the features are never in memory as a whole.
    checkpoint : str, Path or Checkpoint, optional
        File that the state of the training is written to about every 30 seconds. If the file exists, training resumes
        from it and gives the same model. It is removed at the end, unless it is given as a `Checkpoint`.

    """

    memory: int | str | None = None
    checkpoint: str | Path | Checkpoint | None = None


@dataclass(frozen=True)
class TrainingContext:
    """What `fit` is given beside the data; only callbacks, which may stop a training, have an effect on the model.

    Parameters
    ----------
    callbacks : tuple of callables
        Called after each iteration.
    memory : int or None
        Bytes that the process may take; None for no limit.
    resident : int
        Bytes that it held when `fit` was called.
    checkpoint : Checkpoint or None
        Where the state of the training is written.
    keeps_checkpoint : bool
        Whether the caller removes the checkpoint.

    """

    callbacks: tuple[Callback, ...] = ()
    memory: int | None = None
    resident: int = 0
    checkpoint: Checkpoint | None = None
    keeps_checkpoint: bool = False

    @classmethod
    def of(cls, callbacks: Iterable[Callback] | None, given: TrainingOptions) -> Self:
        """Return the arguments of `fit` as a context."""
        checkpoint, keeps = given.checkpoint, isinstance(given.checkpoint, Checkpoint)
        file = checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        most = None if given.memory is None else parse_bytes(given.memory)
        return cls(_checked_callbacks(callbacks), most, private_bytes(), file, keeps)

    def storage(self, n_rows: int, n_features: int, n_valid: int, num_leaves: int) -> Storage:
        """Return where the binned rows are stored; raises InvalidInputError if the memory is too small."""
        if self.memory is None:
            return Storage()
        columns = -(-(n_features + GROUP_WIDTH - 1) // WIDTH) * WIDTH  # at most
        histograms = num_leaves * columns * MOST_CODES * 8
        rows = n_rows * (ROW_BYTES + 2 * EXCEPTIONS * (n_features > WIDTH))
        # what is needed without the binned training rows, which may be in a file
        least = self.resident + FIXED_BYTES + histograms + rows + n_valid * (VALID_ROW_BYTES + columns)
        if least > self.memory:
            raise InvalidInputError(
                f"memory: expected at least {_rounded(least)} for {n_rows:,} rows x {n_features:,} features "
                f"({least:,} bytes), got {_rounded(self.memory, up=False)} ({self.memory:,} bytes). Raise it, or train "
                "on fewer queries."
            )
        free = self.memory - least
        return Storage(mapped=n_rows * columns > free, working_bytes=min(free + n_rows * 64, WORKING_BYTES))


def _checked_callbacks(callbacks: Iterable[Callback] | None) -> tuple[Callback, ...]:
    """Return the callbacks; refuse a single function."""
    if callbacks is not None and not isinstance(callbacks, Iterable):
        raise InvalidInputError(f"callbacks: expected a list of functions, got {shown(callbacks)}. Pass [function].")
    return tuple(callbacks or ())


ALONE = TrainingContext()  # of a ranker inside another


def callback_fault(error: Exception, iteration: int) -> RerankError:
    """Return the error of a training that a callback ended by raising another one, which is nobody's model."""
    if isinstance(error, RerankError):
        return error
    return InvalidInputError(
        f"callbacks: expected each to return, got {type(error).__name__} at iteration {iteration}: "
        f"{' '.join(str(error).split())}. Nothing was trained: correct the callback."
    )


def parse_bytes(size: object) -> int:
    """Return a number of bytes."""
    match = _SIZE.fullmatch(str(size).strip()) if isinstance(size, str | int) and not isinstance(size, bool) else None
    if match is None or match[2].upper() not in UNITS or float(match[1]) <= 0.0:
        raise InvalidInputError(f"memory: expected a size such as 4GB, got {shown(size)}. Units: MB, GB, MiB, GiB.")
    return int(float(match[1]) * UNITS[match[2].upper()])


def _rounded(n_bytes: int, up: bool = True) -> str:
    """Return a number of bytes as a size that `parse_bytes` takes, not below it (or, not `up`, not above it)."""
    n_mb = -(-n_bytes // 10**6) if up else n_bytes // 10**6
    return f"{n_mb}MB" if n_mb else f"{n_bytes}B"


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
        judged: Callable[[Floats], Floats] | None = None,
    ) -> None:
        """Take the validation data, None for none, and the iterations without a better value before the end.

        judged  gives the scores that are measured of those to come, (n_rows,) float64; None: these themselves
        """
        self._measure, self._rounds, self._callbacks, self._judged = measure, rounds, callbacks, judged
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
