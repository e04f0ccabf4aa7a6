"""Model files: JSON with a version, the features' names, the recipe and the index's fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import FileFormatError, MissingFileError, ModelMismatchError
from rerank.output import whole_file
from rerank.rankers.registry import ranker_class

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

FORMAT = "rerank-model"
VERSION = 1


def save_model(model: Ranker, path: str | Path) -> None:
    """Write a fitted model; the file appears whole or not at all."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **model.to_dict()}, ensure_ascii=False)
    with whole_file(path) as file:
        file.write(text + "\n")


def load_model(path: str | Path) -> Ranker:
    """Read a model; raises where the file is none, or is of a newer version than this package knows."""
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(source, "a model file")
    try:
        stored = json.loads(source.read_text("utf8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileFormatError(
            source,
            getattr(error, "lineno", None),
            f"expected a model file (JSON), found other bytes ({error}); give a file that `rerank train` wrote.",
        ) from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise FileFormatError(
            source,
            None,
            f"expected a model file (format {FORMAT}), found other JSON; give a file that `rerank train` wrote.",
        )
    if stored.get("version") != VERSION:
        raise ModelMismatchError(
            f"{source}: expected model version {VERSION}, found {stored.get('version')}; "
            "update rerank, or train the model again."
        )
    return _read(stored, source)


def model_from_dict(stored: Mapping[str, Any]) -> Ranker:
    """Return the ranker that `Ranker.to_dict` described."""
    return ranker_class(stored["ranker"]).from_dict(stored)


def _read(stored: Mapping[str, Any], source: Path) -> Ranker:
    try:
        return model_from_dict(stored)
    except (KeyError, TypeError, IndexError) as error:
        raise FileFormatError(
            source,
            None,
            f"expected a whole model, found one with a part missing or wrong ({error!r}); train the model again.",
        ) from error
