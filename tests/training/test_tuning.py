from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import rerank
from rerank.cli.main import cli
from rerank.errors import InvalidInputError, RerankError
from rerank.files.data import write_data
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.training.cross_validation import Try
from rerank.training.tuning import Tuned, Tuning, best_try, fit_best, search_space
from rerank.types import RankingData

optuna = pytest.importorskip("optuna")


def data_of(n_queries: int, seed: int) -> RankingData:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_queries * 15, 4)).astype(np.float32)
    labels = (X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0) + random.normal(size=len(X)) > 0.8).astype(float)
    return RankingData(
        np.array([f"q{number:03}" for number in range(n_queries)]),
        np.arange(0, len(X) + 1, 15),
        np.array([f"d{number % 15}" for number in range(len(X))]),
        X,
        ("a", "b", "c", "d"),
        labels,
    )


TRAIN, STOP = data_of(45, 0), data_of(20, 1)
MODEL = {"n_estimators": 30, "metric": "nDCG@5", "early_stopping_rounds": 10, "n_jobs": 1}


def settings(tuned: Tuned) -> list[tuple[dict[str, Any], float | None]]:
    return [(dict(each.parameters), each.value) for each in tuned.tries]


@pytest.mark.parametrize("ranker", [name for name, kind in known_rankers().items() if not kind.cross_validates])
def test_space_is_made_of_the_rankers_own_parameters_and_their_defaults(ranker: str) -> None:
    model = ranker_class(ranker)()
    space, defaults = search_space(model), model.get_params()
    for name, values in space.items():
        assert values[0] == defaults[name]
        assert len(values) == len(set(values)) > 1
        assert all(defaults[name] is None or type(value) is type(defaults[name]) for value in values)
    model.set_params(**{name: values[1] for name, values in space.items()})


def test_space_leaves_out_what_is_given() -> None:
    whole = search_space(rerank.LambdaMART())
    assert whole["num_leaves"] == [None, 8, 16, 31, 62]
    assert whole["reg_lambda"] == [0.0, 1.0, 10.0]
    given = search_space(rerank.LambdaMART(num_leaves=4))
    assert given == {name: values for name, values in whole.items() if name != "num_leaves"}


def test_search_refuses_what_leaves_nothing_to_search() -> None:
    with pytest.raises(InvalidInputError, match=r"^tune: expected a ranker with parameters to search, got auto, which"):
        search_space(rerank.Auto())
    changed = {name: values[-1] for name, values in search_space(rerank.LambdaMART()).items()}
    with pytest.raises(InvalidInputError, match=r"tune: expected a parameter of lambdamart to search .*, got none"):
        search_space(rerank.LambdaMART(**changed))
    with pytest.raises(InvalidInputError, match="tune: expected a number of settings from 1, got 0"):
        Tuning(0).search(rerank.LambdaMART(), TRAIN, STOP)


def test_best_try_is_the_first_of_equal_ones() -> None:
    tries = [Try({}, 0.1), Try({"a": 1}, 0.3), Try({"a": 2}, 0.3), Try({"a": 3}, None)]
    assert best_try(tries).parameters == {"a": 1}


def test_each_setting_has_the_best_measure_of_its_own_training() -> None:
    tuned = Tuning(6).search(rerank.LambdaMART(**MODEL), TRAIN, STOP)
    assert tuned.tries[0].parameters == {}
    assert len(tuned.tries) == 7
    for parameters, value in settings(tuned):
        curve = rerank.LambdaMART(**{**MODEL, **parameters}).fit(TRAIN, eval_set=STOP).evals_result_["valid"]["nDCG@5"]
        assert value is None or value == max(curve)
    assert tuned.parameters == best_try(tuned.tries).parameters
    model, tries = fit_best(rerank.LambdaMART(**MODEL), Tuning(6), TRAIN, STOP)
    assert max(model.evals_result_["valid"]["nDCG@5"]) == best_try(tries).value


