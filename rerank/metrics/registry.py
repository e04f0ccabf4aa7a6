"""The measures by name: a file in this folder that registers its class is all that a new one needs.

A name is read as `ir_measures` writes it (`nDCG(dcg='exp-log2')@10`) or as trec_eval does (`map`,
`ndcg_cut_10`, `P.5,10`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from importlib import import_module
from numbers import Integral
from typing import Any, TypeVar

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.metrics.base import Measure
from rerank.metrics.own import own_measure
from rerank.metrics.trec_names import CUTOFFS, GROUPS, TrecName, split_name
from rerank.runtime.registry import Registry

_REGISTRY: Registry[type[Measure]] = Registry("measure", "rerank.metrics")
_MEASURES = _REGISTRY.imported()
known_measures = _REGISTRY.known
_ALIASES: dict[str, str] = {}
_TREC_NAMES: dict[str, TrecName] = {}
_GRAMMAR = re.compile(r"(?P<symbol>\w*?)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<at>\d*\.?\d+))?")
M = TypeVar("M", bound="type[Measure]")


def register(
    symbol: str,
    trec: str | None = None,
    trec_cut: str | None = None,
    *,
    trec_parameter: str | None = None,
    cut_parameter: str = "cutoff",
    cutoffs: tuple[float, ...] = CUTOFFS,
    aliases: Mapping[str, str] | None = None,
) -> Callable[[M], M]:
    """Enter a measure's class.

    symbol          its name without parameters (`nDCG`)
    trec            trec_eval's name for it on the whole list (`ndcg`)
    trec_cut        trec_eval's name before a cutoff (`ndcg_cut`, for `ndcg_cut_10`)
    trec_parameter  the field that what stands behind `trec` is for (`ndcg.1=3,2=9`); None: nothing may stand there
    cut_parameter   the field that each cutoff behind `trec_cut` is for
    cutoffs         those of `trec_cut` where none is named
    aliases         other names -> what they mean, in our names (`{"SetRelP": "SetP(relative=True)"}`)
    """

    def enter(measure: M) -> M:
        measure.symbol = symbol
        _REGISTRY.register(symbol)(measure)
        _ALIASES.update(aliases or {})
        if trec is not None:
            _TREC_NAMES[trec] = TrecName(symbol, trec_parameter)
        if trec_cut is not None:
            _TREC_NAMES[trec_cut] = TrecName(symbol, cut_parameter, cutoffs)
        return measure

    return enter


def parse_measures(names: Iterable[Any], level: int = 1) -> list[Measure]:
    """Return the measures of some names; a name may stand for several (`P.5,10`, `ndcg_cut`, `all_trec`).

    level  least label that is relevant, for measures whose name does not say `rel` (trec_eval's -l)
    Raises InvalidInputError as `parse_measure` does.
    """
    found: dict[str, Measure] = {}
    for name in names:
        for measure in _measures_of(name):
            if level != 1 and getattr(measure, "rel", None) == 1 and "rel=" not in str(name):
                measure = replace(measure, rel=level)  # type: ignore[call-arg]
            found.setdefault(measure.name, measure)
    return list(found.values())


def parse_measure(name: Any) -> Measure:
    """Return the measure of a name; a measure is returned as it is.

    A function score(ranked_labels, ideal_labels), or an object with such a method, becomes an `OwnMeasure`.
    Raises InvalidInputError for an unknown name, an unknown parameter or a value that does not fit.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        return own_measure(name)
    found = _trec_measures(name.strip())
    if len(found) == 1:
        return found[0]
    if found and name.strip() not in _TREC_NAMES:
        raise InvalidInputError(f"measure: expected one measure, got several in {name!r}. Name one, e.g. P.5.")
    return _from_grammar(name)


def _measures_of(name: Any) -> list[Measure]:
    if isinstance(name, str):
        if name in GROUPS:
            known_measures()
            return [measure for member in GROUPS[name] for measure in _measures_of(member)]
        if found := _trec_measures(name.strip()):
            return found
    return [parse_measure(name)]


def _trec_measures(name: str) -> list[Measure]:
    """Return the measures of a name as trec_eval writes it; none where it is no such name."""
    if _is_ours(name):
        return []
    known_measures()
    found = split_name(name, _TREC_NAMES)
    parameters = found[0].parameters(found[1]) if found else None
    if found is None or parameters is None:
        return []
    return [_make(name, found[0].symbol, given) for given in parameters]


def _is_ours(name: str) -> bool:
    """Return whether a name is one of ours: then its own file is all that must load, which saves half a start."""
    found = _GRAMMAR.fullmatch(name)
    symbol = found["symbol"] if found else ""
    if symbol and symbol not in _MEASURES:
        module = f"rerank.metrics.{symbol.lower()}"
        try:
            import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name != module:
                raise
    bare = symbol == name and getattr(_MEASURES.get(symbol), "needs_cutoff", False)  # trec_eval's P, of all cutoffs
    return symbol in _MEASURES and not bare


def _from_grammar(name: str) -> Measure:
    found = _GRAMMAR.fullmatch(name.strip())
    if not found:
        raise InvalidInputError(
            f"measure: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, got {name!r}. "
            "Write e.g. nDCG@10 or P(rel=2)@5."
        )
    symbol, given = _symbol(found["symbol"])
    given |= _parameters(name, symbol, found["parameters"])
    if found["at"] is not None:
        field = _MEASURES[symbol].at
        _check_once(name, symbol, field, given)
        given[field] = float(found["at"]) if field != "cutoff" or "." in found["at"] else int(found["at"])
    return _make(name, symbol, given)


def measure_name(measure: Any) -> str:
    """Return text for what `parse_measure` takes: a name as it was written, the name of all else."""
    return measure if isinstance(measure, str) else parse_measure(measure).name


def check_cutoff(measure: Measure) -> None:
    """Refuse a cutoff that is no whole number of at least 1, or one where the measure takes none."""
    cutoff, symbol = measure.cutoff, measure.symbol
    if cutoff is not None and not measure.takes_cutoff:
        raise InvalidInputError(f"measure {symbol}: expected no cutoff, got {cutoff!r}. Write {symbol}.")
    if cutoff is None or (isinstance(cutoff, Integral) and not isinstance(cutoff, bool) and cutoff >= 1):
        return
    raise InvalidInputError(
        f"measure {symbol}: expected a cutoff of at least 1, got {cutoff!r}. Write e.g. {symbol}@10."
    )


def _symbol(written: str) -> tuple[str, dict[str, Any]]:
    """Return the measure of a name without cutoff, and the parameters that the name stands for."""
    if written in _MEASURES:
        return written, {}
    known_measures()
    if written in _ALIASES:
        meant = _GRAMMAR.fullmatch(_ALIASES[written])
        if meant:
            return meant["symbol"], _parameters(written, meant["symbol"], meant["parameters"])
    trec = _TREC_NAMES.get(written)
    if trec is None:
        raise unknown_name("measure", written, [*_MEASURES, *_ALIASES, *_TREC_NAMES])
    if trec.cutoffs:
        raise InvalidInputError(
            f"measure {written}: expected a cutoff, got none. Write e.g. {written}_10 or {trec.symbol}@10."
        )
    return trec.symbol, {}


def _parameters(name: str, symbol: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not all(word.arg for word in call.keywords):
            raise ValueError(text)
        words = [(str(word.arg), ast.literal_eval(word.value)) for word in call.keywords]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise InvalidInputError(
            f"measure: expected parameters as name=value, got {shown(text)} in {shown(name)}. Write e.g. P(rel=2)@5."
        ) from None
    given: dict[str, Any] = {}
    for word, value in words:
        _check_once(name, symbol, word, given)
        given[word] = value
    return given


def _check_once(name: str, symbol: str, parameter: str, given: Mapping[str, Any]) -> None:
    if parameter in given:
        raise InvalidInputError(f"measure {symbol}: expected {parameter} once, got it twice in {name!r}. Drop one.")


def _make(name: str, symbol: str, given: Mapping[str, Any]) -> Measure:
    known = [field.name for field in fields(_MEASURES[symbol])]
    for parameter in given:
        if parameter not in known:
            raise unknown_name("parameter", parameter, [field for field in known if field != "cutoff"])
    measure = _MEASURES[symbol](**given)
    check_cutoff(measure)
    return measure
