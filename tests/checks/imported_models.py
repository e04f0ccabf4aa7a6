"""Imported models of LightGBM, XGBoost and CatBoost against the `predict` of their owners, bit for bit.

    python tests/checks/imported_models.py

It needs lightgbm, xgboost, catboost and pandas. Each model is compared on rows with missing values, in the form in
which it is imported: the estimator, its booster, a file, or an estimator that was pickled. Where an objective
transforms the sum, the owner's raw score is the one that is compared. Exit code 1 where a score differs, or a model is
refused that should not be.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import catboost
import lightgbm
import numpy as np
import pandas as pd
import scipy.sparse
import xgboost

import rerank
from rerank.errors import RerankError
from rerank.rankers.ranker import Ranker

QUERIES, ROWS, FEATURES = 40, 20, 5
GROUPS = [ROWS] * QUERIES
QID = np.repeat(np.arange(QUERIES), ROWS)
NAMES = ["title match", "body mass index", "größe", "a-b", "x|y"]
MISSING = (np.nan, 0.0, -1.0, -999.0, 99999.0)


class Case(NamedTuple):
    """What is imported, its rows, and the owner's scores of them; `refused` where no import can hold it."""

    name: str
    source: Any
    rows: Any
    scores: Any
    refused: bool = False


def collection(missing: float = np.nan) -> tuple[Any, Any]:
    """Return features, of which two fifths are a value that means missing, and labels that depend on that."""
    random = np.random.default_rng(5)
    X = np.round(random.normal(size=(len(QID), FEATURES)), 2).astype(np.float32)
    gone = random.random(X.shape) < 0.4
    y = np.digitize(X[:, 0] + 0.6 * gone[:, 1] + 0.5 * random.normal(size=len(QID)), [0.0, 1.0])
    X[gone] = missing
    return X, y


def frame(missing: float = np.nan) -> tuple[Any, Any]:
    """Return features as a frame whose names have blanks and other letters, with two columns of categories."""
    X, y = collection(missing)
    random = np.random.default_rng(6)
    table = pd.DataFrame(X, columns=NAMES)
    colours = random.choice(["red", "green", "blue"], len(y))
    table["its colour"] = pd.Categorical(colours)
    table["one"] = pd.Categorical(["same"] * len(y))
    return table, y + (colours == "red")


def xgb(X: Any, y: Any, **parameters: Any) -> Any:
    """Return a fitted XGBRanker, stopped early where it is asked to be."""
    settings = {"n_estimators": 8, "max_depth": 3, "verbosity": 0, **parameters}
    ranker = xgboost.XGBRanker(**settings)
    if "early_stopping_rounds" not in parameters:
        return ranker.fit(X, y, qid=QID)
    half = len(y) // 2
    valid = {"eval_set": [(X[half:], y[half:])], "eval_qid": [QID[half:]]}
    return ranker.fit(X[:half], y[:half], qid=QID[:half], verbose=False, **valid)


def xgb_forms(name: str, ranker: Any, rows: Any, folder: Path) -> Iterator[Case]:
    """Yield an estimator of XGBoost in all its forms."""
    yield Case(f"xgboost {name}: estimator", ranker, rows, ranker.predict(rows))
    yield Case(f"xgboost {name}: pickle", pickle.loads(pickle.dumps(ranker)), rows, ranker.predict(rows))
    for ending in ("json", "ubj"):
        path = folder / f"{name}.{ending}"
        ranker.save_model(path)
        loaded = xgboost.XGBRanker(enable_categorical=True)
        loaded.load_model(path)
        yield Case(f"xgboost {name}: {ending}", path, rows, loaded.predict(rows))
    booster = ranker.get_booster()
    matrix = xgboost.DMatrix(rows, enable_categorical=True)
    yield Case(f"xgboost {name}: booster", booster, rows, booster.predict(matrix))
    booster.save_model(folder / f"{name}.booster.json")
    loaded = xgboost.Booster(model_file=folder / f"{name}.booster.json")
    yield Case(f"xgboost {name}: booster's file", folder / f"{name}.booster.json", rows, loaded.predict(matrix))


