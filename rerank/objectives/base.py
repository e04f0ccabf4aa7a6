"""What an objective is: a cost of scores, and its derivatives for each document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from rerank.types import Floats, Ints


class Objective(ABC):
    """A cost of the scores of one set of queries."""

    @abstractmethod
    def cost(self, scores: Floats) -> float:
        """Return the cost at `scores` (n_rows,) float64, summed over the queries as they are weighed."""

    @abstractmethod
    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64.

        hess is the second derivative by each document's own score, or what the objective says it puts in its place;
        never negative: Newton steps divide by its sums.
        """

    def constant(self) -> float | None:
        """Return the score that every row of a cold model starts from; None where a constant changes no cost."""
        return None


@dataclass(frozen=True, eq=False)
class LabelObjective(Objective):
    """An objective that asks for nothing but labels.

    query_ptr  (n_queries + 1,) int64
    weights    (n_queries,) float64, multiplied into the cost of each query
    labels     (n_rows,) float64, query by query
    """

    query_ptr: Ints
    weights: Floats
    labels: Floats
