"""What is bound to an index beyond its documents: vectors, a history of judgements, an encoder, and runs.

`rerank vectors` and `rerank history` write into a folder of the index, where `Index.open` finds them:

    INDEX/rerank-resources/vectors       `Vectors.save`
    INDEX/rerank-resources/history.json  `History.save`
    INDEX/rerank-resources/language      the code of the language, of `rerank index --language`
    INDEX/rerank-resources/passages      window and stride of passages, of `rerank index --passages`

For an index that cannot be written, the folder is in the cache folder, under the index's commit. The names of the
encoder and the scorer are always in the cache folder, under the index's commit and path: an index folder from elsewhere
then names no code that would run here, and a copy of an index does not take over the names.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.features.family import family
from rerank.features.recipe import Recipe
from rerank.files.inputs import RunLike, run_of
from rerank.history.history import History
from rerank.lucene.shards import RESOURCES
from rerank.runtime.cache_folder import cache_folder
from rerank.types import Run
from rerank.vectors.encoder import Encoder
from rerank.vectors.scorer import Scorer
from rerank.vectors.vectors import ENCODER, Vectors

VECTORS = "vectors"
HISTORY = "history.json"
LANGUAGE = "language"
SCORER = "scorer"
PASSAGES = "passages"
_MOST_CHARACTERS = 1000  # of a stored text, such as the name of an encoder


@dataclass(frozen=True, eq=False)
class Resources:
    """What was bound when the index was opened. None: what is stored with the index; False: nothing."""

    vectors: Vectors | str | Path | bool | None = None
    history: History | str | Path | bool | None = None
    encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    scorer: Scorer | bool | None = None
    remove_query: bool = False


def resource_folder(index: Path, commit: str) -> Path:
    """Return the folder of an index's resources."""
    inside = index / RESOURCES
    return inside if os.access(index, os.W_OK) or inside.is_dir() else cache_folder() / f"resources-{commit[:32]}"


def name_file(function: str, index: Path, commit: str) -> Path:
    """Return the file of the name of an index's encoder or scorer, in the cache of the user who trusts its code."""
    of_path = hashlib.sha256(os.fsencode(index.resolve())).hexdigest()
    return cache_folder() / f"{function}-{commit[:32]}-{of_path[:16]}"


def resource_name(function: str, index: Path, commit: str) -> str | None:
    """Return the name of the encoder or scorer that this user keeps with an index; None without one."""
    what = f"the name of the {function}, got another text. Delete the file."
    return kept_text(
        name_file(function, index, commit), what, lambda text: text.isprintable() and 0 < len(text) <= _MOST_CHARACTERS
    )


def kept_text(file: Path, what: str, is_valid: Callable[[str], Any]) -> str | None:
    """Return the text of a file in one line; None without the file.

    what      rest of the error message for a text that is not valid: "expected {what}"
    is_valid  whether a text is valid
    """
    if not file.is_file():
        return None
    text = file.read_bytes()[: _MOST_CHARACTERS + 1].decode("utf8", "surrogateescape").strip()
    if not is_valid(text):
        raise FileFormatError(file, None, f"expected {what}")
    return text


def needed_resources(recipe: Recipe | None) -> Collection[str]:
    """Return the names of the resources that a recipe needs; all resources if it names no families."""
    if recipe is None or recipe.families is None:
        return "vectors", "history", "encoder"
    members = [family(name) for name in recipe.families]
    spaces = {member.needs_space for member in members if member.needs_space}
    needs = {
        "vectors": recipe.vectors or spaces - {ENCODER},
        "history": recipe.history or any(member.needs_history for member in members),
        "encoder": recipe.encoder or ENCODER in spaces,
    }
    return [name for name, is_needed in needs.items() if is_needed]


def named_runs(runs: Mapping[str, RunLike] | None) -> dict[str, Run]:
    """Return runs by name; refuse names that are no identifiers."""
    if runs is None:
        return {}
    if not isinstance(runs, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in runs):
        got = shown(list(runs)) if isinstance(runs, Mapping) else type(runs).__name__
        raise InvalidInputError(
            f"runs: expected a mapping from names of letters, digits and _ to runs, got {got}. Name each run."
        )
    return {name: run_of(run) for name, run in runs.items()}


def bound_scorer(scorer: Scorer | str | Callable[[str, list[str]], Any] | bool | None) -> Scorer | bool | None:
    """Return a scorer, also for its name or function; None and False as they are."""
    return scorer if scorer is None or isinstance(scorer, bool) else Scorer.of(scorer)
