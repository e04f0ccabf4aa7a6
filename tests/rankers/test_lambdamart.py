from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.rankers.lambdamart import LambdaMART
from rerank.types import RankingData, pointers
from rerank.types.tie_order import trec_order
from tests.rankers.conftest import ranking_data

SMALL = {"n_estimators": 30, "num_leaves": 8, "min_child_samples": 5}


def ndcg(data: RankingData, scores: np.ndarray) -> float:
    ranked = trec_order(data.query_ptr, scores, data.doc_ids)
    ideal_labels, ideal_ptr = data.ideal()
    lists = RankedLists(data.labels[ranked], data.query_ptr, ideal_labels, ideal_ptr)
    return float(parse_measure("nDCG@10").scores(lists).mean())


def test_lambdamart_learns_what_one_feature_does_not_tell(train, test) -> None:
    model = LambdaMART(**SMALL).fit(train)
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.03


def test_lambdamart_is_the_same_for_any_number_of_threads(train, test) -> None:
    one, two = (LambdaMART(**SMALL, n_jobs=n).fit(train) for n in (1, 2))
    assert one.to_dict()["learned"] == two.to_dict()["learned"]
    np.testing.assert_array_equal(one.predict(test), two.predict(test))


def _shuffled_arrays(data: RankingData, seed: int):
    order = np.random.default_rng(seed).permutation(data.n_rows)
    qid = np.repeat(data.query_ids, np.diff(data.query_ptr))
    return data.X[order], data.labels[order], qid[order]


@pytest.mark.parametrize("strategy", ["bagging", "mvs"])
def test_lambdamart_is_the_same_for_any_order_of_rows(strategy: str, train, test) -> None:
    models = []
    for seed in (0, 1):
        X, y, qid = _shuffled_arrays(train, seed)
        drawn = {"data_sample_strategy": strategy, "subsample": 0.7, "colsample_bytree": 0.5}
        models.append(LambdaMART(**SMALL, **drawn).fit(X, y, qid=qid))
    assert models[0].to_dict()["learned"] == models[1].to_dict()["learned"]


def test_lambdamart_on_rows_drawn_by_gradient_learns_what_one_feature_does_not_tell(train, test) -> None:
    models = [LambdaMART(**SMALL, data_sample_strategy="mvs", subsample=0.4, n_jobs=n).fit(train) for n in (1, 2)]
    assert (
        models[0].to_dict()["learned"]
        == models[1].to_dict()["learned"]
        != LambdaMART(**SMALL).fit(train).to_dict()["learned"]
    )
    assert ndcg(test, models[0].predict(test)) > ndcg(test, test.base_scores) + 0.03


def test_rows_cannot_be_drawn_by_gradient_all_of_them_or_for_least_squares(train) -> None:
    with pytest.raises(InvalidInputError, match=r"expected subsample below 1 with 'mvs', got 1\. Set e\.g\."):
        LambdaMART(**SMALL, data_sample_strategy="mvs").fit(train)
    with pytest.raises(InvalidInputError, match="expected split='newton' with 'mvs', got 'least-squares'"):
        LambdaMART(**SMALL, data_sample_strategy="mvs", subsample=0.2, split="least-squares").fit(train)


def test_lambdamart_is_the_same_for_any_order_of_queries_in_a_record(train) -> None:
    order = np.random.default_rng(0).permutation(len(train))
    one, two = LambdaMART(**SMALL).fit(train), LambdaMART(**SMALL).fit(train.select(order))
    assert one.to_dict()["learned"] == two.to_dict()["learned"]


def test_lambdamart_gives_the_same_model_twice(train) -> None:
    parameters = {**SMALL, "subsample": 0.5, "colsample_bytree": 0.5, "random_state": 7}
    assert (
        LambdaMART(**parameters).fit(train).to_dict()["learned"]
        == LambdaMART(**parameters).fit(train).to_dict()["learned"]
    )
    other = LambdaMART(**{**parameters, "random_state": 8}).fit(train)
    assert other.to_dict()["learned"] != LambdaMART(**parameters).fit(train).to_dict()["learned"]


