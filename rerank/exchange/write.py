"""What exports share: rankers as trees or weights, float32 leaf values, training rows of nodes, rows to test with."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.exchange.build import LARGEST, leaf_tree, neighbours, nested
from rerank.exchange.registry import LinearModel, TreeModel, cannot_say
from rerank.rankers.arrays import numbered_names
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.imported import ImportedTrees, ImportedWeights
from rerank.rankers.linear import LinearRanker
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import CANDIDATES, FeatureBase, ModelBase, NoBase, UnsupervisedBase
from rerank.trees.contributions import EMPTY_LEAF
from rerank.trees.forest import Forest, Tree, set_members
from rerank.types import Floats, Ints


def decimal(value: float) -> str:
    """Return the shortest text that is this float64."""
    return repr(float(value))


def decimals(values: NDArray[Any]) -> str:
    """Return numbers (n,) with a space between."""
    return " ".join(map(repr, values.astype(float).tolist()))


_log = logging.getLogger("rerank")
MOST_IN_TREE = 2**29  # whole counts of a tree: readers have int32


def single(values: ArrayLike) -> NDArray[np.float64]:
    """Return the nearest float32 of each value, as float64."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def summed(model: TreeModel, format: str) -> TreeModel:
    """Return the model if its score is a sum with a constant; a mean and 0 as missing are refused."""
    if len(model.zero_missing):
        raise cannot_say(
            format,
            "a model that reads 0 as a value",
            "one that reads 0 as missing (zero_as_missing)",
            "Export it as lightgbm, or train it without.",
        )
    if model.divisor != 1.0:
        raise cannot_say(
            format,
            "a sum of trees",
            "a mean of trees (average_output, a random forest)",
            "Export it as lightgbm, or train boosted trees.",
        )
    return model


def with_constant(trees: list[Tree], constant: float) -> list[Tree]:
    """Return trees, and a constant, unless it is 0, as one more of a single leaf: it is added last, as it is here."""
    return [*trees, leaf_tree(constant)] if constant else trees


def known_counts(forest: Forest, format: str) -> Floats:
    """Return the training rows of each leaf, or their hessians, (n_leaves,) float64 above 0; 1 where they are unknown.

    SHAP divides by them; that they are unknown is logged.
    """
    if forest.leaf_count is not None:
        return np.maximum(forest.leaf_count.astype(np.float64), EMPTY_LEAF)
    if len(forest.feature):
        _log.warning(
            "%s: expected the training rows of each leaf, got a model that does not know them. The file has 1 for each "
            "leaf: SHAP values made from it weigh all leaves alike.",
            format,
        )
    return np.ones(len(forest.leaf_value))


def whole_counts(forest: Forest, format: str) -> Floats:
    """Return `known_counts` as whole numbers from 1, (n_leaves,): hessians in units of which a tree has up to 2^29."""
    counts = known_counts(forest, format)
    unit = 2.0 ** np.floor(np.log2(np.add.reduceat(counts, forest.leaf_ptr[:-1]) / MOST_IN_TREE))
    if (counts == np.floor(counts)).all():
        unit = np.maximum(unit, 1.0)
    return np.maximum(np.rint(counts / np.repeat(unit, np.diff(forest.leaf_ptr))), 1.0)


def node_counts(tree: Tree) -> tuple[Floats, Floats]:
    """Return the counts of the nodes (n_nodes,) and leaves (n_leaves,) of a tree that knows those of its leaves."""
    leaves = np.asarray(tree.leaf_count, dtype=np.float64)
    counts = np.zeros(len(tree.feature))

    def count(node: int, depth: int, left: float, right: float) -> float:
        counts[node] = left + right
        return left + right

    nested(Forest.of([tree]), leaves.tolist().__getitem__, count)
    return counts, leaves


def flat_children(tree: Tree) -> tuple[Ints, Ints]:
    """Return the left and right children of each node, (n_nodes,), where the leaves are numbered after the nodes."""
    left, right = (np.where(side >= 0, side, len(tree.feature) + ~side) for side in (tree.left, tree.right))
    return left, right


def with_tests_below(forest: Forest) -> Forest:
    """Return the same trees for tests `x < threshold`, and for sets of categories that go right.

    Where every value goes left, since the threshold is the largest float32, the children are exchanged: no value is
    below the smallest float32.
    """
    is_set = np.diff(forest.category_sets()[0]) > 0
    turned = (forest.threshold == LARGEST) | is_set
    return replace(
        forest,
        threshold=np.where(turned, np.where(is_set, 0.0, -LARGEST), neighbours(forest.threshold, np.inf)).astype(
            np.float32
        ),
        missing_left=forest.missing_left ^ turned,
        left=np.where(turned, forest.right, forest.left),
        right=np.where(turned, forest.left, forest.right),
    )


