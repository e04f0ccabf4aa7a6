"""`rerank vectors` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import rerank
from rerank.cli.vectors import command as vectors_command
from rerank.vectors.vectors import DIMENSIONS, MOST_DIMENSIONS
from tests.cli.conftest import Command


def test_defaults_and_bounds_are_those_of_the_library() -> None:
    option = next(option for option in vectors_command.params if option.name == "dimensions")
    bounds = (option.default, option.type.min, option.type.max)  # type: ignore[attr-defined]
    assert bounds == (DIMENSIONS, 1, MOST_DIMENSIONS)


def test_vectors_are_learned_and_read_with_their_index(command: Command, own_index: Path) -> None:
    written = []
    for threads in ("2", "1"):
        done = command("--threads", threads, "vectors", str(own_index), "--dimensions", "8", "--encoder", "none")
        assert (done.code, done.out) == (0, "")
        written.append((own_index / "rerank-resources" / "vectors").read_bytes())
    assert written[0] == written[1]
    with rerank.Index.open(own_index) as index:
        assert index.vectors is not None
        assert index.vectors.spaces["lsi"].dimensions == 8
        assert index.vectors.all_documents("lsi").shape == (index.forward.n_docs, 8)
        assert index.using(vectors=False).vectors is None
