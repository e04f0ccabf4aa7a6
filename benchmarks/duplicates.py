"""Estimates on judged queries of which some are near duplicates, beside what fresh queries get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import rerank
from benchmarks.data import SMALL, judged, opened
from benchmarks.measuring import MEASURE, mean_of, mean_of_run
from benchmarks.registry import Options, Row, benchmark
from benchmarks.users import Users, simulate_clicks

DRAWS = 4  # of each collection
SHARE = 0.2  # of the training queries that have a copy
DEPTH = 100
SHOWN = 10
LEAST_SHARE = 0.8  # of the words that a shortened copy has
SMALL_TREES: dict[str, Any] = {"n_estimators": 50, "num_leaves": 7, "min_child_samples": 50}


class Judged(NamedTuple):
    """Queries and their judgements."""

    topics: rerank.Topics
    qrels: rerank.Qrels


@benchmark(data="med, cacm, cranfield, four draws each", peer="the same queries without copies")
def duplicates(options: Options) -> Iterator[Row]:
    """Estimated minus measured value where a fifth of the training queries have a copy: same, permuted, shortened.

    The value is nDCG@10 of fresh queries; of calibration, the share of relevant documents among the first ten; of
    clicks, nDCG@10 by the values of a click model.
    """
    differences: dict[tuple[str, bool], list[float]] = {}
    for name in options.chosen_collections(SMALL):
        topics, qrels = judged(options, name)
        with opened(options, name) as index:
            for draw in range(options.n_seeds(DRAWS)):
                train, fresh = _divided(sorted(topics), draw)
                unseen = _of_queries(topics, qrels, fresh)
                for copied in (False, True):
                    texts, labels = _with_copies(topics, qrels, train, draw) if copied else (topics, qrels)
                    own = _of_queries(texts, labels, [query_id for query_id in texts if query_id not in fresh])
                    for system in options.chosen(list(DIFFERENCES)):
                        difference = DIFFERENCES[system](index, own, unseen)
                        differences.setdefault((system, copied), []).append(difference)
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


def _of_queries(topics: Any, qrels: Any, query_ids: list[str]) -> Judged:
    """Return some queries."""
    own = rerank.Topics({query_id: topics[query_id] for query_id in query_ids})
    return Judged(own, rerank.Qrels.of({query_id: qrels[query_id] for query_id in query_ids}))


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


def _of_train(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    trained = rerank.train(index, *own, k=DEPTH)
    assert trained.estimate is not None
    return trained.estimate.model - _measured(index, trained.model, fresh)


def _of_experiment(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    result = rerank.run_experiment(index, *own, k=DEPTH, candidates="bm25", parameters=SMALL_TREES, random_state=1)
    return result.results["LambdaMART"][MEASURE] - _measured(index, _small_trees(index, own), fresh)


def _of_learning_curve(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    from rerank.experiments.learning_curve import learning_curve
    from rerank.experiments.study import Study

    study = Study(k=DEPTH, candidates="bm25", parameters=SMALL_TREES, random_state=1)
    curve = learning_curve(index, *own, study=study)
    return curve.systems["LambdaMART"][-1].mean - _measured(index, _small_trees(index, own), fresh)


def _of_auto(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    model = rerank.Auto().fit(_data(index, own))
    return model.cross_validated_ - _measured(index, model, fresh)


def _of_tuning(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    tuned = rerank.Tuning(2).search(rerank.LambdaMART(**SMALL_TREES), _data(index, own))
    return float(tuned.tries[0].value or 0.0) - _measured(index, _small_trees(index, own), fresh)


def _of_calibration(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    model = rerank.train(index, *own, k=DEPTH).model
    run = rerank.rerank(index, model, fresh.topics, cutoff=rerank.Cutoff()).head(SHOWN)
    relevant = [fresh.qrels[query_id].get(doc_id, 0) > 0 for query_id in run for doc_id in run[query_id]]
    return float(np.mean(run.scores) - np.mean(relevant))


def _of_clicks(index: rerank.Index, own: Judged, fresh: Judged) -> float:
    from rerank.features.extract import scores_in
    from rerank.training.clicks import labelled_by_clicks

    trained = rerank.train(index, own.topics, _log(index, own), k=DEPTH)
    assert trained.estimate is not None
    _, shown = labelled_by_clicks(_log(index, fresh), _data(index, fresh))
    run = rerank.rerank(index, trained.model, fresh.topics)
    return trained.estimate.model - mean_of(shown, scores_in(run, shown)[:, 0])


def _log(index: rerank.Index, queries: Judged) -> rerank.Clicks:
    """Return a log of simulated users on BM25's first documents."""
    return simulate_clicks(index.search(queries.topics, k=SHOWN), queries.qrels, Users(eta=1.0), spread=1.0)


def _small_trees(index: rerank.Index, own: Judged) -> rerank.LambdaMART:
    return rerank.LambdaMART(**SMALL_TREES).fit(_data(index, own))


def _measured(index: rerank.Index, model: Any, fresh: Judged) -> float:
    return mean_of_run(fresh.qrels, rerank.rerank(index, model, fresh.topics))


def _data(index: rerank.Index, own: Judged) -> rerank.RankingData:
    return index.features(index.search(own.topics, DEPTH), own.topics, own.qrels)


DIFFERENCES: dict[str, Callable[[rerank.Index, Judged, Judged], float]] = {
    "train": _of_train,
    "experiment": _of_experiment,
    "learning curve": _of_learning_curve,
    "auto": _of_auto,
    "tuning": _of_tuning,
    "calibration": _of_calibration,
    "clicks": _of_clicks,
}
