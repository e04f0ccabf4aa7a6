"""trec_eval's names: `map`, `ndcg_cut_10`, `P.5,10`, `ndcg.1=3,2=9`, and its sets of measures such as `all_trec`.

The suffix after `.` (or `_`, as trec_eval prints it) lists cutoffs, one measure for each, or is the parameter of one
measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# In the order in which trec_eval 10 prints them; its `runid` is not a measure.
_COUNTS = ["num_q", "num_ret", "num_rel", "num_rel_ret"]
_SETS = ["set_P", "set_relative_P", "set_recall", "set_map", "set_F"]
_OFFICIAL = [*_COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"]
_FURTHER = ["relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G", "ndcg"]
_FURTHER += ["ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P", "success"]
GROUPS = {
    "all_trec": [*_OFFICIAL, *_FURTHER, *_SETS, "num_nonrel_judged_ret", "rbp", "rbp_resid", "unj"],
    "official": _OFFICIAL,
    "set": [*_COUNTS, "utility", *_SETS],
}
Parameters = dict[str, Any]


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

    def parameters(self, text: str | None) -> list[Parameters] | None:
        """Return the parameters of each measure that the name means with a suffix; None if the suffix is invalid."""
        if text is None:
            return [{self.parameter or "": value} for value in self.cutoffs] or [{}]
        if self.parameter is None:
            return None
        try:
            if "=" in text:
                return [{self.parameter: _pairs(text)}]
            values = tuple(float(value) for value in text.split(","))
            if self.parameter == "cutoff":  # `23.4` is 23, as for trec_eval
                values = tuple(int(value) for value in values)
        except (ValueError, OverflowError):
            return None
        if self.cutoffs:
            return [{self.parameter: value} for value in values]
        return [{self.parameter: values if len(values) > 1 or self.parameter not in SINGLE else values[0]}]


SINGLE = ("cutoff", "beta")  # parameters that are a single number


def _pairs(text: str) -> dict[int, float]:
    pairs = [pair.split("=") for pair in text.split(",")]
    return {int(label): float(gain) for label, gain in pairs}


def split_name(name: str, known: dict[str, TrecName]) -> tuple[TrecName, str | None] | None:
    """Return the longest known name at the beginning of a text, and the suffix; None if no name is known."""
    for end in range(len(name), 0, -1):
        if name[:end] in known and name[end : end + 1] in ("", ".", "_"):
            return known[name[:end]], name[end + 1 :] if end < len(name) else None
    return None
