"""Binary preference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.lists import has_judgement, n_judged_zero, n_relevant, ratio, relevant_so_far, totals
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, query_rows


@register("Bpref", trec="bpref", aliases={"BPref": "Bpref"})
@dataclass(frozen=True)
class Bpref(BinaryMeasure):
    """Mean over all R relevant documents of 1 - min(n, R) / min(N, R); a document not retrieved has 0.

    n is the number of documents above it that are judged not relevant, of N in the qrels. Unjudged documents, and those
    with a negative label, are ignored.

    References
    ----------
    C. Buckley and E. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004; with min(N, R) as in
    trec_eval.

    """

    takes_cutoff: ClassVar[bool] = False
    asks_judged: ClassVar[bool] = True  # only documents that are judged count

    def scores(self, lists: RankedLists) -> Floats:
        """Return the bpref of every query."""
        hits = np.flatnonzero(self.relevant(lists.labels))
        query, all_relevant = query_rows(lists.query_ptr)[hits], n_relevant(lists, self.rel)
        not_relevant = n_judged_zero(lists) + np.diff(lists.ideal_ptr) - all_relevant
        above = relevant_so_far(has_judgement(lists) & (lists.labels < self.rel), lists.query_ptr)[hits]
        wrong = ratio(np.minimum(above, all_relevant[query]), np.minimum(not_relevant[query], all_relevant[query]))
        return ratio(totals(query, 1.0 - wrong, lists.n_queries), all_relevant)
