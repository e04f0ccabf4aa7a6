"""Fusion of runs, and pipelines of other frameworks."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, judged, opened, some_queries, whole_collection
from benchmarks.measuring import MEASURE, folds, mean_of_run, values_of_run
from benchmarks.registry import Options, Row, benchmark

STEPS, DEPTH = 10, 100  # of the grid of weights; documents of each source
METHODS = ("rrf", "convex", "best source", "learned", "weights alone")
LEARNED, WARM, LIKELY = 300, 10, 0.5  # topics of the demo that train, queries that are not timed, min_score
Answer = Callable[[str], list[str]]


def sources(depth: int) -> tuple[str, ...]:
    """Return the sources of candidates."""
    return tuple(f"{name}:{depth}" for name in ("bm25", "rm3", "lsi", "encoder"))


@contextmanager
def opened_with_vectors(options: Options, name: str) -> Iterator[rerank.Index]:
    """Index a collection with its vectors and the encoder of wordllama."""
    with opened(options, name) as index:
        index.learn_vectors()
        yield index.using(encoder="wordllama", vectors=None)


@benchmark(
    data="med, cacm, cranfield, nfcorpus's dev queries, five folds",
    peer="reciprocal rank fusion, weights chosen on the training queries, the best single run",
)
def fusion(options: Options) -> Iterator[Row]:
    """nDCG@10 of learned fusion of BM25, RM3, latent semantic indexing and wordllama on held-out queries.

    "convex" is the best of the weights of min-max scores on the training queries, the oracle the best weights of each
    query, which nobody has. `--only index` adds `train` on the union, by one assignment of the folds.
    """
    for name in options.chosen_collections((*SMALL, "nfcorpus")):
        part = "dev" if name == "nfcorpus" else ""
        (topics, qrels), values = judged(options, name, part), dict[str, np.ndarray]()
        with opened_with_vectors(options, name) as index:
            runs = [index.search(topics, candidates=source) for source in sources(1000)]
            if options.only:
                values["train on the union"] = _of_index(index, topics, qrels)
        grid = _of_weights(runs, qrels)
        values |= {method: np.zeros(len(qrels)) for method in METHODS}
        for seed in range(options.n_seeds(3)):
            for train, test in folds(len(qrels), seed):
                for method, own in _of_fold(runs, qrels, grid, train, test).items():
                    values[method][test] += own / options.n_seeds(3)
        row = {"collection": name, "queries": len(qrels)}
        row |= {method: float(each.mean()) for method, each in values.items()}
        row |= {"oracle": float(grid.max(axis=0).mean())}
        row["worse than rrf"] = float((values["learned"] < values["rrf"] - 1e-12).mean())
        yield row | {f"p against {other}": _t_test(values["learned"] - values[other]) for other in ("rrf", "convex")}


def _of_weights(runs: Sequence[rerank.Run], qrels: rerank.Qrels) -> np.ndarray:
    """Return the measure by weights of the min-max scores and query, (n_weights, n_queries)."""
    from rerank.retrieval.source_data import source_data, source_names

    data = source_data(runs)
    scores = np.nan_to_num(np.column_stack([data.column(f"{name}.minmax") for name in source_names(len(runs))]))
    shares = [each for each in product(range(STEPS + 1), repeat=len(runs)) if sum(each) == STEPS]
    return np.array([values_of_run(qrels, data.run(scores @ each)) for each in np.array(shares) / STEPS])


def _of_fold(
    runs: Sequence[rerank.Run], qrels: rerank.Qrels, grid: np.ndarray, train: np.ndarray, test: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the measure of the test queries by each method, all of whose choices are made on the training queries."""
    from rerank.rankers.learned_fusion import LEAST_FOR_MODEL

    names = list(qrels)
    train_ids, test_ids = ([names[number] for number in part.tolist()] for part in (train, test))
    train_runs, test_runs = (
        [run.select(run.query_numbers([name for name in some if name in run])) for run in runs]
        for some in (train_ids, test_ids)
    )
    train_qrels, test_qrels = some_queries(qrels, train_ids), some_queries(qrels, test_ids)
    single = np.array([values_of_run(train_qrels, run).mean() for run in train_runs]).argmax()
    values = {
        "rrf": values_of_run(test_qrels, rerank.fuse(test_runs)),
        "convex": grid[grid[:, train].mean(axis=1).argmax(), test],
        "best source": values_of_run(test_qrels, test_runs[single]),
    }
    for method, trees in (("weights alone", False), ("learned", None)):
        if method == "learned" and len(train) < LEAST_FOR_MODEL:  # then it learns weights alone
            values[method] = values["weights alone"]
            continue
        model = rerank.learn_fusion(train_runs, train_qrels, MEASURE, trees=trees)
        values[method] = values_of_run(test_qrels, rerank.apply_fusion(model, test_runs))
    return values


