"""What holds for every ranker: it learns, repeats itself, takes weights and a base, stops, saves and loads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.ranker import Ranker, read_model
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import Floats, RankingData, pointers
from rerank.types.ids import id_array
from rerank.types.retriever import Retriever
from rerank.types.tie_order import trec_order
from tests.rankers.conftest import model_from_dict, ranking_data

OBJECTIVES = ("logistic", "balanced-logistic", "ranknet", "hinge", "plackett-luce", "gbrank", "logistrank")
SMALL: dict[str, Any] = {"n_estimators": 15, "num_leaves": 8, "min_child_samples": 5, "n_epochs": 20, "hidden_units": 8}
SMALL["members"] = (
    "2*lambdamart(n_estimators=10, num_leaves=8, min_child_samples=5, min_child_weight=0.0, subsample=0.5), "
    "logisticregression"
)
FEW_ROUNDS = {
    **SMALL,
    "n_estimators": 4,
    "num_leaves": 6,
    "n_epochs": 2,
    "members": "lambdamart(n_estimators=4, num_leaves=5, min_child_samples=5), ranksvm(max_iter=20)",
}
FEW_TREES = {**SMALL, "n_estimators": 8, "min_child_samples": 1, "min_child_weight": 0.0, "n_epochs": 3}
VARIANTS = {
    **{name: (name, {}) for name in known_rankers()},
    **{f"mart-{objective}": ("mart", {"objective": objective}) for objective in OBJECTIVES},
    "lambdamart-least-squares": ("lambdamart", {"split": "least-squares"}),
    "gbrank-kept": ("gbrank", {"keep_pairs": True}),
}
POINTWISE = {"mart", "mart-logistic", "mart-balanced-logistic", "mart-logistrank", "logistrank", "logisticregression"}
ALL = pytest.mark.parametrize("name", VARIANTS)
TREES = pytest.mark.parametrize(
    "name", [name for name, (kind, _) in VARIANTS.items() if issubclass(ranker_class(kind), BoostedTrees)]
)


def _ranker(name: str, settings: dict[str, Any] = SMALL, **more: Any) -> Ranker:
    kind, own = VARIANTS[name]
    known = ranker_class(kind)().get_params()
    return ranker_class(kind)(**{key: value for key, value in settings.items() if key in known}, **own, **more)


def ndcg(data: RankingData, scores: Floats) -> float:
    """Mean nDCG@10, equal scores by document id, as early stopping sees them."""
    labels = data.labels[trec_order(data.query_ptr, scores, data.doc_ids)]
    return float(parse_measure("nDCG@10").scores(RankedLists(labels, data.query_ptr, *data.ideal())).mean())


@ALL
def test_ranker_learns_what_its_base_does_not_know(name, train, test) -> None:
    for base in (None, "run", "feature:f0"):
        model = _ranker(name, base=base).fit(train)
        assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.01


@ALL
def test_ranker_starts_from_a_model_and_never_falls_below_it_in_validation(name, train, valid) -> None:
    first = ranker_class("lambdamart")(n_estimators=5, num_leaves=8).fit(train)
    second = _ranker(name, base=first).fit(train, eval_set=valid)
    started = ndcg(valid, first.predict(valid))
    assert second.evals_result_["valid"]["nDCG@10"][0] == pytest.approx(started, abs=1e-12)
    assert ndcg(valid, second.predict(valid)) >= started
    again = type(second).from_dict(second.to_dict())
    np.testing.assert_array_equal(again.predict(valid), second.predict(valid))


@ALL
def test_warm_start_does_not_depend_on_the_scale_of_the_base(name, train, test) -> None:
    """The same trees and the same order, limits such as min_child_weight included, for sizes that are taken."""
    fitted, result = [], []
    for factor in (1.0, 1e-6, 0.3, 1e6, 1e-28, 1e28):
        model = _ranker(name, FEW_ROUNDS, base="run").fit(replace(train, base_scores=train.base_scores * factor))
        result.append(model.predict(replace(test, base_scores=test.base_scores * factor)) / factor)
        fitted.append(_structure(model))
    assert _learned_something(result[0], test)
    for other, structure in zip(result[1:], fitted[1:], strict=True):
        np.testing.assert_allclose(other, result[0], rtol=1e-6, atol=1e-7)
        assert ndcg(test, other) == pytest.approx(ndcg(test, result[0]), abs=1e-12)
        assert structure == fitted[0]


def _structure(model: Ranker) -> Any:
    """Return the trees of a model without their values, those of an ensemble's members too."""
    if hasattr(model, "members_"):
        return [_structure(member) for member in model.members_]
    forest = getattr(model, "forest_", None)
    names = ("node_ptr", "feature", "threshold", "missing_left", "left", "right")
    return None if forest is None else {name: getattr(forest, name).tolist() for name in names}


