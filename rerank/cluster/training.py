"""LambdaMART on a Dask cluster: LightGBM's Dask learner grows the trees; each worker holds some queries."""

import logging
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

from rerank.cluster.connection import FAILED, LOST, dask_distributed, error_line, not_installed
from rerank.errors import ClusterError, InvalidInputError
from rerank.exchange.models import import_model
from rerank.metrics.ndcg import NDCG
from rerank.metrics.registry import parse_measure
from rerank.rankers.boosted import sizes_of
from rerank.rankers.imported_trees import ImportedTrees
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.trees.score import score_rows
from rerank.types import Floats, RankingData

MOST_LABEL = 30  # 2^label - 1 fits into 32 bits
# Parameters that LightGBM is given as they are, by the same name.
SENT = ("learning_rate", "max_depth", "min_split_gain", "max_bin", "colsample_bytree", "random_state")
# Parameters that LightGBM's learner lacks -> the only value that is accepted on a cluster.
REFUSED = {
    "split": "newton",
    "step": "fixed",
    "data_sample_strategy": "bagging",
    "monotone_constraints": None,
    "interaction_constraints": None,
    "categorical_feature": "auto",
}


def train_on(
    cluster: Any, ranker: Ranker, data: RankingData | str | Path, eval_set: RankingData | str | Path | None
) -> ImportedTrees:
    """Return the model whose trees LightGBM grew on the cluster; see `Cluster.train`."""
    _check(ranker)
    cluster.check_workers()
    learner = type("LambdaMART", (_ClusterMART,), {"cluster": cluster})(**ranker.get_params(deep=False))
    learner.fit(data, eval_set=eval_set)
    model: ImportedTrees = learner.model_
    for name in ("fingerprint_", "retriever_", "run_retrievers_", "base_", "best_iteration_", "evals_result_"):
        setattr(model, name, getattr(learner, name))
    return model


def _check(ranker: Ranker) -> None:
    """Refuse rankers, parameters and measures that LightGBM's learner does not support."""
    if not isinstance(ranker, LambdaMART):
        raise InvalidInputError(f"cluster: expected lambdamart, got {ranker.kind}. Train without a cluster.")
    for name, value in REFUSED.items():
        asked = getattr(ranker, name)
        if asked != value:
            raise InvalidInputError(
                f"{name}: expected {value!r} on a cluster, where LightGBM grows the trees, got {asked!r}. Leave the "
                "parameter out, or train without a cluster."
            )
    measure = parse_measure(ranker.metric)
    if not isinstance(measure, NDCG) or measure.gains.pairs:
        raise InvalidInputError(
            f"metric: expected nDCG on a cluster, where LightGBM grows the trees, got {ranker.metric}. Train for nDCG, "
            "or without a cluster."
        )


