"""Click logs: reading, training, examination and interleaving, on simulated users."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rerank
from benchmarks.data import bm25_features, joined, judged, mq2008_parts, opened, read_topics
from benchmarks.measuring import MEASURE, in_process, mean_of, mean_of_run, save_figure, values_of_run
from benchmarks.registry import Options, Row, benchmark
from benchmarks.users import Users, attractions, simulate_clicks, simulate_interleaving

if TYPE_CHECKING:
    from rerank.clicks.cells import Cells

ETAS, SHARES = (0.0, 0.5, 1.0, 2.0), (0.01, 0.1, 1.0)
TREES = {"num_leaves": 15, "min_child_samples": 30, "learning_rate": 0.05, "n_jobs": 1}
FORMATS = ("csv", "jsonl", "csv.gz", "parquet")
SESSIONS, DIFFERENCE = 200, 0.01  # of an A/A trial; of nDCG@10, that is to be seen


@dataclass(frozen=True)
class Collection:
    """Queries to log, whose ranker is that of the base scores, and queries to measure on."""

    train: rerank.RankingData
    test: rerank.RankingData
    options: Options

    @property
    def trees(self) -> dict[str, Any]:
        """Return the settings of all models."""
        return {"n_estimators": self.options.trees or self.options.pick(100, 5), **TREES}

    def log(self, eta: float, seed: int, passes: int = 16, spread: float = 1.0) -> rerank.Clicks:
        """Return a log of simulated users: position-based model, theta of Hu et al. (WWW 2019) to the power eta."""
        run, users = self.train.run(self.train.base_scores), Users(eta=eta)
        return simulate_clicks(run, qrels_of(self.train), users, passes=passes, spread=spread, seed=seed)

    def of_labels(self, clicks: rerank.Clicks, base: str | None = None) -> float:
        """Return the measure of LambdaMART on `click_labels`, the default of `rerank train --clicks`."""
        labels = rerank.click_labels(rerank.estimate_clicks(clicks), self.train)
        return mean_of(self.test, rerank.LambdaMART(**self.trees, base=base).fit(labels).predict(self.test))


def qrels_of(data: rerank.RankingData) -> rerank.Qrels:
    """Return the labels of the rows as judgements."""
    from rerank.types import query_rows

    query_ids = data.query_ids[query_rows(data.query_ptr)]
    return rerank.Qrels.from_rows(query_ids, data.doc_ids, data.labels.astype(np.int64))


def with_relevant(options: Options) -> rerank.RankingData:
    """Return the queries of MQ2008 with a relevant document."""
    data = joined(mq2008_parts(options))
    return data.select(np.flatnonzero(np.maximum.reduceat(data.labels, data.query_ptr[:-1]) > 0))


def _collections(options: Options) -> Iterator[tuple[str, Collection]]:
    """Yield MQ2008, every second query to log; nfcorpus, 600 training queries to log, the test queries to measure."""
    for name in options.chosen_collections(("mq2008", "nfcorpus")):
        if name == "mq2008":
            data = with_relevant(options)
            halves = [np.arange(first, len(data), 2) for first in (0, 1)]
            yield name, Collection(data.select(halves[0]), data.select(halves[1]), options)
            continue
        train, test = bm25_features(options, name, "train", "test")
        some = np.arange(0, len(train), max(len(train) // 600, 1))[:600]
        yield name, Collection(train.select(some), test, options)


def draw_methods(rows: list[Row], path: Path) -> None:
    """Draw the measure of each method by eta, for the last collection."""
    from matplotlib.figure import Figure

    axes, name = Figure(figsize=(7.0, 4.0), layout="constrained").subplots(), rows[-1]["data"]
    for method in ("judged", "labels"):
        points = [(row["eta"], row[MEASURE]) for row in rows if (row["data"], row["method"]) == (name, method)]
        axes.plot(*zip(*points, strict=True), "k--" if method == "judged" else "o-", label=method)
    axes.set(xlabel="eta: bias of the users", ylabel=MEASURE, title=f"{name}: models of clicks")
    axes.legend()
    save_figure(axes.figure, path)


@benchmark(
    data="MQ2008; nfcorpus, test queries; each query logged 16 times by simulated users",
    peer="models of judgements of the same queries",
    draw=draw_methods,
)
def click_training(options: Options) -> Iterator[Row]:
    """True nDCG@10 of models of clicks by the users' bias (eta), beside models of judgements of the same queries."""
    for name, collection in _collections(options):
        judged = rerank.LambdaMART(**collection.trees).fit(collection.train).predict(collection.test)
        logged = mean_of(collection.test, collection.test.base_scores)
        for eta in ETAS:
            logs = [collection.log(eta, seed) for seed in range(options.n_seeds(5))]
            values = {
                "labels": [collection.of_labels(log) for log in logs],
                "judged": [mean_of(collection.test, judged)],
                "log's ranker": [logged],
            }
            for method, each in values.items():
                yield {"data": name, "eta": eta, "method": method, MEASURE: np.mean(each), "sd": np.std(each)}


