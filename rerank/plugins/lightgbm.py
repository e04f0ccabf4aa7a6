"""`LGBMRanker` of LightGBM: its parameters, arguments and attributes, for models of this package.

A script that trains one runs after `from lightgbm import LGBMRanker` has become `from rerank.plugins.lightgbm import
LGBMRanker`, or `import lightgbm as lgb` has become `import rerank.plugins.lightgbm as lgb`. LightGBM need not be
installed; where it is, `fit` takes its callbacks. A parameter that changes the model and has no counterpart is refused;
one that does not, such as `force_row_wise`, has no effect.

Figures are LightGBM's: nDCG has the gain 2^label - 1 (or `label_gain`), a query without a relevant document counts as
1, AP at k is divided by at most k, and equal scores keep the order of the rows.
"""

from __future__ import annotations

import inspect
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.exchange.lightgbm import model_text
from rerank.exchange.models import export_model, import_model
from rerank.exchange.write import tree_model
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.rankers.arrays import category_values, coded, feature_matrix, number_column, numbers
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.context import EarlyStopping, TrainingContext, callback_fault
from rerank.rankers.estimator import Estimator, not_fitted
from rerank.rankers.imported import ImportedTrees
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.other_names import SAME
from rerank.rankers.parameters import check_names
from rerank.rankers.plots import BAR_COLOR, ROW_HEIGHT, new_axes
from rerank.rankers.plots import plot_tree as plot_tree_of
from rerank.rankers.ranker import Ranker
from rerank.rankers.training import TrainingSet
from rerank.rankers.warm_start import GivenScoresBase, ModelBase
from rerank.runtime.threads import cores
from rerank.trees.boost import StepLength
from rerank.trees.forest import trees_between
from rerank.trees.leafwise import CAT_L2, CAT_SMOOTH, MAX_CAT_THRESHOLD, MAX_CAT_TO_ONEHOT, MIN_DATA_PER_GROUP
from rerank.trees.score import leaves_of
from rerank.types import Floats, Ints, ideal_of_rows, pointers, query_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

log = logging.getLogger("rerank")
MEASURES = {"ndcg": "nDCG", "map": "AP"}
EXPONENTIAL = "nDCG(dcg='exp-log2')"  # gain 2^label - 1
OWN = """n_estimators learning_rate num_leaves max_depth min_child_samples min_child_weight min_split_gain reg_alpha
reg_lambda max_bin colsample_bytree truncation_level normalize sigma monotone_constraints interaction_constraints
categorical_feature extra_trees"""
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
SIZES = {"n_estimators": 100, "num_leaves": 31, "min_child_samples": 20}  # where they are None
OF_LIGHTGBM = (
    "dump_model",
    "trees_to_dataframe",
    "get_leaf_output",
    "get_split_value_histogram",
    "lower_bound",
    "upper_bound",
    "num_model_per_iteration",
)
KNOWN = (*OF_RANKER, *ONLY, *READ.split(), *WITHOUT_EFFECT.split())


class EvalResult(NamedTuple):
    """A figure of an eval set after an iteration."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool

    @property
    def metric_std_dev(self) -> None:
        """No deviation: there are no folds."""
        return

    def is_cv_result(self) -> bool:
        """Return False."""
        return False


@dataclass
class CallbackEnv:
    """What a callback of LightGBM is called with."""

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult] | None


class EarlyStopException(Exception):
    """Raised by a callback to end the training, with the best iteration (from 0) and its figures."""

    def __init__(self, best_iteration: int, best_score: Sequence[EvalResult]) -> None:
        super().__init__(best_iteration, best_score)
        self.best_iteration, self.best_score = best_iteration, best_score


class MissingLightGBMError(RerankError, AttributeError):
    """Raised for an attribute that LightGBM has, where it is not installed."""


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
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read the parameters; another name of one overrides it, as in LightGBM."""
        present = {name: value for name, value in given.items() if value is not None}
        values = SIZES | {name: value for name, value in present.items() if name in KNOWN}
        values |= {ALIASES[name]: value for name, value in present.items() if name not in KNOWN and name in ALIASES}
        check_names("LGBMRanker", [name for name in given if name not in ALIASES], KNOWN)
        for name, same in ONLY.items():
            if values.get(name, same[0]) not in same:
                raise InvalidInputError(
                    f"{name}: expected {' or '.join(map(repr, same))}, got {shown(values[name])}. Leave it out."
                )
        parameters = {name: values[name] for name in OF_RANKER if name in values}
        if values.get("subsample_freq", 0) > 0:
            parameters["subsample"] = values.get("subsample", 1.0)
        gains, metrics = _label_gain(values.get("label_gain")), values.get("metric")
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
        given = [] if more is None else list(more) if isinstance(more, list | tuple) else [more]
        own = ["ndcg"] if self.metrics is None else self.metrics
        names = dict.fromkeys([*_names_of([each for each in given if not callable(each)]), *own])
        at = [int(depth) for depth in np.atleast_1d(depths if self.eval_at is None else self.eval_at)]
        chosen: list[tuple[str, list[int]] | Callable[..., Any]] = []
        for name in names:
            symbol, _, depth = name.partition("@")
            if symbol not in MEASURES or (depth and not depth.isdecimal()):
                raise InvalidInputError(
                    f"metric: expected ndcg, map or a function, got {shown(name)}. Leave it out, or pass a function "
                    "f(y_true, y_pred) as eval_metric."
                )
            chosen.append((symbol, [int(depth)] if depth else at))
        return chosen + [each for each in given if callable(each)]


