"""What a stored model says about the candidates and features that it is applied to."""

from __future__ import annotations

from collections.abc import Container

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.functions import functions
from rerank.features.recipe import Recipe, defined_functions
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import trained_retriever
from rerank.retrieval.union import union_of_tag
from rerank.types.retriever import Retriever

K1, B = 0.9, 0.4  # of BM25, for a model that was trained on other candidates


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


def check_history(recipe: Recipe, given: str | None, remedy: str = "Give its file (--history FILE, history=).") -> None:
    """Raise ModelMismatchError unless the history that the model's features were learned from is given, by checksum."""
    if recipe.history in (None, given):
        return
    raise ModelMismatchError(
        f"model: expected the history of checksum {recipe.history}, which it was trained with, got "
        f"{'none' if given is None else given}. {remedy}"
    )


def model_bm25(model: Ranker, k1: float | None = None, b: float | None = None) -> tuple[float, float, str]:
    """Return k1, b and field of the model's training, except where k1 or b are given."""
    trained = trained_retriever(model)
    if trained is None or trained.k1 is None or trained.b is None:
        trained = Retriever.bm25(K1, B)
    return trained.k1 if k1 is None else k1, trained.b if b is None else b, trained.field  # type: ignore[return-value]


def trained_union(model: Ranker, runs: Container[str]) -> str | None:
    """Return the union of candidates that a model was trained on; None where it was another retriever.

    runs  names of the runs that are given; a union with another run cannot be repeated without it
    """
    trained = trained_retriever(model)
    parts = None if trained is None else union_of_tag(trained.name)
    if parts is None:
        return None
    missing = next((part.name for part in parts if part.file is not None and part.name not in runs), None)
    if missing is not None:
        raise InvalidInputError(
            f"union: expected the run {missing}, which the model was trained on, got none. Give the run "
            f"(--run {missing}=FILE), or other candidates (--union, --run)."
        )
    return ",".join(map(str, parts))
