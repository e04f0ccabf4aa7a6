"""XGBoost's model file in JSON or UBJSON, and its dump of trees in JSON, which search engines read.

Values, thresholds, leaf values and sums are float32; `x < threshold` goes left; categories in the set of a split go
right; NaN is missing, and so is a feature that a sparse row does not list. DART multiplies the values of a tree by its
weight. In a model file (`Booster.save_model`), the sum begins with the base score and adds the trees in their order. An
estimator, and a file that one wrote, uses the trees up to its best iteration, a Booster all. An estimator may read a
number as missing, too. A dump (`Booster.get_dump(dump_format="json")`) has no base score and no weights of DART;
`x < split_condition` goes to `yes`. The plug-ins for Elasticsearch and OpenSearch (`model/xgboost+json`)
take an object with `objective` and `splits`, Vespa's `xgboost("NAME.json")` the list of trees, whose features are
Vespa's rank features.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rerank.errors import log, shown
from rerank.exchange.build import (
    Node,
    Sets,
    Splits,
    categories_of,
    each_tree,
    feature_count,
    first_number_of,
    flat_children,
    flat_tree,
    joined_trees,
    known_counts,
    leaf_tree,
    neighbours,
    nested,
    node_counts,
    number_array,
    single,
    single_number,
    summed,
    tree_of,
    weighed,
    wholes,
    with_tests_below,
)
from rerank.exchange.model_stores import PluginFormat
from rerank.exchange.registry import (
    Format,
    FormatFault,
    TreeModel,
    cannot_say,
    compact_json,
    register,
)
from rerank.exchange.ubjson import parse_ubjson
from rerank.runtime.json_text import parse_json
from rerank.trees.categories import CategoryValues
from rerank.trees.forest import Forest, set_members
from rerank.types import CONTENTS, Floats, Ints, numbered_names, pointers

IDENTITY = (  # beginnings of objectives whose base score is a score
    *("rank:", "reg:linear", "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror"),
    *("reg:absoluteerror", "reg:quantileerror", "binary:logitraw", "binary:hinge"),
)
DEEPEST = 200  # splits: each is two brackets, and readers of JSON allow from 500 to 1,000


@register("xgboost")
class XGBoost(Format):
    """Read XGBoost's JSON and UBJSON, and write its JSON."""

    title = "XGBoost's JSON model (also read: UBJSON)"
    writes = reads = categories = True
    sums = "float32"

    def recognises(self, content: bytes) -> bool:
        """Return whether an object with a learner begins the content."""
        if content.startswith(b"{L"):
            return b"learner" in content[:64]
        parts = (b'"learner"', b'"gradient_booster"', b'"model"')  # the last is not in a configuration (save_config)
        return content.lstrip().startswith(b"{") and all(part in content for part in parts)

    def content_of(self, estimator: Any) -> bytes | TreeModel | None:
        """Return the model of a Booster or of a fitted estimator of XGBoost's."""
        if type(estimator).__module__.partition(".")[0] != "xgboost":
            return None
        is_estimator = hasattr(estimator, "get_booster")
        booster = estimator.get_booster() if is_estimator else estimator
        if not hasattr(booster, "save_raw"):
            return None
        model = _model(parse_ubjson(bytes(booster.save_raw("ubj"))), is_estimator)
        missing = getattr(estimator, "missing", None)
        missing_value = np.array([np.nan if missing is None else missing], dtype=np.float32)
        return replace(model, missing_values=tuple(missing_value[~np.isnan(missing_value)].tolist()))

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        return _model(parse_ubjson(content) if content.startswith(b"{L") else parse_json(content), False)

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the JSON of a model; XGBoost sums its leaf values in float32."""
        forest = with_tests_below(summed(model, "xgboost").forest)
        given = model.feature_names or ()
        names = [] if given == numbered_names(model.n_features) else list(given)  # XGBoost asks for no numbers
        for name in names:
            if set(name) & set("[]<"):
                raise cannot_say("xgboost", "feature names without [, ] and <", shown(name), "Rename it.")
        forest = replace(forest, leaf_count=known_counts(forest, "xgboost"))
        trees = [_stored_tree(tree, number, model.n_features) for number, tree in enumerate(forest.trees())]
        learner = {
            "attributes": {},
            "feature_names": names,
            "feature_types": ["c" if column in forest.categories else "float" for column in range(len(names))],
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": list(range(len(trees) + 1)),
                    "tree_info": [0] * len(trees),
                    "trees": trees,
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": str(np.float32(model.constant)),  # XGBoost 2 reads 0.5 where there are more digits
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(model.n_features),
                "num_target": "1",
            },
            "objective": {"lambdarank_param": {}, "name": "rank:ndcg"},
        }
        return compact_json({"learner": learner, "version": [3, 0, 0]})


def _model(stored: Any, is_estimator: bool) -> TreeModel:
    """Return the model of a file's content, or of an estimator's; raises FormatFault."""
    learner = stored["learner"]
    parameters = learner["learner_model_param"]
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise FormatFault(
            "the booster gbtree or dart", shown(booster["name"]), remedy="Train the model again with booster=gbtree."
        )
    for key in ("num_class", "num_target"):
        if int(parameters.get(key, 1)) > 1:
            raise FormatFault(
                f"{key} of at most 1", shown(parameters[key]), remedy="Only models of one score can rank."
            )
    n_features = feature_count(parameters["num_feature"])
    model = booster["model"] if booster["name"] == "gbtree" else booster["gbtree"]["model"]
    trees = each_tree(_trees(model, learner.get("attributes") or {}, is_estimator), _tree)
    if booster["name"] == "dart":
        weights = number_array(booster["weight_drop"])[: len(trees)].tolist()
        trees = [weighed(tree, weight) for tree, weight in zip(trees, weights, strict=True)]
    base = _base(parameters["base_score"], learner["objective"]["name"])
    if base:
        trees.insert(0, leaf_tree(float(base)))
    forest = joined_trees(trees, n_features, np.float32)
    return TreeModel(
        forest,
        n_features,
        tuple(learner.get("feature_names") or ()) or None,
        category_values=_category_values(model, n_features),
        unlisted_missing=True,
        first_number=first_number_of(forest),
    )


def _category_values(model: Any, n_features: int) -> dict[int, list[Any]]:
    """Return the values of the category columns of the frame of training, by column; files before 3.1 have none."""
    values = {}
    for column, encoded in enumerate(((model.get("cats") or {}).get("enc") or [])[:n_features]):
        codes = encoded["values"]
        if "offsets" in encoded:  # texts, one after the other; XGBoost 3.2 cuts them where a letter has several bytes
            letters = bytes(wholes(codes).astype(np.uint8))
            codes = (
                [letters[a:b].decode() for a, b in pairwise(wholes(encoded["offsets"]).tolist())]
                if letters.isascii()
                else []
            )
        if codes:
            values[column] = CategoryValues().read(codes)
    return values


def _trees(model: Any, attributes: Any, is_estimator: bool) -> list[Any]:
    """Return the trees that `predict` of the model's owner uses: those of an estimator end with its best iteration."""
    trees: list[Any] = model["trees"]
    if "best_iteration" not in attributes:
        return trees
    best = int(attributes["best_iteration"])
    last = (best + 1) * max(int(model["gbtree_model_param"].get("num_parallel_tree", 1)), 1)
    if is_estimator or "scikit_learn" in attributes:  # which XGBoost's estimators write
        return trees[:last]
    if last < len(trees):
        log.warning(
            "xgboost: all %d trees are used, as by Booster.predict; the best iteration is %d, up to which "
            "XGBRanker.predict uses them. Import booster[: %d] for these.",
            len(trees),
            best,
            best + 1,
        )
    return trees


