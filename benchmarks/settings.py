"""Choices of a training: hyper-parameters, losses, constraints, a base of other queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, bm25_features, joined, letor_folds, mq2008_parts
from benchmarks.measuring import MEASURE, against, held_out_values, interval, mean_of, values_of
from benchmarks.quality import SETTINGS, SHARED
from benchmarks.registry import Options, Row, benchmark

LEVELS = (10, 15, 20, 30, 50, 100)
DEFAULT_LEVEL = "30"
LOSSES: Mapping[str, Callable[..., Any]] = {
    "lambdarank": lambda **given: rerank.LambdaMART(**given),
    "xe-ndcg": lambda **given: rerank.MART(objective="xe-ndcg", **given),
}
NUMBERS = (10, 20, 50, 100, 300)  # training queries of `constraints`
SIZES = {"mq2008": (50, 300), "nfcorpus": (50, 200), "cranfield": (50, 150)}  # new queries of `adaptation`
OLD_QUERIES = 500
LIGHTGBM_TREES: dict[str, Any] = {"num_leaves": 15, "label_gain": [0, 1, 2, 3, 4]}


@benchmark(data="MQ2008, five validation parts; nfcorpus, dev queries")
def truncation(options: Options) -> Iterator[Row]:
    """Levels of truncation_level in LambdaMART's gradients, on validation queries.

    Each seed draws 80 % of the queries and half (nfcorpus: 30 %) of the features for each tree; no model stops early.
    The error is the standard error of the difference from the default, paired by fold and seed.
    """
    trials: dict[str, dict[str, Any]] = {str(level): {"truncation_level": level} for level in LEVELS}
    trials["30, normalize=False"] = {"normalize": False}
    for name in options.chosen_collections(("mq2008", "nfcorpus")):
        if name == "mq2008":
            pairs = [(train, valid) for train, valid, _ in letor_folds(mq2008_parts(options))]
            settings = {**SHARED, "n_estimators": 100, "subsample": 0.8, "colsample_bytree": 0.5}
        else:
            train, dev = bm25_features(options, name, "train", "dev", k=1000)
            pairs, settings = [(train.head(100), dev)], {**SETTINGS, "n_estimators": 200, "subsample": 0.8}
        settings["n_estimators"] = options.trees or options.pick(settings["n_estimators"], 3)
        values: dict[str, np.ndarray] = {}
        for trial, more in trials.items():
            models = (
                (rerank.LambdaMART(**settings, **more, random_state=seed).fit(train), valid)
                for train, valid in pairs
                for seed in range(options.n_seeds(5))
            )
            values[trial] = np.array([mean_of(valid, model.predict(valid)) for model, valid in models])
        for trial, each in values.items():
            gaps = each - values[DEFAULT_LEVEL]
            error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("nan")
            yield {"data": name, "level": trial, MEASURE: each.mean(), "difference": gaps.mean(), "error": error}


@benchmark(data="MQ2008, five folds", needs=("optuna",))
def tuning(options: Options) -> Iterator[Row]:
    """LambdaMART with its defaults and with the best of 20 settings more, on the part that no choice saw."""
    from rerank.training.tuning import Tuning

    gains, n_settings = [], options.pick(20, 2)
    for number, (train, stop, test) in enumerate(letor_folds(mq2008_parts(options)), 1):
        tuned = Tuning(n_settings).search(rerank.LambdaMART(metric=MEASURE), train, stop)
        both = [
            values_of(test, rerank.LambdaMART(metric=MEASURE, **more).fit(train, eval_set=stop).predict(test))
            for more in ({}, tuned.parameters)
        ]
        gains.append(both[1] - both[0])
        row = {"fold": number, "defaults": both[0].mean(), "tuned": both[1].mean()}
        given_up = sum(each.value is None for each in tuned.tries)
        yield {**row, "given up": given_up, "chosen": ", ".join(f"{k}={v}" for k, v in tuned.parameters.items())}
    differences = np.concatenate(gains)
    low, high = interval(differences)
    yield {"difference": differences.mean(), "from": low, "to": high}


def _judged_rows(options: Options, name: str) -> rerank.RankingData:
    """Return MQ2008, or the features of BM25's first 100 documents; of nfcorpus those of the dev queries."""
    if name == "mq2008":
        return joined(mq2008_parts(options))
    return bm25_features(options, name, "dev" if name == "nfcorpus" else "")[0]


