"""Collections for benchmarks: BM25's documents of some topics, their features and their labels."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import rerank
from rerank.types import Qrels, RankingData, query_rows

SHARED = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
K = 100  # of BM25's documents


def collection(name: str, qrels: Mapping[str, str]) -> dict[str, RankingData]:
    """Index a collection in a temporary folder; return the data of each part, from the names of the qrels files.

    The rows are BM25's first 100 documents of every judged topic, the base scores BM25's.
    """
    folder, data_of = SHARED / "collections" / name, {}
    topics = rerank.read_topics(folder / "topics.tsv")
    with (
        tempfile.TemporaryDirectory() as temporary,
        rerank.Index.build(folder / "corpus.jsonl", Path(temporary) / "index", vectors=False) as index,
    ):
        for part, file in qrels.items():
            judged = rerank.read_qrels(folder / file)
            wanted = {query_id: topics[query_id] for query_id in judged if query_id in topics}
            data_of[part] = index.features(index.search(wanted, k=K), wanted, judged)
    return data_of


def qrels_of(data: RankingData) -> Qrels:
    """Return the data's labels as judgements, with unnamed documents for relevant ones that the run missed."""
    ideal_labels, ideal_ptr = data.ideal()
    queries, docs, labels = [], [], []
    for number, query_id in enumerate(data):
        rows = data.rows(query_id)
        retrieved = sorted((label for label in data.labels[rows] if label > 0), reverse=True)
        missed = list(ideal_labels[ideal_ptr[number] : ideal_ptr[number + 1]])
        for label in retrieved:
            missed.remove(label)
        queries += [query_id] * len(missed)
        docs += [f"\x00missed{index}" for index in range(len(missed))]
        labels += missed
    return Qrels.from_rows(
        [*data.query_ids[query_rows(data.query_ptr)].tolist(), *queries],
        [*data.doc_ids.tolist(), *docs],
        [*data.labels.tolist(), *labels],
    )