def _label_gain(given: Any) -> Floats | None:
    if given is None:
        return None
    try:
        gains = np.array(given.split(",") if isinstance(given, str) else given, dtype=np.float64)
    except (TypeError, ValueError):
        gains = np.empty((0, 0))
    if gains.ndim != 1 or (np.diff(gains) < 0).any():
        raise InvalidInputError(f"label_gain: expected gains that do not fall, got {shown(given)}. Order them.")
    return gains


def _seed(given: Any) -> int:
    """Return a seed; a generator draws one, as in LightGBM."""
    draw = getattr(given, "integers", getattr(given, "randint", None))
    return int(given or 0) if draw is None else int(draw(2**31 - 1))


def _threads(given: int | None) -> int | None:
    """Return the number of threads: -2 is all but one, as in joblib."""
    return None if not given else given if given > 0 else max(1, cores() + 1 + given)


def _names_of(metrics: Any) -> list[str]:
    """Return the names of metrics, one of which may be a list with commas; none for "None" and the like."""
    names = [metrics] if isinstance(metrics, str) or metrics is None else list(metrics)
    single = [part.strip() for name in names for part in str(name).split(",")]
    aliases = {"mean_average_precision": "map", "lambdarank": "ndcg", "rank_xendcg": "ndcg"}
    return [aliases.get(name, name) for name in single if name.lower() not in ("none", "", "null", "na", "custom")]


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Rows that are measured after each iteration, in the order in which they were given.

    weights  (n_rows,) float64, None for none; a query has their mean, as in LightGBM
    """

    name: str
    labels: Floats
    gains: Floats
    ptr: Ints
    weights: Floats | None
    settings: Settings

    def results(self, metrics: Iterable[Any], scores: Floats) -> list[EvalResult]:
        """Return the figures at scores (n_rows,)."""
        order, results = np.lexsort((-scores, query_rows(self.ptr))), []
        for metric in metrics:
            if callable(metric):
                results += [EvalResult(self.name, *each) for each in self._of_function(metric, scores)]
            else:
                results += self._built_in(metric, order)
        return results

    def _built_in(self, metric: tuple[str, list[int]], order: Ints) -> list[EvalResult]:
        name, depths = metric
        labels = self.gains if name == "ndcg" else self.labels
        ideal, ideal_ptr = ideal_of_rows(labels, self.ptr)
        lists, relevant = RankedLists(labels[order], self.ptr, ideal, ideal_ptr), np.diff(ideal_ptr)
        symbol = self.settings.parameters["metric"] if name == "ndcg" else MEASURES[name]
        weights = None if self.weights is None else np.add.reduceat(self.weights, self.ptr[:-1]) / np.diff(self.ptr)
        results = []
        for depth in depths:
            values = parse_measure(f"{symbol}@{depth}").scores(lists)
            if name == "map":
                values = values * relevant / np.clip(relevant, 1, depth)
            mean = np.average(np.where(relevant > 0, values, 1.0), weights=weights)
            results.append(EvalResult(self.name, f"{name}@{depth}", float(mean), True))
        return results

    def _of_function(self, function: Callable[..., Any], scores: Floats) -> list[tuple[str, float, bool]]:
        """Return what a function (labels, scores[, weights[, group sizes]]) returns, as a list."""
        n_taken = len(inspect.signature(function).parameters)
        result = function(*(self.labels, scores, self.weights, np.diff(self.ptr))[:n_taken])
        return result if isinstance(result, list) else [result]


class Watcher:
    """Measures the eval sets after each iteration, and calls the callbacks, which see it as the model."""

    def __init__(
        self, sets: list[EvalSet], metrics: list[Any], callbacks: Iterable[Any], params: dict[str, Any], training: str
    ) -> None:
        """Take the eval sets; training is the name of the one that is the training data, "" for none."""
        self.boosters = [self]  # as `reset_parameter` of LightGBM asks for them
        self._sets, self._metrics, self.params, self._training = sets, metrics, params, training
        given = list(callbacks)
        order = {id(each): getattr(each, "order", number - len(given)) for number, each in enumerate(given)}
        ordered = sorted(given, key=lambda each: order[id(each)])
        self._before = [each for each in ordered if getattr(each, "before_iteration", False)]
        self._after = [each for each in ordered if not getattr(each, "before_iteration", False)]
        self.learning_rate: float = params["learning_rate"]
        self.best_iteration = self._iteration = 0
        self.results: list[list[EvalResult]] = []

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

    def after(self, scores: Floats) -> bool:
        """Take the scores of all rows of the eval sets after one more iteration; return whether training ends."""
        results, first = [], 0
        for each in self._sets:
            last = first + len(each.labels)
            results += each.results(self._metrics, scores[first:last])
            first = last
        self.results.append(results)
        stopped = False
        for callback in self._after:
            stopped = stopped or self._call(callback, results)
        self._iteration += 1
        return stopped

    def _call(self, callback: Any, results: list[EvalResult] | None) -> bool:
        """Return whether a callback ends the training."""
        n_trees = self.params["n_estimators"]
        if getattr(callback, "order", None) == STOPS and results:  # which the training data do not stop
            results = [each for each in results if each.dataset_name != self._training]
            if not results:
                return self._does_not_stop()
        try:
            callback(CallbackEnv(self, self.params, self._iteration, 0, n_trees, results))
        except Exception as error:
            if not hasattr(error, "best_iteration"):
                raise callback_fault(error, self._iteration + 1) from error
            self.best_iteration = int(error.best_iteration) + 1
            return True
        return False

    def _does_not_stop(self) -> bool:
        """Say once that the training data alone do not stop a training, and return False."""
        if self._iteration == 0:
            log.warning("early stopping: no effect, as the only eval set is the training data")
        return False

    def history(self) -> dict[str, dict[str, list[float]]]:
        """Return the figures of each iteration by eval set and metric."""
        figures: dict[str, dict[str, list[float]]] = {}
        for each in (each for results in self.results for each in results):
            figures.setdefault(each.dataset_name, {}).setdefault(each.metric_name, []).append(each.metric_value)
        return figures

    def best_score(self) -> dict[str, dict[str, float]]:
        """Return the figures of the best iteration, of the last one where none is known."""
        best: dict[str, dict[str, float]] = defaultdict(dict)
        for each in self.results[min(self.best_iteration, len(self.results)) - 1] if self.results else []:
            best[each.dataset_name][each.metric_name] = each.metric_value
        return best


class WatchedStopping(EarlyStopping):
    """Hands the scores of the eval sets on; all trees are kept, or those up to the best iteration of the callbacks."""

    def __init__(self, valid: TrainingSet | None, watcher: Watcher, metric: str) -> None:
        super().__init__(None, parse_measure(metric), 1)
        self._valid, self._watcher = valid, watcher

    @property
    def data(self) -> TrainingSet | None:
        """The rows of all eval sets."""
        return self._valid

    def add(self, scores: Floats) -> bool:
        """Take the scores after one more iteration, in canonical order."""
        self._iteration += 1
        self.best = self._iteration
        given = np.empty(len(scores))
        given[slice(None) if self._valid is None else self._valid.order] = scores
        self._stopped = self._watcher.after(given)
        self.best = self._watcher.best_iteration or self._iteration
        return True


class WatchedTrees(BoostedTrees):
    """Boosted trees whose training a `Watcher` follows: the only callback that they are given."""

    def _stopping(self, valid: TrainingSet | None, context: TrainingContext, judged: Any = None) -> EarlyStopping:
        watcher: Any = context.callbacks[0]
        self._watcher = watcher
        return WatchedStopping(valid, watcher, self.metric)

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        step: StepLength | None = self._watcher.step_length
        return step


class WatchedLambdaMART(WatchedTrees, LambdaMART):
    """The ranker of the objective lambdarank."""


class WatchedMART(WatchedTrees, MART):
    """The ranker of the objective rank_xendcg."""


class Booster:
    """A model of trees, with the methods of LightGBM's `Booster` that read it.

    `dump_model`, `trees_to_dataframe` and others (`OF_LIGHTGBM`) are LightGBM's own, which must be installed for them.

    Parameters
    ----------
    model_file : str or Path
        A model file of LightGBM.
    trained : Ranker
        Instead of a file: a fitted ranker of trees.

    Attributes
    ----------
    ranker : Ranker
        The ranker of this package.
    best_iteration : int
        Number of trees where training was stopped early, 0 otherwise.

    """

    def __init__(self, model_file: str | Path | None = None, *, trained: Ranker | None = None) -> None:
        self.ranker: Any = import_model(model_file, format="lightgbm") if trained is None else trained
        self.best_iteration = 0

    def part(self, start_iteration: int = 0, num_iteration: int | None = None) -> Any:
        """Return a ranker with some of the trees.

        Parameters
        ----------
        start_iteration : int
            The first tree.
        num_iteration : int or None
            Number of trees; None, 0 or below for all that follow.

        Returns
        -------
        Ranker
            The ranker.

        """
        first, count = min(max(start_iteration, 0), self.num_trees()), num_iteration or 0
        last = min(first + count, self.num_trees()) if count > 0 else self.num_trees()
        if (first, last) == (0, self.num_trees()):
            return self.ranker
        ranker = copy(self.ranker)
        ranker.forest_, ranker.best_iteration_ = trees_between(ranker.forest_, first, last), last - first
        return ranker

    def predict(
        self,
        data: Any,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
    ) -> Any:
        """Return scores, leaves or contributions.

        Parameters
        ----------
        data : array, data frame or sparse matrix of shape (n_rows, n_features)
            Features.
        start_iteration, num_iteration : int
            See `part`.
        raw_score : bool
            No effect: scores are raw.
        pred_leaf : bool
            Whether to return the leaf of each tree, (n_rows, n_trees).
        pred_contrib : bool
            Whether to return SHAP values, (n_rows, n_features + 1), the expected score last.

        Returns
        -------
        ndarray
            Scores of shape (n_rows,), or what is asked for.

        """
        ranker = self.part(start_iteration, num_iteration)
        if pred_leaf:
            return leaves_of(ranker.forest_, ranker._matrix(data)).astype(np.int32)
        n_rows = data.shape[0] if hasattr(data, "shape") else len(data)
        start = np.zeros(n_rows) if isinstance(ranker.base_, GivenScoresBase) else None
        return (ranker.contributions if pred_contrib else ranker.predict)(data, init_score=start)

    def feature_importance(self, importance_type: str = "split", iteration: int | None = None) -> Any:
        """Return how often each feature is tested, or the gain of its splits.

        Parameters
        ----------
        importance_type : str
            "split" for the number of splits, "gain" for the total gain.
        iteration : int or None
            Number of trees; see `part`.

        Returns
        -------
        ndarray of shape (n_features,)
            int32 for splits, float64 for gains.

        """
        forest = self.part(0, iteration).forest_
        if importance_type not in ("split", "gain"):
            raise InvalidInputError(f"importance_type: expected split or gain, got {shown(importance_type)}.")
        if importance_type == "gain":
            return forest.gains(self.num_feature())
        return np.bincount(forest.feature, minlength=self.num_feature()).astype(np.int32)

    def save_model(self, filename: str | Path, num_iteration: int | None = None, start_iteration: int = 0) -> Booster:
        """Write the model as a file of LightGBM.

        Parameters
        ----------
        filename : str or Path
            The file.
        num_iteration, start_iteration : int
            See `part`.

        Returns
        -------
        Booster
            The model itself.

        """
        export_model(self.part(start_iteration, num_iteration), filename, "lightgbm")
        return self

    def model_to_string(self, num_iteration: int | None = None, start_iteration: int = 0) -> str:
        """Return the text of LightGBM's model file.

        Parameters
        ----------
        num_iteration, start_iteration : int
            See `part`.

        Returns
        -------
        str
            The text.

        """
        return model_text(tree_model(self.part(start_iteration, num_iteration), "lightgbm"), "lightgbm")

    def to_lightgbm(self) -> Any:
        """Return the model as a `Booster` of LightGBM, for what only reads those, such as shap's TreeExplainer.

        Returns
        -------
        lightgbm.Booster
            A copy.

        Raises
        ------
        RerankError
            If LightGBM is not installed.

        """
        return _lightgbm("to_lightgbm").Booster(model_str=self.model_to_string())

    def __getattr__(self, name: str) -> Any:
        """Return a method that LightGBM's booster has for models that it reads."""
        if name not in OF_LIGHTGBM:
            raise AttributeError(f"Booster has no {name}")
        return getattr(self.to_lightgbm(), name)

    def feature_name(self) -> list[str]:
        """Return the names of the features.

        Returns
        -------
        list of str
            "Column_0", ... where none were given.

        """
        names = [str(name) for name in self.ranker.feature_names_]
        numbered = names == [str(number + 1) for number in range(len(names))]
        return [f"Column_{number}" for number in range(len(names))] if numbered else names

    def num_feature(self) -> int:
        """Return the number of features.

        Returns
        -------
        int
            The number.

        """
        return int(self.ranker.n_features_in_)

    def num_trees(self) -> int:
        """Return the number of trees; those after the best iteration are not kept.

        Returns
        -------
        int
            The number.

        """
        return int(self.ranker.forest_.n_trees)

    current_iteration = num_trees