def test_lambdamart_stops_early_at_the_best_validation_measure(train, valid) -> None:
    model = LambdaMART(n_estimators=300, num_leaves=31, min_child_samples=2, early_stopping_rounds=10).fit(
        train, eval_set=valid
    )
    history = model.evals_result_["valid"]["nDCG@10"]
    assert model.best_iteration_ == int(np.argmax(history)) < 300
    assert len(history) == model.best_iteration_ + 11
    assert model.forest_.n_trees == model.best_iteration_
    assert ndcg(valid, model.predict(valid)) == pytest.approx(max(history), abs=1e-9)


def test_lambdamart_validation_counts_relevant_documents_that_no_run_retrieved(train, valid) -> None:
    ideal_labels, ideal_ptr = valid.ideal()
    more = replace(
        valid,
        ideal_labels=np.insert(ideal_labels, ideal_ptr[:-1], 3.0),
        ideal_ptr=pointers(np.diff(ideal_ptr) + 1),
    )
    plain = LambdaMART(**SMALL).fit(train, eval_set=valid).evals_result_["valid"]["nDCG@10"]
    with_missed = LambdaMART(**SMALL).fit(train, eval_set=more).evals_result_["valid"]["nDCG@10"]
    assert with_missed[5] < plain[5]


@pytest.mark.parametrize("normalize", [False, True])
def test_sigma_makes_no_difference_to_the_model(train, normalize) -> None:
    """Burges 2010, section 7: it only sets the unit of the scores."""
    parameters = {**SMALL, "normalize": normalize, "reg_lambda": 0.5, "min_split_gain": 0.01, "min_child_weight": 0.1}
    plain = LambdaMART(**parameters).fit(train)
    for sigma in (1e-9, 0.01, 0.3, 1.0, 4.0, 1e9):
        model = LambdaMART(**parameters, sigma=sigma).fit(train)
        for name in ("node_ptr", "feature", "threshold", "missing_left", "left", "right", "gain"):
            np.testing.assert_array_equal(getattr(model.forest_, name), getattr(plain.forest_, name))
        np.testing.assert_allclose(model.forest_.leaf_value, plain.forest_.leaf_value / sigma, rtol=1e-15)


def test_sigma_of_a_warm_start_is_the_slope_in_the_unit_of_the_base(train, test) -> None:
    results = []
    for factor in (1e-9, 1.0, 1e6):
        data, other = (replace(data, base_scores=data.base_scores * factor) for data in (train, test))
        model = LambdaMART(**SMALL, base="run", start="base", sigma=0.7 / factor if factor > 1e-9 else 0.7e9).fit(data)
        results.append(model.predict(other) / factor)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(results[2], results[1], rtol=1e-6, atol=1e-9)


def test_queries_of_weight_zero_teach_a_warm_start_nothing(train, test) -> None:
    half = np.arange(len(train)) < len(train) // 2
    rows, data = np.repeat(half, np.diff(train.query_ptr)), replace(train, X=np.round(train.X))
    one, two = (
        LambdaMART(**SMALL, base="run").fit(replace(data, base_scores=scores, weights=half.astype(np.float64)))
        for scores in (train.base_scores, np.where(rows, train.base_scores, 1e6 * train.base_scores))
    )
    np.testing.assert_allclose(one.predict(test), two.predict(test), rtol=1e-6, atol=1e-9)


def test_warm_start_that_no_tree_betters_stays_the_base(train, valid) -> None:
    perfect = {"base_scores": train.labels}, {"base_scores": valid.labels}
    model = LambdaMART(**SMALL, base="run", early_stopping_rounds=5).fit(
        replace(train, **perfect[0]), eval_set=replace(valid, **perfect[1])
    )
    assert model.best_iteration_ == 0
    np.testing.assert_array_equal(model.predict(replace(valid, **perfect[1])), valid.labels)


def test_weights_say_how_much_a_query_counts(train) -> None:
    halves = np.arange(len(train)) < len(train) // 2
    results = []
    for heavy in (halves, ~halves):
        model = LambdaMART(**SMALL).fit(replace(train, weights=np.where(heavy, 1.0, 1e-3)))
        ours, other = train.select(np.flatnonzero(heavy)), train.select(np.flatnonzero(~heavy))
        results.append(ndcg(ours, model.predict(ours)) - ndcg(other, model.predict(other)))
    assert min(results) > 0.02


