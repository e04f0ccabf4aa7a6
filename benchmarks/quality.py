"""How well models rank: nfcorpus, MQ2008, the small collections, what a user gets without an option, every ranker."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rerank
from benchmarks.data import (
    SMALL,
    bm25_features,
    collections_of,
    features_of,
    joined,
    judged,
    letor_folds,
    mq2008_parts,
    opened,
    read_topics,
    some_queries,
)
from benchmarks.measuring import (
    MEASURE,
    against,
    folds,
    held_out_values,
    mean_of,
    mean_of_run,
    timed,
    values_of,
    values_of_run,
    warm_up,
)
from benchmarks.registry import Options, Row, benchmark

if TYPE_CHECKING:
    from rerank.retrieval.union import UnionRun

SETTINGS: dict[str, Any] = {
    "n_estimators": 600,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_child_samples": 100,
    "colsample_bytree": 0.3,
}
SHARED: dict[str, Any] = {
    "num_leaves": 31,
    "learning_rate": 0.1,
    "min_child_samples": 20,
    "min_child_weight": 1e-3,
    "max_bin": 255,
}
MEASURES = ("nDCG@10", "AP", "RR", "R@100", "R@1000")
TRAIN_DEPTH = 100  # documents of each source that are trained on
FURTHEST_COSINE, FURTHEST_JACCARD = 0.5, 0.3  # of a test query from all training queries
# name -> sources of candidates, whether there are vectors and a history
SYSTEMS = {
    "default features": ("bm25:1000", False, False),
    "+ vectors": ("bm25:1000", True, False),
    "+ vectors, union": ("bm25:1000,rm3:1000,lsi:200", True, False),
    "+ history": ("bm25:1000", False, True),
    "+ history, vectors": ("bm25:1000", True, True),
    "+ history, vectors, union": ("bm25:1000,rm3:1000,lsi:200,history:200", True, True),
}
NUMBERS = (10, 20, 50, 100, 300, 1000)  # of nfcorpus's training queries that `defaults` learns from
SHARES = (0.05, 0.1, 0.2, 0.5)  # of nfcorpus's training queries that `warm-starts` learns from
# systems of `defaults` that are trained: name -> ranker, sources of candidates
TRAINED: dict[str, tuple[Callable[[], rerank.Ranker] | None, str | None]] = {
    "LambdaMART()": (lambda: rerank.LambdaMART(), "bm25"),
    "train --ranker lambdamart": (lambda: rerank.LambdaMART(base="unsupervised"), None),
    "train": (None, None),
}
BM25_SETTINGS = [(0.9, 0.4), *product((0.6, 0.9, 1.2, 1.6, 2.0, 3.0), (0.2, 0.4, 0.6, 0.75, 0.9))]  # k1 and b
UNTRAINED = ("RM3", "BM25, k1 and b tuned", "unsupervised")
RANKER_SETTINGS = {
    "n_estimators": 200,
    "early_stopping_rounds": 30,
    "n_epochs": 20,
    "max_iter": 200,
    "members": "2*lambdamart(subsample=0.5, n_estimators=200, early_stopping_rounds=30), lambdarank(n_epochs=20), "
    "logisticregression",
}
QUICK_SETTINGS = {
    **RANKER_SETTINGS,
    "n_estimators": 3,
    "n_epochs": 1,
    "max_iter": 5,
    "members": "2*lambdamart(n_estimators=3, subsample=0.5), lambdamart(n_estimators=2)",
}


def trained(options: Options, train: rerank.RankingData, stop: rerank.RankingData, **more: Any) -> rerank.LambdaMART:
    """Return a model with the settings that were chosen on nfcorpus's train and dev."""
    n_trees = options.trees or options.pick(SETTINGS["n_estimators"], 10)
    settings = {**SETTINGS, "n_estimators": n_trees, "early_stopping_rounds": 100, **more}
    return rerank.LambdaMART(**settings).fit(train, eval_set=stop)


