"""Measures of the set of retrieved documents, and counts of queries and documents; order does not matter."""

from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.metrics.base import TOTAL
from rerank.metrics.parameters import OPTIONAL_REL, REAL, REL, MeasureParameter
from rerank.metrics.precision import n_hits
from rerank.metrics.ranked_lists import RankedLists, has_judgement, n_relevant, ratio, sums
from rerank.metrics.registry import measure
from rerank.types import Floats

ORDER_FREE: dict[str, Any] = {"refuses_training": True}
COUNT: dict[str, Any] = {"refuses_training": True, "averaging": TOTAL}


def _counts(lists: RankedLists, rel: int) -> tuple[Floats, Floats, Floats]:
    """Return for each query the number of relevant documents retrieved, of all retrieved, and of all relevant ones."""
    return n_hits(lists, None, rel), np.diff(lists.query_ptr).astype(np.float64), n_relevant(lists, rel)


RELATIVE: Any = MeasureParameter(False, "relative=True or False", choices=(True, False))


@measure(
    "SetP",
    trec="set_P",
    aliases={"set_relative_P": {"relative": True}, "SetRelP": {"relative": True}},
    with_cutoff="P@{0}",
    **ORDER_FREE,
)
def set_precision(lists: RankedLists, rel: int = REL, relative: bool = RELATIVE) -> Floats:
    """Share of relevant documents among those retrieved; `relative` to the highest possible for as many documents."""
    found, retrieved, relevant = _counts(lists, rel)
    return ratio(found, np.minimum(retrieved, relevant) if relative else retrieved)


@measure("SetR", trec="set_recall", with_cutoff="R@{0}", **ORDER_FREE)
def set_recall(lists: RankedLists, rel: int = REL) -> Floats:
    """Share of relevant documents that are retrieved."""
    return ratio(n_hits(lists, None, rel), n_relevant(lists, rel))


@measure("SetAP", trec="set_map", with_cutoff="AP@{0}", **ORDER_FREE)
def set_ap(lists: RankedLists, rel: int = REL) -> Floats:
    """SetP * SetR."""
    found, retrieved, relevant = _counts(lists, rel)
    return ratio(found * found, retrieved * relevant)


BETA: Any = MeasureParameter(1.0, "beta of at least 0", REAL, 0, float(np.finfo(np.float64).max))


@measure(
    "SetF",
    trec="set_F",
    trec_parameter="beta",
    aliases={"F1": {}},
    with_cutoff="P@{0} and R@{0}",
    **ORDER_FREE,
)
def set_f(lists: RankedLists, rel: int = REL, beta: float = BETA) -> Floats:
    """(beta + 1) P R / (beta P + R): trec_eval and ir_measures do not square beta, van Rijsbergen (1979) does."""
    found, retrieved, relevant = _counts(lists, rel)
    precision = ratio(found, retrieved)
    recall = ratio(found, relevant)
    return ratio((beta + 1.0) * precision * recall, beta * precision + recall)


def _four(worth: Any) -> tuple[float, ...]:
    """Return `worth` as a tuple; refuse anything but four numbers."""
    if not isinstance(worth, tuple | list) or len(worth) != 4 or not all(isinstance(part, REAL) for part in worth):
        raise InvalidInputError(
            f"Utility: expected four numbers as worth, got {shown(worth)}. Write e.g. Utility(worth=(2,-1,0,0))."
        )
    return tuple(worth)


WORTH: Any = MeasureParameter((1.0, -1.0, 0.0, 0.0), "four numbers as worth", convert=_four)
N_DOCS: Any = MeasureParameter(0, "a number of documents as n_docs", low=0)


@measure("Utility", trec="utility", trec_parameter="worth", **ORDER_FREE)
def utility(lists: RankedLists, rel: int = REL, worth: tuple[float, ...] = WORTH, n_docs: int = N_DOCS) -> Floats:
    """worth[0] * relevant retrieved + worth[1] * others retrieved + worth[2] * relevant missed + worth[3] * the rest.

    The rest is counted in a collection of `n_docs` documents, 0 by default (trec_eval's -N). Unjudged documents are
    not relevant.
    """
    found, retrieved, relevant = _counts(lists, rel)
    rest = n_docs + found - retrieved - relevant
    a, b, c, d = worth
    return a * found + b * (retrieved - found) + c * (relevant - found) + d * rest


@measure("NumQ", trec="num_q", **COUNT)
def n_queries(lists: RankedLists) -> Floats:
    """1 for each query."""
    return np.ones(lists.n_queries)


@measure("NumRet", trec="num_ret", aliases={"num_rel_ret": {"rel": 1}}, **COUNT)
def n_retrieved(lists: RankedLists, rel: int | None = OPTIONAL_REL) -> Floats:
    """Number of documents retrieved; with `rel`, of those with at least that label."""
    return np.diff(lists.query_ptr).astype(np.float64) if rel is None else n_hits(lists, None, rel)


@measure("NumRel", trec="num_rel", **COUNT)
def n_of_relevant(lists: RankedLists, rel: int = REL) -> Floats:
    """Number of relevant documents, retrieved or not."""
    return n_relevant(lists, rel)


@measure("NumNonrelRet", trec="num_nonrel_judged_ret", asks_judged=True, **COUNT)
def n_not_relevant(lists: RankedLists, rel: int = REL) -> Floats:
    """Number of retrieved documents that are judged not relevant, without unjudged ones and negative labels."""
    return sums(has_judgement(lists) & (lists.labels < rel), lists.query_ptr)
