#!/usr/bin/env python
"""RankNet's update from summed lambdas compared with the update pair by pair, at 50, 200 and 800 documents a query.

The number of documents is the same each time, 80 % of label 0, 15 % of 1 and 5 % of 2, 46 features. Before a time
counts, both gradients of a query must agree. The summed update is the product's own, an epoch of `RankNet.fit`; pair by
pair, each pair's two documents go through the net and back, many pairs in one NumPy call.

    scripts/bench_ranknet.py [--quick] [--output FIGURES.json]
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from bench_common import arguments, machine, ratio, report, seconds
from threadpoolctl import threadpool_limits

from rerank.objectives.ranknet import RankNetObjective
from rerank.rankers.nets import Net, RankNet
from rerank.types import RankingData, pointers
from rerank.types.ids import id_array

SIZES, N_FEATURES, HIDDEN = (50, 200, 800), 46, 32
PAIRS_AT_ONCE = 1 << 13
EPOCHS = 4


def main() -> None:
    """Time an epoch of each kind at each size, and report."""
    given = arguments(__doc__)
    n_rows = 8_000 if given.quick else 80_000
    ratios: list[dict[str, Any]] = []
    figures: dict[str, Any] = {"machine": machine("numpy", "numba"), "documents": n_rows}
    RankNet(n_epochs=1).fit(generate(100, 50))  # compiles, where that was not done yet
    for size in SIZES:
        data = generate(n_rows, size)
        check(data)
        ours = epoch_seconds(data, 1 if given.quick else 5)
        theirs = pairwise_seconds(data)
        ratios.append(ratio(f"{n_rows:,} documents, {size} a query", "pair by pair", ours, theirs))
        figures[f"pairs_{size}"] = n_pairs(data)
    times = [line["ours_s"] for line in ratios]
    figures["seconds_at_800_over_50"] = times[-1] / times[0]
    figures["seconds_at_800_over_50_pair_by_pair"] = ratios[-1]["theirs_s"] / ratios[0]["theirs_s"]
    report(ratios, figures, given.output)


def generate(n_rows: int, size: int) -> RankingData:
    """Return documents whose labels follow some of their features."""
    random = np.random.default_rng(size)
    X = random.standard_normal((n_rows, N_FEATURES)).astype(np.float32)
    value = X[:, 0] + np.tanh(X[:, 1] * X[:, 2]) + random.standard_normal(n_rows)
    counts = np.full(n_rows // size, size)
    return RankingData(
        query_ids=id_array([f"q{number}" for number in range(len(counts))]),
        query_ptr=pointers(counts),
        doc_ids=id_array([f"d{number}" for number in range(n_rows)]),
        X=X,
        feature_names=tuple(f"f{number}" for number in range(N_FEATURES)),
        labels=np.searchsorted(np.quantile(value, (0.8, 0.95)), value).astype(np.float64),
    )


def epoch_seconds(data: RankingData, repeats: int) -> float:
    """Return the seconds of an epoch: what more epochs cost, so that reading and standardizing are left out."""
    jobs = {str(epochs): (lambda epochs=epochs: RankNet(n_epochs=epochs).fit(data)) for epochs in (1, 1 + EPOCHS)}
    times = seconds(jobs, repeats)
    return (times[str(1 + EPOCHS)] - times["1"]) / EPOCHS


def pairwise_seconds(data: RankingData) -> float:
    """Return the seconds of an epoch pair by pair, from the time of as many queries as take about two seconds."""
    net = drawn()
    with threadpool_limits(1, user_api="blas"):
        start, done = time.perf_counter(), 0
        while done < len(data) and time.perf_counter() - start < 2.0:
            pairwise_gradient(net, *query(data, done))
            done += 1
    return (time.perf_counter() - start) * len(data) / done


def pairwise_gradient(net: Net, inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the mean over pairs of the gradient, each pair through the net on its own."""
    better, worse = np.nonzero(labels[:, None] > labels)
    total = np.zeros(len(net.weights))
    for first in range(0, len(better), PAIRS_AT_ONCE):
        above, below = (inputs[rows[first : first + PAIRS_AT_ONCE]] for rows in (better, worse))
        high, low = net.activations(above), net.activations(below)
        lambdas = -1.0 / (1.0 + np.exp((high - low) @ net.output))
        total += net.gradient(above, high, lambdas) - net.gradient(below, low, lambdas)
    return total / max(1, len(better))


def check(data: RankingData) -> None:
    """Stop unless summed lambdas give the gradient of all pairs."""
    net, (inputs, labels) = drawn(), query(data, 0)
    activations = net.activations(inputs)
    lambdas, curvatures = np.empty(len(labels)), np.empty(len(labels))
    count = np.count_nonzero(labels[:, None] > labels)
    objective = RankNetObjective(pointers([len(labels)]), np.array([1.0 / max(1, count)]), labels)
    objective.gradients(activations @ net.output, lambdas, curvatures)
    ours, theirs = net.gradient(inputs, activations, lambdas), pairwise_gradient(net, inputs, labels)
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12)


def drawn() -> Net:
    """Return a net with some weight everywhere."""
    random = np.random.default_rng(0)
    return Net(random.standard_normal((N_FEATURES + 2) * HIDDEN) / np.sqrt(N_FEATURES), HIDDEN)


def query(data: RankingData, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels of one query."""
    rows = slice(int(data.query_ptr[number]), int(data.query_ptr[number + 1]))
    return data.X[rows].astype(np.float64), data.labels[rows]


def n_pairs(data: RankingData) -> int:
    """Return the number of pairs with different labels."""
    return sum(
        int(np.count_nonzero(labels[:, None] > labels)) for labels in (query(data, q)[1] for q in range(len(data)))
    )


if __name__ == "__main__":
    main()
