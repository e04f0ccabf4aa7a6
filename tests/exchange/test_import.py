"""Imports: files and estimators of other systems become rankers that score as their owners do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, ModelMismatchError
from rerank.exchange.registry import FormatFault, TreeModel, known_formats
from rerank.exchange.xgboost import _base
from rerank.rankers.imported_trees import ImportedTrees
from rerank.trees.forest import Forest
from tests.exchange.conftest import NAMES, random_model
from tests.exchange.rows import boundary_rows
from tests.oracles import exchange as walks
from tests.rankers.conftest import ranking_data

BASE_SCORES = json.loads((Path(__file__).parent / "golden" / "xgboost_base_scores.json").read_text())
LOADS = {
    "esltr_models/lambdaMART.txt": ("ranklib", 1000, 2),
    "esltr_models/mart.txt": ("ranklib", 1000, 2),
    "esltr_models/randomForest.txt": ("ranklib", 300, 2),
    "esltr_models/xgb-model.json": ("xgboost-dump", 2, 2),
    "esltr_models/xgboost-wmf.json": ("xgboost-dump", 10, 8),
    "rankeval_models/LightGBM.model.txt": ("lightgbm", 2, 136),
    "solr_ltr_models/multipleadditivetreesmodel_with_missing_branch.json": ("solr", 2, 3),
}


def named_rows(model: ImportedTrees, X: np.ndarray) -> rerank.RankingData:
    """Rows of one query, with the names of the model's features."""
    return rerank.RankingData(
        np.array(["q"]), np.array([0, len(X)]), np.zeros(len(X), "U1"), X, tuple(model.feature_names_)
    )


@pytest.mark.parametrize("file", LOADS)
def test_real_files_load(file: str, real_models: Path, tmp_path: Path) -> None:
    model = rerank.import_model(real_models / file)
    assert (model.source_, model.forest_.n_trees, model.n_features_in_) == LOADS[file]
    rows = named_rows(model, boundary_rows(model.forest_, model.n_features_in_, 300))
    model.save(tmp_path / "model.json")
    again = rerank.read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.to_dict() == model.to_dict()


@pytest.mark.parametrize(
    ("file", "weights", "constant"),
    [
        ("coord_ascent", [0.5, 0.5], 0.0),
        ("linRegression", [0.30545402144173783, 0.13565247758049973], 0.30545402144173783),
    ],
)
def test_real_linear_files_load(
    file: str, weights: list[float], constant: float, real_models: Path, tmp_path: Path
) -> None:
    model = rerank.import_model(real_models / "esltr_models" / f"{file}.txt")
    assert (model.source_, model.n_features_in_) == ("ranklib", 2)
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    X[::5, 0], X[::7, 1] = np.nan, np.float32(1e30)
    known = np.clip(np.nan_to_num(X.astype(float)), -1e18, 1e18)
    expected = weights[0] * known[:, 0] + weights[1] * known[:, 1] + constant
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal([model.predict(row[None])[0] for row in X], expected)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), expected, rtol=1e-12)
    model.save(tmp_path / "model.json")
    assert rerank.read_model(tmp_path / "model.json").to_dict() == model.to_dict()
    card = rerank.model_card(model)
    about = dict(card.sections[0].rows)
    assert (about["consists of"], "trained for" in about) == ("2 weights", False)
    assert not {"Data", "Measures"} & {section.title for section in card.sections}  # of which nothing is known


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("## Coordinate Ascent\n1:0.5 1:0.5\n", r"model:2: expected each feature once, got 1 again\."),
        ("## Coordinate Ascent\n0:0.5 1:0.5\n", r"model:2: expected feature:weight, features from 1, got '0:0.5'\."),
        ("## Linear Regression\n0:0.5\n", r"model:2: expected weights of features, got none\."),
        ("## Linear Regression\n\n2:x\n", r"model: expected a whole model file, .*could not convert string to float"),
        ("## Coordinate Ascent\n1:1\n2:1\n", r"model: expected one line of weights, got 2 lines\."),
        ("## Coordinate Ascent\n999999999:1\n", r"model:2: expected feature:weight"),
        ("## Coordinate Ascent\n1:1e38\n", r"model: expected scores up to 3.4e\+38, got some up to 1e\+56\."),
        ("## RankNet\n1 2\n", r"expected a model of .*Linear Regression, got 'RankNet'\. Train one of these\."),
    ],
)
def test_linear_files_that_are_broken_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_text(content)
    with pytest.raises(FileFormatError, match=message):
        rerank.import_model(tmp_path / "model", format="ranklib")


