"""Arrays, lists, sparse matrices and data frames as training data: the same model, or an error of one line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.files.data import read_data
from rerank.rankers.arrays import data_from_arrays, feature_matrix, finite_column
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.runtime.mapped_rows import BLOCK_BYTES
from rerank.types.ranking_data import first_infinite

pd = pytest.importorskip("pandas")  # a frame of it is an argument of half of the tests

N = 60
RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(N, 4)).astype(np.float32)
A[::7, 1] = np.nan
Y, QID = RANDOM.integers(0, 3, N), np.repeat(np.arange(6), 10)
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(A, columns=NAMES)
SMALL: dict[str, Any] = {"n_estimators": 3, "min_child_samples": 2, "num_leaves": 4}


def _fit(X: Any = A, y: Any = Y, qid: Any = QID, **more: Any) -> LambdaMART:
    return LambdaMART(**SMALL).fit(X, y, qid=qid, **more)


EXPECTED = _fit().to_dict()["learned"]


@pytest.mark.parametrize(
    "X",
    [
        A.tolist(),
        A.astype(np.float64),
        np.asfortranarray(A),
        A.astype(object),
        FRAME,
        FRAME.astype(np.float64),
        FRAME.set_index(np.arange(N) + 5),
        FRAME.astype("Float64"),
        FRAME.astype(object).where(FRAME.notna(), None),
        FRAME.set_axis([3, 1, 2, 0], axis=1),
    ],
    ids=["list", "float64", "fortran", "object", "frame", "frame64", "index", "nullable", "none", "numbered"],
)
def test_every_kind_of_array_gives_the_model_of_a_plain_one(X) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _fit(X).to_dict()["learned"] == EXPECTED


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "dok_array"])
def test_sparse_features_are_those_of_the_dense_matrix(kind) -> None:
    dense = np.where(RANDOM.random(A.shape) < 0.5, 0, np.nan_to_num(A)).astype(np.float32)
    sparse = getattr(scipy.sparse, kind)(dense.astype(np.float64))
    assert _fit(sparse).to_dict()["learned"] == _fit(dense).to_dict()["learned"]
    np.testing.assert_array_equal(feature_matrix(sparse), dense)


def test_other_frames_have_names_too() -> None:
    polars = pytest.importorskip("polars")
    model = _fit(polars.DataFrame(A, schema=NAMES), polars.Series(Y), polars.Series(QID))
    assert model.feature_names_ == tuple(NAMES)
    assert model.to_dict()["learned"] == EXPECTED
    with pytest.raises(ModelMismatchError, match="expected the columns of training in their order"):
        model.predict(polars.DataFrame(A, schema=NAMES[::-1]))


@pytest.mark.parametrize(
    ("y", "qid"),
    [
        (Y.tolist(), QID.tolist()),
        (pd.Series(Y), pd.Series(QID)),
        (pd.Series(Y).astype("category"), pd.Series(QID.astype(str)).astype("category")),
        (pd.Series(Y).astype("Int64"), pd.Series(QID).astype("Int64")),
        (Y.astype(object), pd.Series(QID.astype(str), dtype=object)),
        (Y.astype(np.uint8), QID.astype(str)),
        (pd.Series(Y, index=np.arange(N) + 3), pd.Series(QID, index=np.arange(N) - 3)),
        (Y[:, np.newaxis], pd.DataFrame(QID)),
    ],
    ids=["list", "series", "category", "nullable", "object", "text", "other index", "one column"],
)
def test_labels_and_queries_of_every_kind_give_the_same_model(y, qid) -> None:
    assert _fit(FRAME, y, qid).to_dict()["learned"] == EXPECTED


def test_labels_may_be_truth_values() -> None:
    assert _fit(y=Y > 1).to_dict()["learned"] == _fit(y=(Y > 1).astype(int)).to_dict()["learned"]


def test_columns_are_known_by_name_as_in_scikit_learn(tmp_path) -> None:
    model = _fit(FRAME)
    assert model.feature_names_ == tuple(NAMES)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.feature_names_in_.dtype == object
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.feature_names_in_.tolist() == NAMES
    bare = _fit()
    assert not hasattr(bare, "feature_names_in_")
    assert not hasattr(LambdaMART(), "feature_names_in_")
    for each in (model, again):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but LambdaMART was fitted with fea"):
            np.testing.assert_array_equal(each.predict(A), bare.predict(A))
    with pytest.warns(UserWarning, match="X has feature names, but LambdaMART was fitted without feature names"):
        bare.predict(FRAME)


def test_plain_array_after_data_with_names_is_taken_without_a_warning(tmp_path) -> None:
    data, *_ = data_from_arrays(FRAME, Y, QID)
    model = LambdaMART(n_estimators=2).fit(data)
    model.save(tmp_path / "model.json")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for each in (model, read_model(tmp_path / "model.json")):
            np.testing.assert_array_equal(each.predict(A), model.predict(data))
            np.testing.assert_array_equal(each.predict(FRAME), model.predict(data))
    assert warned == []


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (FRAME[["b", "a", "c", "d"]], r"in their order, got another order. Pass X\["),
        (FRAME.rename(columns={"c": "x"}), "in their order, got 'x' and without 'c'. Pass"),
        (FRAME.assign(e=1, f=2, g=3, h=4), "in their order, got 'e', 'f', 'g' .... Pass"),
        (FRAME[["a", "d"]], "in their order, without 'b', 'c'. Pass"),
    ],
    ids=["order", "name", "more", "fewer"],
)
def test_other_columns_than_those_of_training_are_refused(X, message) -> None:
    model = _fit(FRAME)
    with pytest.raises(ModelMismatchError, match=f"X: expected the .*{message}"):
        model.predict(X)
    with pytest.raises(ModelMismatchError, match=f"eval_set: expected the .*{message}"):
        _fit(FRAME, eval_set=(X, Y, QID))


def test_columns_named_by_number_are_known_in_their_order() -> None:
    names = ["1", "2", "3", "4"]
    model = _fit(FRAME.set_axis(names, axis=1))
    model.predict(FRAME.set_axis(names, axis=1))
    with pytest.raises(ModelMismatchError, match="of training in their order, got another order"):
        model.predict(FRAME.set_axis(["2", "1", "3", "4"], axis=1))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (A[0], "X: expected two dimensions .rows, features., got 1"),
        (A.astype(complex), "X: expected numbers, got values of type complex128"),
        (np.full((N, 2), "1.5"), "X: expected numbers, got values of type <U3. Pass real numbers: encode text"),
        (
            np.full((N, 2), "1.5", dtype=object),
            r"X: expected numbers, got '1.5' \(str\) at row 0. Pass real numbers: encode text",
        ),
        (
            FRAME.assign(b="x"),
            r"X: expected numbers, got 'x' \(str\) at row 0 in column 'b'. Pass real numbers: encode text",
        ),
        (FRAME.assign(b=pd.Timestamp(0)), "X: expected numbers, got values of type datetime64.* in column 'b'"),
        (FRAME.assign(b=1j), "X: expected numbers, got values of type complex128 in column 'b'"),
        (FRAME.assign(b=1e300), "X: expected finite features .as float32. or NaN, got inf at row 0 in column 'b'"),
        (np.where(np.arange(4) == 2, -np.inf, A), "or NaN, got -inf at row 0 in column '3'. Put NaN"),
        (FRAME.set_axis(["a", "b", "a", "d"], axis=1), "X: expected each column name once, got 'a' again"),
        (FRAME.set_axis(["a", 1, "c", "d"], axis=1), "X: expected column names that are all text, .* int, str. Rename"),
        (scipy.sparse.csr_array(np.eye(N, dtype=complex)), "X: expected numbers, got values of type complex128"),
        ([[1.0, 2.0], [3.0]], "X: expected rows of equal length, got"),
        (np.zeros(N, dtype=[("a", float)]), "X: expected numbers, got values of type"),
        (None, "X: expected "),
    ],
)
def test_features_that_are_no_numbers_are_refused_in_one_line(X, message) -> None:
    model = _fit()
    for use in (_fit, model.predict):
        with pytest.raises(InvalidInputError, match=message) as refused:
            use(X)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("categories", [["x", "y"], [1, 2]])
def test_categories_are_refused_by_a_model_without(categories: list[Any]) -> None:
    model = _fit(FRAME)
    with pytest.raises(InvalidInputError, match="X: expected numbers, got categories in column 'b'"):
        model.predict(FRAME.assign(b=pd.Categorical(categories * 30)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.where(np.arange(N) == 5, np.nan, Y)}, "y: expected a finite number for each of 60 .* nan at row 5"),
        ({"y": pd.array([None, *[1] * (N - 1)], dtype="Int64")}, "y: expected a finite number .* nan at row 0. Fill"),
        ({"y": pd.Series(Y)[::-1]}, r"y: expected the rows in X's order, .* \(row 0 is 59, in X 0\). Pass y.loc"),
        ({"qid": pd.Series(QID)[::-1]}, "qid: expected the rows in X's order"),
        ({"sample_weight": pd.Series(np.ones(N))[::-1]}, "sample_weight: expected the rows in X's order"),
        ({"init_score": pd.Series(np.ones(N))[::-1]}, "init_score: expected the rows in X's order"),
        ({"y": Y.astype(str)}, "y: expected numbers, got values of type <U21. Pass real numbers: encode text"),
        ({"y": A[:, ::3]}, r"y: expected a finite number for each of 60 rows, got shape \(60, 2\). Pass one column"),
        ({"qid": None}, "qid: expected the query of every row, got none. Pass qid="),
        (
            {"qid": [10] * 6},
            r"qid: expected one query for each of 60 rows, got shape \(6,\). .* or the sizes as group=",
        ),
        ({"qid": np.where(QID == 2, np.nan, QID)}, "qid: expected the query of every row, got nan at row 20. Fill"),
        ({"qid": pd.array([*[1] * 30, *[None] * 30], dtype="Int64")}, "qid: expected the query .* at row 30"),
        ({"qid": [*["q1"] * 30, *[None] * 30]}, "qid: expected the query of every row, got None at row 30"),
        (
            {"qid": None, "group": [2**62] * 3 + [2**62 + 60]},
            "group: expected sizes that add up to the 60 rows of X, got",
        ),
        (
            {"qid": None, "group": np.array([2**63, 2**63, 60], np.uint64)},
            "group: expected sizes that add up to the 60 r",
        ),
        ({"qid": None, "group": [61, -1]}, "group: expected the number of rows of each query, from 0, got"),
        ({"qid": None, "group": [30, 29]}, "group: expected sizes that add up to the 60 rows of X, got 59. Correct"),
        ({"sample_weight": np.full(N, np.nan)}, "sample_weight: expected a finite number .* got nan at row 0"),
        ({"sample_weight": -np.ones(N)}, "training data: expected finite weights of at least 0"),
        ({"init_score": ["x"] * N}, "init_score: expected numbers, got values of type <U1"),
        (
            {"eval_set": A},
            r"eval_set: expected RankingData, \(X, y, qid\), or \(X, y\) beside eval_qid or eval_group, got",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused_in_one_line(arguments, message) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        _fit(FRAME, **arguments)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "values"), [("y", np.zeros(N)), ("qid", QID), ("sample_weight", np.ones(N))])
def test_columns_beside_ranking_data_are_refused(name, values) -> None:
    data = data_from_arrays(A, Y, QID)[0]
    ranker = LambdaMART(**SMALL).fit(data)
    for method in (ranker.fit, ranker.score):
        with pytest.raises(InvalidInputError, match=f"{name}: expected none beside RankingData"):
            method(data, **{name: values})


def test_queries_of_an_eval_set_are_given_once() -> None:
    ranker, data = LambdaMART(**SMALL), data_from_arrays(A, Y, QID)[0]
    with pytest.raises(InvalidInputError, match=r"eval_qid: expected none beside RankingData"):
        ranker.fit(data, eval_set=data, eval_qid=QID)
    with pytest.raises(InvalidInputError, match=r"eval_set: expected RankingData, \(X, y, qid\), or \(X, y\) beside"):
        ranker.fit(A, Y, qid=QID, eval_set=(A, Y, QID), eval_qid=QID)
    with pytest.raises(InvalidInputError, match=r"eval_set: .*, got a list of 2\. Pass one eval set"):
        ranker.fit(A, Y, qid=QID, eval_set=[(A, Y), (A, Y)], eval_qid=QID)


def test_labels_among_the_features_of_fit_are_named(caplog: pytest.LogCaptureFixture) -> None:
    _fit(FRAME.assign(grade=Y))
    assert caplog.messages == [
        "X: features equal the label in every row, 'grade': leave them out, unless new documents have them."
    ]
    caplog.clear()
    _fit(FRAME.assign(one=1.0))
    assert caplog.messages == []


def test_features_that_float32_rounds_to_few_values_are_named(caplog: pytest.LogCaptureFixture) -> None:
    time = 1.7e9 + np.arange(len(Y))  # a step of float32 is 128 there
    for X, name in (
        (FRAME.assign(time=time), "time"),
        (np.column_stack([A, time.astype(np.int64)]), str(A.shape[1] + 1)),
    ):
        _fit(X)
        assert caplog.messages == [
            f"X: feature {name!r} has {len(Y)} values, of which float32 tells 1 apart. Subtract a constant from it."
        ]
        caplog.clear()
    _fit(FRAME.assign(tenth=0.1, year=np.arange(len(Y)) + 2000.5, time=time - 1.7e9, missing=np.nan))
    assert caplog.messages == []


def test_queries_of_joined_arrays_that_have_the_same_id_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    _fit(FRAME)
    assert caplog.text == ""
    LambdaMART(**SMALL).fit(np.vstack([A, A]), [*Y, *Y], qid=[*QID, *QID])
    assert f"qid: {len(set(QID))} queries have rows in two places, which count as one query." in caplog.text


def test_an_object_without_rows_is_refused_beside_group() -> None:
    with pytest.raises(InvalidInputError, match=r"X: expected numbers, got <object object"):
        LambdaMART(**SMALL).fit(object(), Y, group=[10] * 6)


def test_sizes_in_the_order_of_value_counts_are_named(caplog: pytest.LogCaptureFixture) -> None:
    qid = pd.Series(np.repeat([0, 1, 2, 3], [3, 5, 4, 8]), name="qid")
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.tile([0, 1], 10)
    LambdaMART(**SMALL).fit(X, y, group=qid.value_counts(sort=False))
    LambdaMART(**SMALL).fit(X, y, group=qid.groupby(qid).size())
    assert "value_counts" not in caplog.text
    LambdaMART(**SMALL).fit(X, y, group=qid.value_counts())
    assert "group: sizes are ordered as by value_counts(), from the largest down. Pass those" in caplog.text


def test_ids_among_the_features_of_fit_are_named(caplog: pytest.LogCaptureFixture) -> None:
    _fit(FRAME.assign(qid=np.asarray(QID)).reset_index())  # where XGBoost takes the queries from `qid`
    assert caplog.messages == [
        "X: ids are trained on as features, ['index', 'qid']: leave them out, X.drop(columns=['index', 'qid'])."
    ]


def test_a_base_model_of_other_columns_than_an_array_is_refused_as_by_predict() -> None:
    base = LambdaMART(**SMALL).fit(A[:, :3], Y, qid=QID)
    ranker = LambdaMART(**SMALL, base=base)
    with pytest.raises(ModelMismatchError, match="X: expected the 3 columns of the base's model, got 4"):
        ranker.fit(A, Y, qid=QID)
    numbered = FRAME.set_axis(["1", "2", "3", "4"], axis=1)
    assert ranker.fit(numbered, Y, qid=QID).base_.model.n_features_in_ == 3


cells = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(width=32, allow_infinity=False)


@settings(max_examples=50)
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=5))
def test_objects_become_what_python_makes_of_them(rows) -> None:
    expected = np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows]).astype(np.float32)
    array = np.array(rows, dtype=object)
    np.testing.assert_array_equal(feature_matrix(array), expected)
    np.testing.assert_array_equal(feature_matrix(pd.DataFrame(array)), expected)


@settings(max_examples=50)
@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(width=32)))
def test_first_infinite_is_the_first_that_numpy_finds(X) -> None:
    positions = np.argwhere(np.isinf(X)).tolist()
    assert first_infinite(X) == (tuple(positions[0]) if positions else None)
    assert first_infinite(np.asfortranarray(X)) == first_infinite(X)


def test_first_infinite_is_found_in_any_block_of_rows() -> None:
    n_rows = BLOCK_BYTES // 8 + 1
    X = np.zeros((n_rows, 2), np.float32)
    X[-1, 1] = np.inf
    assert first_infinite(X) == (n_rows - 1, 1)


def test_letor_text_without_any_feature_has_zeros(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = {"train": "0 qid:1 1:3 2:1\n1 qid:1 1:5 2:1\n", "listed": "0 qid:1 1:0 2:0\n", "none": "0 qid:1\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    train, listed, none = (read_data(tmp_path / f"{name}.txt") for name in texts)
    model = LambdaMART(n_estimators=1, min_child_samples=1).fit(train)
    with caplog.at_level("DEBUG", "rerank"):
        assert model.predict(none).tolist() == model.predict(listed).tolist()
    assert "data: 0 features are ignored" in caplog.text


def test_numbers_of_a_column_are_float64() -> None:
    assert finite_column("y", pd.Series([1, 2], dtype="Int8"), 2).dtype == np.float64


def test_labels_may_be_one_column_of_a_table() -> None:
    X, y, qid = np.eye(4, 3, dtype=np.float32), [1, 0, 0, 1], [1, 1, 2, 2]
    expected = LambdaMART(n_estimators=1, min_child_samples=1).fit(X, y, qid=qid).predict(X)
    for column in (np.array(y)[:, None], [[label] for label in y]):
        found = LambdaMART(n_estimators=1, min_child_samples=1).fit(X, column, qid=qid).predict(X)
        assert found.tolist() == expected.tolist()
