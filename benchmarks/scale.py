"""Time and memory of each step at growing numbers of documents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

import rerank
from benchmarks.large_collection import growing_documents, real_topics
from benchmarks.measuring import in_process, timed
from benchmarks.registry import Options, Row, benchmark

SHARDS, DEPTH, RERANKED = 4, 1000, 100


@benchmark(data="documents of real sentences, four shards, 1,000 real queries")
def scale(options: Options) -> Iterator[Row]:
    """Seconds and memory to index, open, search, compute features and rerank, each in a process of its own.

    The growth is the time of a size by that of the size before it, divided by the ratio of the sizes: 1 is linear.
    """
    sizes = options.documents or options.pick((100_000, 1_000_000), (2000, 4000))
    steps = (index_step, open_step, search_step, features_step, rerank_step)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        before: dict[str, tuple[int, float]] = {}
        for size in sizes:
            folder = Path(name) / str(size)
            for step in steps:
                usage = in_process(step, options, folder, size)
                row = {"step": step.__name__.removesuffix("_step"), "documents": size, "s": usage.result}
                smaller, seconds = before.get(row["step"], (size, usage.result))
                row["growth"] = usage.result / seconds / (size / smaller) if smaller < size else None
                before[row["step"]] = size, usage.result
                yield {**row, "resident MB": usage.resident, "own MB": usage.anonymous}


def index_step(options: Options, folder: Path, size: int) -> float:
    """Index the documents and return the seconds, those of making them included."""
    documents = growing_documents(options, size)
    return timed(lambda: rerank.Index.build(documents, folder, shards=SHARDS, vectors=False).close())


def open_step(options: Options, folder: Path, size: int) -> float:
    """Open the index and return the seconds of mapping its forward arrays."""
    index = rerank.Index.open(folder)
    return timed(lambda: index.forward)


def search_step(options: Options, folder: Path, size: int) -> float:
    """Search all queries, write the first documents of each, and return the seconds of the search."""
    index, found = _warm(folder), list[rerank.Run]()
    seconds = timed(lambda: found.append(index.search(_topics(options), k=DEPTH)))
    rerank.write_run(found[0].head(RERANKED), folder.with_suffix(".run"))
    return seconds


def features_step(options: Options, folder: Path, size: int) -> float:
    """Compute the features of those documents, write a model of some, and return the seconds of the features."""
    index, run, topics = _warm(folder), rerank.read_run(folder.with_suffix(".run")), _topics(options)
    few = {query: dict(list(run[query].items())[:10]) for query in list(run)[:20]}
    index.features(few, topics)  # compiles
    seconds = timed(partial(index.features, run, topics))
    labels = {query: {doc_id: crc32(doc_id.encode()) % 3 for doc_id in run[query]} for query in list(run)[:100]}
    train = index.features({query: run[query] for query in labels}, topics, labels)
    rerank.LambdaMART(n_estimators=50).fit(train).save(folder.with_suffix(".json"))
    return seconds


def rerank_step(options: Options, folder: Path, size: int) -> float:
    """Rerank the first documents of all queries and return the seconds, retrieval included."""
    index, topics = _warm(folder), _topics(options)
    return timed(partial(rerank.rerank, index, folder.with_suffix(".json"), topics, k=RERANKED))


def _warm(folder: Path) -> rerank.Index:
    index = rerank.Index.open(folder)
    index.search({"warm": "heat flow"}, k=10)
    return index


def _topics(options: Options) -> dict[str, str]:
    return real_topics(options, options.pick(1000, 50))
