"""LightGBM's interface: scripts as they are written for it, its own callbacks, figures and files as references."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rerank
import rerank.plugins.lightgbm as lgb
from rerank.errors import InvalidInputError, UnknownParameterError
from rerank.plugins.lightgbm.eval_sets import EvalSet
from rerank.plugins.lightgbm.parameters import LightGBMSettings
from tests.rankers.leaves import leaves

lightgbm = pytest.importorskip("lightgbm")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
FEW = {"n_estimators": 12, "num_leaves": 7, "verbose": -1}


def frame(n_queries: int, size: int = 20, seed: int = 0) -> pd.DataFrame:
    """Rows of queries of equal size, two features that matter and one that does not."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_queries * size, 3))
    label = np.digitize(X[:, 0] + 0.5 * X[:, 1] + random.normal(size=len(X)), [0.5, 1.5])
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=label, query=np.repeat(np.arange(n_queries), size))


TRAIN, VALID, TEST = frame(60), frame(30, seed=1), frame(20, seed=2)
FEATURES = ["a", "b", "c"]


def parts(rows: pd.DataFrame) -> tuple[Any, Any, Any]:
    return rows[FEATURES].to_numpy(), rows["label"].to_numpy(), rows.groupby("query").size().to_numpy()


X, Y, GROUP = parts(TRAIN)
X_VALID, Y_VALID, GROUP_VALID = parts(VALID)


def fitted(**given: Any) -> lgb.LGBMRanker:
    return lgb.LGBMRanker(**{**FEW, **given}).fit(X, Y, group=GROUP)


def watched(of: Any = lgb, callbacks: Any = (), model: Any = None, **arguments: Any) -> Any:
    """A ranker that is trained with an eval set."""
    given = {"eval_set": [(X_VALID, Y_VALID)], "eval_group": [GROUP_VALID], "eval_at": [1, 3], **arguments}
    return (model or of.LGBMRanker(**FEW)).fit(X, Y, group=GROUP, callbacks=list(callbacks), **given)


def test_first_figure_of_early_stopping_is_that_of_the_least_depth_as_in_lightgbm() -> None:
    stopped = [
        watched(of, [lightgbm.early_stopping(3, first_metric_only=True, verbose=False)], eval_at=at)
        for of, at in ((lgb, [3, 1]), (lgb, [1, 3]), (lightgbm, [3, 1]))
    ]
    assert [list(ranker.evals_result_["valid_0"]) for ranker in stopped] == 3 * [["ndcg@1", "ndcg@3"]]
    assert stopped[0].best_iteration_ == stopped[1].best_iteration_


# Five scripts in the forms that public ones have; each says which.


def test_script_of_lightgbms_own_tests_runs(shared_data: Path) -> None:
    """`test_lambdarank` of its test_sklearn.py: sparse files, sizes read as float64, its bars."""
    folder = shared_data / "letor" / "lightgbm_lambdarank"
    (features, labels), (others, judged) = (
        load_svmlight_file(str(folder / f"rank.{part}")) for part in ("train", "test")
    )
    sizes, tested = (np.loadtxt(str(folder / f"rank.{part}.query")) for part in ("train", "test"))
    best = []
    for seed in range(5):  # orders of equal scores: with 50 queries, one of them may be below a bar by chance
        ranker = lgb.LGBMRanker(n_estimators=50, random_state=seed)
        ranker.fit(
            features,
            labels,
            group=sizes,
            eval_set=[(others, judged)],
            eval_group=[tested],
            eval_at=[1, 3],
            callbacks=[
                lgb.early_stopping(10),
                lgb.reset_parameter(learning_rate=lambda number: max(0.01, 0.1 - 0.01 * number)),
            ],
        )
        assert ranker.best_iteration_ <= 24
        best.append(list(ranker.best_score_["valid_0"].values()))
    at_1, at_3 = np.mean(best, axis=0)
    assert at_1 > 0.5674
    assert at_3 > 0.578


def test_script_with_data_frames_and_verbose_runs() -> None:
    """As in the answer "How to implement learning to rank using lightgbm" (Stack Overflow 64294962)."""
    sizes = TRAIN.groupby("query")["query"].count().to_numpy()
    model = lgb.LGBMRanker(objective="lambdarank", metric="ndcg", **FEW)
    model.fit(
        X=TRAIN.drop(["query", "label"], axis=1),
        y=TRAIN["label"],
        group=sizes,
        eval_set=[(VALID.drop(["query", "label"], axis=1), VALID["label"])],
        eval_group=[VALID.groupby("query")["query"].count().to_numpy()],
        eval_at=10,
        verbose=10,
    )
    assert list(model.evals_result_["valid_0"]) == ["ndcg@10"]
    assert model.feature_name_ == FEATURES
    assert len(model.predict(TEST[FEATURES])) == len(TEST)


