"""What is bound to an index beside its documents: vectors, a history of judgements, an encoder, and runs.

`rerank vectors` and `rerank history` write into a folder of the index, where `Index.open` finds them:

    INDEX/rerank-resources/vectors       `Vectors.save`
    INDEX/rerank-resources/history.npz   `History.save`
    INDEX/rerank-resources/language      the code of the language, of `rerank index --language`
    INDEX/rerank-resources/passages      window and stride of passages, of `rerank index --passages`

For an index that cannot be written, the folder is in the cache folder, by the index's commit. So is the name of the
encoder, module:function, for every index: an index folder from elsewhere names no code that would run here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import FileFormatError, InvalidInputError
from rerank.features.registry import family
from rerank.files.records import RunLike, run_of
from rerank.lucene.shards import RESOURCES
from rerank.runtime.cache import cache_folder
from rerank.types import Run
from rerank.types.passages import Passages
from rerank.vectors.space import ENCODER

if TYPE_CHECKING:
    from rerank.features.recipe import Recipe
    from rerank.history.history import History
    from rerank.vectors.encoder import Encoder
    from rerank.vectors.vectors import Vectors

VECTORS, HISTORY, LANGUAGE, PASSAGES = "vectors", "history.npz", "language", "passages"
_MOST_CHARACTERS = 1000  # of the name of an encoder


@dataclass(frozen=True, eq=False)
class Resources:
    """What was given when the index was opened; None is what the index's folder holds, False is none."""

    vectors: Vectors | str | Path | bool | None = None
    history: History | str | Path | bool | None = None
    encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)


def resource_folder(index: Path, commit: str) -> Path:
    """Return the folder of an index's resources."""
    inside = index / RESOURCES
    return inside if os.access(index, os.W_OK) or inside.is_dir() else cache_folder() / f"resources-{commit[:32]}"


def encoder_file(commit: str) -> Path:
    """Return the file of the name of an index's encoder."""
    return cache_folder() / f"encoder-{commit[:32]}"


def stored_encoder(commit: str) -> str | None:
    """Return the name of the encoder that this user keeps with an index; None without one."""
    file = encoder_file(commit)
    if not file.is_file():
        return None
    try:
        name = file.read_bytes()[: _MOST_CHARACTERS + 1].decode("utf8").strip()
    except UnicodeDecodeError:
        name = ""
    if not name.isprintable() or ":" not in name or len(name) > _MOST_CHARACTERS:
        raise FileFormatError(file, None, "expected the name of an encoder, got another text. Run `rerank vectors`.")
    return name


def kept_language(index: Path, commit: str) -> str | None:
    """Return the code of the language that is kept with an index; None without one."""
    file = resource_folder(index, commit) / LANGUAGE
    if not file.is_file():
        return None
    code = file.read_bytes()[:_MOST_CHARACTERS].decode("utf8", "replace").strip()
    if not (code.isascii() and code.isalnum()):
        raise FileFormatError(
            file, None, "expected the code of a language, got another text. Run `rerank index INDEX --language`."
        )
    return code


def kept_passages(folder: Path) -> Passages | None:
    """Return the passages that are kept in an index's folder of resources; None without any."""
    file = folder / PASSAGES
    if not file.is_file():
        return None
    try:
        return Passages.parse(file.read_bytes()[:_MOST_CHARACTERS].decode("utf8", "replace").strip())
    except InvalidInputError:
        raise FileFormatError(file, None, "expected WINDOW/STRIDE of passages, got another text. Delete it.") from None


@dataclass(frozen=True)
class Needs:
    """Which resources some features need."""

    vectors: bool = True
    history: bool = True
    encoder: bool = True

    @classmethod
    def of(cls, recipe: Recipe | None) -> Needs:
        """Return what a recipe needs; without explicit families, all that there is."""
        if recipe is None or recipe.families is None:
            return cls()
        members = [family(name) for name in recipe.families]
        spaces = {member.needs_space for member in members if member.needs_space}
        return cls(
            vectors=bool(recipe.vectors or spaces - {ENCODER}),
            history=bool(recipe.history or any(member.needs_history for member in members)),
            encoder=bool(recipe.encoder or ENCODER in spaces),
        )


def named_runs(runs: Mapping[str, RunLike] | None) -> dict[str, Run]:
    """Return runs by name, checked."""
    if runs is None:
        return {}
    if not isinstance(runs, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in runs):
        raise InvalidInputError("runs: expected a mapping from names of letters and digits to runs. Name each run.")
    return {name: run_of(run) for name, run in runs.items()}
