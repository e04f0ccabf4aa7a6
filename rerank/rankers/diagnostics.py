"""Is a model at a local optimum of its measure? Random directions in weight space tell (Burges 2010, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.progress import track
from rerank.rankers.training import TrainingSet, Validation, check_training_data
from rerank.threads import kernel_threads
from rerank.types import Floats, RankingData, Run

LEAST_RISE = 1e-12  # of the measure: smaller differences are rounding


@runtime_checkable
class Weighted(Protocol):
    """A model whose weights can be changed: nets, linear models, boosted trees (leaf values)."""

    def weights(self) -> Floats:
        """Return all weights, (n_weights,) float64."""

    def with_weights(self, weights: ArrayLike) -> Self:
        """Return a copy of the model with other weights."""

    def predict(self, X: RankingData, *, init_score: ArrayLike | None = None, base: Any = None) -> Floats:
        """Return the score of every row."""


@dataclass(frozen=True)
class LocalOptimality:
    """What the directions showed.

    metric         the measure's name
    value          its mean at the model's own weights
    directions     number of directions
    rises          directions along which the measure rose
    falls          directions along which it fell; along the others it stayed as it was
    best           the highest mean along any direction
    p0             share of rising directions that was to be ruled out
    confidence     with which fewer than p0 of all directions rise: 1 - (1 - p0)^directions where none rose, else 0
    step           length of each move, relative to the weights' length
    """

    metric: str
    value: float
    directions: int
    rises: int
    falls: int
    best: float
    p0: float
    confidence: float
    step: float


def directions_needed(confidence: float = 0.99, p0: float = 0.01) -> int:
    """Return how many directions without a rise support a confidence: n >= log(1 - confidence) / log(1 - p0).

    459 for 99 % confidence that fewer than 1 % of all directions rise.
    """
    for name, value in (("confidence", confidence), ("p0", p0)):
        if not 0.0 < value < 1.0:
            raise InvalidInputError(f"{name}: expected a share between 0 and 1, found {value!r}.")
    return math.ceil(math.log1p(-confidence) / math.log1p(-p0))


def local_optimality(
    model: Weighted,
    data: RankingData,
    metric: str | Measure,
    n: int = 459,
    *,
    step: float = 0.01,
    p0: float = 0.01,
    random_state: int = 0,
    base: Run | Mapping[str, Mapping[str, float]] | None = None,
) -> LocalOptimality:
    """Move a model's weights along n random directions, and count where the measure rises.

    model         a fitted net, linear model or tree ensemble: what has `weights()` and `with_weights()`
    data          labelled RankingData; for the question of section 4.2 the model's training data
    metric        measure, by ir_measures' name; its mean is weighed by the queries' weights
    n             directions, Gaussian and so uniform on the sphere
    step          length of a move, as a share of the weights' Euclidean length. A measure is a step function of the
                  weights: too small a step changes no order, and a large one leaves the neighbourhood. At 1 % a move
                  is small beside the model and yet swaps documents (`falls` and `rises` say whether it did).
    p0            share of rising directions that is to be ruled out
    random_state  seed of the directions
    base          the run to start from, where the model was warm-started from a run
    Raises InvalidInputError for a model without weights, and where n or step is not above 0.
    """
    if not isinstance(model, Weighted):
        raise InvalidInputError(
            f"model: expected one with weights()/with_weights(), found {type(model).__name__}; pass a net, a linear "
            "model or boosted trees."
        )
    if n < 1 or not step > 0.0:
        raise InvalidInputError(f"n, step: expected numbers above 0, found {n} and {step}.")
    directions_needed(p0=p0)
    check_training_data(data, "data")
    measure, weights = parse_measure(metric), model.weights()
    if not weights.any():
        raise InvalidInputError("model: expected weights other than 0, found none; train it for longer.")
    rows = TrainingSet.of(data, np.zeros(data.n_rows))
    watch, random = Validation(rows, measure), np.random.default_rng(random_state)
    length, found = step * float(np.linalg.norm(weights)), np.empty(n)
    with kernel_threads(None, data.n_rows):
        value = watch.value(model.predict(data, base=base)[rows.order])
        for number in track(range(n), "directions", n):
            direction = random.standard_normal(len(weights))
            moved = weights + length * direction / np.linalg.norm(direction)
            found[number] = watch.value(model.with_weights(moved).predict(data, base=base)[rows.order])
    rises, falls = int((found > value + LEAST_RISE).sum()), int((found < value - LEAST_RISE).sum())
    confidence = 0.0 if rises else 1.0 - (1.0 - p0) ** n
    return LocalOptimality(measure.name, value, n, rises, falls, float(found.max()), p0, confidence, step)
