"""Verification of forward arrays: their manifest, the digests of their files, and their content.

The manifest has the sha256 of each file. Reading all files at each opening would take too long, so a note records the
size and times of verified files. A file that was changed, copied or downloaded has other times and is checked again.
The note is next to the arrays, or in the user's cache folder if their folder is read-only.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import IndexFolderError
from rerank.runtime.cache import file_state, is_noted, note_path, write_note
from rerank.runtime.strict_json import ParseFault, parse_json

if TYPE_CHECKING:
    from rerank.types.forward import ForwardIndex

FORMAT = 5
MANIFEST, NOTE = "manifest.json", "verified.json"
# Errors that Python and NumPy raise for damaged headers, and errors of the system.
UNREADABLE = (OSError, ValueError, TypeError, LookupError, SyntaxError, OverflowError, MemoryError, RecursionError)
_ARRAYS = ("doc_ids", "lucene_docs", "doc_slots", "numbers", "vocabulary", "term_ptr")
_FIELD_ARRAYS = ("doc_ptr", "terms", "freqs", "position_ptr", "lengths", "doc_freq", "collection_freq")
_log = logging.getLogger("rerank")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of forward arrays, None if there is none."""
    try:
        manifest = parse_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged(folder, f"{MANIFEST} cannot be read: {error.strerror}") from error
    except ParseFault as fault:
        raise damaged(folder, f"{MANIFEST} holds {fault}") from None
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise damaged(folder, f"{MANIFEST} names no format")
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest with a checksum, by which changes are detected."""
    with_checksum = {**manifest, "checksum": _signature(manifest)}
    (folder / MANIFEST).write_text(json.dumps(with_checksum, indent=1), encoding="utf8")


def _signature(manifest: Mapping[str, Any]) -> str:
    """Return the sha256 of all of a manifest but its own checksum."""
    parts = {name: value for name, value in manifest.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


def check_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that was changed, or has missing or wrong members, and files of another size."""
    if manifest.get("checksum") != _signature(manifest):
        raise damaged(folder, f"{MANIFEST} is not the one that was made")
    types = {"made_with_index": bool, "fields": list, "numbers": list, "language": str, "fingerprint": dict}
    types |= {"shards": list}
    wrong = [name for name, kind in (types | {"files": dict}).items() if not isinstance(manifest.get(name), kind)]
    if not wrong and not _are_names(manifest["numbers"]):
        wrong = ["numbers"]
    if not wrong and not (all(map(_is_field, manifest["fields"])) and _have_names(manifest["fields"])):
        wrong = ["fields"]
    if not wrong and not all(type(size) is int and size >= 0 for size in manifest["shards"]):
        wrong = ["shards"]
    if not wrong and not _are_entries(manifest["files"], file_names(manifest)):
        wrong = ["files"]
    if wrong:
        raise damaged(folder, f"{MANIFEST} has no {wrong[0]} that can be used")
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            raise damaged(folder, f"{name} is missing or cut short")


def file_names(manifest: Mapping[str, Any]) -> set[str]:
    """Return the names of the files of arrays."""
    names = set(_ARRAYS)
    for number, field in enumerate(manifest["fields"]):
        names |= {f"{number}.{name}" for name in _FIELD_ARRAYS}
        if field["positions"]:
            names.add(f"{number}.positions")
    return {f"{name}.npy" for name in names}


def file_entry(content: Path | bytes) -> dict[str, Any]:
    """Return the manifest's entry of a file: its number of bytes and sha256."""
    if isinstance(content, bytes):
        return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with open(content, "rb") as file:
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def check_digests(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse files whose digests differ from those in the manifest."""
    _log.info("%s: checking the forward arrays, as their files are new or have changed.", folder)
    for name, entry in manifest["files"].items():
        if file_entry(folder / name) != entry:
            raise damaged(folder, f"{name} is not the file that was made")


def check_contents(
    folder: Path, manifest: Mapping[str, Any], forward: ForwardIndex, fingerprint: Mapping[str, Any]
) -> None:
    """Refuse arrays with impossible content; `fingerprint` is computed from them."""
    from rerank.lucene.checks import fault_of

    fault = fault_of(forward)
    if fault is None and dict(manifest["fingerprint"]) != dict(fingerprint):
        fault = f"{MANIFEST} has the fingerprint of other arrays"
    if fault is None and sum(manifest["shards"]) != forward.n_docs:
        fault = f"{MANIFEST} has sizes of shards that do not add up"
    if fault is not None:
        raise damaged(folder, fault)


def is_verified(folder: Path, state: Mapping[str, Any]) -> bool:
    """Return whether a note says that the files were verified in this state."""
    return is_noted(_notes(folder), state)


def state_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return size and times of each file."""
    return {name: file_state(folder / name) for name in (*sorted(manifest["files"]), MANIFEST)}


def note_verified(folder: Path, state: Mapping[str, Any]) -> None:
    """Note that the files were verified in this state; if that cannot be written, they will be checked again."""
    write_note(_notes(folder), state)


def _notes(folder: Path) -> tuple[Path, Path]:
    """Return the paths that the note may have."""
    return folder / NOTE, note_path(folder)


def damaged(folder: Path, damage: str) -> IndexFolderError:
    """Return the error for damaged forward arrays."""
    return IndexFolderError(
        f"{folder}: expected whole forward arrays, got damaged ones ({damage}). Delete this folder, "
        "it is made again when the index is opened."
    )


def _are_names(names: Any) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _have_names(fields: Any) -> bool:
    return len(fields) > 0 and _are_names([field["name"] for field in fields])


def _is_field(field: Any) -> bool:
    counts = ("documents", "tokens", "terms")
    return (
        isinstance(field, dict)
        and isinstance(field.get("name"), str)
        and isinstance(field.get("positions"), bool)
        and all(type(field.get(name)) is int and field[name] >= 0 for name in counts)
    )


def _are_entries(files: Mapping[str, Any], wanted: set[str]) -> bool:
    return set(files) == wanted and all(
        isinstance(entry, dict) and type(entry.get("bytes")) is int and isinstance(entry.get("sha256"), str)
        for entry in files.values()
    )
