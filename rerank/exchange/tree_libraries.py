"""Files of libraries of trees: LightGBM's text, CatBoost's JSON, and ONNX.

LightGBM's text is what `Booster.save_model` writes. Values are float64 and `x <= threshold` goes left; of a category,
the members of a bit set go left, and missing values right. A node's `decision_type` says what is missing: nothing (a
NaN is read as 0), 0 as well as NaN, or NaN; and where the missing goes. LightGBM reads a value of size up to 1e-35 as
0.

CatBoost's JSON (`save_model(format="json")`) is read for oblivious trees, whose nodes of one depth share a test. Values
and borders are float32; `x > border` sets a bit of the leaf's number, the first split the lowest one. Leaf values and
sums are float64; the score is scale * sum + bias, and leaf values are read times the scale. A category is known by the
lower half of the CityHash64 (version 1.0) of its text, "7" for 7. A split of one category (OneHotFeature) sets the bit
of rows that have it, and is read where the category is a whole number below 65536. Splits of statistics of categories
(OnlineCtr) are refused: their borders are on shares of training rows, of several features at once, and not on the
values of a feature.

ONNX is a TreeEnsembleRegressor of domain ai.onnx.ml 3, written with the library `onnx`. Input `X` (rows, features)
float32, made float64 inside, so that the leaf values are summed in float64; output `scores` (rows, 1) is float32.
`x <= threshold` (BRANCH_LEQ) is the true branch, which a missing value may track.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.exchange.build import (
    Floats32,
    Sets,
    Splits,
    at_most,
    categories_of,
    each_tree,
    feature_count,
    first_number_of,
    flat_children,
    joined_trees,
    leaf_tree,
    node_counts,
    numbers,
    split_tree,
    summed,
    whole_counts,
    wholes,
    with_constant,
)
from rerank.exchange.registry import (
    Format,
    FormatFault,
    TreeModel,
    cannot_say,
    register,
)
from rerank.rankers.imported import stored_name
from rerank.runtime.codec import SchemaError, check_nesting, parse_json
from rerank.trees.categories import CategoryValues
from rerank.trees.forest import MOST_CATEGORIES, MOST_ROWS, WORD_BITS, Forest, Tree, set_members
from rerank.types import Floats, Ints, pointers

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type; the next two are the kind of missing value
NONE, ZERO, NAN = range(3)  # kinds of missing value
ZERO_SIZE = np.float32(1e-35)  # kZeroThreshold
FRAME = b"\npandas_categorical:"  # begins the last line of a model of a data frame


@register("lightgbm")
class LightGBM(Format):
    """Read and write LightGBM's text file."""

    title = "LightGBM's text file"
    writes = reads = categories = writes_values = True

    def recognises(self, content: bytes) -> bool:
        """Return whether the first line is `tree`."""
        return content.startswith((b"tree\n", b"tree\r\n"))

    def content_of(self, estimator: object) -> bytes | TreeModel | None:
        """Return the text of a Booster or of a fitted estimator of LightGBM's."""
        booster = getattr(estimator, "booster_", estimator)
        if type(booster).__module__.partition(".")[0] != "lightgbm" or not hasattr(booster, "model_to_string"):
            return None
        return str(booster.model_to_string()).encode()

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a text file; raises FormatFault."""
        header, *sections = _sections(content)
        n_features = feature_count(int(header["max_feature_idx"]) + 1)
        for key in ("num_class", "num_tree_per_iteration"):
            if header.get(key, "1").strip() != "1":
                raise FormatFault(f"{key}=1", shown(header[key]), remedy="Only models of one score can rank.")
        zero: set[int] = set()  # features with 0 as missing at some node, and with 0 as a value where it matters
        not_zero: set[int] = set()
        trees = each_tree(sections, lambda fields: _tree(fields, zero, not_zero))
        if zero & not_zero:
            raise FormatFault(
                "zero_as_missing for all splits of a feature or for none",
                f"both for feature {min(zero & not_zero)}",
                remedy="Train the model again with one setting.",
            )
        feature_names = tuple(filter(None, header.get("feature_names", "").split(" ")))  # other white space is in them
        if feature_names == tuple(f"Column_{index}" for index in range(n_features)):
            feature_names = ()  # LightGBM's names for columns that had none
        forest = joined_trees(trees, n_features)
        return TreeModel(
            forest,
            n_features,
            feature_names or None,
            divisor=float(len(trees)) if "average_output" in header else 1.0,
            zero_missing=np.array(sorted(zero), dtype=np.int64),
            category_values=_category_values(content, header),
            # "none" where the first column was constant in training
            first_number=0 if header.get("feature_infos", "").startswith("none ") else first_number_of(forest),
        )

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the text of a model; `predict` gives its scores in float64."""
        return model_text(model).encode()


