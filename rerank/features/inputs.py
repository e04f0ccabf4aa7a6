"""Checks of the arguments of `extract`: run, query terms, recipe and other runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.candidates import Documents, IndexHistory
from rerank.features.functions import functions
from rerank.features.recipe import Recipe, default_family_names, family, history_family_names, space_family_names
from rerank.types import Floats, Ints, Qrels, Run, query_rows
from rerank.types.forward import ForwardIndex
from rerank.types.passages import Passages
from rerank.vectors.space import ENCODER

if TYPE_CHECKING:
    from rerank.vectors.encoder import Encoded
    from rerank.vectors.vectors import Vectors

_log = logging.getLogger("rerank")
PASSAGES = "passages"  # the family
_COMMANDS = {"vectors": "`rerank vectors INDEX`", "history": "`rerank history INDEX TOPICS QRELS`"}


class LearnedHistory(Protocol):
    """What is learned from judgements: `rerank.history.history.History`."""

    @property
    def checksum(self) -> str:
        """Checksum of all that the history holds."""

    def on(self, forward: ForwardIndex) -> IndexHistory:
        """Return the history with the document numbers of an index."""


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
    history : History, optional
        What is learned from judgements.
    encoded : Encoded, optional
        Vectors of an encoder for the queries and the documents of the index.
    passages : Passages, optional
        The passages that the index keeps.

    """

    runs: Mapping[str, Run] = field(default_factory=dict)
    documents: Documents | None = None
    vectors: Vectors | None = None
    history: LearnedHistory | None = None
    encoded: Encoded | None = None
    passages: Passages | None = None


def resolve_recipe(recipe: Recipe, forward: ForwardIndex, records: Records) -> Recipe:
    """Return the recipe with explicit names; functions over documents need an index that stores its documents."""
    recipe = _with_learned(recipe, records)
    documents = records.documents
    unusable = [name for name, function in functions().items() if function.over == "document"]
    if unusable and documents is not None and documents(np.array([_first_document(forward)]))[0] is not None:
        unusable = []
    usable = [name for name in functions() if name not in unusable]
    named = [name for name in recipe.functions or () if name in unusable]
    if named:
        raise InvalidInputError(
            f"recipe: functions: expected an index that keeps its documents for {named[0]!r}, got one without. "
            "Index with raw documents (-storeRaw), or leave the function out."
        )
    if unusable and recipe.functions is None:
        _log.info("features %s are left out: the index does not store documents.", ", ".join(unusable))
    return _with_runs(recipe, records.runs).resolve(forward.fields, forward.numbers, usable)


def _first_document(forward: ForwardIndex) -> int:
    """Return the number of the first document that is not deleted."""
    return int(np.argmax(forward.doc_ids != ""))


def _with_learned(recipe: Recipe, records: Records) -> Recipe:
    """Return the recipe with the families that the records allow, and the checksums and names of those in use."""
    vectors = records.vectors
    history = records.history
    encoded = records.encoded
    check_spaces(recipe, None if vectors is None else vectors.checksum, None if encoded is None else encoded.name)
    in_history = [name for name in recipe.families or () if family(name).needs_history]
    _check_learned("history", "it", recipe.history, None if history is None else history.checksum, in_history)
    spaces = (set() if vectors is None else set(vectors.spaces)) | (set() if encoded is None else {ENCODER})
    families = recipe.families
    if families is None:
        learned = () if history is None else history_family_names(spaces)
        kept = () if records.passages is None else (PASSAGES,)
        families = (*default_family_names(), *kept, *space_family_names(spaces), *learned)
    needed = {family(name).needs_space: name for name in families if family(name).needs_space}
    lacking = next((space for space in needed if space not in spaces), None)
    if lacking is not None:
        raise InvalidInputError(
            f"vectors: expected the space {lacking} for the family {needed[lacking]}, got "
            f"{', '.join(sorted(spaces))}. Learn the vectors of an index with positions, or leave the family out."
        )
    uses_history = any(family(name).needs_history for name in families)
    return replace(
        recipe,
        families=families,
        vectors=vectors.checksum if vectors is not None and needed.keys() & set(vectors.spaces) else None,
        history=history.checksum if history is not None and uses_history else None,
        encoder=encoded.name if encoded is not None and ENCODER in needed else None,
        passages=(recipe.passages or str(records.passages or Passages())) if PASSAGES in families else None,
    )


def check_spaces(recipe: Recipe, checksum: str | None, encoder: str | None) -> None:
    """Refuse a recipe whose vectors or encoder are not given, or are others.

    checksum  of the vectors that are given
    encoder   name of the encoder that is given
    """
    named = [name for name in recipe.families or () if family(name).needs_space not in ("", ENCODER)]
    _check_learned("vectors", "them", recipe.vectors, checksum, named)
    _check_encoder(recipe, encoder)


