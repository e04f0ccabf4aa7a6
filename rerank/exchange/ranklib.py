"""RankLib's model files of trees: LambdaMART, MART, random forests.

Features are numbered from 1, thresholds and leaf values are float32, `x <= threshold` goes left, and a missing value is
0. RankLib sums in float32; where trees have another weight than 1 it multiplies in float64, and scores may differ in
the last digits of float32.
"""

from __future__ import annotations

import re

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import joined
from rerank.exchange.markup import parsed, read_ensemble, tree_lines
from rerank.exchange.nested import check_depth
from rerank.exchange.registry import Format, FormatFault, TreeModel, WriteOptions, register
from rerank.exchange.single import refuse_missing_direction, single, summed
from rerank.exchange.text import decimal
from rerank.trees.forest import Tree

TREES = ("LambdaMART", "MART", "Random Forests")
DEEPEST = 900  # splits: RankLib reads them by recursion
HEAD = re.compile(r"(?:\s*##[^\n]*\n)+")


@register("ranklib")
class RankLib(Format):
    """Read RankLib's trees, and write them as LambdaMART's."""

    title = "RankLib's text (model/ranklib of the plug-ins for Elasticsearch and OpenSearch)"
    writes = reads = True
    sums = "float32"
    adds_first_score = True

    def recognises(self, content: bytes) -> bool:
        """Return whether comments of `##` begin the content."""
        return content.lstrip().startswith(b"##")

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise FormatFault("UTF-8 text", "other bytes") from None
        head = HEAD.match(text)
        kind = text.lstrip().split("\n", 1)[0].lstrip("# ").strip()
        if head is None or kind not in TREES:
            raise FormatFault(f"a model of {', '.join(TREES)}", shown(kind))
        line = head[0].count("\n") + 1
        body = text[head.end() :]
        root = parsed(f"<models>{body}</models>", line)
        ensembles = list(root)
        if not ensembles or any(each.tag != "ensemble" for each in ensembles):
            raise FormatFault("an element ensemble", "none", line)
        if kind != "Random Forests" and len(ensembles) > 1:
            raise FormatFault("one ensemble", str(len(ensembles)), line)
        trees: list[Tree] = []
        n_features, exact = len(names or ()), True
        for ensemble in ensembles:
            own, weights, largest = read_ensemble(ensemble)
            n_features = max(n_features, largest)
            exact = exact and all(weight == 1.0 for weight in weights)
            trees += [_weighed(tree, weight) for tree, weight in zip(own, weights, strict=True)]
        forest = joined(trees, n_features, np.float32 if exact and len(ensembles) == 1 else np.float64)
        return TreeModel(forest, n_features, divisor=float(len(ensembles)))

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the text of a model, each tag on its line."""
        refuse_missing_direction(summed(model, "ranklib"), "ranklib")
        return ("## LambdaMART\n\n" + "\n".join(ensemble_lines(model, "ranklib")) + "\n").encode()

    def query(self, options: WriteOptions, base_field: str | None) -> dict[str, object] | None:
        """Return the rescoring request of the plug-ins for Elasticsearch and OpenSearch."""
        return rescore(options, base_field)


def rescore(options: WriteOptions, base_field: str | None) -> dict[str, object]:
    """Return a search that adds the model's score to the first stage's BM25, or replaces it where there is no base."""
    field = (base_field or "").partition(".")[2] or "contents"
    total = base_field is not None
    return {
        "query": {"match": {field: "QUERY"}},
        "rescore": {
            "window_size": 1000,
            "query": {
                "rescore_query": {"sltr": {"model": options.name, "params": {"keywords": "QUERY"}}},
                "query_weight": 1.0 if total else 0.0,
                "rescore_query_weight": 1.0,
                "score_mode": "total",
            },
        },
    }


def ensemble_lines(model: TreeModel, format: str) -> list[str]:
    """Return the lines of the element `ensemble`, with the constant as the first tree."""
    forest = model.forest
    check_depth(forest, DEEPEST, format)
    values = single(forest.leaf_value) if format == "ranklib" else forest.leaf_value.astype(np.float64)
    trees = [tree_lines(forest, tree, forest.threshold, values, 2) for tree in range(forest.n_trees)]
    if model.constant:
        constant = float(single(np.array([model.constant]))[0]) if format == "ranklib" else model.constant
        stump = ["  <split>", f"   <output> {decimal(constant)} </output>", "  </split>"]
        trees.append(stump)
    lines = ["<ensemble>"]
    for number, tree in enumerate(trees, 1):
        lines += [f' <tree id="{number}" weight="1.0">', *tree, " </tree>"]
    return [*lines, "</ensemble>"]


def _weighed(tree: Tree, weight: float) -> Tree:
    """Return a tree with its leaf values times its weight, both of them float32."""
    with np.errstate(over="ignore"):
        values = tree.leaf_value.astype(np.float32).astype(np.float64) * float(np.float32(weight))
    if not np.isfinite(values).all():
        raise FormatFault("leaf values as float32", "a number beyond it")
    return Tree(**{**vars(tree), "leaf_value": values})
