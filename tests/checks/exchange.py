"""Exports and imports against the real LightGBM, XGBoost, ONNX Runtime, CatBoost and shap.

    python -m tests.checks.exchange [--rows 100000]

Three models that are trained here are exported to the formats whose library scores them in Python (tests/exchange
walks the files of the others). Rows: the training data, random ones, and values on thresholds, one float to either
side, missing, infinite. An order is that of a list of 100 rows by score as float32, equal scores in the order of the
rows. Ends with 1 where a check fails that must hold: equal float32 scores and no other order for formats that sum in
float64, a difference of at most 1e-5 of the largest score for XGBoost, which sums in float32 (and no other order with
split leaves), and the same scores bit for bit after export and import. Forty models with categories, constraints,
kinds of missing values and DART must have their owner's scores bit for bit, read as objects and from files, and after
an export back to the owner; linear leaves and statistics of categories are refused. Their times are those of 1,000
rows on one thread. Data: MQ2008 in ../shared/data/letor, or in the folder letor of $RERANK_TEST_DATA.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NEEDED = {
    "lightgbm": "lightgbm", "xgboost": "xgboost-cpu", "onnx": "onnx", "onnxruntime": "onnxruntime",
    "catboost": "catboost", "shap": "shap",
}  # fmt: skip
missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
if missing:
    sys.exit(f"exchange: expected {', '.join(NEEDED.values())}, got none of: pip install {' '.join(missing)}")

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import xgboost  # noqa: E402
from tabulate import tabulate  # noqa: E402

import rerank  # noqa: E402
from rerank.exchange.models import tree_model  # noqa: E402
from tests.checks import DATA  # noqa: E402
from tests.exchange.rows import boundary_rows  # noqa: E402

LIST = 100  # rows of a list whose order is compared
MARGIN = 1e-5  # share of the largest score by which float32 sums may differ


def main() -> int:
    """Run the checks and print the tables; return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, metavar="N", help="random rows")
    given = parser.parse_args()
    data = rerank.read_data(DATA / "letor" / "mq2008" / "S1.txt")
    models = train_models(data)
    with tempfile.TemporaryDirectory() as folder:
        failures = check_exports(models, data, given.rows, Path(folder))
        failures += check_contributions(models, data.X[:1000], Path(folder))
        failures += check_real_models(Path(folder))
    print(f"{failures} failures")
    return min(failures, 1)


def with_missing(data: Any) -> Any:
    """Return the data with a tenth of the values of every other feature missing."""
    X = data.X.copy()
    gone = np.random.default_rng(0).random(X.shape) < 0.1
    gone[:, ::2] = False
    X[gone] = np.nan
    return replace(data, X=X)


def train_models(data: Any) -> dict[str, Any]:
    """Return three models: cold; warm, from another model; 1,000 trees on data with missing values."""
    base = rerank.MART(n_estimators=50, num_leaves=15).fit(data)
    large = rerank.LambdaMART(n_estimators=1000, num_leaves=15, learning_rate=0.05)
    return {
        "cold": rerank.LambdaMART(n_estimators=100, num_leaves=15).fit(data),
        "warm": rerank.LambdaMART(n_estimators=100, num_leaves=15, base=base).fit(data),
        "1,000 trees, missing": large.fit(with_missing(data)),
    }


