"""Solr's MultipleAdditiveTreesModel and LinearModel.

Solr passes each member of the JSON to its setter without conversion: numbers of trees are text, `isNullSameAsZero` is
true or false. Solr knows `isNullSameAsZero` and missing values since 9.2; older versions refuse the exported trees.
Feature values, thresholds, leaf values and sums are float32. Solr tests `x <= float32(threshold + 1e-6)`: the written
threshold is chosen so that the addition gives exactly the model's threshold.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import log, shown
from rerank.exchange.build import (
    Floats32,
    Node,
    decimal,
    each_tree,
    joined_trees,
    neighbours,
    nested,
    single,
    single_number,
    summed,
    tree_of,
    weighed,
)
from rerank.exchange.lightgbm import ZERO_SIZE
from rerank.exchange.model_stores import SOLR_MODELS
from rerank.exchange.registry import Format, FormatFault, LinearModel, TreeModel, cannot_say, compact_json, register
from rerank.runtime.json_text import parse_json
from rerank.trees.forest import Forest
from rerank.types import numbered_names

CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
LINEAR = "org.apache.solr.ltr.model.LinearModel"
SLACK = np.float32(1e-6)
ZEROS = (ZERO_SIZE, np.nextafter(ZERO_SIZE, np.float32(1.0)))  # sizes of LightGBM's thresholds beside 0, as imported
BELOW_ZERO = np.nextafter(-SLACK, np.float32(-1.0)) + SLACK  # the greatest sum of a float32 and SLACK that is below 0
TRIES = 64  # neighbours of threshold - 1e-6 on each side
DEEPEST = 400
_SIDES = ("left", "right")


@register("solr")
class Solr(Format):
    """Read and write Solr's trees and linear models."""

    title = "Solr's MultipleAdditiveTreesModel and LinearModel"
    writes = reads = True
    sums = "float32"
    by_name = True

    def recognises(self, content: bytes) -> bool:
        """Return whether the content is an object that names a class of Solr's models."""
        return content.lstrip().startswith(b"{") and SOLR_MODELS in content

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel | LinearModel:
        """Return the model of a file; raises FormatFault."""
        stored = parse_json(content)
        kind = stored["class"]
        if kind not in (CLASS, LINEAR):
            raise FormatFault(f"{CLASS} or {LINEAR}", shown(kind), remedy="Train one of these.")
        params = stored["params"]
        features = tuple(_feature(feature) for feature in stored["features"])
        if len(set(features)) < len(features) or not features:
            raise FormatFault("at least one feature, each once", "no feature, or a repeated one")
        if kind == LINEAR:
            return LinearModel(tuple(_number(params["weights"][name]) for name in features), features)
        null_is_zero = str(params.get("isNullSameAsZero", "true")).lower() != "false"
        columns = {name: column for column, name in enumerate(features)}

        def read(raw: Any) -> Forest:
            return weighed(
                tree_of(raw["root"], lambda node: _node(node, columns, null_is_zero)), _number(raw["weight"])
            )

        trees = each_tree(params["trees"], read)
        return TreeModel(joined_trees(trees, len(features), np.float32), len(features), features)

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the object for the model store of Solr 9.2 or later."""
        forest = summed(model, "solr").forest
        names = model.feature_names or numbered_names(model.n_features)
        roots = _roots(forest, names, without_slack(forest.threshold, forest.feature, names))
        if model.constant:
            roots.append({"value": decimal(float(single(model.constant)))})
        params = {"isNullSameAsZero": False, "trees": [{"weight": "1", "root": root} for root in roots]}
        return _content(CLASS, name, names, params)

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the object of a LinearModel without the constant, which does not change the order of documents."""
        names = model.feature_names or numbered_names(len(model.weights))
        return _content(LINEAR, name, names, {"weights": dict(zip(names, model.weights, strict=True))})


def without_slack(thresholds: Floats32, features: NDArray[np.int32], names: tuple[str, ...]) -> Floats32:
    """Return thresholds t with float32(t + 1e-6) equal to each threshold, (n,) float32.

    LightGBM's zeros are numbers from -1e-35 to 1e-35. These thresholds, which most of its models have, are written as 0
    and, with a warning, as the greatest sum below 0.

    Raises InvalidInputError if there is no such t: below 16, the gaps of float32 are smaller than 1e-6, and near a
    power of 2 the sum may skip a number.
    """
    of_zero = np.isin(np.abs(thresholds), ZEROS)
    below_zero = of_zero & (thresholds < 0.0)
    thresholds = np.where(below_zero, BELOW_ZERO, np.where(of_zero, np.float32(0.0), thresholds))
    if below_zero.any():
        log.warning(
            "solr: numbers from %.1e to 0 are read as 0, not as less: of features %s",
            BELOW_ZERO,
            ", ".join(shown(names[feature]) for feature in np.unique(features[below_zero])),
        )
    with np.errstate(over="ignore"):
        adjusted = (thresholds.astype(np.float64) - float(SLACK)).astype(np.float32)
        below = above = adjusted
        for _ in range(TRIES):
            below = neighbours(below, -np.inf)
            above = neighbours(above, np.inf)
            for candidate in (below, above):
                adjusted = np.where(adjusted + SLACK == thresholds, adjusted, candidate)
        wrong = np.flatnonzero(adjusted + SLACK != thresholds)
    if len(wrong):
        raise cannot_say(
            "solr",
            "thresholds that are a float32 plus 1e-6, which Solr adds",
            f"{thresholds[wrong[0]]!s} of feature {names[int(features[wrong[0]])]}",
            "Multiply the feature by 1,000 or more in the recipe and train again, or choose another format.",
        )
    return adjusted


def _content(kind: str, name: str, names: tuple[str, ...], params: Mapping[str, Any]) -> bytes:
    return compact_json(
        {"class": kind, "name": name, "features": [{"name": feature} for feature in names], "params": params}
    )


def _roots(forest: Forest, names: tuple[str, ...], limits: Floats32) -> list[dict[str, Any]]:
    values = single(forest.leaf_value)

    def leaf(index: int) -> dict[str, Any]:
        return {"value": decimal(values[index])}

    def node(index: int, depth: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {
            "feature": names[int(forest.feature[index])],
            "threshold": decimal(limits[index]),
            "missing": _SIDES[0] if forest.missing_left[index] else _SIDES[1],
            "left": left,
            "right": right,
        }

    return nested(forest, leaf, node, DEEPEST, "solr")


def _node(node: Any, columns: Mapping[str, int], null_is_zero: bool) -> Node:
    if "feature" not in node:
        return Node(value=_number(node["value"]))
    limit = np.float32(_number(node["threshold"])) + SLACK
    side = node.get("missing")
    if side not in (*_SIDES, None) or (side is None and not null_is_zero):
        raise FormatFault("missing as left or right", shown(side))
    missing_left = bool(limit >= 0.0) if side is None else side == _SIDES[0]
    return Node(columns[node["feature"]], float(limit), missing_left, children=(node["left"], node["right"]))


def _feature(stored: Any) -> str:
    """Return the name of a feature; refuse one with a normaliser, which would change the feature's values."""
    norm = stored.get("norm")
    if norm is not None and not norm["class"].endswith(".IdentityNormalizer"):
        raise FormatFault(
            "features without a normaliser", f"norm of {shown(stored['name'])}", remedy="Train on values as they are."
        )
    return str(stored["name"])


def _number(value: Any) -> float:
    """Return a number as Java's Float.parseFloat reads it: text may end in f or F."""
    return single_number(value.strip().rstrip("fF") if isinstance(value, str) else value)
