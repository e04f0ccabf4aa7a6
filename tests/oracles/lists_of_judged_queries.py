"""What judged queries with similar lists say of a document, one query at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tests.oracles.sources import Lists, ordered


def first_documents(lists: Lists) -> list[str]:
    """The first ten documents by reciprocal rank fusion of the first hundred of each list."""
    ranks = [{doc: rank for rank, doc in enumerate(ordered(scores)[:100], 1)} for scores in lists]
    fused = {doc: sum(1 / (60 + of[doc]) for of in ranks if doc in of) for doc in set().union(*lists)}
    return ordered(fused)[:10]


def cosine(one: Sequence[str], other: Sequence[str]) -> float:
    weight = [1 / math.log2(1 + rank) for rank in range(1, 11)]
    shared = sum(weight[one.index(doc)] * weight[other.index(doc)] for doc in one if doc in other)
    lengths = [math.sqrt(sum(each * each for each in weight[: len(docs)])) for docs in (one, other)]
    return shared / (lengths[0] * lengths[1])


def judged(
    query: str, lists: Lists, doc: str, judged_lists: Mapping[str, Lists], qrels: Mapping[str, Mapping[str, int]]
) -> float:
    """The sum over the judged queries of the cosine times the document's label."""
    first = first_documents(lists)
    return sum(
        cosine(first, first_documents(others)) * max(qrels[other].get(doc, 0), 0)
        for other, others in judged_lists.items()
        if other != query
    )
