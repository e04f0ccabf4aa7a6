"""What an objective is: the derivatives of a cost of scores, for each document; objectives by name."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from rerank.runtime.registry import Registry
from rerank.types import Floats, Ints, query_order

# A score further below the best of its query counts as this far below: exp(-745) is 0. Two such scores are tied.
LOWEST_EXPONENT = -300.0


class Objective(ABC):
    """A cost of the scores of one set of queries, by its derivatives."""

    @abstractmethod
    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess with the derivatives of the cost.

        Shapes: scores float64 (n_rows,); grad float64 (n_rows,); hess float64 (n_rows,).
        """

    def constant(self) -> float | None:
        """Return the start score of all rows of a model without a base; None where a constant changes no cost."""
        return None


class CostObjective(Objective):
    """An objective that computes its cost, too, as learners ask for that search for the least cost along a line."""

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
        Multiplied into the cost of each query.
    labels : float64 array of shape (n_rows,)
        Labels, query by query.
    documents : float64 array of shape (n_rows,)
        Weights of the rows, multiplied by those of their queries; empty: 1. Only where `weighs_rows` is set.

    """

    weighs_rows: ClassVar[bool] = False

    query_ptr: Ints
    weights: Floats
    labels: Floats
    documents: Floats = field(default_factory=partial(np.empty, 0), kw_only=True)

    @cached_property
    def row_weights(self) -> Floats:
        """What each row's cost is multiplied by, (n_rows,) float64."""
        of_queries = np.repeat(self.weights, np.diff(self.query_ptr))
        return of_queries * self.documents if len(self.documents) else of_queries

    @cached_property
    def best_last(self) -> Ints:
        """Rows query by query, by label, ascending."""
        return query_order(self.query_ptr, self.labels)

    @cached_property
    def best_first(self) -> Ints:
        """Rows query by query, by label, descending."""
        return query_order(self.query_ptr, -self.labels)


class LabelCost(CostObjective, LabelObjective):
    """An objective that needs labels only, and computes its cost."""


_OBJECTIVES: Registry[type[LabelObjective]] = Registry("objective", "rerank.objectives")
register = _OBJECTIVES.register
known_objectives = _OBJECTIVES.known
objective_class = _OBJECTIVES.get
