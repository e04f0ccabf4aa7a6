"""Slow, obvious GBRank: targets pair by pair."""

from __future__ import annotations

from itertools import pairwise


def gbrank_targets(query_ptr, labels, h, tau):
    """Return (row, target) of both documents of each wrong pair."""
    targets = []
    for first, last in pairwise(query_ptr.tolist()):
        for x in range(first, last):
            for y in range(first, last):
                if labels[x] > labels[y] and h[x] < h[y] + tau:
                    targets += [(x, h[y] + tau), (y, h[x] - tau)]
    return targets