def model_text(model: TreeModel) -> str:
    """Return the text of a model."""
    names = tuple(map(stored_name, model.feature_names or ()))
    for name in names:
        if re.search(r"[\s\",:\[\]{}]", name) or names.count(name) > 1:
            raise cannot_say(
                "lightgbm",
                "feature names without tabs and JSON's signs that differ with _ for blanks",
                shown(name),
                "Rename it.",
            )
    forest = model.forest
    if model.divisor != 1.0 and (model.constant or model.divisor != model.forest.n_trees):
        raise cannot_say("lightgbm", "a mean over the trees without a constant", "another model")
    lines = [
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0",
        f"max_feature_idx={model.n_features - 1}\nobjective=lambdarank",
        *(["average_output"] if model.divisor != 1.0 else []),
        f"feature_names={' '.join(names)}",
        f"feature_infos={' '.join(_infos(forest, model.n_features))}",
    ]
    all_trees = with_constant(replace(forest, leaf_count=whole_counts(forest, "lightgbm")).trees(), model.constant)
    trees = [_tree_text(tree, number, model.zero_missing) for number, tree in enumerate(all_trees)]
    if not trees:
        raise cannot_say("lightgbm", "at least one tree", "none", "Train the model with more trees.")
    lines.append(f"tree_sizes={' '.join(str(len(tree)) for tree in trees)}\n\n")
    values = [model.category_values[column] for column in sorted(model.category_values)]
    end = f"end of trees\n{FRAME.decode()}{json.dumps(values)}\n" if values else "end of trees\n"
    return "\n".join(lines) + "".join(trees) + end


def _category_values(content: bytes, header: Mapping[str, str]) -> dict[int, list[Any]]:
    """Return the values of the category columns of the data frame that the model was trained on, by column.

    The file lists them by category column. Which columns these are its parameters say; else they are those with a list
    of codes, which a column has that a tree could split on.
    """
    _, found, text = content.rpartition(FRAME)
    if not found:
        return {}
    infos = header.get("feature_infos", "").split()
    named = re.search(rb"\n\[categorical_feature: (\d+(?:,\d+)*)\]", content)
    columns = [column for column, info in enumerate(infos) if info != "none" and not info.startswith("[")]
    columns = columns if named is None else [int(column) for column in named[1].split(b",")]
    try:
        line = text.decode().strip().partition("\n")[0]
        check_nesting(line)
        values = json.loads(line)
        fields = [CategoryValues().read(column, {}) for column in values or ()]
    except (UnicodeDecodeError, ValueError, TypeError, SchemaError):
        raise FormatFault(
            "lists of values behind pandas_categorical", shown(text[:40].decode(errors="replace"))
        ) from None
    known = [max(map(int, infos[column].split(":"))) if ":" in infos[column] else -1 for column in columns]
    fits = len(fields) == len(columns) and all(code < len(field) for code, field in zip(known, fields, strict=True))
    return dict(zip(columns, fields, strict=True)) if fits else {}


