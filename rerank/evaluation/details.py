"""The queries behind a difference: what they ask, and which documents moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rerank.evaluation.comparison import Comparison, Move, QueryChange, moves
from rerank.types import Qrels, Run

MOVES = 6  # documents shown of a query


@dataclass(frozen=True)
class QueryDetail:
    """A query that gained or lost, in a run against the baseline.

    text   of the topic, None where no topics are given
    moves  the documents whose move matters most
    """

    run: str
    measure: str
    change: QueryChange
    text: str | None
    moves: Sequence[Move]


def query_details(
    comparison: Comparison,
    n: int,
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]],
    topics: Mapping[str, str] | None = None,
) -> list[QueryDetail]:
    """Return, run by run, the n queries that gained most under the first measure and the n that lost most.

    runs    the runs that were compared, by the same names
    topics  texts by query id
    """
    measure, qrels, topics = comparison.measures[0], Qrels.of(qrels), topics or {}
    baseline = Run.of(runs[comparison.baseline])
    found = []
    for name in comparison.systems:
        run, (gained, lost) = Run.of(runs[name]), comparison.extremes(name, measure, n)
        for change in [*gained, *lost]:
            moved = moves(qrels, baseline, run, change.query_id, MOVES)
            found.append(QueryDetail(name, measure, change, topics.get(change.query_id), moved))
    return found


def moved_documents(details: Sequence[QueryDetail]) -> set[str]:
    """Return the ids of all documents that the details name."""
    return {move.doc_id for detail in details for move in detail.moves}
