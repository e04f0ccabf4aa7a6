"""Hyper-parameters, declared once by each ranker as fields of a dataclass.

A declaration (`parameter`) holds the default, the accepted values, the help text and the values that tuning tries.
The constructor's arguments, the checks of `fit`, saving and loading, `rerank train -h RANKER` and `-p`, the tables of
docs/rankers.md and the search space of `tune` are all derived from it.

Parameters of other libraries (LightGBM, XGBoost, scikit-learn), and what says the same here: hints in errors.

scikit-learn's estimator interface, without scikit-learn: it is imported by what only scikit-learn calls. scikit-learn
knows an estimator by its methods, not by its base class: parameters (`get_params`, `set_params`), copies
(`__sklearn_clone__`), tags (`__sklearn_tags__`) and metadata routing (`get_metadata_routing`, `set_fit_request`, ...).
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from types import MappingProxyType
from typing import Any, ClassVar, Self

from rerank.errors import InvalidInputError, UnknownParameterError, shown, suggestion
from rerank.metrics.registry import measure_name
from rerank.runtime.codec import Anything, Field, Record, SchemaError, Sizes, Text, Whole

SAME = {  # other names of parameters of rankers
    "n_estimators": "num_iterations num_iteration num_boost_round num_round num_rounds n_round num_trees n_iter "
    "max_iter iterations",
    "learning_rate": "eta shrinkage shrinkage_rate",
    "num_leaves": "max_leaves max_leaf_nodes max_leaf",
    "max_depth": "depth",
    "min_child_samples": "min_data_in_leaf min_data min_samples_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf min_sum_hessian",
    "min_split_gain": "min_gain_to_split gamma min_split_loss min_impurity_decrease",
    "reg_alpha": "lambda_l1 l1_regularization",
    "reg_lambda": "lambda_l2 lambda reg_lambda_l2 l2_regularization l2_leaf_reg",
    "categorical_feature": "categorical_features cat_features cat_feature categorical_column cat_column",
    "max_bin": "max_bins",
    "subsample": "bagging_fraction sub_row bagging",
    "data_sample_strategy": "bootstrap_type sampling_method",
    "colsample_bytree": "feature_fraction sub_feature max_features colsample_bynode colsample_bylevel",
    "early_stopping_rounds": "early_stopping_round n_iter_no_change early_stopping",
    "random_state": "seed random_seed bagging_seed data_random_seed",
    "n_jobs": "num_threads num_thread nthread n_thread nthreads thread_count",
    "truncation_level": "lambdarank_truncation_level lambdarank_num_pair_per_sample max_position",
    "normalize": "lambdarank_norm lambdarank_normalization norm",
    "sigma": "sigmoid",
    "metric": "metrics eval_metric loss_function",
    "base": "init_model xgb_model init",
}
ELSEWHERE = {  # parameters without a counterpart, and the sentence that says what to do
    "objective obj application loss": (
        "The objective is the measure: metric=, e.g. 'nDCG@10'; another loss is another ranker (see `rerank train -h`)"
    ),
    "eval_at ndcg_eval_at ndcg_at": "The cut-off is part of the measure: metric='nDCG@5' in place of eval_at=5",
    "label_gain ndcg_exp_gain": (
        "Gains are part of the measure: metric=\"nDCG(dcg='exp-log2')@10\" has LightGBM's 2^label - 1, 'nDCG@10' the "
        "label itself: give other gains as labels"
    ),
    "verbose verbosity verbose_eval silent logging_level": (
        "What is logged follows Python's logging (logging.getLogger('rerank')): leave it out"
    ),
    "callbacks callback": "Pass it to fit: fit(..., callbacks=[function])",
    "eval_set eval_group eval_qid validation_fraction": "Pass it to fit: fit(..., eval_set=valid)",
    "importance_type": "feature_importances_ are total gains, as importance_type='gain': leave it out",
    "boosting_type boosting boost booster": (
        "Trees are boosted as gbdt; for another model name another ranker (see `rerank train -h`)"
    ),
    "tree_method device device_type grow_policy predictor gpu_id force_row_wise force_col_wise linear_tree "
    "deterministic tree_learner subsample_for_bin bin_construct_sample_cnt enable_bundle": (
        "Trees grow by leaves on bins, on the CPU: leave it out"
    ),
    "subsample_freq bagging_freq bagging_by_query": (
        "Queries are drawn for each tree where subsample is below 1: leave it out"
    ),
    "top_rate other_rate": (
        "Rows are drawn by their gradients with data_sample_strategy='mvs' and subsample: leave it out"
    ),
    "enable_categorical max_cat_to_onehot cat_smooth cat_l2 max_cat_threshold min_data_per_group": (
        "Categories are a parameter of boosted trees, categorical_feature=, and their splits have LightGBM's constants"
    ),
    "class_weight is_unbalance unbalance scale_pos_weight": "Weigh queries in fit(sample_weight=), or leave it out",
    "missing use_missing zero_as_missing": "Missing values are NaN: leave it out",
}
_KNOWN = {name: known for known, names in SAME.items() for name in names.split()}
_SENTENCES = {name: text for names, text in ELSEWHERE.items() for name in names.split()}


def remedy(name: object, known: Iterable[str]) -> str:
    """Return the sentence of an error about an unknown parameter: what says the same here, or the nearest known name.

    known  the parameters of the ranker, of which a hint names no other
    """
    known = list(known)
    if isinstance(name, str) and _KNOWN.get(name) in known:
        return f"Its name here is {_KNOWN[name]}."
    text = _SENTENCES.get(name) if isinstance(name, str) and "metric" in known else None
    return suggestion(name, known) if text is None else f"{text}."


LONGEST_METRIC = 200  # characters
NORMALIZE = "Whether to normalise the gradients of each query (lambdarank_norm of LightGBM)."
_DECLARED = "rerank"  # key of a field's metadata
_WIDTH = 112
_CONSTANTS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Parameter:
    """A declared hyper-parameter.

    Attributes
    ----------
    name : str
        Its name, which is that of the constructor's argument.
    field : Field
        What checks the value; `Anything` for `base`, which is checked when it is applied.
    default : object
        Its default.
    help : str
        What it does, in sentences.
    search : tuple
        Values that tuning tries; empty where it is not tuned.

    """

    name: str
    field: Field
    default: Any
    help: str
    search: tuple[Any, ...]


def parameter(default: Any, field: Field, help: str, search: Sequence[Any] = ()) -> Any:
    """Return the declaration of a hyper-parameter, as the value of a dataclass's field."""
    return dataclasses.field(default=default, metadata={_DECLARED: (field, help, tuple(search))})


