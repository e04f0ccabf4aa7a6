"""Text in, findings out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rerank.doctor import Finding, examine, read_sources

Examine = Callable[..., list[Finding]]


@pytest.fixture
def findings_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Write each text to a file named by its kind (`qrels`, `run`, `run2` …) and return the findings."""
    monkeypatch.chdir(tmp_path)

    def call(**texts: str) -> list[Finding]:
        for name, text in texts.items():
            Path(name).write_text(text)
        return examine(read_sources([(name.rstrip("0123456789"), Path(name)) for name in texts]))

    return call


def only(findings: list[Finding]) -> str:
    """Return the text of the one finding there is."""
    assert len(findings) == 1, [finding.text for finding in findings]
    return findings[0].text
