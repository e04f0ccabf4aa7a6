"""Counts and short tables as text: of what is printed, and of data structures that are shown by their first rows."""

import csv
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from io import StringIO
from typing import Any

import numpy as np

FIRST_ROWS = 5  # rows shown
FIRST_COLUMNS = 8  # columns shown
MOST_CHARACTERS = 40  # of a cell


class Shown:
    """Base class of data structures that are shown as one line of counts and a table of their first rows."""

    @abstractmethod
    def summary(self) -> str:
        """Return one line with the name and the counts of the object."""

    @abstractmethod
    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows."""

    def _cells(self) -> tuple[list[list[str]], list[list[Any]], int]:
        """Return the header and the first rows as texts, the values of these rows, and the number of all rows."""
        header, rows, n_rows = self.first_rows(FIRST_ROWS)
        others = ["..."] if len(header) > FIRST_COLUMNS else []
        return [[*map(_cell, row[:FIRST_COLUMNS]), *others] for row in (header, *rows)], rows, n_rows

    def _repr_html_(self) -> str:
        """Return the counts and the first rows for a notebook."""
        (header, *cells), rows, n_rows = self._cells()
        more = "<p>...</p>" if n_rows > len(rows) else ""
        return f"<p>{escape(self.summary())}</p>\n{text_table(cells, header, len(header), 'html')}{more}"

    def __repr__(self) -> str:
        """Return the counts and the first rows as text."""
        (header, *cells), rows, n_rows = self._cells()
        is_number = [all(isinstance(value, int | float) for value in column) for column in zip(*rows, strict=True)]
        table = text_table(cells, header, [*is_number, True].index(True), "plain")
        return "\n".join([self.summary(), table, *(["..."] if n_rows > len(rows) else [])])


def text_table(rows: Sequence[Sequence[Any]], header: Sequence[str], n_left: int = 1, form: str = "simple") -> str:
    """Return a table of text: the first `n_left` columns are left-aligned, the others right-aligned."""
    if form == "csv":
        return csv_lines([header, *rows])
    from tabulate import tabulate  # imported here: most commands write no table

    align = ("left",) * n_left + ("right",) * (len(header) - n_left)
    return tabulate(rows, header, tablefmt=form, disable_numparse=True, colalign=align if rows else None)


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as lines of CSV (RFC 4180, but for the ends of lines), without the end of the last."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().removesuffix("\n")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 query` or `2 queries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _cell(value: Any) -> str:
    """Return a value on one line, shortened."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
