"""QuickRank's XML, as its trees of LambdaMART and MART are saved.

Features are numbered from 1, thresholds are float32, leaf values and sums float64, `x <= threshold` goes left; files of
its data have no missing values, and a feature that a row leaves out is 0.
"""

from __future__ import annotations

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import joined
from rerank.exchange.markup import numeric, parsed, read_ensemble
from rerank.exchange.ranklib import ensemble_lines
from rerank.exchange.registry import Format, FormatFault, TreeModel, WriteOptions, register
from rerank.exchange.single import refuse_missing_direction, summed
from rerank.trees.forest import Tree

KINDS = ("LAMBDAMART", "MART", "OBVMART", "OBVLAMBDAMART", "DART")


@register("quickrank")
class QuickRank(Format):
    """Read and write QuickRank's XML."""

    title = "QuickRank's XML"
    writes = reads = True

    def recognises(self, content: bytes) -> bool:
        """Return whether the element `ranker` begins the content."""
        start = content.lstrip()[:400]
        return start.startswith(b"<ranker") or (start.startswith(b"<?xml") and b"<ranker" in start)

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of a file; raises FormatFault."""
        try:
            root = parsed(content.decode("utf-8"))
        except UnicodeDecodeError:
            raise FormatFault("UTF-8 text", "other bytes") from None
        kind = (root.findtext("info/type") or "").strip().upper()
        if root.tag != "ranker" or kind not in KINDS:
            raise FormatFault(f"a ranker of trees ({', '.join(KINDS)})", shown(kind))
        ensemble = root.find("ensemble")
        if ensemble is None:
            raise FormatFault("an element ensemble", "none")
        trees, weights, n_features = read_ensemble(ensemble)
        most = root.findtext("info/trees")
        if most is not None and numeric(most, "trees") < len(trees):
            raise FormatFault(f"at most {most.strip()} trees, as the header says", str(len(trees)))
        n_features = max(n_features, len(names or ()))
        weighed = [_weighed(tree, weight) for tree, weight in zip(trees, weights, strict=True)]
        return TreeModel(joined(weighed, n_features), n_features)

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the XML of a model."""
        refuse_missing_direction(summed(model, "quickrank"), "quickrank")
        n_leaves = int(np.diff(model.forest.leaf_ptr).max(initial=1))
        info = {
            "type": "LAMBDAMART",
            "trees": model.forest.n_trees + bool(model.constant),
            "leaves": n_leaves,
            "shrinkage": 1,
            "leafsupport": 1,
            "discretization": 0,
            "estop": 0,
        }
        head = ["<ranker>", "<info>", *(f" <{key}>{value}</{key}>" for key, value in info.items()), "</info>"]
        return ("\n".join([*head, *ensemble_lines(model, "quickrank"), "</ranker>"]) + "\n").encode()


def _weighed(tree: Tree, weight: float) -> Tree:
    """Return a tree with its leaf values times its weight, a float32."""
    with np.errstate(over="ignore"):
        values = tree.leaf_value * float(np.float32(weight))
    if not np.isfinite(values).all():
        raise FormatFault("leaf values as finite numbers", "a number beyond float64")
    return Tree(**{**vars(tree), "leaf_value": values})
