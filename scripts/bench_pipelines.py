#!/usr/bin/env python
"""Retrieval pipelines of LangChain and Haystack from the query to the documents: nDCG@10 and milliseconds.

    python scripts/bench_pipelines.py [--collection demo cranfield] [--queries 200] [--output FILE]

Needs langchain-core and haystack-ai, and wordllama for the second kind of vectors. The demo's documents are the
docstrings of the standard library; cranfield and med are read from `$RERANK_TEST_DATA`. A model learns on other topics
(300 of the demo, four fifths of the others) with the settings of `rerank train`; it and the pipelines find 100
documents each by BM25, latent semantic indexing and, where wordllama is installed, its encoder.

fusion       three retrievers, reciprocal rank fusion by the framework (of LangChain, by `rerank.fuse`)
+ reranking  the same, and `RerankCompressor` or `RerankRanker` with a model of BM25's candidates
one step     `RerankRetriever` with a model whose candidates are the union: retrieval, learned fusion and reranking
threshold    the last with min_score .5: mean number of documents, and the share of them that is relevant

Of each, the time of one query, one at a time, after ten others. FlashRank (of the package rerankers) is not among them:
the wheel flashrank 0.2.10 holds no weights, they are downloaded at the first use.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.types import Topics
from rerank.vectors.encoder import installed_encoder
from rerank.workflows.demo import library_collection

DATA = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "collections"
MEASURE, DEPTH, LEARNED, WARM, LIKELY = "nDCG@10", 100, 300, 10, 0.5
Answer = Callable[[str], list[tuple[str, float]]]


def main() -> None:
    """Print a table of each collection."""
    logging.getLogger("haystack").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--collection", nargs="+", choices=("demo", "cranfield", "med"), default=["demo", "cranfield"])
    parser.add_argument("--queries", type=int, default=200, help="that are measured, at most")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    given = parser.parse_args()
    results = {}
    for name in given.collection:
        with tempfile.TemporaryDirectory() as scratch:
            results[name] = measured(name, Path(scratch), given.queries)
        rows = [[system, *(f"{value:.4g}" for value in line.values())] for system, line in results[name].items()]
        print(f"\n{name}\n" + tabulate(rows, ["", *next(iter(results[name].values()))], disable_numparse=True))
    if given.output is not None:
        given.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf8")


def measured(name: str, folder: Path, n_queries: int) -> dict[str, dict[str, float]]:
    """Return the figures of each pipeline."""
    documents, topics, qrels = collection(name)
    names = [query_id for query_id in topics if query_id in qrels]
    order = np.random.default_rng(0).permutation(len(names))
    learned = LEARNED if name == "demo" else len(names) * 4 // 5
    train, test = ([names[number] for number in part.tolist()] for part in np.split(order, [learned]))
    test = test[:n_queries]
    rerank.Index.build(documents, folder / "index").close()  # with vectors, and the encoder of wordllama
    sources = ("bm25", "lsi", *(("encoder",) if installed_encoder() else ()))
    with rerank.Index.open(folder / "index") as index:
        own = Topics({query_id: topics[query_id] for query_id in train})
        judged = qrels.select(qrels.query_numbers(train))
        for file, candidates in (
            ("texts", f"bm25:{DEPTH}"),
            ("union", ",".join(f"{each}:{DEPTH}" for each in sources)),
        ):
            rerank.train(index, own, judged, candidates=candidates).model.save(folder / f"{file}.json")
    systems = {
        **{f"LangChain, {key}": of for key, of in langchain_pipelines(folder, sources).items()},
        **{f"Haystack, {key}": of for key, of in haystack_pipelines(folder, sources).items()},
    }
    return {
        system: figures(answer, {query_id: topics[query_id] for query_id in test}, qrels)
        for system, answer in systems.items()
    }


def figures(answer: Answer, topics: dict[str, str], qrels: rerank.Qrels) -> dict[str, float]:
    """Return the measure, the times and the number of documents of a pipeline."""
    for text in list(topics.values())[:WARM]:
        answer(text)
    run, times = {}, []
    for query_id, text in topics.items():
        started = time.perf_counter()
        found = answer(text)
        times.append(1e3 * (time.perf_counter() - started))
        run[query_id] = {doc_id: 1.0 / rank for rank, (doc_id, _) in enumerate(found, 1)}
    counts = [len(each) for each in run.values()]
    hits = sum(qrels[query_id].get(doc_id, 0) > 0 for query_id, each in run.items() for doc_id in each)
    judged = qrels.select(qrels.query_numbers(list(topics)))
    kept = {query_id: each for query_id, each in run.items() if each}
    values = rerank.evaluate(judged, kept, [MEASURE]).per_query[MEASURE] if kept else {}
    return {
        MEASURE: sum(values.values()) / len(topics),
        "p50, ms": float(np.quantile(times, 0.5)),
        "p99, ms": float(np.quantile(times, 0.99)),
        "documents": float(np.mean(counts)),
        "relevant": hits / max(sum(counts), 1),
    }


def collection(name: str) -> tuple[list[dict[str, Any]], Any, rerank.Qrels]:
    """Return documents, topics and judgements."""
    if name == "demo":
        own = library_collection()
        return own.documents, own.topics, own.qrels
    folder = DATA / name
    documents = list(rerank.read_documents(folder / "corpus.jsonl"))
    return documents, rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")


def langchain_pipelines(folder: Path, sources: tuple[str, ...]) -> dict[str, Answer]:
    """Return pipelines of LangChain's runnables."""
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

    from rerank.plugins.langchain import RerankCompressor, RerankRetriever

    index = rerank.Index.open(folder / "index")
    retrievers = {source: RerankRetriever(index=index, candidates=source, k=DEPTH) for source in sources}

    def fused(found: dict[str, list[Document]]) -> list[Document]:
        texts = {each.id: each for documents in found.values() for each in documents}
        runs = [{"q": {each.id: each.metadata["relevance_score"] for each in part}} for part in found.values() if part]
        return [texts[doc_id] for doc_id in rerank.fuse(runs)["q"]] if len(runs) > 1 else list(texts.values())

    fusion = RunnableParallel(retrievers) | RunnableLambda(fused)
    compressor = RerankCompressor(index=index, model=folder / "texts.json", top_n=10)
    reranking = RunnableParallel(query=RunnablePassthrough(), documents=fusion) | RunnableLambda(
        lambda given: compressor.compress_documents(given["documents"][:DEPTH], given["query"])
    )
    union = folder / "union.json"
    chains = {
        **{source: retriever for source, retriever in retrievers.items()},
        "fusion": fusion,
        "fusion + reranking": reranking,
        "one step": RerankRetriever(index=index, model=union),
        "one step, threshold": RerankRetriever(index=index, model=union, min_score=LIKELY),
    }
    return {
        name: lambda query, chain=chain: [(each.id, 0.0) for each in chain.invoke(query)[:10]]
        for name, chain in chains.items()
    }


