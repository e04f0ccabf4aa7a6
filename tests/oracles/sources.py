"""Features of a document in several runs, one at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

Lists = Sequence[Mapping[str, float]]  # of one query: a run's scores by document


def ordered(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


def deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def features(lists: Lists, doc: str) -> list[float]:
    """The features of every run in their order, then `sources` and `overlap`."""
    row: list[float] = []
    for scores in lists:
        values = list(scores.values())
        spread = math.nan
        if values:
            best = sorted(values, reverse=True)[:100]
            size = sum(map(abs, best)) / len(best)
            spread = deviation(best) / size if size else 0.0
        if doc not in scores:
            row += [math.nan] * 6 + [spread]
            continue
        rank, score, low, high = ordered(scores).index(doc) + 1, scores[doc], min(values), max(values)
        of_all = deviation(values) if high > low else 1.0
        z = (score - sum(values) / len(values)) / of_all if high > low else 1.0
        minmax = (score - low) / (high - low) if high > low else 1.0
        above = (score - low) / of_all if high > low else 1.0
        row += [rank, 1 / (60 + rank), score, z, minmax, above, spread]
    shares = [
        len(set(ordered(one)[:100]) & set(ordered(other)[:100])) / min(len(one), len(other), 100)
        for one, other in combinations(lists, 2)
        if one and other
    ]
    return [*row, sum(doc in scores for scores in lists), sum(shares) / len(shares) if shares else 0.0]