def test_a_file_is_known_when_it_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("## Coordinate Ascent\r\n1:0.5 2:-2\r\n", "utf-8-sig")
    assert rerank.import_model(tmp_path / "model").predict(np.array([[2.0, 1.0]])).tolist() == [-1.0]


def test_a_linear_import_serves_as_base_and_as_member(tmp_path: Path) -> None:
    data = ranking_data(1, missing=0.1)
    (tmp_path / "model").write_text("## Coordinate Ascent\n1:0.5 3:-2\n")
    model = rerank.import_model(tmp_path / "model", feature_names=data.feature_names)
    warm = rerank.LambdaMART(n_estimators=2, min_child_samples=5, base=model).fit(data)
    assert np.isfinite(warm.predict(data)).all()
    both = rerank.Ensemble(members=[model, rerank.LogisticRegression(max_iter=5)], n_folds=2).fit(data)
    both.save(tmp_path / "both.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "both.json").predict(data), both.predict(data))
    with pytest.raises(InvalidInputError, match=r"importedlinear: expected a ranker that can be trained, got weights"):
        model.fit(data)


def test_solr_features_with_a_normaliser_are_refused(tmp_path: Path) -> None:
    norm = {"class": "org.apache.solr.ltr.norm.MinMaxNormalizer", "params": {"min": "0", "max": "1"}}
    kind, weights = "org.apache.solr.ltr.model.LinearModel", {"x": 1.0}
    stored = {"class": kind, "name": "m", "features": [{"name": "x", "norm": norm}], "params": {"weights": weights}}
    (tmp_path / "model").write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=r"expected features without a normaliser, got norm of 'x'\."):
        rerank.import_model(tmp_path / "model")


@pytest.mark.parametrize("file", [file for file in LOADS if "LightGBM" in file or "xgb" in file])
def test_real_files_score_as_their_owner_documents(file: str, real_models: Path) -> None:
    model = rerank.import_model(real_models / file)
    content = (real_models / file).read_bytes()
    readers: dict[str, Any] = {"lightgbm": walks.lightgbm}
    readers["xgboost-dump"] = lambda dump: walks.xgboost_dump(dump, model.feature_names_)
    X = boundary_rows(model.forest_, model.n_features_in_, 2000)
    np.testing.assert_array_equal(model.predict(named_rows(model, X)), readers[model.source_](content).score(X))


@pytest.mark.parametrize("parameters", [{}, {"zero_as_missing": True}, {"use_missing": False}])
@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_lightgbm_models_score_as_lightgbm(parameters: dict[str, Any], boosting: str, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed; tests/checks/exchange.py covers it")
    data = ranking_data(1, missing=0.1)
    X = data.X.copy()
    X[:, 3] = np.round(2 * X[:, 3])
    settings = {"objective": "regression", "num_leaves": 15, "verbose": -1, "boosting": boosting, **parameters}
    if boosting == "rf":
        settings |= {"bagging_freq": 1, "bagging_fraction": 0.7}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, data.labels), 20)
    booster.save_model(tmp_path / "model.txt")
    for source in (tmp_path / "model.txt", booster):
        model = rerank.import_model(source)
        rows = boundary_rows(model.forest_, X.shape[1], 3000)
        np.testing.assert_array_equal(model.predict(rows), booster.predict(rows))
        np.testing.assert_array_equal([model.predict(row[None])[0] for row in rows[:50]], booster.predict(rows[:50]))
    rerank.export_model(model, tmp_path / "again.txt", "lightgbm")
    np.testing.assert_array_equal(
        lightgbm.Booster(model_file=tmp_path / "again.txt").predict(rows), booster.predict(rows)
    )


