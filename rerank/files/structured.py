"""JSON in files: a fault is a FileFormatError with the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError
from rerank.runtime import strict_json
from rerank.runtime.strict_json import ParseFault


def parse_json(
    text: str, source: str | Path, line: int | None = None, what: str = "JSON", remedy: str | None = None
) -> Any:
    """Return the value of a JSON text that was read from a file.

    source  name of the file
    line    line of the file, if the text is a single line of it; otherwise the line is counted within the text
    what    what is expected, for messages
    remedy  what the user can do, for messages; None: correct the text

    Raises FileFormatError for a text that is not JSON, and for a duplicate key, NaN, Infinity, a number beyond float64
    and brackets nested too deep.
    """
    try:
        return strict_json.parse_json(text, finite=True)
    except ParseFault as fault:
        remedy = remedy or f"Correct the {'file' if line is None else 'line'}"
        at = fault.line if line is None else line
        raise FileFormatError(source, at, f"expected {what}, got {fault}. {remedy}.") from None
