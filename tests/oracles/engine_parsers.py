"""What search engines refuse when a model is uploaded: the members, types and checks of their parsers' source code.

Each function raises AssertionError, with the place, where its engine would refuse the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TEXT, NUMBER, WHOLE, FLAG, OBJECT, LIST = str, float, int, bool, dict, list


def _members(where: str, value: Any, types: Mapping[str, type], needed: tuple[str, ...] = ()) -> None:
    """An object with no other members than these, each of its type; a whole number is a number, true is neither."""
    assert type(value) is dict, f"{where}: no object: {value!r}"
    assert set(value) <= set(types), f"{where}: unknown {set(value) - set(types)}"
    assert set(needed) <= set(value), f"{where}: without {set(needed) - set(value)}"
    for name, each in value.items():
        allowed = (int, float) if types[name] is NUMBER else (types[name],)
        assert type(each) in allowed, f"{where}.{name}: expected {types[name].__name__}, got {each!r}"


def solr(content: bytes) -> None:
    """LTRScoringModel, LinearModel and MultipleAdditiveTreesModel of Solr 9.2, through SolrPluginUtils.invokeSetters.

    A setter is found by its name and called by reflection: text for setters of text or of a number given as text (the
    overload for float takes no Double), true or false for boolean, any object where the setter takes Object.
    """
    stored = json.loads(content)
    model = {"class": TEXT, "name": TEXT, "features": LIST, "params": OBJECT, "store": TEXT}
    _members("model", stored, model, ("class", "name", "features", "params"))
    names = [feature["name"] for feature in stored["features"]]
    for feature in stored["features"]:
        _members("feature", feature, {"name": TEXT, "norm": OBJECT}, ("name",))
    assert names, "no features declared for model"
    assert len(set(names)) == len(names), "duplicated feature"
    if stored["class"] == "org.apache.solr.ltr.model.LinearModel":
        _members("params", stored["params"], {"weights": OBJECT}, ("weights",))
        _members("weights", stored["params"]["weights"], dict.fromkeys(names, NUMBER), tuple(names))
        return
    assert stored["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    _members("params", stored["params"], {"trees": LIST, "isNullSameAsZero": FLAG}, ("trees",))
    for tree in stored["params"]["trees"]:
        _members("tree", tree, {"weight": TEXT, "root": OBJECT}, ("weight", "root"))
        float(tree["weight"])
        _solr_node(tree["root"], set(names), not stored["params"].get("isNullSameAsZero", True))


def _solr_node(node: Any, names: set[str], has_missing: bool) -> None:
    split = {"feature": TEXT, "threshold": TEXT, "missing": TEXT, "left": OBJECT, "right": OBJECT}
    if "feature" not in node:
        _members("leaf", node, {"value": TEXT})
        float(node["value"])
        return
    _members("node", node, {**split, "value": TEXT}, (*split,) if has_missing else ("threshold", "left", "right"))
    float(node["threshold"])
    assert node["feature"] in names, "a feature that is not in the vector scores 0"
    assert node.get("missing", "left") in ("left", "right")
    for side in ("left", "right"):
        _solr_node(node[side], names, has_missing)


PLUGIN_OBJECTIVES = {"binary:logitraw", "rank:pairwise", "reg:linear"}  # raw ones, of every version of the plug-ins
_DUMPED = {"nodeid": WHOLE, "depth": WHOLE, "split": TEXT, "split_condition": NUMBER, "yes": WHOLE, "no": WHOLE}
_DUMPED |= {"missing": WHOLE, "leaf": NUMBER, "children": LIST}


def plugins(content: bytes, names: tuple[str, ...]) -> None:
    """XGBoostJsonParser of the plug-ins for Elasticsearch and OpenSearch, whose ObjectParser is strict."""
    stored = json.loads(content)
    _members("model", stored, {"objective": TEXT, "splits": LIST, "missing_as_zero": FLAG}, ("splits",))
    assert stored.get("objective", "rank:pairwise") in PLUGIN_OBJECTIVES
    assert stored["splits"], "XGBoost model must define at lease one tree"
    for tree in stored["splits"]:
        _plugin_node(tree, names)


def _plugin_node(node: Any, names: tuple[str, ...]) -> None:
    if "leaf" in node:
        _members("leaf", node, _DUMPED, ("nodeid",))
        return
    _members("split", node, _DUMPED, ("nodeid", "split_condition", "split", "yes", "no", "depth", "children"))
    assert [child["nodeid"] for child in node["children"]] == [node["yes"], node["no"]]
    assert node.get("missing", node["yes"]) in (node["yes"], node["no"])
    assert node["split"] in names, "Unknown feature"
    for child in node["children"]:
        _plugin_node(child, names)


def vespa(content: bytes) -> None:
    """XGBoostParser and XGBoostTree of Vespa: Jackson refuses unknown members; a node without children is a leaf."""
    stored = json.loads(content)
    assert type(stored) is list
    waiting = [*stored]
    while waiting:
        node = waiting.pop()
        _members("node", node, _DUMPED)
        assert ("leaf" in node) != ("children" in node)
        if "children" in node:
            _members("split", node, _DUMPED, ("split", "split_condition", "yes", "no", "missing"))
            assert {child["nodeid"] for child in node["children"]} == {node["yes"], node["no"]}
            assert len(node["children"]) == 2
            waiting += node["children"]


def elasticsearch(content: bytes) -> None:
    """The strict parsers of Elastic's TrainedModelConfig, LearningToRankConfig, Ensemble, Tree and TreeNode."""
    stored = json.loads(content)
    body = {"inference_config": OBJECT, "input": OBJECT, "definition": OBJECT}
    _members("body", stored, body, (*body,))
    _members("input", stored["input"], {"field_names": LIST}, ("field_names",))
    rank = stored["inference_config"]["learning_to_rank"]
    _members("learning_to_rank", rank, {"feature_extractors": LIST}, ("feature_extractors",))
    extracted = []
    for entry in rank["feature_extractors"]:
        _members("extractor", entry, {"query_extractor": OBJECT}, ("query_extractor",))
        query = {"feature_name": TEXT, "query": OBJECT, "default_score": NUMBER}
        _members("query_extractor", entry["query_extractor"], query, ("feature_name", "query"))
        extracted.append(entry["query_extractor"]["feature_name"])
    ensemble = stored["definition"]["trained_model"]["ensemble"]
    parts = {"feature_names": LIST, "target_type": TEXT, "trained_models": LIST, "aggregate_output": OBJECT}
    _members("ensemble", ensemble, parts, ("feature_names", "trained_models", "target_type"))
    assert len(set(extracted)) == len(extracted), "query extractors have unique names"
    assert set(extracted) <= set(ensemble["feature_names"])
    _members("aggregate_output", ensemble["aggregate_output"], {"weighted_sum": OBJECT}, ("weighted_sum",))
    for model in ensemble["trained_models"]:
        _members("trained_model", model, {"tree": OBJECT}, ("tree",))
        structure = {"feature_names": LIST, "target_type": TEXT, "tree_structure": LIST}
        _members("tree", model["tree"], structure, (*structure,))
        _elastic_tree(model["tree"]["tree_structure"], len(ensemble["feature_names"]))


def _elastic_tree(nodes: list[Any], n_features: int) -> None:
    inner = {"decision_type": TEXT, "threshold": NUMBER, "left_child": WHOLE, "right_child": WHOLE}
    inner |= {"default_left": FLAG, "split_feature": WHOLE}
    reached = [0]
    for node in nodes:
        types = {**inner, "node_index": WHOLE, "split_gain": NUMBER, "leaf_value": NUMBER, "number_samples": WHOLE}
        _members("node", node, types, ("node_index", "number_samples"))
        assert node["number_samples"] > 0, "feature importance divides by it"
        if "left_child" in node:
            _members("split", node, types, (*inner,))
            assert node["decision_type"] in ("lt", "lte", "gt", "gte")
            assert 0 <= node["split_feature"] < n_features
            below = [node["left_child"], node["right_child"]]
            assert node["number_samples"] == sum(nodes[child]["number_samples"] for child in below)
            reached += below
        else:
            assert "leaf_value" in node, "[leaf_value] is required for a leaf node."
    assert sorted(reached) == list(range(len(nodes)))