class LGBMRanker(Estimator):
    """A ranker with LightGBM's interface, which trains `rerank.LambdaMART`, or MART for the objective rank_xendcg.

    Parameters
    ----------
    boosting_type, objective, class_weight
        Only the values that mean what this package does: "gbdt", "lambdarank" or "rank_xendcg", and None.
    num_leaves, max_depth, learning_rate, n_estimators, min_split_gain, min_child_weight, min_child_samples
        As in `rerank.LambdaMART`.
    colsample_bytree, reg_alpha, reg_lambda
        As in `rerank.LambdaMART`.
    subsample, subsample_freq
        Share of the queries that each tree is trained on; without effect where subsample_freq is 0, as in LightGBM.
    random_state : int, RandomState, Generator or None
        Random seed; None is 0.
    n_jobs : int or None
        Number of threads; negative as in joblib. The model is the same for any number.
    importance_type : str
        What `feature_importances_` are: "split" or "gain".
    subsample_for_bin
        No effect.
    **kwargs
        Further parameters of LightGBM, and other names of those above: metric, eval_at, label_gain, max_bin,
        lambdarank_truncation_level, lambdarank_norm, sigmoid, monotone_constraints, interaction_constraints,
        early_stopping_rounds, first_metric_only, verbosity, ...

    Attributes
    ----------
    ranker_ : rerank.LambdaMART or rerank.MART
        The model, for all that this package does with rankers.
    booster_ : Booster
        The same model, with methods of LightGBM's `Booster`.
    best_iteration_ : int
        Number of trees with the best figure, where training was stopped early; 0 otherwise.
    best_score_ : dict
        Figures at the best iteration, or at the last: {"valid_0": {"ndcg@1": 0.5}}.
    evals_result_ : dict
        Figures after each iteration: {"valid_0": {"ndcg@1": [0.4, 0.5]}}.
    feature_name_, feature_names_in_, n_features_, n_features_in_, n_estimators_, n_iter_, objective_, fitted_
        As in LightGBM.

    Raises
    ------
    InvalidInputError
        For a value that this package does not have.
    UnknownParameterError
        For a name that LightGBM does not have.

    """

    takes_any_name: ClassVar[bool] = True

    def __init__(
        self,
        *,
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample_for_bin: int = 200_000,
        objective: str | None = None,
        class_weight: None = None,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        **kwargs: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "kwargs")}
        self._names: tuple[str, ...] = ()
        self.set_params(**given, **kwargs)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as they were given.

        Parameters
        ----------
        deep : bool
            No effect: no value is an estimator.

        Returns
        -------
        dict
            The parameters.

        """
        return {name: getattr(self, name) for name in self._names}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters by name.

        Parameters
        ----------
        **parameters : object
            New values by name.

        Returns
        -------
        LGBMRanker
            The ranker itself.

        """
        present = self.get_params()
        Settings.of({**present, **parameters})
        vars(self).update(parameters)
        self._names = tuple({**present, **parameters})
        return self

    def fit(
        self,
        X: Any,
        y: ArrayLike,
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
            `early_stopping`, `log_evaluation`, `record_evaluation` and `reset_parameter` of this module or of LightGBM,
            or functions of a `CallbackEnv`. One that raises ends `fit` with one line, and leaves the ranker as it was.
        init_model : str, Path, Booster or LGBMRanker, optional
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
            categories["categorical_feature"] = [numbers_of.get(each, each) for each in categorical_feature]
        labels = _label_column("y", y)
        pairs = _eval_pairs(eval_set, eval_X, eval_y)
        training = [number for number, pair in enumerate(pairs) if pair[0] is X and pair[1] is y]
        names = _eval_names(eval_names, len(pairs), training)
        given = _Given(pairs, eval_group, eval_sample_weight, eval_init_score)
        sets = [given.eval_set(number, name, settings) for number, name in enumerate(names)]
        sets.sort(key=lambda each: each.name not in {names[number] for number in training})
        of_training = names[training[0]] if training else ""
        stop, first_only = settings.stop
        called = list(callbacks or ())
        if early_stopping_rounds or stop:
            called.append(early_stopping(early_stopping_rounds or stop, first_only, verbose=bool(verbose)))
        called += [log_evaluation(int(verbose))] if verbose and int(verbose) > 0 else []
        metrics = settings.metric_list(eval_metric, eval_at)
        params = {**self.get_params(), **settings.parameters}
        watcher = Watcher(sets, metrics if sets else [], called, params, of_training)
        base = getattr(init_model, "booster_", init_model)
        trained = settings.kind(
            **{**settings.parameters, **categories}, base=base.ranker if isinstance(base, Booster) else base
        )
        evaluated = given.joined([names.index(each.name) for each in sets], settings, category_values(X))
        trained.fit(
            X,
            settings.gains_of(labels) if isinstance(trained, LambdaMART) else labels,
            group=_sizes("group", group),
            init_score=init_score,
            sample_weight=sample_weight,
            callbacks=[watcher],  # type: ignore[list-item]
            **evaluated,
        )
        kind = LambdaMART if isinstance(trained, LambdaMART) else MART
        ranker: BoostedTrees = kind.from_dict(trained.to_dict())  # without the callbacks
        if not isinstance(feature_name, str) and feature_name is not None:
            _check_feature_names(feature_name, ranker.n_features_in_)
            ranker.feature_names_ = tuple(map(str, feature_name))
        self.booster_, self.ranker_ = Booster(trained=_with_earlier_trees(ranker)), ranker
        n_earlier = self.booster_.num_trees() - ranker.forest_.n_trees
        best = watcher.best_iteration + n_earlier if watcher.best_iteration else 0
        self.booster_.best_iteration = self.best_iteration_ = best
        self.best_score_ = watcher.best_score()
        self.evals_result_, self.objective_ = watcher.history(), self.objective or "lambdarank"  # type: ignore[attr-defined]
        self.n_features_ = self.n_features_in_ = ranker.n_features_in_
        self.n_estimators_ = self.n_iter_ = self.booster_.num_trees()
        self.feature_name_ = self.booster_.feature_name()
        self.feature_names_in_, self.fitted_ = np.array(self.feature_name_, dtype=object), True
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "booster_")

    @property
    def feature_importances_(self) -> Any:
        """Number of splits of each feature, or their total gain, as `importance_type` says, (n_features,)."""
        return self._fitted().feature_importance(self.importance_type)  # type: ignore[attr-defined]

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return scores, leaves or contributions.

        Parameters
        ----------
        X, raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib : as for `Booster.predict`
            Features, and what is returned.
        validate_features : bool
            No effect: names of columns are always checked.
        **kwargs : object
            No effect.

        Returns
        -------
        ndarray
            Scores of shape (n_rows,), or what is asked for.

        """
        return self._fitted().predict(X, start_iteration, num_iteration, raw_score, pred_leaf, pred_contrib)

    def _fitted(self) -> Booster:
        if not hasattr(self, "booster_"):
            raise not_fitted("LGBMRanker: expected a fitted ranker, got one that is not. Call fit first.")
        return self.booster_


@dataclass(frozen=True, eq=False)
class _Given:
    """Eval sets as `fit` is given them."""

    pairs: list[tuple[Any, Any]]
    groups: Any
    weights: Any
    init_scores: Any

    def eval_set(self, number: int, name: str, settings: Settings) -> EvalSet:
        """Return one of them with its labels, checked."""
        labels = _label_column("eval_set", self.pairs[number][1])
        if self.groups is None or len(self.groups) != len(self.pairs):
            got = "none" if self.groups is None else str(len(self.groups))
            raise InvalidInputError(
                f"eval_group: expected the sizes of the queries of {len(self.pairs)} eval sets, got {got}. Pass a list."
            )
        ptr = pointers(_sizes("eval_group", self.groups[number]))
        if ptr[-1] != len(labels):
            raise InvalidInputError(
                f"eval_group: expected sizes that add up to the {len(labels)} rows of {name}, got {ptr[-1]}."
            )
        weights = self._of(self.weights, number)
        weights = None if weights is None else number_column("eval_sample_weight", weights, len(labels))
        return EvalSet(name, labels, settings.gains_of(labels), ptr, weights, settings)

    def joined(self, numbers: list[int], settings: Settings, categories: Mapping[str, list[Any]]) -> dict[str, Any]:
        """Return the arguments of `Ranker.fit` with the rows of all eval sets; `categories` are those of training."""
        if not numbers:
            return {}
        sets = [self.eval_set(number, "", settings) for number in numbers]
        X = [self.pairs[number][0] for number in numbers]
        scores = [self._of(self.init_scores, number) for number in numbers]
        return {
            "eval_set": (
                X[0] if len(X) == 1 else _joined_rows(X, categories),
                np.concatenate([each.gains for each in sets]),
            ),
            "eval_group": np.concatenate([np.diff(each.ptr) for each in sets]),
            "eval_init_score": None if scores[0] is None else np.concatenate([np.asarray(part) for part in scores]),
        }

    @staticmethod
    def _of(values: Any, number: int) -> Any:
        """Return what belongs to one eval set, of a list or a dict."""
        if values is None:
            return None
        return values.get(number) if isinstance(values, dict) else values[number]


def _with_earlier_trees(ranker: Ranker) -> Ranker:
    """Return a ranker with the trees that it started from, and its own after them, as LightGBM's `init_model`."""
    if not isinstance(ranker.base_, ModelBase) or not isinstance(ranker.base_.model, BoostedTrees | ImportedTrees):
        return ranker
    joined = ImportedTrees.of(tree_model(ranker, "init_model"), ranker.feature_names_, "lightgbm", ranker.recipe_)
    joined.categories_, joined.n_jobs = ranker.categories_, ranker.n_jobs
    return joined


