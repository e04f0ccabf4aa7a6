"""The settings of a study, from which it can be run again: `settings.json` in its folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, MissingFileError
from rerank.files.irds import data_set_name
from rerank.files.source import parse_json, read_text
from rerank.lucene.jvm import anserini_version
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Items, Plain, Record, SchemaError, Table, Text, Whole
from rerank.version import __version__

FORMAT, VERSION = "rerank study", 2
SETTINGS = "settings.json"
PACKAGES = ("numpy", "numba", "scipy")
_PATH = Text(10_000)
_INPUTS = {**dict.fromkeys(("index", "topics", "qrels", "model"), _PATH), "data": Items(_PATH), "runs": Table(_PATH)}
_SETTINGS = Record(
    {
        "format": Text(),
        "version": Whole(VERSION, VERSION),
        "versions": Table(Text(100)),
        "study": Plain(),
        "inputs": Record(_INPUTS, partial=True),
    }
)


def write_settings(folder: Path, study: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Write the settings of a study, the versions, and the paths of its inputs: data are several, runs have names."""
    paths = {name: _absolute(path) for name, path in inputs.items()}
    settings = {"format": FORMAT, "version": VERSION, "versions": versions(), "study": dict(study), "inputs": paths}
    with whole_file(folder / SETTINGS) as file:
        file.write(json.dumps(settings, indent=1) + "\n")


def read_settings(folder: Path) -> dict[str, Any]:
    """Read the settings in a study's folder.

    Raises MissingFileError if there are none, FileFormatError if a part is missing or invalid.
    """
    path, what = folder / SETTINGS, "a file that `rerank experiment` wrote"
    if not path.is_file():
        raise MissingFileError(path, what)
    try:
        return _SETTINGS.read(parse_json(read_text(path, what), path, remedy="Run the study again"), {})
    except SchemaError as error:
        raise FileFormatError(path, None, error.fault("Run the study again.")) from None


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of the packages that results may depend on."""
    names = {"python": platform.python_version(), "rerank": __version__, "anserini": anserini_version()}
    return names | {name: version(name) for name in PACKAGES}


def _absolute(path: Any) -> Any:
    """Return paths as text that does not depend on the current folder."""
    if isinstance(path, Mapping):
        return {name: _absolute(each) for name, each in path.items()}
    if isinstance(path, list | tuple):
        return [_absolute(each) for each in path]
    return str(path if data_set_name(path) else Path(path).resolve())
