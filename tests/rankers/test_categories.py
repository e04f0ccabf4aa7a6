"""Categories of all boosted rankers: codes, pandas' category columns, files, and what is refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.ensemble import Ensemble
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.rankers.ranksvm import RankSVM
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import RankingData, query_rows
from tests.rankers.conftest import model_from_dict, ranking_data

SMALL: dict[str, Any] = {"n_estimators": 12, "num_leaves": 8, "min_child_samples": 3}
BOOSTED = [name for name in known_rankers() if issubclass(ranker_class(name), BoostedTrees)]
COLOURS = ["red", "green", "blue", "grey", "black", "white"]


def with_colours(data: RankingData) -> RankingData:
    """Return the data with a category in f3, whose codes have no order, that the labels depend on."""
    X = data.X.copy()
    labels = data.labels if data.labels is not None else np.zeros(data.n_rows)
    random = np.random.default_rng(data.n_rows)
    X[:, 3] = np.where(
        random.random(data.n_rows) < 0.7, np.array([4, 1, 5, 0])[labels.astype(int)], random.integers(0, 6, data.n_rows)
    )
    X[random.random(data.n_rows) < 0.05, 3] = np.nan
    return replace(data, X=X)


@pytest.fixture(scope="module")
def coloured() -> RankingData:
    return with_colours(ranking_data(1, n_queries=80))


@pytest.fixture(scope="module")
def unseen() -> RankingData:
    return with_colours(ranking_data(2))


def frame(data: RankingData, order: list[str] = COLOURS) -> Any:
    """Return the features as a data frame of pandas, f3 as names of colours in a category column."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(data.X, columns=list(data.feature_names))
    names = [None if code != code else COLOURS[int(code)] for code in data.X[:, 3].tolist()]
    X["f3"] = pandas.Categorical(names, categories=order)
    return X


@pytest.mark.parametrize("name", BOOSTED)
def test_categories_are_split_as_sets_by_all_boosted_rankers(name: str, coloured, unseen, tmp_path) -> None:
    kind = ranker_class(name)
    model = kind(**SMALL, categorical_feature=["f3"]).fit(coloured)
    assert model.forest_.categories.tolist() == [3]
    scores = model.predict(unseen)
    np.testing.assert_array_equal(
        kind(**SMALL, categorical_feature=[np.int64(3)]).fit(coloured).predict(unseen), scores
    )
    np.testing.assert_allclose(model.contributions(unseen).sum(axis=1), scores, rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.categorical_feature == ["f3"]
    np.testing.assert_array_equal(again.predict(unseen), scores)


def test_members_of_an_ensemble_split_categories(coloured, unseen) -> None:
    member = "lambdamart(n_estimators=8, num_leaves=8, min_child_samples=3, categorical_feature=['f3'])"
    model = Ensemble(members=f"{member}, mart(n_estimators=4)", n_folds=2).fit(coloured)
    other = Ensemble(members=f"{member.replace('f3', 'f2')}, mart(n_estimators=4)", n_folds=2)
    with pytest.raises(InvalidInputError, match=r"^training data: expected whole numbers"):
        other.fit(coloured)
    X = unseen.X.copy()
    X[0, 3] = -1.0
    with pytest.raises(InvalidInputError, match=r"got -1 at row 0 of feature 'f3'"):
        model.predict(replace(unseen, X=X))


def test_a_category_helps_where_its_codes_have_no_order(coloured, unseen) -> None:
    codes, numbers = (LambdaMART(**SMALL, categorical_feature=each).fit(coloured) for each in (["f3"], "auto"))
    assert not len(numbers.forest_.categories)
    assert codes.score(unseen) > numbers.score(unseen)


def test_the_model_does_not_depend_on_the_order_of_rows(coloured) -> None:
    order = np.random.default_rng(0).permutation(coloured.n_rows)
    qid = query_rows(coloured.query_ptr)
    models = [
        LambdaMART(**SMALL, categorical_feature=["4"]).fit(coloured.X[rows], coloured.labels[rows], qid=qid[rows])
        for rows in (np.arange(coloured.n_rows), order)
    ]
    assert models[0].to_dict()["learned"] == models[1].to_dict()["learned"]


def test_category_columns_of_a_frame_are_known_by_their_values(coloured, unseen, tmp_path) -> None:
    qid, labels = query_rows(coloured.query_ptr), coloured.labels
    model = LambdaMART(**SMALL).fit(frame(coloured), labels, qid=qid)
    by_code = LambdaMART(**SMALL, categorical_feature=[3]).fit(coloured.X, labels, qid=qid)
    expected = by_code.predict(unseen.X)
    assert model.categories_ == {"f3": COLOURS}
    model.save(tmp_path / "model.json")
    for each in (model, read_model(tmp_path / "model.json")):
        np.testing.assert_array_equal(each.predict(frame(unseen)), expected)
        np.testing.assert_array_equal(each.predict(frame(unseen, sorted([*COLOURS, "pink"]))), expected)
        contributions = each.contributions(frame(unseen, COLOURS[::-1]))
        np.testing.assert_allclose(contributions.sum(axis=1), expected, rtol=1e-9, atol=1e-9)
        score = each.score(frame(unseen, COLOURS[::-1]), unseen.labels, qid=query_rows(unseen.query_ptr))
        assert score == by_code.score(unseen.X, unseen.labels, qid=query_rows(unseen.query_ptr))
    strange = frame(unseen, [*COLOURS, "pink"])
    strange["f3"] = strange["f3"].where(strange["f3"] != "red", "pink")
    absent = frame(unseen)
    absent.loc[absent["f3"] == "red", "f3"] = None
    np.testing.assert_array_equal(model.predict(strange), model.predict(absent))


def test_validation_frames_have_the_codes_of_training(coloured, unseen) -> None:
    qid, valid_qid = query_rows(coloured.query_ptr), query_rows(unseen.query_ptr)
    results = [
        LambdaMART(**SMALL).fit(
            frame(coloured), coloured.labels, qid=qid, eval_set=(frame(unseen, order), unseen.labels, valid_qid)
        )
        for order in (COLOURS, COLOURS[::-1])
    ]
    assert results[0].evals_result_ == results[1].evals_result_
    assert results[0].to_dict() == results[1].to_dict()


@pytest.mark.parametrize("value", [-1.0, 0.5, 70_000.0])
def test_values_that_are_no_codes_are_refused(value: float, coloured) -> None:
    X = coloured.X.copy()
    X[7, 3] = value
    wrong = replace(coloured, X=X)
    with pytest.raises(
        InvalidInputError, match=rf"^training data: .* got {value:.9g} at row 7 of feature 'f3'"
    ) as caught:
        LambdaMART(**SMALL, categorical_feature=["f3"]).fit(wrong)
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInputError, match=r"^validation data: expected whole numbers from 0 to 65535"):
        LambdaMART(**SMALL, categorical_feature=["f3"]).fit(coloured, eval_set=wrong)
    model = LambdaMART(**SMALL, categorical_feature=["f3"]).fit(coloured)
    if value > 1:
        assert model.predict(wrong)[7] == model.predict(replace(coloured, X=np.where(value == X, np.nan, X)))[7]
    else:
        with pytest.raises(InvalidInputError, match=rf"^X: .* got {value:.9g} at row 7 of feature 'f3'"):
            model.predict(wrong)
        with pytest.raises(InvalidInputError, match=r"^X: expected whole numbers"):
            model.contributions(wrong)


