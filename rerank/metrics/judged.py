"""Shares of judged and unjudged documents in a ranking, and its labels as text."""

from itertools import pairwise

import numpy as np

from rerank.metrics.base import TEXT
from rerank.metrics.ranked_lists import RankedLists, has_judgement, in_pool, ratio, sums, within
from rerank.metrics.registry import measure
from rerank.types import Floats, Ids


@measure("Judged", asks_judged=True)
def judged(lists: RankedLists, cutoff: int | None = None) -> Floats:
    """Share of the first k documents, or of all, that are in the qrels, with any label (ir_measures).

    The divisor is at most the length of the list. Ties are broken as in trec_eval, which ir_measures reverses.
    """
    depth = np.diff(lists.query_ptr).astype(np.float64)
    known = sums(in_pool(lists) & within(lists.query_ptr, cutoff), lists.query_ptr)
    return ratio(known, depth if cutoff is None else np.minimum(depth, cutoff))


@measure("Unjudged", trec_cut="unj", cutoffs=(5, 10, 20), asks_judged=True)
def unjudged(lists: RankedLists, cutoff: int) -> Floats:
    """Share of unjudged documents among the first k; a negative label is not a judgement (trec_eval's `unj`)."""
    return sums(~has_judgement(lists) & within(lists.query_ptr, cutoff), lists.query_ptr) / cutoff


@measure("RelString", trec="relstring", trec_parameter="cutoff", averaging=TEXT, asks_judged=True)
def label_string(lists: RankedLists, cutoff: int = 10) -> Ids:
    """Text with one character for each of the first k documents, 10 by default (trec_eval); it has no mean.

    The character is the label from 0 to 9, `>` for a larger one, `.` for a negative one (in the pool, not judged) and
    `-` for a document that is not in the qrels.
    """
    digits = np.maximum(lists.labels, 0).astype(np.int64).astype("U1")
    letters = np.select([~in_pool(lists), lists.labels < 0, lists.labels > 9], ["-", ".", ">"], digits).tolist()
    bounds = pairwise(lists.query_ptr.tolist())
    return np.array(["".join(letters[start : min(end, start + cutoff)]) for start, end in bounds], dtype=np.str_)
