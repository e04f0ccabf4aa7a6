"""MMR and xQuAD as in their papers, on Python lists."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def cosine(a: Vector, b: Vector) -> float:
    norm = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


def scaled(scores: Sequence[float]) -> list[float]:
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def mmr(scores: Sequence[float], vectors: Sequence[Vector], weight: float) -> list[int]:
    relevance, chosen = scaled(scores), []
    while len(chosen) < len(scores):
        left = [doc for doc in range(len(scores)) if doc not in chosen]
        chosen.append(
            max(
                left,
                key=lambda doc: (
                    weight * relevance[doc]
                    - (1 - weight) * max((cosine(vectors[doc], vectors[other]) for other in chosen), default=0.0)
                ),
            )
        )
    return chosen


def aspects(vectors: Sequence[Vector], most: int) -> list[list[float]]:
    begun = [0]
    while len(begun) < most:
        nearest = [max(cosine(vector, vectors[other]) for other in begun) for vector in vectors]
        if min(nearest) >= 1 - 1e-6:
            break
        begun.append(nearest.index(min(nearest)))
    raw = [[max(cosine(vectors[begin], vector), 0.0) for vector in vectors] for begin in begun]
    totals = [sum(column) for column in zip(*raw, strict=True)]
    return [[value / total if total else 0.0 for value, total in zip(row, totals, strict=True)] for row in raw]


def xquad(scores: Sequence[float], vectors: Sequence[Vector], weight: float, most: int) -> list[int]:
    relevance, of_aspect, chosen = scaled(scores), aspects(vectors, most), []
    shares = [sum(r * p for r, p in zip(relevance, row, strict=True)) for row in of_aspect]
    shares = [share / sum(shares) for share in shares]

    def value(doc: int) -> float:
        novelty = sum(
            share * row[doc] * math.prod(1 - row[other] for other in chosen)
            for share, row in zip(shares, of_aspect, strict=True)
        )
        return weight * relevance[doc] + (1 - weight) * novelty

    while len(chosen) < len(scores):
        chosen.append(max((doc for doc in range(len(scores)) if doc not in chosen), key=value))
    return chosen
