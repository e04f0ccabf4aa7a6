"""A user's own measure, in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@dataclass(frozen=True)
class OwnMeasure(Measure):
    """A function score(ranked_labels, ideal_labels) -> number: the larger, the better the order.

    ranked_labels  (n_docs,) float64, in rank order, 0 where nobody judged
    ideal_labels   (n_ideal,) float64: all positive labels of the query, best first, retrieved or not
    To train for it, it is called after each swap of different labels, up to truncation_level * n_docs times a list, at
    every tree. A simple one takes 6 ms for a list of 100 documents and 85 ms for 1,000, a tenth of them relevant
    (scripts/bench_measures.py), so that 500 such lists of 100 take 3 s a tree: keep lists and truncation_level short.
    A model file keeps the name, not the function.
    """

    function: Callable[[Floats, Floats], float] = field(kw_only=True)
    own_name: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """Name of the function, or of the class that has it as a method."""
        return self.own_name

    def scores(self, lists: RankedLists) -> Floats:
        """Return the function's value for every query; refuses one that is no finite number."""
        ranked, ideal = pairwise(lists.query_ptr.tolist()), pairwise(lists.ideal_ptr.tolist())
        found = [
            self.function(lists.labels[first:last], lists.ideal_labels[best:worst])
            for (first, last), (best, worst) in zip(ranked, ideal, strict=True)
        ]
        try:
            values = np.array(found, dtype=np.float64).reshape(len(found))
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"measure {self.name}: expected a finite number from score(ranked_labels, ideal_labels), got another "
                "value. Return e.g. 0.0 where no document is relevant."
            )
        return values


def own_measure(given: Any) -> OwnMeasure:
    """Return the measure that a function, or an object with a method `score`, stands for."""
    function = given if callable(given) else getattr(given, "score", None)
    if isinstance(given, type) or not callable(function):
        raise InvalidInputError(
            "measure: expected a name such as 'nDCG@10', a measure, or a function score(ranked_labels, ideal_labels), "
            f"got {type(given).__name__}. Pass one of them."
        )
    return OwnMeasure(function=function, own_name=getattr(given, "__name__", type(given).__name__))
