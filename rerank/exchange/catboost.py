"""CatBoost's JSON (`save_model(format="json")`) of oblivious trees, in which all nodes of one depth share a test.

Values and borders are float32; `x > border` sets a bit of the leaf's number, the first split the lowest one. Leaf
values and sums are float64; the score is scale * sum + bias. Leaf values are read times the scale. A category is
identified by the lower half of the CityHash64 (version 1.0) of its text, "7" for 7. A split of one category
(OneHotFeature) sets the bit of rows that have it, and is read if the category is a whole number below 65536. Splits of
statistics of categories (OnlineCtr) are refused: their borders are on shares of training rows, of several features at
once, and not on the values of a feature.
"""

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import (
    Splits,
    at_most,
    each_tree,
    feature_count,
    joined_trees,
    leaf_tree,
    number_array,
    split_tree,
)
from rerank.exchange.registry import Format, FormatFault, TreeModel, register
from rerank.runtime.json_text import parse_json
from rerank.trees.forest import MOST_CATEGORIES, Forest
from rerank.types import Ints

FLOAT = "FloatFeature"
ONE_HOT = "OneHotFeature"
BINARY = b"CBM1"  # begins a .cbm file


@register("catboost")
class CatBoost(Format):
    """Read CatBoost's JSON."""

    title = "CatBoost's JSON of oblivious trees"
    reads = True

    def recognises(self, content: bytes) -> bool:
        """Return whether the content is CatBoost's JSON, or its binary form, which `read` refuses."""
        return content.startswith(BINARY) or (content.lstrip().startswith(b"{") and b'"features_info"' in content)

    def content_of(self, estimator: object) -> bytes | TreeModel | None:
        """Return the JSON of a fitted model of CatBoost's."""
        if type(estimator).__module__.partition(".")[0] != "catboost" or not hasattr(estimator, "save_model"):
            return None
        from catboost import CatBoostError

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.json")
            try:
                estimator.save_model(path, format="json")
            except CatBoostError as error:
                reason = str(error).rpartition(": ")[2]  # without the source line that CatBoost puts in front
                raise FormatFault(
                    "a model that CatBoost saves as JSON", shown(reason), remedy="Train the model again on numbers."
                ) from None
            return Path(path).read_bytes()

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        if content.startswith(BINARY):
            raise FormatFault(
                "CatBoost's JSON", "its binary form", remedy="Save the model with save_model(path, format='json')."
            )
        stored = parse_json(content)
        if "oblivious_trees" not in stored and "trees" in stored:
            raise FormatFault(
                "oblivious trees", "others", remedy="Train the model again with grow_policy=SymmetricTree."
            )
        info = stored["features_info"]
        floats = info.get("float_features") or []
        categorical = info.get("categorical_features") or []
        names_of = {
            int(feature["flat_feature_index"]): str(feature.get("feature_name") or feature.get("feature_id") or "")
            for feature in floats + categorical
        }
        n_features = feature_count(max(names_of, default=0) + 1)
        scale, bias = stored.get("scale_and_bias") or (1.0, 0.0)
        biases = np.ravel(bias or 0.0)  # one bias for each score
        if len(biases) > 1:
            raise FormatFault("one score", str(len(biases)), remedy="Train a model with one score.")
        trees = each_tree(stored["oblivious_trees"], lambda raw: _tree(raw, floats, categorical))
        with np.errstate(over="ignore", invalid="ignore"):  # refused as scores beyond float32
            forest = joined_trees(trees, n_features).scaled(float(number_array([scale], 1)[0]))
        column_names = tuple(names_of.get(column, "") for column in range(n_features))
        return TreeModel(
            forest,
            n_features,
            column_names if all(column_names) else None,
            float(number_array(biases, 1)[0]),
        )


def _tree(raw: Any, floats: list[Any], categorical: list[Any]) -> Forest:
    """Return a tree; `floats` and `categorical` describe the features of the file; raises FormatFault."""
    splits = raw.get("splits") or []
    values = number_array(raw["leaf_values"], 1 << len(splits))
    counts = number_array(raw.get("leaf_weights") or [0.0] * len(values), len(values))
    if not splits:
        return leaf_tree(float(values[0]))
    feature, border, missing_left, sets = map(
        list, zip(*(_split(split, floats, categorical) for split in splits), strict=True)
    )
    depth = np.arange((1 << len(splits)) - 1)
    level = len(splits) - np.frexp((depth + 1).astype(np.float64))[1]  # the root tests the last split
    n_nodes = len(depth)
    is_set = np.array([categories is not None for categories in sets])[level]
    first, second = (np.where(child < n_nodes, child, ~(child - n_nodes)) for child in (2 * depth + 1, 2 * depth + 2))
    splits = Splits(
        np.array(feature)[level],
        at_most(np.array(border))[level],
        np.array(missing_left)[level],
        {node: sets[level[node]] for node in np.flatnonzero(is_set).tolist()},
    )
    left, right = np.where(is_set, (second, first), (first, second))
    return split_tree(splits, left, right, values, leaf_count=counts)


def _split(split: Any, floats: list[Any], categorical: list[Any]) -> tuple[int, float, bool, Ints | None]:
    """Return feature, border, whether missing values go left, and the categories that go left (None for numbers)."""
    kind = split.get("split_type", FLOAT) if isinstance(split, dict) else split
    if kind == FLOAT:
        feature = floats[split["float_feature_index"]]
        border = float(number_array([split["border"]])[0])
        return int(feature["flat_feature_index"]), border, feature.get("nan_value_treatment") != "AsTrue", None
    if kind != ONE_HOT:
        raise FormatFault(
            f"splits of numbers or of one category ({FLOAT}, {ONE_HOT})",
            shown(kind),
            remedy="Train the model again with one_hot_max_size of at least the number of categories and "
            "max_ctr_complexity=1, or without cat_features.",
        )
    value = int(split["value"]) % 2**32
    if value not in _codes_by_hash():
        raise FormatFault(
            f"categories from 0 to {MOST_CATEGORIES - 1}",
            f"another (hash {value})",
            remedy="Train it on the numbers of the categories, as int.",
        )
    feature = categorical[split["cat_feature_index"]]
    return int(feature["flat_feature_index"]), 0.0, False, np.array(_codes_by_hash()[value])


@cache
def _codes_by_hash() -> dict[int, list[int]]:
    """Return the codes by their hash; codes with the same hash are one category to CatBoost."""
    codes: dict[int, list[int]] = {}
    for code in range(MOST_CATEGORIES):
        codes.setdefault(_city_hash(str(code).encode()) % 2**32, []).append(code)
    return codes


def _city_hash(text: bytes) -> int:
    """Return CityHash64 (version 1.0) of 1 to 8 bytes."""
    size = len(text)
    k2 = 0x9AE16A3B2F90404F
    k3 = 0xC949D7C7509E6557
    k_mul = 0x9DDFEA08EB382D69
    if size < 4:
        mixed = (text[0] + (text[size >> 1] << 8)) * k2 % 2**64 ^ (size + (text[-1] << 2)) * k3 % 2**64
        return (mixed ^ mixed >> 47) * k2 % 2**64
    u = size + (int.from_bytes(text[:4], "little") << 3)
    v = int.from_bytes(text[-4:], "little")
    a = (u ^ v) * k_mul % 2**64
    b = (v ^ a ^ a >> 47) * k_mul % 2**64
    return (b ^ b >> 47) * k_mul % 2**64