@benchmark(data="MQ2008; nfcorpus, test queries; shares of a log of eta 1", peer="the log's ranker")
def click_warm_starts(options: Options) -> Iterator[Row]:
    """Models of 1, 10 and 100 % of the lists of a log, with and without its ranker as the base, less that ranker."""
    for name, collection in _collections(options):
        logged = mean_of(collection.test, collection.test.base_scores)
        for share in SHARES:
            gains: dict[str, list[float]] = {"cold": [], "warm": []}
            for seed in range(options.n_seeds(5)):
                clicks = collection.log(1.0, seed)
                lists = np.random.default_rng(seed).permutation(len(clicks.list_ptr) - 1)
                chosen = np.zeros(len(lists), dtype=bool)
                chosen[lists[: max(round(share * len(lists)), 1)]] = True
                some = clicks.select(np.repeat(chosen, np.diff(clicks.list_ptr)))
                for start, base in (("cold", None), ("warm", "run")):
                    gains[start].append(collection.of_labels(some, base) - logged)
            means = {start: float(np.mean(each)) for start, each in gains.items()}
            yield {"data": name, "share of the log": share, **means, "warm, worst seed": min(gains["warm"])}


def _logged(
    index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels, number: int, seed: int
) -> tuple[rerank.Topics, rerank.Clicks]:
    """Return some of the judged topics, and a log of simulated users of eta 1 on BM25's first ten documents."""
    drawn = np.random.default_rng(seed).permutation(list(qrels)).tolist()[:number]
    own = rerank.Topics({name: topics[name] for name in drawn})
    return own, simulate_clicks(index.search(own, k=10), qrels, Users(eta=1.0), spread=1.0, seed=seed)


@benchmark(
    data="nfcorpus: 500 training queries, each logged 16 times at eta 1; test queries",
    peer="BM25, which made the log, and unsupervised",
)
def click_defaults(options: Options) -> Iterator[Row]:
    """nDCG@10 of `rerank train INDEX TOPICS --clicks LOG` without an option, and with `--ranker auto`."""
    topics = read_topics(options, "nfcorpus")
    train, test = (judged(options, "nfcorpus", part)[1] for part in ("train", "test"))
    unseen = rerank.Topics({name: topics[name] for name in test})
    with opened(options, "nfcorpus") as index:
        values: dict[str, list[float]] = {}
        for seed in range(options.n_seeds(3)):
            own, clicks = _logged(index, topics, train, options.pick(500, 30), seed)
            rankers = {"train --clicks": None, "train --clicks --ranker auto": rerank.Auto(base="unsupervised")}
            runs = {"BM25": index.search(unseen), "unsupervised": rerank.rerank(index, "unsupervised", unseen)}
            for system, ranker in rankers.items():
                model = rerank.train(index, own, clicks, ranker, estimate=False).model
                runs[system] = rerank.rerank(index, model, unseen)
            for system, run in runs.items():
                values.setdefault(system, []).append(float(values_of_run(test, run).mean()))
        for system, means in values.items():
            yield {"system": system, MEASURE: np.mean(means), "least": min(means), "greatest": max(means)}