def haystack_pipelines(folder: Path, sources: tuple[str, ...]) -> dict[str, Answer]:
    """Return pipelines of Haystack's components."""
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner

    from rerank.plugins.haystack import RerankRanker, RerankRetriever

    def fusion(ranker: RerankRanker | None) -> Pipeline:
        pipeline = Pipeline()
        pipeline.add_component("joiner", DocumentJoiner("reciprocal_rank_fusion", top_k=DEPTH))
        for source in sources:
            pipeline.add_component(source, RerankRetriever(str(folder / "index"), candidates=source, top_k=DEPTH))
            pipeline.connect(f"{source}.documents", "joiner.documents")
        if ranker is not None:
            pipeline.add_component("ranker", ranker)
            pipeline.connect("joiner.documents", "ranker.documents")
        return pipeline

    def one_step(min_score: float | None = None) -> Pipeline:
        pipeline = Pipeline()
        retriever = RerankRetriever(str(folder / "index"), str(folder / "union.json"), min_score=min_score)
        pipeline.add_component("retriever", retriever)
        return pipeline

    ranker = RerankRanker(str(folder / "index"), str(folder / "texts.json"), top_k=10)
    pipelines = {
        "fusion": (fusion(None), sources, "joiner"),
        "fusion + reranking": (fusion(ranker), (*sources, "ranker"), "ranker"),
        "one step": (one_step(), ("retriever",), "retriever"),
        "one step, threshold": (one_step(LIKELY), ("retriever",), "retriever"),
    }

    def answer(pipeline: Pipeline, inputs: tuple[str, ...], last: str) -> Answer:
        def found(query: str) -> list[tuple[str, float]]:
            documents = pipeline.run({name: {"query": query} for name in inputs})[last]["documents"]
            return [(each.id, each.score) for each in documents[:10]]

        return found

    return {name: answer(*parts) for name, parts in pipelines.items()}


if __name__ == "__main__":
    main()
