"""Accounts: what is known of a model, a feature or an order, as Markdown, as a page and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rerank.evaluation.page.figures import Element, element, page_text, scrolling, section, table
from rerank.runtime.codec import finite, plain
from rerank.runtime.output import whole_file
from rerank.types.query_table import text_table

# What Markdown would read as markup; not a _ inside a word, which it reads as a letter.
_MARKUP = re.compile(r"[\\`*|<>\[\]]|(?<![^\W_])_|_(?![^\W_])")


@dataclass(frozen=True)
class Section:
    """A part of an account: charts, paragraphs and a table.

    Parameters
    ----------
    title : str
        The heading.
    text : sequence of str
        The paragraphs.
    rows : sequence of sequence of str
        The rows of the table; none is no table.
    header : sequence of str
        Names of the columns.
    n_left : int
        Number of columns of text, which are left-aligned.
    figures : sequence of Element
        Charts, which a page shows.

    """

    title: str
    text: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    header: Sequence[str] = ("", "")
    n_left: int = 2
    figures: Sequence[Element] = ()


class Account:
    """Base class of what has sections: `print` and notebooks show it as Markdown."""

    title: str
    subtitle = ""

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the sections of the text, or of the page."""
        raise NotImplementedError

    def to_markdown(self) -> str:
        """Return the account in Markdown.

        Returns
        -------
        str
            The text.

        """
        lines = [f"# {_escaped(self.title)}", *([_escaped(self.subtitle)] if self.subtitle else [])]
        for part in self.parts():
            lines += [f"## {part.title}", *map(_escaped, part.text)]
            if part.rows:
                header, *rows = ([_escaped(cell) for cell in row] for row in (part.header, *part.rows))
                lines.append(text_table(rows, header, part.n_left, "github"))
        return "\n\n".join(lines) + "\n"

    __repr__ = __str__ = _repr_markdown_ = to_markdown

    def to_html(self) -> str:
        """Return the account as a self-contained page, with charts.

        Returns
        -------
        str
            The page.

        """
        sections = []
        for part in self.parts(page=True):
            content = [*part.figures, element("div", [element("p", text) for text in part.text], class_="words")]
            if part.rows:
                content.append(scrolling(table(part.header, part.rows, part.n_left), part.title))
            sections.append(section(part.title.lower().replace(" ", "-"), part.title, content))
        return page_text(self.title, self.subtitle, sections)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; a number that is missing or infinite is None.

        Returns
        -------
        dict
            The fields.

        """
        values = {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return finite(values)  # type: ignore[no-any-return]


def write_account(account: Account, path: str | Path) -> None:
    """Write an account in the form that the ending of the file says: a page, JSON, or else Markdown."""
    ending = Path(path).suffix
    text = account.to_html() if ending == ".html" else str(account)
    if ending == ".json":
        text = json.dumps(account.to_dict(), ensure_ascii=False, indent=1) + "\n"
    with whole_file(path) as file:
        file.write(text)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: in one line, without markup."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
