"""Checks that data have the features of a model, by name and recipe, and puts them in the model's order."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import ModelMismatchError, log
from rerank.runtime.mapped_rows import changed_rows
from rerank.types import RankingData

HISTORY_PREFIX = "history."  # beginning of the names of features of similar judged queries
# Parts of a recipe that are lists of names. The names of the features contain them, so that the parts may differ where
# the names of the features are equal.
NAMED = ("fields", "families", "features", "numbers", "functions", "runs")


def matching(model: Any, data: RankingData) -> RankingData:
    """Return the data with the model's features in the model's order; features are known by name."""
    _check_recipe(model.recipe_, data.recipe)
    names = model._as_trained(data.feature_names)
    if names == model.feature_names_:
        return data
    column_of = {name: column for column, name in enumerate(names)}
    missing = [name for name in model.feature_names_ if name not in column_of and not name.startswith(HISTORY_PREFIX)]
    # LETOR text, whose features have numbers as names, does not list a feature that is 0 in all rows.
    if missing and not (data.zeros is not None and all(map(str.isdecimal, missing))):
        raise ModelMismatchError(
            f"data: expected the model's {model.n_features_in_} features, got {data.n_features}, without "
            f"{', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}. Make the data with the model's recipe."
        )
    if missing:
        log.warning("data: no row lists the model's features %s: LETOR text lists only what is not 0", _some(missing))
    own = set(model.feature_names_)
    more = [name for name in names if name not in own]
    if more and all(map(str.isdecimal, more)):  # numbers do not say what a feature is
        log.warning(
            "data: features %s are left out, which the model does not have: was it trained on other data?", _some(more)
        )
    columns = [column_of.get(name, -1) for name in model.feature_names_]
    absent = np.nan if data.zeros is None else 0.0  # NaN for features of similar judged queries, without a history
    log.debug("data: %d features are ignored, as the model does not use them", len(more))
    # A column of `absent` is appended, to which -1 refers.
    X = changed_rows(
        data.X,
        lambda block: np.ascontiguousarray(np.pad(block, ((0, 0), (0, 1)), constant_values=absent)[:, columns]),
        "features of the model",
    )
    return replace(data, X=X, feature_names=tuple(model.feature_names_))


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + ", ..." * (len(names) > 5)


def may_be_absent(name: str) -> bool:
    """Return whether some data need not have a feature: of similar judged queries, or a number of LETOR text."""
    return name.startswith(HISTORY_PREFIX) or name.isdecimal()


def check_columns(model: Any, X: NDArray[np.float32], names: tuple[str, ...] | None, what: str) -> None:
    """Refuse columns that are not those of training; warn as scikit-learn does where one side has no names."""
    kind = type(model).__name__
    names = None if names is None else model._as_trained(names)
    if names is None and not model.ordered_:
        raise ModelMismatchError(
            f"{what}: expected columns with names (a data frame, RankingData), got an array: the file of the model "
            "does not say the order of its features. Import it with feature_names, in the order of training."
        )
    if names is not None and names != model.feature_names_:
        if hasattr(model, "feature_names_in_") or not set(names).isdisjoint(model.feature_names_):
            raise ModelMismatchError(f"{what}: {_difference(model.feature_names_, names)}")
        warnings.warn(f"X has feature names, but {kind} was fitted without feature names", UserWarning, 4)
    if X.shape[1] != model.n_features_in_:
        raise ModelMismatchError(
            f"{what}: expected {model.n_features_in_} features a row, got shape {X.shape}. Pass the "
            "columns that it was trained on."
        )
    if names is None and model._columns_named:
        warnings.warn(f"X does not have valid feature names, but {kind} was fitted with feature names", UserWarning, 4)


def _check_recipe(trained: Mapping[str, Any] | None, applied: Mapping[str, Any] | None) -> None:
    """Refuse features of the same names that were computed with other parameters or normalisation."""
    for key, value in (trained or {}).items():
        other = (applied or {}).get(key, value)
        if other != value and key not in NAMED and key != "history":  # judgements may have been added
            raise ModelMismatchError(
                f"data: expected features made with the model's recipe ({key}: {value}), got another ({key}: {other}). "
                "Make the data with the model's recipe."
            )


def _difference(trained: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Return how the names of a data frame's columns differ from those of training, and what to do."""
    parts = [
        f"{what} {', '.join(map(repr, some[:3]))}{' ...' if len(some) > 3 else ''}"
        for what, some in (
            ("got", [name for name in names if name not in trained]),
            ("without", [name for name in trained if name not in names]),
        )
        if some
    ]
    return (
        f"expected the columns of training in their order, {' and '.join(parts) or 'got another order'}. Pass "
        "X[list(model.feature_names_)]."
    )
