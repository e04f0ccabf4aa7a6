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

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, shown
from rerank.files.irds import data_set_name
from rerank.files.source import parse_json, read_text
from rerank.lucene.jvm import anserini_version
from rerank.rankers.ranker import Ranker
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Anything, Field, Items, Plain, Record, SchemaError, Sizes, Table, Text, Whole
from rerank.version import __version__

if TYPE_CHECKING:
    from rerank.workflows.study import Study
    from rerank.workflows.study_inputs import StudyInputs

FORMAT, VERSION = "rerank study", 1
RECORD, PROVENANCE = "record.json", "provenance.json"
INPUTS = ("index", "topics", "data", "qrels", "vectors", "model")
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


def provenance(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the paths of a study's inputs, the command and the date; data are several paths, runs have names."""
    paths = {name: _absolute(path) for name, path in inputs.items()}
    return {"command": sys.argv, "date": datetime.now(UTC).isoformat(timespec="seconds"), "inputs": paths}


def _absolute(path: Any) -> Any:
    """Return paths as text that does not depend on the current folder."""
    if isinstance(path, Mapping):
        return {name: _absolute(each) for name, each in path.items()}
    if isinstance(path, list | tuple):
        return [_absolute(each) for each in path]
    return str(path if data_set_name(path) else Path(path).resolve())


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


def input_checksums(inputs: StudyInputs, study: Study) -> dict[str, Any]:
    """Return the sha256 of the content of each input, whatever the order and format of the files.

    Those of runs are by name; the checksum of vectors is their own.
    """
    sums: dict[str, Any] = {}
    if inputs.index is not None and inputs.topics is not None:
        sums["index"] = _plain_checksum(dict(inputs.index.forward.fingerprint))
        sums["topics"] = _plain_checksum(dict(sorted(inputs.topics.items())))
    else:
        sums["data"] = _data_checksum(inputs.source)
    if inputs.qrels is not None:
        judged = {query_id: sorted(inputs.qrels[query_id].items()) for query_id in sorted(inputs.qrels)}
        sums["qrels"] = _plain_checksum(judged)
    if inputs.index is not None and inputs.index.vectors is not None:
        sums["vectors"] = inputs.index.vectors.checksum
    if isinstance(study.base, Ranker):
        sums["model"] = _plain_checksum(study.base.to_dict())
    if inputs.runs:
        sums["runs"] = {name: _plain_checksum({q: run[q] for q in sorted(run)}) for name, run in inputs.runs.items()}
    return sums


def _data_checksum(data: Any) -> str:
    """Return that of the features, ids, labels and base scores of data."""
    digest = hashlib.sha256(json.dumps([list(data.feature_names), data.recipe], sort_keys=True).encode())
    for column in (
        data.query_ids,
        data.query_ptr,
        data.doc_ids,
        data.labels,
        data.base_scores,
        data.ideal_labels,
        data.X,
    ):
        if column is not None:
            digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def _plain_checksum(content: Any) -> str:
    """Return that of plain JSON values."""
    return _checksum(json.dumps(content, sort_keys=True).encode())


def check_inputs(record: Mapping[str, Any], checksums: Mapping[str, str], names: Mapping[str, str]) -> None:
    """Refuse a replay with other inputs than those of the record; the message names all changes."""
    then, now = _flat(record["inputs"]), _flat(checksums)
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if changed:
        changes = ", ".join(
            f"{names.get(name, name)} ({name}: {then.get(name, 'none')[:12]} then, {now.get(name, 'none')[:12]} now)"
            for name in changed
        )
        raise InvalidInputError(
            f"replay: expected the inputs of the record, got changed ones: {changes}. Restore the inputs, or run a new "
            "study."
        )


def _flat(checksums: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksums of inputs, with those of runs among them."""
    return {name: each for name, each in {**checksums, **checksums.get("runs", {})}.items() if isinstance(each, str)}


def check_kept(record: Mapping[str, Any], folder: Path) -> None:
    """Refuse a study's folder whose files are not those of its record."""
    for name in _differing(record, folder)[:1]:
        got = "another one" if (folder / name).is_file() else "nothing there"
        raise InvalidInputError(
            f"{folder / name}: expected the file that the study wrote, got {got}. Fetch the folder again, or repeat "
            "the study."
        )


def check_files(record: Mapping[str, Any], folder: Path) -> int:
    """Return the number of files, all equal to those of the record; raise InvalidInputError if one differs."""
    differing = _differing(record, folder)
    if differing:
        then, now = record["versions"], versions()
        updates = [f"{name} {then.get(name)} then, {now[name]} now" for name in now if then.get(name) != now[name]]
        raise InvalidInputError(
            f"replay: expected the files of the record, got {len(differing)} that differ, e.g. {differing[0]} "
            f"({'; '.join(updates) or 'the same versions'}). Install the versions of the record."
        )
    return len(record["files"])


def _differing(record: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the names of the record's files that a folder does not have, or not with their content."""
    sums = {name: file_checksum(folder / name) if (folder / name).is_file() else "" for name in record["files"]}
    return [name for name, checksum in record["files"].items() if sums[name] != checksum]


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


_PATH = Text(10_000)
_RECORD = Record(
    {
        "format": Text(),
        "version": Whole(VERSION, VERSION),
        "versions": Table(Text(100)),
        "study": Plain(),
        "inputs": Record({**dict.fromkeys(INPUTS, _Checksum()), "runs": Table(_Checksum())}, partial=True),
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
        "inputs": Record(
            {**dict.fromkeys(INPUTS, _PATH), "data": Items(_PATH), "runs": Table(_PATH)},
            partial=True,
        ),
    }
)
