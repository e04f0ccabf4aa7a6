"""The registry of measures: to add a measure, add a module to this package that registers its class.

Names are those of `ir_measures` (`nDCG(dcg='exp-log2')@10`), of trec_eval (`map`, `ndcg_cut_10`, `P.5,10`) and, for the
same figure, of ranx, BEIR and RecBole (`hit_rate@10`, `Recall_cap@10`), in whatever case and with `-` or `_` between
their words. MTEB writes the cutoff as `ndcg_at_10`.
The suffix after `.` (or `_`, as trec_eval prints it) lists cutoffs, one measure for each, or is the parameter of one
measure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from importlib import import_module
from inspect import Signature, signature
from typing import Any, TypeVar

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.metrics.base import Measure
from rerank.metrics.custom import custom_measure
from rerank.metrics.parameters import declared
from rerank.runtime.registry import Registry
from rerank.types.data_frames import plain_name

# The file of a symbol; one that is not listed is looked for in all files. That halves the time of the first import.
FILE_OF_SYMBOL = {
    symbol: file
    for file, symbols in {
        "ap": ("AP", "GMAP", "infAP"),
        "discounted": ("DCG",),
        "diversity": ("ERR_IA", "StRecall", "alpha_DCG", "alpha_nDCG", "nERR_IA"),
        "judged": ("Judged", "RelString", "Unjudged"),
        "gains": ("G", "binG"),
        "ndcg": ("RnDCG", "nDCG", "nDCGrel"),
        "pairs": ("AUC", "Bpref", "GMBpref", "PairAccuracy"),
        "precision": ("AvgIPrec", "IPrec", "P", "R", "RelP", "Rprec", "Success"),
        "rbp": ("RBP", "RBPResidual"),
        "reciprocal": ("ERR", "RR", "nERR"),
        "sets": ("NumNonrelRet", "NumQ", "NumRel", "NumRet", "SetAP", "SetF", "SetP", "SetR", "Utility"),
    }.items()
    for symbol in symbols
}
SINGLE = ("cutoff", "beta")  # parameters that are a single number
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# In the order in which trec_eval 10 prints them; its `runid` is not a measure.
_COUNTS = ["num_q", "num_ret", "num_rel", "num_rel_ret"]
_SETS = ["set_P", "set_relative_P", "set_recall", "set_map", "set_F"]
_OFFICIAL = [*_COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"]
GROUPS = {
    "all_trec": [
        *_OFFICIAL,
        *("relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G", "ndcg"),
        *("ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P", "success"),
        *(*_SETS, "num_nonrel_judged_ret", "rbp", "rbp_resid", "unj"),
    ],
    "official": _OFFICIAL,
    "set": [*_COUNTS, "utility", *_SETS],
}
Parameters = dict[str, Any]
_REGISTRY: Registry[type[Measure]] = Registry("measure", "rerank.metrics")
_MEASURES = _REGISTRY.imported()
known_measures = _REGISTRY.known
_ALIASES: dict[str, tuple[str, Parameters]] = {}
_TREC_NAMES: dict[str, TrecName] = {}
_GRAMMAR = re.compile(r"(?P<symbol>[\w-]*?)\s*(?:\((?P<parameters>.*)\))?\s*(?:(?:@|_at_)\s*(?P<at>\d*\.?\d+))?")
MOST_LETTERS = 1000  # of a name: the time of matching it grows with their square
M = TypeVar("M", bound="type[Measure]")


@dataclass(frozen=True)
class TrecName:
    """The meaning of a trec_eval name.

    symbol     symbol of the measure in this package
    parameter  field that the suffix sets; None if the name takes no suffix
    cutoffs    values of that field without a suffix; empty: one measure with its defaults
    """

    symbol: str
    parameter: str | None
    cutoffs: tuple[float, ...] = ()

    def parameters(self, text: str | None) -> list[Parameters]:
        """Return the parameters of each measure that the name means with a suffix; none if the suffix is invalid."""
        if text is None:
            return [{self.parameter or "": value} for value in self.cutoffs] or [{}]
        if self.parameter is None or "_" in text:  # Python reads 5_10 as 510
            return []
        try:
            if "=" in text:
                pairs = [pair.split("=") for pair in text.split(",")]
                return [{self.parameter: {int(label): float(gain) for label, gain in pairs}}]
            numbers = map(float, text.split(","))
            values = tuple(map(int, numbers) if self.parameter == "cutoff" else numbers)  # 23.4 is 23, as for trec_eval
        except (ValueError, OverflowError):
            return []
        if self.cutoffs:
            return [{self.parameter: value} for value in values]
        return [{self.parameter: values if len(values) > 1 or self.parameter not in SINGLE else values[0]}]


def register(
    symbol: str,
    trec: str | None = None,
    trec_cut: str | None = None,
    *,
    trec_parameter: str | None = None,
    cut_parameter: str = "cutoff",
    cutoffs: tuple[float, ...] = CUTOFFS,
    aliases: Mapping[str, Parameters] | None = None,
) -> Callable[[M], M]:
    """Return the decorator that registers the class of a measure."""

    def decorate(measure: M) -> M:
        measure.symbol = symbol
        _REGISTRY.register(symbol)(measure)
        _ALIASES.update({name: (symbol, parameters) for name, parameters in (aliases or {}).items()})
        if trec is not None:
            _TREC_NAMES[trec] = TrecName(symbol, trec_parameter)
        if trec_cut is not None:
            _TREC_NAMES[trec_cut] = TrecName(symbol, cut_parameter, cutoffs)
        return measure

    return decorate


def measure(symbol: str, trec: str | None = None, trec_cut: str | None = None, **options: Any) -> Callable[..., Any]:
    """Return the decorator that makes a registered measure of a function of the lists and of its parameters.

    options  those of `register`, and attributes of `Measure`
    """

    def decorate(function: Callable[..., Any]) -> Any:
        defaults = {name: argument.default for name, argument in list(signature(function).parameters.items())[1:]}
        attributes: dict[str, Any] = {
            "takes_cutoff": "cutoff" in defaults,
            "needs_cutoff": defaults.get("cutoff") is Signature.empty,
            "scores": lambda self, lists: function(lists, **{name: getattr(self, name) for name in defaults}),
            "__doc__": function.__doc__,
            "__module__": function.__module__,
        }
        for name in [name for name in options if hasattr(Measure, name)]:
            attributes[name] = options.pop(name)
        members = [(name, Any, declared(default)) for name, default in defaults.items() if name != "cutoff"]
        if defaults.get("cutoff") not in (None, Signature.empty):
            members.append(("cutoff", Any, field(default=defaults["cutoff"])))
        made = make_dataclass(function.__name__, members, bases=(Measure,), namespace=attributes, frozen=True)
        made.__module__ = function.__module__
        return register(symbol, trec, trec_cut, **options)(made)

    return decorate


def parse_measures(names: object, level: int = 1) -> list[Measure]:
    """Return the measures that names describe; a name may mean several measures (`P.5,10`, `ndcg_cut`, `all_trec`)."""
    measures: dict[str, Measure] = {}
    for name in each_named(names):
        for measure in _measures_of(name):
            if level != 1 and getattr(measure, "rel", None) == 1 and "rel=" not in str(name):
                measure = replace(measure, rel=level)  # type: ignore[call-arg]
            measures.setdefault(measure.name, measure)
    return list(measures.values())


def parse_measure(name: object, level: int = 1) -> Measure:
    """Return the measure that a name describes."""
    measures = parse_measures([name], level)
    if len(measures) > 1:
        raise InvalidInputError(
            f"measure: expected one measure, got several in {name!r}. Name one with its cutoff, e.g. P@10."
        )
    return measures[0]


def named(measure: object) -> Any:
    """Return the name of a measure of ir_measures, which is its text; anything else as it is."""
    is_theirs = hasattr(measure, "SUPPORTED_PARAMS") and hasattr(measure, "iter_calc") and not isinstance(measure, type)
    return str(measure) if is_theirs else measure


def each_named(measures: object) -> list[Any]:
    """Return `named` of each of the measures, or of a single one."""
    if isinstance(measures, Mapping):  # a metric of Elasticsearch
        raise InvalidInputError(
            f"measures: expected names, got {shown(measures)}. Write e.g. ['nDCG@10', 'R(rel=2)@20']."
        )
    if isinstance(measures, Iterable) and not isinstance(measures, str):
        names = [named(measure) for measure in measures]
        # pytrec_eval is given a set, whose order is another in every process.
        return sorted(names, key=str) if isinstance(measures, set | frozenset) else names
    return [named(measures)]


def _measures_of(name: object) -> list[Measure]:
    """Return the measures of a name, which in trec_eval's names and groups may be several, or of a function.

    The file of a measure in the grammar of ir_measures alone is imported.
    """
    name = named(name)
    if isinstance(name, Measure):
        return [name]
    if not isinstance(name, str):
        return [custom_measure(name)]
    name = name.strip()
    if len(name) > MOST_LETTERS:
        raise InvalidInputError(
            f"measure: expected a name of at most {MOST_LETTERS} letters, got {len(name):,}. Write e.g. nDCG@10."
        )
    match = _GRAMMAR.fullmatch(name)
    symbol = match["symbol"] if match else ""
    if symbol in FILE_OF_SYMBOL:
        import_module(f"rerank.metrics.{FILE_OF_SYMBOL[symbol]}")
    if symbol in _MEASURES and name not in _TREC_NAMES:  # P alone is trec_eval's
        return [_from_grammar(name)]
    known_measures()
    if name in GROUPS:
        return [measure for member in GROUPS[name] for measure in _measures_of(member)]
    return _from_trec(name) or [_from_grammar(name)]


def _from_trec(name: str) -> list[Measure]:
    """Return the measures of the longest name of trec_eval at the beginning of a text, by what follows it."""
    for end in range(len(name), 0, -1):
        trec = _TREC_NAMES.get(name[:end])
        if trec is not None and name[end : end + 1] in ("", ".", "_"):
            suffix = name[end + 1 :] if end < len(name) else None
            return [_make(trec.symbol, values) for values in trec.parameters(suffix)]
    return []


def _from_grammar(name: str) -> Measure:
    match = _GRAMMAR.fullmatch(name)
    if not match:
        raise InvalidInputError(
            f"measure: expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE)@CUTOFF, got {name!r}. "
            "Write e.g. nDCG@10 or P(rel=2)@5."
        )
    symbol, values = _symbol(match["symbol"])
    values |= _parameters(name, match["parameters"])
    if match["at"] is not None:
        field = _MEASURES[symbol].at
        values[field] = float(match["at"]) if field != "cutoff" or "." in match["at"] else int(match["at"])
    return _make(symbol, values)


def measure_name(measure: object) -> str:
    """Return the name of what `parse_measure` takes; text is returned as it is."""
    measure = named(measure)
    return measure if isinstance(measure, str) else parse_measure(measure).name


def _symbol(text: str) -> tuple[str, Parameters]:
    """Return the symbol of a name without cutoff, in whatever case, and the parameters that an alias implies."""
    of_trec: dict[str, tuple[str, Parameters]] = {name: (trec.symbol, {}) for name, trec in _TREC_NAMES.items()}
    known = of_trec | _ALIASES | {symbol: (symbol, {}) for symbol in _MEASURES}
    found = known.get(text) or {plain_name(name): meant for name, meant in known.items()}.get(plain_name(text))
    if found is None:
        raise unknown_name("measure", text, list(known))
    return found[0], dict(found[1])


def _parameters(name: str, text: str | None) -> Parameters:
    """Return the parameters in the brackets of a name."""
    try:
        call = ast.parse(f"f({text or ''})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not all(keyword.arg for keyword in call.keywords):
            raise ValueError(text)
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise InvalidInputError(
            f"measure: expected parameters as name=value, got {shown(text)} in {shown(name)}. Write e.g. P(rel=2)@5."
        ) from None


def _make(symbol: str, values: Parameters) -> Measure:
    known = [field.name for field in fields(_MEASURES[symbol])]
    for parameter in values:
        if parameter == "judged_only":  # of ir_measures
            raise InvalidInputError(
                f"measure {symbol}: expected judged_only of the whole evaluation, got it of one measure. Evaluate with "
                "-J (evaluate(..., judged_only=True))."
            )
        if parameter not in known:
            raise unknown_name("parameter", parameter, [field for field in known if field != "cutoff"])
    return _MEASURES[symbol](**values)
