"""What a stored model says about the candidates and features that it is applied to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.functions import functions
from rerank.features.inputs import check_spaces
from rerank.features.recipe import Recipe, defined_functions
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import check_base_run, check_retrievers, trained_retriever
from rerank.retrieval.candidates import Candidates
from rerank.types import Run
from rerank.types.retriever import Retriever
from rerank.workflows.resources import Needs

if TYPE_CHECKING:
    from rerank.workflows.bound import BoundIndex


def model_recipe(model: Ranker) -> Recipe:
    """Return the recipe of a model's features.

    Raises ModelMismatchError for a model without a recipe, or with a broken one, and InvalidInputError for one whose
    functions are not defined: a model stores the names of functions, not their code.
    """
    if model.recipe_ is None:
        raise ModelMismatchError(
            "model: expected the recipe of its features, got none. Train it on data of `rerank features`."
        )
    try:
        recipe = Recipe.from_dict(model.recipe_)
    except InvalidInputError as error:
        raise ModelMismatchError(f"model: {error}") from None
    defined_functions(recipe.functions, tuple(functions()))
    return recipe


def check_index(index: BoundIndex, model: Ranker) -> None:
    """Raise an error unless the index is the one, with the resources, that a model was trained with."""
    index.check_model(model)
    recipe = model_recipe(model)
    needs = Needs.of(recipe)
    history = index.history if needs.history else None
    check_history(recipe, None if history is None else history.checksum)
    vectors, encoder = index.vectors if needs.vectors else None, index.encoder if needs.encoder else None
    check_spaces(recipe, None if vectors is None else vectors.checksum, None if encoder is None else encoder.name)


def check_history(recipe: Recipe, given: str | None, remedy: str = "Learn it with `rerank history`.") -> None:
    """Raise ModelMismatchError unless the history that the model's features were learned from is given, by checksum."""
    if recipe.history in (None, given):
        return
    raise ModelMismatchError(
        f"model: expected the history of checksum {recipe.history}, which it was trained with, got "
        f"{'none' if given is None else given}. {remedy}"
    )


def model_candidates(model: Ranker) -> Candidates:
    """Return the candidates that a model, or the model it starts from, was trained on; BM25's for another system's."""
    return Candidates.of_retriever(trained_retriever(model)) or Candidates()


def check_candidates(
    model: Ranker, retriever: Retriever | None, runs: Mapping[str, Run], base: Run | None, what: str = "run"
) -> None:
    """Refuse candidates and other runs whose retrievers do not fit the model.

    base  scores to start from that are given by themselves
    what  what the message calls the candidates
    """
    made = {name: run.retriever for name, run in runs.items() if run.retriever is not None}
    if base is not None:
        check_base_run(model, base)
    check_retrievers(model, retriever, made, what, base is None)