@pytest.mark.parametrize("depths", ["3,1", [3, 1], None, []])
def test_depths_are_read_as_lightgbm_reads_them(depths: Any) -> None:
    names = [list(watched(of, eval_at=depths).evals_result_["valid_0"]) for of in (lgb, lightgbm)]
    assert names[0] == names[1]
    with pytest.raises(InvalidInputError, match=r"eval_at: expected whole numbers, got 'ten'\. Pass e\.g\. \[1, 10\]"):
        watched(eval_at="ten")


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("monotone_constraints", "1,0,-1", [1, 0, -1]),
        ("interaction_constraints", "[0,1],[1,2]", [[0, 1], [1, 2]]),
    ],
)
def test_constraints_are_read_of_a_text_as_lightgbm_reads_them(name: str, text: str, values: Any) -> None:
    assert LightGBMSettings.of({name: text}).parameters[name] == values
    with pytest.raises(InvalidInputError, match=f"{name}: expected numbers with commas between them, got 'a,b'"):
        LightGBMSettings.of({name: "a,b"})


def test_script_that_keeps_boosters_in_files_runs(tmp_path: Path) -> None:
    """As experiments do that train once: `save_model`, then `Booster(model_file=)`."""
    path = str(tmp_path / "model.txt")
    ranker = lgb.LGBMRanker(learning_rate=0.05, n_estimators=30, num_leaves=7)
    ranker.fit(
        X,
        Y,
        group=GROUP,
        eval_set=[(X_VALID, Y_VALID)],
        eval_group=[GROUP_VALID],
        eval_at=[10],
        early_stopping_rounds=10000,
        verbose=False,
    )
    ranker.booster_.save_model(path)
    expected = ranker.booster_.predict(X_VALID)
    np.testing.assert_array_equal(lgb.Booster(model_file=path).predict(X_VALID), expected)
    np.testing.assert_allclose(ranker.ranker_.predict(X_VALID), expected, rtol=1e-12)


def test_script_with_a_dict_of_parameters_and_gains_runs() -> None:
    """As services do: parameters in a dict, importances by name."""
    parameters = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [5, 10],
        "n_estimators": 20,
        "learning_rate": 0.05,
        "num_leaves": 31,
        "random_state": 42,
        "importance_type": "gain",
        "verbose": -1,
    }
    ranker = lgb.LGBMRanker(**parameters)
    ranker.fit(
        TRAIN[FEATURES],
        TRAIN["label"].values,
        group=TRAIN.groupby("query", sort=False).size().to_numpy(),
        eval_set=[(VALID[FEATURES], VALID["label"].values)],
        eval_group=[VALID.groupby("query", sort=False).size().to_numpy()],
        eval_at=[5, 10],
    )
    gains = {name: round(float(gain), 4) for name, gain in zip(FEATURES, ranker.feature_importances_, strict=True)}
    assert gains["a"] > gains["b"] > gains["c"]
    assert set(ranker.best_score_["valid_0"]) == {"ndcg@5", "ndcg@10"}


def test_script_of_a_recommender_runs() -> None:
    """As in competitions: bagging, regularisation, map beside ndcg, `early_stopping_rounds` and `verbose` in fit."""
    ranker = lgb.LGBMRanker(
        boosting_type="gbdt",
        num_leaves=31,
        reg_alpha=0.0,
        reg_lambda=1,
        max_depth=-1,
        n_estimators=2000,
        subsample=0.7,
        colsample_bytree=0.7,
        subsample_freq=1,
        learning_rate=0.1,
        min_child_weight=1,
        random_state=2018,
        n_jobs=-1,
    )
    ranker.fit(
        TRAIN[FEATURES],
        TRAIN["label"],
        group=TRAIN.groupby(["query"], as_index=False).count()["label"].values,
        eval_set=[(VALID[FEATURES], VALID["label"])],
        eval_group=[VALID.groupby(["query"], as_index=False).count()["label"].values],
        eval_at=[12],
        eval_metric=["map"],
        early_stopping_rounds=10,
        verbose=50,
    )
    assert 0 < ranker.best_iteration_ < 2000
    assert set(ranker.best_score_["valid_0"]) == {"map@12", "ndcg@12"}
    scores = ranker.predict(TEST[FEATURES], num_iteration=ranker.best_iteration_)
    np.testing.assert_array_equal(scores, ranker.predict(TEST[FEATURES]))


# Figures


@pytest.mark.parametrize("gains", [None, [0, 1, 5]])
def test_figures_are_those_of_lightgbm_at_the_same_scores(gains: list[int] | None) -> None:
    labels = Y.copy()
    labels[:40] = 0  # two queries without a relevant document
    scores = np.round(np.random.default_rng(3).normal(size=len(Y)), 1)  # some of them equal
    given = {} if gains is None else {"label_gain": gains}
    settings = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 3, 10], "verbose": -1, **given}
    data = lightgbm.Dataset(X, labels, group=GROUP, init_score=scores)
    expected = {each[1]: each[2] for each in lightgbm.Booster(settings, data).eval_train()}
    read = LightGBMSettings.of({"metric": ["ndcg", "map"], **given})
    ptr = np.concatenate([[0], np.cumsum(GROUP)])
    rows = EvalSet("x", labels.astype(float), read.gains_of(labels.astype(float)), ptr, None, read)
    figures = {each.metric_name: each.metric_value for each in rows.results(read.metric_list(None, [1, 3, 10]), scores)}
    assert figures == pytest.approx(expected, abs=1e-12)


