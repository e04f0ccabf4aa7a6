"""The eval sets of `LGBMRanker.fit`, and the figures of LightGBM's metrics on them."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.plugins.lightgbm.parameters import MEASURES, LightGBMSettings
from rerank.rankers.arrays import coded, feature_matrix, finite_column, numbers, warn_of_counts
from rerank.types import Floats, Ints, ideal_of_rows, pointers, query_rows


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Rows that are measured after each iteration, in the order of the arguments of `fit`.

    labels         (n_rows,) float64
    gains          (n_rows,) float64 gain of each label if `label_gain` is given, else the label
    ptr            (n_queries + 1,) int64 rows of each query
    weights        (n_rows,) float64, None for none; the weight of a query is the mean over its rows, as in LightGBM
    X, init_score  features, and base scores (n_rows,) or None
    """

    name: str
    labels: Floats
    gains: Floats
    ptr: Ints
    weights: Floats | None
    settings: LightGBMSettings
    X: Any = None
    init_score: Any = None

    def results(self, metrics: Iterable[Any], scores: Floats) -> list[lightgbm.EvalResult]:
        """Return the figures at scores (n_rows,)."""
        order = np.lexsort((-scores, query_rows(self.ptr)))
        results = []
        for metric in metrics:
            if callable(metric):
                results += [lightgbm.EvalResult(self.name, *figure) for figure in self._of_function(metric, scores)]
            else:
                results += self._built_in(metric, order)
        return results

    def _built_in(self, metric: tuple[str, list[int]], order: Ints) -> list[lightgbm.EvalResult]:
        name, depths = metric
        labels = self.gains if name == "ndcg" else self.labels
        ideal, ideal_ptr = ideal_of_rows(labels, self.ptr)
        lists = RankedLists(labels[order], self.ptr, ideal, ideal_ptr)
        relevant = np.diff(ideal_ptr)
        symbol = self.settings.parameters["metric"] if name == "ndcg" else MEASURES[name]
        sizes = np.diff(self.ptr)
        weights = None  # of queries; 0 for one without rows
        if self.weights is not None:
            weights = np.bincount(query_rows(self.ptr), self.weights, len(sizes)) / np.maximum(sizes, 1)
        results = []
        for depth in depths:
            values = parse_measure(f"{symbol}@{depth}").scores(lists)
            if name == "map":
                values = values * relevant / np.clip(relevant, 1, depth)
            mean = np.average(np.where(relevant > 0, values, 1.0), weights=weights)
            results.append(lightgbm.EvalResult(self.name, f"{name}@{depth}", float(mean), True))
        return results

    def _of_function(self, function: Callable[..., Any], scores: Floats) -> list[tuple[str, float, bool]]:
        """Return what a function (labels, scores[, weights[, group sizes]]) returns, as a list."""
        n_taken = len(inspect.signature(function).parameters)
        result = function(*(self.labels, scores, self.weights, np.diff(self.ptr))[:n_taken])
        return result if isinstance(result, list) else [result]


def eval_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Return features and labels of each eval set."""
    if eval_set is not None:
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if eval_X is None:
        return []
    return list(zip(eval_X, eval_y, strict=True)) if isinstance(eval_X, list | tuple) else [(eval_X, eval_y)]


def names_of_sets(chosen: Sequence[str] | None, n_sets: int, training: list[int]) -> list[str]:
    """Return the names of eval sets: the chosen ones, then LightGBM's; `training` has the numbers of training data."""
    names = ["training" if number in training else f"valid_{number}" for number in range(n_sets)]
    own = [chosen] if isinstance(chosen, str) else list(chosen or ())
    return [*own[:n_sets], *names[len(own) :]]


def eval_sets(
    pairs: Sequence[tuple[Any, Any]],
    names: Sequence[str],
    groups: Any,
    weights: Any,
    init_scores: Any,
    settings: LightGBMSettings,
) -> list[EvalSet]:
    """Return the eval sets of the pairs that `eval_pairs` returns, checked."""
    if pairs and (groups is None or len(groups) != len(pairs)):
        got = "none" if groups is None else str(len(groups))
        raise InvalidInputError(
            f"eval_group: expected {len(pairs)} lists of sizes, one for each eval set, got {got}. Pass a list."
        )
    sets = []
    for number, (name, (X, y)) in enumerate(zip(names, pairs, strict=True)):
        labels = finite_column("eval_set", y, len(y))
        ptr = pointers(group_sizes("eval_group", groups[number]))
        if ptr[-1] != len(labels):
            raise InvalidInputError(
                f"eval_group: expected sizes that add up to the {len(labels)} rows of {name}, got {ptr[-1]}. "
                "Correct the sizes."
            )
        of_rows = _of("eval_sample_weight", weights, number)
        if of_rows is not None:
            of_rows = finite_column("eval_sample_weight", of_rows, len(labels))
            if not of_rows.any():
                raise InvalidInputError(
                    f"eval_sample_weight: expected a weight above 0 in {name}, got none. Leave the weights out."
                )
        starts = _of("eval_init_score", init_scores, number)
        sets.append(EvalSet(name, labels, settings.gains_of(labels), ptr, of_rows, settings, X, starts))
    return sets


def _of(what: str, values: Any, number: int) -> Any:
    """Return the entry of one eval set in a list, or in a dict by the set's number; None if there is none."""
    if values is None:
        return None
    if isinstance(values, dict):
        return values.get(number)
    if number >= len(values):
        raise InvalidInputError(
            f"{what}: expected a value for each eval set, got {len(values)}. Pass None for no value."
        )
    return values[number]


def joined(sets: list[EvalSet], categories: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the arguments of `Ranker.fit` with the rows of all eval sets; `categories` are those of training."""
    if not sets:
        return {}
    X = sets[0].X if len(sets) == 1 else _joined_rows([of_set.X for of_set in sets], categories)
    return {
        "eval_set": (X, np.concatenate([of_set.gains for of_set in sets])),
        "eval_group": np.concatenate([np.diff(of_set.ptr) for of_set in sets]),
        "eval_init_score": _joined_starts(sets),
    }


def _joined_starts(sets: Sequence[EvalSet]) -> Any:
    """Return the base scores of the rows of all eval sets, 0 in a set without any; None if no set has any."""
    if all(of_set.init_score is None for of_set in sets):
        return None
    starts = [np.zeros(len(of_set.labels)) if of_set.init_score is None else of_set.init_score for of_set in sets]
    return np.concatenate([np.asarray(part) for part in starts])


def _joined_rows(parts: Sequence[Any], categories: Mapping[str, list[Any]]) -> Any:
    """Return the rows of several eval sets, as one data frame with the categories of training if all are frames."""
    if not all(hasattr(part, "assign") for part in parts):
        return np.concatenate([feature_matrix(part) for part in parts])
    import pandas as pd

    for part in parts:
        coded(part, categories)  # refuses a column of categories that training did not have
    kinds = {name: pd.CategoricalDtype(categories[str(name)]) for name in parts[0] if str(name) in categories}
    return pd.concat([part.astype(kinds) for part in parts], ignore_index=True)


def group_sizes(what: str, group: Any) -> Any:
    """Return the sizes of queries as int64 if they are whole: readers of LightGBM's files give float64."""
    if group is None:
        raise InvalidInputError(f"{what}: expected the number of rows of each query, got none. Pass {what}=.")
    warn_of_counts(what, group)
    sizes = numbers(what, group)
    whole = sizes.astype(np.int64)
    return whole if (whole == sizes).all() else sizes
