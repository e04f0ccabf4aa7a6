"""What an owner keeps beside the trees: missing values, best iteration, unlisted features, categories, names, numbers.

The scores of XGBoost 3.2 are in golden/xgboost_models.json; those of LightGBM are computed here.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.exchange.registry import format_named
from rerank.rankers.imported_trees import ImportedTrees
from tests.exchange.conftest import NAMES, random_model

OF_XGBOOST = json.loads((Path(__file__).parent / "golden" / "xgboost_models.json").read_text())
MISSING = [name for name in OF_XGBOOST if name.startswith("missing=")]


def imported(name: str, folder: Path) -> Any:
    path = folder / "model.json"
    path.write_text(OF_XGBOOST[name]["model"])
    return rerank.import_model(path)


def rows_of(name: str) -> Any:
    return np.array(OF_XGBOOST[name]["rows"], dtype=np.float32)


@pytest.mark.parametrize("name", MISSING)
def test_a_number_that_an_owner_reads_as_missing_is_missing(name: str, tmp_path: Path) -> None:
    stored = OF_XGBOOST[name]
    trees = format_named("xgboost").read(stored["model"].encode(), None)
    model = ImportedTrees.of(replace(trees, missing_values=(stored["missing"],)), ("a", "b", "c", "d"), "xgboost")
    model.save(tmp_path / "ours.json")
    rows = rows_of(name)
    for one in (model, rerank.read_model(tmp_path / "ours.json")):
        np.testing.assert_array_equal(one.predict(rows), stored["scores"])
        np.testing.assert_array_equal(one.predict(np.where(rows == stored["missing"], np.nan, rows)), stored["scores"])
    with pytest.raises(InvalidInputError, match=r"lightgbm: expected a model that reads NaN alone as missing, got one"):
        rerank.export_model(model, tmp_path / "model.txt", "lightgbm")


@pytest.mark.parametrize("name", ["stopped estimator", "stopped booster"])
def test_a_file_uses_the_trees_that_its_owners_predict_uses(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = imported(name, tmp_path)
    np.testing.assert_array_equal(model.predict(rows_of(name)), OF_XGBOOST[name]["scores"])
    assert ("all 5 trees are used, as by Booster.predict; the best iteration is 1" in caplog.text) == (
        name == "stopped booster"
    )


def test_what_sparse_rows_do_not_list_is_missing_where_the_owner_says_so(tmp_path: Path) -> None:
    model, rows, scores = imported("sparse", tmp_path), rows_of("sparse"), OF_XGBOOST["sparse"]["scores"]
    sparse = scipy.sparse.csr_matrix(rows)
    np.testing.assert_array_equal(model.predict(sparse), scores)
    np.testing.assert_array_equal(model.predict(np.where(rows == 0.0, np.nan, rows)), scores)
    text = "".join(
        f"0 qid:1 {' '.join(f'{column + 1}:{value!r}' for column, value in enumerate(row) if value)}\n"
        for row in rows.tolist()
    )
    (tmp_path / "rows.svm").write_text(text)
    data = rerank.read_data(tmp_path / "rows.svm")
    assert data.zeros == "unlisted"
    np.testing.assert_array_equal(model.predict(data), scores)
    mapped = rerank.read_data(tmp_path / "rows.svm", mapped=True)
    np.testing.assert_array_equal(model.predict(mapped), scores)
    warm = rerank.LambdaMART(n_estimators=1, min_child_samples=1, base=model)
    warm.fit(sparse, np.arange(len(rows)) % 3, qid=np.zeros(len(rows), np.int64))
    added = warm.predict(sparse) - warm.predict(rows)  # the base is that of the rows with unlisted features
    np.testing.assert_allclose(added, np.array(scores) - model.predict(rows), atol=1e-6)
    with pytest.raises(ModelMismatchError, match="members: expected rows that list every feature, got sparse ones"):
        rerank.Ensemble(members=[model]).fit(sparse, np.arange(len(rows)) % 3, qid=np.zeros(len(rows), np.int64))
    (tmp_path / "both.svm").write_text(f"{text}0 qid:1 1:0 2:1\n")
    with pytest.raises(ModelMismatchError, match="expected rows that list no 0, or every feature"):
        model.predict(rerank.read_data(tmp_path / "both.svm"))
    (tmp_path / "all.svm").write_text("0 qid:1 1:0 2:1 3:0 4:2\n")
    everything = rerank.read_data(tmp_path / "all.svm")
    assert everything.zeros == "listed"
    np.testing.assert_array_equal(model.predict(everything), model.predict(np.array([[0.0, 1.0, 0.0, 2.0]])))


def test_categories_of_a_frame_have_their_owners_codes(tmp_path: Path) -> None:
    stored = OF_XGBOOST["frame"]
    model, frame = imported("frame", tmp_path), pd.DataFrame(stored["columns"])
    for name in ("its colour", "size"):
        frame[name] = frame[name].astype("category")
    np.testing.assert_array_equal(model.predict(frame), stored["scores"])
    few = frame[frame["its colour"] != "blue"].copy()
    few["its colour"] = few["its colour"].cat.remove_unused_categories()  # other codes for the same values
    np.testing.assert_array_equal(model.predict(few), np.array(stored["scores"])[few.index])


@pytest.fixture(scope="module")
def named() -> tuple[Any, Any, Any]:
    """Return a frame whose names have blanks, with categories, a model that LightGBM trained on it, and its scores."""
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(200, 3)), columns=["title match", "größe", "x|y"])
    frame["its colour"] = pd.Categorical(random.choice(["red", "green"], 200))
    frame["only one"] = pd.Categorical(["same"] * 200)
    labels = (frame["title match"] > 0) + (frame["its colour"] == "red") * 1
    ranker = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1).fit(frame, labels, group=[20] * 10)
    return frame, ranker, labels


def test_base_of_a_lightgbm_file_is_stored_beside_names_with_blanks(named: Any, tmp_path: Path) -> None:
    frame, ranker, labels = named
    model = rerank.LambdaMART(n_estimators=1, base=rerank.import_model(ranker))
    model.fit(frame, labels, qid=np.repeat(np.arange(10), 20)).save(tmp_path / "model.json")
    stored = rerank.read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(stored.predict(frame), model.predict(frame))
    np.testing.assert_allclose(stored.contributions(frame).sum(axis=1), model.predict(frame), atol=1e-9)


def test_names_with_blanks_are_those_that_lightgbm_stores(named: Any, tmp_path: Path) -> None:
    frame, ranker, labels = named
    ranker.booster_.save_model(tmp_path / "model.txt")
    for source in (ranker, tmp_path / "model.txt"):
        model = rerank.import_model(source)
        np.testing.assert_array_equal(model.predict(frame), ranker.predict(frame))
        with pytest.raises(ModelMismatchError, match="expected the columns of training in their order"):
            model.predict(frame.rename(columns={"größe": "other"}))
    numbers = frame.iloc[:, :3]
    ours = rerank.LambdaMART(n_estimators=2).fit(numbers, labels, qid=np.repeat(np.arange(10), 20))
    rerank.export_model(ours, tmp_path / "ours.txt", "lightgbm")
    again = rerank.import_model(tmp_path / "ours.txt")
    np.testing.assert_array_equal(again.predict(numbers), ours.predict(numbers))
    clash = ours.fit(numbers.set_axis(["a b", "a_b", "c"], axis=1), labels, qid=np.repeat(np.arange(10), 20))
    with pytest.raises(InvalidInputError, match="that differ when blanks are written as _, got 'a_b'"):
        rerank.export_model(clash, tmp_path / "clash.txt", "lightgbm")


def test_a_base_of_lightgbm_has_the_names_of_the_frame(named: Any, tmp_path: Path) -> None:
    frame, ranker, labels = named
    warm = rerank.LambdaMART(n_estimators=1, base=ranker).fit(frame, labels, qid=np.repeat(np.arange(10), 20))
    assert tuple(warm.base_.model.feature_names_) == tuple(frame.columns)
    warm.save(tmp_path / "warm.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "warm.json").predict(frame), warm.predict(frame))


def test_rows_that_list_fewer_features_than_a_model_have_0_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(100, 4)), np.repeat(np.arange(5), 20)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(X, X[:, 0] > 0, qid=qid)
    (tmp_path / "rows.svm").write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:-0.5\n")
    np.testing.assert_array_equal(
        model.predict(tmp_path / "rows.svm"), model.predict(np.array([[0.5, 1, 0, 0], [-0.5, 0, 0, 0]]))
    )
    assert "no row lists the model's features 3, 4" in caplog.text
    (tmp_path / "wide.svm").write_text("1 qid:1 1:0.5 2:1 12:3 5:2\n0 qid:1 1:-0.5\n")
    np.testing.assert_array_equal(model.predict(tmp_path / "wide.svm"), model.predict(tmp_path / "rows.svm"))
    assert "data: features 5, 6, 7, 8, 9, ... are left out, which the model does not have" in caplog.text
    with pytest.raises(ModelMismatchError, match="expected the model's 4 features, got 2"):
        model.predict(replace(rerank.read_data(tmp_path / "rows.svm"), zeros=None))


@pytest.mark.parametrize("first", ["read by LightGBM", "read here"])
def test_lightgbm_models_of_files_number_features_as_it_does(first: str, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    random = np.random.default_rng(0)
    X = np.where(random.random((200, 3)) < 0.4, 0.0, random.normal(size=(200, 3)).round(2))
    labels = ((X[:, 0] + X[:, 2]) > 0).astype(int)
    lines = [
        f"{label} {' '.join(f'{column + 1}:{value}' for column, value in enumerate(row) if value)}\n"
        for label, row in zip(labels.tolist(), X.tolist(), strict=True)
    ]
    (tmp_path / "rows.txt").write_text("".join(lines))
    (tmp_path / "rows.txt.query").write_text("20\n" * 10)
    settings = {"objective": "lambdarank", "verbose": -1, "num_leaves": 4}
    of_file = lightgbm.Dataset(str(tmp_path / "rows.txt"))
    of_array = lightgbm.Dataset(X, labels, group=[20] * 10)
    booster = lightgbm.train(settings, of_file if first == "read by LightGBM" else of_array, 3)
    own = booster.predict(str(tmp_path / "rows.txt") if first == "read by LightGBM" else X)
    np.testing.assert_array_equal(rerank.import_model(booster).predict(rerank.read_data(tmp_path / "rows.txt")), own)


def test_a_model_without_its_first_column_says_that_its_numbers_are_unknown(tmp_path: Path) -> None:
    stored = json.loads(OF_XGBOOST["sparse"]["model"])
    for tree in stored["learner"]["gradient_booster"]["model"]["trees"]:
        tree["split_indices"] = [max(index, 1) for index in tree["split_indices"]]
    (tmp_path / "model.json").write_text(json.dumps(stored))
    (tmp_path / "rows.svm").write_text("0 qid:1 1:2 2:-1 3:0.5\n0 qid:1 2:3\n")
    data = rerank.read_data(tmp_path / "rows.svm")
    with pytest.raises(ModelMismatchError, match=r"Import it with feature_names 0 to 3 in that case, else 1 to 4\."):
        rerank.import_model(tmp_path / "model.json").predict(data)
    columns = (
        np.array([[np.nan, 2, -1, 0.5], [np.nan, np.nan, 3, np.nan]]),
        np.array([[2, -1, 0.5, np.nan], [np.nan, 3, np.nan, np.nan]]),
    )
    for names, X in zip(("0123", "1234"), columns, strict=True):
        model = rerank.import_model(tmp_path / "model.json", feature_names=tuple(names))
        np.testing.assert_array_equal(model.predict(data), model._scores(X.astype(np.float32)))


def test_rows_that_count_from_0_have_the_columns_of_lightgbm(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    X = np.random.default_rng(0).normal(size=(200, 4)).round(3)
    X[:, 0] = 0.0  # so that LightGBM's first column is empty, as it is in a file that counts from 1
    model = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1).fit(X, X[:, 1] > 0, group=[20] * 10)
    X[:, 3] = 0.0
    pairs = [" ".join(f"{column}:{value}" for column, value in enumerate(row) if value) for row in X.tolist()]
    head = "# Column indices are zero-based\n"
    (tmp_path / "rows.svm").write_text(head + "".join(f"0 qid:1 {of_row}\n" for of_row in pairs))
    data = rerank.read_data(tmp_path / "rows.svm")
    rerank.write_data(data, tmp_path / "rows.npz")
    for rows in (data, rerank.read_data(tmp_path / "rows.npz")):
        np.testing.assert_array_equal(rerank.import_model(model).predict(rows), model.predict(X))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({"a": 1}), "got a pickle, which is code. Load it where you trust it, and pass the estimator"),
        (b'{"name": "tree", "version": "v4"}', "got the dump of LightGBM. Save the model with booster.save_model"),
        (b"booster[0]:\n0:[f0<0.5] yes=1,no=2,missing=1\n", "got the text dump of XGBoost. Save the model as JSON"),
        (b'{"format": "rerank-model", "version": 1}', "got a model of rerank. Read it with rerank.read_model"),
        (b'[\n  { "bias": [ 0 ], "weight": [ 1 ] }\n]', "got the dump of a linear model of XGBoost. Train it again"),
        (json.dumps(['{ "nodeid": 0, "leaf": 1 }']).encode(), "got a list of texts. Join them: '['"),
        (b"\x08\x03\x12\x08CatBoost", "got ONNX or Core ML, which are not read. Import the model that it was made of"),
        (b"<ranker>\n\t<info>", "got the XML of QuickRank or Jforests, which is not read. Train with one of these"),
        (b'<Ensemble>\n\t<Tree leaves="7">', "got the XML of QuickRank or Jforests"),
        (b"binf\x00\x00", "got the old binary form of XGBoost. Save the model with save_model"),
        (
            b"\x00\x00\x00?\x04" + bytes(99) + b"\x06\0\0\0\0\0\0\0gbtree",
            "got the old binary form of XGBoost. Save the model with",
        ),
        (b'[{"class": "org.apache.solr.ltr.feature.SolrFeature"}]', "expected a model, got a feature store of Solr."),
        (
            b'{"featureset": {"features": []}}',
            "got a feature set of the plug-ins for Elasticsearch and OpenSearch. Imp",
        ),
        (b"version https://git-lfs.github.com/spec/v1\n", "got the pointer of Git LFS to it. Fetch it with"),
    ],
)
def test_other_forms_are_refused_with_what_to_do_instead(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        rerank.import_model(tmp_path / "model")
    assert message in str(caught.value)


@pytest.mark.parametrize("scale", [0.5, -2.0])
def test_catboost_models_with_a_scale_score_with_it(scale: float, tmp_path: Path) -> None:
    tree = {"leaf_values": [1.0, 2.0], "splits": [{"float_feature_index": 0, "border": 0.5}]}
    info = {"float_features": [{"flat_feature_index": 0, "feature_index": 0}]}
    stored = {"features_info": info, "oblivious_trees": [tree], "scale_and_bias": [scale, [1.0]]}
    (tmp_path / "model.json").write_text(json.dumps(stored))
    scores = rerank.import_model(tmp_path / "model.json").predict([[0.0], [1.0]])
    assert scores.tolist() == [scale * 1.0 + 1.0, scale * 2.0 + 1.0]
    (tmp_path / "model.json").write_text(json.dumps({**stored, "scale_and_bias": [1e308, [1.0]]}))
    with pytest.raises(FileFormatError, match="expected scores up to"):
        rerank.import_model(tmp_path / "model.json")


def test_catboost_models_of_several_scores_are_refused_as_such(tmp_path: Path) -> None:
    tree = {"leaf_values": [1.0, 2.0, 3.0, 4.0], "splits": [{"float_feature_index": 0, "border": 0.5}]}
    info = {"float_features": [{"flat_feature_index": 0, "feature_index": 0}]}
    stored = {"features_info": info, "oblivious_trees": [tree], "scale_and_bias": [1, [0, 0]]}
    (tmp_path / "model.json").write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=r"expected one score, got 2\. Train a model with one score"):
        rerank.import_model(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("condition", "message"),
    [({}, r"one of type i \(a binary feature\) on 'new'"), ({"split_condition": [1, 2]}, "one of categories on 'new'")],
)
def test_splits_that_a_dump_of_xgboost_does_not_tell_are_said(condition: dict, message: str, tmp_path: Path) -> None:
    leaves = [{"nodeid": 1, "leaf": 0.1}, {"nodeid": 2, "leaf": -0.1}]
    tree = {"nodeid": 0, "depth": 0, "split": "new", "yes": 2, "no": 1, "children": leaves, **condition}
    (tmp_path / "dump.json").write_text(json.dumps([tree]))
    with pytest.raises(FileFormatError, match=f"tree 1: expected splits of numbers, by split_condition, got {message}"):
        rerank.import_model(tmp_path / "dump.json")


def _of_engines(kind: str, definition: str) -> dict[str, dict]:
    """The model as the plug-ins' store takes it, and as it answers."""
    model = {"type": kind, "definition": definition}
    features = [{"name": name, "params": ["keywords"], "template": {}} for name in NAMES]
    stored = {"name": "mine", "feature_set": {"name": "set", "features": features}, "model": model}
    found = {"_id": "model-mine", "_source": {"name": "mine", "type": "model", "model": stored}}
    return {
        "request": {"model": {"name": "mine", "model": model}},
        "answer": {"_index": ".ltrstore", "found": True, **found},
        "inner": stored,
        "search": {"took": 1, "hits": {"total": {"value": 1}, "hits": [found]}},
    }