def rows_for(data: Any, n_random: int, forest: Any, infinite: bool = False) -> np.ndarray:
    """Return rows of the data, random ones, and those on thresholds of a forest, some with infinite values."""
    random, n_features = np.random.default_rng(1), data.X.shape[1]
    drawn = data.X[random.integers(0, len(data.X), (n_random, n_features)), np.arange(n_features)]
    drawn = drawn + random.normal(scale=1e-3, size=drawn.shape).astype(np.float32)
    drawn[random.random(drawn.shape) < 0.05] = np.nan
    parts = [data.X[: len(data.X) // LIST * LIST], drawn[: n_random // LIST * LIST]]
    if forest is not None:
        parts.append(boundary_rows(forest, n_features, 20_000))
    if infinite:
        beyond = boundary_rows(forest, n_features, LIST * 10, seed=2)
        some = random.random(beyond.shape) < 0.2
        beyond[some] = np.where(random.random(some.sum()) < 0.5, np.inf, -np.inf)
        parts.append(beyond)
    return np.concatenate(parts).astype(np.float32)


def compared(scores: np.ndarray, expected: np.ndarray) -> tuple[float, float, int]:
    """Return the largest difference, the share of equal float32 scores, and how many lists have another order."""
    single = [each.astype(np.float32) for each in (scores, expected)]
    orders = [np.argsort(-each.reshape(-1, LIST), axis=1, kind="stable") for each in single]
    n_others = int((orders[0] != orders[1]).any(axis=1).sum())
    return float(np.abs(scores - expected).max()), float((single[0] == single[1]).mean()), n_others


def check_exports(models: dict[str, Any], data: Any, n_random: int, folder: Path) -> int:
    """Print a table of the exports; return the number of failures."""
    table = []
    for kind, model in models.items():
        for title, score in SCORERS.items():
            path, (name, _, split) = folder / "model", title.partition(" ")
            rerank.export_model(model, path, name, split_leaves=bool(split))
            X = rows_for(data, n_random, tree_model(model, "check").forest, infinite=name != "xgboost")
            expected, scores = exact_scores(model, X), score(path, X)
            difference, same, orders = compared(scores, expected)
            apart = difference > MARGIN * np.abs(expected).max() if name == "xgboost" else same < 1.0
            again = again_of(path, name, X, scores)
            fails = again == "no" or apart or (orders > 0 and (split or name != "xgboost"))
            table.append([kind, title, len(X), difference, same, orders, again, "FAILS" if fails else ""])
    print(f"\nExports; lists of {LIST} rows; imported: the file read here scores as its owner, bit for bit")
    head = ["model", "format", "rows", "largest difference", "equal float32", "other orders", "imported", ""]
    print(tabulate(table, head, floatfmt=".3g"))
    return sum(row[-1] != "" for row in table)


def check_contributions(models: dict[str, Any], X: np.ndarray, folder: Path) -> int:
    """Print how far SHAP values of exports are from the model's contributions; return the number of failures."""
    import shap

    table = []
    for kind, model in models.items():
        expected, scores = model.contributions(X), model.predict(X)
        for name, booster in (("lightgbm", lightgbm.Booster), ("xgboost", xgboost.Booster)):
            path = folder / f"shap.{'txt' if name == 'lightgbm' else 'json'}"
            rerank.export_model(model, path, name)
            explainer = shap.TreeExplainer(booster(model_file=path))
            values = explainer.shap_values(X)
            sums = np.abs(values.sum(axis=1) + explainer.expected_value - scores).max()
            apart = np.abs(values - expected[:, :-1]).max()
            fails = not max(sums, apart) <= MARGIN * max(np.abs(scores).max(), 1.0)
            table.append([kind, name, sums, apart, "FAILS" if fails else ""])
    print("\nSHAP values of exports (shap.TreeExplainer); apart: from model.contributions")
    print(tabulate(table, ["model", "format", "sum less score", "apart", ""], floatfmt=".2g"))
    return sum(row[-1] != "" for row in table)


def exact_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the model's scores, of infinite values too, which `predict` refuses."""
    base = getattr(model.base_, "model", None)
    return (0.0 if base is None else exact_scores(base, X)) + model._scores(X)


def again_of(path: Path, name: str, X: np.ndarray, scores: np.ndarray) -> str:
    """Return whether an import of the export scores as its owner, and another export and import the same."""
    if name == "onnx":
        return "not read"
    model, again = rerank.import_model(path, format=name), path.with_suffix(".again")
    rerank.export_model(model, again, name)
    ours, twice = model._scores(X), rerank.import_model(again, format=name)._scores(X)
    return "yes" if np.array_equal(ours, twice) and np.array_equal(ours.astype(scores.dtype), scores) else "no"


def by_lightgbm(path: Path, X: np.ndarray) -> np.ndarray:
    return lightgbm.Booster(model_file=path).predict(X)


def by_xgboost(path: Path, X: np.ndarray) -> np.ndarray:
    return xgboost.Booster(model_file=bytearray(path.read_bytes())).predict(xgboost.DMatrix(X))


def by_onnxruntime(path: Path, X: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})[0][:, 0]


SCORERS = {
    "lightgbm": by_lightgbm,
    "xgboost": by_xgboost,
    "xgboost --split-leaves": by_xgboost,
    "onnx": by_onnxruntime,
}


CODES, FEW_CODES = 4, 5  # columns of categories of the data of the forty models
COLUMNS = 20
TREES = 200
UP = [1, 0, -1] + [0] * (COLUMNS - 3)
LIGHTGBM: dict[str, dict[str, Any]] = {
    "regression": {},
    "lambdarank": {"objective": "lambdarank"},
    "one-hot only": {"max_cat_to_onehot": 200},
    "small groups": {"min_data_per_group": 10, "cat_smooth": 1.0, "cat_l2": 1.0, "max_cat_threshold": 100},
    "depth 4": {"max_depth": 4},
    "255 leaves": {"num_leaves": 255},
    "monotone": {"monotone_constraints": UP},
    "monotone advanced": {"monotone_constraints": UP, "monotone_constraints_method": "advanced"},
    "interaction": {"interaction_constraints": [[0, 1, CODES], [FEW_CODES, 6, 7, 8]]},
    "use_missing=false": {"use_missing": False},
    "zero_as_missing": {"zero_as_missing": True},
    "dart": {"boosting": "dart", "drop_rate": 0.2},
    "goss": {"data_sample_strategy": "goss"},
    "rf": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
    "extra_trees": {"extra_trees": True},
    "path_smooth": {"path_smooth": 1.0},
    "lambda_l1": {"lambda_l1": 2.0, "lambda_l2": 3.0},
}
XGBOOST: dict[str, dict[str, Any]] = {
    "squared error": {},
    "rank:ndcg": {"objective": "rank:ndcg"},
    "one-hot only": {"max_cat_to_onehot": 200},
    "large sets": {"max_cat_threshold": 200},
    "depth 3": {"max_depth": 3},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 63, "max_depth": 0},
    "monotone": {"monotone_constraints": str(tuple(UP))},
    "interaction": {"interaction_constraints": str([[0, 1, CODES], [FEW_CODES, 6, 7, 8]])},
    "dart": {"booster": "dart", "rate_drop": 0.2},
    "dart forest": {"booster": "dart", "rate_drop": 0.5, "normalize_type": "forest"},
    "no missing": {},
    "approx": {"tree_method": "approx"},
    "subsample": {"subsample": 0.5, "colsample_bytree": 0.5},
    "logistic": {"objective": "reg:logistic"},
}
CATBOOST: dict[str, dict[str, Any]] = {
    "numbers": {"numbers": True},
    "numbers, nan_mode Max": {"numbers": True, "nan_mode": "Max"},
    "monotone": {"numbers": True, "monotone_constraints": {"0": 1, "2": -1}},
    "categories": {},
    "categories, nan_mode Max": {"nan_mode": "Max"},
    "categories, depth 4": {"depth": 4},
    "categories, depth 8": {"depth": 8},
    "categories, RMSE of two": {"l2_leaf_reg": 10.0, "random_strength": 0.0},
    "categories, 64 borders": {"border_count": 64},
}


