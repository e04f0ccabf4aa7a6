#!/usr/bin/env python
"""What click models, off-policy values and interleaving are worth, on simulated users of MQ2008.

Run: scripts/check_clicks.py [--quick] [--only SECTION] [--data FOLDER]
Queries with a relevant document; the ranker that makes the logs orders by one feature (25, BM25 of the whole document).
Attractiveness follows the labels; its noise is 0.1. Seeds are fixed. Sections: examination (mean |theta error| beside
that of expectation maximisation), labels (nDCG@10 of the values of each model as a ranking of what was shown, and of
LambdaMART trained on their labels for other queries), off-policy values (rank correlation with true nDCG@10 over 30
rankers, and the bias of a wrong theta), interleaving (share of A/A trials that are rejected, and sessions needed beside
an A/B test: a ranker retrained on more judgements, a step of it that is worth .01, and two features).
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
from scipy.stats import norm, spearmanr

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rerank  # noqa: E402
from rerank.clicks.cells import Cells  # noqa: E402
from rerank.clicks.drafts import METHODS  # noqa: E402
from rerank.clicks.estimates import MODELS  # noqa: E402
from rerank.clicks.examination import examination  # noqa: E402
from rerank.clicks.simulation import attractions  # noqa: E402
from rerank.types import Qrels, Run, pointers, query_rows  # noqa: E402

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
LOGGING_FEATURE, MEASURE = 24, "nDCG@10"
ETAS, SEEDS, RANKERS = (0.0, 0.5, 1.0, 2.0), range(5), 30
LEARNED = ("ctr", "pbm")
SESSIONS, DIFFERENCE = 200, 0.01  # of an A/A trial; of nDCG@10, that is to be seen
POWER = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2


class Collection:
    """Features, labels and rows of the queries with a relevant document."""

    def __init__(self, folder: Path) -> None:
        parts = [rerank.read_data(folder / f"S{number}.txt") for number in range(1, 6)]
        self.query = np.concatenate([part.query_ids[query_rows(part.query_ptr)] for part in parts])
        self.docs = np.concatenate([part.doc_ids for part in parts])
        labels = np.concatenate([part.labels for part in parts]).astype(np.int64)
        X = np.concatenate([part.X for part in parts])
        judged = np.isin(self.query, np.unique(self.query[labels > 0]))
        self.query, self.docs, self.labels, self.X = self.query[judged], self.docs[judged], labels[judged], X[judged]
        self.qrels = Qrels.from_rows(self.query, self.docs, self.labels)

    def part(self, rows: np.ndarray) -> Collection:
        """Return some rows."""
        part = copy(self)
        part.query, part.docs, part.labels, part.X = self.query[rows], self.docs[rows], self.labels[rows], self.X[rows]
        part.qrels = Qrels.from_rows(part.query, part.docs, part.labels)
        return part

    def data(self) -> rerank.RankingData:
        """Return the rows as ranking data."""
        ids, sizes = np.unique(self.query, return_counts=True)
        order = np.argsort(self.query, kind="stable")
        names = tuple(f"f{number + 1}" for number in range(self.X.shape[1]))
        return rerank.RankingData(ids, pointers(sizes), self.docs[order], self.X[order], names)

    def run(self, scores: np.ndarray, name: str = "run") -> Run:
        """Return the ranking of scores, a score for each row."""
        return Run.from_rows(self.query, self.docs, np.nan_to_num(scores), name)

    def measure(self, run: Run) -> float:
        """Return the true mean of the measure."""
        return float(rerank.evaluate(self.qrels, run, [MEASURE])[MEASURE])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, 100 trials")
    parser.add_argument("--only", choices=["examination", "off-policy", "equal", "sessions", "labels"])
    parser.add_argument("--data", type=Path, default=DEFAULT / "letor" / "mq2008")
    given = parser.parse_args()
    logging.getLogger("rerank").setLevel(logging.ERROR)
    collection = Collection(given.data)
    seeds = range(1) if given.quick else SEEDS
    sections = {
        "examination": examination_errors(collection, seeds),
        "off-policy": off_policy(collection),
        "equal": equal_rankers(collection, 100 if given.quick else 1000),
        "sessions": sessions_needed(collection, 2000 if given.quick else 30_000),
        "labels": label_quality(collection, seeds),
    }
    for name in [given.only] if given.only else sections:
        for line in sections[name]:
            print(line, flush=True)


def logged(collection: Collection, eta: float, seed: int, spread: float = 1.0, passes: int = 16) -> rerank.Clicks:
    """Return a log of simulated users."""
    run = collection.run(collection.X[:, LOGGING_FEATURE])
    return rerank.simulate_clicks(run, collection.qrels, rerank.Users(eta=eta), passes=passes, spread=spread, seed=seed)


def examination_errors(collection: Collection, seeds: range) -> Iterator[str]:
    """Yield the error of the examination by eta, spread and length of the log."""
    yield "mean |theta error|, theta_1 = 1: this package; expectation maximisation that starts there, prior 0 and 10"
    errors = []
    for spread in (0.5, 1.0, 2.0):
        for passes in (16, 100):
            for eta in ETAS:
                theta = rerank.Users(eta=eta).examination(10)
                true, own, maximised, with_prior = theta / theta[0], [], [], []
                for seed in seeds:
                    cells = Cells.of(logged(collection, eta, seed, spread, passes))
                    found = examination(cells).theta
                    own.append(np.abs(found - true).mean())
                    if seed == 0:
                        maximised.append(np.abs(expectation_maximised(cells, 0.0, found) - true).mean())
                        with_prior.append(np.abs(expectation_maximised(cells, 10.0, found) - true).mean())
                errors.append(np.mean(own))
                others = f"{maximised[0]:.4f} {with_prior[0]:.4f}"
                yield f"  spread {spread:3} passes {passes:3} eta {eta:3}: {errors[-1]:.4f}   {others}"
    yield f"  mean of all: {np.mean(errors):.4f} (target .03)"
    yield "where no document ever moved: the click rate; regression EM over the features"
    for eta in ETAS:
        true = rerank.Users(eta=eta).examination(10)
        clicks = logged(collection, eta, 0, spread=0.0)
        found = (
            examination(Cells.of(clicks)).theta,
            rerank.estimate_with_features(clicks, collection.data()).examination,
        )
        rate, regressed = (np.abs(theta / theta[0] - true / true[0]).mean() for theta in found)
        yield f"  eta {eta:3}: {rate:.4f}   {regressed:.4f}"


def expectation_maximised(cells: Cells, prior: float, start: np.ndarray, rounds: int = 500) -> np.ndarray:
    """Return theta by expectation maximisation of theta and gamma (Wang et al., WSDM 2018, equations 1 to 3)."""
    theta, gamma = 0.9 * start / start.max(), np.full(cells.n_pairs, 0.2)
    shown, at = cells.by_pair(cells.impressions), cells.by_place(cells.impressions)
    missed = cells.impressions - cells.clicks
    mean = cells.clicks.sum() / cells.impressions.sum()
    for _ in range(rounds):
        t, g = theta[cells.place], gamma[cells.pair]
        examined = cells.clicks + missed * t * (1 - g) / (1 - t * g)
        attractive = cells.clicks + missed * g * (1 - t) / (1 - t * g)
        theta = np.clip(cells.by_place(examined) / at, 1e-6, 1 - 1e-9)
        gamma = np.clip((cells.by_pair(attractive) + prior * mean) / (shown + prior), 1e-9, 1 - 1e-9)
    return theta / theta[0]


def label_quality(collection: Collection, seeds: range) -> Iterator[str]:
    """Yield true nDCG@10 of the values of each model, and of LambdaMART trained on their labels, by eta."""
    yield f"true {MEASURE} of the values where shown; of LambdaMART on half of the queries, trained on the other half:"
    yield "  on the grades of all documents; on the values of those that were shown"
    half = np.isin(collection.query, np.unique(collection.query)[::2])
    oracle = trained(collection, half, half, collection.labels)
    logging_scores = collection.X[:, LOGGING_FEATURE]
    whole, on_half = collection.measure(collection.run(logging_scores)), measure_half(collection, half, logging_scores)
    yield f"  ranker of the log {whole:.4f}, {on_half:.4f}; trained on true labels: {oracle:.4f}"
    for eta in ETAS:
        for model in ("ctr", "coec", "cascade", "dependent", "pbm"):
            ranked, learned = [], []
            for seed in seeds:
                estimates = rerank.estimate_clicks(logged(collection, eta, seed), model)
                queries, docs = estimates.query_ids[estimates.query], estimates.doc_ids[estimates.document]
                ranked.append(collection.measure(Run.from_rows(queries, docs, estimates.values)))
                if model not in LEARNED:
                    continue
                pairs = list(zip(queries.tolist(), docs.tolist(), strict=True))
                value_of = dict(zip(pairs, estimates.values.tolist(), strict=True))
                grade_of = dict(zip(pairs, estimates.grades().tolist(), strict=True))
                rows = list(zip(collection.query.tolist(), collection.docs.tolist(), strict=True))
                grades = np.array([grade_of.get(row, 0) for row in rows])
                values = np.array([value_of.get(row, np.nan) for row in rows])
                of_shown = trained(collection, half, half & ~np.isnan(values), values)
                learned.append((trained(collection, half, half, grades), of_shown))
            trees = "  {:.4f}  {:.4f}".format(*np.mean(learned, axis=0)) if learned else ""
            yield f"  eta {eta:3} {model:9} {np.mean(ranked):.4f}{trees}"
    assert set(MODELS.known()) == {"ctr", "coec", "cascade", "dependent", "pbm"}


def trained(collection: Collection, half: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> float:
    """Return the measure, on the queries outside a half, of LambdaMART trained on rows of it."""
    model = rerank.LambdaMART(n_estimators=100, num_leaves=15, min_child_samples=30, learning_rate=0.05, n_jobs=1)
    model.fit(collection.X[rows], labels[rows], qid=collection.query[rows])
    return measure_half(collection, half, model.predict(collection.X))


def measure_half(collection: Collection, half: np.ndarray, scores: np.ndarray) -> float:
    """Return the measure on the queries outside a half."""
    return collection.measure(Run.from_rows(collection.query[~half], collection.docs[~half], scores[~half]))


def off_policy(collection: Collection) -> Iterator[str]:
    """Yield the rank correlation of values with true nDCG@10, and the bias of a wrong theta."""
    runs = [collection.run(collection.X[:, number], f"f{number + 1}") for number in range(RANKERS)]
    true = [collection.measure(run) for run in runs]
    yield f"off-policy value of {RANKERS} rankers (one feature each): Spearman's rank correlation with true {MEASURE}"
    log_run = collection.run(collection.X[:, LOGGING_FEATURE])
    rules = rerank.ValueRules(samples=10, most_unseen=1.0)
    for model in ("pbm", "cascade"):
        for noise in (0.0, 0.1):
            users = rerank.Users(model, noise=noise)
            clicks = rerank.simulate_clicks(log_run, collection.qrels, users, passes=50, spread=2.0)
            figures = []
            for theta in (None, np.ones(10)):
                values = [rerank.off_policy_value(clicks, run, rules, theta=theta) for run in runs]
                own = values[LOGGING_FEATURE].value
                figures.append((spearmanr([each.value for each in values], true).statistic, own))
            unseen = np.mean([each.unseen for each in values])
            estimated, wrong = figures
            correlations = f"{estimated[0]:.3f}, with theta = 1 {wrong[0]:.3f}; never shown {unseen:.1%}"
            own = f"value of the log's ranker {estimated[1]:.4f}, with theta = 1 {wrong[1] - estimated[1]:+.4f}"
            yield f"  {model:8} noise {noise}: {correlations}; {own}"


def equal_rankers(collection: Collection, trials: int) -> Iterator[str]:
    """Yield the share of A/A trials whose p-value is below .05: for each session, the two have one of two rankings."""
    runs = [collection.run(collection.X[:, number]) for number in (22, LOGGING_FEATURE)]
    for model in ("pbm", "cascade"):
        for method in METHODS:
            options = {"method": method, "sessions": trials * SESSIONS, "seed": 0}
            clicks = rerank.simulate_interleaving(*runs, collection.qrels, rerank.Users(model), **options)
            swapped = np.random.default_rng(1).integers(2, size=trials * SESSIONS)[clicks.session]
            clicks = replace(clicks, ranker=clicks.ranker ^ swapped)
            results = [rerank.experiment_result(part, samples=100) for part in parts_of(clicks, SESSIONS)]
            rejected = np.mean([result.p_value < 0.05 for result in results])
            outside = np.mean([not result.low <= 0.0 <= result.high for result in results])
            line = (
                f"{trials} A/A trials of {SESSIONS} sessions, {model}, {method}: the sign test rejects {rejected:.1%}"
            )
            yield f"{line} (target 3 to 7 %), the interval {outside:.1%}"


def parts_of(clicks: rerank.Clicks, sessions: int) -> Iterator[rerank.Clicks]:
    """Yield whole parts of a log, of so many sessions, which are numbered in its order."""
    n_parts = (int(clicks.session[-1]) + 1) // sessions
    ends = np.searchsorted(clicks.session, sessions * np.arange(n_parts + 1))
    for first, last in pairwise(ends):
        yield clicks.select(np.arange(first, last))


def sessions_needed(collection: Collection, sessions: int) -> Iterator[str]:
    """Yield the sessions for a power of .8 at p < .05, two-sided, by interleaving and by an A/B test.

    A session is a search with a query at random. The A/B test compares 1 / rank of the first click, or the number of
    clicks, of half of the sessions each; its moments are computed, those of interleaving are of simulated sessions.
    """
    yield "sessions for power .8 at p < .05: A/B test by measure; interleaving, and its share of the better A/B test"
    for name, held_out, better, worse in pairs_of_rankers(collection):
        difference = held_out.measure(better) - held_out.measure(worse)
        tests = ab_sessions(held_out, better, worse)
        shown = ", ".join(f"{what} {count:,.0f}" for what, count in tests.items())
        yield f"  {name}, {difference:+.4f} {MEASURE}: {shown}"
        for method in METHODS:
            options = {"method": method, "sessions": sessions, "seed": 0}
            clicks = rerank.simulate_interleaving(better, worse, held_out.qrels, **options)
            gains = np.where(clicks.ranker == 0, 1.0, -1.0) * clicks.clicked * clicks.credit
            credit = np.bincount(clicks.session, gains).round(6)
            needed, by_credit = (POWER * each.var() / each.mean() ** 2 for each in (np.sign(credit), credit))
            results = [rerank.experiment_result(part, samples=100) for part in parts_of(clicks, int(np.ceil(needed)))]
            found = sum(result.p_value < 0.05 and result.difference > 0 for result in results)
            ratio = min(tests.values()) / needed
            sizes = f"sign test {needed:7,.0f} (1 / {ratio:.1f}), mean credit {by_credit:7,.0f}"
            yield f"    {method:13} {sizes}; {found} of {len(results)} trials of the first size find it"


def pairs_of_rankers(collection: Collection) -> Iterator[tuple[str, Collection, Run, Run]]:
    """Yield pairs of rankers with a name, and the queries on which they are compared, which none was trained on."""
    queries = np.unique(collection.query)
    random = np.random.default_rng(0)
    random.shuffle(queries)
    small, large = np.isin(collection.query, queries[:80]), np.isin(collection.query, queries[:240])
    held_out = collection.part(~large)
    scores = [scores_of(collection, rows)[~large] for rows in (small, large)]
    worse = held_out.run(scores[0])
    yield "trained on 240 queries for 80", held_out, held_out.run(scores[1]), worse
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2.0
        step = held_out.measure(held_out.run(scores[0] + middle * (scores[1] - scores[0]))) - held_out.measure(worse)
        low, high = (low, middle) if step > DIFFERENCE else (middle, high)
    mixed = held_out.run(scores[0] + high * (scores[1] - scores[0]))
    yield f"{high:.3f} of that difference of scores", held_out, mixed, worse
    runs = [held_out.run(held_out.X[:, number]) for number in range(held_out.X.shape[1])]
    true = np.array([held_out.measure(run) for run in runs])
    best = np.argsort(-true)[:12]
    one, other = min(permutations(best, 2), key=lambda pair: abs(true[pair[0]] - true[pair[1]] - DIFFERENCE))
    yield f"feature {one + 1} for {other + 1}", held_out, runs[one], runs[other]


def scores_of(collection: Collection, rows: np.ndarray) -> np.ndarray:
    """Return the scores of all rows by LambdaMART trained on some."""
    model = rerank.LambdaMART(n_estimators=50, num_leaves=7, min_child_samples=30, n_jobs=1)
    model.fit(collection.X[rows], collection.labels[rows], qid=collection.query[rows])
    return model.predict(collection.X)


def ab_sessions(collection: Collection, better: Run, worse: Run) -> dict[str, float]:
    """Return the sessions that an A/B test needs, by what it compares: 1 / rank of the first click, and clicks."""
    moments = []
    for run in (better, worse):
        top = run.head(10)
        place = np.arange(top.n_rows) - top.query_ptr[query_rows(top.query_ptr)]
        chance = attractions(collection.qrels, top, 0.1) * rerank.Users().examination(10)[place]
        clicks = [chance[first:last] for first, last in pairwise(top.query_ptr)]
        firsts = [each * np.cumprod(np.concatenate([[1.0], 1.0 - each[:-1]])) for each in clicks]
        inverse = 1.0 / np.arange(1, 11)
        rr = np.mean([[each @ inverse[: len(each)], each @ inverse[: len(each)] ** 2] for each in firsts], axis=0)
        count = np.mean([[each.sum(), (each * (1.0 - each)).sum() + each.sum() ** 2] for each in clicks], axis=0)
        moments.append([rr, count])
    one, other = np.array(moments)
    spread = (one[:, 1] - one[:, 0] ** 2) + (other[:, 1] - other[:, 0] ** 2)
    needed = 2.0 * POWER * spread / (one[:, 0] - other[:, 0]) ** 2
    return dict(zip(("1 / rank of the first click", "clicks"), needed.tolist(), strict=True))


if __name__ == "__main__":
    main()