@pytest.mark.parametrize("form", ["request", "answer", "inner", "search"])
@pytest.mark.parametrize(("kind", "name"), [("model/ranklib", "ranklib"), ("model/xgboost+json", "xgboost-dump")])
def test_models_as_the_plug_ins_of_engines_return_them_are_read(
    kind: str, name: str, form: str, tmp_path: Path
) -> None:
    model = random_model(1, moderate=True)
    rerank.export_model(model, tmp_path / "plain", name, missing_as_zero=True)
    (tmp_path / "answer.json").write_text(json.dumps(_of_engines(kind, (tmp_path / "plain").read_text())[form]))
    read = rerank.import_model(tmp_path / "answer.json")
    plain = rerank.import_model(tmp_path / "plain", feature_names=NAMES)
    assert tuple(read.feature_names_) == (NAMES if form != "request" else read.feature_names_)
    np.testing.assert_array_equal(read.forest_.leaf_value, plain.forest_.leaf_value)
    with_norms = _of_engines(kind, (tmp_path / "plain").read_text())["request"]
    with_norms["model"]["model"]["feature_normalizers"] = {"f0": {"standard": {"mean": 1, "standard_deviation": 2}}}
    (tmp_path / "answer.json").write_text(json.dumps(with_norms))
    with pytest.raises(FileFormatError, match="expected features without normalisers, got feature_normalizers"):
        rerank.import_model(tmp_path / "answer.json")