def test_without_other_queries_each_third_of_the_queries_compares_the_settings() -> None:
    tuned = Tuning(2).search(rerank.LambdaMART(**MODEL), TRAIN)
    parts = [set(TRAIN.query_ids.tolist())]
    for fold in range(3):
        fold_of = rerank.training.folds.assign_folds(TRAIN, 3, 0)
        chosen = np.array([fold_of[query_id] == fold for query_id in TRAIN])
        train, stop = TRAIN.select(np.flatnonzero(~chosen)), TRAIN.select(np.flatnonzero(chosen))
        model = rerank.LambdaMART(**MODEL).fit(train, eval_set=stop)
        parts.append((max(model.evals_result_["valid"]["nDCG@5"]), model.best_iteration_))
    assert tuned.tries[0].value == pytest.approx(np.mean([value for value, _ in parts[1:]]))
    if not best_try(tuned.tries).parameters:
        assert tuned.parameters == {"n_estimators": max(1, round(np.mean([trees for _, trees in parts[1:]])))}
    assert 1 <= tuned.parameters["n_estimators"] <= 30


def test_settings_that_fall_behind_are_given_up() -> None:
    model = rerank.LambdaMART(**{**MODEL, "n_estimators": 60, "early_stopping_rounds": 60})
    tuned = Tuning(20).search(model, TRAIN, STOP)
    pruned = [parameters for parameters, value in settings(tuned) if value is None]
    assert pruned
    whole = [
        max(
            rerank.LambdaMART(**{**model.get_params(), **given})
            .fit(TRAIN, eval_set=STOP)
            .evals_result_["valid"]["nDCG@5"]
        )
        for given in pruned[:3]
    ]
    assert max(whole) <= best_try(tuned.tries).value + 0.02  # what was given up was not much better


@pytest.mark.parametrize("ranker", ["ranksvm", "ranknet", "rankboost", "mart", "gbrank"])
def test_every_kind_of_ranker_is_tuned(ranker: str) -> None:
    short = {"n_epochs": 6, "max_iter": 20, "n_estimators": 6}
    kind = ranker_class(ranker)
    model = kind(**{name: value for name, value in short.items() if name in kind().get_params()})
    tuned = Tuning(3).search(model, TRAIN)
    assert len(tuned.tries) == 4
    model.set_params(**tuned.parameters).fit(TRAIN)


def test_search_is_the_same_again_and_differs_by_its_seed() -> None:
    first, again = (Tuning(5).search(rerank.LambdaMART(**MODEL), TRAIN, STOP) for _ in range(2))
    assert settings(first) == settings(again)
    assert str(first).startswith("best of 6 settings (")
    assert settings(Tuning(5, random_state=1).search(rerank.LambdaMART(**MODEL), TRAIN, STOP)) != settings(first)


def test_search_needs_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(RerankError, match=r"^optuna: expected it installed for tuning, got none. Run `pip install"):
        Tuning(3).search(rerank.LambdaMART(), TRAIN, STOP)


def test_train_tunes_on_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data(TRAIN, tmp_path / "train.npz")
    write_data(STOP, tmp_path / "stop.npz")
    given = ["-p", "n_estimators=30", "-p", "early_stopping_rounds=10", "--metric", "nDCG@5"]
    files, model = [str(tmp_path / "train.npz")], tmp_path / "model.json"
    for more in ([], ["--validate", str(tmp_path / "stop.npz")]):
        cli.main(["train", *files, *given, *more, "--tune", "3", "-o", str(model)], standalone_mode=False)
        tuned = Tuning(3).search(rerank.LambdaMART(**MODEL), TRAIN, STOP if more else None)
        expected = rerank.LambdaMART(**MODEL).set_params(**tuned.parameters).fit(TRAIN, eval_set=STOP if more else None)
        np.testing.assert_array_equal(rerank.read_model(model).predict(STOP), expected.predict(STOP))
    with pytest.raises(click.UsageError, match="--memory: expected it without --tune"):
        cli.main(["train", *files, "--tune", "3", "--memory", "4GB", "-o", str(model)], standalone_mode=False)
