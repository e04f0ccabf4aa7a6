"""JSON and TOML in files: an error is a FileFormatError with the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError
from rerank.files.source import read_text
from rerank.runtime import strict_json
from rerank.runtime.strict_json import ParseFault
from rerank.runtime.strict_toml import parse_toml


def parse_json(
    text: str, source: str | Path, line: int | None = None, what: str = "JSON", remedy: str | None = None
) -> Any:
    """Return the value of a JSON text that was read from a file."""
    try:
        return strict_json.parse_json(text, finite=True)
    except ParseFault as fault:
        remedy = remedy or f"Correct the {'file' if line is None else 'line'}"
        number = fault.line if line is None else line
        raise FileFormatError(source, number, f"expected {what}, got {fault}. {remedy}.") from None


def read_toml(path: str | Path, expected: str) -> dict[str, Any]:
    """Return the table of a TOML file, plain or gzip."""
    text = read_text(path, expected)
    try:
        return parse_toml(text)
    except ParseFault as fault:
        raise FileFormatError(path, fault.line, f"expected TOML, got {fault}. Correct it.") from None