def _learned_something(scores: Floats, data: RankingData) -> bool:
    return bool(np.ptp(scores - data.base_scores) > 1e-3)


@ALL
def test_warm_start_does_not_depend_on_a_constant_added_to_the_base(name, train, test) -> None:
    """One constant for all; another for each query, too, where a ranker depends only on differences within queries."""
    shifts = [(1e6, 1e6)]
    if name not in POINTWISE:
        shifts += [_by_query(data, 1e4) for data in (train, test)], [_by_query(data, 1.0) for data in (train, test)]
    plain = _ranker(name, FEW_ROUNDS, base="run").fit(train).predict(test)
    for shift, test_shift in shifts:
        model = _ranker(name, FEW_ROUNDS, base="run").fit(replace(train, base_scores=train.base_scores + shift))
        scores = model.predict(replace(test, base_scores=test.base_scores + test_shift)) - test_shift
        gaps = _centred(scores, test) - _centred(plain, test)
        np.testing.assert_allclose(gaps, 0.0, atol=1e-3)


def _by_query(data: RankingData, scale: float) -> Floats:
    return np.repeat(scale * np.random.default_rng(len(data)).standard_normal(len(data)), np.diff(data.query_ptr))


def _centred(scores: Floats, data: RankingData) -> Floats:
    """Return scores less those of each query's first document."""
    return scores - np.repeat(scores[data.query_ptr[:-1]], np.diff(data.query_ptr))


@ALL
@pytest.mark.parametrize("constant", [7.0, 1e18, 1e-30, 1e30])
def test_base_that_tells_nothing_apart_is_a_cold_start(name, constant, train, test) -> None:
    same = replace(train, base_scores=np.full(train.n_rows, constant))
    warm, cold = _ranker(name, FEW_ROUNDS, base="run").fit(same), _ranker(name, FEW_ROUNDS).fit(train)
    scores = warm.predict(replace(test, base_scores=np.full(test.n_rows, constant)))
    assert ndcg(test, scores) == pytest.approx(ndcg(test, cold.predict(test)), abs=0.02)


@ALL
@pytest.mark.parametrize("factor", [1e-318, 1e-100, 1e100])
def test_base_scores_far_outside_any_use_are_refused(name, factor, train, valid) -> None:
    far, far_valid = (replace(data, base_scores=data.base_scores * factor) for data in (train, valid))
    expected = "base: expected scores whose largest size is from 1e-30 to 1e\\+30, or 0, got "
    with pytest.raises(InvalidInputError, match=expected):
        _ranker(name, FEW_ROUNDS, base="run").fit(far)
    with pytest.raises(InvalidInputError, match=expected):
        _ranker(name, FEW_ROUNDS, base="run").fit(train, eval_set=far_valid)


@ALL
def test_refitting_the_base_does_not_change_the_model(name, train, valid, test) -> None:
    """A ranker as the base of trees, and trees as that of the ranker: each keeps the base that it was trained from."""
    trees = ranker_class("lambdamart")(n_estimators=3, num_leaves=6)
    for base, model in ((_ranker(name, FEW_ROUNDS), trees), (trees.unfitted_copy(), _ranker(name, FEW_ROUNDS))):
        model.set_params(base=base.fit(train)).fit(train)
        stored, scores = model.to_dict(), model.predict(test)
        base.fit(valid.select(np.arange(20)))
        assert model.to_dict() == stored
        np.testing.assert_array_equal(model.predict(test), scores)


