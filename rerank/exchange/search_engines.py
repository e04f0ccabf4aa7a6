"""Files for search engines: Elastic's trained model, search pipelines of weights, Solr's and RankLib's models.

Elastic's trained model is of the kind learning_to_rank (Elastic's own, licensed feature; not the plug-in). Values,
thresholds and sums are float64, `x <= threshold` goes left, and `default_left` says where a missing value goes.

Learned weights of runs are written as search pipelines, which fuse the results of several queries. Both normalise a
retriever's scores within a query by min-max and add them up with weights; a document that a retriever did not find has
0 there. That is what a fusion learned with `--norm minmax` does, up to the depth of the lists. The only document, and
equal scores, have 1, as in OpenSearch, which gives 0.001 to the lowest of several; Elasticsearch leaves equal scores as
they are.

OpenSearch     a search pipeline with a normalization-processor, for a `hybrid` query (2.10 and later); the weights of
               its queries sum to 1
Elasticsearch  a `linear` retriever (8.18 and later, 9.0 and later), whose retrievers are placeholders to replace

Solr has a MultipleAdditiveTreesModel and a LinearModel. It calls the setter of each member with the value of the JSON
as it is: numbers of trees are text, `isNullSameAsZero` is true or false. Solr has this member, and missing values, from
9.2 on; older versions refuse the exported trees. Values, thresholds, leaf values and sums are float32. Solr tests
`x <= float32(threshold + 1e-6)`: the written threshold is one that gives exactly the model's threshold after this
addition.

RankLib has LambdaMART, MART, random forests, and the linear Coordinate Ascent and Linear Regression. Features are
numbered from 1, thresholds and leaf values are float32, `x <= threshold` goes left, and a missing value is 0. RankLib
sums in float32; where trees have another weight than 1 it multiplies in float64, and scores may differ in the last
digits of float32. Linear models are a line of `feature:weight`, summed in float64; feature 0 of a linear regression is
its constant.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rerank.errors import shown
from rerank.exchange.build import (
    MOST_FEATURES,
    Floats32,
    Node,
    decimal,
    each_tree,
    feature_count,
    flat_children,
    joined_trees,
    neighbours,
    nested,
    node_counts,
    numbers,
    refuse_missing_direction,
    single,
    single_number,
    summed,
    tree_of,
    weighed,
    whole_counts,
    with_constant,
)
from rerank.exchange.registry import (
    ELASTICSEARCH,
    PARAMETER,
    STATIC,
    Format,
    FormatFault,
    LinearModel,
    TreeModel,
    cannot_say,
    compact_json,
    indented_json,
    register,
)
from rerank.rankers.arrays import numbered_names
from rerank.runtime.codec import parse_json
from rerank.trees.forest import Forest, Tree
from rerank.types.retriever import CONTENTS

REMEDY = "Learn it with `rerank fuse --learn QRELS --norm minmax`."
WANTED = "a linear model with weights of at least 0 of min-max normalised scores of runs"
WINDOW = 100  # documents of each retriever: as many as `learn_fusion` learns from; the engine has 10 by default


@register("elasticsearch")
class Elasticsearch(Format):
    """Write the body of `PUT _ml/trained_models/NAME`."""

    title = "Elastic's trained model (learning_to_rank)"
    writes = by_name = True

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the body; a feature that the engine does not compute is the number in a field of its name."""
        forest = summed(model, "elasticsearch").forest
        names = model.feature_names or numbered_names(model.n_features)
        trees = replace(forest, leaf_count=whole_counts(forest, self.name)).trees()
        trained = [
            {
                "tree": {
                    "feature_names": list(names),
                    "target_type": "regression",
                    "tree_structure": _elastic_nodes(tree),
                }
            }
            for tree in with_constant(trees, model.constant)
        ]
        ensemble = {
            "feature_names": list(names),
            "target_type": "regression",
            "trained_models": trained,
            "aggregate_output": {"weighted_sum": {}},
        }
        portable = ELASTICSEARCH.portable(names, recipe)
        queries = {name: name if name in portable else f"{STATIC}.{name}" for name in names}
        extractors = ELASTICSEARCH.entries(queries, ELASTICSEARCH.settings(portable, recipe or {}))
        body = {
            "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
            "input": {"field_names": list(names)},
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
        return compact_json(body)


def _elastic_nodes(tree: Tree) -> list[dict[str, Any]]:
    """Return the nodes of a tree, then its leaves; feature importance divides by their numbers of samples."""
    node_count, leaf_count = (counts.astype(np.int64) for counts in node_counts(tree))
    columns = tree.feature, tree.threshold.astype(np.float64), tree.missing_left, *flat_children(tree), node_count
    stored: list[dict[str, Any]] = [
        {
            "node_index": number,
            "decision_type": "lte",
            "left_child": left,
            "right_child": right,
            "split_feature": feature,
            "threshold": threshold,
            "default_left": missing_left,
            "number_samples": count,
        }
        for number, (feature, threshold, missing_left, left, right, count) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
    leaves = zip(tree.leaf_value.tolist(), leaf_count.tolist(), strict=True)
    return stored + [
        {"node_index": number, "leaf_value": value, "number_samples": count}
        for number, (value, count) in enumerate(leaves, len(stored))
    ]


class _Pipeline(Format):
    """A format of weights of runs."""

    writes = by_name = True
    linear_only = WANTED, REMEDY


@register("opensearch-pipeline")
class OpenSearchPipeline(_Pipeline):
    """Write the body of `PUT _search/pipeline/NAME`."""

    title = "OpenSearch's search pipeline (normalization-processor)"

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the body."""
        weights = _weights(self.name, model)
        total = sum(weights)
        shares = [round(weight / total, 6) for weight in weights]
        largest = shares.index(max(shares))
        shares[largest] = round(shares[largest] + 1.0 - sum(shares), 6)
        combination = {"technique": "arithmetic_mean", "parameters": {"weights": shares}}
        processor = {"normalization": {"technique": "min_max"}, "combination": combination}
        body = {
            "description": f"{name}: weights of the queries of a hybrid query, in the order of the runs",
            "phase_results_processors": [{"normalization-processor": processor}],
        }
        return indented_json(body)


@register("elasticsearch-retriever")
class ElasticsearchRetriever(_Pipeline):
    """Write the body of a search with a linear retriever."""

    title = "Elasticsearch's linear retriever"

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the body; each retriever is a placeholder that matches every document."""
        retrievers: list[dict[str, Any]] = [
            {
                "retriever": {"standard": {"query": {"match_all": {"_name": f"source{number}"}}}},
                "weight": weight,
                "normalizer": "minmax",
            }
            for number, weight in enumerate(_weights(self.name, model), 1)
        ]
        # as many documents of each retriever as `learn_fusion` learns from; the engine's default is 10
        return indented_json({"retriever": {"linear": {"retrievers": retrievers, "rank_window_size": WINDOW}}})


def _weights(name: str, model: LinearModel) -> list[float]:
    """Return the weight of each run; refuse a model of anything but min-max normalised scores of runs."""
    weights: dict[int, float] = {}
    for feature, weight in zip(model.feature_names or (), model.weights, strict=False):
        match = re.fullmatch(r"source(\d+)\.(\w+)", feature)
        if weight and (match is None or match[2] != "minmax"):
            raise cannot_say(name, WANTED, f"one of {feature}", REMEDY)
        if match is not None:
            weights[int(match[1])] = weights.get(int(match[1]), 0.0) + weight
    values = [weights[number] for number in sorted(weights)]
    if not values or min(values) < 0.0 or not max(values) > 0.0:
        raise cannot_say(name, WANTED, "other weights", REMEDY)
    return values


CLASS = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
LINEAR = "org.apache.solr.ltr.model.LinearModel"
SLACK = np.float32(1e-6)
TRIES = 64  # neighbours of threshold - 1e-6 on each side
DEEPEST_SOLR = 400
DEEPEST_RANKLIB = 900  # splits: RankLib reads them by recursion
_SIDES = ("left", "right")


@register("solr")
class Solr(Format):
    """Read and write Solr's trees and linear models."""

    title = "Solr's MultipleAdditiveTreesModel and LinearModel"
    writes = reads = True
    sums = "float32"
    by_name = True

    def recognises(self, content: bytes) -> bool:
        """Return whether a class of Solr's models is named in an object."""
        return content.lstrip().startswith(b"{") and _SOLR_MODELS in content

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel | LinearModel:
        """Return the model of a file; raises FormatFault."""
        stored = parse_json(content)
        kind = stored["class"]
        if kind not in (CLASS, LINEAR):
            raise FormatFault(f"{CLASS} or {LINEAR}", shown(kind), remedy="Train one of these.")
        params = stored["params"]
        features = tuple(_solr_feature(feature) for feature in stored["features"])
        if len(set(features)) < len(features) or not features:
            raise FormatFault("each feature once", "none, or one again")
        if kind == LINEAR:
            return LinearModel(tuple(_number(params["weights"][name]) for name in features), features)
        null_is_zero = str(params.get("isNullSameAsZero", "true")).lower() != "false"
        columns = {name: column for column, name in enumerate(features)}

        def read(raw: Any) -> Tree:
            return weighed(
                tree_of(raw["root"], lambda node: _solr_node(node, columns, null_is_zero)), _number(raw["weight"])
            )

        trees = each_tree(params["trees"], read)
        return TreeModel(joined_trees(trees, len(features), np.float32), len(features), features)

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the object for the model store of Solr 9.2 or later."""
        forest = summed(model, "solr").forest
        names = model.feature_names or numbered_names(model.n_features)
        roots = _solr_roots(forest, names, without_slack(forest.threshold, forest.feature, names))
        if model.constant:
            roots.append({"value": decimal(float(single(model.constant)))})
        params = {"isNullSameAsZero": False, "trees": [{"weight": "1", "root": root} for root in roots]}
        return _content(CLASS, name, names, params)

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the object of a LinearModel; its constant, the same for all documents, is left out."""
        names = model.feature_names or numbered_names(len(model.weights))
        return _content(LINEAR, name, names, {"weights": dict(zip(names, model.weights, strict=True))})


def without_slack(thresholds: Floats32, features: NDArray[np.int32], names: tuple[str, ...]) -> Floats32:
    """Return thresholds t with float32(t + 1e-6) equal to each threshold, (n,) float32.

    Raises InvalidInputError where there is none: float32 has gaps of less than 1e-6 below 16, and near a power of 2 the
    sum may pass over a number.
    """
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
    content = {"class": kind, "name": name, "features": [{"name": feature} for feature in names], "params": params}
    return compact_json(content)


def _solr_roots(forest: Forest, names: tuple[str, ...], limits: Floats32) -> list[dict[str, Any]]:
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

    return nested(forest, leaf, node, DEEPEST_SOLR, "solr")


def _solr_node(node: Any, columns: Mapping[str, int], null_is_zero: bool) -> Node:
    if "feature" not in node:
        return Node(value=_number(node["value"]))
    limit = np.float32(_number(node["threshold"])) + SLACK
    side = node.get("missing")
    if side not in (*_SIDES, None) or (side is None and not null_is_zero):
        raise FormatFault("missing as left or right", shown(side))
    missing_left = bool(limit >= 0.0) if side is None else side == _SIDES[0]
    return Node(columns[node["feature"]], float(limit), missing_left, children=(node["left"], node["right"]))


def _solr_feature(stored: Any) -> str:
    """Return the name of a feature; a normaliser is refused, since values would not be the features'."""
    norm = stored.get("norm")
    if norm is not None and not norm["class"].endswith(".IdentityNormalizer"):
        raise FormatFault(
            "features without a normaliser", f"norm of {shown(stored['name'])}", remedy="Train on values as they are."
        )
    return str(stored["name"])


def _number(value: Any) -> float:
    """Return a number as Java's Float.parseFloat reads it: text may end in f or F."""
    return single_number(value.strip().rstrip("fF") if isinstance(value, str) else value)


def _ranklib_node(split: ElementTree.Element) -> Node:
    """Return a leaf or a node, at which a missing value is read as 0."""
    if split.find("output") is not None:
        return Node(value=float(numbers([split.findtext("output")])[0]))
    first, second = split.findall("split")
    children = {first.get("pos"): first, second.get("pos"): second}
    threshold = single_number(split.findtext("threshold"))
    return Node(
        feature_count(split.findtext("feature")) - 1,
        threshold,
        threshold >= 0.0,
        children=(children["left"], children["right"]),
    )


def _read_tree(element: ElementTree.Element) -> Tree:
    return weighed(tree_of(element.find("split"), _ranklib_node), single_number(element.get("weight")), np.float64)


_SOLR_MODELS = b".ltr.model."
_IN_LISTS = b'"model/', _SOLR_MODELS  # what a list of the plug-ins' or of Solr's models has, and a dump has not
_OF_STORES = b'"definition"', b'"models"', b'"managedList"'  # of the plug-ins, of Solr's answer and of Solr's file


def stored_model(content: bytes) -> tuple[bytes | LinearModel, tuple[str, ...] | None]:
    """Return the model in a request or an answer of an engine's model store, and the names of its feature set, if any.

    Content of another form is returned as it is; raises FormatFault for several models, and for normalised features.
    """
    marks = {b"{": _OF_STORES, b"[": _IN_LISTS}.get(content.lstrip()[:1], ())
    if not any(mark in content for mark in marks):
        return content, None
    stored = several = parse_json(content)
    if isinstance(stored, Mapping):
        hits = stored.get("hits")
        of_hits = hits.get("hits") if isinstance(hits, Mapping) else None
        several = stored.get("models") or stored.get("managedList") or of_hits
    if isinstance(several, list):
        if len(several) != 1:
            found = ", ".join(str(one.get("name", one.get("_id"))) for one in several)
            raise FormatFault("one model", f"{len(several)}: {found}", remedy="Save one of them alone.")
        stored = several[0]
    features = _features_of_set(stored)
    while "definition" not in stored:
        inner = next((stored[key] for key in ("_source", "model") if isinstance(stored.get(key), Mapping)), None)
        if inner is None:
            return (compact_json(stored) if several else content), None
        stored = inner
        features = _features_of_set(stored) or features
    if stored.get("feature_normalizers"):
        raise FormatFault("features without normalisers", "feature_normalizers", remedy="Train on values as they are.")
    definition = stored["definition"]
    names = tuple(str(feature["name"]) for feature in features) or None
    if stored.get("type") == "model/linear":
        weights = parse_json(definition) if isinstance(definition, str) else definition
        ordered = names or tuple(weights)
        return LinearModel(tuple(float(numbers([weights.get(name, 0.0)])[0]) for name in ordered), ordered), names
    return definition.encode() if isinstance(definition, str) else compact_json(definition), names


def _features_of_set(stored: Mapping[str, Any]) -> list[Any]:
    return (stored.get("feature_set") or {}).get("features") or []


TREES = ("LambdaMART", "MART", "Random Forests")
ASCENT = "Coordinate Ascent"
REGRESSION = "Linear Regression"


class PluginFormat(Format):
    """A format of the plug-ins for Elasticsearch and OpenSearch."""

    adds_first_score = True

    def query(self, name: str, start: str) -> dict[str, Any]:
        """Return a search that adds the model's score to the first stage's BM25."""
        return {
            "query": {"match": {start.partition(".")[2] or CONTENTS: "QUERY"}},
            "rescore": {
                "window_size": 1000,
                "query": {
                    "rescore_query": {"sltr": {"model": name, "params": {PARAMETER: "QUERY"}}},
                    "query_weight": 1.0,
                    "rescore_query_weight": 1.0,
                    "score_mode": "total",
                },
            },
        }


@register("ranklib")
class RankLib(PluginFormat):
    """Read RankLib's trees and linear models; write trees as LambdaMART's."""

    title = "RankLib's text (model/ranklib of the plug-ins for Elasticsearch and OpenSearch)"
    writes = reads = True
    sums = "float32"

    def recognises(self, content: bytes) -> bool:
        """Return whether comments of `##` begin the content."""
        return content.lstrip().startswith(b"##")

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
        """Return the text of a linear model: a linear regression where there is a constant."""
        kind, start = (REGRESSION, [f"0:{decimal(model.constant)}"]) if model.constant else (ASCENT, [])
        weights = [f"{number}:{decimal(weight)}" for number, weight in enumerate(model.weights, 1)]
        return f"## {kind}\n{' '.join(start + weights)}\n".encode()


def _ensemble_lines(model: TreeModel) -> list[str]:
    """Return the lines of the element `ensemble`, a tag or a tag with its text each; the constant is the last tree."""
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

    trees = [["<split>", *lines, "</split>"] for lines in nested(forest, leaf, node, DEEPEST_RANKLIB, "ranklib")]
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
        weights[int(feature)] = float(numbers([weight])[0])
    constant = weights.pop(0, 0.0)
    if not weights:
        raise FormatFault("weights of features", "none", line)
    features = range(1, max(len(names or ()), *weights) + 1)
    return LinearModel(tuple(weights.get(feature, 0.0) for feature in features), constant=constant)
