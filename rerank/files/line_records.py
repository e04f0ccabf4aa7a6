"""What lines of a file say: records, columns, ids and numbers."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import LineFault, filled_lines, of_line
from rerank.types.data_frames import HEADERS, plain_name
from rerank.types.ids import ID, ID_RULE, QUERY_ID, QUERY_RULE, WHITE_SPACE, Ids, Words, first_broken, repeated_row
from rerank.types.query_rows import Ints

MOST_DIGITS = 18  # of a whole number
_WITH_QUERY = (["query", "fold"], ["query", "better"])  # begin lines of names; "query" alone may be the id of a query
Parsed = TypeVar("Parsed")


def records(
    path: Path, expected: str, parse: Callable[[str], Parsed], has_names: bool = False
) -> Iterator[tuple[int, Parsed]]:
    """Yield the line and the record of all lines but comments, blank ones, and a first one of the columns' names.

    `expected` names the records in the error for a file that has none.
    """
    lines = filled_lines(path, comments="#")
    first = list(islice(lines, 2))
    columns = first[0][1].split() if first else [""]
    are_names = is_header(columns[0]) or [name.lower() for name in columns[:2]] in _WITH_QUERY
    first = first[has_names or (are_names and finite_number(columns[-1].encode()) is None) :]
    if not first:
        raise FileFormatError(path, None, f"expected lines of {expected}, got no line. Name a file with rows.")
    for line, content in chain(first, lines):
        yield line, of_line(path, line, parse, content)


def tab_columns(content: str, expected: str, *numbers: int) -> list[str]:
    """Return the columns of a line between tabs, without blanks around them; `numbers` says how many there may be."""
    columns = [column.strip(WHITE_SPACE) for column in content.split("\t")]
    if len(columns) not in numbers:
        raise LineFault(f"expected {expected} with tabs between them, got {len(columns)}. Put one tab between two.")
    return columns


def check_ids(what: str, query_ids: Iterable[str], others: Iterable[str] = ()) -> None:
    """Refuse ids that a file cannot hold or a reader would refuse; `what` is put before the message."""
    for names, form, rule in ((query_ids, QUERY_ID, QUERY_RULE), (others, ID, ID_RULE)):
        broken = first_broken(names, form)
        if broken is not None:
            raise InvalidInputError(f"{what}expected ids {rule}, got {shown(broken)}. Rename it.")


def refuse_repeats(
    path: Path,
    names: Sequence[str] | Ids,
    query: Ints,
    docs: NDArray[Any],
    lines: Iterable[int] | None = None,
    codes: Words | None = None,
    remedy: str = "",
) -> None:
    """Refuse a document that is twice in a query; `lines` are those of the rows, `remedy` what else can be done."""
    row = repeated_row(query, docs, codes)
    if row is not None:
        where, what = (f" at row {row}", "rows") if lines is None else ("", "lines")
        raise FileFormatError(
            path,
            None if lines is None else int(next(islice(lines, row, None))),
            f"expected each document once in a query, got {shown(docs[row].item())} again in query "
            f"{shown(str(names[query[row]]))}{where}. Remove one of the two {what}{remedy}.",
        )


def id_text(name: str, value: object) -> str:
    """Return an id of a JSON object, which is text or a whole number, as text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise LineFault(f"expected text or a whole number as {name}, got {shown(json.dumps(value))}. Correct it.")
    check_ids(f"{name}: ", (), [str(value)])
    return str(value)


def is_header(query_id: str) -> bool:
    """Return whether an id is a common name of the column of query ids."""
    return plain_name(query_id) in (*HEADERS, "id", "num", "tid")


def whole_number(token: str) -> int | None:
    """Return the whole number in a text, of at most 18 digits without a sign, or None."""
    return int(token) if token.isascii() and token.isdigit() and len(token) <= MOST_DIGITS else None


def finite_number(token: bytes) -> float | None:
    """Return the finite number in the bytes, or None."""
    try:
        number = math.nan if b"_" in token else float(token)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