@benchmark(
    data="nfcorpus: 100, 250 and 500 training queries, each logged 16 times at eta 1; dev queries",
    peer="learning from what was shown alone",
)
def click_rows(options: Options) -> Iterator[Row]:
    """nDCG@10 of `rerank train INDEX TOPICS --clicks LOG` without and with documents that were never shown."""
    from rerank.training import clicks as training

    topics = read_topics(options, "nfcorpus")
    train, dev = (judged(options, "nfcorpus", part)[1] for part in ("train", "dev"))
    unseen = rerank.Topics({name: topics[name] for name in dev})
    many = training.MANY_QUERIES
    with opened(options, "nfcorpus") as index:
        for number in options.pick((100, 250, 500), (30,)):
            values: dict[str, list[float]] = {"shown": [], "all": []}
            for seed in range(options.n_seeds(6)):
                own, log = _logged(index, topics, train, number, seed)
                for rows, least in (("shown", number + 1), ("all", 0)):
                    training.MANY_QUERIES = least
                    model = rerank.train(index, own, log, estimate=False).model
                    values[rows].append(float(values_of_run(dev, rerank.rerank(index, model, unseen)).mean()))
            training.MANY_QUERIES = many
            yield {"queries": number, **{rows: np.mean(means) for rows, means in values.items()}}


