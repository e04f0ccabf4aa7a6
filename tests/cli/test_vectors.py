"""`rerank vectors` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import rerank
from rerank.cli.vectors import command as vectors_command
from rerank.vectors.lsi import DIMENSIONS
from rerank.vectors.vectors import MOST_DIMENSIONS
from tests.cli.conftest import Command


def test_defaults_and_bounds_are_those_of_the_library() -> None:
    option = next(option for option in vectors_command.params if option.name == "dimensions")
    bounds = (option.default, option.type.min, option.type.max)  # type: ignore[attr-defined]
    assert bounds == (DIMENSIONS, 1, MOST_DIMENSIONS)


def test_vectors_are_learned_and_read_with_their_index(command: Command, world: Path, tmp_path: Path) -> None:
    done = command("vectors", "index", "-o", f"{tmp_path}/vectors", "--dimensions", "8")
    assert (done.code, done.out) == (0, "")
    index = rerank.Index.open(world / "index")
    vectors = rerank.Vectors.read(tmp_path / "vectors", index)
    assert vectors.spaces["lsi"].dimensions == 8
    assert vectors.all_documents("lsi").shape == (index.forward.n_docs, 8)
    again = command("vectors", "index", "-o", f"{tmp_path}/again", "--dimensions", "8", "--threads", "1")
    assert again.code == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "vectors").read_bytes()
