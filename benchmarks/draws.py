"""Draws of few training topics: 20 that defaults are chosen on, and 20 of other collections for the check at the end.

A draw is a collection, a number of training topics, and a seed that chooses them. Which draws are looked at while
something is built (`choice`), and which once at the end (`check`), is fixed here: of nfcorpus the first learn from
every other training topic and are measured on dev, the second learn from the others and are measured on test; the
other collections are in one of the two. Features of judged queries (a history) are left out: they would have to be
computed anew for each draw.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rerank
from benchmarks.data import documents_of, judged, some_queries, whole_collection
from benchmarks.measuring import MEASURE, mean_of, timed, values_of
from benchmarks.registry import Options, Row, benchmark

if TYPE_CHECKING:
    from rerank.retrieval.union import UnionRun

STAGES = CHOICE, CHECK = "choice", "check"
MOST_LEARNED, MOST_MEASURED = 600, 300  # topics of a large collection
ALL_DRAWS, UNTRAINED, REFERENCE = "all", "unsupervised", "train"
WORST = 10  # the worst draw of so many
TREES = "n_estimators=100, learning_rate=0.05, num_leaves=8, colsample_bytree=0.2, subsample=0.7"
MEMBERS = {  # of Auto, that are compared with its own
    "trees of three seeds": f"plackettluce(C=0.001), plackettluce(C=0.01), 3*lambdamart({TREES})",
}


class Draw(NamedTuple):
    """Training topics of a collection: how many, and what draws them."""

    collection: str
    n_train: int
    seed: int


def _draws(collection: str, **numbers: int) -> list[Draw]:
    """Return draws of one collection; `numbers` says how many draws there are of each number of topics (`of_30`)."""
    of_number = ((int(name.removeprefix("of_")), count) for name, count in numbers.items())
    return [Draw(collection, number, seed) for number, count in of_number for seed in range(count)]


DRAWS = {
    CHOICE: [
        *_draws("nfcorpus", of_30=4, of_60=3, of_100=3, of_300=2),
        *_draws("cranfield", of_30=2, of_60=2, of_112=4),
    ],
    CHECK: [
        *_draws("nfcorpus", of_30=2, of_60=2, of_100=2, of_300=2),
        *_draws("demo", of_30=2, of_60=2, of_100=2, of_300=2),
        *_draws("cacm", of_26=2),
        *_draws("med", of_15=2),
    ],
}


@dataclass(frozen=True)
class Pool:
    """Topics of one collection that draws choose from.

    learned   the first documents of each source, as `rerank train` takes them
    measured  all documents that are reranked, of the topics that may be measured on
    bm25      BM25's scores of these candidates; those that it has not found are below the others
    """

    learned: rerank.RankingData
    measured: rerank.RankingData
    bm25: np.ndarray

    def parts(self, draw: Draw) -> tuple[rerank.RankingData, np.ndarray]:
        """Return what a draw learns from, and the positions of the topics that it is measured on."""
        order = np.random.default_rng(draw.seed).permutation(len(self.learned))
        train = self.learned.select(np.sort(order[: draw.n_train]))
        return train, np.flatnonzero(~np.isin(self.measured.query_ids, train.query_ids))


def _topics_of(options: Options, name: str, stage: str) -> tuple[Any, list[str], list[str], Any, Any]:
    """Return documents, ids of topics to learn from and of those to measure on, topics, and judgements."""
    if name == "nfcorpus":
        first = list(STAGES).index(stage)
        topics, train = judged(options, name, "train")
        more, test = judged(options, name, ("dev", "test")[first])
        judgements = {query_id: qrels[query_id] for qrels in (train, test) for query_id in qrels}
        documents = documents_of(options, name)
        return documents, list(train)[first::2], list(test), topics | more, rerank.Qrels.of(judgements)
    documents, topics, qrels = whole_collection(options, name)
    names = np.random.default_rng(0).permutation(list(qrels)).tolist()
    if name == "demo":
        return documents, names[MOST_MEASURED:], names[:MOST_MEASURED], topics, qrels
    return documents, names, names, topics, qrels


def features_of(
    index: rerank.Index, topics: Mapping[str, str], qrels: rerank.Qrels, depth: int
) -> tuple[rerank.RankingData, UnionRun]:
    """Return the features of the first documents of each source, as `rerank train` computes them, and the union."""
    from rerank.training.inputs import TrainingInputs, sources_of

    sources = sources_of(index, None, 1000)
    run = index.search(topics, candidates=sources)
    inputs = TrainingInputs(index, rerank.Topics(topics), qrels, None, depth, keep_sources=False)
    return inputs.data(run, sources.k), run


def pool_of(options: Options, name: str, stage: str) -> Pool:
    """Return the topics of a collection, with features; nothing is learned from judgements."""
    from rerank.features.extract import scores_in
    from rerank.retrieval.candidates import RERANKED
    from rerank.training.inputs import TRAINED

    documents, train, test, topics, qrels = _topics_of(options, name, stage)
    train = train[:MOST_LEARNED]
    with tempfile.TemporaryDirectory() as folder, rerank.Index.build(documents, Path(folder) / "index") as built:
        index = built.using(history=False)

        def features(names: list[str], depth: int) -> tuple[rerank.RankingData, UnionRun]:
            return features_of(index, {name: topics[name] for name in names}, some_queries(qrels, names), depth)

        learned, _ = features(train, TRAINED)
        measured, run = features(test, RERANKED)
        bm25 = scores_in(run.sources["bm25"], measured)[:, 0]
        return Pool(learned, measured, np.where(np.isnan(bm25), -1.0, bm25))


def systems(n_queries: int) -> dict[str, Callable[[], rerank.Ranker]]:
    """Return the rankers that are compared, by name; `train` is what `rerank train` takes for this number of topics."""
    from rerank.training.defaults import default_model, default_ranker

    return {
        "train": partial(default_model, default_ranker(n_queries)),
        "LambdaMART()": rerank.LambdaMART,
        "LambdaSMART": partial(rerank.LambdaMART, base="unsupervised"),
        **{name: partial(rerank.Auto, members=members, base="unsupervised") for name, members in MEMBERS.items()},
    }


def values_of_draws(options: Options, stage: str) -> Iterator[tuple[Draw, dict[str, float], dict[str, float]]]:
    """Yield each draw, the mean of the measure by each system, and seconds of training of those that are trained."""
    from rerank.rankers.bases import UnsupervisedBase

    for name in options.chosen_collections(tuple(dict.fromkeys(draw.collection for draw in DRAWS[stage]))):
        pool = pool_of(options, name, stage)
        base = UnsupervisedBase.of(pool.measured.feature_names).scores(pool.measured)
        untrained = {
            system: values_of(pool.measured, scores) for system, scores in (("BM25", pool.bm25), (UNTRAINED, base))
        }
        for draw in [draw for draw in DRAWS[stage] if draw.collection == name][: options.pick(len(DRAWS[stage]), 1)]:
            train, measured = pool.parts(draw)
            test = pool.measured.select(measured)
            means = {system: float(values[measured].mean()) for system, values in untrained.items()}
            seconds: dict[str, float] = {}
            trained = systems(len(train))
            for system in dict.fromkeys((REFERENCE, *options.chosen(tuple(trained)))):
                model = trained[system]()
                seconds[system] = timed(partial(model.fit, train))
                means[system] = mean_of(test, model.predict(test))
            yield draw, means, seconds


@benchmark(data="nfcorpus's dev queries, cranfield: 20 draws", peer="BM25, unsupervised")
def draws(options: Options) -> Iterator[Row]:
    """What rankers learn from 30 to 300 training topics, on the draws that choices are made on.

    Differences are those from `train`, paired by draw, with their standard errors; the worst tenth of the draws is that
    of the differences from `unsupervised`. A row is of the draws of one collection, or of all.
    """
    yield from _of_stage(options, CHOICE)


@benchmark(data="nfcorpus's test queries, demo, cacm, med: 20 draws", peer="BM25, unsupervised")
def draws_check(options: Options) -> Iterator[Row]:
    """The same on the draws that a choice is checked on, once, after it was made on those of `draws`."""
    yield from _of_stage(options, CHECK)


@benchmark(data="nfcorpus's dev queries, cranfield: 20 draws", peer="the gain on other topics")
def draws_estimates(options: Options) -> Iterator[Row]:
    """What cross-validation on the training topics says that `train` gains over BM25, and what it gains on others.

    `covered` is the share of draws whose 95 % interval, as `rerank train` prints it, holds the gain on other topics,
    which is itself measured with the standard error `error`.
    """
    from rerank.evaluation.significance import bootstrap_intervals
    from rerank.training.folds import FOLDS, assign_folds

    for name in options.chosen_collections(tuple(dict.fromkeys(draw.collection for draw in DRAWS[CHOICE]))):
        pool = pool_of(options, name, CHOICE)
        rows = []
        for draw in [draw for draw in DRAWS[CHOICE] if draw.collection == name][: options.pick(len(DRAWS[CHOICE]), 1)]:
            train, measured = pool.parts(draw)
            test = pool.measured.select(measured)
            gains = np.zeros(len(train))
            folds = assign_folds(train.query_ids.tolist(), FOLDS, 0)
            of_fold = np.array([folds[query_id] for query_id in train])
            for fold in range(FOLDS):
                model = systems(len(train))[REFERENCE]().fit(train.select(np.flatnonzero(of_fold != fold)))
                held_out = train.select(np.flatnonzero(of_fold == fold))
                gains[of_fold == fold] = values_of(held_out, model.predict(held_out))
            gains -= values_of(train, np.nan_to_num(train.column("bm25.contents"), nan=-1.0))
            truth = values_of(test, systems(len(train))[REFERENCE]().fit(train).predict(test))
            truth -= values_of(pool.measured, pool.bm25)[measured]
            low, high = bootstrap_intervals(gains[:, None])
            error = truth.std(ddof=1) / np.sqrt(len(truth))
            rows.append((gains.mean(), truth.mean(), error, low[0] <= truth.mean() <= high[0], high[0] - low[0]))
        means = dict(zip(("estimate", "gain", "error", "covered", "length"), np.mean(rows, axis=0), strict=True))
        yield {"collection": name, "draws": len(rows), **means}


def _of_stage(options: Options, stage: str) -> Iterator[Row]:
    """Yield a row for each system and collection, and for all draws of a stage."""
    figures = list(values_of_draws(options, stage))
    for part in (*dict.fromkeys(draw.collection for draw, _, _ in figures), ALL_DRAWS):
        chosen = [(means, seconds) for draw, means, seconds in figures if part in (draw.collection, ALL_DRAWS)]
        reference, base = (np.array([means[each] for means, _ in chosen]) for each in (REFERENCE, UNTRAINED))
        for system in chosen[0][0]:
            own = np.array([means[system] for means, _ in chosen])
            worst = np.sort(own - base)[: max(len(own) // WORST, 1)].mean()
            error = (own - reference).std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else float("nan")
            row = {"collection": part, "draws": len(own), "system": system, MEASURE: own.mean()}
            row |= {"difference": (own - reference).mean(), "error": error, "worst tenth": worst}
            yield row | {"s": np.mean([seconds.get(system, 0.0) for _, seconds in chosen])}
