"""Whether probabilities of relevance are what they promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, documents_of, judged, opened, some_queries
from benchmarks.measuring import folds
from benchmarks.registry import Options, Row, benchmark

DEPTH, TEXTS = 1000, 20
PROMISES, FALSE_POSITIVES, DRAWS = (0.5, 0.7, 0.8, 0.9), 0.1, 100


@dataclass
class Observed:
    """What models promised of held-out queries: columns of rows, lists with and without an answer, and texts."""

    corpus: dict[str, dict[str, Any]]
    rows: list[np.ndarray] = field(default_factory=list)  # query, rank, probability, relevant
    answered: list[np.ndarray] = field(default_factory=list)
    stripped: list[np.ndarray] = field(default_factory=list)
    texts: list[tuple[float, bool]] = field(default_factory=list)
    n_queries: int = 0


@benchmark(data="nfcorpus's dev queries; med and cranfield, five folds")
def calibration(options: Options) -> Iterator[Row]:
    """Brier score and calibration error of probabilities of held-out queries, promises that are kept, and abstaining.

    A promise: documents are taken, best first, until their mean probability falls below it; the precision has an
    interval by query. Abstaining: half of the queries lose their relevant candidates; the share of these that is
    refused where one in ten of the others is.
    """
    for name in options.chosen_collections(("med", "cranfield", "nfcorpus")):
        observed = Observed({each.pop("id"): each for each in documents_of(options, name)})
        with opened(options, name, vectors=None) as index:
            for topics, qrels, test_topics, test_qrels in _splits(options, name):
                model, _ = rerank.train(index, topics, qrels)
                if model.calibration_ is not None:
                    _observe(index, model, test_topics, test_qrels, observed)
                    observed.texts += _of_texts(index, model, test_topics, test_qrels, observed.corpus)
        for row in _figures(observed):
            yield {"collection": name, **row}


def _splits(options: Options, name: str) -> Iterator[tuple[Any, rerank.Qrels, Any, rerank.Qrels]]:
    """Yield topics and judgements to learn from and to measure on."""
    if name not in SMALL:
        yield *judged(options, name, "train"), *judged(options, name, "dev")
        return
    topics, qrels = judged(options, name)
    for parts in list(folds(len(qrels), 0))[: options.pick(5, 1)]:
        ids = [[list(qrels)[number] for number in part.tolist()] for part in parts]
        own = [rerank.Topics({query_id: topics[query_id] for query_id in part}) for part in ids]
        yield own[0], some_queries(qrels, ids[0]), own[1], some_queries(qrels, ids[1])


def _observe(index: rerank.Index, model: Any, topics: Any, qrels: rerank.Qrels, observed: Observed) -> None:
    """Add what a model promises of its candidates, and of the same without the relevant ones."""
    from rerank.index.bound_model import BoundModel
    from rerank.metrics.ranked_lists import ranks
    from rerank.types import pointers, query_rows

    topics = rerank.Topics(topics)
    bound = BoundModel.of(index, model)
    run = bound.find_candidates(topics, None, DEPTH).head(DEPTH)
    data = bound.features(run, topics)
    relevant, probabilities, query = _labels(qrels, data) > 0, model.probabilities(data), query_rows(data.query_ptr)
    rank = np.empty(data.n_rows, np.int64)
    rank[np.lexsort((-probabilities.documents, query))] = ranks(data.query_ptr)
    observed.rows.append(np.array([query + observed.n_queries, rank, probabilities.documents, relevant]))
    observed.n_queries += len(data)
    answered = np.bincount(query[relevant], minlength=len(data)) > 0
    kept = _labels(qrels, run) <= 0
    sizes = np.bincount(query_rows(run.query_ptr)[kept], minlength=len(run))
    stripped = rerank.Run(run.query_ids, pointers(sizes), run.doc_ids[kept], run.scores[kept], run.name)
    others = bound.features(stripped, topics)
    without = dict(zip(others, model.probabilities(others).lists.tolist(), strict=True))
    observed.answered.append(probabilities.lists[answered])
    lost = [without.get(name, 0.0) for name, has in zip(data, answered, strict=True) if has]
    observed.stripped.append(np.array(lost))


def _labels(qrels: rerank.Qrels, table: Any) -> np.ndarray:
    """Return the label of each row of a run or of data."""
    labels: list[int] = []
    for query_id in table:
        own = qrels[query_id] if query_id in qrels else {}  # noqa: SIM401 - not a dictionary
        labels += [own.get(doc_id, 0) for doc_id in table.doc_ids[table.rows(query_id)].tolist()]
    return np.array(labels)


def _of_texts(
    index: rerank.Index, model: Any, topics: Any, qrels: rerank.Qrels, corpus: dict[str, dict[str, Any]]
) -> Iterator[tuple[float, bool]]:
    """Yield probability and relevance of BM25's first documents, which are given as texts."""
    run = index.search(topics, TEXTS)
    for query_id in run:
        names = list(run[query_id])
        given = [corpus[name] for name in names]
        ranked = (
            rerank.rerank_texts(model, topics[query_id], given, cutoff=rerank.Cutoff(), index=index) if names else []
        )
        for number, probability in ranked:
            yield probability, qrels[query_id].get(names[int(number)], 0) > 0


def _figures(observed: Observed) -> Iterator[Row]:
    """Yield the figures of a collection."""
    from rerank.metrics.reliability import Reliability

    query, rank, promised, relevant = np.concatenate(observed.rows, axis=1)
    texts = np.array(observed.texts).reshape(-1, 2).T
    for name, values, hits in (
        ("all candidates", promised, relevant),
        ("the first ten", promised[rank < 10], relevant[rank < 10]),
        (f"the first {TEXTS} of BM25 as texts", *texts),
    ):
        if len(hits):
            reliability = Reliability.of(hits > 0, values)
            row = {"documents of": name, "Brier score": reliability.brier, "ECE": reliability.error}
            yield {**row, "mean promise": values.mean(), "relevant": hits.mean()}
    for promise in PROMISES:
        yield {"promise": promise, **_promise(query.astype(np.int64), promised, relevant > 0, promise)}
    answered, stripped, draw = np.concatenate(observed.answered), np.concatenate(observed.stripped), []
    random = np.random.default_rng(0)
    for _ in range(DRAWS):
        lost = random.permutation(len(answered)) < len(answered) // 2
        draw.append(np.mean(stripped[lost] < np.quantile(answered[~lost], FALSE_POSITIVES)))
    yield {"abstaining: queries found": float(np.mean(draw)), "of queries": len(answered)}


def _promise(query: np.ndarray, promised: np.ndarray, relevant: np.ndarray, promise: float) -> Row:
    """Return the number of documents whose mean probability is the promise, their precision, and its interval."""
    order = np.argsort(-promised, kind="stable")
    means = np.cumsum(promised[order]) / np.arange(1, len(order) + 1)
    chosen = order[: int(np.searchsorted(-means, -promise, side="right"))]
    if not len(chosen):
        return {"documents": 0, "precision": None, "from": None, "to": None}
    n_queries = int(query.max()) + 1
    counts = np.bincount(query[chosen], minlength=n_queries)
    hits = np.bincount(query[chosen], relevant[chosen], n_queries)
    draws = np.random.default_rng(0).integers(0, n_queries, (10_000, n_queries))
    sums = counts[draws].sum(axis=1)
    low, high = np.quantile((hits[draws].sum(axis=1) / np.maximum(sums, 1))[sums > 0], [0.025, 0.975])
    return {"documents": len(chosen), "precision": relevant[chosen].mean(), "from": low, "to": high}
