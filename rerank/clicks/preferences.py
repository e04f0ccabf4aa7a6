"""Preferences from clicks: a clicked document is preferred to the unclicked ones above it, which were skipped.

References
----------
T. Joachims, Optimizing Search Engines using Clickthrough Data, KDD 2002, section 2.2 (strategy "click > skip above" of
T. Joachims, L. Granka, B. Pan, H. Hembrooke and G. Gay, SIGIR 2005).

"""

from __future__ import annotations

import numpy as np

from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError
from rerank.types import Floats, Ints, joined_rows, query_rows
from rerank.types.preferences import Preferences

PAIRS_AT_ONCE = 1 << 24


def preference_pairs(clicks: Clicks) -> tuple[Preferences, Ints]:
    """Return the preferences of searchers, each pair of documents once, in the direction that is more frequent.

    Parameters
    ----------
    clicks : Clicks
        The log.

    Returns
    -------
    preferences : Preferences
        The pairs. With n searches that prefer the better document and m that prefer the other, the probability is
        (n + 1/2) / (n + m + 1).
    counts : ndarray of shape (n_pairs,), dtype int64
        The number n + m of each pair.

    Raises
    ------
    InvalidInputError
        If no document was clicked below an unclicked one.

    """
    keys, counts = _counted_pairs(clicks)
    size = max(len(clicks.doc_ids), 1)
    query, first, second = keys // size // size, keys // size % size, keys % size
    other = (query * size + second) * size + first
    place = np.minimum(np.searchsorted(keys, other), len(keys) - 1)
    reverse = np.where(keys[place] == other, counts[place], 0)
    kept = np.flatnonzero(counts > reverse)
    if not len(kept):
        raise InvalidInputError(
            "clicks: expected clicks below documents that were skipped, got none that agree. Give a longer log."
        )
    total: Ints = (counts + reverse)[kept]
    probabilities: Floats = (counts[kept] + 0.5) / (total + 1.0)
    names = clicks.query_ids[query[kept]], clicks.doc_ids[first[kept]], clicks.doc_ids[second[kept]]
    return Preferences(*names, probabilities), total


def _counted_pairs(clicks: Clicks) -> tuple[Ints, Ints]:
    """Return the distinct (query, clicked, skipped), ascending, as one number each, and how often each occurs."""
    if len(clicks.query_ids) * len(clicks.doc_ids) ** 2 >= 2**63:
        raise InvalidInputError(
            "clicks: expected queries times documents squared below 2^63 for preferences, got "
            f"{len(clicks.query_ids):,} and {len(clicks.doc_ids):,}. Divide the log by query."
        )
    firsts = clicks.list_ptr[:-1][query_rows(clicks.list_ptr)]
    rows = np.flatnonzero(clicks.clicked)
    above = rows - firsts[rows]
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    blocks = np.searchsorted(np.cumsum(above), np.arange(PAIRS_AT_ONCE, above.sum() + PAIRS_AT_ONCE, PAIRS_AT_ONCE))
    for part in np.split(np.arange(len(rows)), np.unique(blocks)):
        below, higher = np.repeat(rows[part], above[part]), joined_rows(firsts[rows[part]], above[part])[0]
        skipped = ~clicks.clicked[higher]
        below, higher = below[skipped], higher[skipped]
        size = len(clicks.doc_ids)
        own = (clicks.query[below].astype(np.int64) * size + clicks.document[below]) * size + clicks.document[higher]
        distinct, counted = np.unique(own, return_counts=True)
        keys, inverse = np.unique(np.concatenate([keys, distinct]), return_inverse=True)
        counts = np.bincount(inverse.reshape(-1), np.concatenate([counts, counted]), len(keys)).astype(np.int64)
    return keys, counts