@benchmark(data="generated logs of 1 and 10 million impressions of simulated users", needs=("pyarrow",))
def click_logs(options: Options) -> Iterator[Row]:
    """Seconds and memory to read a log in each format and to estimate examination and attractiveness."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for passes in options.pick((5, 50), (1,)):
            for path in _logs(Path(folder), passes, options.pick(20_000, 2000)):
                usage = in_process(read_log, path)
                n_rows, read, fitted = usage.result
                row = {"impressions": n_rows, "format": "".join(path.suffixes), "MB": path.stat().st_size / 1e6}
                yield {
                    **row,
                    "read, s": read,
                    "fitted, s": fitted,
                    "processor s": usage.processor,
                    "peak MB": usage.resident,
                }
                path.unlink()


def _logs(folder: Path, passes: int, n_queries: int) -> Iterator[Path]:
    """Write lists of ten of 50 documents a query, a session for each list, in each format."""
    random, query = np.random.default_rng(0), np.repeat(np.arange(n_queries), 50)
    queries = np.char.add("query number ", query.astype(str))
    docs = np.char.add("doc", random.integers(0, 10 * n_queries, len(query)).astype(str))
    rows = np.unique(np.char.add(np.char.add(queries, " "), docs), return_index=True)[1]
    run = rerank.Run.from_rows(queries[rows], docs[rows], random.random(len(rows)), "bench")
    qrels = rerank.Qrels.from_rows(queries[rows], docs[rows], random.integers(0, 5, len(rows)))
    clicks = simulate_clicks(run, qrels, Users(), passes=passes, depth=10, spread=1.0)
    for form in FORMATS:
        path = folder / f"log.{form}"
        _write_parquet(clicks, path) if form == "parquet" else rerank.write_clicks(clicks, path)
        yield path


def _write_parquet(clicks: rerank.Clicks, path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {name: getattr(clicks, name) for name in ("position", "clicked", "session")}
    columns["query"] = clicks.query_ids[clicks.query].astype(object)
    columns["document"] = clicks.doc_ids[clicks.document].astype(object)
    parquet.write_table(pyarrow.table(columns), path)


def read_log(path: Path) -> tuple[int, float, float]:
    """Return the number of impressions of a log, and the seconds to read and to fit it."""
    start = time.perf_counter()
    clicks = rerank.read_clicks(path)
    read = time.perf_counter()
    rerank.estimate_clicks(clicks)
    return len(clicks), read - start, time.perf_counter() - read


@benchmark(data="MQ2008, logs of simulated users", peer="expectation maximisation, with a prior of 0 and of 10 views")
def examination(options: Options) -> Iterator[Row]:
    """Mean error of the estimated examination by spread, length and bias of the log, and where no document moved."""
    from rerank.clicks.cells import Cells
    from rerank.clicks.examination import examination as estimated

    data = with_relevant(options)
    collection = Collection(data, data, options)
    for spread, passes, eta in product((0.5, 1.0, 2.0), (16, 100), ETAS):
        true = Users(eta=eta).examination(10)
        all_cells = [Cells.of(collection.log(eta, seed, passes, spread)) for seed in range(options.n_seeds(5))]
        found = [estimated(cells).theta for cells in all_cells]
        own = np.mean([np.abs(theta - true / true[0]).mean() for theta in found])
        row = {"spread": spread, "passes": passes, "eta": eta, "error": own}
        for prior in (0.0, 10.0):
            theta = _expectation_maximised(all_cells[0], prior, found[0], options.pick(500, 20))
            row[f"EM, prior {prior:g}"] = np.abs(theta - true / true[0]).mean()
        yield row
    for eta in ETAS:
        true, clicks = Users(eta=eta).examination(10), collection.log(eta, 0, spread=0.0)
        rate, regressed = estimated(Cells.of(clicks)).theta, rerank.estimate_with_features(clicks, data).examination
        errors = [np.abs(theta / theta[0] - true / true[0]).mean() for theta in (rate, regressed)]
        yield {"where no document moved, eta": eta, "error": errors[0], "with features": errors[1]}


def _expectation_maximised(cells: Cells, prior: float, start: np.ndarray, rounds: int) -> np.ndarray:
    """Return theta by expectation maximisation of theta and gamma (Wang et al., WSDM 2018, equations 1 to 3)."""
    theta, gamma = 0.9 * start / start.max(), np.full(cells.n_pairs, 0.2)
    shown, at = cells.by_pair(cells.impressions), cells.by_place(cells.impressions)
    missed, mean = cells.impressions - cells.clicks, cells.clicks.sum() / cells.impressions.sum()
    for _ in range(rounds):
        t, g = theta[cells.place], gamma[cells.pair]
        examined = cells.clicks + missed * t * (1 - g) / (1 - t * g)
        attractive = cells.clicks + missed * g * (1 - t) / (1 - t * g)
        theta = np.clip(cells.by_place(examined) / at, 1e-6, 1 - 1e-9)
        gamma = np.clip((cells.by_pair(attractive) + prior * mean) / (shown + prior), 1e-9, 1 - 1e-9)
    return theta / theta[0]


def _parts(clicks: rerank.Clicks, sessions: int) -> Iterator[rerank.Clicks]:
    """Yield whole parts of a log, of so many sessions, which are numbered in its order."""
    n_parts = (int(clicks.session[-1]) + 1) // sessions
    for first, last in pairwise(np.searchsorted(clicks.session, sessions * np.arange(n_parts + 1))):
        yield clicks.select(np.arange(first, last))


@benchmark(data="MQ2008, simulated users")
def interleaving_equal(options: Options) -> Iterator[Row]:
    """Share of A/A trials of interleaving whose difference is called significant at .05."""
    data, trials = with_relevant(options), options.pick(1000, 20)
    first, second = (data.run(np.nan_to_num(data.X[:, number].astype(np.float64))) for number in (22, 24))
    for model in ("pbm", "cascade"):
        clicks = simulate_interleaving(first, second, qrels_of(data), Users(model), sessions=trials * SESSIONS)
        swapped = np.random.default_rng(1).integers(2, size=trials * SESSIONS)[clicks.session]
        clicks = replace(clicks, ranker=clicks.ranker ^ swapped)
        results = [rerank.experiment_result(part, samples=100) for part in _parts(clicks, SESSIONS)]
        outside = np.mean([not result.low <= 0.0 <= result.high for result in results])
        row = {"users": model, "trials": len(results)}
        yield {**row, "rejected": np.mean([result.p_value < 0.05 for result in results]), "interval": outside}


@benchmark(data="MQ2008, simulated users", peer="an A/B test of 1 / rank of the first click, or of clicks")
def interleaving_sessions(options: Options) -> Iterator[Row]:
    """Sessions that find a difference of two rankers in four of five experiments, at p < .05, two-sided."""
    from scipy.stats import norm

    power = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2
    data, sessions = with_relevant(options), options.pick(30_000, 500)
    for name, held_out, better, worse in _pairs_of_rankers(data, options):
        qrels = qrels_of(held_out)
        row = {"rankers": name, "difference": mean_of_run(qrels, better) - mean_of_run(qrels, worse)}
        row |= {f"A/B test, {what}": power * each for what, each in _ab_sessions(qrels, better, worse).items()}
        clicks = simulate_interleaving(better, worse, qrels, sessions=sessions, seed=0)
        gains = np.where(clicks.ranker == 0, 1.0, -1.0) * clicks.clicked * clicks.credit
        signs = np.sign(np.bincount(clicks.session, gains).round(6))
        row["team draft"] = power * signs.var() / signs.mean() ** 2
        yield row


def _pairs_of_rankers(
    data: rerank.RankingData, options: Options
) -> Iterator[tuple[str, rerank.RankingData, rerank.Run, rerank.Run]]:
    """Yield pairs of rankers with a name, and the queries on which they are compared, which none was trained on."""
    order = np.random.default_rng(0).permutation(len(data))
    n_large = min(240, len(data) // 2)
    held_out = data.select(np.sort(order[n_large:]))
    settings: dict[str, Any] = {
        "n_estimators": options.pick(50, 3),
        "num_leaves": 7,
        "min_child_samples": 30,
        "n_jobs": 1,
    }
    models = [rerank.LambdaMART(**settings).fit(data.select(np.sort(order[:n]))) for n in (n_large // 3, n_large)]
    first, last = (model.predict(held_out) for model in models)
    worse, reference = held_out.run(first), mean_of(held_out, first)
    yield f"trained on {n_large} queries for {n_large // 3}", held_out, held_out.run(last), worse
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2.0
        above = mean_of(held_out, first + middle * (last - first)) - reference > DIFFERENCE
        low, high = (low, middle) if above else (middle, high)
    yield f"{high:.3f} of that difference of scores", held_out, held_out.run(first + high * (last - first)), worse
    columns = np.nan_to_num(held_out.X.astype(np.float64)).T
    true = np.array([mean_of(held_out, column) for column in columns])
    best = np.argsort(-true)[:12]
    one, other = min(permutations(best, 2), key=lambda pair: abs(true[pair[0]] - true[pair[1]] - DIFFERENCE))
    yield f"feature {one + 1} for {other + 1}", held_out, held_out.run(columns[one]), held_out.run(columns[other])


def _ab_sessions(qrels: rerank.Qrels, better: rerank.Run, worse: rerank.Run) -> dict[str, float]:
    """Return the sessions of an A/B test for a power of 1, by what it compares; the moments are computed.

    A session is a search with a query at random.
    """
    from rerank.types import query_rows

    moments = []
    for run in (better, worse):
        top = run.head(10)
        place = np.arange(top.n_rows) - top.query_ptr[query_rows(top.query_ptr)]
        chance = attractions(qrels, top, 0.1) * Users().examination(10)[place]
        clicks = [chance[first:last] for first, last in pairwise(top.query_ptr)]
        firsts = [each * np.cumprod(np.concatenate([[1.0], 1.0 - each[:-1]])) for each in clicks]
        inverse = 1.0 / np.arange(1, 11)
        rr = np.mean([[each @ inverse[: len(each)], each @ inverse[: len(each)] ** 2] for each in firsts], axis=0)
        count = np.mean([[each.sum(), (each * (1.0 - each)).sum() + each.sum() ** 2] for each in clicks], axis=0)
        moments.append([rr, count])
    one, other = np.array(moments)
    spread = (one[:, 1] - one[:, 0] ** 2) + (other[:, 1] - other[:, 0] ** 2)
    needed = 2.0 * spread / (one[:, 0] - other[:, 0]) ** 2
    return dict(zip(("1 / rank of the first click", "clicks"), needed.tolist(), strict=True))
