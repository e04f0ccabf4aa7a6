"""scikit-learn's estimator interface; only methods that scikit-learn itself calls import scikit-learn.

scikit-learn knows an estimator by its methods, not by its base class: parameters (`get_params`, `set_params`), copies
(`__sklearn_clone__`), tags (`__sklearn_tags__`) and metadata routing (`get_metadata_routing`, `set_fit_request`, ...).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Self

from rerank.errors import InvalidInputError, shown
from rerank.rankers.other_names import check_names
from rerank.runtime.fields import Field, Record, SchemaError

_ROUTED = ("fit", "predict", "score")  # methods whose further arguments scikit-learn may route


class Estimator:
    """Base class of an estimator whose parameters are the fields of a dataclass."""

    parameter_fields: ClassVar[Mapping[str, Field]]  # of the constructor's arguments but `base`
    _requests: Mapping[tuple[str, str], bool | str | None] = MappingProxyType({})  # by method and argument

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """Refuse unknown parameters with the nearest known name."""
        check_names(cls.__name__, parameters, _constructor(cls))
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to add the parameters of estimators among the values, as `base__num_leaves`.

        Returns
        -------
        dict
            The hyper-parameters.

        """
        parameters: dict[str, Any] = {}
        for name in _constructor(type(self)):
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
        check_names(type(self).__name__, (name.partition("__")[0] for name in parameters), _constructor(type(self)))
        for name, value in sorted(parameters.items(), key=lambda item: "__" in item[0]):  # `base` before `base__C`
            outer, separator, inner = name.partition("__")
            if not separator:
                setattr(self, name, value)
            elif hasattr(getattr(self, outer), "set_params"):
                getattr(self, outer).set_params(**{inner: value})
            else:
                raise InvalidInputError(
                    f"{name}: expected an estimator as {outer}, got {shown(getattr(self, outer))}. Set {outer}."
                )
        return self

    def __repr__(self) -> str:
        defaults = {name: parameter.default for name, parameter in _constructor(type(self)).items()}
        values = self.get_params(deep=False).items()
        changed = (f"{name}={value!r}" for name, value in values if not _same(value, defaults.get(name)))
        return f"{type(self).__name__}({', '.join(changed)})"

    def unfitted_copy(self) -> Self:
        """Return an unfitted estimator with the same parameters.

        Estimators in a sequence are copied in the same way; all other values, a fitted base ranker among them, are
        shared.

        Returns
        -------
        Estimator
            The copy.

        """
        other = type(self)(**{name: _unfitted(value) for name, value in self.get_params(deep=False).items()})
        other._requests = dict(self._requests)
        return other

    def __sklearn_clone__(self) -> Self:
        return self.unfitted_copy()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

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
        Estimator
            The estimator itself.

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


def _constructor(kind: Any) -> dict[str, inspect.Parameter]:
    """Return the constructor's parameters by name.

    Read from `__init__`: before Python 3.11.4, the signature of a subclass without parameters of its own is that of
    `__new__`.
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
    """Return whether a parameter has its default; a value of another type, such as an array, has not."""
    return type(value) is type(default) and bool(value == default)


def plain_parameters(ranker: Estimator) -> dict[str, Any]:
    """Return a ranker's parameters but `base` as plain values; raises SchemaError for one that cannot be used."""
    fields = ranker.parameter_fields
    return Record(fields, partial=True).read({name: getattr(ranker, name) for name in fields})


def check_parameters(ranker: Estimator) -> None:
    """Refuse values of parameters that cannot be learned with."""
    try:
        plain_parameters(ranker)
    except SchemaError as error:
        raise InvalidInputError(error.fault("Choose another value.")) from None
