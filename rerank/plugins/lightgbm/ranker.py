"""`LGBMRanker`, a subclass of LightGBM's that trains a ranker of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown
from rerank.exchange.lightgbm import model_text
from rerank.exchange.models import tree_model
from rerank.plugins.lightgbm.eval_sets import eval_pairs, eval_sets, group_sizes, joined, names_of_sets
from rerank.plugins.lightgbm.parameters import LightGBMSettings
from rerank.plugins.lightgbm.watcher import WATCHED, Watcher
from rerank.rankers.arrays import category_values, finite_column, numbers
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.lambdamart import LambdaMART
from rerank.types.data_frames import is_frame, names_of


class LGBMRanker(lightgbm.LGBMRanker):
    """A ranker with LightGBM's interface, which trains `rerank.LambdaMART`, or MART for the objective rank_xendcg.

    Parameters and attributes are LightGBM's; `subsample` draws queries. Values that need what this package does not
    have are refused by `fit`.

    Attributes
    ----------
    ranker_ : rerank.LambdaMART or rerank.MART
        The model, for all that this package does with rankers.
    booster_ : lightgbm.Booster
        The same trees, after the trees that training started from.
    best_iteration_ : int
        Number of trees with the best value of the measure, where training was stopped early; 0 otherwise.
    best_score_, evals_result_ : dict
        Values of the measures at the best iteration, and after each: {"valid_0": {"ndcg@1": [0.4, 0.5]}}.

    """

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features (n_features,), as the data frame of training has them."""
        return self.ranker_.feature_names_in_

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        group: ArrayLike | None = None,
        eval_set: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_group: Any = None,
        eval_metric: Any = None,
        eval_at: Any = (1, 2, 3, 4, 5),
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Iterable[Callable[..., Any]] | None = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
        early_stopping_rounds: int | None = None,
        verbose: bool | int | None = None,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X, y, group, init_score, sample_weight : as for `rerank.LambdaMART`
            Features, labels, number of rows of each query, base scores, weights.
        eval_set : list of (X, y), optional
            Data that the model is measured on after each iteration. The training data themselves are called "training".
        eval_names : list of str, optional
            Their names, "valid_0", ... by default.
        eval_group, eval_sample_weight, eval_init_score : list of arrays, optional
            For each of them.
        eval_metric : str, function or list of both, optional
            "ndcg", "map", or f(y_true, y_pred[, weight[, group]]) that returns (name, value, higher is better).
        eval_at : int or sequence of int
            Depths of ndcg and map.
        feature_name : list of str
            Names of the features; "auto" for those of a data frame.
        categorical_feature : list of str or int, or "auto"
            Features whose values are codes of categories; "auto" for the `category` columns of a data frame.
        callbacks : iterable of callables, optional
            Callbacks of LightGBM, or functions of a `CallbackEnv`. One that raises ends `fit` with one line, and leaves
            the ranker as it was.
        init_model : str, Path, lightgbm.Booster or LGBMRanker, optional
            A model to start from, as `base` of `rerank.LambdaMART`.
        eval_X, eval_y : array or list of arrays, optional
            Instead of eval_set.
        early_stopping_rounds, verbose : int, optional
            The callbacks `early_stopping` and `log_evaluation`, as LightGBM had them up to version 3.

        Returns
        -------
        LGBMRanker
            The ranker itself.

        Raises
        ------
        InvalidInputError
            If the ranker cannot be trained on the data.

        """
        settings = LightGBMSettings.of(self.get_params())
        labels = finite_column("y", y, len(y))
        pairs = eval_pairs(eval_set, eval_X, eval_y)
        training = [number for number, pair in enumerate(pairs) if pair[0] is X and pair[1] is y]
        names = names_of_sets(eval_names, len(pairs), training)
        sets = eval_sets(pairs, names, eval_group, eval_sample_weight, eval_init_score, settings)
        sets.sort(key=lambda of_set: of_set.name not in {names[number] for number in training})
        called = list(callbacks or ())
        stop, first_only = settings.stop
        if early_stopping_rounds or stop:
            called.append(lightgbm.early_stopping(early_stopping_rounds or stop, first_only, verbose=bool(verbose)))
        called += [lightgbm.log_evaluation(int(verbose))] if verbose and int(verbose) > 0 else []
        history: dict[str, dict[str, list[float]]] = {}
        recorder: Any = lightgbm.record_evaluation(history)
        recorder.order = -np.inf  # before callbacks that end the training
        called.append(recorder)
        metrics = settings.metric_list(eval_metric, eval_at)
        params = {**self.get_params(), **settings.parameters}
        watcher = Watcher(sets, metrics if sets else [], called, params, names[training[0]] if training else "")
        categories = _categories(categorical_feature, feature_name)
        trained = WATCHED[settings.kind](**{**settings.parameters, **categories}, base=_base(init_model))
        trained.fit(
            X,
            settings.gains_of(labels) if settings.kind is LambdaMART else labels,
            group=group_sizes("group", group),
            init_score=init_score,
            sample_weight=sample_weight,
            callbacks=[watcher],  # type: ignore[list-item]
            **joined(sets, category_values(X)),
        )
        ranker: BoostedTrees = settings.kind.from_dict(trained.to_dict())  # without the callbacks
        booster = _booster(ranker, X, feature_name)
        n_earlier = booster.num_trees() - ranker.forest_.n_trees
        booster.best_iteration = watcher.best_iteration + n_earlier if watcher.best_iteration else 0
        self._Booster = booster
        self._best_iteration = booster.best_iteration
        self._best_score = {
            name: {metric: values[min(watcher.best_iteration, len(values)) - 1] for metric, values in of_set.items()}
            for name, of_set in history.items()
        }
        self._evals_result = history
        self._objective = self.objective or "lambdarank"
        self._n_features = self._n_features_in = ranker.n_features_in_
        self.ranker_ = ranker
        self.fitted_ = True
        return self

    def predict(self, X: Any, *arguments: Any, **named: Any) -> Any:
        """Return what LightGBM's `predict` returns, also for the types of columns that only this `fit` accepts."""
        return super().predict(_of_numbers(X), *arguments, **named)


