"""History files: .npz without pickle. Arrays have the names of `History.arrays`; `about` is the UTF-8 bytes of JSON.

about   format, version, folds, terms (of the index), fingerprint (of the index), checksum (of the content)
words   the UTF-8 bytes of a JSON list
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.output import whole_file

FORMAT, VERSION = "rerank history", 1


def check_history_path(path: str | Path) -> None:
    """Refuse a file name of another format."""
    if not str(path).endswith(".npz"):
        raise InvalidInputError(f"{path}: expected a name that ends in .npz, got another. Rename it.")


def write_history(path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a history; the same content gives the same bytes."""
    check_history_path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **about})
    with whole_file(path, binary=True) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {"about": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
