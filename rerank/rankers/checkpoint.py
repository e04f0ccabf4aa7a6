"""Checkpoints: the trees of an unfinished training, which continues from them to the same model.

A checkpoint holds the trees so far, the measure on the validation data after each of them, and what they depend on:
ranker, parameters, a digest of the data, the version of the package. Scores and random numbers follow from the trees:
they are replayed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, shown
from rerank.runtime import container
from rerank.runtime.codec import field_of, plain
from rerank.runtime.container import Kind
from rerank.runtime.mapped_rows import row_blocks
from rerank.runtime.schema import Numbers, Plain, Record, SchemaError, Text
from rerank.trees.forest import Forest, Tree
from rerank.version import __version__

SECONDS = 30.0  # between two checkpoints
LARGEST_SHARE = 0.05  # of the time that writing takes
REMEDY = "Remove it to train from the start."
KIND = Kind(
    "rerank checkpoint",
    2,
    "a checkpoint of `rerank train`",
    "Name another file, or remove it to train from the start.",
    Record(
        {
            "package": Text(),
            "about": Plain(optional=False),
            "history": Numbers(),
            "forest": field_of(Forest),
        }
    ),
)


@dataclass(frozen=True)
class TrainingState:
    """What a checkpoint holds.

    Parameters
    ----------
    trees : list of Tree
        Trees so far.
    history : list of float
        The measure on the validation data before the first tree and after each; empty without validation data.

    """

    trees: Sequence[Tree]
    history: Sequence[float]


class Checkpoint:
    """The checkpoint file of one training.

    Parameters
    ----------
    path : str or Path
        The file. It is read if it exists, and written again during training.
    seconds : float
        Time between two writes, longer if writing takes long; 0 writes after every tree.

    """

    def __init__(self, path: str | Path, seconds: float = SECONDS) -> None:
        if not seconds >= 0.0:
            raise InvalidInputError(f"checkpoint: expected seconds of at least 0, got {shown(seconds)}. Change them.")
        self.path = Path(path)
        self.seconds = seconds
        self._about: Mapping[str, Any] = {}
        self._n_features = 0
        self._next = 0.0

    def begin(self, about: Mapping[str, Any], n_features: int) -> TrainingState:
        """Return the state in the file, empty without a file, and check that the file can be written.

        Parameters
        ----------
        about : mapping
            What the training depends on, as plain JSON values: its data, its parameters.
        n_features : int
            Number of features.

        Returns
        -------
        TrainingState
            The state.

        Raises
        ------
        FileFormatError
            For a file that is no checkpoint, or a damaged one.
        ModelMismatchError
            For a checkpoint of another training, or of another version of the package.
        InvalidInputError
            If the file cannot be written.

        """
        self._about = about
        self._n_features = n_features
        state = self._restored() if self.path.exists() else TrainingState([], [])
        self.write(state)
        return state

    def offer(self, state: TrainingState) -> None:
        """Write the state if it is time.

        Parameters
        ----------
        state : TrainingState
            The state after a tree.

        """
        if time.monotonic() >= self._next:
            self.write(state)

    def write(self, state: TrainingState) -> None:
        """Write the state.

        Parameters
        ----------
        state : TrainingState
            The state after a tree.

        """
        start = time.monotonic()
        stored = {
            "package": __version__,
            "about": dict(self._about),
            "history": list(state.history),
            "forest": plain(Forest.of(state.trees)),
        }
        container.write(self.path, KIND, stored, {})
        now = time.monotonic()
        self._next = now + (max(self.seconds, (now - start) / LARGEST_SHARE) if self.seconds else 0.0)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def _restored(self) -> TrainingState:
        stored = read_checkpoint(self.path)
        if stored["package"] != __version__:
            raise ModelMismatchError(
                f"{self.path}: expected a checkpoint of version {__version__} of the package, got "
                f"{shown(stored['package'])}. {REMEDY}"
            )
        for name, value in self._about.items():
            if stored["about"].get(name) != value:
                raise ModelMismatchError(
                    f"{self.path}: expected a checkpoint of this training, got one with {_other(name)}. {REMEDY}"
                )
        history = stored["history"]
        trees = stored["forest"].trees()
        try:
            stored["forest"].check_features(self._n_features)
        except SchemaError as error:
            raise KIND.value_error(self.path, error.within("forest")) from None
        if history and len(history) != len(trees) + 1:
            raise KIND.error(self.path, "a damaged one")
        return TrainingState(trees, history)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return the content of a checkpoint, checked completely."""
    path = Path(path)
    if not path.is_file():
        raise KIND.error(path, "a folder")
    return container.read_values(path, KIND)


def digest(*arrays: NDArray[Any]) -> str:
    """Return a digest of arrays: their types, shapes and bytes."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        rows = array.reshape(len(array), int(np.prod(array.shape[1:]))) if array.ndim != 2 else array
        for _, block in row_blocks(rows):
            total.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _other(name: str) -> str:
    return f"other {name.replace('_', ' ')}" if name != "ranker" else "another ranker"