def declared_parameters(ranker: type) -> dict[str, Parameter]:
    """Return the hyper-parameters that a ranker's class declares, by name."""
    return {
        field.name: Parameter(field.name, field.metadata[_DECLARED][0], field.default, *field.metadata[_DECLARED][1:])
        for field in dataclasses.fields(ranker)
        if _DECLARED in field.metadata
    }


def documentation(parameters: Iterable[Parameter]) -> str:
    """Return the hyper-parameters as the section `Parameters` of a docstring (numpydoc)."""
    lines = ["Parameters", "----------"]
    for declared in parameters:
        lines.append(f"{declared.name} : {declared.field.type_name}, default={declared.default!r}")
        accepts = declared.field.accepts()
        text = f"{declared.help} Accepted: {accepts}." if accepts else declared.help
        lines += [f"    {line}" for line in wrap(text, _WIDTH, break_on_hyphens=False)]
    return "\n".join(lines)


def check_names(ranker: str, chosen: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are no hyper-parameters of a ranker."""
    names = list(known)
    for name in chosen:
        if name not in names:
            raise UnknownParameterError(
                f"{ranker}: expected a known parameter, got {shown(name)}. {remedy(name, names)}"
            )


class Metric(Field):
    """A measure: its name, a Measure, one of ir_measures, or a function of the user's; stored by name."""

    type_name: ClassVar[str] = "str"

    def accepts(self) -> str:
        """Return what names a measure."""
        return "a measure's name in ir_measures, a Measure or a function"

    def read(self, value: object, sizes: Sizes) -> str:
        """Return the name; whether it names a measure is checked in training: a file holds no function."""
        name: str = Text(LONGEST_METRIC).read(value if value is None else measure_name(value), sizes)
        return name


JOBS = Whole(-1, 2**31 - 1, optional=True)  # 0 is refused where threads are counted
SEED = Whole(0, 2**64 - 1, optional=True)
ROUNDS = Whole(1, 1_000_000)


def base_parameter() -> Any:
    """Return the declaration of `base`."""
    return parameter(
        None,
        Anything(),
        'Ranker to start from: "run" (the scores of the candidates), "feature:NAME", "run:FILE", "model:FILE", a run, '
        "or a fitted ranker. None trains from scratch.",
    )


def jobs_parameter() -> Any:
    """Return the declaration of `n_jobs` of a ranker whose training is parallel."""
    return parameter(None, JOBS, "Number of threads; None or -1 for all cores. The model is the same for any number.")


def watched_metric() -> Any:
    """Return the declaration of `metric` of a ranker that is trained for a cost of its own."""
    return parameter("nDCG@10", Metric(), "Measure for early stopping.")


def stopping_parameter(rounds: int, unit: str) -> Any:
    """Return the declaration of `early_stopping_rounds`, counted in `unit`."""
    text = f"Training stops after this number of {unit} without an improvement on the validation data."
    return parameter(rounds, ROUNDS, text)


def plain_parameters(ranker: Estimator) -> dict[str, Any]:
    """Return a ranker's parameters but `base` as plain values; raises SchemaError for one that cannot be used."""
    return read_parameters(ranker.parameter_fields, {name: getattr(ranker, name) for name in ranker.parameter_fields})


def read_parameters(fields: Mapping[str, Field], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters as plain values; raises SchemaError for one that cannot be used."""
    return Record(fields, partial=True).read(parameters, {})


def read_value(text: str) -> Any:
    """Return a value that was written as text: true, false, none, a literal of Python, or else the text itself."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def check_parameters(ranker: Estimator) -> None:
    """Refuse values of parameters that cannot be learned with."""
    try:
        plain_parameters(ranker)
    except SchemaError as error:
        raise InvalidInputError(error.fault("Choose another value.")) from None


_ROUTED = ("fit", "predict", "score")  # methods whose further arguments scikit-learn may route


class Estimator:
    """Base class of an estimator whose parameters are the fields of a dataclass."""

    parameter_fields: ClassVar[Mapping[str, Field]]  # of the constructor's arguments but `base`
    _requests: Mapping[tuple[str, str], bool | str | None] = MappingProxyType({})  # by method and argument

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """Refuse unknown parameters with the nearest known name."""
        check_names(cls.__name__, parameters, _names(cls))
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name.

        Parameters
        ----------
        deep : bool
            Add those of estimators among the values, as `base__num_leaves`.

        Returns
        -------
        dict
            The hyper-parameters.

        """
        parameters: dict[str, Any] = {}
        for name in _names(type(self)):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                parameters.update((f"{name}__{inner}", parameter) for inner, parameter in value.get_params().items())
            parameters[name] = value
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Change hyper-parameters by name; `base__num_leaves` is one of the estimator `base`.

        Parameters
        ----------
        **parameters : object
            New values by name.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        UnknownParameterError
            For an unknown name.

        """
        names = [name.partition("__")[0] for name in parameters]
        check_names(type(self).__name__, names, _names(type(self)))
        for name, value in parameters.items():
            outer, separator, inner = name.partition("__")
            if not separator:
                setattr(self, name, value)
            elif hasattr(getattr(self, outer), "set_params"):
                getattr(self, outer).set_params(**{inner: value})
            else:
                raise InvalidInputError(f"{name}: expected an estimator as {outer}, got another value. Set {outer}.")
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in _constructor(type(self)).items()}
        values = self.get_params(deep=False)
        changed = {name: value for name, value in values.items() if not _same(value, defaults.get(name))}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def unfitted_copy(self) -> Self:
        """Return an unfitted estimator with the same parameters.

        Estimators in a sequence are copied in the same way; all other values, a fitted base ranker among them, are
        shared.

        Returns
        -------
        Estimator
            The copy.

        """
        parameters = {name: _unfitted(value) for name, value in self.get_params(deep=False).items()}
        other = type(self)(**parameters)
        other._requests = dict(self._requests)
        return other

    def __sklearn_clone__(self) -> Self:
        return self.unfitted_copy()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(sparse=True, allow_nan=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs)

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's `MetadataRequest`: which arguments of `fit`, `predict` and `score` are routed.

        Returns
        -------
        MetadataRequest
            A copy.

        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in _ROUTED:
            for name in _metadata_names(type(self), method):
                getattr(request, method).add_request(param=name, alias=self._requests.get((method, name)))
        return request

    def set_fit_request(self, **requests: bool | str | None) -> Self:
        """Say which arguments of `fit` scikit-learn's meta-estimators pass on: `set_fit_request(qid=True)`.

        Parameters
        ----------
        **requests : bool, str or None
            For each argument True (pass it on), False (do not), a str (the name that it has there), or None (an error
            where it is given).

        Returns
        -------
        Ranker
            The ranker itself.

        """
        return self._set_request("fit", requests)

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Say which arguments of `score` are passed on; see `set_fit_request`.

        Parameters
        ----------
        **requests : bool, str or None
            As for `set_fit_request`.

        Returns
        -------
        Estimator
            The estimator itself.

        """
        return self._set_request("score", requests)

    def _set_request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                f"set_{method}_request: expected metadata routing to be enabled, got it disabled. Call "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        check_names(f"{type(self).__name__}.set_{method}_request", requests, _metadata_names(type(self), method))
        self._requests = {**self._requests, **{(method, name): alias for name, alias in requests.items()}}
        return self


@cache
def not_fitted_error() -> type[InvalidInputError]:
    """Return the error for an estimator that is not fitted; it is scikit-learn's NotFittedError, too."""
    from sklearn.exceptions import NotFittedError

    return type("NotFittedError", (InvalidInputError, NotFittedError), {"__doc__": "An estimator that is not fitted."})


def _names(kind: type) -> tuple[str, ...]:
    """Return the names of the constructor's parameters."""
    return tuple(_constructor(kind))


def _constructor(kind: Any) -> dict[str, inspect.Parameter]:
    """Return the constructor's parameters by name.

    That of a class would be the signature of `__new__` for a subclass without parameters of its own, before Python
    3.11.4.
    """
    _, *parameters = inspect.signature(kind.__init__).parameters.values()
    return {parameter.name: parameter for parameter in parameters}


def _metadata_names(kind: type, method: str) -> tuple[str, ...]:
    """Return the keyword arguments of a method."""
    parameters = inspect.signature(getattr(kind, method)).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def _unfitted(value: object) -> Any:
    if isinstance(value, list | tuple) and any(isinstance(member, Estimator) for member in value):
        return type(value)(member.unfitted_copy() if isinstance(member, Estimator) else member for member in value)
    return value


def _same(value: object, default: object) -> bool:
    """Return whether a parameter has its default; arrays and the like have not."""
    return type(value) is type(default) and bool(value == default)
