"""Texts with and without an index."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import rerank
from benchmarks.data import SMALL, documents_of, judged, opened, read_topics, some_queries
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


@benchmark(data="cranfield, cacm and nfcorpus: BM25's first 100 documents of queries that are held out, as texts")
def texts_of_one_field(options: Options) -> Iterator[Row]:
    """nDCG@10 of default models on held-out queries: documents by id, and texts with fields, of one, without titles."""
    for name in options.chosen_collections(("cranfield", "cacm", "nfcorpus")):
        corpus = {each.pop("id"): each for each in documents_of(options, name)}
        learned, qrels = judged(options, name) if name in SMALL else judged(options, name, "train")
        held, qrels_held = (learned, qrels) if name in SMALL else judged(options, name, "test")
        if name in SMALL:
            held = {query_id: learned[query_id] for query_id in list(learned)[2::3]}
            learned = {query_id: text for query_id, text in learned.items() if query_id not in held}
        with opened(options, name, vectors=None) as index:
            model = rerank.train(index, learned, some_queries(qrels, list(learned)), estimate=False).model
            run = index.search(held, TEXTS)
            runs = {"BM25": run, "documents": rerank.rerank(index, model, held, run)}
        runs |= {form: _ranked(model, held, run, corpus, text_of) for form, text_of in FORMS.items()}
        judgements = some_queries(qrels_held, list(held))
        row = {form: rerank.evaluate(judgements, each, ["nDCG@10"], complete=True) for form, each in runs.items()}
        yield {"collection": name, "queries": len(held), **{form: each["nDCG@10"] for form, each in row.items()}}


def _joined(document: dict[str, str]) -> str:
    return f"{document.get('title', '')} {document['body']}".strip()


FORMS: dict[str, Callable[[dict[str, str]], str | dict[str, str]]] = {
    "texts with fields": lambda document: document,
    "of one field": _joined,
    "of one field, without a title": lambda document: {"title": "", "body": _joined(document)},
    "body alone": lambda document: document["body"] or _joined(document),
}


def _ranked(
    model: rerank.Ranker,
    topics: dict[str, str],
    run: rerank.Run,
    corpus: dict[str, dict[str, str]],
    text_of: Callable[[dict[str, str]], str | dict[str, str]],
) -> rerank.Run:
    """Return the documents of a run, ranked as texts without ids."""
    scores = {}
    for query_id in run:
        doc_ids = list(run[query_id])
        if doc_ids:
            ranked = rerank.rerank_texts(model, topics[query_id], [text_of(corpus[doc_id]) for doc_id in doc_ids])
            scores[query_id] = {doc_ids[int(number)]: score for number, score in ranked}
    return rerank.Run.of(scores)


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
