"""Every command and every example in README.md runs, in order, on files of the names given there.

The demo, which takes a minute on the whole standard library, is given a part of it.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from tests.examples import ROOT, SCRIPT, blocks, run_block, write_collection

BLOCKS = blocks(ROOT / "README.md")
WRITTEN = re.compile(r"""(?: -o |\.save\(")([\w./-]+)""")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readme")
    write_collection(made)
    return made


@pytest.fixture(scope="module")
def demo_output(folder: Path) -> str:
    """The output of README's first block: of the demo, and of the commands that follow it."""
    library = Path(asyncio.__file__).parent
    language, text = BLOCKS[0]
    return run_block(language, text.replace("rerank demo ", f"rerank -q demo --library {library} "), folder)


def test_readme_has_examples_in_both_languages() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "python"}


def test_readme_has_the_commands_that_the_demo_prints_and_they_run(demo_output: str, folder: Path) -> None:
    table, _, told = demo_output.partition("\nDocuments, topics")
    assert table.startswith("run ")
    commands = [line for line in told.splitlines() if re.match("cd |rerank ", line)]
    assert [line.split()[1] for line in commands[5:]] == ["search", "explain", "serve"]
    assert commands[:5] == BLOCKS[0][1].splitlines()[1:6]
    run_block("sh", "\n".join(commands[5:7]), folder / "demo-output")
    assert (folder / "demo-output" / "report.html").is_file()


@pytest.mark.parametrize("number", range(1, len(BLOCKS)))
def test_readme_block_runs(number: int, folder: Path) -> None:
    language, text = BLOCKS[number]
    run_block(language, text, folder)
    assert [name for name in WRITTEN.findall(text) if not (folder / name).exists()] == []


def test_readme_names_scripts_that_exist() -> None:
    named = SCRIPT.findall((ROOT / "README.md").read_text("utf8"))
    assert {"scripts/demo", "scripts/test"} <= set(named)
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script


def test_readme_is_at_most_140_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf8").splitlines()) <= 140