def _infos(forest: Forest, n_features: int) -> list[str]:
    """Return the range of each feature, or its categories; refuse missing ones that do not go right."""
    infos = ["[-1e308:1e308]"] * n_features
    node, category = set_members(forest)
    if forest.missing_left[node].any():
        raise cannot_say(
            "lightgbm", "missing categories that go where unknown ones go", "others", "Export it as xgboost."
        )
    for feature in forest.categories.tolist():
        infos[feature] = ":".join(map(str, np.unique(category[forest.feature[node] == feature]).tolist()))
    return infos


def _sections(content: bytes) -> list[dict[str, str]]:
    """Return the `key=value` lines of the header and of each tree, until the line behind them."""
    text = content.decode()
    # the line of version 3 and later, and that of older ones
    end = re.search(r"^(?:end of trees|feature importances:)\r?$", text, re.MULTILINE)
    if end is None:
        raise FormatFault("the line `end of trees`", "a file that breaks off", len(text.splitlines()))
    sections = re.split(r"^Tree=", text[: end.start()], flags=re.MULTILINE)
    return [dict(line.partition("=")[::2] for line in section.splitlines()) for section in sections]


def _tree(fields: Mapping[str, str], zero: set[int], not_zero: set[int]) -> Tree:
    """Return a tree; add its features to those with 0 as missing, or as a value that goes elsewhere."""
    if fields.get("is_linear", "0") != "0":
        raise FormatFault("constant leaves", "linear ones (linear_tree)", remedy="Train without linear_tree.")
    values = numbers(fields["leaf_value"].split(), int(fields["num_leaves"]))
    if len(values) == 1:
        return leaf_tree(float(values[0]))
    n_nodes = len(values) - 1
    kinds = wholes(fields["decision_type"].split(), n_nodes)
    if not (kinds.min() >= 0 and kinds.max() < 12):
        raise FormatFault("a decision_type from 0 to 11", "another kind of missing value")
    is_set = (kinds & CATEGORICAL) > 0
    feature, left, right = (
        wholes(fields[key].split(), n_nodes) for key in ("split_feature", "left_child", "right_child")
    )
    threshold = numbers(fields["threshold"].split(), n_nodes)  # inf: all that is there
    gain = numbers(fields["split_gain"].split(), n_nodes) if "split_gain" in fields else None
    counts = wholes(fields["leaf_count"].split(), len(values), MOST_ROWS) if "leaf_count" in fields else None
    n_rows = (
        float(wholes(fields["internal_count"].split(), n_nodes, MOST_ROWS)[0]) if "internal_count" in fields else 0.0
    )
    limits = _limits(threshold)
    kind = kinds >> 2
    missing_left = (kinds & DEFAULT_LEFT) > 0
    zero_left = limits >= 0.0
    zero.update(feature[~is_set & (kind == ZERO)].tolist())
    not_zero.update(feature[~is_set & (kind == NAN) & (zero_left != missing_left)].tolist())
    missing_left = np.where(kind == NONE, zero_left, missing_left) & ~is_set
    sets = _sets(fields, threshold, np.flatnonzero(is_set)) if is_set.any() else {}
    return split_tree(Splits(feature, limits, missing_left, sets), left, right, values, gain, counts, n_rows)


def _sets(fields: Mapping[str, str], number: Floats, nodes: Ints) -> Sets:
    """Return the categories of some nodes, whose thresholds are the numbers of their sets."""
    words = wholes(fields["cat_threshold"].split(), most=2**WORD_BITS - 1).astype("<u4")
    ends = wholes(fields["cat_boundaries"].split())
    if ends[0] != 0 or ends[-1] != len(words) or (np.diff(ends) < 0).any():
        raise FormatFault(f"cat_boundaries that rise from 0 to {len(words)}", "others")
    sets = {}
    for node, number_of_set in zip(nodes.tolist(), wholes(number[nodes]).tolist(), strict=True):
        of_node = words[ends[number_of_set] : ends[number_of_set + 1]]
        members = np.flatnonzero(np.unpackbits(of_node.view(np.uint8), bitorder="little"))
        sets[node] = categories_of(members)
    return sets


