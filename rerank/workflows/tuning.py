"""Search of hyper-parameters on the training part of a fold, without the held-out queries.

Random search (Bergstra and Bengio 2012, Random search for hyper-parameter optimization): the settings are drawn
beforehand and do not depend on each other's results, so that a search can be repeated, and one setting by itself.

The space of a ranker is declared with its parameters (`rerank.rankers.parameters`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.rankers.parameters import check_names, declared_parameters
from rerank.rankers.ranker import Ranker, ranker_class
from rerank.types import RankingData


@dataclass(frozen=True)
class Try:
    """One setting that was tried in a fold, and its measure on the queries that stop the training; None without any."""

    parameters: Mapping[str, Any]
    value: float | None


def search_space(ranker: str, fixed: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of each parameter that is searched."""
    learner = ranker_class(ranker)
    declared = declared_parameters(learner)
    check_names(learner.__name__, fixed, declared)
    searched = {name: list(each.search) for name, each in sorted(declared.items()) if each.search}
    if not searched:
        raise InvalidInputError(
            f"tune: expected a ranker with parameters to search, got {ranker}, which has none. Do not tune it."
        )
    space = {name: values for name, values in searched.items() if name not in fixed}
    if not space:
        raise InvalidInputError(
            f"tune: expected a parameter of {ranker} to search ({', '.join(searched)}), got none that is not given. "
            "Give fewer, or do not tune."
        )
    return space


def draw_settings(ranker: str, fixed: Mapping[str, Any], number: int, random_state: int) -> list[dict[str, Any]]:
    """Return the ranker's defaults (as an empty setting), then up to `number` other settings, each once."""
    if number < 1:
        raise InvalidInputError(f"tune: expected a number of settings from 1, got {number}. Give a larger one.")
    space, declared = search_space(ranker, fixed), declared_parameters(ranker_class(ranker))
    size = prod(map(len, space.values()))
    drawn = _different_numbers(size, min(number + 1, size), np.random.default_rng(random_state))
    settings = [_setting(space, one) for one in drawn]
    defaults = {name: declared[name].default for name in space}
    return [{}, *[setting for setting in settings if setting != defaults][:number]]


def best_model(
    new_model: Callable[[Mapping[str, Any]], Ranker],
    settings: Sequence[Mapping[str, Any]],
    train: RankingData,
    stop: RankingData | None,
    value: Callable[[RankingData, Ranker], float],
) -> tuple[Ranker, list[Try]]:
    """Return the model of the setting that is best on `stop` (of equal ones the first), and all settings tried."""
    models = [new_model(setting).fit(train, eval_set=stop) for setting in settings]
    values = [getattr(model, "cross_validated_", None) if stop is None else value(stop, model) for model in models]
    tries = [Try(dict(setting), one) for setting, one in zip(settings, values, strict=True)]
    return models[tries.index(best_try(tries))], tries


def best_try(tries: Sequence[Try]) -> Try:
    """Return the best try, of equal ones the first."""
    return max(tries, key=lambda one: -inf if one.value is None else one.value)


def _different_numbers(end: int, count: int, random: np.random.Generator) -> list[int]:
    """Return `count` different numbers below `end`, drawn at random; a space may be too large to shuffle."""
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        drawn[int(random.integers(end))] = None
    return list(drawn)


def _setting(space: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """Return one of all combinations of values, by its number."""
    setting = {}
    for name, values in space.items():
        number, chosen = divmod(number, len(values))
        setting[name] = values[chosen]
    return setting