def test_weights_of_an_eval_set_weigh_its_queries() -> None:
    weights = np.repeat(np.arange(len(GROUP_VALID)), GROUP_VALID) < 10
    alone = watched(eval_set=[(X_VALID[:200], Y_VALID[:200])], eval_group=[GROUP_VALID[:10]])
    weighed = watched(eval_sample_weight=[weights.astype(float)])
    for name, values in alone.evals_result_["valid_0"].items():
        np.testing.assert_allclose(weighed.evals_result_["valid_0"][name], values, rtol=1e-12)


def test_quality_is_that_of_lightgbm() -> None:
    """Both on the same data, each with its defaults; the mean of ten depths differs by little."""
    X_test, y_test, group = parts(frame(200, seed=7))
    values = {}
    for of in (lgb, lightgbm):
        model = of.LGBMRanker(n_estimators=40, num_leaves=7, verbose=-1).fit(X, Y, group=GROUP)
        rows = EvalSet("x", y_test * 1.0, y_test * 1.0, np.cumsum([0, *group]), None, LightGBMSettings.of({}))
        values[of] = np.mean([each[2] for each in rows.results([("ndcg", [*range(1, 11)])], model.predict(X_test))])
    assert values[lgb] == pytest.approx(values[lightgbm], abs=0.02)


# Callbacks


@pytest.mark.parametrize("first_metric_only", [False, True])
def test_callbacks_of_lightgbm_see_the_eval_sets(first_metric_only: bool) -> None:
    recorded: dict[str, Any] = {}
    stop = lgb.early_stopping(3, first_metric_only=first_metric_only, verbose=False)
    several = {"eval_set": [(X, Y), (X_VALID, Y_VALID)], "eval_group": [GROUP, GROUP_VALID], "eval_metric": "map"}
    watching = [lgb.record_evaluation(recorded), lgb.log_evaluation(0), stop]
    model = watched(callbacks=watching, model=lgb.LGBMRanker(n_estimators=200, num_leaves=7), **several)
    assert model.best_iteration_ == model.booster_.num_trees() < 200
    assert model.evals_result_ == recorded
    assert list(model.evals_result_) == ["training", "valid_1"]
    assert {name: dict(of_set) for name, of_set in model.best_score_.items()} == {
        name: {metric: values[model.best_iteration_ - 1] for metric, values in of_set.items()}
        for name, of_set in model.evals_result_.items()
    }


def test_early_stopping_takes_the_best_iteration_by_hand() -> None:
    stopped = watched(callbacks=[lgb.early_stopping(5, verbose=False)], eval_at=[3], model=lgb.LGBMRanker(num_leaves=7))
    figures = stopped.evals_result_["valid_0"]["ndcg@3"]
    assert stopped.best_iteration_ == int(np.argmax(figures)) + 1
    assert len(figures) == stopped.best_iteration_ + 5
    longer = watched(eval_at=[3], model=lgb.LGBMRanker(num_leaves=7, n_estimators=len(figures)))
    assert longer.best_iteration_ == 0
    assert longer.evals_result_ == stopped.evals_result_
    np.testing.assert_array_equal(longer.predict(X, num_iteration=stopped.best_iteration_), stopped.predict(X))


def test_parameters_of_the_constructor_stop_the_training() -> None:
    model = watched(model=lgb.LGBMRanker(num_leaves=7, early_stopping_round=3, first_metric_only=True))
    assert len(model.evals_result_["valid_0"]["ndcg@1"]) == model.best_iteration_ + 3


def test_learning_rate_is_reset_before_each_tree() -> None:
    rates = [0.2, 0.1, 0.05]
    model = watched(callbacks=[lgb.reset_parameter(learning_rate=rates)], model=lgb.LGBMRanker(n_estimators=3))
    first = [
        lgb.LGBMRanker(n_estimators=1, learning_rate=rate).fit(X, Y, group=GROUP).predict(X) for rate in (0.2, 0.1)
    ]
    np.testing.assert_array_equal(model.predict(X, num_iteration=1), first[0])
    np.testing.assert_allclose(first[0], 2 * first[1], rtol=1e-12)
    constant = watched(callbacks=[lgb.reset_parameter(learning_rate=[0.1] * 12)])
    np.testing.assert_array_equal(constant.predict(X), fitted().predict(X))


def test_functions_measure_the_eval_set() -> None:
    seen = []

    def two(labels: Any, scores: Any) -> tuple[str, float, bool]:
        return "error", float(np.mean((scores > 0) != (labels > 0))), False

    def four(labels: Any, scores: Any, weights: Any, group: Any) -> list[tuple[str, float, bool]]:
        seen.append((len(labels), len(scores), weights, list(group)))
        return [("one", 1.0, True), ("two", 2.0, True)]

    model = watched(eval_metric=["map", two, four])
    assert list(model.evals_result_["valid_0"]) == ["map@1", "map@3", "ndcg@1", "ndcg@3", "error", "one", "two"]
    assert seen[0] == (len(Y_VALID), len(Y_VALID), None, list(GROUP_VALID))
    errors = model.evals_result_["valid_0"]["error"]
    assert errors[-1] == np.mean((model.predict(X_VALID) > 0) != (Y_VALID > 0))
    alone = watched(eval_metric=two, model=lgb.LGBMRanker(**FEW, metric="None"))
    assert list(alone.evals_result_["valid_0"]) == ["error"]
    stopped = watched(eval_metric=two, callbacks=[lgb.early_stopping(2)], model=lgb.LGBMRanker(metric="None"))
    assert stopped.best_iteration_ == int(np.argmin(stopped.evals_result_["valid_0"]["error"])) + 1