def test_more_categories_than_codes_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    n = 2**16 + 1
    X = pandas.DataFrame({"c": pandas.Categorical(np.arange(n))})
    with pytest.raises(
        InvalidInputError, match=r"^X: expected up to 65536 values, each once as categories of column 'c'"
    ):
        LambdaMART(**SMALL).fit(X, np.zeros(n), qid=np.zeros(n))


def test_constraints_on_a_category_are_refused(coloured) -> None:
    with pytest.raises(InvalidInputError, match=r"^monotone_constraints: .* got the category 'f3'. Leave it out"):
        LambdaMART(**SMALL, categorical_feature=["f3"], monotone_constraints={"f3": 1}).fit(coloured)
    model = LambdaMART(
        **SMALL, categorical_feature=["f3"], monotone_constraints={"f0": 1}, interaction_constraints=[["f0", "f3"]]
    ).fit(coloured)
    assert set(model.forest_.feature.tolist()) == {0, 3}


def test_unknown_categories_are_refused(coloured) -> None:
    with pytest.raises(InvalidInputError, match=r"^categorical_feature: expected a feature of the training data, got"):
        LambdaMART(**SMALL, categorical_feature=["g3"]).fit(coloured)
    with pytest.raises(InvalidInputError, match=r"^categorical_feature: expected 'auto', or a list"):
        LambdaMART(**SMALL, categorical_feature="f3").fit(coloured)


def test_other_columns_than_those_of_training_are_refused(coloured) -> None:
    qid = query_rows(coloured.query_ptr)
    model = LambdaMART(**SMALL).fit(frame(coloured), coloured.labels, qid=qid)
    numbers = frame(coloured)
    numbers["f3"] = coloured.X[:, 3]
    with pytest.raises(InvalidInputError, match=r"^X: expected the column 'f3' to be of pandas' type category"):
        model.predict(numbers)
    with pytest.raises(InvalidInputError, match=r"^base: expected a model whose category columns"):
        LambdaMART(**SMALL, base=model).fit(frame(coloured, COLOURS[::-1]), coloured.labels, qid=qid)
    with pytest.raises(InvalidInputError, match=r"^X: expected numbers, got categories in column 'f3'"):
        RankSVM().fit(frame(coloured), coloured.labels, qid=qid)


@pytest.mark.parametrize("categories", [{"g": ["a"]}, {"f3": [None]}, {"f3": ["a", "a"]}, ["f3"]])
def test_damaged_categories_are_refused(categories: object, coloured) -> None:
    model = LambdaMART(**SMALL).fit(frame(coloured), coloured.labels, qid=query_rows(coloured.query_ptr))
    stored = copy.deepcopy(model.to_dict())
    stored["categories"] = categories
    with pytest.raises(InvalidInputError, match="categories"):
        model_from_dict(stored)


@pytest.mark.parametrize("chosen", [np.array([3, 5]), [np.int64(3), np.int64(5)]], ids=["array", "scalars"])
@pytest.mark.parametrize("name", ["categorical_feature", "interaction_constraints"])
def test_features_are_chosen_by_numpys_numbers(coloured: RankingData, name: str, chosen: Any, tmp_path: Any) -> None:
    data = replace(coloured, X=np.column_stack([coloured.X[:, :5], coloured.X[:, 3], coloured.X[:, 6:]]))
    groups = name == "interaction_constraints"
    expected, found = (LambdaMART(**SMALL, **{name: [each] if groups else each}).fit(data) for each in ([3, 5], chosen))
    found.save(tmp_path / "model.json")
    for model in (found, read_model(tmp_path / "model.json")):
        np.testing.assert_array_equal(model.predict(data), expected.predict(data))
