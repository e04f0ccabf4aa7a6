"""The format of model files: JSON with a version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, ModelMismatchError, shown
from rerank.runtime.schema import Field, SchemaError
from rerank.runtime.strict_json import ParseFault, parse_json

FORMAT = "rerank-model"
VERSION = 2
REMEDY = "Train the model again, or fetch the file again."


def read_model_file(path: str | Path, model: Field) -> Any:
    """Return what the field `model` reads of the content of a model file."""
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(source, "a model file")
    try:
        stored = parse_json(source.read_bytes())
    except ParseFault as fault:
        raise FileFormatError(
            source,
            fault.line,
            f"expected a model file (JSON), got {fault}. Give a file that `rerank train` wrote, or import it "
            "(`rerank import`, import_model).",
        ) from None
    if not isinstance(stored, dict) or stored.pop("format", None) != FORMAT:
        raise FileFormatError(
            source,
            None,
            f"expected a model file (format {FORMAT}), got other JSON. Give a file that `rerank train` wrote.",
        )
    version = stored.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise ModelMismatchError(
            f"{source}: expected model version {VERSION}, got {shown(version)}. "
            "Train the model again (`rerank train`), or update rerank."
        )
    try:
        return model.read(stored, {})
    except SchemaError as error:
        raise FileFormatError(source, None, error.fault(REMEDY)) from None
    except InvalidInputError as error:
        raise FileFormatError(source, None, str(error)) from None