def test_a_callback_that_raises_leaves_the_ranker_as_it_was() -> None:
    def break_at_five(env: Any) -> None:
        if env.iteration == 4:
            raise KeyError("lost")

    model = fitted()
    before = model.predict(X)
    with pytest.raises(
        InvalidInputError, match=r"^callbacks: expected each to return, got KeyError at iteration 5: 'lost'"
    ):
        model.fit(X[::-1], Y[::-1], group=GROUP, callbacks=[break_at_five])
    np.testing.assert_array_equal(model.predict(X), before)
    unfitted = lgb.LGBMRanker(**FEW)
    with pytest.raises(InvalidInputError, match="early stopping, at least one dataset"):
        unfitted.fit(X, Y, group=GROUP, callbacks=[lgb.early_stopping(3)])
    assert not unfitted.__sklearn_is_fitted__()


# The model


@pytest.mark.parametrize("kind", ["split", "gain"])
def test_importances_count_splits_or_sum_gains(kind: str) -> None:
    model = fitted(importance_type=kind)
    forest, expected = model.ranker_.forest_, np.zeros(3)
    for feature, gain in zip(forest.feature, forest.gain, strict=True):
        expected[feature] += 1 if kind == "split" else gain
    np.testing.assert_allclose(model.feature_importances_, expected)


def test_leaves_are_those_of_the_trees() -> None:
    model = fitted()
    found = model.predict(X_VALID, pred_leaf=True)
    expected = leaves(model.ranker_.forest_, X_VALID.astype(np.float32))
    np.testing.assert_array_equal(found, np.column_stack([leaf for leaf, _ in expected]))
    np.testing.assert_allclose(sum(values for _, values in expected), model.predict(X_VALID), rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict(X_VALID, pred_leaf=True, start_iteration=3, num_iteration=4), found[:, 3:7]
    )


def test_some_trees_predict_what_shorter_trainings_do() -> None:
    model = fitted()
    np.testing.assert_array_equal(model.predict(X, num_iteration=5), fitted(n_estimators=5).predict(X))
    np.testing.assert_array_equal(model.predict(X, num_iteration=-1), model.predict(X, raw_score=True))
    rest = model.predict(X, start_iteration=5)
    np.testing.assert_allclose(model.predict(X, num_iteration=5) + rest, model.predict(X), rtol=1e-12, atol=1e-15)
    assert (model.predict(X, start_iteration=99) == 0).all()


def test_contributions_sum_to_the_score() -> None:
    model = fitted()
    contributions = model.predict(X_VALID, pred_contrib=True)
    assert contributions.shape == (len(X_VALID), 4)
    np.testing.assert_allclose(contributions.sum(axis=1), model.predict(X_VALID), rtol=1e-9, atol=1e-12)


