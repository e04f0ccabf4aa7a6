"""`LGBMRanker` of LightGBM, which trains models of this package.

A script that trains one runs after `from lightgbm import LGBMRanker` has become `from rerank.plugins.lightgbm import
LGBMRanker`, or `import lightgbm as lgb` has become `import rerank.plugins.lightgbm as lgb`: all other names are
LightGBM's own, and so are its callbacks, its `Booster` and its plots; `train` and `cv`, which train with LightGBM, say
so. A parameter that changes the model and has no
counterpart is refused; one that does not, such as `force_row_wise`, has no effect.

Figures are LightGBM's: nDCG has the gain 2^label - 1 (or `label_gain`), a query without a relevant document counts as
1, AP at k is divided by at most k, and equal scores keep the order of the rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Self

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, log, shown
from rerank.exchange.lightgbm import model_text
from rerank.exchange.models import tree_model
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.rankers.arrays import category_values, coded, feature_matrix, finite_column, numbers
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.early_stopping import EarlyStopping, callback_fault
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.other_names import SAME, check_names
from rerank.rankers.training_context import TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.threads import cores
from rerank.trees.booster import StepLength
from rerank.trees.leafwise import CAT_L2, CAT_SMOOTH, MAX_CAT_THRESHOLD, MAX_CAT_TO_ONEHOT, MIN_DATA_PER_GROUP
from rerank.types import Floats, Ints, ideal_of_rows, pointers, query_rows
from rerank.types.data_frames import is_frame, names_of

MEASURES = {"ndcg": "nDCG", "map": "AP"}
EXPONENTIAL = "nDCG(dcg='exp-log2')"  # gain 2^label - 1
OWN = """n_estimators learning_rate num_leaves max_depth min_child_samples min_child_weight min_split_gain reg_alpha
reg_lambda max_bin colsample_bytree truncation_level normalize sigma monotone_constraints interaction_constraints
categorical_feature"""
OF_LAMBDAS = "truncation_level", "normalize", "sigma"
XE_NDCG = "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"
OTHER_NAMES = {
    "metric": "metric_types",
    "objective": "objective_type app application loss",
    "boosting_type": "boosting boost",
    "subsample_freq": "bagging_freq",
    "monotone_constraints": "mc monotone_constraint",
    "eval_at": "ndcg_eval_at ndcg_at map_eval_at map_at",
}
ALIASES = {alias: name for names in (SAME, OTHER_NAMES) for name, of_it in names.items() for alias in of_it.split()}
ONLY: dict[str, tuple[object, ...]] = {  # values that mean what this package does
    "boosting_type": ("gbdt", "gbrt"),
    "objective": (None, "lambdarank", *XE_NDCG),
    "class_weight": (None,),
    "linear_tree": (False,),
    "path_smooth": (0,),
    "max_delta_step": (0,),
    "data_sample_strategy": ("bagging",),
    "feature_fraction_bynode": (1,),
    "monotone_penalty": (0,),
    "use_quantized_grad": (False,),
    "use_missing": (True,),
    "zero_as_missing": (False,),
    "lambdarank_position_bias_regularization": (0,),
    "num_class": (1,),
    "cat_smooth": (CAT_SMOOTH,),
    "cat_l2": (CAT_L2,),
    "max_cat_threshold": (MAX_CAT_THRESHOLD,),
    "max_cat_to_onehot": (MAX_CAT_TO_ONEHOT,),
    "min_data_per_group": (MIN_DATA_PER_GROUP,),
}
READ = """subsample subsample_freq random_state n_jobs metric eval_at label_gain early_stopping_rounds
first_metric_only"""
WITHOUT_EFFECT = """importance_type subsample_for_bin bin_construct_sample_cnt verbose verbosity force_row_wise
force_col_wise deterministic histogram_pool_size device device_type gpu_platform_id gpu_device_id gpu_use_dp num_gpu
tree_learner task two_round is_enable_sparse is_sparse enable_bundle feature_pre_filter min_data_in_bin pre_partition
save_binary data_seed data_random_seed bagging_seed feature_fraction_seed extra_seed objective_seed boost_from_average
bagging_by_query metric_freq is_provide_training_metric monotone_constraints_method silent
drop_rate max_drop skip_drop uniform_drop xgboost_dart_mode top_rate other_rate is_unbalance scale_pos_weight
predict_disable_shape_check alpha"""
OF_RANKER = OWN.split()  # parameters of LambdaMART that mean the same here
NOT_GIVEN = {"n_estimators": 100, "num_leaves": 31, "min_child_samples": 20, "sigma": 1.0}  # LightGBM's
STOPS = 30  # order of LightGBM's callbacks that stop a training
KNOWN = (*OF_RANKER, *ONLY, *READ.split(), *WITHOUT_EFFECT.split())


@dataclass(frozen=True)
class Settings:
    """What the parameters of an `LGBMRanker` say: those of the ranker, and what the eval sets are measured with.

    kind     class of the ranker
    metrics  names, None where the parameters name none
    gains    gain of each label, None for 2^label - 1
    stop     iterations without a better figure before the end (0: none), and whether only the first metric counts
    """

    kind: type[WatchedTrees]
    parameters: dict[str, Any]
    metrics: list[str] | None
    eval_at: Any
    gains: Floats | None
    stop: tuple[int, bool]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Read the parameters; another name of one overrides it, as in LightGBM."""
        present = {name: value for name, value in params.items() if value is not None}
        values = NOT_GIVEN | {name: value for name, value in present.items() if name in KNOWN}
        values |= {ALIASES[name]: value for name, value in present.items() if name not in KNOWN and name in ALIASES}
        check_names("LGBMRanker", [name for name in params if name not in ALIASES], KNOWN)
        for name, same in ONLY.items():
            if values.get(name, same[0]) not in same:
                raise InvalidInputError(
                    f"{name}: expected {' or '.join(map(repr, same))}, got {shown(values[name])}. Leave it out."
                )
        parameters = {name: values[name] for name in OF_RANKER if name in values}
        if values.get("subsample_freq", 0) > 0:
            parameters["subsample"] = values.get("subsample", 1.0)
        gains = _label_gain(values.get("label_gain"))
        metrics = values.get("metric")
        kind: type[WatchedTrees] = WatchedMART if values.get("objective") in XE_NDCG else WatchedLambdaMART
        if kind is WatchedMART:
            parameters = {name: value for name, value in parameters.items() if name not in OF_LAMBDAS}
            parameters["objective"] = "xe-ndcg"
        return cls(
            kind,
            {
                **parameters,
                "metric": EXPONENTIAL if gains is None else "nDCG",
                "random_state": _seed(values.get("random_state")),
                "n_jobs": _threads(values.get("n_jobs")),
                "start": "base",
            },
            None if metrics is None else _names_of(metrics),
            values.get("eval_at"),
            gains,
            (int(values.get("early_stopping_rounds") or 0), bool(values.get("first_metric_only"))),
        )

    def gains_of(self, labels: Floats) -> Floats:
        """Return the gains of labels where they are given, else the labels."""
        if self.gains is None:
            return labels
        wrong = np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels >= len(self.gains)))
        if len(wrong):
            raise InvalidInputError(
                f"y: expected labels from 0 to {len(self.gains) - 1}, which label_gain names, got "
                f"{labels[wrong[0]]:g} at row {wrong[0]}. Give label_gain more values, or other labels."
            )
        return self.gains[labels.astype(np.int64)]

    def metric_list(self, more: Any, depths: Any) -> list[tuple[str, list[int]] | Callable[..., Any]]:
        """Return what the eval sets are measured with: names with their depths, and functions after them."""
        metrics = [] if more is None else list(more) if isinstance(more, list | tuple) else [more]
        own = ["ndcg"] if self.metrics is None else self.metrics
        names = dict.fromkeys([*_names_of([metric for metric in metrics if not callable(metric)]), *own])
        at = _depths(depths if self.eval_at is None else self.eval_at)
        chosen: list[tuple[str, list[int]] | Callable[..., Any]] = []
        for name in names:
            symbol, _, depth = name.partition("@")
            if symbol not in MEASURES or (depth and not depth.isdecimal()):
                raise InvalidInputError(
                    f"metric: expected ndcg, map or a function, got {shown(name)}. Leave it out, or pass a function "
                    "f(y_true, y_pred) as eval_metric."
                )
            chosen.append((symbol, [int(depth)] if depth else at))
        return chosen + [metric for metric in metrics if callable(metric)]