def _base(text: object, objective: str) -> np.float32:
    """Return what the sum begins with: the base score before the objective's transformation, a float32."""
    value = np.float32(single_number(text.strip("[]") if isinstance(text, str) else text))
    if objective.startswith(IDENTITY):
        return value
    if objective in ("binary:logistic", "reg:logistic") and 0.0 < value < 1.0:  # it is a probability
        return -np.float32(math.log(np.float32(1.0) / value - np.float32(1.0)))  # of C: NumPy's last place differs
    if objective in ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft") and value > 0.0:
        return np.float32(math.log(value))
    raise FormatFault(
        "an objective of one score whose base score is known", f"{shown(objective)} with base_score {shown(text)}"
    )


def _tree(raw: Any) -> Forest:
    if str(raw["tree_param"].get("size_leaf_vector", "1")) not in ("0", "1"):
        raise FormatFault("leaves of one value", "vectors", remedy="Train the model again without it.")
    left = wholes(raw["left_children"])
    n_nodes = len(left)
    right, feature, kind, default_left = (
        wholes(raw[key], n_nodes) for key in ("right_children", "split_indices", "split_type", "default_left")
    )
    gain, count = (number_array(raw.get(key) or [0.0] * n_nodes, n_nodes) for key in ("loss_changes", "sum_hessian"))
    with np.errstate(over="ignore"):
        value = number_array(raw["split_conditions"], n_nodes).astype(np.float32).astype(np.float64)
    is_leaf = left < 0
    sets = _sets(raw, np.flatnonzero((kind > 0) & ~is_leaf))
    is_set = np.isin(np.arange(n_nodes), list(sets))
    children = np.where(is_set, right, left), np.where(is_set, left, right)
    splits = Splits(feature, neighbours(value, -np.inf), (default_left > 0) ^ is_set, sets)
    return flat_tree(is_leaf, splits, children, value, gain, count)  # pruning leaves others behind


