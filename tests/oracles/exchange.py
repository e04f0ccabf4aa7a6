"""How other systems score: their files read as their owners document them, every tree walked by itself.

A reader returns (trees, start, divisor, dtype): trees are functions of rows; a score is start, plus every tree's value
in order, in dtype, over divisor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

ZERO = 1.0000000180025095e-35  # LightGBM's kZeroThreshold


@dataclass
class Split:
    """A test: `goes_left` is a function of the feature's values."""

    feature: Any
    goes_left: Callable[[np.ndarray], np.ndarray]
    left: Any
    right: Any


@dataclass
class Model:
    """Trees of `Split` and leaf values."""

    trees: list[Any]
    columns: dict[Any, int] = field(default_factory=dict)
    start: float = 0.0
    divisor: float = 1.0
    dtype: Any = np.float64

    def score(self, X: np.ndarray) -> np.ndarray:
        """Return the score of every row."""
        scores = np.full(len(X), self.start, dtype=self.dtype)
        for tree in self.trees:
            values = np.empty(len(X), dtype=self.dtype)
            self._walk(tree, X, np.arange(len(X)), values)
            scores = scores + values
        return scores / self.divisor if self.divisor != 1.0 else scores

    def _walk(self, node: Any, X: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
        waiting = [(node, rows)]
        while waiting:
            node, rows = waiting.pop()
            if not isinstance(node, Split):
                values[rows] = node
                continue
            column = X[rows, self.columns[node.feature] if self.columns else node.feature]
            left = node.goes_left(column)
            waiting += [(node.left, rows[left]), (node.right, rows[~left])]


def _at_most(threshold: float, nan_left: bool, dtype: Any = np.float32) -> Callable[[np.ndarray], np.ndarray]:
    limit = dtype(threshold)
    return lambda x: np.where(np.isnan(x), nan_left, x.astype(dtype) <= limit)


def _below(threshold: float, nan_left: bool) -> Callable[[np.ndarray], np.ndarray]:
    limit = np.float32(threshold)
    return lambda x: np.where(np.isnan(x), nan_left, x < limit)


def _outside(members: list[int], nan_left: bool) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.where(np.isnan(x), nan_left, ~np.isin(x, members))


def lightgbm(content: bytes) -> Model:
    """The text of `Booster.save_model` (NumericalDecision of LightGBM's tree.h)."""
    header, *blocks = content.decode().split("Tree=")
    trees = []
    for block in blocks:
        lines = (line.split("=", 1) for line in block.splitlines()[1:] if "=" in line)
        values = {key: text.split() for key, text in lines}
        trees.append(_lightgbm_tree(values))
    return Model(trees, divisor=float(len(trees)) if "average_output" in header else 1.0)


def _lightgbm_tree(values: dict[str, list[str]]) -> Any:
    leaves = [float(value) for value in values["leaf_value"]]
    if len(leaves) == 1:
        return leaves[0]

    def goes_left(threshold: float, kind: int) -> Callable[[np.ndarray], np.ndarray]:
        if kind & 1:  # CategoricalDecision
            first, last = (int(values["cat_boundaries"][int(threshold) + end]) for end in (0, 1))
            words = [int(word) for word in values["cat_threshold"][first:last]]
            members = [32 * number + bit for number, word in enumerate(words) for bit in range(32) if word >> bit & 1]
            return lambda x: np.isin(x, members)
        missing, default_left = kind >> 2, bool(kind & 2)

        def test(x: np.ndarray) -> np.ndarray:
            x = x.astype(np.float64)
            x[np.abs(x) <= ZERO] = 0.0  # c_api.cpp leaves such values out of the row
            is_nan = np.isnan(x)
            if missing != 2:
                x[is_nan] = 0.0
            away = is_nan if missing == 2 else (np.abs(x) <= ZERO if missing == 1 else np.zeros(len(x), bool))
            return np.where(away, default_left, x <= threshold)

        return test

    nodes = [
        Split(int(feature), goes_left(float(threshold), int(kind)), int(left), int(right))
        for feature, threshold, kind, left, right in zip(
            *(values[key] for key in ("split_feature", "threshold", "decision_type", "left_child", "right_child")),
            strict=True,
        )
    ]
    for node in nodes:
        node.left = nodes[node.left] if node.left >= 0 else leaves[~node.left]
        node.right = nodes[node.right] if node.right >= 0 else leaves[~node.right]
    return nodes[0]


def xgboost(content: bytes) -> Model:
    """The JSON of `Booster.save_model`; a node's second child is stored after its first, as it reads them."""
    learner = json.loads(content)["learner"]
    trees = []
    for raw in learner["gradient_booster"]["model"]["trees"]:
        nodes: list[Any] = []
        for index, left in enumerate(raw["left_children"]):
            condition = raw["split_conditions"][index]
            if left < 0:
                nodes.append(np.float32(condition))
                continue
            assert raw["right_children"][index] == left + 1
            test = _below(condition, bool(raw["default_left"][index]))
            if raw["split_type"][index]:
                at = raw["categories_nodes"].index(index)
                first, size = raw["categories_segments"][at], raw["categories_sizes"][at]
                test = _outside(raw["categories"][first : first + size], bool(raw["default_left"][index]))
            nodes.append(Split(raw["split_indices"][index], test, left, left + 1))
        for node in nodes:
            if isinstance(node, Split):
                node.left, node.right = nodes[node.left], nodes[node.right]
        trees.append(nodes[0])
    start = float(learner["learner_model_param"]["base_score"].strip("[]"))
    return Model(trees, start=np.float32(start), dtype=np.float32)


def xgboost_dump(content: bytes, names: tuple[str, ...]) -> Model:
    """XGBoostJsonParser and NaiveAdditiveDecisionTree of the plug-ins for Elasticsearch and OpenSearch."""
    stored = json.loads(content)
    stored = stored["splits"] if isinstance(stored, dict) else stored

    def tree(node: dict[str, Any]) -> Any:
        if "leaf" in node:
            return np.float32(node["leaf"])
        children = {child["nodeid"]: child for child in node["children"]}
        assert [child["nodeid"] for child in node["children"]] == [node["yes"], node["no"]]
        test = _below(node["split_condition"], node["missing"] == node["yes"])
        return Split(node["split"], test, tree(children[node["yes"]]), tree(children[node["no"]]))

    columns = {name: column for column, name in enumerate(names)}
    return Model([tree(root) for root in stored], columns, dtype=np.float32)


def ranklib(content: bytes) -> Model:
    """RankLib's Ensemble: lines are trimmed and joined; the children of a split are read by their order."""
    lines = [line.strip() for line in content.decode().splitlines() if not line.startswith("##")]
    root = ElementTree.fromstring("".join(lines))

    def tree(split: ElementTree.Element) -> Any:
        if split[0].tag == "output":
            return np.float32(split[0].text.strip())
        assert [child.tag for child in split] == ["feature", "threshold", "split", "split"]
        assert [child.get("pos") for child in split[2:]] == ["left", "right"]
        threshold = np.float32(split[1].text.strip())
        test = _at_most(threshold, bool(threshold >= 0))  # a missing value is 0
        return Split(int(split[0].text.strip()) - 1, test, tree(split[2]), tree(split[3]))

    assert all(float(each.get("weight")) == 1.0 for each in root)
    return Model([tree(each[0]) for each in root], dtype=np.float32)


def solr(content: bytes) -> Model:
    """Solr's MultipleAdditiveTreesModel: float32, 1e-6 is added to each threshold."""
    stored = json.loads(content)
    assert stored["params"]["isNullSameAsZero"] is False

    def tree(node: dict[str, Any], weight: np.float32) -> Any:
        if "feature" not in node:
            return np.float32(node["value"]) * weight
        threshold = np.float32(node["threshold"]) + np.float32(1e-6)
        sides = tree(node["left"], weight), tree(node["right"], weight)
        return Split(node["feature"], _at_most(threshold, node["missing"] == "left"), *sides)

    columns = {feature["name"]: column for column, feature in enumerate(stored["features"])}
    trees = [tree(each["root"], np.float32(each["weight"])) for each in stored["params"]["trees"]]
    return Model(trees, columns, dtype=np.float32)


def elasticsearch(content: bytes) -> Model:
    """Elastic's Tree and Ensemble with weighted_sum: float64, `lte`."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    assert ensemble["aggregate_output"] == {"weighted_sum": {}}
    trees = []
    for each in ensemble["trained_models"]:
        assert each["tree"]["feature_names"] == ensemble["feature_names"]
        nodes: list[Any] = []
        for index, node in enumerate(each["tree"]["tree_structure"]):
            assert node["node_index"] == index
            if "leaf_value" in node:
                nodes.append(node["leaf_value"])
                continue
            assert node["decision_type"] == "lte"
            test = _at_most(node["threshold"], node["default_left"], np.float64)
            nodes.append(Split(node["split_feature"], test, node["left_child"], node["right_child"]))
        for node in nodes:
            if isinstance(node, Split):
                node.left, node.right = nodes[node.left], nodes[node.right]
        trees.append(nodes[0])
    return Model(trees)
