"""CatBoost's JSON (`save_model(format="json")`) of oblivious trees, whose nodes of one depth share a test.

Values and borders are float32; `x > border` sets a bit of the leaf's number, the first split the lowest one. Leaf
values and sums are float64; the score is scale * sum + bias.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import (
    MOST_FEATURES,
    at_most,
    each_tree,
    joined,
    leaf_tree,
    numbers,
    split_tree,
    whole,
    wholes,
)
from rerank.exchange.registry import Format, FormatFault, TreeModel, register
from rerank.exchange.structured import member, parsed_json
from rerank.trees.forest import Tree

DEEPEST = 16


@register("catboost")
class CatBoost(Format):
    """Read CatBoost's JSON."""

    title = "CatBoost's JSON of oblivious trees"
    reads = True

    def recognises(self, content: bytes) -> bool:
        """Return whether an object of CatBoost's trees begins the content."""
        return content.lstrip().startswith(b"{") and b'"features_info"' in content

    def content_of(self, estimator: object) -> bytes | TreeModel | None:
        """Return the JSON of a fitted model of CatBoost's."""
        if type(estimator).__module__.partition(".")[0] != "catboost" or not hasattr(estimator, "save_model"):
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            estimator.save_model(path, format="json")
            return Path(path).read_bytes()

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        stored = parsed_json(content)
        if not isinstance(stored, dict):
            raise FormatFault("an object", shown(stored))
        if "oblivious_trees" not in stored and "trees" in stored:
            remedy = "Train the model again with grow_policy=SymmetricTree."
            raise FormatFault("oblivious trees", "others", remedy=remedy)
        info = member(stored, "features_info", dict)
        for kind in ("categorical_features", "text_features", "embedding_features"):
            if info.get(kind):
                remedy = "Train the model again on numbers."
                raise FormatFault("numerical features", kind.replace("_", " "), remedy=remedy)
        features = member(info, "float_features", list)
        columns, missing_right, column_names = _columns(features)
        n_features = max(columns, default=0) + 1
        trees = each_tree(member(stored, "oblivious_trees", list), lambda raw: _tree(raw, columns, missing_right))
        scale, bias = _scale_and_bias(stored.get("scale_and_bias"))
        with np.errstate(over="ignore"):  # an infinite score is refused below
            scaled = [replace(tree, leaf_value=scale * tree.leaf_value) for tree in trees]
        complete = len(column_names) == n_features and all(column_names)
        return TreeModel(joined(scaled, n_features), n_features, tuple(column_names) if complete else None, bias)


def _columns(features: list[Any]) -> tuple[list[int], list[bool], list[str]]:
    """Return of each float feature its column, whether its missing values go right, and the columns' names."""
    columns, right, names = [], [], dict[int, str]()
    for number, feature in enumerate(features):
        column = member(feature, "flat_feature_index", int)
        columns.append(whole("flat_feature_index", column, 0, MOST_FEATURES))
        if member(feature, "feature_index", int) != number:
            raise FormatFault(f"feature_index {number}", shown(feature["feature_index"]))
        kind = feature.get("nan_value_treatment", "AsIs")
        if kind not in ("AsIs", "AsFalse", "AsTrue"):
            raise FormatFault("nan_value_treatment AsIs, AsFalse or AsTrue", shown(kind))
        right.append(kind == "AsTrue")
        names[columns[-1]] = str(feature.get("feature_name") or feature.get("feature_id") or "")
    if len(set(columns)) < len(columns):
        raise FormatFault("each column once", "one again")
    return columns, right, [names.get(column, "") for column in range(max(columns, default=-1) + 1)]


def _tree(raw: Any, columns: list[int], missing_right: list[bool]) -> Tree:
    values_of = member(raw, "leaf_values", list)
    splits = [] if raw.get("splits") is None else member(raw, "splits", list)
    if len(splits) > DEEPEST:
        raise FormatFault(f"a depth up to {DEEPEST}", str(len(splits)))
    values = numbers("leaf_values", values_of, 1 << len(splits))
    counts = numbers("leaf_weights", raw.get("leaf_weights") or [0.0] * len(values), len(values))
    if not splits:
        return leaf_tree(float(values[0]))
    for split in splits:
        if not isinstance(split, dict) or split.get("split_type", "FloatFeature") != "FloatFeature":
            raise FormatFault("splits of numbers (FloatFeature)", shown(split))
    index = wholes("float_feature_index", [member(s, "float_feature_index") for s in splits], 0, len(columns) - 1)
    border = at_most(numbers("border", [member(split, "border") for split in splits]))
    depth = np.arange((1 << len(splits)) - 1)
    level = len(splits) - np.frexp((depth + 1).astype(np.float64))[1]  # the root tests the last split
    n_nodes = len(depth)
    children = [2 * depth + side for side in (1, 2)]
    left, right = (np.where(child < n_nodes, child, ~(child - n_nodes)) for child in children)
    feature = np.array(columns)[index]
    missing_left = ~np.array(missing_right)[index]
    return split_tree(feature[level], border[level], missing_left[level], left, right, values, None, counts)


def _scale_and_bias(value: object) -> tuple[float, float]:
    if value is None:
        return 1.0, 0.0
    if not isinstance(value, list) or len(value) != 2:
        raise FormatFault("scale_and_bias as two values", shown(value))
    biases = value[1] if isinstance(value[1], list) else [value[1]]
    if len(biases) > 1:
        raise FormatFault("one bias", str(len(biases)), remedy="Only models of one score can rank.")
    return float(numbers("scale", [value[0]], 1)[0]), float(numbers("bias", biases or [0.0], 1)[0])