@ALL
def test_what_taught_nothing_is_said(name, train, valid, caplog) -> None:
    """A perfect base that no iteration betters: the model stays the base."""
    perfect = [replace(data, base_scores=data.labels) for data in (train, valid)]
    model = _ranker(name, FEW_ROUNDS, base="run").fit(perfect[0], eval_set=perfect[1])
    np.testing.assert_allclose(np.ptp(model._scores(valid.X)), 0.0, atol=1e-12)
    message = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert message == [
        f"{model.kind}: expected to learn from the data, got no iteration that betters the measure of the "
        "validation data. Give other features or more queries. The model ranks as its base does."
    ]
    caplog.clear()
    _ranker(name, FEW_ROUNDS).fit(train)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@TREES
def test_trees_without_a_split_are_said(name, train, test, caplog) -> None:
    for base in (None, "run"):
        caplog.clear()
        model = _ranker(name, {**FEW_ROUNDS, "min_child_samples": 10**6}, base=base).fit(train)
        assert "got no split in 4 trees. Lower min_child_samples (1000000) or min_child_weight" in caplog.text
        assert ("one score for all documents" if base is None else "ranks as its base does") in caplog.text
        assert np.ptp(model._scores(test.X)) == 0.0
        assert np.abs(model._scores(test.X)).max() < 100.0  # a leaf of hardly any hessian takes no step


@ALL
def test_ranker_is_the_same_for_any_number_of_threads(name, train) -> None:
    assert (
        _ranker(name, n_jobs=1).fit(train).to_dict()["learned"]
        == _ranker(name, n_jobs=2).fit(train).to_dict()["learned"]
    )


@ALL
def test_ranker_is_the_same_for_any_order_of_rows_and_names_of_queries(name, train) -> None:
    learned, query = [], np.repeat(np.arange(len(train)), np.diff(train.query_ptr))
    for seed in (0, 1):
        random = np.random.default_rng(seed)
        order, names = random.permutation(train.n_rows), random.permutation(np.arange(5, len(train) + 5)).astype(str)
        model = _ranker(name, **({"subsample": 0.5} if "subsample" in _ranker(name).get_params() else {}))
        learned.append(model.fit(train.X[order], train.labels[order], qid=names[query[order]]).to_dict()["learned"])
    assert learned[0] == learned[1]


def _coarse(data: RankingData) -> RankingData:
    """Few values a feature, so that repeated rows do not move the bins."""
    return replace(data, X=np.round(data.X * 2).clip(-3, 3))


@TREES
def test_weight_of_two_equals_repeating_a_query(name) -> None:
    data = _coarse(ranking_data(6, n_queries=20, missing=0.0))
    rows = np.concatenate([np.arange(a, b) for a, b in pairwise(data.query_ptr)][:5])
    counts = np.concatenate([np.diff(data.query_ptr), np.diff(data.query_ptr)[:5]])
    both = np.concatenate([np.arange(data.n_rows), rows])
    repeated = RankingData(
        query_ids=id_array([*data.query_ids, *(f"again{number}" for number in range(5))]),
        query_ptr=pointers(counts),
        doc_ids=data.doc_ids[both],
        X=np.ascontiguousarray(data.X[both]),
        feature_names=data.feature_names,
        labels=data.labels[both],
    )
    settings = {**FEW_TREES, "n_estimators": 3, "num_leaves": 4}
    weighed = _ranker(name, settings).fit(replace(data, weights=np.where(np.arange(20) < 5, 2.0, 1.0)))
    np.testing.assert_allclose(
        weighed.predict(data), _ranker(name, settings).fit(repeated).predict(data), rtol=1e-6, atol=1e-9
    )


@ALL
def test_queries_of_weight_zero_teach_nothing(name, train) -> None:
    half = np.arange(len(train)) < len(train) // 2
    data, strange = replace(train, X=np.round(train.X)), train.labels.copy()
    strange[np.repeat(~half, np.diff(train.query_ptr))] = 0.0
    weights = half.astype(np.float64)
    one, two = (
        _ranker(name, FEW_TREES).fit(replace(data, labels=own, weights=weights)) for own in (train.labels, strange)
    )
    np.testing.assert_allclose(one.predict(data), two.predict(data), rtol=1e-9, atol=1e-12)