def _sets(raw: Any, nodes: Ints) -> Sets:
    """Return the categories of the nodes that test some."""
    if not len(nodes):
        return {}
    listed = categories_of(raw["categories"])
    keys = ("categories_nodes", "categories_segments", "categories_sizes")
    columns = zip(*(wholes(raw[key]).tolist() for key in keys), strict=True)
    parts = {node: listed[first : first + size] for node, first, size in columns}
    return {node: parts[node] for node in nodes.tolist()}


def _stored_tree(tree: Forest, number: int, n_features: int) -> dict[str, Any]:
    order, left, right, parents = _siblings(*(side.tolist() for side in flat_children(tree)))
    values = single(tree.leaf_value)
    node_count, leaf_count = node_counts(tree)
    of_node, category = set_members(tree)
    is_set = np.isin(order, of_node)
    sets = [category[of_node == node] for node in order[is_set].tolist()]
    zeros = np.zeros(len(values))

    def column(of_nodes: Any, of_leaves: Floats = zeros) -> Floats:
        return np.concatenate([of_nodes, of_leaves])[order]

    return {
        "base_weights": column(np.zeros(len(tree.feature)), values).tolist(),
        "categories": [category for members in sets for category in members.tolist()],
        "categories_nodes": np.flatnonzero(is_set).tolist(),
        "categories_segments": pointers([len(members) for members in sets])[:-1].tolist(),
        "categories_sizes": [len(members) for members in sets],
        "default_left": column(tree.missing_left).astype(int).tolist(),
        "id": number,
        "left_children": left,
        "loss_changes": single(column(np.clip(tree.gain, -1e38, 1e38))).tolist(),
        "parents": parents,
        "right_children": right,
        "split_conditions": column(tree.threshold, values).tolist(),
        "split_indices": column(tree.feature).astype(int).tolist(),
        "split_type": is_set.astype(int).tolist(),
        "sum_hessian": single(column(node_count, leaf_count)).tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(order)),
            "size_leaf_vector": "1",
        },
    }


def _siblings(left: list[int], right: list[int]) -> tuple[Ints, list[int], list[int], list[int]]:
    """Return nodes and leaves from the root down, siblings side by side as XGBoost needs them, with their links.

    left, right  as `flat_children` numbers them
    """
    order = [0]
    parents = [2**31 - 1]  # of the root
    lefts: list[int] = []
    for index, node in enumerate(order):
        lefts.append(len(order) if node < len(left) else -1)
        if node < len(left):
            order += [left[node], right[node]]
            parents += [index, index]
    return np.array(order, dtype=np.int64), lefts, [child + 1 if child >= 0 else -1 for child in lefts], parents


_NUMBERED = r"f(0|[1-9][0-9]{0,5})"


