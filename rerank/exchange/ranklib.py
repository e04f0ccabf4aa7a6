"""RankLib: LambdaMART, MART, random forests, and the linear Coordinate Ascent and Linear Regression.

Features are numbered from 1, thresholds and leaf values are float32, `x <= threshold` goes left, and a missing value is
0. RankLib sums in float32. If a tree has a weight other than 1, RankLib multiplies in float64, and scores may differ in
the last digits of float32. A linear model is one line of `feature:weight`, summed in float64; feature 0 of a linear
regression is its constant.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import (
    MOST_FEATURES,
    Node,
    decimal,
    each_tree,
    feature_count,
    joined_trees,
    nested,
    number_array,
    refuse_missing_direction,
    single,
    single_number,
    summed,
    tree_of,
    weighed,
)
from rerank.exchange.model_stores import PluginFormat
from rerank.exchange.registry import FormatFault, LinearModel, TreeModel, register
from rerank.trees.forest import Forest

TREES = ("LambdaMART", "MART", "Random Forests")
ASCENT = "Coordinate Ascent"
REGRESSION = "Linear Regression"
DEEPEST = 900  # greatest depth in splits, since RankLib reads them by recursion


def _node(split: ElementTree.Element) -> Node:
    """Return a leaf or an inner node; a missing value takes the side of 0."""
    if split.find("output") is not None:
        return Node(value=float(number_array([split.findtext("output")])[0]))
    first, second = split.findall("split")
    children = {first.get("pos"): first, second.get("pos"): second}
    threshold = single_number(split.findtext("threshold"))
    return Node(
        feature_count(split.findtext("feature")) - 1,
        threshold,
        threshold >= 0.0,
        children=(children["left"], children["right"]),
    )


def _read_tree(element: ElementTree.Element) -> Forest:
    return weighed(tree_of(element.find("split"), _node), single_number(element.get("weight")), np.float64)


@register("ranklib")
class RankLib(PluginFormat):
    """Read RankLib's trees and linear models; write trees as LambdaMART's."""

    title = "RankLib's text (model/ranklib of the plug-ins for Elasticsearch and OpenSearch)"
    writes = reads = True
    sums = "float32"

    def recognises(self, content: bytes) -> bool:
        """Return whether the content begins with a comment of `##`; Python code of CatBoost begins with `###`."""
        return re.match(rb"\s*##(?!#)", content) is not None

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel | LinearModel:
        """Return the model of a file; raises FormatFault."""
        text = content.decode()
        head = re.match(r"(?:\s*##[^\n]*\n)+", text)
        kind = text.lstrip().split("\n", 1)[0].lstrip("# ").strip()
        if head is None or kind not in (*TREES, ASCENT, REGRESSION):
            raise FormatFault(
                f"a model of {', '.join((*TREES, ASCENT, REGRESSION))}", shown(kind), remedy="Train one of these."
            )
        if kind not in TREES:
            return _linear(text, kind == REGRESSION, names)
        line = head[0].count("\n") + 1
        try:
            ensembles = list(ElementTree.fromstring(f"<models>{text[head.end() :]}</models>"))
        except ElementTree.ParseError as error:
            row, column = error.position
            raise FormatFault("XML", f"{str(error).partition(':')[0]} at column {column + 1}", line + row - 1) from None
        if kind != "Random Forests" and len(ensembles) > 1:
            raise FormatFault("one ensemble", str(len(ensembles)), line)
        trees = [tree for ensemble in ensembles for tree in each_tree(ensemble, _read_tree)]
        n_features = max(len(names or ()), 1, *(int(tree.feature.max(initial=0)) + 1 for tree in trees))
        exact = len(ensembles) == 1 and all(single_number(tree.get("weight")) == 1.0 for tree in ensembles[0])
        return TreeModel(
            joined_trees(trees, n_features, np.float32 if exact else np.float64),
            n_features,
            divisor=float(len(ensembles)),
        )

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the text of a model, each tag on its line."""
        refuse_missing_direction(summed(model, "ranklib"), "ranklib")
        return ("## LambdaMART\n\n" + "\n".join(_ensemble_lines(model)) + "\n").encode()

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the text of a linear model: a linear regression if it has a constant, else coordinate ascent."""
        kind, start = (REGRESSION, [f"0:{decimal(model.constant)}"]) if model.constant else (ASCENT, [])
        weights = [f"{number}:{decimal(weight)}" for number, weight in enumerate(model.weights, 1)]
        return f"## {kind}\n{' '.join(start + weights)}\n".encode()


def _ensemble_lines(model: TreeModel) -> list[str]:
    """Return the lines of the element `ensemble`, one tag each; a constant is written as the last tree."""
    forest = model.forest
    values = single(forest.leaf_value)

    def leaf(index: int) -> list[str]:
        return [f"<output> {decimal(values[index])} </output>"]

    def node(index: int, depth: int, left: list[str], right: list[str]) -> list[str]:
        lines = [
            f"<feature> {int(forest.feature[index]) + 1} </feature>",
            f"<threshold> {decimal(forest.threshold[index])} </threshold>",
        ]
        for side, child in (("left", left), ("right", right)):
            lines += [f'<split pos="{side}">', *child, "</split>"]
        return lines

    trees = [["<split>", *lines, "</split>"] for lines in nested(forest, leaf, node, DEEPEST, "ranklib")]
    if model.constant:
        trees.append(["<split>", f" <output> {decimal(float(single(model.constant)))} </output>", "</split>"])
    lines = ["<ensemble>"]
    for number, tree in enumerate(trees, 1):
        lines += [f' <tree id="{number}" weight="1.0">', *(f"  {line}" for line in tree), " </tree>"]
    return [*lines, "</ensemble>"]


def _linear(text: str, has_constant: bool, names: tuple[str, ...] | None) -> LinearModel:
    """Return the model of a line of `feature:weight`; raises FormatFault."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    content = [(number, line) for number, line in lines if not line.lstrip().startswith("##")]
    if len(content) != 1:
        raise FormatFault("one line of weights", f"{len(content)} lines")
    (line, pairs), weights = content[0], dict[int, float]()
    for pair in pairs.split():
        feature, colon, weight = pair.partition(":")
        known = re.fullmatch(r"0|[1-9][0-9]{0,8}", feature) and (feature != "0" or has_constant)
        if not colon or not known or int(feature) > MOST_FEATURES:
            raise FormatFault(f"feature:weight, features from {0 if has_constant else 1}", shown(pair), line)
        if int(feature) in weights:
            raise FormatFault("each feature once", f"{feature} again", line)
        weights[int(feature)] = float(number_array([weight])[0])
    constant = weights.pop(0, 0.0)
    if not weights:
        raise FormatFault("weights of features", "none", line)
    features = range(1, max(len(names or ()), *weights) + 1)
    return LinearModel(tuple(weights.get(feature, 0.0) for feature in features), constant=constant)
