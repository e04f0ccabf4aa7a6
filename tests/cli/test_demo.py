"""The commands that the demo prints run as they are printed."""

from __future__ import annotations

import asyncio
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import rerank.workflows.demo as demo
from rerank.cli.main import run
from tests.examples import run_block


def test_demo_prints_commands_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small = replace(demo.STUDY, folds=3, parameters={"n_estimators": 5})
    monkeypatch.setattr(demo.run_demo, "__defaults__", (None, small))  # the study of the whole library takes a minute
    library = str(Path(asyncio.__file__).parent)
    folder = tmp_path / "my demo"
    assert run(["-q", "demo", "-o", str(folder), "--library", library]) == 0
    table, _, told = capfd.readouterr().out.partition("\nDocuments, topics")
    assert table.startswith("run ")
    commands = [line for line in told.splitlines() if re.match("cd |rerank ", line)]
    assert commands[0] == f"cd {shlex.quote(str(folder))}"
    verbs = [line.split()[1] for line in commands[1:]]
    assert verbs == ["train", "rerank", "evaluate", "report", "search", "explain", "serve"]
    run_block("sh", "\n".join(commands[:-1]), tmp_path)
    assert (folder / "report.html").is_file()
