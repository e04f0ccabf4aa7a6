"""Checks of a model against an index, before it is bound (`BoundModel.of`): recipe and resources.

The fingerprint is checked by `Collection.check_model`, and the retrievers of the data that a model is applied to in
`rerank/rankers/retriever_checks.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.families.functions import FUNCTIONS
from rerank.features.recipe import Recipe, defined_functions
from rerank.features.resolved_recipe import check_resources
from rerank.index.resources import needed_resources

if TYPE_CHECKING:
    from rerank.index.collection import Collection
    from rerank.rankers.ranker import Ranker

# By model: the recipe as stored, and as read.
_RECIPES: WeakKeyDictionary[Any, tuple[Any, Recipe]] = WeakKeyDictionary()


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
