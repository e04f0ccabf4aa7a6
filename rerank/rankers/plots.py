"""Plots of a fitted ranker, with matplotlib (`pip install 'lucene-rerank[plots]'`)."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from rerank.errors import InvalidInputError, RerankError
from rerank.rankers.ranker import Ranker
from rerank.trees.forest import set_members, trees_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW_HEIGHT, BAR_COLOR = 7.0, 0.3, "#4477aa"  # inches


def plot_importance(model: Ranker, *, max_num_features: int = 20, ax: Axes | None = None) -> Axes:
    """Plot the most important features as horizontal bars.

    Parameters
    ----------
    model : Ranker
        A fitted ranker with `feature_importances_`: boosted trees, RankBoost or a linear ranker.
    max_num_features : int
        Most features that are shown.
    ax : matplotlib.axes.Axes, optional
        Where to plot; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    InvalidInputError
        For a model without importances, or that is not fitted.

    """
    _check_fitted(model)
    importances = getattr(model, "feature_importances_", None)
    if importances is None:
        raise InvalidInputError(
            f"model: expected one with feature_importances_, got {type(model).__name__}. Pass boosted trees, RankBoost "
            "or a linear ranker."
        )
    if max_num_features < 1:
        raise InvalidInputError(f"max_num_features: expected a number from 1, got {max_num_features}. Show more.")
    chosen = np.argsort(importances, kind="stable")[-max_num_features:]
    axes = ax or new_axes(ROW_HEIGHT * len(chosen) + 1.0)
    axes.barh([model.feature_names_[number] for number in chosen], importances[chosen], color=BAR_COLOR)
    axes.set(xlabel="importance", title=f"{type(model).__name__}: feature importance")
    return axes


def plot_metric(model: Ranker, *, ax: Axes | None = None) -> Axes:
    """Plot the metric on the validation data by iteration, with a line at the iteration that the model keeps.

    Parameters
    ----------
    model : Ranker
        A ranker fitted with `eval_set`.
    ax : matplotlib.axes.Axes, optional
        Where to plot; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    InvalidInputError
        For a model that was trained without validation data, or that is not fitted.

    """
    _check_fitted(model)
    if not model.evals_result_:
        raise InvalidInputError("model: expected one trained with validation data, got none. Pass fit(eval_set=...).")
    axes = ax or new_axes(4.0)
    for data, histories in model.evals_result_.items():
        for measure, values in histories.items():
            axes.plot(range(len(values)), values, label=f"{measure} ({data})", color=BAR_COLOR)
            axes.set(xlabel="iteration", ylabel=measure, title=f"{type(model).__name__}: {measure}")
    axes.axvline(model.best_iteration_, color="grey", linewidth=0.8, label=f"best iteration ({model.best_iteration_})")
    axes.legend()
    return axes


def plot_tree(model: Ranker, *, tree: int = 0, ax: Axes | None = None) -> Axes:
    """Plot one tree: tests, whose left branch is that of a test that holds, and the values of the leaves.

    Parameters
    ----------
    model : Ranker
        A fitted ranker of trees.
    tree : int
        Number of the tree, from 0.
    ax : matplotlib.axes.Axes, optional
        Where to plot; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    InvalidInputError
        For a model without trees, or that is not fitted, or a number of no tree.

    """
    _check_fitted(model)
    n_trees = model.forest_.n_trees if hasattr(model, "forest_") else 0
    if not 0 <= tree < n_trees:
        raise InvalidInputError(f"tree: expected a number below {n_trees}, the model's trees, got {tree}.")
    forest = trees_between(model.forest_, tree, tree + 1)  # type: ignore[attr-defined]
    sets: dict[int, list[int]] = {}
    for member, category in zip(*(column.tolist() for column in set_members(forest)), strict=True):
        sets.setdefault(member, []).append(category)
    stack, order = [(0 if len(forest.feature) else -1, 0)], []
    while stack:
        node, depth = stack.pop()
        order.append((node, depth))
        if node >= 0:
            stack += [(int(forest.right[node]), depth + 1), (int(forest.left[node]), depth + 1)]
    leaves, deepest = [node for node, _ in order if node < 0], max(depth for _, depth in order)
    across = {node: float(number) for number, node in enumerate(leaves)}
    axes = ax or new_axes(deepest + 1.0)
    for node, depth in reversed(order):  # children before their node
        text = f"{forest.leaf_value[~node]:.4g}"
        if node >= 0:
            children = int(forest.left[node]), int(forest.right[node])
            across[node] = sum(across[child] for child in children) / 2
            for child in children:
                axes.plot([across[node], across[child]], [-depth, -depth - 1], color="grey", linewidth=0.8, zorder=1)
            name = model.feature_names_[forest.feature[node]]
            missing = " or missing" if forest.missing_left[node] else ""
            text = f"{name}\n<= {forest.threshold[node]:.4g}{missing}"
            if node in sets:
                text = f"{name}\nin {', '.join(map(str, sets[node][:4]))}{', ...' if len(sets[node]) > 4 else ''}"
        box = {"facecolor": "white", "edgecolor": BAR_COLOR if node >= 0 else "grey"}
        axes.text(across[node], -depth, text, ha="center", va="center", fontsize=7, bbox=box)
    axes.set(title=f"{type(model).__name__}: tree {tree}", xlim=(-0.7, len(leaves) - 0.3), ylim=(-deepest - 0.5, 0.5))
    axes.set_axis_off()
    return axes


def _check_fitted(model: object) -> None:
    if not isinstance(model, Ranker):
        raise InvalidInputError(f"model: expected a ranker, got {type(model).__name__}. Pass a fitted ranker.")
    model._check_fitted()


def new_axes(height: float) -> Axes:
    """Return the axes of a new figure of this height in inches."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise RerankError(
            "matplotlib: expected it installed for a plot, got none. Run `pip install 'lucene-rerank[plots]'`."
        ) from error
    return pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def png(axes: Axes) -> bytes:
    """Return a plot as a PNG file, and close its figure."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    content, figure = BytesIO(), axes.get_figure()
    if isinstance(figure, Figure):
        figure.savefig(content, format="png", dpi=150)
        pyplot.close(figure)
    return content.getvalue()
