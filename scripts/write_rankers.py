#!/usr/bin/env python
"""Writes the tables of docs/rankers.md, behind the line <!-- generated -->, from the declarations of the rankers.

Run: python scripts/write_rankers.py
A test compares the page with what the script would write.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from rerank.rankers.parameters import declared_parameters  # noqa: E402
from rerank.rankers.ranker import known_rankers  # noqa: E402

PAGE, MARK = ROOT / "docs" / "rankers.md", "<!-- generated -->\n"


def page() -> str:
    """Return `docs/rankers.md` with new tables behind the text."""
    lines = []
    for name, ranker in known_rankers().items():
        lines += ["", f"## {ranker.__name__}", "", f"`--ranker {name}`", ""]
        lines += ["| parameter | description | default | accepted | tuned over |", "|---|---|---|---|---|"]
        for each in declared_parameters(ranker).values():
            tried = ", ".join(map(str, each.search))
            accepted = f"{each.type_name}: {each.accepts}" if each.accepts else each.type_name
            help = each.help.replace("*", r"\*")
            cells = (f"`{each.name}`", help, f"`{each.default!r}`", accepted, tried)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return f"{PAGE.read_text('utf8').partition(MARK)[0]}{MARK}" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf8")
