"""Checks of runs, topics and judgements against an index."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rerank.errors import InvalidInputError, log
from rerank.types import ForwardIndex, Qrels, RankingData, Run, Topics, id_array
from rerank.types.ids import judged_parts, written_apart


def check_topics(run: Run, topics: Topics) -> None:
    """Refuse a run with a query that has no topic."""
    missing = [query_id for query_id in run if query_id not in topics]
    if missing:
        raise InvalidInputError(
            f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
            f"all). {written_apart(missing, topics) or 'Give the topics that the run was made for'}."
        )


def log_judged(table: Run | RankingData, qrels: Qrels) -> None:
    """Log how many of the documents of a run or of data are judged."""
    _, judged = qrels.lookup(table.query_ids, table.query_ptr, table.doc_ids)
    log.info(
        "labels: %d queries, %d documents, of which %d are judged; the others count as label 0.",
        len(table),
        len(table.doc_ids),
        int(judged.sum()),
    )


def log_unknown(forward: ForwardIndex, qrels: Qrels, queries: Iterable[str]) -> None:
    """Log a warning if documents that are judged for some queries are not in the index."""
    known = [query_id for query_id in queries if query_id in qrels]
    judged = id_array(list(dict.fromkeys(doc_id for query_id in known for doc_id in qrels[query_id])))
    unknown = np.flatnonzero(forward.doc_numbers(judged) < 0)
    if len(unknown):
        are_all = len(unknown) == len(judged)
        remedy = judged_parts(forward.doc_ids.tolist(), judged.tolist()) if are_all else ""
        log.warning(
            "qrels: %d of the %d judged documents are not in the index, e.g. %s%s",
            len(unknown),
            len(judged),
            judged[unknown[0]],
            f". {remedy}" if remedy else "",
        )
