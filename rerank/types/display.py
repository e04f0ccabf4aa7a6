"""Short tables of text and HTML: how data structures are shown by `print` and in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

FIRST_ROWS = 5  # rows shown
FIRST_COLUMNS = 8  # columns shown
MOST_CHARACTERS = 40  # of a cell


class Shown:
    """Base class of data structures that are shown as one line of counts and a table of their first rows."""

    def summary(self) -> str:
        """Return one line with the name and the counts of the object."""
        raise NotImplementedError

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the counts and the first rows as text."""
        header, rows, n_rows = self.first_rows(FIRST_ROWS)
        lines = [self.summary(), *_text_lines(*_shortened(header, rows))]
        return "\n".join(lines + (["..."] if n_rows > len(rows) else []))

    def _repr_html_(self) -> str:
        """Return the counts and the first rows as an HTML table, escaped."""
        header, rows, n_rows = self.first_rows(FIRST_ROWS)
        more = f"<p>... {n_rows} rows in all</p>" if n_rows > len(rows) else ""
        return f"<div><p>{escape(self.summary())}</p>{html_table(*_shortened(header, rows))}{more}</div>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in HTML, escaped."""
    head = "".join(f"<th>{escape(_cell(name))}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in rows)
    return f'<table border="1"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def html_folded(summary: str, below: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a summary that opens to a table, and a line below it, in HTML, escaped."""
    opened = f"<details><summary><code>{escape(summary)}</code></summary>{html_table(header, rows)}</details>"
    return f"<div>{opened}<p>{escape(below)}</p></div>"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 query` or `2 queries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _shortened(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return the first columns of a table; `...` replaces the others."""
    if len(header) <= FIRST_COLUMNS:
        return list(header), [list(row) for row in rows]
    return [*header[:FIRST_COLUMNS], "..."], [[*row[:FIRST_COLUMNS], "..."] for row in rows]


def _text_lines(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    cells = [[_cell(value) for value in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        bool(rows) and all(isinstance(row[column], int | float) for row in rows) for column in range(len(header))
    ]
    return [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]


def _cell(value: Any) -> str:
    """Return a value on one line, shortened."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
