"""Checks of topics against the files that name their queries; what is wrong in a topics file, its reader says."""

from __future__ import annotations

from collections.abc import Iterator

from rerank.doctor.findings import Finding, check, lacking
from rerank.doctor.reading import QrelsRows, Rows, RunRows


@check("topics", "run")
def topics_and_run(topics: Rows, run: RunRows) -> Iterator[Finding]:
    """Topics that a run lacks, and the reverse."""
    effect = "nothing is retrieved for it: with `evaluate -c` it counts 0, else it does not count"
    yield from lacking(topics, run, "warning", "topic", effect)
    effect = "`rerank features` and `rerank rerank` refuse the run: it was made for other topics"
    yield from lacking(run, topics, "error", "query", effect)


@check("qrels", "topics")
def qrels_and_topics(qrels: QrelsRows, topics: Rows) -> Iterator[Finding]:
    """Judged queries that the topics lack."""
    effect = "no run of these topics holds it: with `evaluate -c` it counts 0, else it does not count"
    yield from lacking(qrels, topics, "warning", "judged query", effect)