def nfcorpus_runs(options: Options, n_seeds: int) -> tuple[list[dict[str, rerank.Run]], rerank.Qrels]:
    """Return the test runs of BM25, LambdaMART and LambdaSMART with each seed, and the judgements."""
    train, dev, test = bm25_features(options, "nfcorpus", "train", "dev", "test", k=1000)
    train = train.head(TRAIN_DEPTH)
    bm25 = test.run(test.base_scores, "BM25")
    of_seeds = [
        {
            "BM25": bm25,
            "LambdaMART": trained(options, train, dev, random_state=seed).rank(test),
            "LambdaSMART": trained(options, train, dev, random_state=seed, base="run").rank(test),
        }
        for seed in range(n_seeds)
    ]
    return of_seeds, judged(options, "nfcorpus", "test")[1]


@benchmark(data="nfcorpus, test queries", peer="BM25")
def nfcorpus(options: Options) -> Iterator[Row]:
    """Measures of LambdaMART and LambdaSMART on BM25's first 1,000 documents: means of seeds, and their deviation.

    Features, hyper-parameters and depth were chosen on train and dev, on which training stops. A seed draws the columns
    that each tree sees.
    """
    of_seeds, qrels = nfcorpus_runs(options, options.n_seeds(5))
    for system in of_seeds[0]:
        values = [[mean_of_run(qrels, runs[system], measure) for measure in MEASURES] for runs in of_seeds]
        row = {"system": system, **dict(zip(MEASURES, np.mean(values, axis=0).tolist(), strict=True))}
        if len(values) > 1:
            row[f"{MEASURE}'s standard deviation"] = float(np.std(values, axis=0, ddof=1)[MEASURES.index(MEASURE)])
        yield row


@benchmark(data="med, cacm, cranfield, five folds")
def families(options: Options) -> Iterator[Row]:
    """What is lost without each family of features: LambdaMART of 150 trees of 15 leaves on BM25's first 100.

    The index has the vectors of `rerank vectors`; families that are learned from judgements are left out of the data of
    an index that has a history, too. Each seed divides the queries into other folds; the difference from all families
    is their mean, its interval a bootstrap's over the queries.
    """
    settings: dict[str, Any] = {"n_estimators": options.trees or options.pick(150, 5), "num_leaves": 15, "n_jobs": 1}
    for collection in options.chosen_collections(SMALL):
        with opened(options, collection, vectors=True) as index:
            plain = features_of(index, options, collection)
            index.learn_history(*judged(options, collection))
            learned = features_of(index, options, collection)
        for data in (plain, learned):
            family_of = _family_of_columns(data)
            names = tuple(dict.fromkeys(family_of.values()))
            left_out = [name for name in names if data is plain or name.startswith("history.")]
            trials = {f"all {len(names)}": names} | {f"without {name}": set(names) - {name} for name in left_out}
            reference = None
            for trial, chosen in trials.items():
                some = _of_families(data, chosen, family_of)
                of_seeds = [
                    held_out_values(some, partial(rerank.LambdaMART, **settings, random_state=seed), seed)
                    for seed in range(options.n_seeds(5))
                ]
                values = np.mean(of_seeds, axis=0)
                reference = values if reference is None else reference
                yield {"data": collection, "families": trial, "features": some.n_features, **against(values, reference)}


def _family_of_columns(data: rerank.RankingData) -> dict[str, str]:
    """Return the family of each feature."""
    from rerank.features.columns import column_groups

    groups = column_groups(rerank.Recipe.from_dict(data.recipe))
    return {column: group.name for group in groups for column in group.names}


def _of_families(data: rerank.RankingData, wanted: Collection[str], family_of: dict[str, str]) -> rerank.RankingData:
    """Return the data with the features of some families."""
    columns = [number for number, name in enumerate(data.feature_names) if family_of[name] in wanted]
    names = tuple(data.feature_names[number] for number in columns)
    return replace(data, X=np.ascontiguousarray(data.X[:, columns]), feature_names=names)