def test_lightgbm_loads_an_export(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed; tests/checks/exchange.py covers it")
    model = random_model(3)
    model.forest_.threshold[np.abs(model.forest_.threshold) < 1e-34] = np.float32(0.25)  # 0 to LightGBM
    rerank.export_model(model, tmp_path / "model.txt", "lightgbm")
    X = boundary_rows(model.forest_, len(NAMES), 3000)
    np.testing.assert_array_equal(lightgbm.Booster(model_file=tmp_path / "model.txt").predict(X), model._scores(X))


def test_the_lightgbm_estimator_is_imported() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed; tests/checks/exchange.py covers it")
    data = ranking_data(1)
    ranker = lightgbm.LGBMRanker(n_estimators=5, num_leaves=7, verbose=-1)
    ranker.fit(data.X, data.labels.astype(int), group=np.diff(data.query_ptr))
    model = rerank.import_model(ranker, feature_names=data.feature_names)
    np.testing.assert_array_equal(model.predict(data), ranker.predict(data.X))


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"got builtins\.dict"):
        rerank.import_model({})


def _lightgbm_text(**lines: str) -> str:
    header = {"num_class": "1", "max_feature_idx": "1", "feature_names": "a b", **lines}
    tree = {
        "num_leaves": "3",
        "num_cat": "0",
        "split_feature": "0 1",
        "threshold": "10.5 0.5",
        "decision_type": "10 8",
        "left_child": "-1 -2",
        "right_child": "1 -3",
        "leaf_value": "-0.5 0.25 0.75",
        **{key: value for key, value in lines.items() if key.startswith("cat_")},
    }
    head = "\n".join(f"{key}={lines.get(key, value)}" for key, value in header.items() if key not in tree)
    body = "\n".join(f"{key}={lines.get(key, value)}" for key, value in tree.items())
    return f"tree\n{head}\n\nTree=0\n{body}\n\n\nend of trees\n"


