"""The weight of a base ranker's scores beside those of a model that learned without them.

A model that is trained from the base's scores (Burges 2010, section 7: F_0 = base) is left with the pairs that the
base orders wrongly, and with few judged queries fits their noise. Trained from 0 and added to the base it was better on
every collection that was tried (docs/benchmarks.md). The weight is the ratio of the two spreads, each the standard
deviation of the best 30 scores inside queries, so that neither the scale of the base nor the number of iterations has
an effect on it. It is chosen where the model's scores are held out. Equal spreads are kept unless another ratio is
better by more than one standard error (Breiman et al. 1984, section 3.4.3): with few queries the best ratio is mostly
noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rerank.metrics.base import Measure
from rerank.rankers.start import spread_at_the_top, start_in_units
from rerank.rankers.training import TrainingSet, Validation
from rerank.runtime.schema import Choice, Field, Number, Record, Sizes, Table
from rerank.types import Floats

EQUAL = 1.0
RATIOS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, EQUAL, 1.5, 2.0, 3.0, 5.0, 10.0])
NAMES = tuple(f"{ratio:g}" for ratio in RATIOS)


@dataclass(frozen=True)
class BaseWeight:
    """A chosen weight.

    name      its ratio as text
    factor    what learned scores are multiplied by before they are added to the base's
    measures  metric of each ratio on the held-out queries; empty where there were none
    """

    name: str
    factor: float
    measures: Mapping[str, float]

    def __str__(self) -> str:
        figures = ", ".join(f"{name}: {value:.4f}" for name, value in self.measures.items())
        return f"weight of the base {self.name} (measured on held-out queries: {figures or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {"ratio": self.name, "factor": self.factor, "measures": dict(self.measures)}


class StoredBaseWeight(Field):
    """A weight as its `to_dict` wrote it, or None."""

    def read(self, value: Any, sizes: Sizes) -> BaseWeight | None:
        """Return the weight."""
        if value is None:
            return None
        stored = Record({"ratio": Choice(lambda: NAMES), "factor": Number(0.0), "measures": Table(Number())})
        values = stored.read(value, sizes)
        return BaseWeight(values["ratio"], values["factor"], values["measures"])


class WeightedBase:
    """The base scores of some queries, to which learned scores are added."""

    def __init__(self, data: TrainingSet, measure: Measure) -> None:
        """Take queries with the base's scores as their start."""
        self.unit = spread_at_the_top(data)
        self._data, self._base = data, start_in_units(data, self.unit, by_query=True)[0]
        self._validation = Validation(data, measure)

    def chosen(self, learned: Floats, keep_equal: bool, spread: float | None = None) -> BaseWeight:
        """Return the weight beside learned scores (n_rows,) float64 of these queries, which were held out.

        keep_equal  whether equal spreads are kept within one standard error of the best; False: the best
        spread      unit of the learned scores; None: their spread on these queries
        """
        spread = self._spread_of(learned) if spread is None else spread
        values = np.array([self._values(learned, ratio * spread) for ratio in RATIOS])
        weights = self._data.weights if self._data.weights.any() else np.ones(len(self._data.weights))
        means = np.average(values, axis=1, weights=weights)
        best = int(np.argmax(means))
        if keep_equal:
            near = [row for row, value in enumerate(values) if not is_better(values[best] - value, weights)]
            best = min(near, key=lambda row: abs(float(np.log(RATIOS[row] / EQUAL))))
        measures = dict(zip(NAMES, means.tolist(), strict=True))
        return BaseWeight(NAMES[best], float(self.unit / (RATIOS[best] * spread)), measures)

    def equal(self, learned: Floats) -> BaseWeight:
        """Return the weight of equal spreads, where no queries are held out."""
        return BaseWeight(f"{EQUAL:g}", self.unit / self._spread_of(learned), {})

    def best_of(self, learned: Floats) -> Floats:
        """Return base + learned scores (n_rows,), in units of the base's spread, with the weight that is best here."""
        return self.mixed(learned, RATIOS[NAMES.index(self.chosen(learned, False, 1.0).name)])

    def mixed(self, learned: Floats, weight: float) -> Floats:
        """Return base + learned / weight, (n_rows,), in units of the base's spread."""
        return self._base + learned / weight

    def _values(self, learned: Floats, weight: float) -> Floats:
        """Return the metric of each query."""
        return self._validation.values(self.mixed(learned, weight))

    def _spread_of(self, learned: Floats) -> float:
        return spread_at_the_top(replace(self._data, start_scores=learned))


def is_better(differences: Floats, weights: Floats) -> bool:
    """Return whether the weighted mean of the queries' differences (n_queries,) is more than one standard error."""
    shares = weights / weights.sum()
    mean, n_queries = np.sum(shares * differences), max(len(differences), 2)
    variance = np.sum((shares * (differences - mean)) ** 2) * n_queries / (n_queries - 1)
    return bool(mean > np.sqrt(variance))
