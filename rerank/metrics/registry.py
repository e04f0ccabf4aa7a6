"""The measures by name: a file in this folder that registers its class is all that a new one needs.

A name is read as `ir_measures` writes it (`nDCG(dcg='exp-log2')@10`) or as trec_eval does (`map`,
`ndcg_cut_10`, `P.5`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib import import_module
from numbers import Integral
from pkgutil import iter_modules
from typing import Any, TypeVar

from rerank.errors import InvalidInputError, unknown_name
from rerank.metrics.base import Measure

_MEASURES: dict[str, type[Measure]] = {}
_ALIASES: dict[str, str] = {}
_CUT_ALIASES: dict[str, str] = {}
_GRAMMAR = re.compile(r"(?P<symbol>\w+?)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<cutoff>\d+))?")
_TREC_CUT = re.compile(r"(?P<symbol>\w+)[._](?P<cutoff>\d+)")
M = TypeVar("M", bound="type[Measure]")


def register(symbol: str, aliases: Iterable[str] = (), cut_aliases: Iterable[str] = ()) -> Callable[[M], M]:
    """Enter a measure's class.

    symbol       its name without parameters (`nDCG`)
    aliases      other names for it (`ndcg`)
    cut_aliases  names that stand before a cutoff, as trec_eval writes it (`ndcg_cut` for `ndcg_cut_10`)
    """

    def enter(measure: M) -> M:
        _MEASURES[symbol] = measure
        _ALIASES.update(dict.fromkeys(aliases, symbol))
        _CUT_ALIASES.update(dict.fromkeys(cut_aliases, symbol))
        return measure

    return enter


def known_measures() -> dict[str, type[Measure]]:
    """Return every measure in this folder by symbol."""
    package = import_module("rerank.metrics")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_MEASURES.items()))


def parse_measure(name: str | Measure) -> Measure:
    """Return the measure of a name, or the measure itself where one is given.

    Raises InvalidInputError for an unknown name, an unknown parameter or a value that does not fit.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise InvalidInputError(
            f"measure: expected a name such as 'nDCG@10', found {type(name).__name__}; pass text."
        )
    measures = known_measures()
    trec = _TREC_CUT.fullmatch(name.strip())
    if trec and trec["symbol"] in _CUT_ALIASES:
        return measures[_CUT_ALIASES[trec["symbol"]]](cutoff=int(trec["cutoff"]))
    found = _GRAMMAR.fullmatch(name.strip())
    if not found:
        raise InvalidInputError(
            f"measure: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, found {name!r}; "
            "write e.g. nDCG@10 or P(rel=2)@5."
        )
    symbol = _symbol(found["symbol"])
    parameters = _parameters(name, found["parameters"])
    if found["cutoff"] is not None:
        parameters["cutoff"] = int(found["cutoff"])
    return _make(symbol, parameters)


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
    return next(symbol for symbol, kind in _MEASURES.items() if kind is type(measure))


def check_cutoff(measure: Measure, required: bool = False) -> None:
    """Refuse a cutoff that is no whole number of at least 1, or that is missing where it is required."""
    symbol, cutoff = symbol_of(measure), measure.cutoff
    if cutoff is None and not required:
        return
    if not is_whole(cutoff) or cutoff < 1:
        found = "none" if cutoff is None else repr(cutoff)
        raise InvalidInputError(
            f"measure {symbol}: expected a cutoff of at least 1, found {found}; write e.g. {symbol}@10."
        )


def is_whole(value: object) -> bool:
    """Return whether a parameter is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _symbol(written: str) -> str:
    names = {**{symbol: symbol for symbol in _MEASURES}, **_ALIASES}
    if written in _CUT_ALIASES and written not in names:
        raise InvalidInputError(
            f"measure {written}: expected a cutoff, found none; write e.g. {written}_10 or "
            f"{_CUT_ALIASES[written]}@10."
        )
    if written not in names:
        raise unknown_name("measure", written, [*names, *_CUT_ALIASES])
    return names[written]


def _parameters(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not all(word.arg for word in call.keywords):
            raise ValueError(text)
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise InvalidInputError(
            f"measure: expected PARAMETER=VALUE between the brackets, found {name!r}; write e.g. P(rel=2)@5."
        ) from None


def _make(symbol: str, parameters: dict[str, Any]) -> Measure:
    kind = _MEASURES[symbol]
    known = [field.name for field in fields(kind)]
    for parameter in parameters:
        if parameter not in known:
            raise unknown_name(f"parameter of measure {symbol}", parameter, known)
    return kind(**parameters)