def _limits(threshold: Floats) -> Floats32:
    """Return thresholds for values that are not made 0 first where their size is up to 1e-35."""
    limits = at_most(threshold)
    near_zero = np.where(threshold >= 0.0, ZERO_SIZE, np.nextafter(-ZERO_SIZE, np.float32(-np.inf)))
    return np.where(np.abs(limits) <= ZERO_SIZE, near_zero, limits)


def _tree_text(tree: Tree, number: int, zero_missing: Ints) -> str:
    words = np.zeros(len(tree.feature), dtype=np.int64) if tree.category_words is None else tree.category_words
    is_set = words > 0
    lines = [f"Tree={number}", f"num_leaves={len(tree.leaf_value)}", f"num_cat={is_set.sum()}"]
    if len(tree.feature):
        kind = np.where(np.isin(tree.feature, zero_missing) & ~is_set, ZERO, NAN)
        inner, counts = (counts.astype(np.int64) for counts in node_counts(tree))
        lines += [
            f"split_feature={_joined(tree.feature)}",
            f"split_gain={_joined(tree.gain)}",
            f"threshold={_joined(np.where(is_set, np.cumsum(is_set) - 1.0, tree.threshold))}",
            f"decision_type={_joined((kind << 2) + DEFAULT_LEFT * tree.missing_left + CATEGORICAL * is_set)}",
            f"left_child={_joined(tree.left)}",
            f"right_child={_joined(tree.right)}",
            f"leaf_count={_joined(counts)}",  # pred_contrib reads the counts
            f"internal_count={_joined(inner)}",
        ]
    if tree.category_bits is not None:
        lines += [
            f"cat_boundaries={_joined(pointers(words[is_set]))}",
            f"cat_threshold={_joined(tree.category_bits)}",
        ]
    return "\n".join(
        [*lines, f"leaf_value={_joined(tree.leaf_value.astype(float))}", "is_linear=0", "shrinkage=1", "", "", ""]
    )


def _joined(values: NDArray[Any]) -> str:
    return " ".join(map(str, values.tolist()))


FLOAT = "FloatFeature"
ONE_HOT = "OneHotFeature"
BINARY = b"CBM1"  # begins a .cbm file


@register("catboost")
class CatBoost(Format):
    """Read CatBoost's JSON."""

    title = "CatBoost's JSON of oblivious trees"
    reads = True

    def recognises(self, content: bytes) -> bool:
        """Return whether an object of CatBoost's trees begins the content."""
        return content.startswith(BINARY) or (content.lstrip().startswith(b"{") and b'"features_info"' in content)

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
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise FormatFault(
                    "numbers and categories", kind.replace("_", " "), remedy="Train the model again on numbers."
                )
        floats = info.get("float_features") or []
        categorical = info.get("categorical_features") or []
        names_of = {
            int(feature["flat_feature_index"]): str(feature.get("feature_name") or feature.get("feature_id") or "")
            for feature in floats + categorical
        }
        n_features = feature_count(max(names_of, default=0) + 1)
        scale, bias = stored.get("scale_and_bias") or (1.0, 0.0)
        biases = np.ravel(bias or 0.0)  # one of each score
        if len(biases) > 1:
            raise FormatFault("one score", str(len(biases)), remedy="Only models of one score can rank.")
        trees = each_tree(stored["oblivious_trees"], lambda raw: _catboost_tree(raw, floats, categorical))
        with np.errstate(over="ignore", invalid="ignore"):  # refused as scores beyond float32
            forest = joined_trees(trees, n_features).scaled(float(numbers([scale], 1)[0]))
        column_names = tuple(names_of.get(column, "") for column in range(n_features))
        return TreeModel(
            forest,
            n_features,
            column_names if all(column_names) else None,
            float(numbers(biases, 1)[0]),
        )


