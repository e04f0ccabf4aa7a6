"""The recipe of an extraction with explicit names in place of defaults: those that the index and its records have."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log
from rerank.features.families.functions import FUNCTIONS
from rerank.features.family import default_family_names, family, history_family_names, space_family_names
from rerank.features.match import Documents
from rerank.features.recipe import Recipe, defined_functions, known_names
from rerank.types import ForwardIndex, Passages, Run
from rerank.vectors.query_vectors import Encoded
from rerank.vectors.vectors import ENCODER, LSI, Vectors

PASSAGES = "passages"  # the family
_REMEDIES = {
    "vectors": "Learn them (`rerank vectors INDEX`), or train on features without them.",
    "history": "Learn it (`rerank history INDEX TOPICS QRELS`), or train on features without it.",
    "encoder": "Bind it (`rerank vectors INDEX --encoder NAME`, or Index.open(..., encoder=...)), or train on features "
    "without it.",
}


@dataclass(frozen=True, eq=False)
class Records:
    """Inputs of the features that need more than the index and the run.

    Parameters
    ----------
    runs : mapping from str to Run
        Other runs by name, whose scores and ranks become features.
    documents : callable, optional
        Returns documents by number as they were indexed, for user-defined functions over documents.
    vectors : Vectors, optional
        Vectors of the index.
    history : rerank.history.judged.IndexHistory, optional
        What is learned from judgements, on the index.
    encoded : Encoded, optional
        Vectors of an encoder for the queries and the documents of the index.
    passages : Passages, optional
        The passages that the index keeps.

    """

    runs: Mapping[str, Run] = field(default_factory=dict)
    documents: Documents | None = None
    vectors: Vectors | None = None
    history: Any = None
    encoded: Encoded | None = None
    passages: Passages | None = None


def resolved(recipe: Recipe, forward: ForwardIndex, records: Records) -> Recipe:
    """Return the recipe with explicit names in place of defaults: those that the index and the records have."""
    found = {
        "vectors": None if records.vectors is None else records.vectors.checksum,
        "encoder": None if records.encoded is None else records.encoded.name,
        "history": None if records.history is None else records.history.checksum,
    }
    names = {
        "fields": tuple(forward.fields),
        "numbers": tuple(forward.numbers),
        "functions": _usable_functions(recipe, forward, records.documents),
        "runs": tuple(records.runs),
    }
    spaces = () if records.vectors is None else tuple(records.vectors.spaces)
    return _resolved(recipe, tuple(names.items()), tuple(found.items()), spaces, records.passages)


@lru_cache(maxsize=32)
def _resolved(
    recipe: Recipe,
    known: tuple[tuple[str, tuple[str, ...]], ...],
    made_with: tuple[tuple[str, str | None], ...],
    spaces: tuple[str, ...],
    passages: Passages | None,
) -> Recipe:
    """Return the recipe with explicit names, which is checked once for all queries of a model on an index.

    known      what the index and the records have: fields, numbers, functions and other runs
    made_with  checksums, and the name of the encoder
    spaces     names of the spaces of vectors, without the space of the encoder
    passages   those of the index
    """
    names = dict(known)
    found = dict(made_with)
    check_resources(recipe, found)
    spaces = (*spaces, ENCODER) if found["encoder"] else spaces
    families = recipe.families
    if families is None:
        learned = history_family_names(spaces) if found["history"] else ()
        on_request = () if passages is None else (PASSAGES,)
        families = (*default_family_names(), *on_request, *space_family_names(spaces), *learned)
    needed = {family(name).needs_space for name in families}
    missing = [name for name in recipe.runs if name not in names["runs"]]
    if missing:
        raise InvalidInputError(
            f"runs: expected the runs that the recipe names ({', '.join(recipe.runs)}), got none called "
            f"{missing[0]!r}. Give it, e.g. --run {missing[0]}=FILE, or with texts as a number of each."
        )
    return replace(
        recipe,
        fields=known_names("fields", recipe.fields, names["fields"]),
        families=families,
        numbers=known_names("numbers", recipe.numbers, names["numbers"]),
        functions=defined_functions(recipe.functions, names["functions"]),
        runs=recipe.runs or names["runs"],
        vectors=found["vectors"] if LSI in needed else None,
        history=found["history"] if any(family(name).needs_history for name in families) else None,
        encoder=found["encoder"] if ENCODER in needed else None,
        passages=(recipe.passages or str(passages or Passages())) if PASSAGES in families else None,
    )


def _usable_functions(recipe: Recipe, forward: ForwardIndex, documents: Documents | None) -> tuple[str, ...]:
    """Return the names of the functions that can be called; those over documents only if the index stores documents."""
    unusable = [name for name, function in FUNCTIONS.items() if function.over == "document"]
    if unusable and documents is not None:
        first = np.array([np.argmax(forward.doc_ids != "")])  # the first document that is not deleted
        unusable = unusable if documents(first)[0] is None else []
    named = [name for name in recipe.functions or () if name in unusable]
    if named:
        raise InvalidInputError(
            f"recipe: functions: expected an index that keeps its documents for {named[0]!r}, got one without. "
            "Index with raw documents (-storeRaw), or leave the function out."
        )
    if unusable and recipe.functions is None:
        log.info("features %s are left out: the index does not store documents.", ", ".join(unusable))
    return tuple(name for name in FUNCTIONS if name not in unusable)


def check_resources(recipe: Recipe, found: Mapping[str, str | None]) -> None:
    """Refuse a recipe whose resources are missing, or are others than those that its features were made with.

    found  checksum of the vectors and of the history, name of the encoder; None for one that is missing
    """
    for what, name in found.items():
        made_with = getattr(recipe, what)
        space = {"vectors": LSI, "encoder": ENCODER}.get(what)
        needed = [
            name
            for name in recipe.families or ()
            if (family(name).needs_history if space is None else family(name).needs_space == space)
        ]
        named = f"the {what} {'' if what == 'encoder' else 'of checksum '}"
        if name is None and (made_with is not None or needed):
            expected = f"{named}{made_with}" if made_with else f"the {what} for the family {needed[0]}"
            raise InvalidInputError(f"{what}: expected {expected}, got none. {_REMEDIES[what]}")
        if name is not None and made_with not in (None, name):
            raise InvalidInputError(
                f"{what}: expected {named}{made_with}, which the features were made with, got {name}. Bind the one "
                "that was expected, or train on features of the other."
            )
