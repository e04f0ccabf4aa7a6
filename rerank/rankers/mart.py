"""MART: boosted trees on any objective that labels alone define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rerank.objectives.base import Objective
from rerank.objectives.registry import known_objectives, objective_class
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet
from rerank.schema import Choice, Field


@register("mart")
@dataclass(eq=False, repr=False)
class MART(BoostedTrees):
    """Boosted regression trees (Friedman 2001; Burges 2010, sections 5 and 6).

    F_0 is the mean label for least-squares, half the log odds for logistic and balanced-logistic, the mean of y for
    logistrank, 0 for pairs.
    The parameters of `BoostedTrees`, and:

    objective              what is minimised, by name (`rerank.objectives.registry`)
    """

    objective: str = "least-squares"

    parameter_fields: ClassVar[Mapping[str, Field]] = {
        **BoostedTrees.parameter_fields,
        "objective": Choice(known_objectives),
    }

    def _objective(self, train: TrainingSet) -> Objective:
        return objective_class(self.objective)(train.query_ptr, train.weights, train.labels)