@benchmark(data="MQ2008, five folds, five orders of rows", peer="LightGBM's LGBMRanker", needs=("lightgbm",))
def mq2008(options: Options) -> Iterator[Row]:
    """nDCG@10 of LambdaMART and LightGBM with the same hyper-parameters, without early stopping.

    Before the first tree all scores are equal, and their order moves the figure by more than the learners differ: it is
    drawn by LambdaMART's random_state, and that of the rows for LightGBM.
    """
    import lightgbm

    n_trees, folds = options.trees or options.pick(100, 10), list(letor_folds(mq2008_parts(options)))
    warm_up()
    of_seeds = []
    for seed in range(options.n_seeds(5)):
        random = np.random.default_rng(seed)
        results = []
        for train, _, test in folds:
            group = np.diff(train.query_ptr)
            qid = np.repeat(np.arange(len(train)), group)
            rows = np.lexsort((random.random(train.n_rows), qid))
            ours = rerank.LambdaMART(n_estimators=n_trees, random_state=seed, **SHARED)
            theirs = lightgbm.LGBMRanker(n_estimators=n_trees, label_gain=[0, 1, 2], verbosity=-1, **SHARED)
            seconds = timed(partial(ours.fit, train.X, train.labels, qid=qid))
            other = timed(partial(theirs.fit, train.X[rows], train.labels[rows], group=group))
            results.append(
                (mean_of(test, ours.predict(test.X)), mean_of(test, np.asarray(theirs.predict(test.X))), seconds, other)
            )
        of_seeds.append(np.mean(results, axis=0))
        yield _systems_row(str(seed), of_seeds[-1])
    yield _systems_row("mean", np.mean(of_seeds, axis=0))
    if len(of_seeds) > 1:
        yield _systems_row("standard deviation", np.std(of_seeds, axis=0, ddof=1))


def _systems_row(name: str, figures: np.ndarray) -> Row:
    return dict(zip(("order", "LambdaMART", "LightGBM", "s", "LightGBM's s"), (name, *figures.tolist()), strict=True))


@benchmark(data="nfcorpus, test queries")
def resources(options: Options) -> Iterator[Row]:
    """What vectors, a history of judged queries and a union of retrievers add to LambdaMART.

    Models and histories learn from the training queries; each seed draws another tenth of them for early stopping.
    "Apart" are the test queries without a near duplicate in training: cosine at most 0.5 with each training query,
    Jaccard coefficient of the relevant documents at most 0.3.
    """
    sides = {side: judged(options, "nfcorpus", side) for side in ("train", "test")}
    apart = _apart_from_training(*sides["train"], *sides["test"])
    with opened(options, "nfcorpus") as index:
        vectors = rerank.Vectors.learn(index)
        history = rerank.History.learn(index, *sides["train"])
        for name in options.chosen(tuple(SYSTEMS)):
            candidates, with_vectors, with_history = SYSTEMS[name]
            bound = index.using(vectors=vectors if with_vectors else False, history=history if with_history else False)
            runs = {side: bound.search(topics, candidates=candidates) for side, (topics, _) in sides.items()}
            train, test = (bound.features(runs[side], *sides[side]) for side in ("train", "test"))
            train = train.of_rows(np.flatnonzero(_first_documents(runs["train"])))
            values = [
                values_of_run(sides["test"][1], _stopped(options, train, seed).rank(test))
                for seed in range(options.n_seeds(5))
            ]
            means = np.mean(values, axis=1)
            row = {"system": name, "features": test.n_features, "documents": test.n_rows / len(test)}
            row |= {MEASURE: means.mean(), "least": means.min(), "greatest": means.max()}
            yield {**row, "queries apart": int(apart.sum()), "theirs": np.mean(values, axis=0)[apart].mean()}