def _of_losses(options: Options, losses: Mapping[str, Callable[..., Any]]) -> Iterator[Row]:
    """Yield a row for each collection and loss: mean over seeds, and difference from the first loss."""
    settings = {"n_estimators": options.trees or options.pick(150, 5), "num_leaves": 15, "n_jobs": 1}
    for name in options.chosen_collections(("mq2008", *SMALL, "nfcorpus")):
        data, reference = _judged_rows(options, name), None
        for loss in options.chosen(tuple(losses)):
            of_seeds = [
                held_out_values(data, partial(losses[loss], **settings, random_state=seed), seed)
                for seed in range(options.n_seeds(5))
            ]
            values = np.mean(of_seeds, axis=0)
            reference = values if reference is None else reference
            yield {"data": name, "queries": len(data), "loss": loss, **against(values, reference)}


@benchmark(data="MQ2008, med, cacm, cranfield, nfcorpus's dev queries, five folds", peer="LambdaRank")
def losses(options: Options) -> Iterator[Row]:
    """Losses of boosted trees and random splits: 150 trees of 15 leaves, the same for all, without early stopping."""
    yield from _of_losses(options, LOSSES)


@benchmark(data="nfcorpus, test queries", peer="LambdaMART without constraints")
def constraints(options: Options) -> Iterator[Row]:
    """LambdaMART of few training queries, without constraints and with monotone_constraints="features"."""
    train, test = bm25_features(options, "nfcorpus", "train", "test")
    for number in NUMBERS:
        if number > len(train):
            continue
        figures = []
        for seed in range(options.n_seeds(5)):
            drawn = np.sort(np.random.default_rng(seed).choice(len(train), number, replace=False))
            models = [
                rerank.LambdaMART(monotone_constraints=each, n_jobs=1).fit(train.select(drawn))
                for each in (None, "features")
            ]
            figures.append([mean_of(test, model.predict(test)) for model in models])
        free, monotone = np.transpose(figures)
        row = {"queries": number, "free": free.mean(), "monotone": monotone.mean()}
        yield {**row, "draws in which it is better": f"{(monotone > free).sum()} of {len(free)}"}


@benchmark(
    data="MQ2008, nfcorpus; cranfield, from a base of nfcorpus", peer="LightGBM's LGBMRanker", needs=("lightgbm",)
)
def adaptation(options: Options) -> Iterator[Row]:
    """A LightGBM model of other queries (base), LambdaMART of new queries (cold), and the same from the base (adapted).

    Base, new queries and test queries have none in common; settings are the defaults, and nothing stops a training.
    """
    import lightgbm

    few: dict[str, Any] = {"n_estimators": options.trees or 10} if options.trees or options.quick else {}
    for study in options.chosen_collections(tuple(SIZES)):
        lines: dict[int, list[list[float]]] = {}
        for old, new, test in _draws(options, study, options.n_seeds(5)):
            theirs = lightgbm.LGBMRanker(**LIGHTGBM_TREES, **few, verbosity=-1)
            theirs.fit(old.X, old.labels, group=np.diff(old.query_ptr))
            base = rerank.import_model(theirs, feature_names=list(old.feature_names))
            for size in SIZES[study]:
                some = new.select(np.arange(min(size, len(new))))
                cold, warm = (rerank.LambdaMART(**few, base=start).fit(some) for start in (None, base))
                lines.setdefault(size, []).append([mean_of(test, model.predict(test)) for model in (base, cold, warm)])
        for size, figures in lines.items():
            row = dict(zip(("base", "cold", "adapted"), np.mean(figures, axis=0).tolist(), strict=True))
            least = min(adapted - base for base, _, adapted in figures)
            yield {"data": study, "new queries": size, **row, "adapted - base, least": least}


def _draws(options: Options, study: str, n_draws: int) -> Iterator[tuple[rerank.RankingData, ...]]:
    """Yield queries of the base, new queries in random order, and test queries.

    MQ2008: two parts, two others, the fifth. nfcorpus: 500 training queries, the others, test; cranfield: the same
    base, and two thirds and one third of cranfield's queries.
    """
    if study == "mq2008":
        parts = mq2008_parts(options)
        for number in range(n_draws):
            turned = [parts[(number + part) % 5] for part in range(5)]
            new = joined(turned[2:4])
            order = np.random.default_rng(number).permutation(len(new))
            yield joined(turned[:2]), new.select(order), turned[4]
        return
    train, test = bm25_features(options, "nfcorpus", "train", "test")
    other = bm25_features(options, study, "")[0] if study != "nfcorpus" else None
    for number in range(n_draws):
        random = np.random.default_rng(number)
        dealt = random.permutation(len(train))
        n_old = min(OLD_QUERIES, len(train) // 2)
        old, new, held_out = train.select(np.sort(dealt[:n_old])), train.select(dealt[n_old:]), test
        if other is not None:
            dealt = random.permutation(len(other))
            new, held_out = (other.select(some) for some in np.split(dealt, [2 * len(other) // 3]))
        yield old, new, held_out