@ALL
def test_ranker_stops_at_the_best_validation_measure(name, train, valid) -> None:
    model = _ranker(name, early_stopping_rounds=3).fit(train, eval_set=valid)
    history = model.evals_result_["valid"]["nDCG@10"]
    assert model.best_iteration_ == int(np.argmax(history))
    assert ndcg(valid, model.predict(valid)) == pytest.approx(max(history), abs=1e-9)


@ALL
def test_contributions_of_the_features_sum_to_the_score(name, train, test) -> None:
    linear, model = _ranker("ranksvm", FEW_ROUNDS).fit(train), _ranker(name, FEW_ROUNDS, base="feature:f0").fit(train)
    if type(model)._add_contributions is Ranker._add_contributions:
        with pytest.raises(InvalidInputError, match="contributions: expected a ranker of trees or a linear one, got"):
            model.contributions(test)
        return
    for base in ("feature:f0", linear):
        model = _ranker(name, FEW_ROUNDS, base=base).fit(train)
        contributions = model_from_dict(model.to_dict()).contributions(test)
        assert contributions.shape == (test.n_rows, test.n_features + 1)
        rounding = 1e-6 if name == "ensemble" else 1e-9  # the second stage reads members' scores as float32
        np.testing.assert_allclose(contributions.sum(axis=1), model.predict(test), rtol=rounding, atol=rounding)
        spread = contributions.std(axis=0)
        assert (spread[:-1] > 0.0).any()
        assert spread[-1] < 1e-9