def _joined_rows(parts: Sequence[Any], categories: Mapping[str, list[Any]]) -> Any:
    """Return the rows of several eval sets: a data frame of frames, with the categories of training."""
    if not all(hasattr(part, "assign") for part in parts):
        return np.concatenate([feature_matrix(part) for part in parts])
    import pandas as pd

    same = []
    for part in parts:
        coded(part, categories)  # refuses a column that has none
        rows = part.copy(deep=False)
        for column in [each for each in part.columns if str(each) in categories]:
            rows[column] = part[column].cat.set_categories(categories[str(column)])
        same.append(rows)
    return pd.concat(same, ignore_index=True)


def _label_column(what: str, labels: Any) -> Floats:
    """Return labels (n_rows,), also of one column (n_rows, 1)."""
    if getattr(labels, "shape", ())[1:] == (1,):
        labels = np.asarray(labels)[:, 0]
    return number_column(what, labels, len(labels))


def _eval_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    if eval_set is not None:
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if eval_X is None:
        return []
    several = isinstance(eval_X, list | tuple)
    return list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]


def _eval_names(given: Sequence[str] | None, n_sets: int, training: list[int]) -> list[str]:
    names = ["training" if number in training else f"valid_{number}" for number in range(n_sets)]
    own = [given] if isinstance(given, str) else list(given or ())
    return [*own[:n_sets], *names[len(own) :]]


