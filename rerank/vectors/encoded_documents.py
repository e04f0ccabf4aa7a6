"""The file of an encoder's vectors of the documents, which is made once for an index and an encoder.

When it is opened, a few documents are encoded again: a file of another encoder of the same name is made anew.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, log
from rerank.runtime import store
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.fields import Record, Text
from rerank.runtime.output import whole_file
from rerank.runtime.progress import track
from rerank.runtime.store import Blocks, Kind, Stored, note_path
from rerank.types import ForwardIndex, Ints
from rerank.vectors.encoder import Encoder
from rerank.vectors.vectors import IDENTITY, check_finite_array, identity

Texts = Callable[[Ints], Sequence[str]]
_BLOCK = 2048  # documents of a file that is kept while others are encoded, so that an interrupted call goes on
_PROBES = 4  # documents that are encoded again when a file is opened
_TOLERANCE = 1e-3  # of a vector's length: batches of other sizes may change the last bits


def encoded_documents(encoder: Encoder, forward: ForwardIndex, texts: Texts) -> NDArray[np.float32]:
    """Return the vectors of all documents of an index, (n_docs, dimensions), from a file of the cache folder.

    A document without text has the vector zero. The file is made where there is none; a call after an interrupted one
    goes on where that ended.
    """
    values = {**identity(forward), "encoder": encoder.name}
    path = cache_folder() / f"encoded-{hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]}"
    probes = np.unique(np.linspace(0, max(forward.n_docs - 1, 0), _PROBES).astype(np.int64))[: forward.n_docs]
    again = encoder.encode(texts(probes)) if len(probes) else np.zeros((0, 1), np.float32)
    if path.is_file():
        with suppress(FileFormatError):
            stored = store.read(path, KIND, [note_path(path)])[1]["vectors"]
            if _agree(stored, probes, again):
                return stored
            del stored  # Windows replaces no mapped file
        log.info("%s: the encoder has changed, or the file is damaged; all documents are encoded again.", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = forward.n_docs, again.shape[1] if again.any() else _dimensions(encoder, forward.n_docs, texts)
    store.write(path, KIND, values, {"vectors": Blocks(np.float32, shape, _blocks(encoder, path, shape, texts))})
    for part in path.parent.glob(f"{path.name}.*.npy"):
        part.unlink(missing_ok=True)
    return store.read(path, KIND, [note_path(path)])[1]["vectors"]


def _dimensions(encoder: Encoder, n_docs: int, texts: Texts) -> int:
    """Return the length of the vector of the first document with a text, 1 where none has one."""
    for first in range(0, n_docs, _BLOCK):
        some = [text for text in texts(np.arange(first, min(first + _BLOCK, n_docs))) if text.strip()]
        if some:
            return len(encoder.encode(some[:1])[0])
    return 1


def _blocks(encoder: Encoder, path: Path, shape: tuple[int, int], texts: Texts) -> Iterator[NDArray[np.float32]]:
    """Yield the vectors of the documents in blocks; each is kept in a file beside `path` until all are made."""
    n_docs, dimensions = shape
    for first in track(range(0, n_docs, _BLOCK), f"vectors of {encoder.name}"):
        docs = np.arange(first, min(first + _BLOCK, n_docs))
        part = path.with_name(f"{path.name}.{first}.npy")
        block = np.empty((0, 0), np.float32)
        with suppress(EOFError, OSError, ValueError):
            block = np.load(part)
        again = encoder.encode(texts(docs[:1]), dimensions) if len(block) else block
        if block.shape != (len(docs), dimensions) or not _agree(block, np.array([0]), again):
            block = encoder.encode(texts(docs), dimensions)
            with whole_file(part, binary=True) as file:
                np.save(file, block)
        yield block


KIND = Kind(
    "rerank document vectors",
    1,
    "document vectors of an encoder",
    "Delete it, it is made again.",
    Record({**IDENTITY, "encoder": Text()}),
    lambda _: {"vectors": Stored(np.float32, ("n_docs", "n_dimensions"), mapped=True)},
    lambda _, arrays: check_finite_array("documents", arrays["vectors"]),
)


def _agree(stored: NDArray[np.float32], probes: Ints, again: NDArray[np.float32]) -> bool:
    """Return whether the stored vectors of some documents are those of the encoder; documents without text say little.

    Where none of them has a text, `again` is zero and of any length.
    """
    if len(stored) <= probes.max(initial=-1) or (again.any() and stored.shape[1] != again.shape[1]):
        return False
    left = stored[probes].astype(np.float64)
    if not again.any():
        return not left.any()
    norms = np.linalg.norm(again.astype(np.float64), axis=1)
    distance = np.linalg.norm(left - again, axis=1)
    return bool((distance <= _TOLERANCE * np.maximum(norms, 1e-30)).all())
