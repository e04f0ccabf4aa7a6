"""Measures of diversity as written in their papers, one query at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Judged = Mapping[str, Mapping[str, int]]  # subtopic -> document -> label


def relevant_subtopics(judged: Judged, doc: str, rel: int) -> set[str]:
    return {subtopic for subtopic, labels in judged.items() if labels.get(doc, 0) >= rel}


def gains(judged: Judged, docs: Sequence[str], alpha: float, rel: int) -> list[float]:
    seen = dict.fromkeys(judged, 0)
    result = []
    for doc in docs:
        held = relevant_subtopics(judged, doc, rel)
        result.append(sum((1 - alpha) ** seen[subtopic] for subtopic in held))
        for subtopic in held:
            seen[subtopic] += 1
    return result


def ideal(judged: Judged, alpha: float, rel: int) -> list[str]:
    left, order = {doc for labels in judged.values() for doc in labels}, []
    while left:
        best = max(left, key=lambda doc: (gains(judged, [*order, doc], alpha, rel)[-1], doc))
        order.append(best)
        left.remove(best)
    return order


def value(symbol: str, judged: Judged, docs: Sequence[str], cutoff: int, alpha: float = 0.5, rel: int = 1) -> float:
    n = len([labels for labels in judged.values() if max(labels.values(), default=0) >= rel])
    if not n:
        return 0.0
    if symbol == "StRecall":
        return len(set().union(*(relevant_subtopics(judged, doc, rel) for doc in docs[:cutoff]))) / n

    def total(values: Sequence[float]) -> float:
        by_rank = symbol.endswith("ERR_IA")
        return sum(gain / (rank if by_rank else math.log2(1 + rank)) for rank, gain in enumerate(values[:cutoff], 1))

    reached = total(gains(judged, docs, alpha, rel))
    if symbol in ("nERR_IA", "alpha_nDCG"):
        return reached / total(gains(judged, ideal(judged, alpha, rel), alpha, rel))
    return reached / total([n * (1 - alpha) ** rank for rank in range(cutoff)])