class _ClusterMART(LambdaMART):
    """LambdaMART whose trees the workers grow; `fit` checks the data and resolves the base."""

    cluster: ClassVar[Any]

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        booster = _grown(self.cluster, train, self._checked_labels(train), self._lightgbm_parameters(train))
        model = import_model(booster, feature_names=self.feature_names_, recipe=self.recipe_)
        assert isinstance(model, ImportedTrees)
        stopping = self._stopping(valid, context)
        if valid is not None:
            scores = valid.start_scores.copy()
            for tree in model.forest_.trees():
                scores += score_rows(tree, valid.X)[valid.order]
                stopping.add(scores)
            model.forest_ = model.forest_.select(0, stopping.best)
        self.best_iteration_ = model.forest_.n_trees
        self.evals_result_ = stopping.results()
        self.forest_ = model.forest_
        self.model_ = model

    def _checked_labels(self, train: TrainingSet) -> Floats:
        """Return the labels as LightGBM takes them, (n_rows,): whole numbers from 0; negative labels become 0."""
        if self.categories_:
            raise InvalidInputError(
                f"training data: expected numbers on a cluster, got the category {next(iter(self.categories_))!r}. "
                "Replace categories by numbers, or train without a cluster."
            )
        labels = np.maximum(train.labels, 0.0)
        if (labels != np.floor(labels)).any() or labels.max() > MOST_LABEL:
            raise InvalidInputError(
                f"training data: expected labels that are whole numbers up to {MOST_LABEL} on a cluster, got others. "
                "Round them, or train without a cluster."
            )
        if labels.min() == labels.max():
            raise InvalidInputError("training data: expected labels that differ, got equal ones. Check the qrels.")
        return labels

    def _lightgbm_parameters(self, train: TrainingSet) -> dict[str, Any]:
        """Return the parameters of LightGBM's learner.

        min_child_weight, reg_alpha and reg_lambda are in units of the spread of the base's scores, as in LambdaMART;
        sigma, the inverse of the unit, converts them to LightGBM's.
        """
        sizes = sizes_of(self, len(train.weights), len(train.order))
        sigma = 1.0 / self._unit(train)
        measure = parse_measure(self.metric)
        assert isinstance(measure, NDCG)
        return {
            **{name: getattr(self, name) for name in SENT},
            "n_estimators": sizes.n_estimators,
            "num_leaves": sizes.num_leaves,
            "min_child_samples": sizes.min_child_samples,
            "min_child_weight": self.min_child_weight * sigma * sigma,
            "reg_alpha": self.reg_alpha * sigma,
            "reg_lambda": self.reg_lambda * sigma * sigma,
            "sigmoid": sigma,
            "lambdarank_truncation_level": self.truncation_level,
            "lambdarank_norm": self.normalize,
            "label_gain": measure.gain_of(np.arange(MOST_LABEL + 1.0)).tolist(),
            "subsample": self.subsample,
            "subsample_freq": int(self.subsample < 1.0),
            "bagging_by_query": self.subsample < 1.0,
            "verbosity": -1,
        }


def _grown(cluster: Any, train: TrainingSet, labels: Floats, parameters: Mapping[str, Any]) -> Any:
    """Return the booster that the workers have trained."""
    distributed = dask_distributed()
    try:
        from lightgbm import DaskLGBMRanker
        from lightgbm.basic import LightGBMError
    except ImportError as error:
        raise not_installed(error) from None
    learner = DaskLGBMRanker(client=cluster.client, **parameters)
    try:
        cluster.run_everywhere(_log_by_logging)
        with cluster.client.as_current(), redirect_stdout(StringIO()), catch_warnings(action="ignore"):
            learner.fit(**_divided(cluster, train, labels))
    except (LightGBMError, *FAILED, *LOST, distributed.KilledWorker) as error:
        raise ClusterError(
            f"cluster: expected LightGBM's training to end, got {error_line(error)}. Read the logs of the workers, and "
            "train again."
        ) from error
    return learner.booster_


def _log_by_logging() -> None:
    """Send LightGBM's messages on a worker to the worker's log in place of standard output."""
    import lightgbm

    lightgbm.register_logger(logging.getLogger("lightgbm"))


def _divided(cluster: Any, train: TrainingSet, labels: Floats) -> dict[str, Any]:
    """Return the arguments of LightGBM's `fit` as Dask arrays; each worker holds the rows of some queries."""
    from dask import array, delayed  # type: ignore[attr-defined]

    n_queries = len(train.weights)
    addresses = sorted(cluster.workers())[:n_queries]
    bounds = np.arange(len(addresses) + 1) * n_queries // len(addresses)
    weights = np.repeat(train.weights, np.diff(train.query_ptr))
    by_row: dict[str, NDArray[Any]] = {
        "X": train.X[train.order],
        "y": labels,
        "sample_weight": weights * train.row_weights if len(train.row_weights) else weights,
        **({"init_score": train.start_scores} if train.start_scores.any() else {}),
    }
    divided = {}
    for name, values in {**by_row, "group": np.diff(train.query_ptr)}.items():
        limits = (bounds if name == "group" else train.query_ptr[bounds]).tolist()
        parts = []
        for address, (first, last) in zip(addresses, pairwise(limits), strict=True):
            held = cluster.client.scatter(values[first:last], workers=[address], hash=False)
            parts.append(array.from_delayed(delayed(held), (last - first, *values.shape[1:]), values.dtype))  # type: ignore[no-untyped-call]
        divided[name] = array.concatenate(parts)  # type: ignore[no-untyped-call]
    return divided
