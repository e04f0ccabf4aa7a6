"""Checks of runs, judgements, models and fingerprints against an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, log
from rerank.features.families.functions import FUNCTIONS
from rerank.features.recipe import Recipe, defined_functions
from rerank.types import ForwardIndex, Qrels, RankingData, Run, Topics, id_array
from rerank.types.ids import judged_parts, written_apart

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

# By model: the recipe as stored, and as read.
_RECIPES: WeakKeyDictionary[Any, tuple[Any, Recipe]] = WeakKeyDictionary()


def check_topics(run: Run, topics: Topics) -> None:
    """Refuse a run with a query that has no topic."""
    missing = [query_id for query_id in run if query_id not in topics]
    if missing:
        raise InvalidInputError(
            f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
            f"all). {written_apart(missing, topics) or 'Give the topics that the run was made for'}."
        )


def log_judged(table: Run | RankingData, qrels: Qrels) -> None:
    """Log how many of the documents of a run or of data are judged."""
    _, judged = qrels.lookup(table.query_ids, table.query_ptr, table.doc_ids)
    log.info(
        "labels: %d queries, %d documents, of which %d are judged; the others count as label 0.",
        len(table),
        len(table.doc_ids),
        int(judged.sum()),
    )


def log_unknown(forward: ForwardIndex, qrels: Qrels, queries: Iterable[str]) -> None:
    """Log a warning if documents that are judged for some queries are not in the index."""
    known = [query_id for query_id in queries if query_id in qrels]
    judged = id_array(list(dict.fromkeys(doc_id for query_id in known for doc_id in qrels[query_id])))
    unknown = np.flatnonzero(forward.doc_numbers(judged) < 0)
    if len(unknown):
        are_all = len(unknown) == len(judged)
        remedy = judged_parts(forward.doc_ids.tolist(), judged.tolist()) if are_all else ""
        log.warning(
            "qrels: %d of the %d judged documents are not in the index, e.g. %s%s",
            len(unknown),
            len(judged),
            judged[unknown[0]],
            f". {remedy}" if remedy else "",
        )


def fingerprint_differences(
    prefix: str, trained_on: Mapping[str, Any], opened: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted names of the parts in which two fingerprints differ, with both values."""
    for key in dict.fromkeys((*opened, *trained_on)):
        name = f"{prefix}{key}"
        before = trained_on.get(key)
        after = opened.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from fingerprint_differences(f"{name}.", before, after)
        elif before != after:
            yield name, before, after


def model_recipe(model: Ranker) -> Recipe:
    """Return the recipe of a model's features, which is read once for a model.

    Raises ModelMismatchError for a model without a recipe, or with a broken one, and InvalidInputError for one whose
    functions are not defined: a model stores the names of functions, not their code.
    """
    if model.recipe_ is None:
        raise ModelMismatchError(
            "model: expected the recipe of its features, got none. Train it on data of `rerank features`, or import "
            "it with `rerank import --recipe FILE`."
        )
    known = _RECIPES.get(model)
    if known is None or known[0] is not model.recipe_:  # `fit` replaces the recipe
        try:
            known = _RECIPES[model] = model.recipe_, Recipe.from_dict(model.recipe_)
        except InvalidInputError as error:
            raise ModelMismatchError(f"model: {error}") from None
    recipe = known[1]
    defined_functions(recipe.functions, tuple(FUNCTIONS))
    return recipe