def test_arrays_and_records_predict_alike(train, test) -> None:
    model = LambdaMART(**SMALL).fit(train)
    np.testing.assert_array_equal(model.predict(test), model.predict(test.X))
    np.testing.assert_array_equal(model.predict(test), model.predict(test.X.astype(np.float64)))


def test_rank_orders_documents_by_score(train, test) -> None:
    model = LambdaMART(**SMALL).fit(train)
    run = model.rank(test)
    assert run.name == "lambdamart"
    assert list(run) == list(test)
    for query_id in run:
        assert (np.diff(run.scores[run.rows(query_id)]) <= 0).all()


def test_missing_values_are_learned_not_read_as_zero() -> None:
    data = ranking_data(5, missing=0.0)
    informative = np.where(data.labels >= 2, np.nan, np.random.default_rng(0).standard_normal(data.n_rows))
    X = np.column_stack([informative, np.zeros(data.n_rows)]).astype(np.float32)
    result = replace(data, X=X, feature_names=("a", "b"))
    model = LambdaMART(**SMALL).fit(result)
    scores = model.predict(result)
    assert scores[np.isnan(X[:, 0])].min() > scores[~np.isnan(X[:, 0])].max()


def test_importances_are_gains_by_feature(train) -> None:
    importances = LambdaMART(**SMALL).fit(train).feature_importances_
    assert importances.shape == (train.n_features,)
    assert importances[:3].min() > importances[3:].max()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_leaves": 1}, "num_leaves: expected 2 to"),
        ({"max_bin": 256}, "max_bin: expected 2 to 255, got 256"),
        ({"metric": "ndgc@10"}, "Did you mean"),
        ({"metric": 3}, "measure: expected a name such as .nDCG@10., a measure, or a function"),
        ({"n_jobs": 0}, "n_jobs: expected a number of threads"),
    ],
)
def test_parameters_that_cannot_be_are_refused(train, parameters, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        LambdaMART(**{**SMALL, **parameters}).fit(train)


def test_data_that_cannot_be_learned_from_are_refused(train) -> None:
    labels = train.labels.copy()
    labels[3] = np.nan
    with pytest.raises(InvalidInputError, match=r"expected a finite label in every row, got nan at row 3 \(query 'q0'"):
        LambdaMART(**SMALL).fit(replace(train, labels=labels))
    with pytest.raises(InvalidInputError, match=r"expected labels, got none\. .*, or call their column label"):
        LambdaMART(**SMALL).fit(replace(train, labels=None))
    with pytest.raises(InvalidInputError, match="expected a query with a positive label"):
        LambdaMART(**SMALL).fit(replace(train, labels=np.zeros(train.n_rows)))
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        LambdaMART(**SMALL).fit(replace(train, X=np.ones_like(train.X)))
    with pytest.raises(InvalidInputError, match="Pass a column of query ids, or the sizes as group="):
        LambdaMART(**SMALL).fit(train.X, train.labels, qid=np.diff(train.query_ptr))
    with pytest.raises(InvalidInputError, match="y: expected a label for every row"):
        LambdaMART(**SMALL).fit(train.X)
    with pytest.raises(InvalidInputError, match="expected a fitted model"):
        LambdaMART().predict(train)


def test_max_depth_of_0_is_no_limit(train, test) -> None:
    """As in LightGBM and XGBoost."""
    free, none = (LambdaMART(**SMALL, max_depth=depth).fit(train) for depth in (-1, 0))
    np.testing.assert_array_equal(free.predict(test), none.predict(test))


def test_callbacks_that_are_no_list_are_refused(train) -> None:
    with pytest.raises(InvalidInputError, match="callbacks: expected a list of functions, got "):
        LambdaMART(**SMALL).fit(train, callbacks=lambda progress: None)

    def fail(progress: object) -> None:
        raise ValueError("one line\nand another")

    with pytest.raises(InvalidInputError, match="got ValueError at iteration 1: one line and another"):
        LambdaMART(**SMALL).fit(train, callbacks=[fail])