def _sizes(what: str, group: Any) -> Any:
    """Return sizes as whole numbers: files of LightGBM's are read as float64."""
    if group is None:
        raise InvalidInputError(f"{what}: expected the number of rows of each query, got none. Pass {what}=.")
    sizes = numbers(what, group)
    whole = sizes.astype(np.int64)
    return whole if (whole == sizes).all() else sizes


def _check_feature_names(names: Sequence[str], n_features: int) -> None:
    if len(set(names)) != len(names) or len(names) != n_features:
        raise InvalidInputError(f"feature_name: expected {n_features} different names, got {shown(list(names))}.")


STOPS = 30  # order of callbacks that stop a training, in LightGBM too


def early_stopping(
    stopping_rounds: int, first_metric_only: bool = False, verbose: bool = True, min_delta: float | list[float] = 0.0
) -> Callable[[CallbackEnv], None]:
    """Return a callback that ends the training where a figure of an eval set has not improved.

    Parameters
    ----------
    stopping_rounds : int
        Iterations without improvement.
    first_metric_only : bool
        Whether only the first metric counts.
    verbose : bool
        Whether to log the best iteration (logger `rerank`).
    min_delta : float or list of float
        Least improvement, for all metrics or each.

    Returns
    -------
    callable
        The callback.

    """
    best: dict[tuple[str, str], tuple[int, list[EvalResult], float]] = {}

    def stop(env: CallbackEnv) -> None:
        results = env.evaluation_result_list or []
        if not results:
            raise ValueError("early stopping needs an eval set beside the training data, and a metric")
        if env.iteration == env.begin_iteration:
            best.clear()
        deltas = min_delta if isinstance(min_delta, list) else [min_delta]
        metrics = list(dict.fromkeys(each.metric_name for each in results))
        for each in results:
            key, sign = each[:2], 1.0 if each.maximize else -1.0
            delta = deltas[metrics.index(each.metric_name) % len(deltas)]
            if key not in best or sign * each.metric_value > best[key][2] + delta:
                best[key] = env.iteration, results, sign * each.metric_value
            if first_metric_only and each.metric_name != metrics[0]:
                continue
            iteration, figures, _ = best[key]
            if env.iteration - iteration >= stopping_rounds or env.iteration == env.end_iteration - 1:
                if verbose:
                    log.info("best iteration: [%d]\t%s", iteration + 1, _in_words(figures))
                raise EarlyStopException(iteration, figures)

    stop.order = STOPS  # type: ignore[attr-defined]
    return stop