def _depths(value: Any) -> list[int]:
    """Return the depths that measures are cut at, in order: of a number, a list, or a text with commas."""
    try:
        depths = sorted(
            map(int, value.split(",") if isinstance(value, str) else np.atleast_1d(() if value is None else value))
        )
    except (TypeError, ValueError):
        raise InvalidInputError(f"eval_at: expected whole numbers, got {shown(value)}. Pass e.g. [1, 10].") from None
    return depths or [1, 2, 3, 4, 5]


def _label_gain(value: Any) -> Floats | None:
    if value is None:
        return None
    try:
        gains = np.array(value.split(",") if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        gains = np.empty((0, 0))
    if gains.ndim != 1 or (np.diff(gains) < 0).any():
        raise InvalidInputError(f"label_gain: expected gains that do not fall, got {shown(value)}. Order them.")
    return gains


def _seed(seed: Any) -> int:
    """Return a seed; a generator draws one, as in LightGBM."""
    draw = getattr(seed, "integers", getattr(seed, "randint", None))
    return int(seed or 0) if draw is None else int(draw(2**31 - 1))


def _threads(number: int | None) -> int | None:
    """Return the number of threads: -2 is all but one, as in joblib."""
    return None if not number else number if number > 0 else max(1, cores() + 1 + number)


def _names_of(metrics: Any) -> list[str]:
    """Return the names of metrics, one of which may be a list with commas; none for "None" and the like."""
    names = [metrics] if isinstance(metrics, str) or metrics is None else list(metrics)
    single = [part.strip() for name in names for part in str(name).split(",")]
    aliases = {"mean_average_precision": "map", "lambdarank": "ndcg", "rank_xendcg": "ndcg"}
    return [aliases.get(name, name) for name in single if name.lower() not in ("none", "", "null", "na", "custom")]


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Rows that are measured after each iteration, in the order of the arguments of `fit`.

    weights        (n_rows,) float64, None for none; a query has their mean, as in LightGBM
    X, init_score  features and base scores
    """

    name: str
    labels: Floats
    gains: Floats
    ptr: Ints
    weights: Floats | None
    settings: Settings
    X: Any = None
    init_score: Any = None

    def results(self, metrics: Iterable[Any], scores: Floats) -> list[lightgbm.EvalResult]:
        """Return the figures at scores (n_rows,)."""
        order = np.lexsort((-scores, query_rows(self.ptr)))
        results = []
        for metric in metrics:
            if callable(metric):
                results += [lightgbm.EvalResult(self.name, *figure) for figure in self._of_function(metric, scores)]
            else:
                results += self._built_in(metric, order)
        return results

    def _built_in(self, metric: tuple[str, list[int]], order: Ints) -> list[lightgbm.EvalResult]:
        name, depths = metric
        labels = self.gains if name == "ndcg" else self.labels
        ideal, ideal_ptr = ideal_of_rows(labels, self.ptr)
        lists = RankedLists(labels[order], self.ptr, ideal, ideal_ptr)
        relevant = np.diff(ideal_ptr)
        symbol = self.settings.parameters["metric"] if name == "ndcg" else MEASURES[name]
        sizes = np.diff(self.ptr)
        weights = None  # of a query without rows 0
        if self.weights is not None:
            weights = np.bincount(query_rows(self.ptr), self.weights, len(sizes)) / np.maximum(sizes, 1)
        results = []
        for depth in depths:
            values = parse_measure(f"{symbol}@{depth}").scores(lists)
            if name == "map":
                values = values * relevant / np.clip(relevant, 1, depth)
            mean = np.average(np.where(relevant > 0, values, 1.0), weights=weights)
            results.append(lightgbm.EvalResult(self.name, f"{name}@{depth}", float(mean), True))
        return results

    def _of_function(self, function: Callable[..., Any], scores: Floats) -> list[tuple[str, float, bool]]:
        """Return what a function (labels, scores[, weights[, group sizes]]) returns, as a list."""
        n_taken = len(inspect.signature(function).parameters)
        result = function(*(self.labels, scores, self.weights, np.diff(self.ptr))[:n_taken])
        return result if isinstance(result, list) else [result]


class Watcher(EarlyStopping):
    """Measures the eval sets after each iteration, and calls the callbacks, which see it as the model.

    All trees are kept, or those up to the best iteration of the callbacks.
    """

    def __init__(
        self, sets: list[EvalSet], metrics: list[Any], callbacks: Iterable[Any], params: dict[str, Any], training: str
    ) -> None:
        """Take the eval sets; training is the name of the one that is the training data, "" for none."""
        super().__init__(None, parse_measure(EXPONENTIAL), 1)
        self.valid: TrainingSet | None = None  # which has the rows of the eval sets
        self.boosters = [self]  # as `reset_parameter` of LightGBM asks for them
        self._sets = sets
        self._metrics = metrics
        self.params = params
        self._training = training
        called = list(callbacks)
        order = {id(callback): getattr(callback, "order", n - len(called)) for n, callback in enumerate(called)}
        called.sort(key=lambda callback: order[id(callback)])
        self._before = [callback for callback in called if getattr(callback, "before_iteration", False)]
        self._after = [callback for callback in called if not getattr(callback, "before_iteration", False)]
        self.learning_rate: float = params["learning_rate"]
        self.best_iteration = 0

    def reset_parameter(self, params: Mapping[str, Any]) -> Watcher:
        """Change the learning rate; no other parameter changes while trees are grown."""
        values = {ALIASES.get(name, name): value for name, value in params.items()}
        for name in values:
            if name != "learning_rate":
                raise InvalidInputError(f"reset_parameter: expected learning_rate, got {shown(name)}. Leave it out.")
        self.learning_rate = float(values["learning_rate"])
        return self

    @property
    def step_length(self) -> StepLength | None:
        """What returns the factor of each tree, after the callbacks before an iteration; None without such."""
        return self._step if self._before else None

    def _step(self, scores: Floats, values: Floats) -> float:
        for callback in self._before:
            self._call(callback, None)
        return self.learning_rate

    def add(self, scores: Floats) -> bool:
        """Take the scores of all rows of the eval sets, in canonical order, after one more iteration."""
        by_row = np.empty(len(scores))
        by_row[slice(None) if self.valid is None else self.valid.order] = scores
        ends = np.cumsum([len(of_set.labels) for of_set in self._sets], dtype=np.int64)
        results = []
        for of_set, of_rows in zip(self._sets, np.split(by_row, ends[:-1]), strict=False):
            results += of_set.results(self._metrics, of_rows)
        self._stopped = any(self._call(callback, results) for callback in self._after)
        self._iteration += 1
        self.best = self.best_iteration or self._iteration
        return True

    def _call(self, callback: Any, results: Any) -> bool:
        """Return whether a callback ends the training."""
        model: Any = self
        n_trees = self.params["n_estimators"]
        if getattr(callback, "order", None) == STOPS and results:  # which the training data do not stop
            results = [figure for figure in results if figure.dataset_name != self._training]
            if not results:
                if self._iteration == 0:
                    log.warning("early stopping: no effect, as the only eval set is the training data")
                return False
        try:
            callback(lightgbm.callback.CallbackEnv(model, self.params, self._iteration, 0, n_trees, results))
        except Exception as error:
            if not hasattr(error, "best_iteration"):
                raise callback_fault(error, self._iteration + 1) from error
            self.best_iteration = int(error.best_iteration) + 1
            return True
        return False


class WatchedTrees(BoostedTrees):
    """Boosted trees whose training a `Watcher` follows: the only callback that they are given."""

    def _stopping(self, valid: TrainingSet | None, context: TrainingContext, judged: Any = None) -> EarlyStopping:
        watcher: Any = context.callbacks[0]
        self._watcher: Watcher = watcher
        watcher.valid = valid
        return self._watcher

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        return self._watcher.step_length


class WatchedLambdaMART(WatchedTrees, LambdaMART):
    """The ranker of the objective lambdarank."""


class WatchedMART(WatchedTrees, MART):
    """The ranker of the objective rank_xendcg."""

    def _unit(self, train: TrainingSet) -> float:
        return 1.0  # trees go on from scores as they are, as LightGBM's do


class LGBMRanker(lightgbm.LGBMRanker):
    """A ranker with LightGBM's interface, which trains `rerank.LambdaMART`, or MART for the objective rank_xendcg.

    Parameters and attributes are LightGBM's; `subsample` draws queries. Values that need what this package does not
    have are refused by `fit`.

    Attributes
    ----------
    ranker_ : rerank.LambdaMART or rerank.MART
        The model, for all that this package does with rankers.
    booster_ : lightgbm.Booster
        The same trees, those that training started from before them.
    best_iteration_ : int
        Number of trees with the best figure, where training was stopped early; 0 otherwise.
    best_score_, evals_result_ : dict
        Figures at the best iteration, and after each: {"valid_0": {"ndcg@1": [0.4, 0.5]}}.

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
            Data that are measured after each iteration. The training data themselves are called "training".
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
        settings = Settings.of(self.get_params())
        categories = {} if isinstance(categorical_feature, str | None) else {"categorical_feature": categorical_feature}
        if categories and not isinstance(feature_name, str | None):  # names that the ranker gets afterwards
            numbers_of = {name: number for number, name in enumerate(feature_name)}
            categories["categorical_feature"] = [numbers_of.get(name, name) for name in categorical_feature]
        labels = finite_column("y", y, len(y))
        pairs = _eval_pairs(eval_set, eval_X, eval_y)
        training = [number for number, pair in enumerate(pairs) if pair[0] is X and pair[1] is y]
        names = _eval_names(eval_names, len(pairs), training)
        if pairs and (eval_group is None or len(eval_group) != len(pairs)):
            got = "none" if eval_group is None else str(len(eval_group))
            raise InvalidInputError(
                f"eval_group: expected {len(pairs)} lists of sizes, one for each eval set, got {got}. Pass a list."
            )
        sets = [
            _eval_set(name, pair, eval_group[n], _of(eval_sample_weight, n), _of(eval_init_score, n), settings)
            for n, (name, pair) in enumerate(zip(names, pairs, strict=True))
        ]
        sets.sort(key=lambda of_set: of_set.name not in {names[number] for number in training})
        of_training = names[training[0]] if training else ""
        stop, first_only = settings.stop
        called = list(callbacks or ())
        if early_stopping_rounds or stop:
            called.append(lightgbm.early_stopping(early_stopping_rounds or stop, first_only, verbose=bool(verbose)))
        called += [lightgbm.log_evaluation(int(verbose))] if verbose and int(verbose) > 0 else []
        metrics = settings.metric_list(eval_metric, eval_at)
        params = {**self.get_params(), **settings.parameters}
        history: dict[str, dict[str, list[float]]] = {}
        recorder: Any = lightgbm.record_evaluation(history)
        recorder.order = -np.inf  # before callbacks that end the training
        called.append(recorder)
        watcher = Watcher(sets, metrics if sets else [], called, params, of_training)
        base = init_model.booster_ if isinstance(init_model, lightgbm.LGBMModel) else init_model
        if isinstance(base, str):
            base = lightgbm.Booster(model_str=base) if base.startswith("tree\n") else Path(base)
        trained = settings.kind(**{**settings.parameters, **categories}, base=base)
        trained.fit(
            X,
            settings.gains_of(labels) if isinstance(trained, LambdaMART) else labels,
            group=_sizes("group", group),
            init_score=init_score,
            sample_weight=sample_weight,
            callbacks=[watcher],  # type: ignore[list-item]
            **_joined(sets, category_values(X)),
        )
        kind = LambdaMART if isinstance(trained, LambdaMART) else MART
        ranker: BoostedTrees = kind.from_dict(trained.to_dict())  # without the callbacks
        if not isinstance(feature_name, str) and feature_name is not None:
            if len(set(feature_name)) != len(feature_name) or len(feature_name) != ranker.n_features_in_:
                raise InvalidInputError(
                    f"feature_name: expected {ranker.n_features_in_} different names, got {shown(list(feature_name))}."
                )
            ranker.feature_names_ = tuple(map(str, feature_name))
        trees = tree_model(ranker, "lightgbm")
        if isinstance(feature_name, str | None) and not hasattr(ranker, "feature_names_in_"):  # as LightGBM names them
            columns = names_of(X) if is_frame(X) else [f"Column_{number}" for number in range(trees.n_features)]
            trees = replace(trees, feature_names=tuple(map(str, columns)))
        booster = lightgbm.Booster(model_str=model_text(trees))
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
        """Return what LightGBM's `predict` does, also of all columns of frames that `fit` takes."""
        return super().predict(_of_numbers(X), *arguments, **named)


def _eval_set(
    name: str, pair: tuple[Any, Any], group: Any, weights: Any, init_score: Any, settings: Settings
) -> EvalSet:
    """Return an eval set, checked."""
    labels = finite_column("eval_set", pair[1], len(pair[1]))
    ptr = pointers(_sizes("eval_group", group))
    if ptr[-1] != len(labels):
        raise InvalidInputError(
            f"eval_group: expected sizes that add up to the {len(labels)} rows of {name}, got {ptr[-1]}."
        )
    weights = None if weights is None else finite_column("eval_sample_weight", weights, len(labels))
    return EvalSet(name, labels, settings.gains_of(labels), ptr, weights, settings, pair[0], init_score)


def _of(values: Any, number: int) -> Any:
    """Return what belongs to one eval set, of a list or a dict."""
    return None if values is None else values.get(number) if isinstance(values, dict) else values[number]


def _joined(sets: list[EvalSet], categories: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the arguments of `Ranker.fit` with the rows of all eval sets; `categories` are those of training."""
    if not sets:
        return {}
    X = sets[0].X if len(sets) == 1 else _joined_rows([of_set.X for of_set in sets], categories)
    scores = [of_set.init_score for of_set in sets]
    return {
        "eval_set": (X, np.concatenate([of_set.gains for of_set in sets])),
        "eval_group": np.concatenate([np.diff(of_set.ptr) for of_set in sets]),
        "eval_init_score": None if scores[0] is None else np.concatenate([np.asarray(part) for part in scores]),
    }


def _joined_rows(parts: Sequence[Any], categories: Mapping[str, list[Any]]) -> Any:
    """Return the rows of several eval sets: a data frame of frames, with the categories of training."""
    if not all(hasattr(part, "assign") for part in parts):
        return np.concatenate([feature_matrix(part) for part in parts])
    import pandas as pd

    for part in parts:
        coded(part, categories)  # refuses a column that has none
    kinds = {name: pd.CategoricalDtype(categories[str(name)]) for name in parts[0] if str(name) in categories}
    return pd.concat([part.astype(kinds) for part in parts], ignore_index=True)


def _eval_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    if eval_set is not None:
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if eval_X is None:
        return []
    several = isinstance(eval_X, list | tuple)
    return list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]


def _eval_names(chosen: Sequence[str] | None, n_sets: int, training: list[int]) -> list[str]:
    names = ["training" if number in training else f"valid_{number}" for number in range(n_sets)]
    own = [chosen] if isinstance(chosen, str) else list(chosen or ())
    return [*own[:n_sets], *names[len(own) :]]


def _sizes(what: str, group: Any) -> Any:
    """Return sizes as whole numbers: files of LightGBM's are read as float64."""
    if group is None:
        raise InvalidInputError(f"{what}: expected the number of rows of each query, got none. Pass {what}=.")
    sizes = numbers(what, group)
    whole = sizes.astype(np.int64)
    return whole if (whole == sizes).all() else sizes


def _of_numbers(X: Any) -> Any:
    """Return a frame of pandas with float64 in place of Arrow's and Python's numbers, which LightGBM refuses."""
    if not (hasattr(X, "items") and hasattr(X, "dtypes")):
        return X
    plain = X.copy(deep=False)
    for name, column in X.items():
        if hasattr(column.dtype, "pyarrow_dtype") or (column.dtype.kind == "O" and not hasattr(column, "cat")):
            plain[name] = numbers("X", column, name)
    return plain


def _logged(name: str) -> Callable[..., Any]:
    """Return a function of LightGBM's that trains, and says that it does so itself."""
    function = getattr(lightgbm, name)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        log.warning("lightgbm.%s: trains with LightGBM itself; LGBMRanker of this module trains with rerank.", name)
        return function(*arguments, **named)

    return call


train = _logged("train")
cv = _logged("cv")


def __getattr__(name: str) -> Any:
    """Return what LightGBM has beside this module."""
    return getattr(lightgbm, name)
