"""Two-class logistic cost with balanced classes (Burges 2010, section 6.1, equation 15).

Each row weighs 1 / n+ or 1 / n-, so that both classes count as much. The weight I+ / n+ + I- / n- multiplies both sums
of a leaf:

    sum w ybar / sum w |ybar| (2 sigma - |ybar|)

which is not the plain step with weighted responses, sum (w ybar) / sum |w ybar| (2 sigma - |w ybar|). Convention: n+
and n- count rows by their queries' weights; w is multiplied by half the rows, so that it is 1 where classes
have equal weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from rerank.objectives.logistic import Logistic
from rerank.objectives.registry import register
from rerank.types import Floats


@register("balanced-logistic")
@dataclass(frozen=True, eq=False)
class BalancedLogistic(Logistic):
    """Two-class logistic cost, each class with half of the weight; parameters as in `Logistic`."""

    def part(self, queries: slice, rows: slice) -> Self:
        """Return the objective of some queries and their rows, see `Objective.part`."""
        part = super().part(queries, rows)
        vars(part)["_row_weights"] = self._row_weights[rows]  # the classes are balanced over all rows
        return part

    @cached_property
    def _row_weights(self) -> Floats:
        rows = np.repeat(self.weights, np.diff(self.query_ptr))
        half, weights = rows.sum() / 2.0, rows.copy()
        for members in (self._classes > 0.0, self._classes < 0.0):
            weights[members] *= half / rows[members].sum() if rows[members].any() else 1.0
        return weights