@register("xgboost-dump")
class XGBoostDump(PluginFormat):
    """Read XGBoost's dump in JSON, and write it for search engines."""

    title = "XGBoost's JSON dump (model/xgboost+json of the plug-ins for Elasticsearch and OpenSearch)"
    writes = reads = True
    sums = "float32"
    by_name = True

    def recognises(self, content: bytes) -> bool:
        """Return whether there are nodes with numbers, and no learner."""
        return content.lstrip()[:1] in (b"[", b"{") and b'"nodeid"' in content and b'"learner"' not in content

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        stored = parse_json(content)
        zero = isinstance(stored, dict) and stored.get("missing_as_zero") is True
        features: dict[Any, int] = {}  # numbers in the order in which they are met
        trees = each_tree(
            stored["splits"] if isinstance(stored, dict) else stored,
            lambda root: tree_of(root, lambda node: _read(node, features, zero)),
        )
        stored_names, column, is_ordered, from_zero = _columns(tuple(features), names)
        trees = [replace(tree, feature=column[tree.feature].astype(np.int32)) for tree in trees]
        forest = joined_trees(trees, len(stored_names), np.float32)
        return TreeModel(
            forest,
            len(stored_names),
            None if stored_names == numbered_names(len(stored_names)) else stored_names,
            is_ordered=is_ordered,
            unlisted_missing=not zero,
            first_number=first_number_of(forest) if from_zero else 1,
        )

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return an object of the trees; a constant is a tree of one leaf."""
        # all versions of the plug-ins know this objective, whose scores are raw; older ones do not know rank:ndcg
        return compact_json({"objective": "rank:pairwise", "splits": dumped_trees(model, "xgboost-dump")})


def dumped_trees(model: TreeModel, format: str) -> list[dict[str, Any]]:
    """Return the trees of a model as nested nodes; `format` is what messages say cannot hold it."""
    forest = with_tests_below(summed(model, format).forest)
    names = model.feature_names or numbered_names(model.n_features)
    limits = forest.threshold.astype(float).tolist()
    values = single(forest.leaf_value).tolist()
    n_nodes = np.diff(forest.node_ptr)
    node_ids = (np.arange(len(limits)) - np.repeat(forest.node_ptr[:-1], n_nodes)).tolist()
    leaf_ids = (np.arange(len(values)) + np.repeat(n_nodes - forest.leaf_ptr[:-1], n_nodes + 1)).tolist()

    def leaf(index: int) -> dict[str, Any]:
        return {"nodeid": leaf_ids[index], "leaf": values[index]}

    def node(index: int, depth: int, yes: dict[str, Any], no: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeid": node_ids[index],
            "depth": depth,
            "split": names[int(forest.feature[index])],
            "split_condition": limits[index],
            "yes": yes["nodeid"],
            "no": no["nodeid"],
            "missing": (yes if forest.missing_left[index] else no)["nodeid"],
            "children": [yes, no],
        }

    trees = nested(forest, leaf, node, DEEPEST, format)
    if model.constant:
        trees.insert(0, {"nodeid": 0, "leaf": float(single(model.constant))})
    return trees


def _columns(known: tuple[Any, ...], names: tuple[str, ...] | None) -> tuple[tuple[str, ...], Ints, bool, bool]:
    """Return the names of the columns, the column of each known feature, and two truth values.

    The first says whether these are the columns of training, the second whether the numbers in the names begin at 0.

    known  the features of the trees; f0, f1, ... and 1, 2, ... are ordered by their numbers, other names do not say
           their order
    names  of the columns in the order of training
    """
    for name in known:
        if names is not None and name not in names and not re.fullmatch(_NUMBERED, name):
            raise FormatFault("features among the names given", shown(name), remedy="Name all of them.")
    if names is not None:
        of_name = {name: column for column, name in enumerate(names)}
        columns = [of_name[name] if name in of_name else int(name[1:]) for name in known]
        return names, np.array(columns, dtype=np.int64), True, False
    for pattern, first in ((_NUMBERED, 0), (r"[1-9][0-9]{0,5}", 1)):
        if known and all(re.fullmatch(pattern, name) for name in known):
            numbered = np.array([int(name.lstrip("f")) - first for name in known])
            return numbered_names(int(numbered.max()) + 1), numbered, True, first == 0
    return known or ("1",), np.arange(len(known)), len(known) < 2, False


def _read(node: Any, features: dict[Any, int], zero: bool) -> Node:
    if "leaf" in node:
        return Node(value=single_number(node["leaf"]), rows=float(node.get("cover", 0.0)))
    condition = node.get("split_condition")
    if condition is None or isinstance(condition, list):  # a dump leaves out which side of type i is which
        kind = "type i (a binary feature)" if condition is None else "categories"
        raise FormatFault(
            "splits of numbers, by split_condition",
            f"one of {kind} on {shown(node['split'])}",
            remedy="Save the model with save_model('model.json'), or name binary features q in the feature map.",
        )
    first, second = node["children"]
    children = {first["nodeid"]: first, second["nodeid"]: second}
    yes = node["yes"]
    no = node["no"]
    missing = node["missing"]
    if {yes, no} != set(children) or missing not in (yes, no):
        raise FormatFault(
            "two children that yes and no name, one of them missing",
            f"yes {shown(yes)}, no {shown(no)}, missing {shown(missing)}",
        )
    threshold = float(neighbours(single_number(condition), -np.inf))
    return Node(
        features.setdefault(node["split"], len(features)),
        threshold,
        bool(threshold >= 0.0) if zero else missing == yes,
        children=(children[yes], children[no]),
    )


@register("vespa")
class Vespa(Format):
    """Write trees for Vespa; `xgboost-dump` reads them."""

    title = "Vespa's models of XGBoost's dump"
    writes = True
    sums = "float32"
    adds_first_score = by_name = True

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return a list of trees, for the folder `models` of an application."""
        return compact_json(dumped_trees(model, "vespa"))

    def query(self, name: str, start: str) -> dict[str, Any]:
        """Return the phases of a rank profile: the trees are added to the first phase's BM25."""
        return {
            "first-phase": {"expression": f"bm25({start.partition('.')[2] or CONTENTS})"},
            "second-phase": {"expression": f'firstPhase + xgboost("{name}.json")', "rerank-count": 1000},
        }
