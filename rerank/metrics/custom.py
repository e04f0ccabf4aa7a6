"""User-defined measures in Python."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists
from rerank.types import Floats


@dataclass(frozen=True)
class CustomMeasure(Measure):
    """A user-defined measure: a function score(ranked_labels, ideal_labels) that returns a number, larger is better.

    Parameters
    ----------
    cutoff : None
        Not used.
    function : callable
        Called with ranked_labels, (n_docs,) float64 in rank order, 0 for unjudged documents, and ideal_labels,
        (n_ideal,) float64: all positive labels of the query, best first, retrieved or not.
    own_name : str
        Name of the measure. A model file stores the name, not the function.

    Notes
    -----
    Training calls the function after each swap of different labels, up to truncation_level * n_docs times for each list
    and tree. A simple function takes 6 ms for a list of 100 documents and 85 ms for 1,000, a tenth of them relevant
    (`benchmarks swaps`): 500 lists of 100 documents take 3 s for each tree. Use short lists and a small
    truncation_level.

    """

    function: Callable[[Floats, Floats], float] = field(kw_only=True)
    own_name: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """Name of the function, or of the class of the object."""
        return self.own_name

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of the function for every query; refuse a value that is not a finite number."""
        ranked = pairwise(lists.query_ptr.tolist())
        results = [
            self.function(lists.labels[first:last], lists.ideal_labels[best:worst])
            for (first, last), (best, worst) in zip(ranked, pairwise(lists.ideal_ptr.tolist()), strict=True)
        ]
        try:
            values = np.array(results, dtype=np.float64).reshape(len(results))
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"measure {self.name}: expected a finite number from score(ranked_labels, ideal_labels), got another "
                "value. Return e.g. 0.0 where no document is relevant."
            )
        return values


def custom_measure(measure: object) -> CustomMeasure:
    """Return the measure of a function, or of an object with a method `score`."""
    function = measure if callable(measure) else getattr(measure, "score", None)
    if isinstance(measure, type) or not callable(function):
        raise InvalidInputError(
            "measure: expected a name such as 'nDCG@10', a measure, or a function score(ranked_labels, ideal_labels), "
            f"got {type(measure).__name__}. Pass one of them."
        )
    return CustomMeasure(function=function, own_name=getattr(measure, "__name__", type(measure).__name__))
