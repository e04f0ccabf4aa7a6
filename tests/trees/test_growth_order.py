"""Splits that are made before their turn leave the order of those that are made one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.trees.shards import GrowthOrder, Part


def tree_of_gains(seed: int, levels: int, n_values: int) -> dict[str, float]:
    """Return the gain of each leaf that splitting could reach, by its path; children may gain more than parents."""
    random = np.random.default_rng(seed)
    paths = [""]
    for _ in range(levels):
        paths += [path + side for path in paths if len(path) == len(paths[-1]) for side in "lr"]
    return {path: float(random.integers(0, n_values)) * 0.9 ** len(path) for path in paths}


def greedy(gains: dict[str, float], max_splits: int) -> tuple[list[str], list[str]]:
    """Return the splits and the leaves, by path, where the leaf of the largest gain is split, the first of equals."""
    taken, leaves = [], [""]
    while len(taken) < max_splits:
        best = max(range(len(leaves)), key=lambda number: (gains.get(leaves[number], 0.0), -number))
        path = leaves[best]
        if gains.get(path, 0.0) <= 0.0:
            break
        taken.append(path)
        leaves[best] = path + "l"
        leaves.append(path + "r")
    return taken, leaves


def grown(gains: dict[str, float], max_splits: int, max_made: int) -> tuple[list[str], list[str], list[int]]:
    """Return the splits and leaves of a `GrowthOrder`, and how many splits it asks for each time."""
    root = Part(0, 0, 0, gain=gains[""])
    path_of, order, asked = {root: ""}, GrowthOrder(root, max_splits, max_made), []
    while parts := order.next_parts():
        asked.append(len(parts))
        for part in parts:
            children = Part(0, 0, 0), Part(0, 0, 0)
            for side, child in zip("lr", children, strict=True):
                path_of[child] = path_of[part] + side
                child.gain = gains.get(path_of[child], 0.0)
            assert part.children is None
            part.children = children
    return [path_of[part] for part in order.taken], [path_of[part] for part in order.leaves], asked


@given(st.integers(0, 10_000), st.integers(0, 20), st.integers(0, 12), st.sampled_from([2, 5, 10_000]))
def test_growth_order_is_that_of_one_split_at_a_time(seed: int, max_splits: int, extra: int, n_values: int) -> None:
    gains = tree_of_gains(seed, 6, n_values)
    taken, leaves, asked = grown(gains, max_splits, max_splits + extra)
    assert (taken, leaves) == greedy(gains, max_splits)
    assert len(taken) <= sum(asked) <= max_splits + extra


def test_growth_order_asks_for_several_splits_at_once() -> None:
    _, _, asked = grown(tree_of_gains(0, 8, 10_000), 30, 45)
    assert 30 < sum(asked) <= 45  # some are dropped
    assert len(asked) <= 15


@pytest.mark.parametrize("max_splits", [1, 7])
def test_growth_order_asks_for_one_split_at_a_time_when_none_may_be_dropped(max_splits: int) -> None:
    _, _, asked = grown(tree_of_gains(0, 6, 10_000), max_splits, max_splits)
    assert asked == [1] * max_splits