def test_linear_models_of_the_plug_ins_are_read(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(_of_engines("model/linear", '{"f0": 0.5, "f2": 2}')["answer"]))
    model = rerank.import_model(tmp_path / "answer.json")
    assert model.predict(np.eye(len(NAMES))).tolist() == [0.5, 0.0, 2.0, *[0.0] * (len(NAMES) - 3)]
    model.save(tmp_path / "model.json")
    assert rerank.read_model(tmp_path / "model.json").feature_names_ == NAMES


@pytest.mark.parametrize("key", ["models", "managedList", None])
def test_models_of_solrs_store_are_read(key: str | None, tmp_path: Path) -> None:
    model = random_model(1, moderate=True)
    model.forest_ = replace(model.forest_, threshold=np.full_like(model.forest_.threshold, 20.0))
    rerank.export_model(model, tmp_path / "plain.json", "solr")
    stored = {**json.loads((tmp_path / "plain.json").read_text()), "store": "_DEFAULT_"}
    answer = [stored] if key is None else {"responseHeader": {"status": 0}, key: [stored]}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    read = rerank.import_model(tmp_path / "answer.json")
    np.testing.assert_array_equal(
        read.forest_.leaf_value, rerank.import_model(tmp_path / "plain.json").forest_.leaf_value
    )
    (tmp_path / "answer.json").write_text(json.dumps({"models": [stored, {**stored, "name": "other"}]}))
    with pytest.raises(FileFormatError, match="expected one model, got 2: rerank, other"):
        rerank.import_model(tmp_path / "answer.json")


