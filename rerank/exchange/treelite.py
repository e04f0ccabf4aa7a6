"""treelite: models built and serialised with its library; read also from `Model.dump_as_json()`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.exchange.build import (
    MOST_FEATURES,
    Splits,
    at_most,
    each_tree,
    flat_tree,
    joined,
    less_than,
    numbers,
    whole,
    wholes,
)
from rerank.exchange.lightgbm import model_text
from rerank.exchange.registry import Format, FormatFault, TreeModel, WriteOptions, register
from rerank.exchange.structured import member, parsed_json
from rerank.exchange.write import summed
from rerank.trees.forest import Tree

SECONDS, MEMORY = 10, 4 * 2**30  # for a small checkpoint: the library itself maps about 1 GB
_READER = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]),) * 2)
except (ImportError, ValueError, OSError):
    pass  # Windows has none; macOS does not keep to it
import treelite
text = treelite.Model.deserialize(sys.argv[1]).dump_as_json(pretty_print=False)
open(sys.argv[2], "w", encoding="utf-8").write(text)
"""
INSTALL = "Install it: pip install 'lucene-rerank[exchange]'."


@register("treelite")
class Treelite(Format):
    """Read treelite's JSON, and write its checkpoint."""

    title = "treelite's checkpoint (needs the package treelite; also read: its JSON)"
    writes = reads = True

    def recognises(self, content: bytes) -> bool:
        """Return whether an object of treelite's begins the content."""
        return content.lstrip().startswith(b"{") and b'"task_type"' in content and b'"leaf_output_type"' in content

    def content_of(self, estimator: object) -> bytes | TreeModel | None:
        """Return the JSON of a model of treelite's."""
        if type(estimator).__module__.partition(".")[0] != "treelite" or not hasattr(estimator, "dump_as_json"):
            return None
        return str(estimator.dump_as_json(pretty_print=False)).encode()

    def read(self, content: bytes, names: tuple[str, ...] | None) -> TreeModel:
        """Return the model of its JSON, or of a checkpoint, which needs the library; raises FormatFault."""
        if not content.lstrip().startswith(b"{"):
            content = _json_of_checkpoint(content)
        stored = parsed_json(content)
        n_features = whole("num_feature", member(stored, "num_feature"), 1, MOST_FEATURES)
        targets = member(stored, "num_target", int), stored.get("num_class")
        if targets[0] != 1 or targets[1] not in ([1], 1, None):
            raise FormatFault("one score", f"num_target {targets[0]}, num_class {shown(targets[1])}")
        single = stored.get("threshold_type", "float64") == "float32"
        trees = each_tree(member(stored, "trees", list), lambda tree: _tree(tree, n_features, single))
        base = stored.get("base_scores", 0.0)
        constant = numbers("base_scores", base if isinstance(base, list) else [base], 1)
        divisor = float(len(trees)) if stored.get("average_tree_output") in (True, 1) else 1.0
        return TreeModel(joined(trees, n_features), n_features, None, float(constant[0]), divisor)

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the checkpoint that the library makes of LightGBM's text; thresholds and leaf values are float64."""
        try:
            import treelite
        except ImportError:
            raise InvalidInputError(f"treelite: expected the package treelite, got none. {INSTALL}") from None
        text = model_text(replace(summed(model, "treelite"), feature_names=None), "treelite")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.txt")
            path.write_text(text)
            return bytes(treelite.frontend.load_lightgbm_model(path).serialize_bytes())


def _json_of_checkpoint(content: bytes) -> bytes:
    """Return the JSON of a checkpoint, which another process reads: a damaged one crashes the library, or hangs it."""
    if find_spec("treelite") is None:
        raise InvalidInputError(f"treelite: expected the package treelite, got none. {INSTALL}")
    seconds, memory = SECONDS + len(content) // 2**20, MEMORY + 100 * len(content)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "model.tl"), Path(folder, "model.json")
        source.write_bytes(content)
        command = [sys.executable, "-c", _READER, str(source), str(target), str(memory)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(command, capture_output=True, env=environment, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise FormatFault("a checkpoint of treelite", f"one that is not read in {seconds} seconds") from None
        if done.returncode or not target.is_file():
            said = done.stderr.decode(errors="replace").strip().split("TreeliteError:")[-1]
            got = "one that crashes the library" if done.returncode < 0 or not said else shown(" ".join(said.split()))
            raise FormatFault("a checkpoint of treelite", got)
        return target.read_bytes()


def _tree(raw: object, n_features: int, single: bool) -> Tree:
    nodes = member(raw, "nodes", list)
    ids = [member(node, "node_id", int) for node in nodes]
    if ids != list(range(len(ids))) or not ids:
        raise FormatFault("nodes numbered from 0", "other numbers")
    n_nodes = len(nodes)
    is_leaf = np.array(["leaf_value" in node for node in nodes])
    for node in nodes:
        if "leaf_value" not in node and node.get("node_type") != "numerical_test_node":
            raise FormatFault("numerical splits", shown(node.get("node_type")), remedy="Train the model on numbers.")
        if "leaf_value" not in node and node.get("comparison_op") not in ("<", "<="):
            raise FormatFault("a comparison < or <=", shown(node.get("comparison_op")))

    def column(key: str, low: int, high: int) -> Any:
        return wholes(key, [0 if "leaf_value" in node else member(node, key) for node in nodes], low, high)

    threshold = numbers("threshold", [0.0 if "leaf_value" in node else member(node, "threshold") for node in nodes])
    strict = np.array([node.get("comparison_op") == "<" for node in nodes])
    threshold = threshold.astype(np.float32).astype(np.float64) if single else threshold
    limit = np.where(strict, less_than(threshold), at_most(threshold))
    values = numbers("leaf_value", [node.get("leaf_value", 0.0) for node in nodes])
    feature, missing = column("split_feature_id", 0, n_features - 1), column("default_left", 0, 1) > 0
    left, right = column("left_child", 0, n_nodes - 1), column("right_child", 0, n_nodes - 1)
    count = numbers("sum_hess", [node.get("sum_hess", node.get("data_count", 0.0)) for node in nodes])
    return flat_tree(is_leaf, Splits(feature, limit, missing), (left, right), values, count=count)
