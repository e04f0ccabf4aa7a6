"""The page of the command line is written from the verbs when the site is built."""

from __future__ import annotations

import runpy

import click
import pytest

from rerank.cli.main import VERBS, cli
from tests.examples import ROOT

PAGE = ROOT / "docs" / "command-line.md"
HOOK = runpy.run_path(str(ROOT / "docs" / "verbs.py"))
WRITTEN = HOOK["on_page_markdown"](PAGE.read_text("utf8"))


def test_page_has_the_mark_of_the_reference_and_no_reference_of_its_own() -> None:
    text = PAGE.read_text("utf8")
    assert text.count(HOOK["MARK"]) == 1
    assert "\n## rerank " not in text


def test_other_pages_are_left_as_they_are() -> None:
    assert HOOK["on_page_markdown"]("# Page\n") == "# Page\n"


@pytest.mark.parametrize("verb", VERBS)
def test_reference_has_usage_text_and_every_option_of_a_verb(verb: str) -> None:
    section = WRITTEN.partition(f"\n## rerank {verb}\n")[2].partition("\n## rerank ")[0]
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert f"\nrerank {verb} [OPTIONS]" in section
    assert (command.help or "").partition("\n")[0] in section
    options = [option for option in command.params if isinstance(option, click.Option)]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert len(rows) == len(options)
    for option, row in zip(options, rows, strict=True):
        assert all(f"`{name}`" in row for name in option.opts)


def test_default_that_the_help_names_is_in_its_column() -> None:
    (row,) = {line for line in WRITTEN.splitlines() if line.startswith("| `--shards`")}
    assert row == "| `--shards` <code>N</code> | Split the index into N shards. | no shards |"
