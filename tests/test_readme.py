"""Every command and every example in README.md runs, in order, on files of the names given there.

The demo, which takes a minute on the whole standard library, is given a part of it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.examples import ROOT, SCRIPT, blocks, run_block, write_collection

BLOCKS = blocks(ROOT / "README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readme")
    write_collection(made)
    return made


def test_readme_has_examples_in_both_languages() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "python"}


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_readme_block_runs(number: int, folder: Path) -> None:
    language, text = BLOCKS[number]
    library = Path(asyncio.__file__).parent
    run_block(language, text.replace("rerank demo ", f"rerank demo --library {library} "), folder)


def test_readme_names_scripts_that_exist() -> None:
    named = SCRIPT.findall((ROOT / "README.md").read_text("utf8"))
    assert {"scripts/demo", "scripts/test"} <= set(named)
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script


def test_readme_is_at_most_140_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf8").splitlines()) <= 140