def _check_encoder(recipe: Recipe, name: str | None) -> None:
    """Refuse a recipe whose encoder is not given, or is not that of this name."""
    needed = any(family(member).needs_space == ENCODER for member in recipe.families or ())
    if name is None and (recipe.encoder is not None or needed):
        which = f"encoder {recipe.encoder}" if recipe.encoder else "encoder for the family encoder"
        raise InvalidInputError(
            f"encoder: expected the {which}, got none. Bind it (`rerank vectors INDEX --encoder NAME`, or "
            "Index.open(..., encoder=...)), or train on features without it."
        )
    if recipe.encoder not in (None, name):
        raise InvalidInputError(
            f"encoder: expected {recipe.encoder}, which the features were made with, got {name}. Give that encoder, or "
            "train on features of this one."
        )


def _check_learned(what: str, it: str, trained: str | None, given: str | None, named: Sequence[str]) -> None:
    """Refuse vectors or a history of another checksum than the recipe's, and none where the recipe needs one."""
    if given is None and (trained is not None or named):
        which = f"of checksum {trained}" if trained else f"for the family {named[0]}"
        raise InvalidInputError(
            f"{what}: expected the {what} {which}, got none. Learn {it} ({_COMMANDS[what]}), or train on features "
            f"without {it}."
        )
    if given is not None and trained not in (None, given):
        those, these = ("those vectors", "these") if what == "vectors" else ("that history", "this one")
        raise InvalidInputError(
            f"{what}: expected the {what} of checksum {trained}, which the features were made with, got {given}. Give "
            f"{those}, or train on features of {these}."
        )


def _with_runs(recipe: Recipe, runs: Mapping[str, Run]) -> Recipe:
    """Return the recipe with the names of the other runs; refuse a recipe that names a run which is not given."""
    if not recipe.runs:
        return replace(recipe, runs=tuple(runs))
    missing = [name for name in recipe.runs if name not in runs]
    if missing:
        raise InvalidInputError(
            f"runs: expected the runs that the recipe names ({', '.join(recipe.runs)}), got none called "
            f"{missing[0]!r}. Give it, e.g. --run {missing[0]}=FILE, or with texts as a number of each."
        )
    return recipe


def scores_in(other: Run, run: Run) -> Floats:
    """Return score and rank in another run of each row of a run, (n_rows, 2) float64; NaN where it has no such row."""
    other = other.take(other.trec_order())
    table = np.full((run.n_rows, 2), np.nan)
    for query, query_id in enumerate(run):
        if query_id in other:
            other_rows = other.rows(query_id)
            index_of = {doc_id: index for index, doc_id in enumerate(other.doc_ids[other_rows].tolist())}
            rows = range(int(run.query_ptr[query]), int(run.query_ptr[query + 1]))
            in_both = [(row, index_of[doc_id]) for row in rows if (doc_id := str(run.doc_ids[row])) in index_of]
            row, index = np.array(in_both, dtype=np.int64).reshape(-1, 2).T
            table[row, 0] = other.scores[other_rows][index]
            table[row, 1] = index + 1
    return table


def labels_of(qrels: Qrels, run: Run) -> NDArray[np.float64]:
    """Return the label of each row, (n_rows,) float64; 0 for an unjudged document."""
    labels, _ = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)
    return labels.astype(np.float64)


def tokens_of(run: Run, query_terms: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """Return the tokens of each query of a run; refuse a query without an entry, or with text in place of tokens."""
    missing = [query_id for query_id in run if query_id not in query_terms]
    if missing:
        raise InvalidInputError(
            f"topics: expected a topic for every query of the run, got none for {len(missing)} of {len(run)}, "
            f"e.g. {missing[0]!r}. Add the topics or drop these queries from the run."
        )
    tokens = [query_terms[query_id] for query_id in run]
    for query_id, terms in zip(run, tokens, strict=True):
        if isinstance(terms, str):
            raise InvalidInputError(
                f"topics: expected a list of analysed terms for query {query_id!r}, got text. "
                "Analyse it as the index was."
            )
    return tokens


def doc_numbers(forward: ForwardIndex, run: Run) -> Ints:
    """Return the document number of each row, (n_rows,) int64; refuse documents that the index does not hold."""
    numbers = forward.doc_numbers(run.doc_ids)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        query_id = run.query_ids[query_rows(run.query_ptr)[unknown[0]]]
        raise InvalidInputError(
            f"run: expected documents that the index holds, got {len(unknown)} of {run.n_rows} rows with "
            f"others, e.g. {str(run.doc_ids[unknown[0]])!r} (query {str(query_id)!r}). Use the index that the run "
            "was made on."
        )
    return numbers


def check_scores(run: Run) -> None:
    """Refuse scores that are not finite."""
    not_finite = np.flatnonzero(~np.isfinite(run.scores))
    if len(not_finite):
        raise InvalidInputError(
            f"run: expected finite scores, got {len(not_finite)} others, e.g. {run.scores[not_finite[0]]} for document "
            f"{str(run.doc_ids[not_finite[0]])!r}. Correct the run."
        )
