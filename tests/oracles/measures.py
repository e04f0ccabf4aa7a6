"""Slow, obvious measures: one list, one loop, as trec_eval's manual describes them."""

from __future__ import annotations

import math


def gain(label: float, exponential: bool) -> float:
    """What a label is worth; a negative one is worth nothing."""
    label = max(label, 0.0)
    return 2**label - 1 if exponential else label


def dcg(labels, cutoff, exponential):
    """Sum of gain / log2(1 + rank)."""
    return sum(gain(label, exponential) / math.log2(rank + 1) for rank, label in enumerate(labels[:cutoff], 1))


def ndcg(ranked, ideal, cutoff=None, exponential=False):
    """DCG over that of the ideal order; 0 without a relevant document."""
    best = dcg(sorted(ideal, reverse=True), cutoff, exponential)
    return dcg(ranked, cutoff, exponential) / best if best > 0 else 0.0


def ap(ranked, ideal, cutoff=None, rel=1):
    """Mean of the precision at each relevant document, over all relevant documents."""
    hits, total = 0, 0.0
    for rank, label in enumerate(ranked[:cutoff], 1):
        if label >= rel:
            hits += 1
            total += hits / rank
    n_relevant = sum(label >= rel for label in ideal)
    return total / n_relevant if n_relevant else 0.0


def rr(ranked, ideal, cutoff=None, rel=1):
    """1 / rank of the first relevant document."""
    for rank, label in enumerate(ranked[:cutoff], 1):
        if label >= rel:
            return 1.0 / rank
    return 0.0


def p(ranked, ideal, cutoff, rel=1):
    """Relevant among the first k, over k."""
    return sum(label >= rel for label in ranked[:cutoff]) / cutoff


def r(ranked, ideal, cutoff, rel=1):
    """Relevant among the first k, over all relevant."""
    n_relevant = sum(label >= rel for label in ideal)
    return sum(label >= rel for label in ranked[:cutoff]) / n_relevant if n_relevant else 0.0


def value(name: str, ranked, ideal) -> float:
    """The measure of a name that the tests use."""
    head, _, depth = name.partition("@")
    cutoff = int(depth) if depth else None
    head, _, parameters = head.partition("(")
    if head == "nDCG":
        return ndcg(ranked, ideal, cutoff, "exp" in parameters)
    rel = int(parameters.rstrip(")").partition("=")[2] or 1)
    return {"AP": ap, "RR": rr, "P": p, "R": r}[head](ranked, ideal, cutoff, rel)
