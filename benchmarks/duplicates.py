"""Estimates on judged queries of which some are near duplicates, beside what fresh queries get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, judged, opened
from benchmarks.measuring import MEASURE, mean_of_run
from benchmarks.registry import Options, Row, benchmark

DRAWS = 4  # of each collection
SHARE = 0.2  # of the training queries that have a copy
DEPTH = 100
LEAST_SHARE = 0.8  # of the words that a shortened copy has
Estimator = Callable[..., tuple[float, Any]]  # of an index, topics and judgements


@benchmark(data="med, cacm, cranfield, four draws each", peer="the same queries without copies")
def duplicates(options: Options) -> Iterator[Row]:
    """Estimated minus measured nDCG@10 where a fifth of the training queries have a copy: same, permuted, shortened."""
    differences: dict[tuple[str, bool], list[float]] = {}
    for name in options.chosen_collections(SMALL):
        topics, qrels = judged(options, name)
        with opened(options, name) as index:
            for draw in range(options.n_seeds(DRAWS)):
                train, fresh = _divided(sorted(topics), draw)
                for copied in (False, True):
                    texts, labels = _with_copies(topics, qrels, train, draw) if copied else (topics, qrels)
                    chosen = [query_id for query_id in texts if query_id not in fresh]
                    queries = rerank.Topics({query_id: texts[query_id] for query_id in chosen})
                    judgements = rerank.Qrels.of({query_id: labels[query_id] for query_id in chosen})
                    for system in options.chosen(list(ESTIMATORS)):
                        estimate, model = ESTIMATORS[system](index, queries, judgements)
                        run = rerank.rerank(index, model, {query_id: topics[query_id] for query_id in fresh})
                        measured = mean_of_run(rerank.Qrels.of({name: qrels[name] for name in fresh}), run)
                        differences.setdefault((system, copied), []).append(estimate - measured)
    for (system, copied), values in differences.items():
        error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        yield {
            "estimate": system,
            "copies": copied,
            "draws": len(values),
            "difference": float(np.mean(values)),
            "standard error": error,
        }


def _divided(query_ids: list[str], draw: int) -> tuple[list[str], list[str]]:
    """Return two thirds of the queries to train on, and the fresh ones."""
    order = np.random.default_rng(draw).permutation(len(query_ids))
    names = [query_ids[number] for number in order]
    return names[len(names) // 3 :], names[: len(names) // 3]


def _with_copies(
    topics: dict[str, str], qrels: rerank.Qrels, train: list[str], draw: int
) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Return topics and judgements with copies of some training queries: as they are, permuted, and shortened."""
    random = np.random.default_rng([draw, 1])
    texts = dict(topics)
    labels = {query_id: dict(qrels[query_id]) for query_id in topics}
    for number, query_id in enumerate(train[: round(SHARE * len(train))]):
        words = topics[query_id].split()
        if number % 3 == 1:
            words = [words[place] for place in random.permutation(len(words))]
        elif number % 3 == 2:
            words = words[: max(1, int(np.ceil(LEAST_SHARE * len(words))))]
        texts[f"copy-{query_id}"] = " ".join(words)
        labels[f"copy-{query_id}"] = labels[query_id]
    return texts, labels


def _of_train(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> tuple[float, Any]:
    trained = rerank.train(index, topics, qrels, k=DEPTH)
    assert trained.estimate is not None
    return trained.estimate.model, trained.model


def _of_experiment(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> tuple[float, Any]:
    parameters = {"n_estimators": 50, "num_leaves": 7, "min_child_samples": 50}
    result = rerank.run_experiment(
        index, topics, qrels, k=DEPTH, candidates="bm25", parameters=parameters, random_state=1
    )
    model = rerank.LambdaMART(**parameters).fit(_data(index, topics, qrels))
    return result.results["LambdaMART"][MEASURE], model


def _of_auto(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> tuple[float, Any]:
    model = rerank.Auto().fit(_data(index, topics, qrels))
    return model.cross_validated_, model


def _of_tuning(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> tuple[float, Any]:
    data = _data(index, topics, qrels)
    model = rerank.LambdaMART(n_estimators=50, num_leaves=7, min_child_samples=50)
    tuned = rerank.Tuning(2).search(model, data)
    return float(tuned.tries[0].value or 0.0), model.fit(data)


def _data(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> rerank.RankingData:
    return index.features(index.search(topics, DEPTH), topics, qrels)


ESTIMATORS: dict[str, Estimator] = {
    "train": _of_train,
    "experiment": _of_experiment,
    "auto": _of_auto,
    "tuning": _of_tuning,
}
