from __future__ import annotations

import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import known_rankers, ranker_class
from rerank.workflows.tuning import Try, best_try, draw_settings, search_space


@pytest.mark.parametrize("ranker", [name for name, kind in known_rankers().items() if not kind.cross_validates])
def test_space_is_made_of_the_rankers_own_parameters(ranker: str) -> None:
    space, defaults = search_space(ranker, {}), ranker_class(ranker)().get_params()
    for name, values in space.items():
        assert len(values) == len(set(values)) > 1
        assert all(defaults[name] is None or type(value) is type(defaults[name]) for value in values)
    ranker_class(ranker)(**{name: values[0] for name, values in space.items()})


def test_space_of_a_ranker_that_cross_validates_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^tune: expected a ranker with parameters to search, got auto, which"):
        search_space("auto", {})


def test_space_leaves_out_what_is_given() -> None:
    whole = search_space("lambdamart", {})
    assert whole["num_leaves"] == [8, 16, 31, 62]
    assert whole["reg_lambda"] == [0.0, 1.0, 10.0]
    assert search_space("lambdamart", {"num_leaves": 4}) == {k: v for k, v in whole.items() if k != "num_leaves"}


def test_settings_begin_with_the_defaults_and_are_drawn_alike_for_a_seed() -> None:
    drawn = draw_settings("lambdamart", {}, 9, 3)
    assert drawn[0] == {}
    assert len(drawn) == 10
    assert all(drawn[1:].count(setting) == 1 for setting in drawn[1:])
    assert draw_settings("lambdamart", {}, 9, 3) == drawn
    assert draw_settings("lambdamart", {}, 9, 4) != drawn


def test_settings_are_no_more_than_the_space_holds() -> None:
    fixed = dict.fromkeys(set(search_space("lambdamart", {})) - {"subsample"}, 1)
    drawn = draw_settings("lambdamart", fixed, 50, 0)
    assert sorted(drawn, key=str) == [{"subsample": 0.5}, {"subsample": 0.75}, {}]


def test_settings_are_drawn_evenly() -> None:
    space = search_space("rankboost", {})
    counts = dict.fromkeys(space["learning_rate"], 0)
    for seed in range(200):
        for setting in draw_settings("lambdarank", {}, 1, seed)[1:]:
            assert set(setting) == set(search_space("lambdarank", {}))
        for setting in draw_settings("rankboost", {}, 1, seed)[1:]:
            counts[setting["learning_rate"]] += 1
    others = [count for value, count in counts.items() if value != 1.0]
    assert min(others) > 40


def test_search_refuses_a_misspelt_parameter_with_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"expected a known parameter, got 'num_leafs'. Did you mean 'num_leav"):
        search_space("lambdamart", {"num_leafs": 3})


def test_best_try_is_the_first_of_equal_ones() -> None:
    tries = [Try({}, 0.1), Try({"a": 1}, 0.3), Try({"a": 2}, 0.3)]
    assert best_try(tries).parameters == {"a": 1}


def test_search_refuses_what_leaves_nothing_to_search() -> None:
    with pytest.raises(InvalidInputError, match=r"tune: expected a parameter of lambdamart to search .*, got none"):
        search_space("lambdamart", dict.fromkeys(search_space("lambdamart", {}), 1))
    with pytest.raises(InvalidInputError, match="tune: expected a number of settings from 1, got -1"):
        draw_settings("lambdamart", {}, -1, 0)