def _in_a_row(forests: Sequence[Forest]) -> Forest:
    """Return the trees of several forests, one forest after the other."""
    return Forest.of([tree for forest in forests for tree in forest.trees()])


def with_split_leaves(model: TreeModel) -> TreeModel:
    """Return a model of twice as many trees whose sum in float32 is nearly that in float64.

    A leaf value is a multiple of a step, with which sums in float32 are exact, and a rest. The trees of the rests come
    first, as long as the sum is small; rounding then happens only where the sum grows to another power of 2.
    """
    forest = model.forest
    constant = model.constant
    step = 2.0 ** (np.ceil(np.log2(max(forest.largest_score() + abs(constant), 1e-30))) - 23)
    whole = np.round(forest.leaf_value / step) * step
    whole_constant = float(np.round(constant / step) * step)
    rests = replace(forest, leaf_value=forest.leaf_value - whole)
    parts = [
        Forest.of([leaf_tree(constant - whole_constant)]),
        rests,
        Forest.of([leaf_tree(whole_constant)]),
        replace(forest, leaf_value=whole),
    ]
    return replace(model, forest=_in_a_row(parts if constant else parts[1::2]), constant=0.0)


def refuse_missing_direction(model: TreeModel, format: str, features: Sequence[int] | None = None) -> None:
    """Refuse a model that sends a missing value elsewhere than 0, for a system that reads a missing value as 0.

    features  those that the system reads so; None for all
    """
    forest = model.forest
    concerned = True if features is None else np.isin(forest.feature, features)
    other = np.flatnonzero(concerned & (forest.missing_left != (forest.threshold >= 0.0)))
    if len(other):
        names = model.feature_names
        feature = int(forest.feature[other[0]])
        raise cannot_say(
            format,
            "missing values that go where 0 goes",
            f"{len(other)} splits that send them elsewhere, e.g. of feature {names[feature] if names else feature + 1}",
            "If no value is ever missing, give --missing-as-zero (missing_as_zero=True).",
        )


KINDS = "LambdaMART, MART, GBRank, LogistRank, or an imported model"
FIRST_SCORE = "the score of the first stage"


def tree_model(model: Ranker, format: str) -> TreeModel:
    """Return the trees of a ranker, those of a base that is a ranker of trees before its own.

    Raises InvalidInputError, which begins with the format, for a ranker or a base that is no sum of trees.
    """
    model._check_fitted()
    if isinstance(model, ImportedTrees):
        if len(model.missing_values_):
            raise cannot_say(
                format,
                "a model that reads NaN alone as missing",
                f"one that reads {', '.join(f'{value:g}' for value in model.missing_values_)} so",
                "Import its booster (get_booster()), and give NaN.",
            )
        return replace(
            _trees_of(model),
            divisor=model.divisor_,
            zero_missing=model.zero_missing_,
            is_ordered=model.ordered_,
            unlisted_missing=model.unlisted_missing_,
            first_number=model.first_number_,
        )
    if not isinstance(model, BoostedTrees):
        raise InvalidInputError(f"{format}: expected a ranker of trees, got {model.kind}. Export {KINDS}.")
    if not isinstance(model.base_, ModelBase):
        return _trees_of(model)
    base = model.base_.model
    if not isinstance(base, ImportedTrees | BoostedTrees):
        raise InvalidInputError(
            f"{format}: expected a base that is a ranker of trees, got {base.kind}. Train it with another base, or "
            "without."
        )
    return _after(tree_model(base, format), _trees_of(model), format)


def _trees_of(model: ImportedTrees | BoostedTrees) -> TreeModel:
    """Return a ranker's own trees, with the values of its category columns."""
    names = tuple(model.feature_names_)
    values = {names.index(name): list(values) for name, values in model.categories_.items()}
    return TreeModel(model.forest_, model.n_features_in_, names, model.constant_, category_values=values)