def drawn_rows(seed: int, n_rows: int, unknown: bool) -> np.ndarray:
    """Return numbers and two categories, with missing values; `unknown`: also categories that training lacks."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, COLUMNS)).astype(np.float32)
    X[:, CODES] = np.floor((150 if unknown else 120) * random.random(n_rows) ** 2)
    X[:, FEW_CODES] = random.integers(0, 5 if unknown else 4, n_rows)
    X[:, 6:9] = np.round(X[:, 6:9])
    return X


def real_models() -> dict[str, tuple[Any, Any]]:
    """Return forty models by name, each with what scores rows as its owner does."""
    X, random = drawn_rows(0, 6000, unknown=False), np.random.default_rng(1)
    effect = random.normal(size=120)
    y = effect[X[:, CODES].astype(int)] + (X[:, FEW_CODES] == 2) + X[:, 0] + X[:, 1] * X[:, 6]
    y = np.clip(np.floor(y + random.normal(size=len(y))), 0, 4).astype(np.float64)
    sizes = np.full(len(y) // 20, 20)
    gaps = X.copy()
    gaps[random.random(X.shape) < 0.05] = np.nan
    made: dict[str, tuple[Any, Any]] = {}
    for name, more in LIGHTGBM.items():
        settings = {"objective": "regression", "num_leaves": 31, "verbose": -1, "num_threads": 1, "seed": 1, **more}
        group = sizes if settings["objective"] == "lambdarank" else None
        rows = lightgbm.Dataset(gaps, y, group=group, categorical_feature=[CODES, FEW_CODES])
        booster = lightgbm.train(settings, rows, TREES)
        made[f"LightGBM {name}"] = booster, lambda Z, b=booster: b.predict(Z, num_threads=1)
    kinds = ["c" if column in (CODES, FEW_CODES) else "q" for column in range(COLUMNS)]
    for name, more in XGBOOST.items():
        target = y / 4 if name == "logistic" else y
        rows = xgboost.DMatrix(
            X if name == "no missing" else gaps, target, feature_types=kinds, enable_categorical=True
        )
        if more.get("objective") == "rank:ndcg":
            rows.set_group(sizes)
        settings = {"objective": "reg:squarederror", "max_depth": 6, "nthread": 1, "tree_method": "hist", "seed": 1}
        settings |= more
        trained = xgboost.train(settings, rows, TREES)
        trained.set_param({"nthread": 1})
        made[f"XGBoost {name}"] = (
            trained,
            lambda Z, b=trained: b.predict(xgboost.DMatrix(Z, nthread=1), output_margin=True),
        )
    numbers = np.delete(gaps, [CODES, FEW_CODES], axis=1)
    for name, more in CATBOOST.items():
        only_numbers = "numbers" in more
        own = {key: value for key, value in more.items() if key != "numbers"}
        made[f"CatBoost {name}"] = catboost_model(numbers if only_numbers else with_text(gaps, X), y, only_numbers, own)
    return made


def with_text(gaps: np.ndarray, X: np.ndarray) -> Any:
    """Return rows as CatBoost takes them: whole numbers in place of the categories, of which none is missing."""
    rows = gaps.astype(object)
    for column in (CODES, FEW_CODES):
        rows[:, column] = X[:, column].astype(int)
    return rows


def catboost_model(rows: Any, y: np.ndarray, only_numbers: bool, more: dict[str, Any]) -> tuple[Any, Any]:
    """Return a model of CatBoost's, and what scores rows."""
    from catboost import CatBoostRegressor, Pool

    settings = {"iterations": TREES, "depth": 6, "one_hot_max_size": 255, "max_ctr_complexity": 1, **more}
    model = CatBoostRegressor(**settings, verbose=False, thread_count=1, allow_writing_files=False, random_seed=1)
    model.fit(Pool(rows, y, cat_features=None if only_numbers else [CODES, FEW_CODES]))

    def score(Z: np.ndarray) -> np.ndarray:
        if only_numbers:
            return model.predict(Z, thread_count=1)
        return model.predict(Pool(with_text(Z, Z), cat_features=[CODES, FEW_CODES]), thread_count=1)

    return model, score


