"""Texts with and without an index."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import rerank
from benchmarks.data import SMALL, documents_of, judged, opened, read_topics
from benchmarks.registry import Options, Row, benchmark

TEXTS, QUERIES = 100, 200


@benchmark(data="nfcorpus, cacm and cranfield: BM25's first 100 documents of 200 queries, as texts")
def texts_alone(options: Options) -> Iterator[Row]:
    """Default models: largest difference of scores without and with the index, processor ms of a query, bytes."""
    for name in options.chosen_collections(("nfcorpus", "cacm", "cranfield")):
        corpus = {each.pop("id"): each for each in documents_of(options, name)}
        topics, qrels = judged(options, name) if name in SMALL else judged(options, name, "train")
        with opened(options, name, vectors=None) as index, tempfile.TemporaryDirectory() as folder:
            model = rerank.train(index, topics, qrels, estimate=False).model
            sizes = {"bytes of the model": _size(model, folder)}
            alone = rerank.read_model(Path(folder) / "model.json")
            model.statistics_ = None
            sizes["without statistics"] = _size(model, folder)
            queries = list(read_topics(options, name).items())[: options.pick(QUERIES, 20)]
            run = index.search(dict(queries), TEXTS)
            yield {"collection": name, **_compared(index, alone, dict(queries), run, corpus), **sizes}


def _size(model: rerank.Ranker, folder: str) -> int:
    model.save(path := Path(folder) / "model.json")
    return path.stat().st_size


def _compared(
    index: rerank.Index,
    model: rerank.Ranker,
    topics: dict[str, str],
    run: rerank.Run,
    corpus: dict[str, dict[str, str]],
) -> Row:
    """Return the figures of a collection."""
    worst, n_texts = 0.0, 0
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for query_id in run:
        texts = [corpus[doc_id] for doc_id in run[query_id]]
        if not texts:
            continue
        scores = {}
        for with_index, own in seconds.items():
            start = time.process_time()
            ranked = rerank.rerank_texts(model, topics[query_id], texts, index=index if with_index else None)
            own.append(time.process_time() - start)
            scores[with_index] = dict(ranked)
        worst = max(worst, *(abs(scores[True][number] - score) for number, score in scores[False].items()))
        n_texts += len(texts)
    return {
        "queries": len(seconds[True]),
        "texts": n_texts,
        "largest difference": worst,
        "processor ms": round(1000 * median(seconds[False]), 1),
        "ms with the index": round(1000 * median(seconds[True]), 1),
    }
