"""Model files: JSON with a version, the features' names, the recipe and the index's fingerprint.

Each ranker declares its parameters and what it learned (`rerank.runtime.schema`); saving and loading check a model
completely against the declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, ModelMismatchError, shown
from rerank.rankers.ranker import FORMAT, VERSION, Ranker, StoredModel
from rerank.runtime.schema import SchemaError
from rerank.runtime.strict_json import ParseFault, parse_json

REMEDY = "Train the model again, or fetch the file again."


def read_model(path: str | Path) -> Ranker:
    """Read a model file, which is checked completely: the model can be applied.

    Parameters
    ----------
    path : str or Path
        A file that `Ranker.save` or `rerank train` wrote.

    Returns
    -------
    Ranker
        The model.

    Raises
    ------
    FileFormatError
        For a file that is no model or a damaged one, with the place and the reason.
    ModelMismatchError
        For a version of the format that this package cannot read.
    MissingFileError
        Where there is no file.

    """
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(source, "a model file")
    try:
        stored = parse_json(source.read_bytes())
    except ParseFault as fault:
        raise FileFormatError(
            source,
            fault.line,
            f"expected a model file (JSON), got {fault}. Give a file that `rerank train` wrote.",
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
            "Update rerank, or train the model again."
        )
    return _checked(stored, source)


def fitted_model(model: Ranker | str | Path) -> Ranker:
    """Return a model, or that of a file; raises scikit-learn's NotFittedError for one that is not fitted."""
    if isinstance(model, str | Path):
        return read_model(model)
    model._check_fitted()
    return model


def model_from_dict(stored: Mapping[str, Any]) -> Ranker:
    """Return the ranker that `Ranker.to_dict` described; raises InvalidInputError where it is none."""
    return StoredModel().read(stored, {})


def _checked(stored: Mapping[str, Any], source: Path) -> Ranker:
    try:
        return model_from_dict(stored)
    except SchemaError as error:
        raise FileFormatError(source, None, error.fault(REMEDY)) from None
    except InvalidInputError as error:
        raise FileFormatError(source, None, str(error)) from None
