"""What a measure is: a value on ranked lists, and what swapping two documents does to it.

A measure is a small frozen value with ir_measures' name (`nDCG@10`). It looks at labels in rank order
and at the ideal labels (all positive labels of the query, best first, from the qrels).

Of two documents that change places the one with the larger label is the better one, whatever the measure: every
measure here rises, or stays, when it moves up. Documents of equal label or equal worth have |ΔM| = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rerank.metrics.structures import PrefixSum, RankedLists, SwapWeights
from rerank.metrics.swaps.default import fill_by_recomputing, fill_from_weights
from rerank.types import Floats, Ints

MEAN, GEOMETRIC, TOTAL, TEXT = "mean", "geometric mean", "sum", "none, it is text"
LEAST = 1e-5  # a geometric mean reads any smaller value as this one (trec_eval's MIN_GEO_MEAN)


@dataclass(frozen=True)
class Measure(ABC):
    """A measure of a ranked list; `cutoff` is the depth at which it stops, None for the whole list.

    symbol            its name without parameters: that of its registration, or of its class where it has none
    averaging         how the figures of queries become one
    takes_cutoff      whether it may stop at a depth
    at                the field that stands behind `@` in its name
    asks_judged       whether it asks which documents are judged, whatever its parameters
    refuses_training  whether it is none to train for, though labels tell all that it asks
    """

    cutoff: int | None = None
    symbol: ClassVar[str]
    averaging: ClassVar[str] = MEAN
    takes_cutoff: ClassVar[bool] = True
    at: ClassVar[str] = "cutoff"
    asks_judged: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.symbol = cls.__name__

    @property
    def name(self) -> str:
        """The name as `ir_measures` writes it: parameters that are not at their default, then the cutoff."""
        given = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name not in ("cutoff", self.at) and getattr(self, field.name) != field.default
        ]
        inside = f"({','.join(given)})" if given else ""
        depth = getattr(self, self.at)
        return self.symbol + inside + ("" if depth is None else f"@{depth}")

    @abstractmethod
    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query, (n_queries,) float64; 0 where no document is relevant."""

    @property
    def needs_judged(self) -> bool:
        """Whether it asks which documents are judged: `RankedLists.judged` and `zeros`."""
        return self.asks_judged

    def average(self, values: Floats) -> float:
        """Return the one figure of many queries' values (n_queries,) float64."""
        if self.averaging == TOTAL:
            return float(values.sum())
        if self.averaging == GEOMETRIC:
            return float(np.exp(np.log(np.maximum(values, LEAST)).mean()))
        return float(values.mean())

    def score(self, ranked_labels: ArrayLike, ideal_labels: ArrayLike) -> float:
        """Return the value of one list: labels in rank order, and all positive labels, best first."""
        ranked = np.asarray(ranked_labels, dtype=np.float64)
        ideal = np.asarray(ideal_labels, dtype=np.float64)
        return float(self.scores(RankedLists.of_query(ranked, ideal))[0])

    @property
    def trainable(self) -> bool:
        """Whether labels in rank order tell all that it asks, and a larger label is never the worse one."""
        return not (self.refuses_training or self.needs_judged)

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure whose swaps are trained on, where gradients look down to `depth`.

        A cutoff becomes `depth`: a document just below the cutoff must feel a pull too.
        """
        return self if self.cutoff is None else replace(self, cutoff=depth)

    def swap_weights(
        self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints
    ) -> SwapWeights | None:
        """Return the three vectors of a separable measure, or None where it is none.

        labels (n_rows,) in the order of the data, not of a ranking.
        """
        return None

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔM_ij| of swapping ranks i and j of each query, i among the first `depth` of its n, j any.

        out      float64; query q's block is (min(depth, n), n), row by row, from out_ptr[q] on
        out_ptr  (n_queries + 1,) int64
        A measure with neither a formula of its own nor swap weights is measured anew after every swap of two
        different labels, in tenths of a second for a list of 1,000 documents (scripts/bench_measures.py).
        """
        swap = self.swap_weights(lists.labels, lists.query_ptr, lists.ideal_labels, lists.ideal_ptr)
        if swap is None:
            fill_by_recomputing(self.scores, lists, depth, out, out_ptr)
        else:
            fill_from_weights(swap, lists.query_ptr, depth, out, out_ptr)

    def prefix_sum(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> PrefixSum | None:
        """Return the measure, up to a constant, as a sum over documents that looks upwards; None where it is none.

        labels (n_rows,) in the order of the data, not of a ranking.
        """
        weights = self.swap_weights(labels, query_ptr, ideal_labels, ideal_ptr)
        return None if weights is None else PrefixSum.of_weights(weights)