def log_evaluation(period: int = 1, show_stdv: bool = True) -> Callable[[CallbackEnv], None]:
    """Return a callback that logs the figures (logger `rerank`).

    Parameters
    ----------
    period : int
        Iterations between two lines; 0 for none.
    show_stdv : bool
        No effect.

    Returns
    -------
    callable
        The callback.

    """

    def logged(env: CallbackEnv) -> None:
        if period > 0 and env.evaluation_result_list and (env.iteration + 1) % period == 0:
            log.info("[%d]\t%s", env.iteration + 1, _in_words(env.evaluation_result_list))

    logged.order = 10  # type: ignore[attr-defined]
    return logged


def record_evaluation(eval_result: dict[str, Any]) -> Callable[[CallbackEnv], None]:
    """Return a callback that stores the figures.

    Parameters
    ----------
    eval_result : dict
        Becomes what `evals_result_` is.

    Returns
    -------
    callable
        The callback.

    """

    def record(env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            eval_result.clear()
        for each in env.evaluation_result_list or ():
            eval_result.setdefault(each.dataset_name, {}).setdefault(each.metric_name, []).append(each.metric_value)

    record.order = 20  # type: ignore[attr-defined]
    return record


def reset_parameter(**kwargs: Any) -> Callable[[CallbackEnv], None]:
    """Return a callback that changes the learning rate before each iteration.

    Parameters
    ----------
    **kwargs : list or callable
        learning_rate: its values, or a function of the iteration's number, from 0.

    Returns
    -------
    callable
        The callback.

    """

    def reset(env: CallbackEnv) -> None:
        number = env.iteration - env.begin_iteration
        values = {name: value(number) if callable(value) else value[number] for name, value in kwargs.items()}
        env.model.reset_parameter(values)
        env.params.update(values)

    reset.before_iteration, reset.order = True, 10  # type: ignore[attr-defined]
    return reset


def _in_words(results: Iterable[EvalResult]) -> str:
    return "\t".join(f"{each.dataset_name}'s {each.metric_name}: {each.metric_value:g}" for each in results)


def plot_importance(
    booster: LGBMRanker | Booster,
    ax: Axes | None = None,
    *,
    importance_type: str = "auto",
    max_num_features: int | None = None,
    ignore_zero: bool = True,
    title: str = "Feature importance",
    **kwargs: Any,
) -> Axes:
    """Plot the importances of features as horizontal bars, the greatest on top.

    Parameters
    ----------
    booster : LGBMRanker or Booster
        A fitted model.
    ax : matplotlib.axes.Axes, optional
        Where to plot.
    importance_type : str
        "split", "gain", or "auto" for the ranker's own.
    max_num_features : int, optional
        Most features that are shown.
    ignore_zero : bool
        Whether features that no tree tests are left out.
    title : str
        The title.
    **kwargs : object
        figsize, dpi, xlabel, ylabel, xlim, ylim, grid and precision as in LightGBM; others have no effect.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    """
    kind = getattr(booster, "importance_type", "split") if importance_type == "auto" else importance_type
    model = booster._fitted() if isinstance(booster, LGBMRanker) else booster
    importances, names = model.feature_importance(kind), model.feature_name()
    chosen = [number for number in np.argsort(importances, kind="stable") if importances[number] or not ignore_zero]
    chosen = chosen[-(max_num_features or len(chosen)) :]
    axes = ax or new_axes(ROW_HEIGHT * len(chosen) + 1.0)
    bars = axes.barh([names[number] for number in chosen], importances[chosen], color=BAR_COLOR)
    axes.bar_label(bars, fmt=f"%.{kwargs.get('precision', 3)}f" if kind == "gain" else "%d", padding=2)
    _label_axes(axes, kwargs, {"xlabel": "Feature importance", "ylabel": "Features", "title": title})
    return axes


def _label_axes(axes: Axes, given: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """Set the texts of axes, and what LightGBM's arguments say of their size, limits and grid."""
    named = {name: given[name] for name in ("xlabel", "ylabel", "xlim", "ylim") if given.get(name) is not None}
    axes.set(**{**texts, **named})
    if given.get("figsize") is not None:
        axes.figure.set_size_inches(*given["figsize"])  # type: ignore[union-attr]
    if given.get("dpi") is not None:
        axes.figure.set_dpi(given["dpi"])
    if given.get("grid") is not None:
        axes.grid(given["grid"])


def plot_metric(
    booster: LGBMRanker | Mapping[str, Mapping[str, Sequence[float]]],
    metric: str | None = None,
    dataset_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    title: str = "Metric during training",
    **kwargs: Any,
) -> Axes:
    """Plot a figure of each eval set by iteration.

    Parameters
    ----------
    booster : LGBMRanker or dict
        A fitted ranker, or its `evals_result_`.
    metric : str, optional
        The figure; the first by default.
    dataset_names : sequence of str, optional
        Names of eval sets; all by default.
    ax : matplotlib.axes.Axes, optional
        Where to plot.
    title : str
        The title.
    **kwargs : object
        figsize, dpi, xlabel, ylabel, xlim, ylim and grid as in LightGBM; others have no effect.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    """
    histories: Any = booster.evals_result_ if isinstance(booster, LGBMRanker) else booster
    if not histories:
        raise InvalidInputError("booster: expected one trained with an eval_set, got none. Pass fit(eval_set=...).")
    name, axes = metric or next(iter(next(iter(histories.values())))), ax or new_axes(4.0)
    for data in dataset_names or histories:
        if name not in histories.get(data, {}):
            raise InvalidInputError(f"metric: expected a figure of {data}, got {shown(name)}. Name another.")
        axes.plot(histories[data][name], label=data)
    _label_axes(axes, kwargs, {"xlabel": "Iterations", "ylabel": name, "title": title})
    axes.legend()
    return axes


def __getattr__(name: str) -> Any:
    """Return what LightGBM has beside this module, LightGBM's own: `LGBMClassifier`, `Dataset`, `train`."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(_lightgbm(name), name)  # the next time it is there, without the warning
    log.warning("rerank.plugins.lightgbm: %s is LightGBM's own; LGBMRanker is of this package", name)
    return found


def _lightgbm(needed: str) -> Any:
    """Return the module of LightGBM; `needed` is what asks for it."""
    try:
        import lightgbm
    except ImportError:
        raise MissingLightGBMError(
            f"rerank.plugins.lightgbm.{needed}: expected LightGBM installed, got none. Run `pip install lightgbm`."
        ) from None
    return lightgbm


def plot_tree(booster: LGBMRanker | Booster, ax: Axes | None = None, tree_index: int = 0, **kwargs: Any) -> Axes:
    """Plot a tree.

    Parameters
    ----------
    booster : LGBMRanker or Booster
        A fitted model.
    ax : matplotlib.axes.Axes, optional
        Where to plot.
    tree_index : int
        Its number, from 0.
    **kwargs : object
        No effect.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    """
    model = booster._fitted() if isinstance(booster, LGBMRanker) else booster
    return plot_tree_of(model.ranker, tree=tree_index, ax=ax)
