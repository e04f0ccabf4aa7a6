"""Arguments of `fit` beside the data: the memory that training may take, and its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rerank.rankers.checkpoint import Checkpoint
from rerank.rankers.memory import MemoryPlan, parse_bytes
from rerank.runtime.memory import private_bytes
from rerank.trees.binned import Storage


@dataclass(frozen=True)
class TrainingLimits:
    """Limits of one training; they have no effect on the model.

    Parameters
    ----------
    memory : int or None
        Bytes that the process may take; None for no limit.
    resident : int
        Bytes that it held when `fit` was called.
    checkpoint : Checkpoint or None
        Where the state of the training is written.
    keeps_checkpoint : bool
        Whether the caller removes the checkpoint.

    """

    memory: int | None = None
    resident: int = 0
    checkpoint: Checkpoint | None = None
    keeps_checkpoint: bool = False

    @classmethod
    def of(cls, memory: int | str | None, checkpoint: str | Path | Checkpoint | None) -> Self:
        """Return the limits of the arguments of `fit`."""
        keeps = isinstance(checkpoint, Checkpoint)
        file = checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        return cls(None if memory is None else parse_bytes(memory), private_bytes(), file, keeps)

    def storage(self, n_rows: int, n_features: int, n_valid: int, num_leaves: int) -> Storage:
        """Return where the binned rows are stored; raises InvalidInputError if the memory is too small."""
        return MemoryPlan(n_rows, n_features, n_valid, num_leaves, self.resident).storage(self.memory)
