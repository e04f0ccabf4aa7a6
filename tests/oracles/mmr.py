"""MMR as in its paper, on Python lists."""

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