_SETS = {"threshold": "0 0.5", "num_cat": "1", "cat_boundaries": "0 2", "cat_threshold": "5 1"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ({}, ""),
        ({"num_class": "3"}, "expected num_class=1, got '3'"),
        ({"max_feature_idx": "0", "feature_names": "a"}, "expected a whole number from 0 to 0, got 1"),
        ({"decision_type": "1 8"}, "got a damaged one, or one of another form (KeyError"),
        ({"decision_type": "9 8", **_SETS, "cat_boundaries": "0 3"}, "expected cat_boundaries that rise from 0 to 2"),
        ({"decision_type": "9 8", **_SETS, "cat_boundaries": "2 1"}, "expected cat_boundaries that rise from 0 to 2"),
        (
            {"decision_type": "9 8", **_SETS, "threshold": "1 0.5"},
            "got a damaged one, or one of another form (IndexError",
        ),
        ({"decision_type": "10"}, "tree 1: expected 2 values, got 1"),
        ({"right_child": "1 0"}, "tree 1.right[1]: expected"),
        ({"left_child": "-1 1"}, "tree 1.right[0]: expected a node from 1 to 1 or a leaf"),
        ({"right_child": "1 -9"}, "tree 1.right[1]: expected a node from 1 to 1 or a leaf"),
        ({"threshold": "nan 1"}, "expected a list of numbers, got ['nan', '1']"),
        ({"threshold": "x 1"}, "could not convert string to float"),
        ({"leaf_value": "1 2 inf"}, "expected scores up to"),
        ({"leaf_value": "1 2 1e300"}, "expected scores up to"),
        ({"num_leaves": "99999999999"}, "expected 99999999999 values, got 3"),
    ],
)
def test_what_is_wrong_in_a_lightgbm_file_is_said(lines: dict[str, str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text(_lightgbm_text(**lines))
    if not words:
        model = rerank.import_model(path)
        np.testing.assert_array_equal(
            model.predict(np.array([[10.5, 0], [11, 0.5], [11, 1], [np.nan, 9]])), [-0.5, 0.25, 0.75, -0.5]
        )
        assert model.feature_names_ == ("a", "b")
        return
    with pytest.raises(FileFormatError) as caught:
        rerank.import_model(path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_breaks_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text(_lightgbm_text().replace("end of trees\n", ""))
    with pytest.raises(FileFormatError, match="expected the line `end of trees`, got a file that breaks off"):
        rerank.import_model(path)


def test_names_replace_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text(_lightgbm_text())
    assert rerank.import_model(path, feature_names=["x", "y"]).feature_names_ == ("x", "y")
    recipe = rerank.Recipe(features=("bm25.title", "bm25.body"))
    assert rerank.import_model(path, recipe=recipe).feature_names_ == ("a", "b")
    path.write_text(_lightgbm_text(feature_names="Column_0 Column_1"))
    assert rerank.import_model(path).feature_names_ == ("1", "2")
    assert rerank.import_model(path, recipe=rerank.Recipe(features=("bm25.*",))).feature_names_ == ("1", "2")
    model = rerank.import_model(path, recipe=recipe)
    assert model.feature_names_ == ("bm25.title", "bm25.body")
    assert model.recipe_ is not None
    assert rerank.Recipe.from_dict(model.recipe_) == recipe
    assert str(model.retriever_) == "bm25-k1=0.9-b=0.4"
    other = rerank.import_model(path, recipe=replace(recipe, bm25_k1=1.2, bm25_b=0.75))
    assert str(other.retriever_) == "bm25-k1=1.2-b=0.75"  # with which `rerank.rerank` finds its candidates
    with pytest.raises(InvalidInputError, match="expected names of 2 features, got 1"):
        rerank.import_model(path, feature_names=["x"])
    with pytest.raises(InvalidInputError, match="expected each name once"):
        rerank.import_model(path, feature_names=["x", "x"])


def test_files_that_are_not_models_are_refused(tmp_path: Path) -> None:
    for name, content in (("a", b""), ("b", b"{}"), ("c", b"\x00\x01"), ("d", b"qid 1\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileFormatError, match="expected a model of"):
            rerank.import_model(tmp_path / name)
    with pytest.raises(MissingFileError):
        rerank.import_model(tmp_path / "none")


def test_an_imported_model_is_a_base_and_a_member(tmp_path: Path) -> None:
    data, valid = ranking_data(1), ranking_data(2)
    model = random_model(5)
    warm = rerank.LambdaMART(n_estimators=5, num_leaves=4, base=model).fit(data)
    warm.save(tmp_path / "warm.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "warm.json").predict(valid), warm.predict(valid))
    both = rerank.Ensemble(members=[model, rerank.LogisticRegression(max_iter=20)]).fit(data)
    both.save(tmp_path / "both.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "both.json").predict(valid), both.predict(valid))
    np.testing.assert_array_equal(both.members_[0].forest_.leaf_value, model.forest_.leaf_value)


def test_an_imported_model_is_not_trained() -> None:
    data = ranking_data(1)
    with pytest.raises(InvalidInputError, match="imported: expected a ranker that can be trained"):
        random_model(0).fit(data)
    with pytest.raises(InvalidInputError, match="expected a fitted model"):
        rerank.Ensemble(members=[ImportedTrees()]).fit(data)


def test_float32_sums_are_kept_in_the_model_file(tmp_path: Path) -> None:
    model = random_model(2)
    rerank.export_model(model, tmp_path / "model.json", "xgboost")
    read = rerank.import_model(tmp_path / "model.json")
    read.save(tmp_path / "own.json")
    X = boundary_rows(read.forest_, len(NAMES), 300)
    again = rerank.read_model(tmp_path / "own.json")
    assert again.forest_.leaf_value.dtype == np.float32
    np.testing.assert_array_equal(again.predict(X), walks.xgboost((tmp_path / "model.json").read_bytes()).score(X))
    np.testing.assert_array_equal([again.predict(row[None])[0] for row in X], again.predict(X))


def test_an_imported_model_is_stored_as_json_without_code(tmp_path: Path) -> None:
    random_model(1).save(tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())
    assert (stored["ranker"], stored["learned"]["source"]) == ("imported", "random")


def test_contributions_of_a_lightgbm_model_are_lightgbms_and_return_with_it(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 10)).astype(np.float32)
    X[random.random(X.shape) < 0.05] = np.nan
    labels = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0.5).astype(int)
    data = lightgbm.Dataset(X, labels, group=[100] * 20)
    booster = lightgbm.train({"objective": "lambdarank", "verbose": -1, "num_leaves": 15}, data, 20)
    expected = booster.predict(X[:100], pred_contrib=True)
    model = rerank.import_model(booster)
    np.testing.assert_allclose(model.contributions(X[:100]), expected, rtol=1e-9, atol=1e-15)
    rerank.export_model(model, tmp_path / "model.txt", "lightgbm")
    exported = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_allclose(exported.predict(X[:100], pred_contrib=True), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("name", "at_root"), [("lightgbm", "internal_count="), ("xgboost", '"sum_hessian":[')])
def test_counts_of_leaves_that_are_not_those_of_the_root_are_refused(name: str, at_root: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    rerank.export_model(_with_counts(random_model(4, moderate=True), 4, True), path, name)
    before, mark, rest = path.read_text().partition(at_root)
    path.write_text(f"{before}{mark}9{rest}")
    with pytest.raises(
        FileFormatError, match=r"tree 1: expected counts of leaves that add up to 9.*, as at the root, got"
    ):
        rerank.import_model(path)


def _with_counts(model: ImportedTrees, seed: int, whole: bool) -> ImportedTrees:
    counts = np.random.default_rng(seed).integers(1, 5000, len(model.forest_.leaf_value))
    forest = replace(model.forest_, leaf_count=counts if whole else counts * 0.37)
    return ImportedTrees.of(TreeModel(forest, len(NAMES), constant=model.constant_), NAMES, "random")


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("whole", [True, False])
def test_training_rows_of_leaves_come_back_from_an_export(name: str, whole: bool, tmp_path: Path) -> None:
    model = _with_counts(random_model(4, moderate=True), 4, whole)
    rerank.export_model(model, tmp_path / "model", name)
    again = rerank.import_model(tmp_path / "model")
    X = boundary_rows(model.forest_, len(NAMES), 300)
    np.testing.assert_allclose(again.contributions(X), model.contributions(X), atol=1e-5)
    again.save(tmp_path / "again.json")
    rerank.read_model(tmp_path / "again.json").save(tmp_path / "twice.json")
    assert (tmp_path / "twice.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    if name == "xgboost":
        for tree in json.loads((tmp_path / "model").read_text())["learner"]["gradient_booster"]["model"]["trees"]:
            for count, left, right in zip(
                tree["sum_hessian"], tree["left_children"], tree["right_children"], strict=True
            ):
                below = count if left < 0 else tree["sum_hessian"][left] + tree["sum_hessian"][right]
                assert count > 0.0
                assert count == pytest.approx(below, rel=1e-6)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_training_rows_that_are_unknown_are_said_and_count_alike(name: str, tmp_path: Path, caplog: Any) -> None:
    model = random_model(4, moderate=True)
    rerank.export_model(model, tmp_path / "model", name)
    assert f"{name}: expected the training rows of each leaf, got a model that does not know them." in caplog.text
    again = rerank.import_model(tmp_path / "model")
    X = boundary_rows(model.forest_, len(NAMES), 100)
    np.testing.assert_allclose(again.contributions(X).sum(axis=1), again._scores(X), atol=1e-5)
    if name == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        theirs = lightgbm.Booster(model_file=tmp_path / "model").predict(X, pred_contrib=True)
        np.testing.assert_allclose(theirs, again.contributions(X), atol=1e-9)


@pytest.mark.parametrize("version", BASE_SCORES)
def test_base_score_is_what_xgboost_begins_its_sum_with(version: str, tmp_path: Path) -> None:
    """XGBoost's own base scores before the objective's transformation, of trees without a step (eta=0)."""
    rerank.export_model(random_model(0, 1), tmp_path / "model", "xgboost")
    stored = json.loads((tmp_path / "model").read_text())
    for objective, scores in BASE_SCORES[version].items():
        assert len(scores) >= 4
        for text, margin in scores:
            stored["learner"]["learner_model_param"]["base_score"] = text
            stored["learner"]["objective"]["name"] = objective
            (tmp_path / "model").write_text(json.dumps(stored))
            forest = rerank.import_model(tmp_path / "model").forest_
            base = float(forest.leaf_value[0]) if forest.n_trees > 1 else 0.0
            assert base == margin, (objective, text)


@pytest.mark.parametrize("format", ["xgboost-dump", "vespa"])
def test_names_without_an_order_take_no_array(format: str, tmp_path: Path) -> None:
    data = ranking_data(1)
    data = replace(data, feature_names=tuple(f"bm25.{name}" for name in "hgfedcba"))
    model = rerank.MART(n_estimators=5, num_leaves=8).fit(data)
    rerank.export_model(model, tmp_path / "dump.json", format)
    read = rerank.import_model(tmp_path / "dump.json")
    read.save(tmp_path / "model.json")
    for each in (read, rerank.read_model(tmp_path / "model.json")):
        np.testing.assert_allclose(each.predict(data), model.predict(data), atol=1e-5)
        columns = [data.feature_names.index(name) for name in each.feature_names_]
        with pytest.raises(ModelMismatchError, match=r"X: expected columns with names .*, got an array") as caught:
            each.predict(data.X[:, columns])
        assert len(str(caught.value).splitlines()) == 1
        for name in ("ranklib", "lightgbm"):
            with pytest.raises(InvalidInputError, match=f"{name}: expected features in the order of training, got"):
                rerank.export_model(each, tmp_path / "again", name, missing_as_zero=True)
        rerank.export_model(each, tmp_path / "again", "xgboost-dump")
    with pytest.raises(InvalidInputError, match="members: expected models whose features are in the order of training"):
        rerank.Ensemble(members=[read, rerank.LogisticRegression(max_iter=3)], n_folds=2).fit(data)
    named = rerank.import_model(tmp_path / "dump.json", feature_names=data.feature_names)
    np.testing.assert_allclose(named.predict(data.X), model.predict(data), atol=1e-5)


@pytest.mark.parametrize("names", [tuple(f"f{number}" for number in range(8)), tuple(map(str, range(1, 9)))])
def test_numbers_of_features_are_their_order(names: tuple[str, ...], tmp_path: Path) -> None:
    data = replace(ranking_data(1), feature_names=names)
    data.X[:, 7] = data.labels  # the last column is used
    model = rerank.MART(n_estimators=5, num_leaves=8).fit(data)
    rerank.export_model(model, tmp_path / "dump.json", "xgboost-dump")
    read = rerank.import_model(tmp_path / "dump.json")
    np.testing.assert_allclose(read.predict(data.X), model.predict(data), atol=1e-5)


def test_imported_member_of_other_features_is_refused() -> None:
    data = ranking_data(1)
    other = replace(data, feature_names=("g", *data.feature_names[1:]))
    with pytest.raises(ModelMismatchError, match="members: expected an imported model with the features of the data"):
        rerank.Ensemble(members=[random_model(5), rerank.LogisticRegression(max_iter=3)], n_folds=2).fit(other)


@pytest.mark.parametrize("format", [name for name, kind in known_formats().items() if not kind.reads])
def test_a_format_that_is_only_written_is_not_read(format: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"x")
    with pytest.raises(InvalidInputError, match=f"{format}: expected a format whose files can be read, got") as caught:
        rerank.import_model(tmp_path / "model", format=format)
    assert len(str(caught.value).splitlines()) == 1


def test_forests_in_a_row_keep_the_training_rows_of_their_leaves() -> None:
    data = ranking_data(3, n_queries=20)
    first, second = (rerank.LambdaMART(n_estimators=n, min_child_samples=5).fit(data).forest_ for n in (2, 3))
    whole = Forest.of([*first.trees(), *second.trees()])
    np.testing.assert_array_equal(whole.leaf_count, [*first.leaf_count, *second.leaf_count])
    assert Forest.of([*first.trees(), *replace(second, leaf_count=None).trees()]).leaf_count is None


@pytest.mark.parametrize("base_score", ["1e39", "[-1e300]"])
def test_xgboost_base_score_beyond_float32_is_refused(base_score: str) -> None:
    with pytest.raises(FormatFault, match="expected numbers of float32, got"):
        _base(base_score, "rank:ndcg")


@pytest.mark.parametrize("format", [None, "catboost"])
def test_binary_files_of_catboost_are_refused_with_the_remedy(format: str | None, tmp_path: Path) -> None:
    (tmp_path / "model.cbm").write_bytes(b"CBM1" + bytes(200))
    with pytest.raises(FileFormatError, match=r"expected CatBoost's JSON, got its binary form\. Save the model with"):
        rerank.import_model(tmp_path / "model.cbm", format=format)