def _first_documents(run: rerank.Run | UnionRun) -> np.ndarray:
    """Return which rows are among the first documents of a source, (n_rows,) bool."""
    sources = getattr(run, "sources", {"": run}).values()
    chosen = np.zeros(run.n_rows, dtype=bool)
    for query, query_id in enumerate(run):
        rows = slice(run.query_ptr[query], run.query_ptr[query + 1])
        first = {doc_id for source in sources if query_id in source for doc_id in list(source[query_id])[:TRAIN_DEPTH]}
        chosen[rows] = [doc_id in first for doc_id in run.doc_ids[rows].tolist()]
    return chosen


def _apart_from_training(
    train: dict[str, str], train_qrels: rerank.Qrels, test: dict[str, str], test_qrels: rerank.Qrels
) -> np.ndarray:
    """Return which test queries have no near duplicate among the training queries."""
    from rerank.doctor import nearest_queries, words_of

    cosines, _ = nearest_queries(*([words_of(text) for text in part.values()] for part in (train, test)))
    relevant, of_test = (
        [{doc_id for doc_id, label in qrels[query_id].items() if label > 0} for query_id in queries]
        for queries, qrels in ((train, train_qrels), (test, test_qrels))
    )
    coefficients = [max(len(own & other) / max(len(own | other), 1) for other in relevant) for own in of_test]
    return np.asarray((cosines <= FURTHEST_COSINE) & (np.array(coefficients) <= FURTHEST_JACCARD))


def _stopped(options: Options, train: rerank.RankingData, seed: int) -> rerank.LambdaMART:
    """Return a model that stopped on a tenth of the queries."""
    held_out = np.random.default_rng(seed).permutation(len(train)) % 10 == 0
    parts = train.select(np.flatnonzero(~held_out)), train.select(np.flatnonzero(held_out))
    return trained(options, *parts, random_state=seed, early_stopping_rounds=60)


