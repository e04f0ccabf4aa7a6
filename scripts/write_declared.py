#!/usr/bin/env python
"""Writes what is derived from the declarations of rankers, objectives, measures, fusion and sources of candidates.

    rerank/cli/declared.json  names, parameters and help for the command line, which imports none of their modules
    docs/rankers.md           the tables of hyper-parameters, behind the line <!-- generated -->

Run: python scripts/write_declared.py
A test compares the two files with what the script would write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rerank.cli.rankers import ELSEWHERE  # noqa: E402
from rerank.combination.fusion import known_methods, known_norms  # noqa: E402
from rerank.metrics.registry import known_measures  # noqa: E402
from rerank.objectives.registry import known_objectives  # noqa: E402
from rerank.rankers.parameters import Parameter, declared_parameters  # noqa: E402
from rerank.rankers.registry import known_rankers  # noqa: E402
from rerank.retrieval.base import known_sources  # noqa: E402

JSON, PAGE, MARK = ROOT / "rerank" / "cli" / "declared.json", ROOT / "docs" / "rankers.md", "<!-- generated -->\n"


def declared_json() -> str:
    """Return the content of `rerank/cli/declared.json`."""
    measures = [name for name, each in known_measures().items() if not (each.refuses_training or each.asks_judged)]
    rankers = {
        name: {each.name: option(each) for each in declared_parameters(ranker).values() if each.name not in ELSEWHERE}
        for name, ranker in known_rankers().items()
    }
    contents = {
        "measures": sorted(measures, key=str.lower),
        "methods": list(known_methods()),
        "norms": list(known_norms()),
        "objectives": list(known_objectives()),
        "rankers": rankers,
        "sources": list(known_sources()),
    }
    return json.dumps(contents, indent=1) + "\n"


def option(parameter: Parameter) -> dict[str, str]:
    """Return the help of a parameter on the command line."""
    value = parameter.default
    default = ("off", "on")[value] if isinstance(value, bool) else "" if value is None else str(value)
    names = f" Known: {parameter.accepts}." if parameter.name == "objective" else ""
    return {
        "type": parameter.type_name,
        "default": default,
        "help": f"{parameter.help}{names}",
    }


def tables() -> str:
    """Return the generated part of `docs/rankers.md`."""
    lines = []
    for name, ranker in known_rankers().items():
        lines += ["", f"## {ranker.__name__}", "", f"`--ranker {name}`", ""]
        lines += ["| parameter | type | default | accepted | tuned over | |", "|---|---|---|---|---|---|"]
        for each in declared_parameters(ranker).values():
            tried = ", ".join(map(str, each.search))
            cells = (f"`{each.name}`", each.type_name, f"`{each.default!r}`", each.accepts, tried, each.help)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return `docs/rankers.md` with new tables behind the text."""
    return f"{PAGE.read_text('utf8').partition(MARK)[0]}{MARK}{tables()}"


if __name__ == "__main__":
    JSON.write_text(declared_json(), "utf8")
    PAGE.write_text(page(), "utf8")