def start_of(model: Ranker) -> str | None:
    """Return the name of the BM25 score that a model starts from: FIRST_SCORE, or a feature; None: from no score.

    Raises InvalidInputError for a start that no exported model can have.
    """
    base = model.base_
    while isinstance(base, ModelBase):
        base = base.model.base_
    if isinstance(base, NoBase):
        return None
    if base.source == CANDIDATES and (not isinstance(base, FeatureBase) or base.name == "run.score"):
        return FIRST_SCORE
    if isinstance(base, FeatureBase) and base.name.split(".")[0] == "bm25":
        return base.name
    what = f"the feature {base.name}" if isinstance(base, FeatureBase) else "scores given from outside"
    what = "the sum of standardised scores" if isinstance(base, UnsupervisedBase) else what
    raise InvalidInputError(
        f"model: expected a base that is BM25's score, which an engine can add, got {what}. Train the model without a "
        "base (none), or from another."
    )


def _after(base: TreeModel, own: TreeModel, format: str) -> TreeModel:
    """Return the sum of two models on the features of the second."""
    if len(base.zero_missing):
        raise InvalidInputError(
            f"{format}: expected a base that reads 0 as a value, got one that reads 0 as missing. Train without it."
        )
    names = own.feature_names or ()
    column = np.array([names.index(name) for name in base.feature_names or ()], dtype=np.int32)
    first = base.forest
    second = own.forest
    moved = replace(first, feature=column[first.feature], leaf_value=first.leaf_value.astype(np.float64) / base.divisor)
    return replace(own, forest=_in_a_row([moved, second]), constant=base.constant + own.constant)


def linear_model(model: LinearRanker | ImportedWeights, format: str) -> LinearModel:
    """Return a linear ranker as weights of the features themselves.

    Raises InvalidInputError for one with a base or with weights of missing values.
    """
    model._check_fitted()
    if isinstance(model, ImportedWeights):
        return LinearModel(tuple(model.weights_.tolist()), tuple(model.feature_names_), model.constant_)
    if not isinstance(model.base_, NoBase):
        raise InvalidInputError(f"{format}: expected a linear ranker without a base, got one with. Train it without.")
    if len(model.standardizer_.missing):
        raise InvalidInputError(
            f"{format}: expected a linear ranker whose features are never missing, got weights of missing values. "
            "Train it on data without missing values."
        )
    weights = model.weights_ * model.standardizer_.scales
    constant = model.intercept_ - float(weights @ model.standardizer_.means)
    return LinearModel(tuple(weights.tolist()), tuple(model.feature_names_), constant)


def boundary_rows(forest: Forest, n_features: int, n_rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Return rows (n_rows, n_features) float32: values on thresholds, one float to either side, missing, 0, others."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), dtype=np.float32)
    node, category = set_members(forest)
    compares = np.diff(forest.category_sets()[0]) == 0
    for feature in range(n_features):
        if feature in forest.categories:  # members, the codes between and behind them, missing ones
            known = category[forest.feature[node] == feature]
            X[:, feature] = random.choice(np.append(known, np.arange(known.max() + 2)), n_rows)
            X[random.random(n_rows) < 1 / 6, feature] = np.nan
            continue
        on = np.unique(forest.threshold[(forest.feature == feature) & compares])
        if not len(on):
            X[:, feature] = random.normal(size=n_rows)
            continue
        inner = on[np.abs(on) < LARGEST] if (np.abs(on) < LARGEST).any() else np.zeros(1)
        between = random.uniform(inner[0] - 1.0, inner[-1] + 1.0, n_rows).astype(np.float32)
        chosen = on[random.integers(0, len(on), n_rows)]
        kinds = random.integers(0, 6, n_rows)
        options = [chosen, np.nextafter(chosen, -LARGEST), np.nextafter(chosen, LARGEST), between]
        X[:, feature] = np.choose(kinds, [*options, np.full(n_rows, np.nan), np.zeros(n_rows)])
    return X


def vector_lines(model: TreeModel, count: int, adds_first_score: bool) -> bytes:
    """Return lines of JSON: the features of a row by name, null where missing, and the score of the trees.

    adds_first_score  the engine adds the score of its first stage, which is 0 in these rows
    """
    names = model.feature_names or numbered_names(model.n_features)
    X = boundary_rows(model.forest, model.n_features, count)
    ranker = ImportedTrees.of(model, names, "model")
    note = {"first_stage_score": 0.0} if adds_first_score else {}
    lines = []
    for row, score in zip(X.tolist(), ranker._scores(X).tolist(), strict=True):
        features = {name: None if value != value else value for name, value in zip(names, row, strict=True)}
        lines.append(json.dumps({"features": features, **note, "score": score}, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()
