"""The settings of a study, from which it can be run again: `settings.json` in its folder.

Output folders: checked before a computation, and filled with all of its files at its end.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.corpus import data_set_name
from rerank.files.source import json_object, of_line, read_text
from rerank.lucene.jvm import anserini_version
from rerank.runtime.codec import Items, Plain, Record, SchemaError, Table, Text, Whole
from rerank.runtime.output import staged_folder, whole_file
from rerank.version import __version__

FORMAT = "rerank study"
VERSION = 2
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
    path = folder / SETTINGS
    what = "a file that `rerank experiment` wrote"
    if not path.is_file():
        raise MissingFileError(path, what)
    try:
        return _SETTINGS.read(of_line(path, None, json_object, read_text(path, what)), {})
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


def check_output_folder(path: str | Path) -> Path:
    """Return the path of an output folder, which may exist; refuse a file before the computation, not after it."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: expected a folder to write into, got a file. Name a folder.")
    return folder


@contextmanager
def staged_output(folder: Path, last: str) -> Iterator[Path]:
    """Yield a new hidden folder, whose files are moved into `folder` if the block ends without an error.

    Other files in the folder stay as they are. The file `last` shows that the others are complete: an earlier one is
    removed before the files are moved, and the new one is moved after them.
    """
    target = folder.resolve()

    def move(staging: Path, target: Path) -> None:
        if not target.exists():
            os.rename(staging, target)
            return
        paths = sorted(staging.iterdir(), key=lambda path: path.name == last)
        for path in paths:
            if (target / path.name).is_dir():
                raise InvalidInputError(f"{target / path.name}: expected a file to write, got a folder. Remove it.")
        (target / last).unlink(missing_ok=True)
        for path in paths:
            shutil.move(path, (target / path.name).resolve())

    with staged_folder(target, move, InvalidInputError, within=target.is_dir()) as staging:
        yield staging
