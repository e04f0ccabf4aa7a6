"""Whether queries, judgements and models belong to an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import InvalidInputError, log
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.forward import ForwardIndex
from rerank.types.ids import id_array, zeros_apart

if TYPE_CHECKING:
    pass


def check_topics(run: Run, topics: Topics) -> None:
    """Refuse a run with a query that has no topic."""
    missing = [query_id for query_id in run if query_id not in topics]
    if missing:
        raise InvalidInputError(
            f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
            f"all). {zeros_apart(missing, topics) or 'Give the topics that the run was made for'}."
        )


def log_judged(table: Run | RankingData, qrels: Qrels) -> None:
    """Log how many documents are judged."""
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
        log.warning(
            "qrels: %d of the %d judged documents are not in the index, e.g. %s",
            len(unknown),
            len(judged),
            judged[unknown[0]],
        )


def fingerprint_differences(
    prefix: str, trained_on: Mapping[str, Any], opened: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted names of the parts in which two fingerprints differ, with both values."""
    for key in dict.fromkeys((*opened, *trained_on)):
        name = f"{prefix}{key}"
        before = trained_on.get(key)
        after = opened.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from fingerprint_differences(f"{name}.", before, after)
        elif before != after:
            yield name, before, after