def check_real_models(folder: Path) -> int:
    """Print a table of the forty models, read as objects and from their files; return the number of failures."""
    table, random = [], np.random.default_rng(3)
    for name, (owner, score) in real_models().items():
        X = drawn_rows(2, 5000, unknown=True)
        gaps = random.random(X.shape) < 0.05
        if name.startswith("CatBoost"):
            gaps[:, [CODES, FEW_CODES]] = False
        X[gaps] = np.nan
        X = np.delete(X, [CODES, FEW_CODES], axis=1) if "CatBoost numbers" in name or name == "CatBoost monotone" else X
        models, expected = [rerank.import_model(source) for source in sources_of(name, owner, folder)], score(X)
        for model in models:
            model.n_jobs = 1
        equal = all(np.array_equal(model.predict(X).astype(expected.dtype), expected) for model in models)
        back = written_back(models[0], name, X, expected, folder)
        some = np.ascontiguousarray(X[:1000])
        rows = owners_rows(name, some)
        theirs = best_time(lambda owner=owner, rows=rows, name=name: owners_time(name, owner, rows), 20)
        here = best_time(lambda model=models[0], some=some: model.predict(some), 30)
        fails = not equal or back == "no"
        figures = len(models[0].forest_.categories), "yes" if equal else "no", back, theirs, here, theirs / here
        table.append([name, len(models), *figures, "FAILS" if fails else ""])
    print(f"\n{len(table)} models made here; equal: scores of 5,000 rows bit for bit; microseconds for 1,000 rows")
    head = ["trained by", "forms", "categories", "equal", "exported back", "owner", "here", "ratio", ""]
    print(tabulate(table, head, floatfmt=".1f"))
    refused = refused_models()
    print("\n".join(refused))
    return sum(row[-1] != "" for row in table) + sum("expected" not in line for line in refused)