def test_files_of_no_format_are_named_by_their_beginning(tmp_path: Path) -> None:
    for content, message in (
        ({"class": "org.apache.solr.ltr.model.NeuralNetworkModel"}, r"LinearModel, got '.*NeuralNetworkModel'\. Train"),
        ({"name": "tree", "tree_info": []}, r"got the dump of LightGBM\. Save the model with booster\.save_model"),
        ({"took": 1}, r"""of none of them, '\{\\n  "took": 1\\n\}'\. Save the model with its library: booster\.save"""),
        ({"learner": {"gradient_booster": {"name": "gbtree"}}}, r"of none of them, .* Save the model with its library"),
    ):
        (tmp_path / "model.json").write_text(json.dumps(content, indent=2))
        with pytest.raises(FileFormatError, match=message):
            rerank.import_model(tmp_path / "model.json")


@pytest.mark.parametrize("code", ["### Model data\nmodel = 1\n", "#include <string>\n\n/* Model data */\n"])
def test_code_that_catboost_exports_is_named(code: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(code)
    with pytest.raises(
        FileFormatError, match=r"got code\. Save a model of CatBoost with save_model\('model\.json', fo"
    ):
        rerank.import_model(tmp_path / "model.py")


class Unfitted:
    """An estimator as those of LightGBM, XGBoost and CatBoost say that they are not fitted."""

    def __sklearn_is_fitted__(self) -> bool:
        return False


def test_a_model_that_is_not_fitted_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"source: expected a fitted model, got Unfitted without fit\. Fit it"):
        rerank.import_model(Unfitted())


