"""Models with categories, written and read: LightGBM's, XGBoost's and CatBoost's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError
from rerank.exchange.catboost import _city_hash
from rerank.exchange.registry import TreeModel, known_formats
from rerank.rankers.imported_trees import ImportedTrees
from rerank.trees.forest import Forest
from tests.exchange.conftest import NAMES, _moderate, random_tree
from tests.exchange.rows import boundary_rows
from tests.oracles import exchange as walks, trees as oracle
from tests.trees.test_categories import random_sets

OTHERS = [
    name for name, kind in known_formats().items() if kind.writes and not kind.linear_only and not kind.categories
]


def model_with_sets(seed: int, most: int = 90, missing_right: bool = True) -> ImportedTrees:
    """Return a model of random trees whose features 1 and 2 are categories."""
    random = np.random.default_rng(seed)
    trees = [random_sets(random_tree(random, int(random.integers(1, 40))), random, most) for _ in range(6)]
    trees = [replace(tree, threshold=np.where(_moderate(tree), tree.threshold, np.float32(0.75))) for tree in trees]
    forest = Forest.of(trees)
    if missing_right:
        forest = replace(forest, missing_left=forest.missing_left & ~np.isin(forest.feature, (1, 2)))
    return ImportedTrees.of(TreeModel(forest, len(NAMES), constant=float(random.normal())), NAMES, "random")


def rows(model: ImportedTrees) -> np.ndarray:
    return boundary_rows(model.forest_, len(NAMES), 500)


@pytest.mark.parametrize("seed", range(4))
def test_lightgbm_holds_sets_exactly(seed: int, tmp_path: Path) -> None:
    model, path = model_with_sets(seed), tmp_path / "model.txt"
    rerank.export_model(model, path, "lightgbm")
    scores = model.predict(rows(model))
    np.testing.assert_array_equal(walks.lightgbm(path.read_bytes()).score(rows(model)), scores)
    np.testing.assert_array_equal(rerank.import_model(path).predict(rows(model)), scores)
    np.testing.assert_array_equal(
        scores, model.constant_ + np.array([oracle.score(model.forest_, row) for row in rows(model)])
    )


@pytest.mark.parametrize("seed", range(4))
def test_xgboost_holds_sets_exactly(seed: int, tmp_path: Path) -> None:
    model, path = model_with_sets(seed, missing_right=False), tmp_path / "model.json"
    rerank.export_model(model, path, "xgboost")
    again = rerank.import_model(path)
    scores = again.predict(rows(model))
    np.testing.assert_array_equal(walks.xgboost(path.read_bytes()).score(rows(model)), scores.astype(np.float32))
    np.testing.assert_allclose(scores, model.predict(rows(model)), rtol=1e-5, atol=1e-5)
    rerank.export_model(again, tmp_path / "again.json", "xgboost")
    np.testing.assert_array_equal(rerank.import_model(tmp_path / "again.json").predict(rows(model)), scores)


def test_a_trained_model_with_a_base_is_exported(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(1500, 4)).astype(np.float32), np.repeat(np.arange(75), 20)
    X[:, 2] = random.integers(0, 30, 1500)
    y = np.clip(np.round(np.sin(X[:, 2]) + X[:, 0]), 0, 3)
    small: dict[str, Any] = {"n_estimators": 5, "min_child_samples": 3, "categorical_feature": [2]}
    base = rerank.MART(**small).fit(X, y, qid=qid)
    model = rerank.LambdaMART(**small, base=base).fit(X, y, qid=qid)
    rerank.export_model(model, tmp_path / "model.txt", "lightgbm")
    again = rerank.import_model(tmp_path / "model.txt")
    assert again.forest_.categories.tolist() == [2]
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)
    again.save(tmp_path / "own.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "own.json").predict(X), again.predict(X))


@pytest.mark.parametrize("format", OTHERS)
def test_other_formats_refuse_categories_in_one_line(format: str, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInputError, match=r"got a model with categories\. Export it as lightgbm or xgboost"
    ) as caught:
        rerank.export_model(model_with_sets(0), tmp_path / "model", format)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_lightgbm_cannot_say_of_missing_categories_is_refused(tmp_path: Path) -> None:
    model = model_with_sets(0, missing_right=False)
    with pytest.raises(InvalidInputError, match="lightgbm: expected missing categories that go where unknown ones go"):
        rerank.export_model(model, tmp_path / "model.txt", "lightgbm")
    with pytest.raises(InvalidInputError, match="missing_as_zero: expected a model without categories"):
        rerank.export_model(model, tmp_path / "model.txt", "lightgbm", missing_as_zero=True)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("categories", [70_000], "expected categories from 0 to 65535, got [70000, "),
        ("categories_nodes", [], "expected a whole model file, got a damaged one, or one of another form (KeyError"),
        ("split_type", [2], "tree 2: expected a whole model file, got a damaged one, or one of another form (KeyError"),
    ],
)
def test_damaged_sets_of_xgboost_are_refused(key: str, value: list[int], words: str, tmp_path: Path) -> None:
    rerank.export_model(model_with_sets(1), tmp_path / "model.json", "xgboost")
    stored = json.loads((tmp_path / "model.json").read_text())
    for tree in stored["learner"]["gradient_booster"]["model"]["trees"]:
        if tree["categories"]:
            tree[key] = value + tree[key][len(value) :] if value else []
            for other in ("categories_segments", "categories_sizes") if not value else ():
                tree[other] = []
    (tmp_path / "model.json").write_text(json.dumps(stored))
    with pytest.raises(FileFormatError) as caught:
        rerank.import_model(tmp_path / "model.json")
    assert words in str(caught.value)


def test_an_empty_set_sends_all_to_one_side(tmp_path: Path) -> None:
    model = model_with_sets(2)
    rerank.export_model(model, tmp_path / "model.json", "xgboost")
    stored = json.loads((tmp_path / "model.json").read_text())
    for tree in stored["learner"]["gradient_booster"]["model"]["trees"]:
        tree["categories_sizes"] = [0] * len(tree["categories_sizes"])
    (tmp_path / "model.json").write_text(json.dumps(stored))
    again = rerank.import_model(tmp_path / "model.json")
    expected = walks.xgboost((tmp_path / "model.json").read_bytes()).score(rows(model))
    assert not len(again.forest_.categories)
    np.testing.assert_array_equal(again.predict(rows(model)).astype(np.float32), expected)


def test_weights_of_dart_multiply_in_float32(tmp_path: Path) -> None:
    model = model_with_sets(3)
    rerank.export_model(model, tmp_path / "model.json", "xgboost")
    stored = json.loads((tmp_path / "model.json").read_text())
    plain, booster = walks.xgboost(json.dumps(stored).encode()), stored["learner"]["gradient_booster"]
    weights = np.random.default_rng(0).random(len(plain.trees)).astype(np.float32)
    stored["learner"]["gradient_booster"] = {"name": "dart", "gbtree": booster, "weight_drop": weights.tolist()}
    (tmp_path / "dart.json").write_text(json.dumps(stored))
    scores = np.full(500, plain.start, np.float32)
    for tree, weight in zip(plain.trees, weights, strict=True):
        scores += walks.Model([tree], dtype=np.float32).score(rows(model)) * weight
    np.testing.assert_array_equal(rerank.import_model(tmp_path / "dart.json").predict(rows(model)), scores)


def catboost_file(path: Path, split: dict[str, Any]) -> Path:
    """Write a tree of one split, on a category in column 1 or the number in column 0."""
    info = {
        "float_features": [{"feature_index": 0, "flat_feature_index": 0}],
        "categorical_features": [{"feature_index": 0, "flat_feature_index": 1, "values": []}],
    }
    tree = {"leaf_values": [1.0, 2.0], "leaf_weights": [3, 4], "splits": [split]}
    path.write_text(json.dumps({"features_info": info, "oblivious_trees": [tree], "scale_and_bias": [1, [0.5]]}))
    return path


@pytest.mark.parametrize(("code", "value"), [(40, 1435255456), (1, 1121341681), (17, 3854130209), (41, 3338554974)])
def test_one_category_of_catboost_is_known_by_its_hash(code: int, value: int, tmp_path: Path) -> None:
    """The hashes are those of CatBoost 1.2.10."""
    assert _city_hash(str(code).encode()) % 2**32 == value
    for stored in (value, value - 2**32 if value >= 2**31 else value):
        split = {"split_type": "OneHotFeature", "cat_feature_index": 0, "value": stored}
        model = rerank.import_model(catboost_file(tmp_path / "model.json", split))
        X = np.array([[0, code], [0, code + 1], [0, np.nan], [9, 60_000]], np.float32)
        np.testing.assert_array_equal(model.predict(X), [2.5, 1.5, 1.5, 1.5])


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ({"split_type": "OnlineCtr", "border": 1.0}, "expected splits of numbers or of one category"),
        ({"split_type": "OneHotFeature", "cat_feature_index": 0, "value": 1}, "expected categories from 0 to 65535"),
        ({"split_type": "OneHotFeature", "cat_feature_index": 1, "value": 1435255456}, "(IndexError: "),
    ],
)
def test_other_splits_of_catboost_are_refused(split: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        rerank.import_model(catboost_file(tmp_path / "model.json", split))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lightgbms_own_model_with_categories_keeps_its_scores(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed; tests/checks/exchange.py covers it")
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 4))
    X[:, 1], X[:, 2] = random.integers(0, 70, 2000), random.integers(0, 3, 2000)
    X[random.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(np.sin(X[:, 1]) + (X[:, 2] == 1) + X[:, 0])
    settings = {"verbose": -1, "num_threads": 1, "min_data_per_group": 20}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y, categorical_feature=[1, 2]), 20)
    model = rerank.import_model(booster)
    assert model.forest_.categories.tolist() == [1, 2]
    X[:50, 1], X[50:90, 2] = 500, 9
    np.testing.assert_array_equal(model.predict(X), booster.predict(X.astype(np.float32)))
    rerank.export_model(model, tmp_path / "model.txt", "lightgbm")
    again = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(again.predict(X.astype(np.float32)), model.predict(X))


def frames(n: int = 2000) -> tuple[Any, Any, np.ndarray]:
    """A frame with a category column, the same rows with its categories in the reverse order, and labels."""
    pd, random = pytest.importorskip("pandas"), np.random.default_rng(1)
    code = random.integers(0, 30, n)
    frame = pd.DataFrame({"a": random.normal(size=n).astype(np.float32)})
    frame["kind"] = pd.Categorical.from_codes(code, [f"k{number:02}" for number in range(30)])
    other = frame.assign(kind=frame.kind.cat.reorder_categories(frame.kind.cat.categories[::-1]))
    return frame, other, np.digitize(random.normal(size=30)[code] + random.normal(size=n), [0.5, 1.5])


def test_categories_of_a_frame_are_read_and_written_with_lightgbms_file(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    frame, other, y = frames()
    theirs = lightgbm.LGBMRanker(n_estimators=10, verbose=-1).fit(frame, y, group=[20] * 100)
    model = rerank.import_model(theirs)
    assert model.categories_ == {"kind": [f"k{number:02}" for number in range(30)]}
    for rows in (frame, other):
        np.testing.assert_array_equal(model.predict(rows), theirs.predict(rows))
    ours = rerank.LambdaMART(n_estimators=10).fit(frame, y, qid=np.repeat(np.arange(100), 20))
    for number, each in enumerate((model, ours)):
        path = tmp_path / f"{number}.txt"
        rerank.export_model(each, path, "lightgbm")
        booster, again = lightgbm.Booster(model_file=path), rerank.import_model(path)
        for rows in (frame, other):
            np.testing.assert_allclose(booster.predict(rows), each.predict(rows), rtol=1e-12)
            np.testing.assert_allclose(again.predict(rows), each.predict(rows), rtol=1e-12)
    stored = path.read_text()
    path.write_text(stored.replace("pandas_categorical:[[", "pandas_categorical:[{"))
    with pytest.raises(FileFormatError, match="expected lists of values behind pandas_categorical, got"):
        rerank.import_model(path)


def test_base_of_other_categories_is_refused(tmp_path: Path) -> None:
    frame, other, y = frames()
    given = {"y": y, "qid": np.repeat(np.arange(100), 20)}
    base = rerank.LambdaMART(n_estimators=5).fit(frame, **given)
    rerank.export_model(base, tmp_path / "values.txt", "lightgbm")
    codes = replace(base.forest_)
    for model in (base, rerank.import_model(tmp_path / "values.txt")):
        rerank.LambdaMART(n_estimators=2, base=model).fit(frame, **given)
        with pytest.raises(InvalidInputError, match="base: expected a model whose category columns have the"):
            rerank.LambdaMART(n_estimators=2, base=model).fit(other, **given)
    of_codes = ImportedTrees.of(TreeModel(codes, 2), ("a", "kind"), "lightgbm")
    with pytest.raises(InvalidInputError, match="base: expected a model whose category columns have the"):
        rerank.LambdaMART(n_estimators=2, base=of_codes).fit(frame, **given)


def test_values_of_categories_that_a_format_does_not_hold_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frame, _, y = frames()
    model = rerank.LambdaMART(n_estimators=5).fit(frame, y, qid=np.repeat(np.arange(100), 20))
    rerank.export_model(model, tmp_path / "model.json", "xgboost")
    assert "xgboost: the values of the categories of kind are not written; give the model their codes" in caplog.text