def written_back(model: Any, name: str, X: np.ndarray, expected: np.ndarray, folder: Path) -> str:
    """Return whether the owner scores the model that is exported back to it as before."""
    if name.startswith("LightGBM"):
        rerank.export_model(model, folder / "back.txt", "lightgbm")
        scores = lightgbm.Booster(model_file=folder / "back.txt").predict(X, num_threads=1)
    elif name.startswith("XGBoost"):
        rerank.export_model(model, folder / "back.json", "xgboost")
        scores = xgboost.Booster(model_file=folder / "back.json").predict(xgboost.DMatrix(X))
    else:
        return "not written"
    return "yes" if np.array_equal(scores, expected) else "no"


def owners_rows(name: str, X: np.ndarray) -> Any:
    """Return rows as an owner scores them fastest."""
    if name.startswith("CatBoost categories"):
        from catboost import Pool

        return Pool(with_text(X, X), cat_features=[CODES, FEW_CODES])
    return X


def owners_time(name: str, owner: Any, rows: Any) -> Any:
    """Score rows by the owner, on one thread."""
    if name.startswith("LightGBM"):
        return owner.predict(rows, num_threads=1)
    if name.startswith("XGBoost"):
        return owner.predict(xgboost.DMatrix(rows, nthread=1), output_margin=True)
    return owner.predict(rows, thread_count=1)


def refused_models() -> list[str]:
    """Return the errors of the models that cannot be imported."""
    from catboost import CatBoostRegressor, Pool

    X = drawn_rows(0, 3000, unknown=False)
    y = X[:, 0] + np.sin(X[:, CODES])
    linear = lightgbm.train({"linear_tree": True, "verbose": -1}, lightgbm.Dataset(X, y), 5)
    gblinear = xgboost.train({"booster": "gblinear", "updater": "coord_descent"}, xgboost.DMatrix(X, y), 5)
    statistics = CatBoostRegressor(iterations=20, verbose=False, allow_writing_files=False)
    statistics.fit(Pool(with_text(X, X), y, cat_features=[CODES, FEW_CODES]))
    lines = []
    for name, owner in (("LightGBM linear_tree", linear), ("XGBoost gblinear", gblinear), ("CatBoost", statistics)):
        try:
            rerank.import_model(owner)
            lines.append(f"{name}: read")
        except rerank.RerankError as error:
            lines.append(f"refused: {name}: {error}")
    return lines


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
    if name.startswith("CatBoost"):
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


if __name__ == "__main__":
    sys.exit(main())
