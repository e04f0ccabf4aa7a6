#!/usr/bin/env python
"""Exports and imports against the real LightGBM, XGBoost, ONNX Runtime, treelite, CatBoost, scikit-learn and shap.

    scripts/check_exchange.py [--rows 100000] [--no-timing]

Three models trained here (cold; warm, from another model; 1,000 trees on data with missing values) are exported to
every format and scored by its library, or by a walk of the file as its owner documents it where there is none for
Python (named "walk"). Models that the libraries trained are imported and scored here. Rows: the training data, random
ones, and values on thresholds, one float to either side, missing, infinite. An order is that of a list of 100 rows by
score as float32, equal scores in the order of the rows.

Ends with 1 where a check fails that must hold: equal float32 scores and no other order for formats that sum in float64,
a difference of at most 1e-5 of the largest score for those that sum in float32 (and no other order with split leaves),
the same scores bit for bit after export and import, and those of the owner after an import.
Data: MQ2008 in ../shared/data/letor, or in the folder letor of $RERANK_TEST_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

NEEDED = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost-cpu",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "treelite": "treelite",
    "catboost": "catboost",
    "sklearn": "scikit-learn",
    "shap": "shap",
}
missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
if missing:
    sys.exit(f"check_exchange: expected {', '.join(NEEDED.values())}, got none of: pip install {' '.join(missing)}")

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import treelite  # noqa: E402
import xgboost  # noqa: E402
from tabulate import tabulate  # noqa: E402

import rerank  # noqa: E402
from rerank.exchange import treelite as treelite_format  # noqa: E402
from rerank.exchange.write import boundary_rows, tree_model  # noqa: E402
from rerank.rankers.imported import ImportedTrees  # noqa: E402
from tests.oracles import exchange as walks  # noqa: E402

LIST = 100  # rows of a list whose order is compared
MARGIN = 1e-5  # share of the largest score that float32 sums may differ by
SINGLE = ("xgboost", "xgboost-dump", "vespa", "ranklib", "solr")
BELOW = (
    "xgboost",
    "xgboost-dump",
    "vespa",
)  # infinite values are refused by XGBoost, and have no exact `x < threshold`
ZERO_READS = ("ranklib", "quickrank")  # a missing value is 0
BOUNDARY = 20_000


@dataclass
class Rows:
    """Rows to score: all, and which of them hold an infinite value."""

    X: np.ndarray
    infinite: np.ndarray


def main() -> int:
    """Run the checks and print the tables; return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, metavar="N", help="random rows")
    parser.add_argument("--no-timing", action="store_true")
    given = parser.parse_args()
    versions = [f"{module.__name__} {module.__version__}" for module in (lightgbm, xgboost, onnxruntime, treelite)]
    print(", ".join(versions))
    data = read_data()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        failures += check_exports(data, given.rows, Path(folder))
        failures += check_contributions(data, Path(folder))
        failures += check_imports(data, given.rows, Path(folder))
        failures += check_checkpoints(data, Path(folder))
    if not given.no_timing:
        print_timing(data)
    print(f"{failures} failures")
    return min(failures, 1)


def read_data() -> Any:
    """Return one part of MQ2008, half of whose features have missing values."""
    folder = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "letor" / "mq2008" / "S1.txt"
    if not path.is_file():
        sys.exit(f"check_exchange: expected {path}, got nothing there. Set RERANK_TEST_DATA to the folder of letor.")
    return rerank.read_data(path)


def with_missing(data: Any) -> Any:
    """Return the data with a tenth of the values of every other feature missing."""
    X = data.X.copy()
    gone = np.random.default_rng(0).random(X.shape) < 0.1
    gone[:, ::2] = False
    X[gone] = np.nan
    return replace(data, X=X)


def train_models(data: Any) -> dict[str, Any]:
    """Return the three models."""
    cold = rerank.LambdaMART(n_estimators=100, num_leaves=15).fit(data)
    base = rerank.MART(n_estimators=50, num_leaves=15).fit(data)
    warm = rerank.LambdaMART(n_estimators=100, num_leaves=15, base=base).fit(data)
    gaps = with_missing(data)
    large = rerank.LambdaMART(n_estimators=1000, num_leaves=15, learning_rate=0.05).fit(gaps)
    return {"cold": cold, "warm": warm, "1,000 trees, missing": large}


