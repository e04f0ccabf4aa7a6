"""The parameters of an `LGBMRanker`: what each means here, which are refused, and which have no effect."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.other_names import SAME, check_names
from rerank.runtime.threads import cores
from rerank.trees.leafwise import CAT_L2, CAT_SMOOTH, MAX_CAT_THRESHOLD, MAX_CAT_TO_ONEHOT, MIN_DATA_PER_GROUP
from rerank.types import Floats

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
ONLY: dict[str, tuple[object, ...]] = {  # the values that are accepted: they ask for what this package does
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
LISTS = "monotone_constraints", "interaction_constraints"  # which LightGBM also accepts as a text
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
NOT_GIVEN = {"n_estimators": 100, "num_leaves": 31, "min_child_samples": 20, "sigma": 1.0}  # LightGBM's defaults
KNOWN = (*OF_RANKER, *ONLY, *READ.split(), *WITHOUT_EFFECT.split())


@dataclass(frozen=True)
class LightGBMSettings:
    """What the parameters of an `LGBMRanker` say: those of the ranker, and what the eval sets are measured with.

    kind     class of the ranker
    metrics  names, None where the parameters name none
    gains    gain of each label, None for 2^label - 1
    stop     iterations without a better figure before the end (0: none), and whether only the first metric counts
    """

    kind: type[BoostedTrees]
    parameters: dict[str, Any]
    metrics: list[str] | None
    eval_at: Any
    gains: Floats | None
    stop: tuple[int, bool]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Return the parameters by their main names; a value given by an alias takes precedence, as in LightGBM."""
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
        texts = {name: parameters[name] for name in LISTS if isinstance(parameters.get(name), str)}
        parameters |= {name: _list_of_text(name, text) for name, text in texts.items()}
        if values.get("subsample_freq", 0) > 0:
            parameters["subsample"] = values.get("subsample", 1.0)
        gains = _label_gain(values.get("label_gain"))
        metrics = values.get("metric")
        kind: type[BoostedTrees] = MART if values.get("objective") in XE_NDCG else LambdaMART
        if kind is MART:
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
        """Return the gain of each label if `label_gain` is given, else the labels."""
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
        """Return what the eval sets are measured with: names with their depths, then functions."""
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
    if value is None:
        return [1, 2, 3, 4, 5]
    try:
        given = value.split(",") if isinstance(value, str) else np.atleast_1d(value).tolist()
        depths = sorted(map(int, given))
        is_whole = depths == sorted(map(float, given))
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise InvalidInputError(f"eval_at: expected whole numbers, got {shown(value)}. Pass e.g. [1, 10].")
    return depths or [1, 2, 3, 4, 5]


def _label_gain(value: Any) -> Floats | None:
    if value is None:
        return None
    try:
        gains = np.array(value.split(",") if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        gains = np.empty((0, 0))
    if gains.ndim != 1 or not (np.diff(gains) >= 0).all():
        raise InvalidInputError(f"label_gain: expected gains that do not fall, got {shown(value)}. Order them.")
    return gains


def _list_of_text(name: str, text: str) -> list[Any]:
    """Return the list of a text as LightGBM documents it: 1,0,-1 or [0,1],[2,3]."""
    try:
        return list(json.loads(f"[{text}]"))
    except ValueError:
        raise InvalidInputError(
            f"{name}: expected numbers with commas between them, got {shown(text)}. Pass a list."
        ) from None


def _seed(seed: Any) -> int:
    """Return a seed; a generator draws one, as in LightGBM."""
    draw = getattr(seed, "integers", getattr(seed, "randint", None))
    return int(seed or 0) if draw is None else int(draw(2**31 - 1))


def _threads(number: int | None) -> int | None:
    """Return the number of threads, None for all; as in joblib, -2 is all but one."""
    if not number:
        return None
    return number if number > 0 else max(1, cores() + 1 + number)


def _names_of(metrics: Any) -> list[str]:
    """Return the names of metrics; a text may hold several, with commas between; "None" and the like are no name."""
    names = [metrics] if isinstance(metrics, str) or metrics is None else list(metrics)
    single = [part.strip() for name in names for part in str(name).split(",")]
    aliases = {"mean_average_precision": "map", "lambdarank": "ndcg", "rank_xendcg": "ndcg"}
    return [aliases.get(name, name) for name in single if name.lower() not in ("none", "", "null", "na", "custom")]