def _of_index(index: rerank.Index, topics: dict[str, str], qrels: rerank.Qrels) -> np.ndarray:
    """Return the measure of each query by models of the other folds that read the index."""
    values, names, candidates = np.zeros(len(qrels)), list(qrels), ",".join(sources(DEPTH))
    for train, test in folds(len(qrels), 0):
        train_ids, test_ids = ([names[number] for number in part.tolist()] for part in (train, test))
        own = {name: topics[name] for name in train_ids}
        result = rerank.train(index, own, some_queries(qrels, train_ids), candidates=candidates, estimate=False)
        run = rerank.rerank(index, result.model, {name: topics[name] for name in test_ids})
        values[test] = values_of_run(some_queries(qrels, test_ids), run)
    return values


def _t_test(differences: np.ndarray) -> float:
    """Return the p-value of a paired t-test."""
    from rerank.evaluation.significance import paired_differences

    return float(paired_differences(differences[:, None], samples=100)[0].p_values["t"])


@benchmark(
    data="the standard library's docstrings, 200 topics; a fifth of cranfield's queries",
    peer="the frameworks' reciprocal rank fusion",
    needs=("langchain_core", "haystack"),
)
def pipelines(options: Options) -> Iterator[Row]:
    """nDCG@10 and milliseconds of pipelines of LangChain and Haystack from a query to ten documents, one at a time."""
    logging.getLogger("haystack").setLevel(logging.ERROR)
    for name in options.chosen_collections(("demo", "cranfield")):
        documents, topics, qrels = whole_collection(options, name)
        names = list(qrels)
        order = np.random.default_rng(0).permutation(len(names))
        learned = LEARNED if name == "demo" else len(names) * 4 // 5
        train, test = ([names[number] for number in part.tolist()] for part in np.split(order, [learned]))
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            with rerank.Index.build(documents, folder / "index") as built:
                built.learn_vectors(encoder="wordllama")
            found = tuple(source.partition(":")[0] for source in sources(DEPTH) if not source.startswith("rm3"))
            history = False if name == "demo" else None  # where each document is relevant to one query
            with rerank.Index.open(folder / "index", history=history) as index:
                own = {query_id: topics[query_id] for query_id in train}
                for file, used in (("texts", found[:1]), ("union", found)):
                    candidates = ",".join(f"{source}:{DEPTH}" for source in used)
                    result = rerank.train(index, own, some_queries(qrels, train), candidates=candidates)
                    result.model.save(folder / f"{file}.json")
            tested = {query_id: topics[query_id] for query_id in test[: options.pick(200, 20)]}
            for system, answer in {**_langchain(folder, found), **_haystack(folder, found)}.items():
                yield {"collection": name, "pipeline": system, **_of_pipeline(answer, tested, qrels)}


