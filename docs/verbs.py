"""MkDocs hook: the page of the command line is written from the verbs, so that it shows what `rerank VERB -h` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from inspect import cleandoc
from typing import Any

import click

from rerank.cli.main import VERBS, cli

MARK = "<!-- verbs -->"
DEFAULT = re.compile(r"\s*\[default: (.*)\]")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the reference of all verbs in place of its mark."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """Return the reference of all verbs in Markdown."""
    lines = ["| verb | what it does |", "|---|---|"]
    lines += [f"| [`{verb}`](#rerank-{verb}) | {_cell(text)} |" for verb, text in VERBS.items()]
    for verb in VERBS:
        lines += ["", *_section(verb)]
    return "\n".join(lines)


def _section(verb: str) -> Iterator[str]:
    """Yield the lines of one verb: its usage, its text and a table of its options."""
    with click.Context(cli, info_name="rerank", **cli.context_settings) as parent:  # which names the help option -h
        command = cli.get_command(parent, verb)
        assert command is not None
        with click.Context(command, parent=parent, info_name=verb) as context:
            usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
            options = [_row(option, context) for option in command.params if isinstance(option, click.Option)]
    yield from (f"## rerank {verb}", "", "```text", usage, "```", "", cleandoc(command.help or ""), "")
    if options:
        yield from ("| option | description | default |", "|---|---|---|", *options)


def _row(option: click.Option, context: click.Context) -> str:
    """Return an option as a row of a table; a default that its help names has a column of its own."""
    text, shown = option.help or "", option.get_help_extra(context).get("default", "")
    named = DEFAULT.search(text)
    default = named[1] if named else shown
    if option.required:
        default = "required"
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {_value(option.make_metavar(context))}"
    return f"| {_cell(names)}{value} | {_cell(DEFAULT.sub('', text))} | {_cell(default)} |"


def _value(text: str) -> str:
    """Return the name of an option's value as code that a narrow column can break at its separators."""
    broken = escape(text).replace("|", "&#124;<wbr>").replace(",", ",<wbr>").replace("=", "=<wbr>")
    return f"<code>{broken}</code>"


def _cell(text: str) -> str:
    """Return text as a cell of a table has it."""
    return " ".join(text.split()).replace("|", "\\|")
