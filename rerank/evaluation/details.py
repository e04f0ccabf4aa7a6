"""The queries that changed most between two runs: their texts, and the documents whose rank changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rerank.evaluation.comparison import Comparison, Move, QueryChange, moves
from rerank.types import Qrels, Run

MOVES = 6  # documents shown for each query


@dataclass(frozen=True)
class QueryDetail:
    """A query that gained or lost in a run, compared with the baseline.

    text   text of the topic, None without topics
    moves  the most important changes of rank
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
    """Return, for each run, the n queries that gained most and the n that lost most under the first measure.

    runs    the compared runs, by the same names
    topics  texts by query id
    """
    measure, qrels, topics = comparison.measures[0], Qrels.of(qrels), topics or {}
    baseline = Run.of(runs[comparison.baseline])
    details = []
    for name in comparison.systems:
        run, (gained, lost) = Run.of(runs[name]), comparison.extremes(name, measure, n)
        for change in [*gained, *lost]:
            documents = moves(qrels, baseline, run, change.query_id, MOVES)
            details.append(QueryDetail(name, measure, change, topics.get(change.query_id), documents))
    return details


def moved_documents(details: Sequence[QueryDetail]) -> set[str]:
    """Return the ids of all documents in the details."""
    return {move.doc_id for detail in details for move in detail.moves}