@ALL
def test_ranker_comes_back_from_its_file(name, train, test, tmp_path) -> None:
    model = _ranker(name).fit(train)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    assert again.get_params() == model.get_params()
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@ALL
def test_ranker_learns_the_same_from_a_data_frame(name, train, test, tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    data = replace(train, doc_ids=np.arange(train.n_rows).astype(str))
    qid = np.repeat(data.query_ids, np.diff(data.query_ptr))
    arrays, frame = _ranker(name, FEW_TREES), _ranker(name, FEW_TREES)
    arrays.fit(data.X, data.labels, qid=qid)
    columns = list(data.feature_names)
    frame.fit(pd.DataFrame(data.X, columns=columns), pd.Series(data.labels), qid=pd.Series(qid))
    frame.save(tmp_path / "model.json")
    again, rows = read_model(tmp_path / "model.json"), pd.DataFrame(test.X, columns=columns)
    assert again.feature_names_in_.tolist() == columns
    for model in (frame, again):
        np.testing.assert_array_equal(model.predict(rows), arrays.predict(test.X))
        np.testing.assert_array_equal(model.predict(test), arrays.predict(test.X))
        with pytest.raises(
            ModelMismatchError, match="X: expected the columns of training in their order, got another order"
        ):
            model.predict(rows[["f1", "f0", *columns[2:]]])


@ALL
def test_ranker_keeps_what_retrieved_its_data(name, train, test, tmp_path) -> None:
    data = replace(train, retriever=Retriever.bm25(0.9, 0.4), run_retrievers={"dense": Retriever("dense-v1")})
    model = _ranker(name, FEW_TREES, base="run").fit(data)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    for part in (model, again, *getattr(again, "members_", ())):
        assert (part.retriever_, part.run_retrievers_) == (data.retriever, data.run_retrievers)
    for each in (model, again):
        each.predict(replace(test, retriever=Retriever.bm25(0.9, 0.4)))
        with pytest.raises(ModelMismatchError, match=r"data: expected candidates of bm25-k1=0.9-b=0.4, whose scores"):
            each.predict(replace(test, retriever=Retriever.bm25(2.5, 0.4)))


@ALL
def test_ranker_is_copied_and_changed_by_its_parameters(name) -> None:
    model = _ranker(name, base="run").unfitted_copy()
    assert model.get_params() == _ranker(name, base="run").get_params()
    assert model.set_params(metric="AP").metric == "AP"


@ALL
def test_score_is_the_mean_of_the_metric_for_data_and_for_arrays_in_any_order(name, train, test) -> None:
    model = _ranker(name, FEW_ROUNDS).fit(train)
    assert model.score(test) == pytest.approx(ndcg(test, model.predict(test)), abs=1e-12)
    rows = np.random.default_rng(0).permutation(test.n_rows)
    qid = np.repeat(test.query_ids, np.diff(test.query_ptr))
    in_order = model.score(test.X, test.labels, qid=qid)
    assert model.score(test.X[rows], test.labels[rows], qid=qid[rows]) == in_order


@ALL
def test_group_sizes_are_another_way_to_give_the_queries(name, train) -> None:
    qid, sizes = np.repeat(np.arange(len(train)), np.diff(train.query_ptr)), np.diff(train.query_ptr)
    X, y = train.X, train.labels
    by_qid = _ranker(name, FEW_ROUNDS).fit(X, y, qid=qid, eval_set=(X, y, qid))
    for given in (
        {"group": sizes, "eval_set": [(X, y)], "eval_group": [sizes]},
        {"group": sizes.tolist(), "eval_set": (X, y), "eval_qid": qid},
    ):
        assert _ranker(name, FEW_ROUNDS).fit(X, y, **given).to_dict()["learned"] == by_qid.to_dict()["learned"]
    with pytest.raises(InvalidInputError, match="group: expected no qid beside it, got both"):
        _ranker(name, FEW_ROUNDS).fit(X, y, qid=qid, group=sizes)


@ALL
def test_callbacks_follow_each_iteration_and_can_stop_the_training(name, train, valid) -> None:
    kept = []
    whole = _ranker(name, FEW_ROUNDS).fit(train, eval_set=valid, callbacks=[kept.append])
    history = whole.evals_result_["valid"]["nDCG@10"]
    assert [progress.iteration for progress in kept] == list(range(1, len(history)))
    assert [progress.evals_result["valid"]["nDCG@10"] for progress in kept] == [
        history[: number + 2] for number in range(len(kept))
    ]
    assert vars(whole).keys() == vars(_ranker(name, FEW_ROUNDS).fit(train, eval_set=valid)).keys()
    assert _ranker(name, FEW_ROUNDS).fit(train, eval_set=valid).to_dict()["learned"] == whole.to_dict()["learned"]
    for data in (None, valid):
        stopped = _ranker(name, FEW_ROUNDS).fit(train, eval_set=data, callbacks=[lambda progress: progress.stop()])
        assert stopped.best_iteration_ <= 1
        assert np.isfinite(stopped.predict(train)).all()


def _failing_fits(valid: RankingData) -> dict[str, tuple[type[BaseException], RankingData, dict[str, Any]]]:
    """What a training fails at, stage by stage: its error, its data, and the arguments of `fit` beside them."""

    def fail(error: type[BaseException], iteration: int) -> Any:
        def callback(progress: Any) -> None:
            if progress.iteration == iteration:
                raise error("stopped by a test")

        return {"callbacks": [callback], "eval_set": other}

    columns = [5, 1]
    names = tuple(f"other{column}" for column in columns)
    other = replace(valid, X=np.ascontiguousarray(valid.X[:, columns]), feature_names=names)
    infinite, unknown = replace(other, X=np.full_like(other.X, np.inf)), replace(other, feature_names=("x", "y"))
    return {
        "labels": (InvalidInputError, replace(other, labels=np.zeros(other.n_rows)), {}),
        "features": (InvalidInputError, infinite, {}),
        "eval_set": (InvalidInputError, other, {"eval_set": infinite}),
        "eval_set of other features": (ModelMismatchError, other, {"eval_set": unknown}),
        "preferences": (InvalidInputError, other, {"preferences": [("unknown", "a", "b")]}),
        "first iteration": (InvalidInputError, other, fail(ValueError, 1)),
        "second iteration": (InvalidInputError, other, fail(ZeroDivisionError, 2)),
        "interrupt": (KeyboardInterrupt, other, fail(KeyboardInterrupt, 1)),
    }


@ALL
def test_fit_that_fails_leaves_the_ranker_as_it_was(name, train, valid, test, tmp_path) -> None:
    model, new = _ranker(name, FEW_ROUNDS).fit(train), _ranker(name, FEW_ROUNDS)
    model.save(tmp_path / "before.json")
    scores, attributes, parameters = model.predict(test), dict(vars(model)), dict(vars(new))
    for stage, (error, data, arguments) in _failing_fits(valid).items():
        for each in (model, new):
            with pytest.raises(error):
                each.fit(data, **arguments)
        assert vars(new) == parameters, stage
        assert all(vars(model)[key] is value for key, value in attributes.items()), stage
        assert len(vars(model)) == len(attributes)
    np.testing.assert_array_equal(model.predict(test), scores)
    model.save(tmp_path / "after.json")
    assert (tmp_path / "after.json").read_bytes() == (tmp_path / "before.json").read_bytes()
    with pytest.raises(InvalidInputError, match="expected a fitted model, got a new one"):
        new.predict(test)


@ALL
def test_second_fit_keeps_nothing_of_the_first(name, train, valid) -> None:
    model = _ranker(name, FEW_ROUNDS)
    members = getattr(model, "members", None)
    model.fit(train).fit(valid, eval_set=train)
    once = _ranker(name, FEW_ROUNDS).fit(valid, eval_set=train)
    assert (model.to_dict(), vars(model).keys()) == (once.to_dict(), vars(once).keys())
    assert getattr(model, "members", None) is members


@ALL
def test_unknown_parameter_is_refused_with_the_nearest_name(name) -> None:
    kind = ranker_class(VARIANTS[name][0])
    for parameter in kind().get_params(deep=False):
        misspelt = parameter[:-1] + "x" if len(parameter) > 3 else None
        if misspelt is None:
            continue
        for use in (kind, kind().set_params):
            with pytest.raises(TypeError, match=f"{kind.__name__}: expected a known parameter, got {misspelt!r}. Did"):
                use(**{misspelt: 1})
            with pytest.raises(InvalidInputError):
                use(**{misspelt: 1})


@pytest.mark.parametrize("name", [name for name, kind in known_rankers().items() if not kind.learns_from_pairs])
def test_preferences_are_refused_in_one_line_by_rankers_of_labels(name, train) -> None:
    with pytest.raises(TypeError, match="preferences: expected a ranker that learns from pairs, got") as caught:
        _ranker(name, FEW_ROUNDS).fit(train, preferences=[("q0", "a", "b")])
    assert "\n" not in str(caught.value)


@ALL
def test_data_that_cannot_be_learned_from_are_refused(name, train) -> None:
    with pytest.raises(InvalidInputError, match="training data: expected"):
        _ranker(name).fit(replace(train, labels=np.zeros(train.n_rows)))
    with pytest.raises(InvalidInputError, match="expected labels, got none"):
        _ranker(name).fit(replace(train, labels=None))
    infinite = replace(train, X=np.where(np.arange(train.n_features) == 2, np.float32(np.inf), train.X))
    with pytest.raises(
        InvalidInputError, match=r"training data: expected finite features, .* got inf in feature 'f2' at row 0"
    ):
        _ranker(name).fit(infinite)
    with pytest.raises(
        InvalidInputError, match=r"validation data: expected finite features, .* got inf in feature 'f2' at row 0"
    ):
        _ranker(name).fit(train, eval_set=infinite)
    with pytest.raises(InvalidInputError, match="expected a fitted model"):
        _ranker(name).predict(train)
    with pytest.raises(InvalidInputError, match="Did you mean"):
        _ranker(name, metric="ndgc@10").fit(train)


@pytest.mark.parametrize("name", ["lambdamart", "rankboost", "logistrank", "coordinateascent", "ranknet"])
def test_rankers_say_that_rows_have_no_features(name, train) -> None:
    bare = replace(train, X=train.X[:, :0], feature_names=())
    with pytest.raises(InvalidInputError, match=r"expected features, got rows without any.*`rerank features"):
        _ranker(name).fit(bare)


@TREES
def test_trees_refuse_features_that_are_constant(name, train) -> None:
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        _ranker(name).fit(replace(train, X=np.ones_like(train.X)))


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("mart", {"objective": "least-square"}, "Did you mean 'least-squares'"),
        ("gbrank", {"tau": 0.0}, "tau: expected 1e-09 to"),
        ("logistrank", {"num_leaves": 1}, "num_leaves: expected 2 to"),
        ("mart", {"split": "variance"}, "split: expected newton or least-squares, got 'variance'"),
    ],
)
def test_parameters_that_cannot_be_are_refused(kind, parameters, message, train) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ranker_class(kind)(**parameters).fit(train)


def test_parameters_of_another_ranker_are_not_taken() -> None:
    with pytest.raises(TypeError, match="truncation_level"):
        ranker_class("mart")(truncation_level=5)