def _catboost_tree(raw: Any, floats: list[Any], categorical: list[Any]) -> Tree:
    """Return a tree over the features of the file, of numbers and of categories; raises FormatFault."""
    splits = raw.get("splits") or []
    values = numbers(raw["leaf_values"], 1 << len(splits))
    counts = numbers(raw.get("leaf_weights") or [0.0] * len(values), len(values))
    if not splits:
        return leaf_tree(float(values[0]))
    tests = zip(*(_split(split, floats, categorical) for split in splits), strict=True)
    feature, border, missing_left, sets = map(list, tests)
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
    """Return feature, border, whether missing values go left, and the categories that set the bit; they go left."""
    kind = split.get("split_type", FLOAT) if isinstance(split, dict) else split
    if kind == FLOAT:
        feature = floats[split["float_feature_index"]]
        border = float(numbers([split["border"]])[0])
        return int(feature["flat_feature_index"]), border, feature.get("nan_value_treatment") != "AsTrue", None
    if kind != ONE_HOT:
        raise FormatFault(
            f"splits of numbers or of one category ({FLOAT}, {ONE_HOT})",
            shown(kind),
            remedy="Train it with one_hot_max_size of all categories and max_ctr_complexity=1, or without "
            "cat_features.",
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
    """Return the codes of each hash; two may have the same one, and are then one category to CatBoost."""
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


@register("onnx")
class Onnx(Format):
    """Write an ONNX model."""

    title = "ONNX (TreeEnsembleRegressor; needs the package onnx)"
    writes = True

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the bytes of a model."""
        try:
            from onnx import TensorProto, helper
        except ImportError:
            raise InvalidInputError("onnx: expected the package onnx, got none. Run `pip install onnx`.") from None
        summed(model, "onnx")
        attributes = _attributes(model.forest)
        for name in ("nodes_values", "target_weights"):
            values = attributes.pop(name)
            attributes[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)
        if model.constant:
            attributes["base_values_as_tensor"] = helper.make_tensor("base", TensorProto.DOUBLE, [1], [model.constant])
        trees = helper.make_node(
            "TreeEnsembleRegressor",
            ["X64"],
            ["scores"],
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function="SUM",
            post_transform="NONE",
            **attributes,
        )
        cast = helper.make_node("Cast", ["X"], ["X64"], to=TensorProto.DOUBLE)
        X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, model.n_features])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 1])
        graph = helper.make_graph([cast, trees], name, [X], [scores])
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 3)],
            producer_name="rerank",
            ir_version=8,
        )
        helper.set_model_props(made, {f"feature.{index}": name for index, name in enumerate(model.feature_names or ())})
        return bytes(made.SerializeToString())


def _attributes(forest: Forest) -> dict[str, Any]:
    """Return the operator's lists, the nodes of each tree before its leaves."""
    parts: dict[str, list[Any]] = {}
    for number, tree in enumerate(forest.trees()):
        n_nodes = len(tree.feature)
        n_leaves = len(tree.leaf_value)
        zeros = [0] * len(tree.leaf_value)
        left, right = flat_children(tree)
        columns: dict[str, list[Any]] = {
            "nodes_treeids": [number] * (n_nodes + n_leaves),
            "nodes_nodeids": list(range(n_nodes + n_leaves)),
            "nodes_featureids": tree.feature.tolist() + zeros,
            "nodes_values": tree.threshold.astype(np.float64).tolist() + zeros,
            "nodes_modes": ["BRANCH_LEQ"] * n_nodes + ["LEAF"] * n_leaves,
            "nodes_truenodeids": left.tolist() + zeros,
            "nodes_falsenodeids": right.tolist() + zeros,
            "nodes_missing_value_tracks_true": tree.missing_left.astype(int).tolist() + zeros,
            "target_treeids": [number] * n_leaves,
            "target_nodeids": list(range(n_nodes, n_nodes + n_leaves)),
            "target_ids": zeros,
            "target_weights": tree.leaf_value.astype(np.float64).tolist(),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).extend(column)
    return parts