def _categories(columns: Any, names: Any) -> dict[str, Any]:
    """Return the parameter `categorical_feature` where columns are given: numbers, or names of `feature_name`."""
    if isinstance(columns, str | None):
        return {}
    if isinstance(names, str | None):
        return {"categorical_feature": columns}
    numbers_of = {name: number for number, name in enumerate(names)}  # the ranker gets the names afterwards
    return {"categorical_feature": [numbers_of.get(name, name) for name in columns]}


def _base(init_model: Any) -> Any:
    """Return the parameter `base` for a model to start from: a booster, the text of one, or its file."""
    base = init_model.booster_ if isinstance(init_model, lightgbm.LGBMModel) else init_model
    if isinstance(base, str):
        return lightgbm.Booster(model_str=base) if base.startswith("tree\n") else Path(base)
    return base


def _booster(ranker: BoostedTrees, X: Any, names: Any) -> lightgbm.Booster:
    """Give the ranker the names of `feature_name`, and return its trees with the names that LightGBM gives them."""
    if not isinstance(names, str | None):
        if len(set(names)) != len(names) or len(names) != ranker.n_features_in_:
            raise InvalidInputError(
                f"feature_name: expected {ranker.n_features_in_} different names, got {shown(list(names))}. "
                "Give each feature its name."
            )
        ranker.feature_names_ = tuple(map(str, names))
    trees = tree_model(ranker, "lightgbm")
    if isinstance(names, str | None) and not hasattr(ranker, "feature_names_in_"):
        columns = names_of(X) if is_frame(X) else [f"Column_{number}" for number in range(trees.n_features)]
        trees = replace(trees, feature_names=tuple(map(str, columns)))
    return lightgbm.Booster(model_str=model_text(trees))


def _of_numbers(X: Any) -> Any:
    """Return a frame of pandas with float64 in place of Arrow's and Python's numbers, which LightGBM refuses."""
    if not (hasattr(X, "items") and hasattr(X, "dtypes")):
        return X
    plain = X.copy(deep=False)
    for name, column in X.items():
        if hasattr(column.dtype, "pyarrow_dtype") or (column.dtype.kind == "O" and not hasattr(column, "cat")):
            plain[name] = numbers("X", column, name)
    return plain