def test_rows_have_weights_of_their_own() -> None:
    weights = np.random.default_rng(0).random(len(Y)) + 0.5
    model = lgb.LGBMRanker(**FEW).fit(X, Y, group=GROUP, sample_weight=weights)
    same = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 20, "start": "base"}
    expected = rerank.LambdaMART(**same, metric="nDCG(dcg='exp-log2')").fit(X, Y, group=GROUP, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert not np.array_equal(model.predict(X), fitted().predict(X))


def test_categories_are_named_numbered_or_columns_of_a_frame() -> None:
    codes = np.random.default_rng(1).integers(0, 6, len(Y))
    rows = np.column_stack([X, codes])
    label = Y * (codes % 2)
    plain = rerank.LambdaMART(
        n_estimators=12,
        num_leaves=7,
        min_child_samples=20,
        start="base",
        metric="nDCG(dcg='exp-log2')",
        categorical_feature=[3],
    ).fit(rows, label, group=GROUP)
    names = ["a", "b", "c", "kind"]
    for given in ([3], ["kind"]):
        ranker = lgb.LGBMRanker(**FEW).fit(rows, label, group=GROUP, feature_name=names, categorical_feature=given)
        np.testing.assert_array_equal(ranker.predict(rows), plain.predict(rows))
    parts_of = ranker.predict(rows, pred_leaf=True)
    np.testing.assert_array_equal(parts_of[:, :3], ranker.predict(rows, pred_leaf=True, num_iteration=3))
    same = lgb.LGBMRanker(**FEW).fit(X, Y, group=GROUP, categorical_feature=None)
    np.testing.assert_array_equal(same.predict(X), fitted().predict(X))
    table = pd.DataFrame(X, columns=FEATURES).assign(kind=pd.Categorical(codes))
    framed = lgb.LGBMRanker(**FEW).fit(table, label, group=GROUP)
    assert framed.ranker_.categories_ == {"kind": list(range(6))}
    assert len(framed.predict(table)) == len(table)


def test_base_scores_are_started_from_and_not_predicted() -> None:
    start, later = X[:, 0].copy(), X_VALID[:, 0].copy()
    model = lgb.LGBMRanker(**FEW)
    watched(model=model, init_score=start, eval_init_score=[later])
    rows = EvalSet("x", Y_VALID * 1.0, Y_VALID * 1.0, np.cumsum([0, *GROUP_VALID]), None, LightGBMSettings.of({}))
    expected = rows.results([("ndcg", [1])], later + model.predict(X_VALID))[0].metric_value
    assert model.evals_result_["valid_0"]["ndcg@1"][-1] == pytest.approx(expected)


def test_eval_sets_without_base_scores_start_at_0() -> None:
    start, later = X[:, 0].copy(), X_VALID[:, 0].copy()
    twice = {"eval_set": 2 * [(X_VALID, Y_VALID)], "eval_group": 2 * [GROUP_VALID], "init_score": start}
    same = watched(**twice, eval_init_score=[np.zeros(len(later)), later])
    for given in ([None, later], {1: later}):
        assert watched(**twice, eval_init_score=given).evals_result_ == same.evals_result_


def test_training_goes_on_from_an_earlier_model(tmp_path: Path) -> None:
    first = fitted()
    first.booster_.save_model(tmp_path / "first.txt")
    path = tmp_path / "first.txt"
    from_ranker, from_booster, from_file, *from_paths = (
        lgb.LGBMRanker(**FEW).fit(X, Y, group=GROUP, init_model=given).predict(X)
        for given in (first, first.booster_, lgb.Booster(model_file=path), path, str(path), path.read_text())
    )
    np.testing.assert_array_equal(from_ranker, from_booster)
    np.testing.assert_allclose(from_file, from_ranker, rtol=1e-6, atol=1e-9)
    for scores in from_paths:
        np.testing.assert_array_equal(scores, from_file)
    assert not np.array_equal(from_ranker, first.predict(X))


@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_training_in_two_parts_is_that_in_one(sigmoid: float) -> None:
    """As with LightGBM: scores that trees start from have the unit of its own scores."""
    whole = fitted(n_estimators=8, sigmoid=sigmoid).predict(X)
    first = fitted(n_estimators=5, sigmoid=sigmoid)
    rest = lgb.LGBMRanker(**{**FEW, "n_estimators": 3, "sigmoid": sigmoid})
    from_model = rest.fit(X, Y, group=GROUP, init_model=first).predict(X)
    from_scores = rest.fit(X, Y, group=GROUP, init_score=first.predict(X)).predict(X) + first.predict(X)
    np.testing.assert_allclose(from_model, whole, atol=1e-6)
    np.testing.assert_allclose(from_scores, whole, atol=1e-6)


def test_trees_of_an_earlier_model_come_first() -> None:
    first = fitted()
    model = lgb.LGBMRanker(**FEW).fit(X, Y, group=GROUP, init_model=first)
    booster, n_first = model.booster_, first.booster_.num_trees()
    assert booster.num_trees() == 2 * n_first
    np.testing.assert_allclose(model.predict(X, num_iteration=n_first), first.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X, pred_leaf=True)[:, :n_first], first.predict(X, pred_leaf=True))
    assert booster.feature_importance().sum() > first.booster_.feature_importance().sum()
    stopped = watched(model=lgb.LGBMRanker(**FEW), callbacks=[lgb.early_stopping(2)], init_model=first)
    assert stopped.best_iteration_ == stopped.booster_.best_iteration == stopped.booster_.num_trees() > n_first
    np.testing.assert_allclose(
        stopped.predict(X, num_iteration=stopped.best_iteration_), stopped.predict(X), rtol=1e-12
    )
    np.testing.assert_allclose(model.ranker_.predict(X), model.predict(X), rtol=1e-12)


def test_several_eval_sets_may_be_frames_with_categories(recwarn: pytest.WarningsRecorder) -> None:
    train, valid = (
        rows[FEATURES].assign(kind=pd.Categorical(np.where(rows.a > 0, "x", "y"), categories=known))
        for rows, known in ((TRAIN, ["y", "x"]), (VALID, ["y", "z", "x"]))
    )
    sets = {"eval_set": [(train, Y), (valid, Y_VALID)], "eval_group": [GROUP, GROUP_VALID], "eval_at": [3]}
    model = lgb.LGBMRanker(**FEW).fit(train, Y, group=GROUP, **sets)
    alone = lgb.LGBMRanker(**FEW).fit(
        train, Y, group=GROUP, eval_set=[(valid, Y_VALID)], eval_group=[GROUP_VALID], eval_at=[3]
    )
    assert list(model.evals_result_) == ["training", "valid_1"]
    assert model.evals_result_["valid_1"] == alone.evals_result_["valid_0"]
    few = valid[:20].assign(kind=pd.Categorical(["x"] * 20))
    sets = {"eval_set": [(few, Y_VALID[:20]), (valid, Y_VALID)], "eval_group": [[20], GROUP_VALID], "eval_at": [3]}
    again = lgb.LGBMRanker(**FEW).fit(train, Y, group=GROUP, **sets)
    assert again.evals_result_["valid_1"] == alone.evals_result_["valid_0"]
    wrong = [(few.assign(kind=1), Y_VALID[:20]), (valid, Y_VALID)]
    with pytest.raises(InvalidInputError, match="expected the column 'kind' to be of pandas' type category"):
        lgb.LGBMRanker(**FEW).fit(train, Y, group=GROUP, eval_set=wrong, eval_group=[[20], GROUP_VALID])
    assert not [each for each in recwarn if "feature names" in str(each.message)]


