"""The record of a study, from which it can be repeated: `record.json`, and separately `provenance.json`.

record.json      versions, settings, folds, all tried and chosen hyper-parameters, checksums of the inputs and of the
                 output files; its bytes are equal for equal studies
provenance.json  what may differ between equal studies: the command line, the paths of the inputs, the date
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, shown
from rerank.files.irds import data_set_name
from rerank.files.source import parse_json, read_text
from rerank.lucene.jvm import anserini_version
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Anything, Field, Plain, Record, SchemaError, Sizes, Table, Text, Whole
from rerank.types import Qrels, Topics
from rerank.version import __version__

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors
    from rerank.workflows.index import Index

FORMAT, VERSION = "rerank study", 1
RECORD, PROVENANCE = "record.json", "provenance.json"
INPUTS = ("index", "topics", "qrels", "vectors")
PACKAGES = ("numpy", "numba", "scipy")


def write_record(
    folder: Path,
    study: Mapping[str, Any],
    inputs: Mapping[str, str],
    choices: Sequence[Mapping[str, Any]],
    written: Iterable[str],
    encoder: str = "",
) -> None:
    """Write the record of a study; `written` names its output files.

    encoder  name of the encoder, "" where there is none
    """
    record = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "study": dict(study),
        "inputs": dict(inputs),
        "trials": list(choices),
        **({"encoder": encoder} if encoder else {}),
        "files": {name: file_checksum(folder / name) for name in written},
    }
    with whole_file(folder / RECORD) as file:
        file.write(json.dumps(record, indent=1) + "\n")


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of a study's folder.

    Raises MissingFileError if there is none, FileFormatError if it is not a record of this version or a part is missing
    or invalid.
    """
    record = _read_json(folder / RECORD)
    if record.get("format") != FORMAT or record.get("version") != VERSION:
        raise FileFormatError(
            folder / RECORD,
            None,
            f"expected a record of a study (version {VERSION}), got other JSON or another version. Name a folder "
            "that `rerank experiment` wrote.",
        )
    return _checked(folder / RECORD, record, _RECORD)


def provenance(inputs: Mapping[str, Path]) -> dict[str, Any]:
    """Return the paths of a study's inputs, the command and the date."""
    paths = {name: str(path if data_set_name(path) else path.resolve()) for name, path in inputs.items()}
    return {"command": sys.argv, "date": datetime.now(UTC).isoformat(timespec="seconds"), "inputs": paths}


def write_provenance(folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write the paths of the inputs and the command of a study."""
    with whole_file(folder / PROVENANCE) as file:
        file.write(json.dumps(provenance, indent=1) + "\n")


def read_provenance(folder: Path) -> dict[str, Any]:
    """Read the paths of the inputs of a study; raise MissingFileError and FileFormatError as `read_record`."""
    return _checked(folder / PROVENANCE, _read_json(folder / PROVENANCE), _PROVENANCE)


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of the packages that results may depend on."""
    names = {"python": platform.python_version(), "rerank": __version__, "anserini": anserini_version()}
    return names | {name: version(name) for name in PACKAGES}


def input_checksums(index: Index, topics: Topics, qrels: Qrels, vectors: Vectors | None = None) -> dict[str, str]:
    """Return the sha256 of the content of index, topics and judgements, whatever the order and format of the files.

    The checksum of the vectors is their own.
    """
    judged = {query_id: sorted(qrels[query_id].items()) for query_id in sorted(qrels)}
    contents = {"index": dict(index.forward.fingerprint), "topics": dict(sorted(topics.items())), "qrels": judged}
    sums = {name: _checksum(json.dumps(content, sort_keys=True).encode()) for name, content in contents.items()}
    return sums if vectors is None else {**sums, "vectors": vectors.checksum}


def check_inputs(record: Mapping[str, Any], checksums: Mapping[str, str], names: Mapping[str, str]) -> None:
    """Refuse a replay with other inputs than those of the record; the message names all changes."""
    checksums = {"vectors": "", **checksums}
    changed = [name for name, checksum in record["inputs"].items() if checksums[name] != checksum]
    if changed:
        changes = ", ".join(
            f"{names.get(name, name)} ({name}: {record['inputs'][name][:12]} then, {checksums[name][:12]} now)"
            for name in changed
        )
        raise InvalidInputError(
            f"replay: expected the inputs of the record, got changed ones: {changes}. Restore the inputs, or run a new "
            "study."
        )


def check_files(record: Mapping[str, Any], folder: Path) -> int:
    """Return the number of files, all equal to those of the record; raise InvalidInputError if one differs."""
    sums = {name: file_checksum(folder / name) if (folder / name).is_file() else "" for name in record["files"]}
    differing = [name for name, checksum in record["files"].items() if sums[name] != checksum]
    if differing:
        then, now = record["versions"], versions()
        updates = [f"{name} {then.get(name)} then, {now[name]} now" for name in now if then.get(name) != now[name]]
        raise InvalidInputError(
            f"replay: expected the files of the record, got {len(differing)} that differ, e.g. {differing[0]} "
            f"({'; '.join(updates) or 'the same versions'}). Install the versions of the record."
        )
    return len(record["files"])


def file_checksum(path: Path) -> str:
    """Return the sha256 of a file."""
    return _checksum(path.read_bytes())


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MissingFileError(path, "a file that `rerank experiment` wrote")
    value = parse_json(read_text(path, "a file that `rerank experiment` wrote"), path, remedy="Run the study again")
    if not isinstance(value, dict):
        raise FileFormatError(path, None, "expected a JSON object, got another value. Run the study again.")
    return value


def _checked(path: Path, value: dict[str, Any], fields: Record) -> dict[str, Any]:
    try:
        return fields.read(value, {})
    except SchemaError as error:
        raise FileFormatError(path, None, error.fault("Run the study again.")) from None


@dataclass(frozen=True)
class _Checksum(Field):
    """A checksum, or none yet."""

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the checksum."""
        if not isinstance(value, str) or not (value.isascii() and (value.isalnum() or not value)):
            raise SchemaError("a checksum", shown(value))
        return value


@dataclass(frozen=True)
class _Sums(Table):
    """The checksum of each file, by a name in the study's folder."""

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any]:
        """Return the checksums."""
        sums = super().read(value, sizes)
        for name in sums:
            if Path(name).name != name or "\0" in name or len(name) > 200:
                raise SchemaError("names of files in the study's folder", shown(name))
        return sums


_RECORD = Record(
    {
        "format": Text(),
        "version": Whole(VERSION, VERSION),
        "versions": Table(Text(100)),
        "study": Plain(),
        "inputs": Record({name: _Checksum() for name in INPUTS}, optional={"vectors": ""}),
        "trials": Anything(),
        "encoder": Text(1000),
        "files": _Sums(_Checksum()),
    },
    optional={"encoder": ""},
)
_PROVENANCE = Record(
    {
        "command": Anything(),
        "date": Text(100),
        "inputs": Record({name: Text(10_000) for name in INPUTS}, optional={"vectors": ""}),
    }
)
