"""Search of hyper-parameters on the training part of a fold: the held-out queries take no part in it.

Random search (Bergstra and Bengio 2012, Random search for hyper-parameter optimization), by scikit-learn: the
settings are drawn beforehand, so a search is the same whatever it finds, and one setting can be repeated by itself.

The space of a ranker is what `FACTORS` and `SHARES` say of the parameters that it has: multiples of the ranker's own
default, so that a learning rate of 0.1 and one of 0.001 are each searched where they make sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.types import RankingData

FACTORS: Mapping[str, tuple[float, ...]] = {  # of the ranker's default
    "C": (0.01, 0.1, 1, 10, 100),
    "hidden_units": (0.5, 1, 2),
    "learning_rate": (0.25, 0.5, 1, 2),
    "min_child_samples": (0.25, 0.5, 1, 2.5, 5),
    "num_leaves": (0.25, 0.5, 1, 2),
    "reg_lambda": (0.1, 1, 10),
    "truncation_level": (0.33, 1, 3.3),
}
SHARES: Mapping[str, tuple[float, ...]] = {"colsample_bytree": (0.3, 0.6, 1.0), "subsample": (0.5, 0.75, 1.0)}
FROM_ZERO = (0.0, 1.0, 10.0)  # where the default is 0, which has no multiples


@dataclass(frozen=True)
class Try:
    """One setting that was tried in a fold: its measure on the queries that stop the training."""

    parameters: Mapping[str, Any]
    value: float


def search_space(ranker: str, fixed: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of each parameter that is searched; `fixed` ones are not.

    Raises InvalidInputError where nothing is left to search.
    """
    defaults = ranker_class(ranker)().get_params(deep=False)
    space = {name: _values(name, value) for name, value in sorted(defaults.items()) if name not in fixed}
    found = {name: values for name, values in space.items() if len(values) > 1}
    if not found:
        raise InvalidInputError(
            f"tune: expected a parameter of {ranker} to search ({', '.join(sorted({*FACTORS, *SHARES}))}), got none "
            "that it has and that is not given. Give fewer, or do not tune."
        )
    return found


def draw_settings(ranker: str, fixed: Mapping[str, Any], number: int, random_state: int) -> list[dict[str, Any]]:
    """Return the ranker's defaults (as an empty setting), then up to `number` other settings, each once."""
    if number < 1:
        raise InvalidInputError(f"tune: expected a number of settings from 1, got {number}.")
    from sklearn.model_selection import ParameterSampler

    space = search_space(ranker, fixed)
    defaults = {name: value for name, value in ranker_class(ranker)().get_params(deep=False).items() if name in space}
    wanted = min(number + 1, prod(map(len, space.values())))
    drawn = [dict(setting) for setting in ParameterSampler(space, wanted, random_state=random_state)]
    return [{}, *[setting for setting in drawn if setting != defaults][:number]]


def best_model(
    new_model: Callable[[Mapping[str, Any]], Ranker],
    settings: Sequence[Mapping[str, Any]],
    train: RankingData,
    stop: RankingData,
    value: Callable[[RankingData, Ranker], float],
) -> tuple[Ranker, list[Try]]:
    """Return the model of the setting that is best on `stop` (of equal ones the first), and all that was tried.

    value  measure of a model on data
    """
    models = [new_model(setting).fit(train, eval_set=stop) for setting in settings]
    tries = [Try(dict(setting), value(stop, model)) for setting, model in zip(settings, models, strict=True)]
    return models[tries.index(best_try(tries))], tries


def best_try(tries: Sequence[Try]) -> Try:
    """Return the best try, of equal ones the first."""
    return max(tries, key=lambda one: one.value)


def _values(name: str, default: Any) -> list[Any]:
    if name in SHARES:
        return list(SHARES[name])
    if name not in FACTORS:
        return []
    if not default:
        return [type(default)(value) for value in FROM_ZERO]
    if isinstance(default, int):
        return list(dict.fromkeys(max(round(default * factor), 2) for factor in FACTORS[name]))
    return [float(f"{default * factor:.6g}") for factor in FACTORS[name]]