def test_callback_may_stop_without_figures() -> None:
    def stop(env: Any) -> None:
        raise lightgbm.callback.EarlyStopException(7, [])

    model = watched(callbacks=[stop])
    assert (model.best_iteration_, list(model.best_score_)) == (8, ["valid_0"])


def test_names_of_features_are_the_columns_when_they_have_blanks() -> None:
    columns = ["title match", *(f"f{number}" for number in range(1, X.shape[1]))]
    model = lgb.LGBMRanker(**FEW).fit(pd.DataFrame(X, columns=columns), Y, group=GROUP)
    assert model.feature_names_in_.tolist() == columns
    assert model.feature_name_[0] == "title_match"
    assert not hasattr(lgb.LGBMRanker(**FEW).fit(X, Y, group=GROUP), "feature_names_in_")


@pytest.mark.parametrize("rows", [X, pd.DataFrame(X), pd.DataFrame(X, columns=range(10, 13))], ids=["array", "0", "10"])
def test_names_of_features_without_text_are_those_of_lightgbm(rows: Any) -> None:
    own, peer = (of.LGBMRanker(**FEW).fit(rows, Y, group=GROUP) for of in (lgb, lightgbm))
    assert own.feature_name_ == peer.feature_name_
    assert (
        own.booster_.trees_to_dataframe()["split_feature"][0] == peer.booster_.trees_to_dataframe()["split_feature"][0]
    )
    np.testing.assert_array_equal(own.predict(rows), own.ranker_.predict(rows))


def test_callback_of_optuna_prunes_a_trial() -> None:
    optuna = pytest.importorskip("optuna")

    def prune(_: Any) -> None:
        raise optuna.TrialPruned

    study = optuna.create_study()
    study.optimize(lambda trial: watched(callbacks=[prune]).best_score_, n_trials=1)
    study.optimize(
        lambda trial: rerank.LambdaMART(n_estimators=2).fit(X, Y, group=GROUP, callbacks=[prune]), n_trials=1
    )
    assert [trial.state.name for trial in study.trials] == ["PRUNED", "PRUNED"]


def test_ranker_is_one_of_this_package(tmp_path: Path) -> None:
    model = lgb.LGBMRanker(**FEW, metric=["ndcg"], sigmoid=1.0).fit(
        X, Y, group=GROUP, feature_name=["one", "two", "three"]
    )
    assert model.feature_name_ == ["one", "two", "three"]
    model.ranker_.save(tmp_path / "model.json")
    np.testing.assert_array_equal(rerank.read_model(tmp_path / "model.json").predict(X), model.predict(X))
    same = rerank.LambdaMART(
        n_estimators=12, num_leaves=7, min_child_samples=20, metric="nDCG(dcg='exp-log2')", start="base"
    )
    np.testing.assert_array_equal(same.fit(X, Y, group=GROUP).predict(X), model.predict(X))


# Parameters


def test_parameters_are_read_changed_copied_and_shown() -> None:
    model = lgb.LGBMRanker(num_leaves=7, min_data_in_leaf=10)
    theirs = lightgbm.LGBMRanker(num_leaves=7, min_data_in_leaf=10)
    assert model.get_params() == theirs.get_params()
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(num_leaves=15, label_gain=[0, 1, 2]).get_params()["label_gain"] == [0, 1, 2]
    copied = pickle.loads(pickle.dumps(watched(callbacks=[lgb.early_stopping(3), lambda env: None])))
    np.testing.assert_array_equal(copied.predict(X), watched(callbacks=[lgb.early_stopping(3)]).predict(X))


def test_other_names_mean_the_same() -> None:
    one = lgb.LGBMRanker(n_estimators=5, num_leaves=7, min_child_samples=10, reg_lambda=1.0, colsample_bytree=0.7)
    other = lgb.LGBMRanker(
        num_iterations=5, max_leaves=7, min_data_in_leaf=10, lambda_l2=1.0, feature_fraction=0.7, num_threads=1, seed=0
    )
    np.testing.assert_array_equal(*(model.fit(X, Y, group=GROUP).predict(X) for model in (one, other)))
    bagged = lgb.LGBMRanker(**FEW, bagging_fraction=0.5, bagging_freq=1).fit(X, Y, group=GROUP).predict(X)
    assert not np.array_equal(bagged, fitted().predict(X))
    np.testing.assert_array_equal(fitted(subsample=0.5).predict(X), fitted().predict(X))  # subsample_freq is 0


@pytest.mark.parametrize("given", [np.random.RandomState(3), np.random.default_rng(3), 3, None])
def test_seeds_are_numbers_or_generators(given: Any) -> None:
    assert LightGBMSettings.of({"random_state": given}).parameters["random_state"] >= 0


