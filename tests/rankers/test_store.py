from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, ModelMismatchError
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.rankers.registry import known_rankers, ranker_class

SMALL = {"n_estimators": 5, "num_leaves": 8, "min_child_samples": 5}


@pytest.fixture
def model(train) -> LambdaMART:
    described = replace(train, recipe={"fields": ["title"]}, fingerprint={"documents": 3})
    return LambdaMART(**SMALL).fit(described)


def test_model_comes_back_whole(model, test, tmp_path) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    again = read_model(path)
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    assert again.get_params() == model.get_params()
    size = f"5 trees, {len(model.forest_.leaf_value)} leaves, 8 features"
    made = "starts from nothing, trained on an index of 3 documents"
    assert str(again) == repr(again) == f"{model.unfitted_copy()!r}: {size}, {made}"
    assert str(LambdaMART()) == "LambdaMART()"
    assert again.feature_names_ == model.feature_names_
    assert again.recipe_ == {"fields": ["title"]}
    assert again.fingerprint_ == {"documents": 3}
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_model_comes_back_when_its_file_is_gzip(model, test, tmp_path) -> None:
    model.save(tmp_path / "model.json.gz")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json.gz").predict(test), model.predict(test))


def test_features_are_known_by_name(model, test) -> None:
    order = np.random.default_rng(0).permutation(test.n_features)
    extra = np.column_stack([test.X[:, order], np.zeros(test.n_rows)]).astype(np.float32)
    shuffled = replace(test, X=extra, feature_names=(*(test.feature_names[i] for i in order), "more"))
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(test))


def test_features_that_the_model_misses_are_named(model, test) -> None:
    with pytest.raises(ModelMismatchError, match=r"expected the model's 8 features, got 6, without f0, f1"):
        model.predict(replace(test, X=np.ascontiguousarray(test.X[:, 2:]), feature_names=test.feature_names[2:]))
    with pytest.raises(ModelMismatchError, match=r"expected 8 features a row, got shape \(3, 2\)"):
        model.predict(np.zeros((3, 2)))


def test_files_that_are_no_models_are_refused(model, tmp_path) -> None:
    path = tmp_path / "model.json"
    with pytest.raises(MissingFileError, match=r"model.json: expected a model file, got nothing there"):
        read_model(path)
    with pytest.raises(InvalidInputError, match=r"^unsupervised: expected a model file, got the name of a ranking of"):
        read_model("unsupervised")
    path.write_text("1 qid:1 1:0.5\n")
    with pytest.raises(FileFormatError, match=r"model.json:1: expected a model file \(JSON\)"):
        read_model(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="expected a model file"):
        read_model(path)
    path.write_text("{}")
    with pytest.raises(FileFormatError, match="got other JSON"):
        read_model(path)
    model.save(path)
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, "version": 99}))
    with pytest.raises(
        ModelMismatchError, match=r"expected model version 4, got 99\. Train the model again \(`rerank train`\)"
    ):
        read_model(path)
    del stored["learned"]
    path.write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=r"expected the key learned, got none\. Train"):
        read_model(path)
    path.write_text(json.dumps({**stored, "ranker": "lambdamrat"}))
    with pytest.raises(ValueError, match="Did you mean 'lambdamart'"):
        read_model(path)


def test_a_model_is_not_written_where_there_is_no_folder(model, tmp_path) -> None:
    with pytest.raises(MissingFileError, match="expected a folder"):
        model.save(tmp_path / "no" / "model.json")
    model.save(tmp_path / "model.json")
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_rankers_are_known_by_name() -> None:
    assert ranker_class("lambdamart") is LambdaMART
    assert all(ranker.kind == name for name, ranker in known_rankers().items())
