#!/usr/bin/env python
"""What click models, off-policy values and interleaving are worth, on simulated users of MQ2008.

Run: scripts/check_clicks.py [--quick] [--only SECTION] [--data FOLDER]
Queries with a relevant document; the ranker that makes the logs orders by one feature (25, BM25 of the whole document).
Attractiveness follows the labels; its noise is 0.1. Seeds are fixed. Sections: examination (mean |theta error| beside
that of expectation maximisation), labels (nDCG@10 of the values of each model as a ranking of what was shown, and of
LambdaMART trained on their labels for other queries), off-policy values (rank correlation with true nDCG@10 over 30
rankers, and the bias of a wrong theta), interleaving (share of A/A trials that are rejected, and sessions needed beside
an A/B test).
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr, ttest_ind

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rerank  # noqa: E402
from rerank.clicks.cells import Cells  # noqa: E402
from rerank.clicks.estimates import MODELS  # noqa: E402
from rerank.clicks.examination import examination  # noqa: E402
from rerank.types import Qrels, Run, query_rows  # noqa: E402

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
LOGGING_FEATURE, MEASURE = 24, "nDCG@10"
ETAS, SEEDS, RANKERS = (0.0, 0.5, 1.0, 2.0), range(5), 30
LEARNED = ("ctr", "pbm")


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
        "sessions": sessions_needed(collection, 100 if given.quick else 400),
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
    """Yield the share of A/A trials whose p-value is below .05."""
    run = collection.run(collection.X[:, LOGGING_FEATURE])
    for model in ("pbm", "cascade"):
        logs = (
            rerank.simulate_interleaving(run, run, collection.qrels, rerank.Users(model), sessions=300, seed=seed)
            for seed in range(trials)
        )
        p_values = [rerank.interleaving_result(clicks, samples=10).p_value for clicks in logs]
        share = np.mean(np.array(p_values) < 0.05)
        yield f"{trials} A/A trials of 300 sessions, {model}: {share:.1%} rejected (target 3 to 7 %)"


def sessions_needed(collection: Collection, trials: int) -> Iterator[str]:
    """Yield the share of trials that find the better of two rankers, by interleaving and by an A/B test of clicks."""
    better = collection.run(collection.X[:, 22], "better")
    run = collection.run(collection.X[:, LOGGING_FEATURE], "worse")
    difference = collection.measure(better) - collection.measure(run)
    yield f"share of {trials} trials that tell apart rankers with a difference of {difference:+.4f} {MEASURE} (p < .05)"
    for sessions in (200, 500, 1000, 2000, 5000):
        found = np.zeros(2)
        for seed in range(max(trials * 200 // sessions, 20)):
            clicks = rerank.simulate_interleaving(better, run, collection.qrels, sessions=sessions, seed=seed)
            result = rerank.interleaving_result(clicks, samples=10)
            found[0] += result.p_value < 0.05 and result.difference > 0
            found[1] += ab_test(collection, better, run, sessions, seed)
        shares = found / max(trials * 200 // sessions, 20)
        yield f"  {sessions:5} sessions: interleaving {shares[0]:.2f}, A/B test {shares[1]:.2f}"


def ab_test(collection: Collection, better: Run, run: Run, sessions: int, seed: int) -> bool:
    """Return whether a t-test of 1 / rank of the first click finds the better ranker; each has half of the sessions."""
    rates = []
    for number, each in enumerate((better, run)):
        passes = -(-sessions // 2 // len(each))
        clicks = rerank.simulate_clicks(each, collection.qrels, passes=passes, seed=2 * seed + number)
        ends = clicks.list_ptr[: sessions // 2 + 1]
        inverse = np.where(clicks.clicked, 1.0 / clicks.position, 0.0)
        rates.append(np.maximum.reduceat(inverse[: ends[-1]], ends[:-1]))
    result = ttest_ind(rates[0], rates[1])
    return bool(result.pvalue < 0.05 and result.statistic > 0)


if __name__ == "__main__":
    main()