def test_objective_xendcg_is_that_of_mart(shared_data: Path) -> None:
    """With the call of `test_xendcg` of LightGBM's test_sklearn.py, on the data of its other example."""
    model = fitted(objective="rank_xendcg", random_state=5, lambdarank_norm=True)
    same = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 20, "start": "base", "random_state": 5}
    expected = rerank.MART(**same, objective="xe-ndcg").fit(X, Y, group=GROUP)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert (model.objective_, type(model.ranker_)) == ("rank_xendcg", rerank.MART)
    folder = shared_data / "letor" / "lightgbm_lambdarank"
    read = [load_svmlight_file(str(folder / f"rank.{part}")) for part in ("train", "test")]
    sizes = [np.loadtxt(str(folder / f"rank.{part}.query")) for part in ("train", "test")]
    ranker = lgb.LGBMRanker(n_estimators=50, objective="rank_xendcg", random_state=5, n_jobs=1)
    rates = lgb.reset_parameter(learning_rate=lambda number: max(0.01, 0.1 - 0.01 * number))
    ranker.fit(
        *read[0],
        group=sizes[0],
        eval_set=[read[1]],
        eval_group=[sizes[1]],
        eval_at=[1, 3],
        eval_metric="ndcg",
        callbacks=[lgb.early_stopping(10), rates],
    )
    assert ranker.best_iteration_ <= 24
    assert ranker.best_score_["valid_0"]["ndcg@1"] > 0.55


def test_gains_of_labels_replace_powers_of_two() -> None:
    same = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 20, "start": "base"}
    expected = rerank.LambdaMART(**same, metric="nDCG").fit(X, np.array([0.0, 1.0, 5.0])[Y], group=GROUP).predict(X)
    for given in ("0,1,5", [0, 1, 5, 9]):
        np.testing.assert_array_equal(fitted(label_gain=given).predict(X), expected)
    assert not np.array_equal(fitted().predict(X), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"boosting_type": "dart"}, "boosting_type: expected 'gbdt' or 'gbrt', got 'dart'"),
        ({"boosting": "rf"}, "boosting_type: expected 'gbdt' or 'gbrt', got 'rf'"),
        ({"objective": "regression"}, "objective: expected None or 'lambdarank' or 'rank_xendcg' or"),
        ({"cat_l2": 1.0}, "cat_l2: expected 10.0, got 1.0. Leave it out."),
        ({"num_class": 3}, "num_class: expected 1, got 3"),
        ({"class_weight": "balanced"}, "class_weight: expected None, got 'balanced'"),
        ({"linear_tree": True}, "linear_tree: expected False, got True"),
        ({"zero_as_missing": True}, "zero_as_missing: expected False, got True"),
        ({"label_gain": [0, 3, 1]}, "label_gain: expected gains that do not fall"),
        ({"label_gain": [0, np.nan, 3]}, "label_gain: expected gains that do not fall"),
        ({"label_gain": "a,b"}, "label_gain: expected gains that do not fall"),
        ({"num_leafs": 3}, "LGBMRanker: expected a known parameter, got 'num_leafs'. Did you mean 'num_leaves'?"),
    ],
)
def test_parameters_without_a_counterpart_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, UnknownParameterError), match=re.escape(message)):
        lgb.LGBMRanker(**given).fit(X, Y, group=GROUP)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": None}, "group: expected the number of rows of each query, got none"),
        ({"eval_group": None}, "eval_group: expected 1 lists of sizes, one for each eval set, got none"),
        (
            {"eval_group": [GROUP_VALID[:-1]]},
            "eval_group: expected sizes that add up to the 600 rows of valid_0, got 580",
        ),
        ({"eval_at": [1.5]}, "eval_at: expected whole numbers, got [1.5]"),
        ({"eval_init_score": []}, "eval_init_score: expected a value for each eval set, got 0. Pass None"),
        (
            {"eval_sample_weight": [np.zeros(len(Y_VALID))]},
            "eval_sample_weight: expected a weight above 0 in valid_0, got none. Leave the weights out.",
        ),
        ({"eval_sample_weight": []}, "eval_sample_weight: expected a value for each eval set, got 0. Pass None"),
        ({"eval_metric": "auc"}, "metric: expected ndcg, map or a function, got 'auc'"),
        ({"eval_metric": "ndcg@x"}, "metric: expected ndcg, map or a function, got 'ndcg@x'"),
        ({"categorical_feature": ["none"]}, "categorical_feature"),
        ({"feature_name": ["a", "a", "b"]}, "feature_name: expected 3 different names, got ['a', 'a', 'b']"),
        ({"callbacks": [lgb.reset_parameter(num_leaves=[3] * 12)]}, "reset_parameter: expected learning_rate, got"),
        ({"y": Y[:-1]}, "y: expected a finite number for each of 1200 rows"),
    ],
)
def test_arguments_of_fit_are_checked(arguments: dict[str, Any], message: str) -> None:
    given = {"y": Y, "group": GROUP, "eval_set": [(X_VALID, Y_VALID)], "eval_group": [GROUP_VALID], **arguments}
    model = lgb.LGBMRanker(**FEW)
    with pytest.raises(rerank.RerankError, match=re.escape(message)):
        model.fit(X, **given)
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize("reg_alpha", [3.0, 100.0])
def test_l1_regularisation_is_that_of_lightgbm(reg_alpha: float) -> None:
    """Where no node is without a gain of some feature: LightGBM no longer tries it below such a node."""
    random = np.random.default_rng(0)
    X = random.integers(0, 15, (2000, 5)).astype(np.float32)
    y = np.clip(X[:, 0] / 5 + X[:, 1] * X[:, 2] / 80 + random.normal(size=2000), 0, 4).round()
    given = {"n_estimators": 5, "num_leaves": 15, "min_child_samples": 20, "reg_alpha": reg_alpha, "reg_lambda": 1.0}
    expected = lightgbm.LGBMRegressor(**given, verbose=-1, min_data_in_bin=1).fit(X, y).predict(X)
    model = rerank.MART(**given).fit(X, y, qid=np.repeat(np.arange(100), 20))
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-7)


