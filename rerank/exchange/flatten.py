"""Rankers as the models that formats hold: trees with those of a base before them, or weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.exchange.build import in_a_row
from rerank.exchange.registry import LinearModel, TreeModel
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.imported import ImportedTrees, ImportedWeights
from rerank.rankers.linear import LinearRanker
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import CANDIDATES, FeatureBase, ModelBase, NoBase

KINDS = "LambdaMART, MART, GBRank, LogistRank, or an imported model"
FIRST_SCORE = "the score of the first stage"


def tree_model(model: Ranker, format: str) -> TreeModel:
    """Return the trees of a ranker, those of a base that is a ranker of trees before its own.

    Raises InvalidInputError, which begins with the format, for a ranker or a base that is no sum of trees.
    """
    model._check_fitted()
    if isinstance(model, ImportedTrees):
        trees = model.forest_, model.n_features_in_, tuple(model.feature_names_)
        return TreeModel(*trees, model.constant_, model.divisor_, model.zero_missing_, model._ordered)
    if not isinstance(model, BoostedTrees):
        raise InvalidInputError(f"{format}: expected a ranker of trees, got {model.kind}. Export {KINDS}.")
    own = TreeModel(model.forest_, model.n_features_in_, tuple(model.feature_names_), model.constant_)
    if not isinstance(model.base_, ModelBase):
        return own
    base = model.base_.model
    if not isinstance(base, ImportedTrees | BoostedTrees):
        raise InvalidInputError(
            f"{format}: expected a base that is a ranker of trees, got {base.kind}. Train it with another base, or "
            "without."
        )
    return _after(tree_model(base, format), own, format)


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
    raise InvalidInputError(
        f"model: expected a base that is BM25's score, which an engine can add, got {what}. Train the model without a "
        "base, or from another."
    )


def _after(base: TreeModel, own: TreeModel, format: str) -> TreeModel:
    """Return the sum of two models on the features of the second."""
    if len(base.zero_missing):
        raise InvalidInputError(
            f"{format}: expected a base that reads 0 as a value, got one that reads 0 as missing. Train without it."
        )
    names = own.feature_names or ()
    column = np.array([names.index(name) for name in base.feature_names or ()], dtype=np.int32)
    first, second = base.forest, own.forest
    moved = replace(first, feature=column[first.feature], leaf_value=first.leaf_value.astype(np.float64) / base.divisor)
    return replace(own, forest=in_a_row([moved, second]), constant=base.constant + own.constant)


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
