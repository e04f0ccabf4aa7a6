"""Checks of a model on an index: `check_model` makes all of them before the model's features are computed.

The retrievers of the data that a model is applied to are checked in `rerank/rankers/retriever_checks.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.families.functions import FUNCTIONS
from rerank.features.recipe import Recipe, defined_functions
from rerank.features.resolved_recipe import check_resources
from rerank.index.resources import needed_resources
from rerank.types.forward import fingerprint_differences

if TYPE_CHECKING:
    from rerank.index.collection import Collection
    from rerank.rankers.ranker import Ranker

AnyCollection = TypeVar("AnyCollection", bound="Collection")
# By model: the recipe as stored, and as read.
_RECIPES: WeakKeyDictionary[Any, tuple[Any, Recipe]] = WeakKeyDictionary()


def check_model(index: AnyCollection, model: Ranker) -> tuple[AnyCollection, Recipe]:
    """Return the index with the history that a model holds, and the model's recipe, where the model fits the index.

    Raises ModelMismatchError or InvalidInputError where it does not.
    """
    check_fingerprint(index, model)
    recipe = model_recipe(model)
    index = index.with_history_of(model)
    check_index_resources(index, recipe)
    return index, recipe


def check_fingerprint(index: Collection, model: Ranker) -> None:
    """Refuse a model whose features were computed on another index, unless it is allowed (`check_models`)."""
    trained_on = model.fingerprint_
    fingerprint = dict(index.forward.fingerprint)
    if not index.check_models or trained_on is None or dict(trained_on) == fingerprint:
        return
    name, trained, value = next(fingerprint_differences("", dict(trained_on), fingerprint))
    raise ModelMismatchError(
        f"{index.path}: expected the index that the model was trained on ({name}: {trained}), got another "
        f"({name}: {value}). Train on this index, or allow it (Index.open(..., check_models=False), --other-index)."
    )


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


def check_index_resources(index: Collection, recipe: Recipe) -> None:
    """Refuse an index that lacks the history, vectors or encoder of a model's training."""
    needs = needed_resources(recipe)
    history = index.history if "history" in needs else None
    checksum = None if history is None else history.checksum
    if recipe.history not in (None, checksum):
        raise ModelMismatchError(
            f"model: expected the history of checksum {recipe.history}, which it was trained with, got "
            f"{'none' if checksum is None else checksum}. Learn it with `rerank history`."
        )
    vectors = index.vectors if "vectors" in needs else None
    encoder = index.encoder if "encoder" in needs else None
    resources = {
        "vectors": None if vectors is None else vectors.checksum,
        "encoder": None if encoder is None else encoder.name,
    }
    check_resources(recipe, resources)
