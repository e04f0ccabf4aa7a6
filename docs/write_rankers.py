"""Writes the tables of docs/rankers.md, behind the line <!-- generated -->, from the declarations of the rankers.

Run: python docs/write_rankers.py
A test compares the page with what the script would write.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rerank.rankers.parameters import Parameter, declared_parameters  # noqa: E402
from rerank.rankers.registry import known_rankers  # noqa: E402

HEAD = ("| parameter | description |", "|---|---|")
PAGE, MARK = ROOT / "docs" / "rankers.md", "<!-- generated -->\n"


def page() -> str:
    """Return `docs/rankers.md` with new tables behind the text: what several rankers share, then each ranker."""
    tables = {ranker: list(map(row, declared_parameters(ranker).values())) for ranker in known_rankers().values()}
    uses = Counter(line for table in tables.values() for line in table)
    shared = sorted(line for line, count in uses.items() if count > 1)
    lines = ["", "## Shared by several rankers", "", *HEAD, *shared]
    for name, ranker in known_rankers().items():
        lines += ["", f"## {ranker.__name__}", "", f"`--ranker {name}`", ""]
        own = [line for line in tables[ranker] if uses[line] == 1]
        others = [line.split("`")[1] for line in tables[ranker] if uses[line] > 1]
        if own:
            lines += [*HEAD, *own, ""]
        lines.append(f"Shared: {', '.join(f'`{other}`' for other in others)}.")
    return f"{PAGE.read_text('utf8').partition(MARK)[0]}{MARK}" + "\n".join(lines) + "\n"


def row(parameter: Parameter) -> str:
    """Return a parameter as a row of a table: its name, what it does and accepts, its default."""
    accepts = parameter.field.accepts()
    accepted = f"{parameter.field.type_name}: {accepts}" if accepts else parameter.field.type_name
    text = f"{parameter.help} Accepted: {accepted}."
    if parameter.search:
        text += f" Tuned over: {', '.join(map(str, parameter.search))}."
    text = text.replace("*", r"\*").replace("|", r"\|")
    return f"| `{parameter.name}` | {text} Default: `{parameter.default!r}`. |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf8")
