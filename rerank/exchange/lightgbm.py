"""LightGBM's text file, which `Booster.save_model` writes.

Values are float64 and `x <= threshold` goes left; of a category, the members of a bit set go left, and missing values
right. A node's `decision_type` says what is missing: nothing (a NaN is read as 0), 0 as well as NaN, or NaN; and where
the missing goes. LightGBM reads a value of size up to 1e-35 as 0.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import log, shown
from rerank.exchange.build import (
    Floats32,
    Sets,
    Splits,
    at_most,
    categories_of,
    each_tree,
    feature_count,
    first_number_of,
    joined_trees,
    leaf_tree,
    node_counts,
    number_array,
    split_tree,
    whole_counts,
    wholes,
    with_constant,
)
from rerank.exchange.registry import Format, FormatFault, TreeModel, cannot_say, register
from rerank.rankers.imported_trees import saved_name
from rerank.runtime.fields import SchemaError, first_repeated
from rerank.runtime.json_text import check_nesting
from rerank.trees.categories import CategoryValues
from rerank.trees.forest import MOST_ROWS, WORD_BITS, Forest, set_members
from rerank.types import Floats, Ints, pointers
from rerank.types.ranking_data import FINE

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
        _warn_of_rounding(header.get("feature_infos", "").split(), feature_names)
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
    names = tuple(map(saved_name, model.feature_names or ()))
    repeated = first_repeated(names)
    for number, name in enumerate(names):
        if re.search(r"[\s\",:\[\]{}]", name) or number == repeated:
            raise cannot_say(
                "lightgbm",
                'feature names that hold no tab and none of ",:[]{}, and that differ when blanks are written as _',
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

    The file lists them by category column. Its parameters say which columns these are; without them, they are the
    columns with a list of codes: each category column that a tree could split on has one.
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
        fields = [CategoryValues().read(column) for column in json.loads(line) or ()]
    except (UnicodeDecodeError, ValueError, TypeError, SchemaError):
        raise FormatFault(
            "lists of values behind pandas_categorical", shown(text[:40].decode(errors="replace"))
        ) from None
    known = [max(map(int, infos[column].split(":"))) if ":" in infos[column] else -1 for column in columns]
    fits = len(fields) == len(columns) and all(code < len(field) for code, field in zip(known, fields, strict=True))
    return dict(zip(columns, fields, strict=True)) if fits else {}


def _warn_of_rounding(infos: Sequence[str], names: Sequence[str]) -> None:
    """Warn of features whose range in training is too narrow for float32 to tell its values apart."""
    for number, info in enumerate(infos):
        found = re.fullmatch(r"\[([^:]+):([^:]+)\]", info)
        ends = np.array(found.groups() if found else (0, 0), dtype=np.float64)
        low, high = ends.tolist()
        if high - low < FINE * max(-low, high) and (at_most(ends) != ends).any():
            log.warning(
                "lightgbm: feature %s from %r to %r is rounded here, in float32, and scores differ. Subtract a "
                "constant from it, and train again.",
                shown(names[number]) if names else number + 1,
                low,
                high,
            )


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


def _tree(fields: Mapping[str, str], zero: set[int], not_zero: set[int]) -> Forest:
    """Return a tree; add its features to those with 0 as missing, or as a value that goes elsewhere."""
    if fields.get("is_linear", "0") != "0":
        raise FormatFault("constant leaves", "linear ones (linear_tree)", remedy="Train without linear_tree.")
    values = number_array(fields["leaf_value"].split(), int(fields["num_leaves"]))
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
    threshold = number_array(fields["threshold"].split(), n_nodes)  # inf: all that is there
    gain = number_array(fields["split_gain"].split(), n_nodes) if "split_gain" in fields else None
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
        sets[node] = categories_of(np.flatnonzero(np.unpackbits(of_node.view(np.uint8), bitorder="little")))
    return sets


def _limits(threshold: Floats) -> Floats32:
    """Return thresholds for values that are not made 0 first where their size is up to 1e-35."""
    limits = at_most(threshold)
    near_zero = np.where(threshold >= 0.0, ZERO_SIZE, np.nextafter(-ZERO_SIZE, np.float32(-np.inf)))
    return np.where(np.abs(limits) <= ZERO_SIZE, near_zero, limits)


def _tree_text(tree: Forest, number: int, zero_missing: Ints) -> str:
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
