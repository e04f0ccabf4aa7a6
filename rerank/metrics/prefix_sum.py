"""Measures as a sum over documents that looks only upwards: what is needed to follow one while a ranking changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.metrics.base import SwapWeights
from rerank.types import Floats


@dataclass(frozen=True, eq=False)
class Cascade:
    """M = norm * sum_i gain_i * discount(rank_i) * (own + sum of add_k) * product of keep_k, over all k above i.

    A separable measure has add 0 and keep 1; AP adds a hit for every relevant document above; RR and ERR keep on
    only where no document above has stopped the reader.

    gains      (n_rows,) float64
    add, keep  (n_rows,) float64
    discounts  (longest list,) float64 by 0-based rank; 0 beyond the cutoff
    norms      (n_queries,) float64
    own        what the sum of add begins with
    """

    gains: Floats
    add: Floats
    keep: Floats
    discounts: Floats
    norms: Floats
    own: float = 1.0

    @classmethod
    def of_weights(cls, weights: SwapWeights) -> Cascade:
        """Return a separable measure."""
        rows = len(weights.gains)
        return cls(weights.gains, np.zeros(rows), np.ones(rows), weights.discounts, weights.inverse_norms)


def reciprocal_ranks(longest: int, cutoff: int | None) -> Floats:
    """Return 1 / rank by 0-based rank, 0 beyond the cutoff."""
    ranks = np.arange(longest)
    return np.where(ranks < (longest if cutoff is None else cutoff), 1.0 / (ranks + 1.0), 0.0)
