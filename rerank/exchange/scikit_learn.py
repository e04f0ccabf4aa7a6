"""scikit-learn's fitted trees, in Python: decision trees, forests, gradient boosting, histogram gradient boosting.

Trees of `sklearn.tree` see float32 values and float64 thresholds, `x <= threshold` goes left; sums are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.exchange.build import Splits, at_most, flat_tree, joined, leaf_tree, numbers, wholes
from rerank.exchange.registry import Format, FormatFault, TreeModel, register
from rerank.trees.forest import Tree

MEANS = ("RandomForestRegressor", "ExtraTreesRegressor")
KNOWN = (
    "DecisionTreeRegressor, ExtraTreeRegressor, RandomForestRegressor, ExtraTreesRegressor, GradientBoostingRegressor, "
    "HistGradientBoostingRegressor"
)


@register("scikit-learn")
class ScikitLearn(Format):
    """Read fitted regressors of scikit-learn's; there is no file."""

    title = "scikit-learn's fitted regressors of trees (in Python only)"

    def content_of(self, estimator: Any) -> bytes | TreeModel | None:
        """Return the trees of a fitted regressor."""
        if type(estimator).__module__.partition(".")[0] != "sklearn":
            return None
        kind = type(estimator).__name__
        if not hasattr(estimator, "n_features_in_"):
            raise InvalidInputError(f"source: expected a fitted {kind}, got one that is not. Call fit first.")
        n_features = int(estimator.n_features_in_)
        names = getattr(estimator, "feature_names_in_", None)
        feature_names = None if names is None else tuple(map(str, names))
        constant, divisor = 0.0, 1.0
        if kind in ("DecisionTreeRegressor", "ExtraTreeRegressor"):
            trees = [_tree(estimator.tree_, 1.0)]
        elif kind in MEANS:
            trees = [_tree(member.tree_, 1.0) for member in estimator.estimators_]
            divisor = float(len(trees))
        elif kind == "GradientBoostingRegressor":
            trees = [_first(estimator)]
            trees += [_tree(member.tree_, estimator.learning_rate) for member in estimator.estimators_[:, 0]]
        elif kind == "HistGradientBoostingRegressor":
            trees = [leaf_tree(float(np.ravel(estimator._baseline_prediction)[0]))]
            trees += [_histogram_tree(each[0].nodes) for each in estimator._predictors]
        else:
            raise InvalidInputError(f"source: expected a regressor of {KNOWN}, got {kind}. Convert it to one of them.")
        return TreeModel(joined(trees, n_features), n_features, feature_names, constant, divisor)


def _first(estimator: Any) -> Tree:
    """Return what gradient boosting begins with: a constant, or nothing."""
    first = estimator.init_
    if isinstance(first, str):  # "zero"
        return leaf_tree(0.0)
    if type(first).__name__ != "DummyRegressor":
        raise InvalidInputError(
            f"source: expected gradient boosting that starts from a constant, got init={type(first).__name__}. Train "
            "it without init."
        )
    return leaf_tree(float(np.ravel(first.constant_)[0]))


def _tree(tree: Any, factor: float) -> Tree:
    is_leaf = tree.children_left < 0
    if tree.value.shape[1:] != (1, 1):
        raise FormatFault("one score", f"values of shape {tree.value.shape[1:]}")
    missing = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=np.uint8))
    values = factor * numbers("value", tree.value[:, 0, 0].tolist())
    threshold = at_most(numbers("threshold", tree.threshold.tolist(), infinite=True))
    return flat_tree(
        is_leaf,
        Splits(np.where(is_leaf, 0, tree.feature), threshold, np.asarray(missing, dtype=np.bool_)),
        (np.where(is_leaf, 0, tree.children_left), np.where(is_leaf, 0, tree.children_right)),
        values,
        count=tree.weighted_n_node_samples,
    )


def _histogram_tree(nodes: Any) -> Tree:
    if nodes["is_categorical"].any():
        raise FormatFault("numerical splits", "categorical ones", remedy="Train without categorical features.")
    is_leaf = nodes["is_leaf"] > 0
    # the threshold of a split between values and missing ones is infinite
    threshold = at_most(numbers("num_threshold", nodes["num_threshold"].tolist(), infinite=True))
    feature = wholes("feature_idx", np.where(is_leaf, 0, nodes["feature_idx"]).tolist(), 0, 2**31 - 1)
    return flat_tree(
        is_leaf,
        Splits(feature, threshold, nodes["missing_go_to_left"] > 0),
        (nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)),
        numbers("value", nodes["value"].tolist()),
        count=nodes["count"].astype(np.int64),
    )
