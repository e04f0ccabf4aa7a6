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


def err(ranked, cutoff=None, max_rel=4):
    """Sum over ranks of 1 / rank times the chance that the reader stops there."""
    total, reached = 0.0, 1.0
    for rank, label in enumerate(ranked[:cutoff], 1):
        stops = gain(label, exponential=True) / 2**max_rel
        total += reached * stops / rank
        reached *= 1.0 - stops
    return total


def nerr(ranked, ideal, cutoff=None, max_rel=4):
    """ERR over that of the ideal order; 0 without a relevant document."""
    best = err(sorted(ideal, reverse=True), cutoff, max_rel)
    return err(ranked, cutoff, max_rel) / best if best > 0 else 0.0


def rbp(ranked, cutoff=None, p=0.8, rel=None):
    """(1 - p) times the sum of gain * p^(rank - 1)."""
    gains = [gain(label, exponential=False) if rel is None else float(label >= rel) for label in ranked[:cutoff]]
    return (1 - p) * sum(worth * p**position for position, worth in enumerate(gains))


def pair_accuracy(ranked, ideal):
    """Pairs in the right order over all pairs, one by one; a better document that is not retrieved is below all."""
    ranked = [max(label, 0) for label in ranked]
    missed = list(ideal)
    for label in ranked:
        if label > 0:
            missed.remove(label)
    pairs = [a > b for position, b in enumerate(ranked) for a in ranked[:position] if a != b]
    pairs += [False for worse in ranked for better in missed if better > worse]
    return sum(pairs) / len(pairs) if pairs else 0.0


def auc(ranked, ideal, rel=1):
    """(S0 - n0 (n0 + 1) / 2) / (n0 n1), S0 the sum of the relevant positions from the bottom (Hand and Till 2001).

    Relevant documents that are not retrieved are put at the bottom.
    """
    relevant = [label >= rel for label in ranked]
    n_relevant = sum(label >= rel for label in ideal)
    placed = relevant + [True] * (n_relevant - sum(relevant))
    n_other = len(placed) - n_relevant
    positions = sum(len(placed) - position for position, hit in enumerate(placed) if hit)
    return (positions - n_relevant * (n_relevant + 1) / 2) / (n_relevant * n_other) if n_relevant * n_other else 0.0


def value(name: str, ranked, ideal) -> float:
    """The measure of a name that the tests use."""
    head, _, depth = name.partition("@")
    cutoff = int(depth) if depth else None
    head, _, inside = head.partition("(")
    given = eval(f"dict({inside.rstrip(')')})")
    cut = {} if cutoff is None else {"cutoff": cutoff}
    if "dcg" in given:
        given = {"exponential": given["dcg"] == "exp-log2"}
    if head == "DCG":
        return dcg(ranked, cutoff, given.get("exponential", False))
    if head in ("ERR", "RBP"):
        return {"ERR": err, "RBP": rbp}[head](ranked, **cut, **given)
    by_head = {
        "nDCG": ndcg,
        "AP": ap,
        "RR": rr,
        "P": p,
        "R": r,
        "nERR": nerr,
        "AUC": auc,
        "PairAccuracy": pair_accuracy,
    }
    return by_head[head](ranked, ideal, **cut, **given)
