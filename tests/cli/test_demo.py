"""The commands that the demo prints; `tests/test_readme.py` runs them."""

from __future__ import annotations

from pathlib import Path

from rerank.cli.demo import next_commands


def test_demo_quotes_the_name_of_its_folder() -> None:
    assert "cd 'my demo'" in next_commands(Path("my demo")).splitlines()
