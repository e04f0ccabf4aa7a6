"""Findings as text: a line each, or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from rerank.doctor.findings import GRAVITIES, Finding
from rerank.errors import unknown_name


def render(findings: Sequence[Finding], n_files: int, form: str = "table") -> str:
    """Return findings, gravest first, as text.

    n_files  number of files that were examined
    form     `table`: a line each, and a last one that counts them; `json`
    """
    counts = Counter(finding.gravity for finding in findings)
    if form == "json":
        about = [vars(finding) | {"lines": list(finding.lines)} for finding in findings]
        return json.dumps({"files": n_files, "counts": {name: counts[name] for name in GRAVITIES}, "findings": about})
    if form != "table":
        raise unknown_name("format", form, ["table", "json"])
    said = ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in GRAVITIES)
    files = f"{n_files} file{'s' * (n_files != 1)}"
    return "\n".join([*(finding.text for finding in findings), f"{files} examined: {said}"])
