"""What an objective is: a cost of the scores and its derivatives by each score; objectives by name."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from rerank.runtime.registry import Registry
from rerank.types import Floats, Ints, query_order

# Lowest difference of a score from the best of its query; lower scores count as this low, and so are tied. exp(-745)
# would be 0.
LOWEST_EXPONENT = -300.0


class Objective(ABC):
    """A cost of the scores of one set of queries, known by its derivatives."""

    @abstractmethod
    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess with the derivatives of the cost.

        Shapes: scores float64 (n_rows,); grad float64 (n_rows,); hess float64 (n_rows,).
        """

    def constant(self) -> float | None:
        """Return the start score of all rows without a base model; None where a constant does not change the cost."""
        return None


class CostObjective(Objective):
    """An objective that computes its cost, too: learners that search along a line need it."""

    @abstractmethod
    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, summed over the queries with their weights; fill grad and hess as `gradients` does."""

    def cost(self, scores: Floats) -> float:
        """Return the cost at `scores` (n_rows,) float64."""
        return self.cost_and_gradients(scores, np.empty_like(scores), np.empty_like(scores))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        self.cost_and_gradients(scores, grad, hess)


@dataclass(frozen=True, eq=False)
class LabelObjective(Objective):
    """An objective that needs labels only.

    Parameters
    ----------
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of query q are [query_ptr[q], query_ptr[q + 1]).
    weights : float64 array of shape (n_queries,)
        Weights of the queries, by which their costs are multiplied.
    labels : float64 array of shape (n_rows,)
        Labels, query by query.
    documents : float64 array of shape (n_rows,)
        Weights of the rows, multiplied by those of their queries; all 1 if empty. Used if `weighs_rows` is true.

    """

    weighs_rows: ClassVar[bool] = False

    query_ptr: Ints
    weights: Floats
    labels: Floats
    documents: Floats = field(default_factory=partial(np.empty, 0), kw_only=True)

    @cached_property
    def row_weights(self) -> Floats:
        """Weight of each row's cost, (n_rows,) float64."""
        of_queries = np.repeat(self.weights, np.diff(self.query_ptr))
        return of_queries * self.documents if len(self.documents) else of_queries

    @cached_property
    def best_last(self) -> Ints:
        """Rows query by query, by label, ascending; (n_rows,) int64."""
        return query_order(self.query_ptr, self.labels)

    @cached_property
    def best_first(self) -> Ints:
        """Rows query by query, by label, descending; (n_rows,) int64."""
        return query_order(self.query_ptr, -self.labels)


class LabelCost(CostObjective, LabelObjective):
    """An objective that needs labels only, and computes its cost."""


_OBJECTIVES: Registry[type[LabelObjective]] = Registry("objective", "rerank.objectives")
register = _OBJECTIVES.register
known_objectives = _OBJECTIVES.known
objective_class = _OBJECTIVES.get
