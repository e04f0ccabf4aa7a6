"""The largest difference of predictions under changes that carry no information, for every ranker.

    python -m tests.checks.invariance [--examples 200]

Data are arrays without document ids, of few queries and rows, with many equal values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

SMALL = {"min_child_samples": 2, "n_estimators": 8, "num_leaves": 5}
RANKERS: Mapping[str, Mapping[str, Any]] = {
    "lambdamart": {**SMALL, "subsample": 0.7, "colsample_bytree": 0.6},
    "mart": {**SMALL, "objective": "ranknet"},
    "gbrank": SMALL,
    "logistrank": SMALL,
    "rankboost": {"n_estimators": 8},
    "ranknet": {"n_epochs": 3, "hidden_units": 4},
    "lambdarank": {"n_epochs": 3, "hidden_units": 4},
    "ranksvm": {},
    "logisticregression": {},
    "plackettluce": {},
    "coordinateascent": {"n_restarts": 2, "max_iter": 3},
    "ensemble": {"members": "2*lambdamart(min_child_samples=2, n_estimators=4, num_leaves=4, subsample=0.5), ranksvm"},
    "auto": {"n_folds": 2},
}
OF_TREES = {"lambdamart", "mart", "gbrank", "logistrank", "rankboost"}


class Arrays(NamedTuple):
    """What `fit` and `predict` take."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    weights: np.ndarray
    parameters: Mapping[str, Any] = {}


def _permuted_rows(data: Arrays, random: np.random.Generator) -> Arrays:
    order = random.permutation(len(data.y))
    return data._replace(X=data.X[order], y=data.y[order], qid=data.qid[order], weights=data.weights[order])


def _with_column(data: Arrays, random: np.random.Generator, column: np.ndarray) -> Arrays:
    return data._replace(X=np.insert(data.X, random.integers(data.X.shape[1] + 1), column, axis=1))


def _mapped(map_of: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays, np.random.Generator], Arrays]:
    return lambda data, random: data._replace(X=map_of(data.X.astype(np.float64)).astype(np.float32))


def _renumbered(data: Arrays, random: np.random.Generator) -> Arrays:
    X = data.X.copy()
    X[:, 0] = random.permutation(20)[X[:, 0].astype(int)]
    return data._replace(X=X)


LAWS: Mapping[str, Callable[[Arrays, np.random.Generator], Arrays]] = {
    "rows": _permuted_rows,
    "queries' names": lambda data, random: data._replace(qid=random.permutation(20)[data.qid]),
    "constant column": lambda data, random: _with_column(data, random, random.choice([0.0, 3.5, np.nan])),
    "repeated column": lambda data, random: _with_column(data, random, data.X[:, random.integers(data.X.shape[1])]),
    "columns permuted": lambda data, random: data._replace(X=data.X[:, random.permutation(data.X.shape[1])]),
    "x -> 2x": _mapped(lambda X: 2.0 * X),
    "x -> x**3": _mapped(lambda X: X**3),
    "x -> log": _mapped(lambda X: np.log(X + 1.0)),
    "weights * 2": lambda data, random: data._replace(weights=2.0 * data.weights),
    "labels mapped": lambda data, random: data._replace(y=np.exp(data.y)),
    "categories renumbered": _renumbered,
    "threads": lambda data, random: data._replace(parameters={"n_jobs": 1}),
}
RANKS_ALONE = {"x -> x**3", "x -> log"}  # what trees read of a feature, and sums of standardized values do not
REGULARISED = {"ranknet", "lambdarank", "ranksvm", "logisticregression", "plackettluce", "auto", "ensemble"}


def holds_for(name: str, law: str) -> bool:
    """Return whether a law is one of the ranker: some learn from more than the law keeps."""
    if law == "categories renumbered":
        return name in OF_TREES - {"rankboost"}
    if law == "labels mapped":
        return name == "mart" or name in ("rankboost", "ranknet", "ranksvm", "gbrank")
    if law == "weights * 2":
        return name not in REGULARISED
    return law not in RANKS_ALONE or name in OF_TREES


def example(random: np.random.Generator) -> Arrays:
    """Return rows of a few queries, whose features have few values and whose labels are 0 to 2."""
    sizes = random.integers(2, 9, random.integers(4, 8))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = random.integers(0, random.choice([4, 17]), (len(qid), random.integers(2, 5))).astype(np.float32)
    X[:, 1:][random.random((len(X), X.shape[1] - 1)) < 0.05] = np.nan
    y = random.integers(0, 3, len(qid)).astype(np.float64)
    y[[0, 1, -1, -2]] = 0.0, 1.0, 0.0, 1.0  # something to learn
    X[:2, 0] = 0.0, 1.0
    return Arrays(X, y, qid, np.repeat(random.choice([0.5, 1.0, 3.0], len(sizes)), sizes))


def scores(name: str, law: str, data: Arrays) -> np.ndarray:
    """Return the scores that a ranker gives the rows that it was trained on."""
    from rerank.rankers.registry import ranker_class  # here: other libraries are compared where rerank is not installed

    parameters = {**RANKERS[name], **data.parameters}
    if law == "categories renumbered":
        parameters["categorical_feature"] = [0]
    model = ranker_class(name)(**parameters)
    return model.fit(data.X, data.y, qid=data.qid, sample_weight=data.weights).predict(data.X)


def largest_difference(law: str, examples: int, scores_of: Callable[[Arrays], np.ndarray]) -> float:
    """Return the largest difference that a change makes to the scores of the training rows."""
    largest = 0.0
    for seed in range(examples):
        data = example(np.random.default_rng(seed))
        changed = LAWS[law](data, np.random.default_rng(seed))
        before = scores_of(data)
        if law == "rows":
            before = before[np.random.default_rng(seed).permutation(len(before))]
        largest = max(largest, float(np.abs(before - scores_of(changed)).max()))
    return largest


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS))
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    arguments = parser.parse_args()
    print("| change | " + " | ".join(arguments.rankers) + " |")
    print("|---" * (len(arguments.rankers) + 1) + "|")
    for law in arguments.laws:
        cells = (
            f"{largest_difference(law, arguments.examples, partial(scores, name, law)):.2g}"
            if holds_for(name, law)
            else "-"
            for name in arguments.rankers
        )
        print(f"| {law} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