def rows_for(forest: Any, data: Any, n_random: int) -> Rows:
    """Return rows of the data, random ones, and those on thresholds, the last with infinite values."""
    random = np.random.default_rng(1)
    n_features = data.X.shape[1]
    on = boundary_rows(forest, n_features, BOUNDARY)
    infinite = boundary_rows(forest, n_features, LIST * 10, seed=2)
    some = random.random(infinite.shape) < 0.2
    infinite[some] = np.where(random.random(some.sum()) < 0.5, np.inf, -np.inf)
    drawn = data.X[random.integers(0, len(data.X), (n_random, n_features)), np.arange(n_features)]
    drawn = drawn + random.normal(scale=1e-3, size=drawn.shape).astype(np.float32)
    drawn[random.random(drawn.shape) < 0.05] = np.nan
    whole = len(data.X) // LIST * LIST
    X = np.concatenate([data.X[:whole], drawn[: n_random // LIST * LIST], on, infinite]).astype(np.float32)
    return Rows(X, np.arange(len(X)) >= len(X) - len(infinite))


def orders_that_differ(one: np.ndarray, other: np.ndarray) -> int:
    """Return how many lists of LIST rows have another order."""
    orders = [
        np.argsort(-scores.astype(np.float32).reshape(-1, LIST), axis=1, kind="stable") for scores in (one, other)
    ]
    return int((orders[0] != orders[1]).any(axis=1).sum())


def check_exports(data: Any, n_random: int, folder: Path) -> int:
    """Print a table of the exports; return the number of failures."""
    table, failures = [], 0
    for kind, model in train_models(data).items():
        rows = rows_for(tree_model(model, "check").forest, data, n_random)
        for name, (library, score) in SCORERS.items():
            path = folder / "model"
            name, _, split = name.partition(" ")
            zero = name in ZERO_READS
            rerank.export_model(model, path, name, missing_as_zero=zero, split_leaves=bool(split))
            X = np.nan_to_num(rows.X, nan=0.0, posinf=np.inf, neginf=-np.inf) if zero else rows.X
            X = X[~rows.infinite] if name in BELOW else X
            expected = exact_scores(model, X)
            scores = score(path, X, model)
            difference, largest = np.abs(scores - expected).max(), np.abs(expected).max()
            same = (scores.astype(np.float32) == expected.astype(np.float32)).mean()
            orders = orders_that_differ(scores, expected)
            again = again_of(path, name, X, scores)
            apart = difference > MARGIN * largest if name in SINGLE else same < 1.0
            fails = again == "no" or apart or (orders > 0 and (split or name not in SINGLE))
            failures += bool(fails)
            table.append(
                [
                    kind,
                    f"{name} {split}".strip(),
                    library,
                    len(X),
                    f"{difference:.2g}",
                    f"{100 * same:.4g} %",
                    orders,
                    again,
                    "FAILS" if fails else "",
                ]
            )
    head = ["model", "format", "scored by", "rows", "largest difference", "equal float32", "other orders", "imported"]
    print(f"\nExports; lists of {LIST} rows; imported: the file read here scores as its owner, bit for bit")
    print(tabulate(table, [*head, ""]))
    return failures


def check_contributions(data: Any, folder: Path) -> int:
    """Print how far SHAP values of exports are from the model's contributions; return the number of failures."""
    import shap

    table, failures, X = [], 0, data.X[:1000]
    for kind, model in train_models(data).items():
        expected, scores = model.contributions(X), model.predict(X)
        for name, path in (("lightgbm", folder / "shap.txt"), ("xgboost", folder / "shap.json")):
            rerank.export_model(model, path, name)
            booster = (lightgbm.Booster if name == "lightgbm" else xgboost.Booster)(model_file=path)
            explainer = shap.TreeExplainer(booster)
            values = explainer.shap_values(X)
            sums = np.abs(values.sum(axis=1) + explainer.expected_value - scores).max()
            apart = np.abs(values - expected[:, :-1]).max()
            fails = not np.isfinite(values).all() or max(sums, apart) > MARGIN * max(np.abs(scores).max(), 1.0)
            failures += bool(fails)
            table.append([kind, name, f"{sums:.2g}", f"{apart:.2g}", "FAILS" if fails else ""])
    print("\nSHAP values of exports (shap.TreeExplainer); apart: from model.contributions")
    print(tabulate(table, ["model", "format", "sum less score", "apart", ""]))
    return failures


def check_checkpoints(data: Any, folder: Path) -> int:
    """Read damaged checkpoints of treelite, which crash or hang its library; return the number of failures."""
    path, ends, slowest = folder / "damaged.tl", Counter[str](), 0.0
    rerank.export_model(rerank.MART(n_estimators=2, num_leaves=8).fit(data), path, "treelite")
    content, random = path.read_bytes(), np.random.default_rng(0)
    damages = [
        (2689, b"\xff\xff\xff\x7f"),
        *((int(at), random.bytes(4)) for at in random.integers(0, len(content), 30)),
    ]
    treelite_format.SECONDS = 3
    for at, new in damages:
        path.write_bytes((content[:at] + new + content[at + len(new) :])[: len(content)])
        start = time.perf_counter()
        try:
            rerank.import_model(path, format="treelite")
            ends["read"] += 1
        except rerank.RerankError as error:
            ends["not read in time" if "is not read in" in str(error) else "refused"] += 1
            ends["in several lines"] += "\n" in str(error)
        slowest = max(slowest, time.perf_counter() - start)
    print(f"\nDamaged checkpoints of treelite, {len(content)} bytes: {dict(ends)}; the slowest took {slowest:.1f} s")
    return int(ends["in several lines"] > 0 or slowest > 2 * treelite_format.SECONDS)


def exact_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the model's scores, of infinite values too, which `predict` refuses."""
    base = getattr(model.base_, "model", None)
    return (0.0 if base is None else exact_scores(base, X)) + model._scores(X)


def again_of(path: Path, name: str, X: np.ndarray, scores: np.ndarray) -> str:
    """Return whether an import of the export scores as its owner, and another export and import the same."""
    if name in ("onnx", "elasticsearch", "vespa"):
        return "not read"
    model = rerank.import_model(path, format=name, feature_names=FEATURES if name == "xgboost-dump" else None)
    rerank.export_model(model, path.with_suffix(".again"), name)
    twice = rerank.import_model(
        path.with_suffix(".again"), format=name, feature_names=FEATURES if name == "xgboost-dump" else None
    )
    ours = model._scores(X)
    same = np.array_equal(ours, twice._scores(X)) and np.array_equal(ours.astype(scores.dtype), scores)
    return "yes" if same else "no"


FEATURES = tuple(str(number) for number in range(1, 47))


def by_lightgbm(path: Path, X: np.ndarray, model: Any) -> np.ndarray:
    return lightgbm.Booster(model_file=path).predict(X)


def by_xgboost(path: Path, X: np.ndarray, model: Any) -> np.ndarray:
    path = path.rename(path.with_suffix(".json"))
    scores = xgboost.Booster(model_file=path).predict(xgboost.DMatrix(X))
    path.rename(path.with_suffix(""))
    return scores


def by_onnxruntime(path: Path, X: np.ndarray, model: Any) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[0][:, 0]


def by_treelite(path: Path, X: np.ndarray, model: Any) -> np.ndarray:
    built = treelite.Model.deserialize(path)
    return treelite.gtil.predict(built, X.astype(np.float64)).reshape(-1)


SCORERS = {
    "lightgbm": ("LightGBM", by_lightgbm),
    "xgboost": ("XGBoost", by_xgboost),
    "xgboost --split-leaves": ("XGBoost", by_xgboost),
    "onnx": ("ONNX Runtime", by_onnxruntime),
    "treelite": ("treelite GTIL", by_treelite),
    "xgboost-dump": ("walk", lambda path, X, model: walks.xgboost_dump(path.read_bytes(), FEATURES).score(X)),
    "vespa": ("walk", lambda path, X, model: walks.xgboost_dump(path.read_bytes(), FEATURES).score(X)),
    "ranklib": ("walk", lambda path, X, model: walks.ranklib(path.read_bytes()).score(X)),
    "quickrank": ("walk", lambda path, X, model: walks.quickrank(path.read_bytes()).score(X)),
    "solr": ("walk", lambda path, X, model: walks.solr(path.read_bytes()).score(X)),
    "elasticsearch": ("walk", lambda path, X, model: walks.elasticsearch(path.read_bytes()).score(X)),
}


def owners(data: Any) -> dict[str, tuple[Any, Any]]:
    """Return models that the libraries trained, with what scores rows."""
    from catboost import CatBoostRegressor
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor

    gaps = with_missing(data)
    X, y, sizes = gaps.X, gaps.labels, np.diff(gaps.query_ptr)
    full = data.X
    made: dict[str, tuple[Any, Any]] = {}
    for name, more in (
        ("LightGBM lambdarank", {}),
        ("LightGBM zero_as_missing", {"zero_as_missing": True}),
        ("LightGBM use_missing=false", {"use_missing": False}),
        ("LightGBM rf", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7, "objective": "regression"}),
    ):
        settings = {"objective": "lambdarank", "num_leaves": 31, "verbose": -1, "num_threads": 2, **more}
        booster = lightgbm.train(settings, lightgbm.Dataset(X, y, group=sizes), 200)
        made[name] = booster, booster.predict
    rows = xgboost.DMatrix(X, y)
    rows.set_group(sizes)
    for objective in ("rank:ndcg", "reg:squarederror"):
        settings = {"objective": objective, "max_depth": 6, "gamma": 0.1, "nthread": 2}
        trained = xgboost.train(settings, rows, 200)
        made[f"XGBoost {objective}"] = trained, lambda Z, trained=trained: trained.predict(xgboost.DMatrix(Z))
    cat = CatBoostRegressor(iterations=200, depth=6, verbose=False, thread_count=2, allow_writing_files=False)
    cat.fit(X, y)
    made["CatBoost"] = cat, cat.predict
    forest = RandomForestRegressor(50, max_leaf_nodes=63, random_state=0).fit(X, y)
    made["scikit-learn random forest"] = forest, forest.predict
    boosted = GradientBoostingRegressor(n_estimators=100, random_state=0).fit(full, y)
    made["scikit-learn gradient boosting"] = boosted, lambda Z: boosted.predict(np.nan_to_num(Z))
    histogram = HistGradientBoostingRegressor(max_iter=100).fit(X, y)
    made["scikit-learn histogram boosting"] = histogram, histogram.predict
    return made


def check_imports(data: Any, n_random: int, folder: Path) -> int:
    """Print a table of the imports; return the number of failures."""
    table, failures = [], 0
    for name, (owner, score) in owners(data).items():
        for source in sources_of(name, owner, folder):
            model = rerank.import_model(source)
            rows = rows_for(model.forest_, data, n_random)
            X = rows.X[~rows.infinite]
            expected = score(X)
            X = np.nan_to_num(X) if "gradient boosting" in name else X
            ours = model._scores(X)
            single = model.forest_.leaf_value.dtype == np.float32
            path = folder / "own.json"
            model.save(path)
            kept = np.array_equal(rerank.read_model(path)._scores(X), ours)
            same = (ours.astype(np.float32) == expected.astype(np.float32)).mean()
            difference, orders = np.abs(ours - expected).max(), orders_that_differ(ours, expected)
            fails = same < 1.0 or orders > 0 or not kept
            failures += bool(fails)
            what = source.suffix if isinstance(source, Path) else "object"
            table.append(
                [
                    f"{name}, {what}",
                    len(X),
                    f"{difference:.2g}",
                    f"{100 * same:.4g} %",
                    orders,
                    "float32" if single else "float64",
                    "FAILS" if fails else "",
                ]
            )
    print("\nImports; sums: the type in which the owner sums")
    print(
        tabulate(
            table, ["trained and scored by", "rows", "largest difference", "equal float32", "other orders", "sums", ""]
        )
    )
    return failures


def sources_of(name: str, owner: Any, folder: Path) -> list[Any]:
    """Return the model as an object and in its files."""
    sources: list[Any] = [owner]
    if name.startswith("LightGBM"):
        sources.append(folder / "owner.txt")
        owner.save_model(sources[-1])
    if name.startswith("XGBoost"):
        for ending in ("json", "ubj"):
            sources.append(folder / f"owner.{ending}")
            owner.save_model(sources[-1])
        loaded = treelite.frontend.load_xgboost_model(folder / "owner.json")
        assert loaded.num_tree == owner.num_boosted_rounds()
    if name == "CatBoost":
        sources.append(folder / "catboost.json")
        owner.save_model(str(sources[-1]), format="json")
    return sources


def best_time(call: Any, repeats: int) -> float:
    """Return the shortest time of a call in microseconds."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def print_timing(data: Any) -> None:
    """Print the time of `predict` here and of LightGBM, one thread each."""
    gaps = with_missing(data)
    settings = {"objective": "lambdarank", "num_leaves": 31, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(gaps.X, gaps.labels, group=np.diff(gaps.query_ptr)), 500)
    model: ImportedTrees = rerank.import_model(booster, feature_names=[str(n) for n in range(1, 47)])
    model.n_jobs = 1
    table = []
    for n_rows, repeats in ((1000, 30), (1, 2000)):
        X = np.ascontiguousarray(gaps.X[:n_rows])
        theirs = best_time(lambda X=X: booster.predict(X, num_threads=1), repeats)
        ours = best_time(lambda X=X: model.predict(X), repeats)
        table.append([n_rows, f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f}"])
    print(
        "\nA LightGBM model of 500 trees x 31 leaves, 46 features, float32 rows; one thread; best of many, microseconds"
    )
    print(
        tabulate(table, ["rows", "Booster.predict(X, num_threads=1)", "imported: model.predict(X), n_jobs=1", "ratio"])
    )


if __name__ == "__main__":
    sys.exit(main())
