"""Models to export: their trees test every kind of threshold that formats treat apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.exchange.registry import TreeModel
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.imported_trees import ImportedTrees
from rerank.trees.forest import Forest
from tests.rankers.conftest import ranking_data

NAMES = tuple(f"f{number}" for number in range(8))


def trained(missing: float = 0.05, **parameters: object) -> BoostedTrees:
    data = ranking_data(1, missing=missing)
    return rerank.MART(**{"n_estimators": 30, "num_leaves": 8, **parameters}).fit(data)  # type: ignore[return-value]


def random_tree(random: np.random.Generator, n_leaves: int, n_features: int = 8) -> Forest:
    """A tree of any shape, its thresholds any float32 from the least to the greatest."""
    n_nodes = n_leaves - 1
    left, right = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    ends: list[tuple[int, int]] = []
    for node in range(n_nodes):
        if node:
            parent, side = ends.pop(int(random.integers(len(ends))))
            (left, right)[side][parent] = node
        ends += [(node, 0), (node, 1)]
    for leaf, (parent, side) in enumerate(ends):
        (left, right)[side][parent] = ~leaf
    largest = np.finfo(np.float32).max
    special = np.array([largest, -0.0, 0.0, 1e-45, -1e-45, 1e-38, 0.5, 1e30, -1e30, 10.5, 16777216.0], np.float32)
    threshold = np.where(random.random(n_nodes) < 0.3, random.choice(special, n_nodes), random.normal(size=n_nodes))
    return Forest.tree(
        feature=random.integers(0, n_features, n_nodes).astype(np.int32),
        threshold=threshold.astype(np.float32),
        missing_left=random.random(n_nodes) < 0.5,
        left=left,
        right=right,
        gain=random.random(n_nodes),
        leaf_value=random.normal(size=n_leaves),
    )


def random_model(seed: int, n_trees: int = 6, moderate: bool = False) -> ImportedTrees:
    """A model of random trees; `moderate`: no threshold of a size that some formats cannot hold."""
    random = np.random.default_rng(seed)
    trees = [random_tree(random, int(random.integers(1, 40))) for _ in range(n_trees)]
    if moderate:
        trees = [replace(tree, threshold=np.where(_moderate(tree), tree.threshold, np.float32(0.75))) for tree in trees]
    return ImportedTrees.of(TreeModel(Forest.of(trees), len(NAMES), constant=float(random.normal())), NAMES, "random")


def _moderate(tree: Forest) -> np.ndarray:
    size = np.abs(tree.threshold)
    return (size >= 0.01) & (size < 1e6)


@pytest.fixture(scope="session")
def model() -> BoostedTrees:
    return trained()


@pytest.fixture(scope="session")
def real_models(shared_data: Path) -> Path:
    folder = shared_data / "models"
    if not folder.is_dir():
        pytest.skip(f"model files not found at {folder}; set RERANK_TEST_DATA to run this test")
    return folder
