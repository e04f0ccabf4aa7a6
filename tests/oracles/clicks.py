"""Click models and credits, impression by impression."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import exp, log

from rerank.clicks.record import Clicks

Impression = tuple[str, str, int, bool]


def impressions(clicks: Clicks) -> Iterator[Impression]:
    """Yield query, document, position and click of every row."""
    columns = clicks.query_ids[clicks.query], clicks.doc_ids[clicks.document], clicks.position, clicks.clicked
    yield from zip(*(column.tolist() for column in columns), strict=True)


def lists(clicks: Clicks) -> list[list[Impression]]:
    """Return the result lists."""
    rows = list(impressions(clicks))
    sessions = [0] * len(rows) if clicks.session is None else clicks.session.tolist()
    found = [[rows[0]]]
    for (before, one), (row, other) in pairwise(zip(rows, sessions, strict=True)):
        if one != other or before[0] != row[0] or row[2] <= before[2]:
            found.append([])
        found[-1].append(row)
    return found


def rates(shown: list[Impression], prior: float) -> dict[tuple[str, str], float]:
    """Return clicks over impressions, with the mean of all as the prior."""
    counts: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for query, doc, _, clicked in shown:
        counts[query, doc][0] += clicked
        counts[query, doc][1] += 1
    mean = sum(c for c, _ in counts.values()) / len(shown)
    return {pair: (c + prior * mean) / (n + prior) for pair, (c, n) in counts.items()}


def cascade(clicks: Clicks, prior: float) -> dict[tuple[str, str], float]:
    """Return click rates down to the first click of each list."""
    examined = []
    for each in lists(clicks):
        first = next((number for number, row in enumerate(each) if row[3]), len(each) - 1)
        examined += each[: first + 1]
    return rates(examined, prior)


def dependent(clicks: Clicks, prior: float) -> dict[tuple[str, str], float]:
    """Return click rates down to the last click of each list."""
    examined = []
    for each in lists(clicks):
        last = max((number for number, row in enumerate(each) if row[3]), default=len(each) - 1)
        examined += each[: last + 1]
    return rates(examined, prior)


def coec(clicks: Clicks, prior: float) -> dict[tuple[str, str], float]:
    """Return clicks over expected clicks."""
    shown = list(impressions(clicks))
    at: dict[int, list[bool]] = defaultdict(list)
    for _, _, position, clicked in shown:
        at[position].append(clicked)
    mean = sum(row[3] for row in shown) / len(shown)
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [prior * mean, prior * mean])
    for query, doc, position, clicked in shown:
        sums[query, doc][0] += clicked
        sums[query, doc][1] += sum(at[position]) / len(at[position])
    return {pair: c / e for pair, (c, e) in sums.items()}


def posterior(clicked: int, missed: list[float], prior: float, mean: float) -> float:
    """Return the gamma of a grid that maximises the posterior; `missed` has theta of each unclicked impression."""

    def value(gamma: float) -> float:
        rest = sum(log(1 - theta * gamma) for theta in missed)
        return (clicked + prior * mean) * log(gamma) + prior * (1 - mean) * log(1 - gamma) + rest

    return max((1 / (1 + exp(-x / 200)) for x in range(-2000, 2000)), key=value)


def skipped(clicks: Clicks) -> dict[tuple[str, str, str], int]:
    """Return how often each document was clicked below each unclicked one."""
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for each in lists(clicks):
        for number, row in enumerate(each):
            for above in each[:number]:
                if row[3] and not above[3]:
                    counts[row[0], row[1], above[1]] += 1
    return dict(counts)
