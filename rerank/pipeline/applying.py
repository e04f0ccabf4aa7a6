"""What a stored model says about the candidates and features that it is applied to.

The ranking that needs no judgements, over what an index has.

Where a ranking ends: the least probability of a document, and of any document of a list.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, shown
from rerank.features.extract import check_resources, column_plan
from rerank.features.families.functions import functions
from rerank.features.recipe import Recipe, defined_functions, family
from rerank.index.bound import needed_resources
from rerank.index.scorer import Scorer
from rerank.rankers.calibration import Probabilities
from rerank.rankers.imported import Unsupervised
from rerank.rankers.last_stage import LastStage
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.rankers.warm_start import (
    RANK,
    SCORES,
    UNSUPERVISED,
    check_base_run,
    check_retrievers,
    trained_retriever,
)
from rerank.retrieval.base import DEPTH, Candidates
from rerank.types import Floats, Ints, RankingData, Run, Topics, query_rows
from rerank.types.retriever import CONTENTS, Retriever
from rerank.vectors.vectors import ENCODER, LSI

if TYPE_CHECKING:
    from rerank.index.bound import BoundIndex


IndexT = TypeVar("IndexT", bound="BoundIndex")
SOURCES = ("bm25", "rm3")
NEAREST = "lsi:200"  # of an index with vectors
_RECIPES: WeakKeyDictionary[Ranker, tuple[Any, Recipe]] = WeakKeyDictionary()  # as stored, and as read
_log = logging.getLogger("rerank")


def model_recipe(model: Ranker) -> Recipe:
    """Return the recipe of a model's features, which is read once for a model.

    Raises ModelMismatchError for a model without a recipe, or with a broken one, and InvalidInputError for one whose
    functions are not defined: a model stores the names of functions, not their code.
    """
    if model.recipe_ is None:
        raise ModelMismatchError(
            "model: expected the recipe of its features, got none. Train it on data of `rerank features`."
        )
    known = _RECIPES.get(model)
    if known is None or known[0] is not model.recipe_:
        try:
            known = _RECIPES[model] = model.recipe_, Recipe.from_dict(model.recipe_)
        except InvalidInputError as error:
            raise ModelMismatchError(f"model: {error}") from None
    recipe = known[1]
    defined_functions(recipe.functions, tuple(functions()))
    return recipe


def index_of(index: IndexT, model: Ranker) -> IndexT:
    """Return an index with the history that a model holds; refuse one that the model was not trained on.

    Raises an error unless the index has the resources, too, that the model was trained with.
    """
    index.check_model(model)
    index = index.with_history_of(model)
    recipe = model_recipe(model)
    needs = needed_resources(recipe)
    history = index.history if "history" in needs else None
    found = None if history is None else history.checksum
    if recipe.history not in (None, found):
        raise ModelMismatchError(
            f"model: expected the history of checksum {recipe.history}, which it was trained with, got "
            f"{'none' if found is None else found}. Learn it with `rerank history`."
        )
    vectors = index.vectors if "vectors" in needs else None
    encoder = index.encoder if "encoder" in needs else None
    names = {
        "vectors": None if vectors is None else vectors.checksum,
        "encoder": None if encoder is None else encoder.name,
    }
    check_resources(recipe, names)
    return index


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


def applied_model(model: Ranker | str | Path, index: BoundIndex, *, union: bool = True) -> Ranker:
    """Return a model, that of a file, or the unsupervised ranking of an index.

    union  whether the unsupervised ranking finds its own candidates, see `unsupervised_model`
    """
    return unsupervised_model(index, union=union) if model == UNSUPERVISED else fitted_model(model)


def best_candidates(index: BoundIndex, k: int = DEPTH) -> Candidates:
    """Return the union of the sources that need no judgements and that an index has."""
    vectors = index.vectors
    nearest = (NEAREST,) if vectors is not None and LSI in vectors.spaces else ()
    return Candidates.parse(",".join((*SOURCES, *nearest)), k)


def unsupervised_model(index: BoundIndex, *, union: bool = True) -> Unsupervised:
    """Return the sum of standardised scores over what an index has: positions, vectors, an encoder.

    union  whether the candidates are those of several sources; otherwise BM25's, or any that are given
    """
    spaces = set() if index.vectors is None else set(index.vectors.spaces)
    spaces |= set() if index.encoder is None else {ENCODER}
    used = {name: of for name, of in SCORES.items() if family(of).needs_space in ("", *spaces)}
    recipe = Recipe(
        fields=(CONTENTS,),
        families=tuple(dict.fromkeys((*used.values(), "run"))),
        features=(*used, RANK),
        numbers=(),
        functions=(),
        vectors=None if index.vectors is None else index.vectors.checksum,
        encoder=None if index.encoder is None else index.encoder.name,
    )
    names = column_plan(index.forward, recipe).names  # without those that need positions, where there are none
    added = ", ".join(name for name in names if name in SCORES)
    _log.info("unsupervised: sum of %s; without %s.", added, _lacking(set(SCORES) - set(names)))
    retriever = Retriever(best_candidates(index).tag) if union else None
    return Unsupervised.of(names, recipe.to_dict(), dict(index.forward.fingerprint), retriever)


def _lacking(names: set[str]) -> str:
    """Return the scores that an index lacks, and what gives it each of them."""
    remedies = {"proximity": "positions", "lsi": "`rerank vectors`", "encoder": "`rerank vectors --encoder`"}
    return ", ".join(f"{name} ({remedies[SCORES[name]]})" for name in SCORES if name in names) or "none"


@dataclass(frozen=True)
class Cutoff:
    """Which documents are returned, by their probability of relevance: of a calibrated model only.

    The scores of what is returned are the probabilities. Their order is the model's; `Cutoff()` leaves nothing out.

    Parameters
    ----------
    min_score : float
        Least probability that a document is relevant, from 0 to 1. Others are left out.
    abstain : float
        Least probability that any document of the query is relevant, from 0 to 1; below it, nothing is returned. It is
        that of a query that is as likely to have an answer as to have none.

    """

    min_score: float = 0.0
    abstain: float = 0.0

    @classmethod
    def of(cls, min_score: float | None, abstain: float | None) -> Self | None:
        """Return the cutoff of two probabilities of which either may be None; None without both.

        Parameters
        ----------
        min_score, abstain : float or None
            As for the class.

        Returns
        -------
        Cutoff or None
            The cutoff.

        """
        return None if min_score is None and abstain is None else cls(min_score or 0.0, abstain or 0.0)

    def __post_init__(self) -> None:
        for name in ("min_score", "abstain"):
            value = getattr(self, name)
            if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
                raise InvalidInputError(f"{name}: expected a probability from 0 to 1, got {shown(value)}. Give one.")

    def run(self, data: RankingData, probabilities: Probabilities, name: str) -> Run:
        """Return the documents of data that are likely enough, with their probabilities as scores.

        Parameters
        ----------
        data : RankingData
            The candidates.
        probabilities : Probabilities
            Those of a model: `model.probabilities(data)`.
        name : str
            Name of the run.

        Returns
        -------
        Run
            The documents of each query, best first; none where the model abstains.

        """
        run = data.run(probabilities.documents, name)
        likely = (run.scores >= self.min_score) & (probabilities.lists >= self.abstain)[query_rows(run.query_ptr)]
        return run.of_rows(np.flatnonzero(likely))


def check_cutoff(cutoff: object, model: Ranker) -> None:
    """Refuse what is no cutoff, and one of a model without probabilities."""
    if cutoff is None:
        return
    if not isinstance(cutoff, Cutoff):
        raise InvalidInputError(
            f"cutoff: expected a Cutoff, got {shown(cutoff)}. Pass e.g. rerank.Cutoff(min_score=0.3)."
        )
    model.calibrated()


def ranked(
    model: Ranker, data: RankingData, cutoff: Cutoff | None, base: Run | None = None, texts: bool = False
) -> Run:
    """Return the documents of data in a model's order: with its scores, or with a cutoff what is likely enough.

    texts  whether they were handed over
    """
    if cutoff is None:
        return model.rank(data, base=base)
    return cutoff.run(data, model.probabilities(data, base=base, texts=texts), model.kind)


def usable_stage(index: BoundIndex, model: Ranker) -> tuple[LastStage, Scorer] | None:
    """Return a model's last stage and its scorer; None without one, or without the other, which is logged once."""
    stage = model.last_stage_
    if stage is None:
        return None
    if index.scorer is not None and index.scorer.name == stage.scorer:
        return stage, index.scorer
    text = f"scorer: the model was trained with {stage.scorer}, and ranks without it (rerank index INDEX --scorer)."
    if text not in index.warned_of:
        index.warned_of.add(text)
        _log.warning("%s", text)
    return None


def slow_scores(
    scorer: Scorer, queries: Sequence[str], query_ptr: Ints, order: Ints, depth: int, texts: Callable[[Ints], list[str]]
) -> Floats:
    """Return a scorer's scores of the first rows of each query, (n_rows,); NaN where there are none.

    order  rows of each query, best first, (n_rows,)
    texts  returns the texts of some rows
    """
    scores = np.full(len(order), np.nan)
    for query, first, end in zip(queries, query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True):
        rows = order[first : min(end, first + depth)]
        scores[rows] = scorer.scores(query, texts(rows))
    return scores


def run_scores(index: BoundIndex, scorer: Scorer, topics: Topics, run: Run, depth: int) -> Floats:
    """Return a scorer's scores of the first documents of each query of a run, (n_rows,)."""
    queries = [topics[query_id] for query_id in run]
    texts = partial(texts_of_documents, index, run)
    return slow_scores(scorer, queries, run.query_ptr, np.arange(run.n_rows), depth, texts)


def texts_of_documents(index: BoundIndex, run: Run | RankingData, rows: Ints) -> list[str]:
    """Return the texts of some rows of a run, which are documents of the index."""
    return index.document_texts(index.forward.doc_numbers(run.doc_ids[rows]))