@benchmark(data="every collection, five folds; nfcorpus's own parts", peer="BM25, RM3, BM25 with k1 and b tuned")
def defaults(options: Options) -> Iterator[Row]:
    """What a new user gets: the unsupervised ranking, LambdaMART() and `rerank train` as they are.

    The indexes have vectors, and `--only NAME` adds an encoder, as `rerank vectors --encoder` names it. Of nfcorpus,
    models learn from 10 to 1,000 training queries for the dev queries, and from all for the test queries. Any folder
    of `collections` in `--data` is a collection: corpus.jsonl, topics.tsv and qrels.txt.
    """
    for name in options.chosen_collections(collections_of(options)):
        with opened(options, name) as index:
            index.learn_vectors(encoder=options.only[0] if options.only else None)
            for label, splits in _splits_of_defaults(options, name).items():
                values: dict[str, list[np.ndarray]] = {}  # of each split, by query
                for train_qrels, test_qrels in splits:
                    for system, run in _runs_of_defaults(index, read_topics(options, name), train_qrels, test_qrels):
                        values.setdefault(system, []).append(values_of_run(test_qrels, run))
                per_seed = max(len(splits) // options.n_seeds(5), 1)
                for system, parts in values.items():
                    gains = [np.mean(ours - bm25) for ours, bm25 in zip(parts, values["BM25"], strict=True)]
                    firsts = range(0, len(parts), per_seed)
                    means = [np.concatenate(parts[first : first + per_seed]).mean() for first in firsts]
                    row = {"collection": name, "queries": label, "system": system, MEASURE: np.mean(means)}
                    yield {**row, "least": min(means), "greatest": max(means), "worst fold": min(gains)}


def _splits_of_defaults(options: Options, name: str) -> dict[str, list[tuple[rerank.Qrels, rerank.Qrels]]]:
    """Return judgements to train on and to measure on, by the number of training queries."""
    n_seeds = options.n_seeds(5)
    if name == "nfcorpus":
        train, dev, test = (judged(options, name, part)[1] for part in ("train", "dev", "test"))
        drawn = [np.random.default_rng(seed).permutation(list(train)).tolist() for seed in range(n_seeds)]
        numbers = [number for number in NUMBERS if number <= len(train)]
        of_dev = {str(n): [(some_queries(train, order[:n]), dev) for order in drawn] for n in numbers}
        return {**of_dev, f"{len(train)}, test": [(train, test)]}
    qrels = judged(options, name)[1]
    splits = []
    for seed in range(n_seeds):
        for parts in list(folds(len(qrels), seed))[: options.pick(5, 1)]:
            train_ids, test_ids = ([list(qrels)[number] for number in part.tolist()] for part in parts)
            splits.append((some_queries(qrels, train_ids), some_queries(qrels, test_ids)))
    return {str(len(qrels) * 4 // 5): splits}


def _runs_of_defaults(
    index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels, test_qrels: rerank.Qrels
) -> Iterator[tuple[str, rerank.Run]]:
    """Yield each system and its run of the test topics."""
    test, own = (rerank.Topics({name: topics[name] for name in some}) for some in (test_qrels, qrels))
    yield "BM25", index.search(test, k=1000)
    yield UNTRAINED[0], index.search(test, k=1000, candidates="rm3")
    runs = [index.search(own, k1=k1, b=b) for k1, b in BM25_SETTINGS]
    k1, b = BM25_SETTINGS[int(np.argmax([values_of_run(qrels, run).mean() for run in runs]))]
    yield UNTRAINED[1], index.search(test, k1=k1, b=b)
    yield UNTRAINED[2], rerank.rerank(index, "unsupervised", test)
    for name, (make, candidates) in TRAINED.items():
        ranker = None if make is None else make()
        result = rerank.train(index, own, qrels, ranker, candidates=candidates, estimate=False)
        yield name, rerank.rerank(index, result.model, test)


@benchmark(data="med, cacm, cranfield, MQ2008, five folds; nfcorpus, dev queries", peer="BM25")
def warm_starts(options: Options) -> Iterator[Row]:
    """LambdaMART of 150 trees of 15 leaves from scratch and from a base, with the same trees."""
    n_seeds = options.n_seeds(5)
    for name in options.chosen_collections((*SMALL, "mq2008", "nfcorpus")):
        for label, pairs in _pairs_of_warm_starts(options, name, n_seeds).items():
            sums = np.array([_of_warm_start(*pair, options) for pair in pairs])  # (pairs, 4)
            sums = sums.reshape(n_seeds, -1, 4).sum(axis=1)
            base, cold, warm = (sums[:, :3] / sums[:, 3:]).mean(axis=0)
            yield {"data": label, "base": base, "cold": cold, "warm": warm, "gain": warm - max(base, cold)}


def _pairs_of_warm_starts(
    options: Options, name: str, n_seeds: int
) -> dict[str, list[tuple[rerank.RankingData, rerank.RankingData]]]:
    """Return data to train on and to measure on: of nfcorpus shares of the training queries, else five folds."""
    if name == "nfcorpus":
        train, dev = bm25_features(options, name, "train", "dev", k=1000)
        drawn = [np.random.default_rng(seed).permutation(len(train)) for seed in range(n_seeds)]
        return {
            f"nfcorpus, {share:.0%}": [
                (train.select(np.sort(order[: round(share * len(order))])), dev) for order in drawn
            ]
            for share in SHARES
        }
    data = joined(mq2008_parts(options)) if name == "mq2008" else bm25_features(options, name, "", k=1000)[0]
    parts = [part for seed in range(n_seeds) for part in folds(len(data), seed)]
    return {name: [(data.select(train), data.select(test)) for train, test in parts]}


def _of_warm_start(train: rerank.RankingData, test: rerank.RankingData, options: Options) -> list[float]:
    """Return the sums over the test queries of base, cold and warm, and the number of queries."""
    n_trees = options.trees or options.pick(150, 5)
    settings: dict[str, Any] = {
        "n_estimators": n_trees,
        "num_leaves": 15,
        "metric": MEASURE,
        "n_jobs": options.threads,
    }
    warm = rerank.LambdaMART(base="run", **settings).fit(train).predict(test)
    scores = test.base_scores, warm - test.base_scores, warm  # without the base, the trees are those of a cold start
    return [*(float(values_of(test, each).sum()) for each in scores), len(test)]


class Split(NamedTuple):
    """Data to train on, to stop on and to measure on; BM25's scores are the base of a warm start."""

    train: rerank.RankingData
    stop: rerank.RankingData
    test: rerank.RankingData


def _ranker_splits(options: Options) -> Iterator[tuple[str, list[Split]]]:
    """Yield MQ2008's folds, and nfcorpus's own split with 1,000 training topics."""
    for name in options.chosen_collections(("mq2008", "nfcorpus")):
        if name == "mq2008":
            splits = [Split(*parts) for parts in letor_folds(mq2008_parts(options))]
            yield name, splits[: options.pick(5, 1)]
            continue
        train, dev, test = bm25_features(options, name, "train", "dev", "test")
        drawn = np.sort(np.random.default_rng(0).permutation(len(train))[:1000])
        yield name, [Split(train.select(drawn), dev, test)]


@benchmark(data="MQ2008, five folds; nfcorpus, test queries", peer="the best single feature, BM25")
def rankers(options: Options) -> Iterator[Row]:
    """Measures of every ranker, cold and started from BM25, with settings that were fixed beforehand.

    The best single feature is chosen on the training and validation parts, its sign included.
    """
    from rerank.rankers.registry import known_rankers

    for name, splits in _ranker_splits(options):
        results: dict[tuple[str, str], list[list[float]]] = {}
        for split in splits:
            for system, start, scores, seconds in _systems(split, options.chosen(tuple(known_rankers())), options):
                values = [mean_of(split.test, scores, measure) for measure in MEASURES[:3]]
                results.setdefault((system, start), []).append([*values, seconds])
        for (system, start), values in results.items():
            means = dict(zip((*MEASURES[:3], "s"), np.mean(values, axis=0).tolist(), strict=True))
            yield {"data": name, "ranker": system, "start": start, **means}


def _systems(split: Split, names: Sequence[str], options: Options) -> Iterator[tuple[str, str, np.ndarray, float]]:
    """Yield name, start, test scores and seconds of training of every system."""
    feature, sign = _best_feature(split)
    yield "best single feature", "", _signed(split.test, feature, sign), 0.0
    yield "BM25", "", split.test.base_scores, 0.0
    for name in names:
        for start, base in (("cold", None), ("BM25", "run")):
            model = _ranker(name, options, metric=MEASURE, base=base)
            seconds = timed(partial(model.fit, split.train, eval_set=split.stop))
            yield name, start, model.predict(split.test), seconds


def _ranker(name: str, options: Options, **more: Any) -> rerank.Ranker:
    """Return a ranker with those of the settings that it has."""
    from rerank.rankers.registry import ranker_class

    known = inspect.signature(ranker_class(name)).parameters
    settings = options.pick(RANKER_SETTINGS, QUICK_SETTINGS)
    return ranker_class(name)(**{key: value for key, value in settings.items() if key in known}, **more)


def _best_feature(split: Split) -> tuple[str, int]:
    """Return the feature, and its sign, that ranks the training and validation parts best."""
    both = joined([split.train, split.stop])
    ways = [(name, sign) for name in both.feature_names for sign in (1, -1)]
    return max(ways, key=lambda way: (mean_of(both, _signed(both, *way)), way))


def _signed(data: rerank.RankingData, name: str, sign: int) -> np.ndarray:
    """Return a feature as scores; missing values are the least."""
    column = sign * data.column(name)
    return np.where(np.isnan(column), np.nanmin(column, initial=0.0) - 1.0, column)