def xgboost_cases(folder: Path) -> Iterator[Case]:
    """Yield models of XGBoost."""
    for missing in MISSING:
        X, y = collection(missing)
        ranker = xgb(X, y, missing=missing)
        yield Case(f"xgboost missing={missing}: estimator", ranker, X, ranker.predict(X))
        base = rerank.LambdaMART(n_estimators=1, base=ranker).fit(X, y, qid=QID)
        yield Case(f"xgboost missing={missing}: base", base.base_.model, X, ranker.predict(X))
    X, y = collection()
    yield from xgb_forms("plain", xgb(X, y), X, folder)
    stopped = {"n_estimators": 60, "early_stopping_rounds": 4, "learning_rate": 0.6}
    yield from xgb_forms("stopped", xgb(X, y, **stopped), X, folder)
    yield from xgb_forms("forest stopped", xgb(X, y, num_parallel_tree=3, subsample=0.7, **stopped), X, folder)
    yield from xgb_forms("dart", xgb(X, y, booster="dart", rate_drop=0.3), X, folder)
    table, labels = frame()
    yield from xgb_forms("frame", xgb(table, labels, enable_categorical=True), table, folder)
    sparse = scipy.sparse.csr_matrix(np.nan_to_num(X))
    for missing in (np.nan, -999.0):
        ranker = xgb(sparse, y, missing=missing)
        yield Case(f"xgboost sparse missing={missing}: estimator", ranker, sparse, ranker.predict(sparse))
    booster = ranker.get_booster()
    yield Case("xgboost sparse: booster", booster, sparse, booster.predict(xgboost.DMatrix(sparse)))
    yield Case(
        "xgboost sparse: LETOR text", booster, letor(sparse, y, folder), booster.predict(xgboost.DMatrix(sparse))
    )
    for objective in ("rank:pairwise", "rank:map", "reg:squarederror", "binary:logistic", "count:poisson"):
        settings = {"objective": objective, "max_depth": 3, "verbosity": 0, "base_score": 0.3}
        of_labels = y > 0 if objective in ("binary:logistic", "rank:map") else y
        booster = xgboost.train(settings, xgboost.DMatrix(X, of_labels, qid=QID), 5)
        yield Case(f"xgboost {objective}: booster", booster, X, booster.predict(xgboost.DMatrix(X), output_margin=True))
    linear = xgboost.XGBRanker(booster="gblinear", n_estimators=3, verbosity=0).fit(np.nan_to_num(X), y, qid=QID)
    yield Case("xgboost gblinear: estimator", linear, X, None, refused=True)


def letor(sparse: Any, y: Any, folder: Path) -> rerank.RankingData:
    """Return rows that were written as LETOR text, without zeros."""
    path = folder / "rows.svm"
    with open(path, "w", encoding="utf-8") as file:
        for number, label in enumerate(y):
            row = sparse[number]
            pairs = " ".join(
                f"{column + 1}:{value!r}" for column, value in zip(row.indices, row.data.tolist(), strict=True)
            )
            file.write(f"{label} qid:{QID[number]} {pairs}\n")
    return rerank.read_data(path)


def lgb_forms(name: str, ranker: Any, rows: Any, folder: Path, **options: Any) -> Iterator[Case]:
    """Yield an estimator of LightGBM in all its forms."""
    scores = ranker.predict(rows, **options)
    yield Case(f"lightgbm {name}: estimator", ranker, rows, scores)
    yield Case(f"lightgbm {name}: pickle", pickle.loads(pickle.dumps(ranker)), rows, scores)
    booster = ranker.booster_
    yield Case(f"lightgbm {name}: booster", booster, rows, booster.predict(rows, **options))
    for what, number in (("text", None), ("text of all trees", -1)):
        path = folder / f"{name}.{what}.txt"
        booster.save_model(path, num_iteration=number)
        loaded = lightgbm.Booster(model_file=path)
        yield Case(f"lightgbm {name}: {what}", path, rows, loaded.predict(rows, **options))


