"""Files that are read as a whole, and this package's JSON files of one object: a format, a checksum, and the content.

The checksum is that of the values and their order, not of the text: white space may be added. It is compared at every
reading. Who has changed a value on purpose writes the checksum that the error names.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.runtime.fields import SchemaError
from rerank.runtime.json_text import ParseFault, parse_json
from rerank.runtime.output import write_text

MOST_BYTES = 1 << 30
_AT_ONCE = 1 << 22  # bytes
Value = TypeVar("Value")


def read_whole(handle: BinaryIO, path: Path) -> bytes:
    """Return all bytes of an open file; refuse more than MOST_BYTES, as a device or a pipe may have without an end."""
    blocks = []
    n_bytes = 0
    while block := handle.read(_AT_ONCE):
        blocks.append(block)
        n_bytes += len(block)
        if n_bytes > MOST_BYTES:
            raise FileFormatError(
                path,
                None,
                f"expected a file of at most {MOST_BYTES:,} bytes, got more. Name a smaller one, with an end.",
            )
    return b"".join(blocks)


def checksum_of(content: Mapping[str, Any]) -> str:
    """Return the first 16 digits of the SHA-256 of plain JSON values, in hexadecimal."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class JsonFile:
    """A kind of file.

    format          which the file names
    what, remedies  of the messages: for a file of something else, and for a damaged one
    """

    format: str
    what: str
    remedies: tuple[str, str]

    def write(self, path: str | Path, content: Mapping[str, Any]) -> None:
        """Write plain JSON values, complete or not at all."""
        stored = {"format": self.format, "checksum": checksum_of(content), **content}
        write_text(path, json.dumps(stored, ensure_ascii=False, allow_nan=False) + "\n")

    def read(self, handle: BinaryIO, path: Path, restored: Callable[[dict[str, Any]], Value]) -> Value:
        """Return what `restored` makes of the content of an open file; its InvalidInputError is one of the file."""
        other, damaged = self.remedies
        try:
            stored = parse_json(read_whole(handle, path))
            if not isinstance(stored, dict) or stored.pop("format", None) != self.format:
                raise FileFormatError(
                    path, None, f"expected {self.what} (format {self.format}), got other JSON. {other}"
                )
            written = stored.pop("checksum", None)
            checksum = checksum_of(stored)
            value = restored(stored)
        except ParseFault as fault:
            raise FileFormatError(path, fault.line, f"expected {self.what} (JSON), got {fault}. {other}") from None
        except SchemaError as error:
            raise FileFormatError(path, None, error.fault(damaged)) from None
        except InvalidInputError as error:
            raise FileFormatError(path, None, str(error)) from None
        if written != checksum:
            raise FileFormatError(
                path,
                None,
                f"expected content of the checksum that the file names, {shown(written)}, got content of {checksum!r}. "
                f"{damaged} If you changed it on purpose, write this checksum into it.",
            )
        return value
