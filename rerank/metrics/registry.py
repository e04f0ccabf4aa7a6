"""The measures by name: a file in this folder that registers its class is all that a new one needs.

A name is read as `ir_measures` writes it (`nDCG(dcg='exp-log2')@10`) or as trec_eval does (`map`,
`ndcg_cut_10`, `P.5`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from numbers import Integral
from pkgutil import iter_modules
from typing import Any, TypeVar

from rerank.errors import InvalidInputError, unknown_name
from rerank.metrics.base import Measure
from rerank.metrics.own import own_measure

_MEASURES: dict[str, type[Measure]] = {}
_TREC_NAMES: dict[str, str] = {}
_TREC_CUT_NAMES: dict[str, str] = {}
_GRAMMAR = re.compile(r"(?P<symbol>\w*?)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<cutoff>\d+))?")
_TREC_CUT = re.compile(r"(?P<symbol>\w+)[._](?P<cutoff>\d+)")
M = TypeVar("M", bound="type[Measure]")


def register(symbol: str, trec: str | None = None, trec_cut: str | None = None) -> Callable[[M], M]:
    """Enter a measure's class.

    symbol    its name without parameters (`nDCG`)
    trec      trec_eval's name for it on the whole list (`ndcg`)
    trec_cut  trec_eval's name before a cutoff (`ndcg_cut`, for `ndcg_cut_10`)
    """

    def enter(measure: M) -> M:
        _MEASURES[symbol] = measure
        if trec is not None:
            _TREC_NAMES[trec] = symbol
        if trec_cut is not None:
            _TREC_CUT_NAMES[trec_cut] = symbol
        return measure

    return enter


def known_measures() -> dict[str, type[Measure]]:
    """Return every measure in this folder by symbol."""
    package = import_module("rerank.metrics")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_MEASURES.items()))


def parse_measure(name: Any) -> Measure:
    """Return the measure of a name; a measure is returned as it is.

    A function score(ranked_labels, ideal_labels), or an object with such a method, becomes an `OwnMeasure`.
    Raises InvalidInputError for an unknown name, an unknown parameter or a value that does not fit.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        return own_measure(name)
    known_measures()
    trec = _TREC_CUT.fullmatch(name.strip())
    if trec and trec["symbol"] in _TREC_CUT_NAMES:
        return _make(name, _TREC_CUT_NAMES[trec["symbol"]], [("cutoff", int(trec["cutoff"]))])
    found = _GRAMMAR.fullmatch(name.strip())
    if not found:
        raise InvalidInputError(
            f"measure: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, found {name!r}; "
            "write e.g. nDCG@10 or P(rel=2)@5."
        )
    symbol = _symbol(found["symbol"])
    parameters = _parameters(name, found["parameters"])
    if found["cutoff"] is not None:
        parameters.append(("cutoff", int(found["cutoff"])))
    return _make(name, symbol, parameters)


def measure_name(measure: Any) -> str:
    """Return text for what `parse_measure` takes: a name as it was written, the name of all else."""
    return measure if isinstance(measure, str) else parse_measure(measure).name


def canonical_name(measure: Measure) -> str:
    """Return the name as `ir_measures` writes it: parameters that are not at their default, then the cutoff."""
    given = [
        f"{field.name}={getattr(measure, field.name)!r}"
        for field in fields(measure)
        if field.name != "cutoff" and getattr(measure, field.name) != field.default
    ]
    inside = f"({','.join(given)})" if given else ""
    return symbol_of(measure) + inside + ("" if measure.cutoff is None else f"@{measure.cutoff}")


def symbol_of(measure: Measure) -> str:
    """Return a measure's name without parameters."""
    own = (symbol for symbol, kind in _MEASURES.items() if kind is type(measure))
    return next(own, type(measure).__name__)


def check_cutoff(measure: Measure) -> None:
    """Refuse a cutoff that is no whole number of at least 1, or one where the measure takes none."""
    cutoff, symbol = measure.cutoff, symbol_of(measure)
    if cutoff is not None and not measure.takes_cutoff:
        raise InvalidInputError(f"measure {symbol}: expected no cutoff, found {cutoff!r}; write {symbol}.")
    if cutoff is None or (isinstance(cutoff, Integral) and not isinstance(cutoff, bool) and cutoff >= 1):
        return
    raise InvalidInputError(
        f"measure {symbol}: expected a cutoff of at least 1, found {cutoff!r}; write e.g. {symbol}@10."
    )


def _symbol(written: str) -> str:
    names = {**{symbol: symbol for symbol in _MEASURES}, **_TREC_NAMES}
    if written in _TREC_CUT_NAMES and written not in names:
        raise InvalidInputError(
            f"measure {written}: expected a cutoff, found none; write e.g. {written}_10 "
            f"or {_TREC_CUT_NAMES[written]}@10."
        )
    if written not in names:
        raise unknown_name("measure", written, [*names, *_TREC_CUT_NAMES])
    return names[written]


def _parameters(name: str, text: str | None) -> list[tuple[str, Any]]:
    if text is None:
        return []
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not all(word.arg for word in call.keywords):
            raise ValueError(text)
        return [(str(word.arg), ast.literal_eval(word.value)) for word in call.keywords]
    except (SyntaxError, ValueError):
        raise InvalidInputError(
            f"measure: expected parameters as name=value, found {text!r} in {name!r}; write e.g. P(rel=2)@5."
        ) from None


def _make(name: str, symbol: str, parameters: list[tuple[str, Any]]) -> Measure:
    known = [field.name for field in fields(_MEASURES[symbol])]
    given: dict[str, Any] = {}
    for parameter, value in parameters:
        if parameter not in known:
            raise unknown_name("parameter", parameter, [field for field in known if field != "cutoff"])
        if parameter in given:
            raise InvalidInputError(
                f"measure {symbol}: expected {parameter} once, found it twice in {name!r}; drop one."
            )
        given[parameter] = value
    measure = _MEASURES[symbol](**given)
    check_cutoff(measure)
    return measure
