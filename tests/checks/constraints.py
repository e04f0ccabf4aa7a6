"""Monotone constraints over random models and rows: how many sweeps of a constrained feature go against its direction.

    python -m tests.checks.constraints [--sweeps 1000000] [--quick]

A model is trained on random rows with random directions of half of the features (which the labels do not follow),
with every boosted ranker in turn: also by line search, from a base, with rows drawn, and as members of an ensemble. A
sweep scores one row at up to 24 values that a constrained feature has in the data, just below each, and beyond both
ends. Free models are counted beside the constrained ones, to show that the labels ask for violations. Exit code 1
where a constrained model has one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import RankingData, pointers
from rerank.types.ids import id_array

N_FEATURES, N_QUERIES, LENGTH, N_ROWS = 8, 30, 20, 500
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in known_rankers() if issubclass(ranker_class(name), BoostedTrees)},
    "lambdamart, line search": ("lambdamart", {"step": "line-search"}),
    "lambdamart from a base": ("lambdamart", {"base": "run", "start": "base"}),
    "lambdamart beside a base": ("lambdamart", {"base": "run"}),
    "lambdamart, queries drawn": ("lambdamart", {"subsample": 0.6, "colsample_bytree": 0.6}),
    "lambdamart, rows drawn": ("lambdamart", {"data_sample_strategy": "mvs", "subsample": 0.5}),
}
ENSEMBLE = "ensemble"


def random_data(random: np.random.Generator) -> RankingData:
    """Return rows whose labels depend on products of features, with a tenth of the values missing."""
    n_rows = N_QUERIES * LENGTH
    X = random.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    X[:, 1::2] = np.round(X[:, 1::2], 1)
    utility = (X @ random.normal(size=N_FEATURES)) + X[:, 0] * X[:, 1] - X[:, 2] ** 2 + random.normal(size=n_rows)
    X[random.random(X.shape) < 0.1] = np.nan
    return RankingData(
        query_ids=id_array([f"q{number:02}" for number in range(N_QUERIES)]),
        query_ptr=pointers(np.full(N_QUERIES, LENGTH)),
        doc_ids=id_array([f"d{number:02}" for number in range(LENGTH)] * N_QUERIES),
        X=X,
        feature_names=tuple(f"f{number}" for number in range(N_FEATURES)),
        labels=np.digitize(utility, np.quantile(utility, (0.6, 0.8, 0.95))).astype(np.float64),
        base_scores=random.normal(size=n_rows),
    )


def trained(name: str, data: RankingData, directions: Mapping[str, int] | None, seed: int) -> rerank.Ranker:
    """Return the model of a variant."""
    random = np.random.default_rng(seed)
    given: dict[str, Any] = {
        "n_estimators": 10,
        "num_leaves": int(random.integers(3, 16)),
        "min_child_samples": 3,
        "learning_rate": float(random.choice([0.05, 0.1, 0.5])),
        "reg_lambda": float(random.choice([0.0, 1.0])),
        "monotone_constraints": directions,
        "random_state": seed,
        "n_jobs": 1,
    }
    if name == ENSEMBLE:
        members = [rerank.LambdaMART(**given), rerank.MART(**given)]
        return rerank.Ensemble(members=members).fit(data)
    kind, options = VARIANTS[name]
    return ranker_class(kind)(**given, **options).fit(data)


def violations(model: rerank.Ranker, data: RankingData, directions: Mapping[str, int], seed: int) -> tuple[int, int]:
    """Return the number of sweeps, and of those that go against a direction at a step or more."""
    rows = data.X[np.random.default_rng(seed).integers(0, data.n_rows, N_ROWS)]
    n_sweeps = n_against = 0
    for name, direction in directions.items():
        column = data.feature_names.index(name)
        present = np.unique(data.X[~np.isnan(data.X[:, column]), column])
        chosen = present[np.linspace(0, len(present) - 1, min(len(present), 24)).astype(int)]
        below = np.nextafter(chosen, np.float32(-np.inf))
        values = np.unique(np.concatenate([[present[0] - 1], below, chosen, [present[-1] + 1]]).astype(np.float32))
        swept = np.repeat(rows, len(values), axis=0)
        swept[:, column] = np.tile(values, len(rows))
        steps = np.diff(model.predict(swept, init_score=np.zeros(len(swept))).reshape(len(rows), -1), axis=1)
        n_sweeps += len(rows)
        n_against += int((direction * steps < 0.0).any(axis=1).sum())
    return n_sweeps, n_against


def main() -> None:
    """Print the counts of each variant."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="one model of each kind")
    given = parser.parse_args()
    names = (*VARIANTS, ENSEMBLE)
    models, sweeps, against, free_against = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    seed = 0
    while seed < len(names) or (not given.quick and sweeps.total() < given.sweeps):
        name, random = names[seed % len(names)], np.random.default_rng(seed)
        data = random_data(random)
        chosen = random.permutation(N_FEATURES)[: N_FEATURES // 2]
        directions = {f"f{number}": int(random.choice([-1, 1])) for number in chosen}
        bound = violations(trained(name, data, directions, seed), data, directions, seed)
        models[name] += 1
        sweeps[name] += bound[0]
        against[name] += bound[1]
        if models[name] == 1:
            free_against[name] = violations(trained(name, data, None, seed), data, directions, seed)[1]
        seed += 1
    rows = [[name, models[name], sweeps[name], against[name], free_against[name]] for name in names]
    rows.append(["all", models.total(), sweeps.total(), against.total(), free_against.total()])
    print(tabulate(rows, ["ranker", "models", "sweeps", "against", "against by one free model"]))
    sys.exit(against.total() > 0)


if __name__ == "__main__":
    main()
