"""Slow, obvious fusion: dictionaries, one query at a time, as ranx and trectools write it."""

from __future__ import annotations

import math


def ranking(scores):
    """Document ids by score, then id, descending; scores compared as float32."""
    import numpy as np

    return sorted(scores, key=lambda doc: (np.float32(scores[doc]), doc), reverse=True)


def normalised(scores, norm):
    """One query's scores of one run."""
    values = list(scores.values())
    if not values or norm == "none":
        return dict(scores)
    low, high = min(values), max(values)
    if norm == "rank":
        return {doc: 1 - position / len(values) for position, doc in enumerate(ranking(scores))}
    if norm == "max":
        return {doc: score / high for doc, score in scores.items()}
    mean = math.fsum(values) / len(values)
    shift, divisor = {
        "minmax": (low, high - low),
        "sum": (low, math.fsum(value - low for value in values)),
        "zscore": (mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))),
    }[norm]
    equal = 1.0 / len(values) if norm == "sum" else 1.0
    return {doc: (score - shift) / divisor if high > low else equal for doc, score in scores.items()}


def fused(runs, method, norm="none", weights=None, k=60, missing="zero"):
    """{query: {document: score}} of runs of that form."""
    results = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        parts = [run.get(query, {}) for run in runs]
        made = [normalised(part, norm) for part in parts]
        ranks = [{doc: position for position, doc in enumerate(ranking(part), 1)} for part in parts]
        results[query] = {}
        for doc in {doc for part in parts for doc in part}:
            fill = [min(part.values()) if part and missing == "lowest" else 0.0 for part in made]
            values = [part.get(doc, low) for part, low in zip(made, fill, strict=True)]
            hits = sum(doc in part for part in parts)
            results[query][doc] = {
                "rrf": sum(1 / (k + rank[doc]) for rank in ranks if doc in rank),
                "combsum": sum(values),
                "combmnz": sum(values) * hits,
                "weighted": sum(w * value for w, value in zip(weights or [1] * len(runs), values, strict=True)),
            }[method]
    return results