def _of_pipeline(answer: Answer, topics: dict[str, str], qrels: rerank.Qrels) -> Row:
    """Return the measure, the times and the number of documents of a pipeline."""
    for text in list(topics.values())[:WARM]:
        answer(text)
    found, times = dict[str, list[str]](), []
    for query_id, text in topics.items():
        start = time.perf_counter()
        found[query_id] = answer(text)
        times.append(time.perf_counter() - start)
    run = {query_id: {doc: 1 / rank for rank, doc in enumerate(docs, 1)} for query_id, docs in found.items() if docs}
    hits = sum(qrels[query_id].get(doc_id, 0) > 0 for query_id, docs in found.items() for doc_id in docs)
    n_documents = sum(map(len, found.values()))
    middle, high = 1e3 * np.quantile(times, [0.5, 0.99])
    value = mean_of_run(some_queries(qrels, list(topics)), run) if run else 0.0
    row = {MEASURE: value, "ms p50": middle, "ms p99": high}
    return {**row, "documents": n_documents / len(topics), "relevant": hits / max(n_documents, 1)}


def _langchain(folder: Path, used: Sequence[str]) -> dict[str, Answer]:
    """Return pipelines of LangChain's runnables."""
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

    from rerank.plugins.langchain import RerankCompressor, RerankRetriever

    index = rerank.Index.open(folder / "index")
    retrievers = {source: RerankRetriever(index=index, candidates=source, k=DEPTH) for source in used}

    def fused(found: dict[str, list[Document]]) -> list[Document]:
        texts = {each.id: each for documents in found.values() for each in documents}
        runs = [{"q": {each.id: each.metadata["score"] for each in part}} for part in found.values() if part]
        return [texts[doc_id] for doc_id in rerank.fuse(runs)["q"]] if len(runs) > 1 else list(texts.values())

    rrf = RunnableParallel(retrievers) | RunnableLambda(fused)
    compressor = RerankCompressor(index=index, model=folder / "texts.json", top_n=10)
    both = RunnableParallel(query=RunnablePassthrough(), documents=rrf)
    union = folder / "union.json"
    chains = {
        "BM25": retrievers[used[0]],
        "fusion": rrf,
        "fusion, RerankCompressor": both
        | RunnableLambda(lambda given: compressor.compress_documents(given["documents"][:DEPTH], given["query"])),
        "RerankRetriever": RerankRetriever(index=index, model=union),
        f"RerankRetriever, min_score={LIKELY}": RerankRetriever(index=index, model=union, min_score=LIKELY),
    }
    return {
        f"LangChain: {name}": lambda query, chain=chain: [each.id for each in chain.invoke(query)[:10]]
        for name, chain in chains.items()
    }


def _haystack(folder: Path, used: Sequence[str]) -> dict[str, Answer]:
    """Return pipelines of Haystack's components."""
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner

    from rerank.plugins.haystack import RerankRanker, RerankRetriever

    index, union = str(folder / "index"), str(folder / "union.json")

    def pipeline(ranker: RerankRanker | None) -> Answer:
        made = Pipeline()
        made.add_component("joiner", DocumentJoiner("reciprocal_rank_fusion", top_k=DEPTH))
        for source in used:
            made.add_component(source, RerankRetriever(index, candidates=source, top_k=DEPTH))
            made.connect(f"{source}.documents", "joiner.documents")
        if ranker is not None:
            made.add_component("ranker", ranker)
            made.connect("joiner.documents", "ranker.documents")
        last = "joiner" if ranker is None else "ranker"
        names = (*used, *(() if ranker is None else ("ranker",)))
        return lambda query: _ids(made.run({name: {"query": query} for name in names})[last])

    def one_step(min_score: float | None) -> Answer:
        made = Pipeline()
        made.add_component("retriever", RerankRetriever(index, union, min_score=min_score))
        return lambda query: _ids(made.run({"retriever": {"query": query}})["retriever"])

    return {
        "Haystack: fusion": pipeline(None),
        "Haystack: fusion, RerankRanker": pipeline(RerankRanker(index, str(folder / "texts.json"), top_k=10)),
        "Haystack: RerankRetriever": one_step(None),
        f"Haystack: RerankRetriever, min_score={LIKELY}": one_step(LIKELY),
    }


def _ids(output: dict[str, Any]) -> list[str]:
    return [each.id for each in output["documents"][:10]]
