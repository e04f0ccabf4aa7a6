"""Checks of topics against runs and judgements; the reader reports errors within a topics file."""

from __future__ import annotations

from collections.abc import Iterator

from rerank.doctor.findings import Finding, check, missing_queries
from rerank.doctor.reading import QrelsRows, Rows, RunRows


@check("topics", "run")
def topics_and_run(topics: Rows, run: RunRows) -> Iterator[Finding]:
    """Topics that are not in a run, and the reverse."""
    effect = "nothing is retrieved for it: with `evaluate -c` it counts 0, else it does not count"
    yield from missing_queries(topics, run, "warning", "topic", effect)
    effect = "`rerank features` and `rerank rerank` refuse the run: it was made for other topics"
    yield from missing_queries(run, topics, "error", "query", effect)


@check("qrels", "topics")
def qrels_and_topics(qrels: QrelsRows, topics: Rows) -> Iterator[Finding]:
    """Judged queries without a topic."""
    effect = "no run of these topics contains it: with `evaluate -c` it counts 0, else it does not count"
    yield from missing_queries(qrels, topics, "warning", "judged query", effect)