def test_parameters_of_regularisation_reach_the_trees() -> None:
    assert not np.array_equal(fitted(reg_alpha=1.0).predict(X), fitted().predict(X))
    np.testing.assert_array_equal(fitted(lambda_l1=1.0).predict(X), fitted(reg_alpha=1.0).predict(X))


def test_parameters_that_are_none_are_not_given() -> None:
    model = fitted(max_depth=None, min_child_samples=None, reg_lambda=None, lambda_l1=None, boosting=None, alpha=0.9)
    np.testing.assert_array_equal(model.predict(X), fitted().predict(X))
    assert lgb.LGBMRanker(num_iterations=None).fit(X, Y, group=GROUP).n_estimators_ == 100


def test_labels_may_be_one_column_of_a_table() -> None:
    model = lgb.LGBMRanker(**FEW).fit(X, Y[:, None], group=GROUP)
    np.testing.assert_array_equal(model.predict(X), fitted().predict(X))


def test_training_data_alone_do_not_stop_the_training(caplog: pytest.LogCaptureFixture) -> None:
    model = watched(callbacks=[lgb.early_stopping(1)], eval_set=[(X, Y)], eval_group=[GROUP])
    assert model.n_estimators_ == FEW["n_estimators"]
    said = [each.message for each in caplog.records if "early stopping" in each.message]
    assert said == ["early stopping: no effect, as the only eval set is the training data"]


def test_booster_plots_and_other_names_are_those_of_lightgbm() -> None:
    model = fitted()
    assert type(model.booster_) is lgb.Booster is lightgbm.Booster
    assert len(model.booster_.trees_to_dataframe()) > 12
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    drawn = lgb.plot_importance(model, importance_type="gain", max_num_features=2)
    gains = np.sort(model.booster_.feature_importance("gain"))[-2:]
    assert [bar.get_width() for bar in drawn.patches] == gains.tolist()
    assert lgb.plot_metric(watched(), metric="ndcg@3").get_ylabel() == "ndcg@3"
    with pytest.raises(AttributeError, match="LGBMNothing"):
        lgb.LGBMNothing  # noqa: B018


def test_labels_beyond_the_gains_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="y: expected labels from 0 to 1, which label_gain names, got 2 at row"):
        lgb.LGBMRanker(label_gain=[0, 1]).fit(X, Y, group=GROUP)


def test_eval_sets_are_named_and_given_in_several_forms() -> None:
    named = watched(eval_set=[(X, Y), (X_VALID, Y_VALID)], eval_group=[GROUP, GROUP_VALID], eval_names=["train", "dev"])
    assert list(named.evals_result_) == ["train", "dev"]
    one = watched(eval_set=(X_VALID, Y_VALID))
    other = watched(eval_set=None, eval_X=[X_VALID], eval_y=[Y_VALID])
    single = watched(eval_set=None, eval_X=X_VALID, eval_y=Y_VALID)
    assert one.evals_result_ == other.evals_result_ == single.evals_result_
    assert one.evals_result_["valid_0"] == named.evals_result_["dev"]


def test_ranker_is_a_step_of_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), lgb.LGBMRanker(**FEW))
    pipeline.fit(X, Y, lgbmranker__group=GROUP)
    assert np.corrcoef(pipeline.predict(X), fitted().predict(X))[0, 1] > 0.95


def test_queries_without_rows_count_as_lightgbm_counts_them() -> None:
    sizes = [20, 0, *[20] * 29]
    figures = []
    for of in (lgb, lightgbm):
        ranker = of.LGBMRanker(**FEW).fit(X, Y, group=[0, *GROUP], eval_set=[(X_VALID, Y_VALID)], eval_group=[sizes])
        score = ranker.evals_result_["valid_0"]["ndcg@1"][-1]
        whole = of.LGBMRanker(**FEW).fit(X, Y, group=GROUP, eval_set=[(X_VALID, Y_VALID)], eval_group=[GROUP_VALID])
        figures.append(31 * score - 30 * whole.evals_result_["valid_0"]["ndcg@1"][-1])
    assert figures == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("kind", ["double[pyarrow]", "Float64", "object"])
def test_columns_that_fit_takes_are_those_that_predict_takes(kind: str) -> None:
    pytest.importorskip("pyarrow")
    rows = TRAIN[FEATURES].astype(kind)
    np.testing.assert_array_equal(lgb.LGBMRanker(**FEW).fit(rows, Y, group=GROUP).predict(rows), fitted().predict(X))


def test_functions_that_train_with_lightgbm_say_so(caplog: pytest.LogCaptureFixture) -> None:
    data = {"objective": "lambdarank", "verbose": -1}, lightgbm.Dataset(X, Y, group=GROUP), 3
    assert lgb.train(*data).model_to_string() == lightgbm.train(*data).model_to_string()
    assert caplog.messages == [
        "lightgbm.train: trains with LightGBM itself; LGBMRanker of this module trains with rerank."
    ]
    assert lgb.cv is not lightgbm.cv
