"""Findings as text, one line each, or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from rerank.doctor.findings import SEVERITIES, Finding
from rerank.errors import unknown_name


def render(findings: Sequence[Finding], n_files: int, form: str = "table") -> str:
    """Return findings as text."""
    counts = Counter(finding.severity for finding in findings)
    if form == "json":
        entries = [vars(finding) | {"lines": list(finding.lines)} for finding in findings]
        return json.dumps(
            {"files": n_files, "counts": {name: counts[name] for name in SEVERITIES}, "findings": entries}
        )
    if form != "table":
        raise unknown_name("format", form, ["table", "json"])
    summary = ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in SEVERITIES)
    files = f"{n_files} file{'s' * (n_files != 1)}"
    return "\n".join([*(finding.text for finding in findings), f"{files} examined: {summary}"])
