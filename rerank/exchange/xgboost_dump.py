"""XGBoost's dump of trees in JSON (`Booster.get_dump(dump_format="json")`), which search engines read.

The plug-ins for Elasticsearch and OpenSearch (`model/xgboost+json`) take an object with `objective` and `splits`.
`x < split_condition` goes to `yes`; values and sums are float32. A dump has no base score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import MOST_FEATURES, joined, numbers
from rerank.exchange.nested import Leaf, Node, check_depth, nested, tree_of
from rerank.exchange.ranklib import rescore
from rerank.exchange.registry import Format, FormatFault, TreeModel, WriteOptions, register
from rerank.exchange.single import single, summed, with_tests_below
from rerank.exchange.structured import member, parsed
from rerank.exchange.thresholds import less_than
from rerank.rankers.arrays import numbered_names
from rerank.trees.forest import Forest, Tree

DEEPEST = 200  # splits: each is two brackets, and readers of JSON allow from 500 to 1,000
_NUMBERED, _NUMBER = re.compile(r"f(0|[1-9][0-9]{0,5})"), re.compile(r"[1-9][0-9]{0,5}")


@register("xgboost-dump")
class XGBoostDump(Format):
    """Read XGBoost's dump in JSON, and write it for search engines."""

    title = "XGBoost's JSON dump (model/xgboost+json of the plug-ins for Elasticsearch and OpenSearch)"
    writes = reads = True
    sums = "float32"
    adds_first_score = by_name = True

    def recognises(self, content: bytes) -> bool:
        """Return whether there are nodes with numbers, and no learner."""
        start = content.lstrip()[:1]
        return start in (b"[", b"{") and b'"nodeid"' in content and b'"learner"' not in content

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        stored = parsed(content)
        zero = isinstance(stored, Mapping) and stored.get("missing_as_zero") is True
        raw = member(stored, "splits", list) if isinstance(stored, Mapping) else stored
        if not isinstance(raw, list):
            raise FormatFault("a list of trees", shown(raw))
        features = _Features(names)
        trees: list[Tree] = []
        for number, root in enumerate(raw, 1):
            try:
                trees.append(tree_of(root, lambda node: _read(node, features, zero)))
            except FormatFault as fault:
                raise fault.within(f"tree {number}") from None
        stored_names, column, is_ordered = features.ordered()
        trees = [Tree(**{**vars(tree), "feature": column[tree.feature].astype(np.int32)}) for tree in trees]
        forest, n_features = joined(trees, len(stored_names), np.float32), len(stored_names)
        has_names = stored_names != numbered_names(n_features)
        return TreeModel(forest, n_features, stored_names if has_names else None, is_ordered=is_ordered)

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return an object of the trees; a constant is a tree of one leaf."""
        # all versions of the plug-ins know this objective, whose scores are raw; older ones do not know rank:ndcg
        content = {"objective": "rank:pairwise", "splits": dumped_trees(model, "xgboost-dump")}
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()

    def query(self, options: WriteOptions, base_field: str | None) -> dict[str, Any] | None:
        """Return the rescoring request of the plug-ins."""
        return rescore(options, base_field)


def dumped_trees(model: TreeModel, format: str) -> list[dict[str, Any]]:
    """Return the trees of a model as nested nodes; `format` is what messages say cannot hold it."""
    forest = with_tests_below(summed(model, format).forest)
    check_depth(forest, DEEPEST, format)
    names = model.feature_names or numbered_names(model.n_features)
    limits, values = forest.threshold.astype(float).tolist(), single(forest.leaf_value).tolist()
    trees = [_dumped(forest, tree, names, limits, values) for tree in range(forest.n_trees)]
    if model.constant:
        trees.insert(0, {"nodeid": 0, "leaf": float(single(np.array([model.constant]))[0])})
    return trees


class _Features:
    """The columns of feature names, in the order in which they are met."""

    def __init__(self, names: tuple[str, ...] | None) -> None:
        self._given = names
        self._columns = {name: column for column, name in enumerate(names or ())}

    def column(self, name: str) -> int:
        if name not in self._columns:
            if self._given is not None and _NUMBERED.fullmatch(name):
                self._columns[name] = int(name[1:])
            elif self._given is not None:
                raise FormatFault("features among the names given", shown(name), remedy="Name all of them.")
            else:
                self._columns[name] = len(self._columns)
        return self._columns[name]

    def ordered(self) -> tuple[tuple[str, ...], Any, bool]:
        """Return the feature names, the column of each feature number, and whether the order is that of training.

        f0, f1, ... and 1, 2, ... are ordered by their numbers. Other names do not say their order.
        """
        if self._given is not None:
            return self._given, np.arange(MOST_FEATURES), True
        known = tuple(self._columns)
        for pattern, first in ((_NUMBERED, 0), (_NUMBER, 1)):
            if known and all(map(pattern.fullmatch, known)):
                columns = np.array([int(name.lstrip("f")) - first for name in known])
                return numbered_names(int(columns.max()) + 1), columns, True
        return known or ("1",), np.arange(max(len(known), 1)), len(known) < 2


def _read(node: Any, features: _Features, zero: bool) -> Leaf | Node:
    if isinstance(node, Mapping) and "leaf" in node:
        return Leaf(float(_single("leaf", node["leaf"])), float(_single("cover", node.get("cover", 0.0))))
    children = {_id(child): child for child in member(node, "children", list)}
    yes, no, missing = (member(node, key, int) for key in ("yes", "no", "missing"))
    if len(children) != 2 or len(node["children"]) != 2 or {yes, no} != set(children) or missing not in (yes, no):
        got = f"yes {shown(yes)}, no {shown(no)}, missing {shown(missing)}"
        raise FormatFault("two children that yes and no name, one of them missing", got)
    threshold = float(less_than(_single("split_condition", member(node, "split_condition")))[()])
    missing_left = bool(threshold >= 0.0) if zero else missing == yes
    return Node(features.column(member(node, "split", str)), threshold, missing_left, children[yes], children[no])


def _id(node: Any) -> int:
    number: int = member(node, "nodeid", int)
    return number


def _single(what: str, value: Any) -> Any:
    if isinstance(value, str):
        raise FormatFault(f"{what} as a number", shown(value))
    with np.errstate(over="ignore"):
        single_value = numbers(what, [value], 1).astype(np.float32)
    if not np.isfinite(single_value[0]):
        raise FormatFault(f"{what} as float32", shown(value))
    return single_value[0]


def _dumped(
    forest: Forest, tree: int, names: tuple[str, ...], limits: list[float], values: list[float]
) -> dict[str, Any]:
    first, n_nodes = int(forest.node_ptr[tree]), int(forest.node_ptr[tree + 1] - forest.node_ptr[tree])
    first_leaf = int(forest.leaf_ptr[tree])

    def leaf(index: int, depth: int) -> dict[str, Any]:
        return {"nodeid": n_nodes + index - first_leaf, "leaf": values[index]}

    def node(index: int, depth: int, yes: dict[str, Any], no: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeid": index - first,
            "depth": depth,
            "split": names[int(forest.feature[index])],
            "split_condition": limits[index],
            "yes": yes["nodeid"],
            "no": no["nodeid"],
            "missing": (yes if forest.missing_left[index] else no)["nodeid"],
            "children": [yes, no],
        }

    return nested(forest, tree, leaf, node)