def lightgbm_cases(folder: Path) -> Iterator[Case]:
    """Yield models of LightGBM."""
    X, y = collection()
    zeros = np.nan_to_num(X)
    fit: dict[str, Any] = {"group": GROUPS}
    common: dict[str, Any] = {"n_estimators": 8, "num_leaves": 7, "verbose": -1}
    yield from lgb_forms("plain", lightgbm.LGBMRanker(**common).fit(X, y, **fit), X, folder)
    for parameters in ({"zero_as_missing": True}, {"use_missing": False}, {"boosting_type": "dart"}):
        name = "-".join(parameters)
        ranker = lightgbm.LGBMRanker(**common, **parameters).fit(zeros, y, **fit)
        yield from lgb_forms(name, ranker, zeros, folder)
    half = len(y) // 2
    stopped = lightgbm.LGBMRanker(**{**common, "n_estimators": 60, "learning_rate": 0.6}).fit(
        X[:half],
        y[:half],
        group=GROUPS[: QUERIES // 2],
        eval_set=[(X[half:], y[half:])],
        eval_group=[GROUPS[QUERIES // 2 :]],
        callbacks=[lightgbm.early_stopping(4, verbose=False)],
    )
    yield from lgb_forms("stopped", stopped, X, folder)
    table, labels = frame()
    yield from lgb_forms("frame", lightgbm.LGBMRanker(**common).fit(table, labels, **fit), table, folder)
    sparse = scipy.sparse.csr_matrix(zeros)
    yield from lgb_forms("sparse", lightgbm.LGBMRanker(**common).fit(sparse, y, **fit), sparse, folder)
    binary = lightgbm.train({"objective": "binary", **common}, lightgbm.Dataset(X, y > 0), 5)
    yield Case("lightgbm binary: booster", binary, X, binary.predict(X, raw_score=True))
    linear = lightgbm.train(
        {"objective": "lambdarank", "linear_tree": True, **common}, lightgbm.Dataset(zeros, y, group=GROUPS), 5
    )
    yield Case("lightgbm linear_tree: booster", linear, zeros, None, refused=True)
    ours = rerank.LambdaMART(n_estimators=5).fit(pd.DataFrame(X, columns=NAMES), y, qid=QID)
    rerank.export_model(ours, folder / "ours.txt", "lightgbm")
    owner = lightgbm.Booster(model_file=folder / "ours.txt")
    yield Case(
        "lightgbm of an export with blanks: text", folder / "ours.txt", pd.DataFrame(X, columns=NAMES), owner.predict(X)
    )


def cat(X: Any, y: Any, names: Any = None, **parameters: Any) -> Any:
    """Return a fitted CatBoostRanker."""
    settings = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, **parameters}
    pool = catboost.Pool(X, y, group_id=QID, feature_names=names)
    valid = pool if "early_stopping_rounds" in parameters else None
    return catboost.CatBoostRanker(**settings).fit(pool, eval_set=valid)


def catboost_cases(folder: Path) -> Iterator[Case]:
    """Yield models of CatBoost."""
    X, y = collection()
    for name, ranker in {
        "NaN least": cat(X, y, nan_mode="Min"),
        "NaN greatest": cat(X, y, nan_mode="Max"),
        "stopped": cat(X, y, iterations=60, learning_rate=0.7, early_stopping_rounds=4),
        "names with blanks": cat(X, y, NAMES),
    }.items():
        yield Case(f"catboost {name}: estimator", ranker, X, ranker.predict(X))
        yield Case(f"catboost {name}: pickle", pickle.loads(pickle.dumps(ranker)), X, ranker.predict(X))
        ranker.save_model(folder / f"{name}.json", format="json")
        yield Case(f"catboost {name}: json", folder / f"{name}.json", X, ranker.predict(X))
    sparse = scipy.sparse.csr_matrix(np.nan_to_num(X))
    ranker = cat(sparse, y)
    yield Case("catboost sparse: estimator", ranker, sparse, ranker.predict(sparse))
    scaled = cat(X, y)
    scaled.set_scale_and_bias(0.5, 1.3)  # a power of two: with others, each leaf is rounded
    yield Case("catboost scale: estimator", scaled, X, scaled.predict(X))
    scaled.set_scale_and_bias(1.0, 1.3)
    yield Case("catboost bias: estimator", scaled, X, scaled.predict(X))
    ranker.save_model(folder / "model.cbm")
    yield Case("catboost binary file: cbm", folder / "model.cbm", X, None, refused=True)
    yield Case("catboost lossguide: estimator", cat(X, y, grow_policy="Lossguide"), X, None, refused=True)
    with open(folder / "model.pkl", "wb") as file:
        pickle.dump(ranker, file)
    yield Case("catboost pickle file: pkl", folder / "model.pkl", X, None, refused=True)


def outcome(case: Case) -> str:
    """Return `equal`, `refused` with the reason, or how much the scores differ."""
    try:
        model = case.source if isinstance(case.source, Ranker) else rerank.import_model(case.source)
        got = model.predict(case.rows)
    except RerankError as error:
        return f"{'refused' if case.refused else 'REFUSED'}: {error}"
    if case.refused:
        return "ACCEPTED what has no scores here"
    if np.array_equal(np.asarray(got, np.float64), np.asarray(case.scores, np.float64)):
        return "equal"
    return f"DIFFERENT by up to {np.abs(got - case.scores).max():.3g}"


def main() -> int:
    """Compare all models; return the exit code."""
    warnings.simplefilter("ignore")
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for cases in (xgboost_cases, lightgbm_cases, catboost_cases):
            for case in cases(Path(name)):
                result = outcome(case)
                outcomes[result.split(" ")[0].rstrip(":")] += 1
                print(f"{case.name}: {result}")
    print(", ".join(f"{count} {what}" for what, count in sorted(outcomes.items())), f"of {outcomes.total()}")
    return int(not set(outcomes) <= {"equal", "refused"})


if __name__ == "__main__":
    sys.exit(main())