def test_the_boosters_of_a_cross_validation_are_no_model() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    with pytest.raises(InvalidInputError, match=r"or a fitted model .*, got lightgbm\.engine\.CVBooster"):
        rerank.import_model(lightgbm.CVBooster())


def test_models_that_catboost_does_not_save_as_json_are_refused_in_a_line() -> None:
    catboost = pytest.importorskip("catboost")
    rows = [["heat flow", 0.5], ["amber", 1.5]] * 20
    model = catboost.CatBoostClassifier(iterations=2, text_features=[0], verbose=0, allow_writing_files=False)
    with pytest.raises(InvalidInputError, match=r"^catboost: expected a model that .*, got 'Can save model with text"):
        rerank.import_model(model.fit(rows, [0, 1] * 20))


@pytest.mark.parametrize(("first", "is_told"), [(0.25, False), (1.7e9, True), (2.0**30, False)])
def test_features_that_float32_rounds_are_named(first: float, is_told: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Seconds since 1970 are 128 apart in float32; multiples of 128 are not rounded."""
    lightgbm = pytest.importorskip("lightgbm")
    times = first + np.arange(100.0)[:, np.newaxis] * (128 if first == 2.0**30 else 1)
    rerank.import_model(lightgbm.LGBMRegressor(n_estimators=1, verbose=-1).fit(times, np.arange(100) > 50))
    told = "lightgbm: feature 1 from 1700000000.0 to 1700000099.0 is rounded here, in float32, and scores differ."
    assert [message.startswith(told) for message in caplog.messages] == [True] * is_told


def test_base_that_lightgbm_trained_on_letor_text_is_stored(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).round(3)
    lines = [
        f"{int(row[0] > 0)} qid:{n // 20} " + " ".join(f"{i}:{v}" for i, v in enumerate(row, 1))
        for n, row in enumerate(X)
    ]
    (tmp_path / "rows.txt").write_text("\n".join(lines) + "\n")
    from_file = np.c_[np.zeros(200), X]  # LightGBM's column 0
    ranker = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, verbose=-1).fit(from_file, X[:, 0] > 0, group=[20] * 10)
    ranker.booster_.save_model(tmp_path / "model.txt")
    data = rerank.read_data(tmp_path / "rows.txt")
    model = rerank.LambdaMART(n_estimators=1, base=rerank.import_model(tmp_path / "model.txt")).fit(data)
    model.save(tmp_path / "warm.json")
    stored = rerank.read_model(tmp_path / "warm.json")
    np.testing.assert_array_equal(stored.predict(data), model.predict(data))
    contributions = stored.contributions(data)
    np.testing.assert_allclose(contributions.sum(axis=1), model.predict(data), atol=1e-9)
    assert np.abs(contributions[:, :3]).sum(axis=0).argmax() == 0
