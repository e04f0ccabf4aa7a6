"""The data of benchmarks: judged collections and their features, MQ2008, and generated rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rerank
from benchmarks.registry import BenchmarkError, Options

if TYPE_CHECKING:
    from rerank.features.recipe import Recipe

SMALL = ("med", "cacm", "cranfield")  # judged collections without a part of their own for training
QUICK_QUERIES = 40  # of each part of a collection
N_FEATURES = 136  # of generated rows
SHARES = (0.52, 0.84, 0.97, 0.99)  # labels 0 to 4 of generated rows: 52, 32, 13, 2 and 1 %


def folder_of(options: Options, *parts: str) -> Path:
    """Return a file or folder of the real data."""
    path = options.data.joinpath(*parts)
    if not path.exists():
        raise BenchmarkError(f"--data: expected {'/'.join(parts)} in {options.data}, got nothing there.")
    return path


def read_topics(options: Options, name: str) -> rerank.Topics:
    """Return all topics of a collection."""
    return rerank.read_topics(folder_of(options, "collections", name, "topics.tsv"))


def collections_of(options: Options) -> list[str]:
    """Return the names of the collections that the real data have."""
    return sorted(path.parent.name for path in folder_of(options, "collections").glob("*/topics.tsv"))


def judged(options: Options, name: str, part: str = "") -> tuple[dict[str, str], rerank.Qrels]:
    """Return the judged topics of a collection, or of a part of it (train, dev or test), and their judgements."""
    file = f"qrels.{part}.txt" if part else "qrels.txt"
    qrels, topics = rerank.read_qrels(folder_of(options, "collections", name, file)), read_topics(options, name)
    names = [query_id for query_id in qrels if query_id in topics]
    names = names[: options.pick(len(names), QUICK_QUERIES)]
    return {query_id: topics[query_id] for query_id in names}, some_queries(qrels, names)


def some_queries(qrels: rerank.Qrels, query_ids: Sequence[str]) -> rerank.Qrels:
    """Return the judgements of some queries."""
    return rerank.Qrels.of({query_id: qrels[query_id] for query_id in query_ids})


def documents_of(options: Options, name: str) -> list[dict[str, Any]]:
    """Return the documents of a collection."""
    return list(rerank.read_documents(folder_of(options, "collections", name, "corpus.jsonl")))


def whole_collection(options: Options, name: str) -> tuple[Any, dict[str, str], rerank.Qrels]:
    """Return documents, judged topics and judgements of a collection; `demo` is the docstrings of the library."""
    from rerank.experiments.demo import library_collection

    if name != "demo":
        return documents_of(options, name), *judged(options, name)
    library = library_collection()
    names = [query_id for query_id in library.topics if query_id in library.qrels]
    return library.documents, dict(library.topics), some_queries(library.qrels, names)


@contextmanager
def opened(options: Options, name: str, vectors: bool | None = False) -> Iterator[rerank.Index]:
    """Index a collection in a temporary folder; vectors None learns them as `rerank index` does."""
    corpus = folder_of(options, "collections", name, "corpus.jsonl")
    with (
        tempfile.TemporaryDirectory() as folder,
        rerank.Index.build(corpus, Path(folder) / "index", vectors=vectors) as index,
    ):
        yield index


def features_of(
    index: rerank.Index, options: Options, name: str, part: str = "", k: int = 100, recipe: Recipe | None = None
) -> rerank.RankingData:
    """Return the features of BM25's first k documents of the judged topics, with labels and BM25's scores."""
    topics, qrels = judged(options, name, part)
    return index.features(index.search(topics, k=k), topics, qrels, recipe=recipe)


def bm25_features(options: Options, name: str, *parts: str, k: int = 100) -> list[rerank.RankingData]:
    """Return the default features of BM25's first k documents, for each part of a collection."""
    with opened(options, name) as index:
        return [features_of(index, options, name, part, k) for part in parts]


def mq2008_parts(options: Options) -> list[rerank.RankingData]:
    """Return the five parts of MQ2008; the base scores are feature 25, BM25 of the whole document."""
    parts = [rerank.read_data(folder_of(options, "letor", "mq2008", f"S{number}.txt")) for number in range(1, 6)]
    parts = [part.select(range(options.pick(len(part), QUICK_QUERIES))) for part in parts]
    return [replace(part, base_scores=part.X[:, 24].astype(np.float64)) for part in parts]


def joined(parts: Sequence[rerank.RankingData]) -> rerank.RankingData:
    """Return parts as one."""
    from rerank.files.rows import joined_parts

    return joined_parts(parts)


def letor_folds(parts: Sequence[rerank.RankingData]) -> Iterator[tuple[rerank.RankingData, ...]]:
    """Yield data to train on (three parts), to stop on (the fourth) and to measure on (the fifth), five times."""
    for first in range(5):
        turned = [parts[(first + number) % 5] for number in range(5)]
        yield joined(turned[:3]), turned[3], turned[4]


def generated(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X (n_rows, 136) float32 of MSLR-WEB10K's shape, labels and group sizes.

    Columns are counts, heavy tails, normal, sparse and binary.
    """
    random = np.random.default_rng(seed)
    groups: list[int] = []
    while sum(groups) < n_rows:
        groups.append(min(int(random.integers(40, 201)), n_rows - sum(groups)))
    X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
    for feature in range(N_FEATURES):
        X[:, feature] = _column(random, feature % 5, n_rows)
    weights = np.random.default_rng(7).normal(0, 1, N_FEATURES) / np.sqrt(N_FEATURES)
    value = np.log1p(np.abs(X)) @ weights + 0.5 * np.tanh(X[:, 2] * X[:, 7]) + random.normal(0, 0.7, n_rows)
    labels = np.searchsorted(np.quantile(value, SHARES), value).astype(np.float64)
    return X, labels, np.array(groups)


def _column(random: np.random.Generator, kind: int, n_rows: int) -> np.ndarray:
    if kind == 0:
        return random.poisson(np.exp(random.normal(0, 1)), n_rows)
    if kind == 1:
        return random.lognormal(0, 2, n_rows)
    if kind == 2:
        return random.normal(0, 1, n_rows)
    if kind == 3:
        return (random.random(n_rows) < 0.1) * random.gamma(1, 1, n_rows)
    return random.random(n_rows) < 0.3


def qid_of(groups: np.ndarray) -> np.ndarray:
    """Return the number of the query of each row."""
    return np.repeat(np.arange(len(groups)), groups)


def generated_values(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return nDCG@10 with gain 2^label - 1 of each query of generated rows."""
    from rerank.metrics.ranked_lists import RankedLists
    from rerank.metrics.registry import parse_measure
    from rerank.types import ideal_of_rows, pointers

    query_ptr = pointers(groups)
    ranked = labels[np.lexsort((-scores, qid_of(groups)))]
    lists = RankedLists(ranked, query_ptr, *ideal_of_rows(labels, query_ptr))
    return parse_measure("nDCG(dcg='exp-log2')@10").scores(lists)
