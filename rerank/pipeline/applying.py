"""Parts of applying a model, for documents of an index and for texts.

Checks that model, index, candidates and runs fit each other.

The unsupervised ranking: the model that needs no judgements, made of what an index has.

The cut-off of a calibrated model: the least probability of a document, and of any document of a query.

The last stage: the first documents, reordered with the scores of a slow scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, log, shown
from rerank.features.extract import check_resources, column_plan
from rerank.features.families.document import FUNCTIONS
from rerank.features.recipe import Recipe, defined_functions, family
from rerank.index.bound import needed_resources
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
from rerank.types import Floats, Ints, RankingData, Run, query_rows
from rerank.types.retriever import CONTENTS, Retriever
from rerank.vectors.encoder import Scorer
from rerank.vectors.vectors import ENCODER, LSI

if TYPE_CHECKING:
    from rerank.index.bound import BoundIndex

IndexT = TypeVar("IndexT", bound="BoundIndex")
SOURCES = ("bm25", "rm3")  # of any index
NEAREST = "lsi:200"  # of an index with vectors, beside SOURCES
_RECIPES: WeakKeyDictionary[Ranker, tuple[Any, Recipe]] = WeakKeyDictionary()  # of a model: as stored, and as read


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
    if known is None or known[0] is not model.recipe_:  # `fit` replaces the recipe
        try:
            known = _RECIPES[model] = model.recipe_, Recipe.from_dict(model.recipe_)
        except InvalidInputError as error:
            raise ModelMismatchError(f"model: {error}") from None
    recipe = known[1]
    defined_functions(recipe.functions, tuple(FUNCTIONS))
    return recipe


def index_for(index: IndexT, model: Ranker) -> IndexT:
    """Return an index with the history that a model holds, if any.

    Raises ModelMismatchError or InvalidInputError for an index that the model was not trained on, or that lacks the
    history, vectors or encoder of the training.
    """
    index.check_model(model)
    index = index.with_history_of(model)
    recipe = model_recipe(model)
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
    return index


def model_candidates(model: Ranker) -> Candidates:
    """Return the sources of candidates that a model, or its base model, was trained on; BM25 where none are stored."""
    return Candidates.of_retriever(trained_retriever(model)) or Candidates()


def check_candidates(
    model: Ranker, retriever: Retriever | None, runs: Mapping[str, Run], base: Run | None, what: str = "run"
) -> None:
    """Refuse candidates and other runs whose retrievers do not fit the model.

    retriever  of the candidates
    runs       whose scores are features, by name
    base       run of the base ranker, in place of the candidates' scores
    what       what the message calls the candidates
    """
    retrievers = {name: run.retriever for name, run in runs.items() if run.retriever is not None}
    if base is not None:
        check_base_run(model, base)
    check_retrievers(model, retriever, retrievers, what, base is None)


def applied_model(model: Ranker | str | Path, index: BoundIndex, *, union: bool = True) -> Ranker:
    """Return the model that an argument gives: a fitted ranker, the path of its file, or "unsupervised".

    union  as for `unsupervised_model`
    """
    return unsupervised_model(index, union=union) if model == UNSUPERVISED else fitted_model(model)


def default_candidates(index: BoundIndex, k: int = DEPTH) -> Candidates:
    """Return the union of all sources that an index has and that need no judgements."""
    vectors = index.vectors
    nearest = (NEAREST,) if vectors is not None and LSI in vectors.spaces else ()
    return Candidates.parse(",".join((*SOURCES, *nearest)), k)


def unsupervised_model(index: BoundIndex, *, union: bool = True) -> Unsupervised:
    """Return the sum of those standardised scores for which an index has the positions, vectors or encoder.

    union  whether its candidates are `default_candidates`; otherwise BM25's, or any that are given
    """
    of_vectors = () if index.vectors is None else tuple(index.vectors.spaces)
    spaces = ("", *of_vectors, *(() if index.encoder is None else (ENCODER,)))  # "": the family needs none
    used = {name: in_family for name, in_family in SCORES.items() if family(in_family).needs_space in spaces}
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
    summed = ", ".join(name for name in names if name in SCORES)
    log.info("unsupervised: sum of %s; without %s.", summed, _lacking(set(SCORES) - set(names)))
    retriever = Retriever(default_candidates(index).tag) if union else None
    return Unsupervised.of(names, recipe.to_dict(), dict(index.forward.fingerprint), retriever)


def _lacking(names: set[str]) -> str:
    """Return the names of scores that an index lacks, each with what it needs for them, as one text."""
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
        Least probability that any document of the query is relevant, from 0 to 1; below it, nothing is returned. The
        probability is calibrated as if half of all queries had a relevant document.

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
    """Refuse an argument that is no Cutoff, and a cutoff for a model that is not calibrated; None is no cutoff."""
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
    """Return the documents of data in a model's order, with its scores; with a cutoff, as `Cutoff.run` returns them.

    texts  as for `Ranker.probabilities`
    """
    if cutoff is None:
        return model.rank(data, base=base)
    return cutoff.run(data, model.probabilities(data, base=base, texts=texts), model.kind)


def usable_stage(index: BoundIndex, model: Ranker) -> tuple[LastStage, Scorer] | None:
    """Return a model's last stage and the scorer of the index that it needs; None if either is missing.

    A missing scorer is logged once for an index.
    """
    stage = model.last_stage_
    if stage is None:
        return None
    if index.scorer is not None and index.scorer.name == stage.scorer:
        return stage, index.scorer
    text = f"scorer: the model was trained with {stage.scorer}, and ranks without it (rerank index INDEX --scorer)."
    if text not in index.warned_of:
        index.warned_of.add(text)
        log.warning("%s", text)
    return None


def slow_scores(
    scorer: Scorer, queries: Sequence[str], query_ptr: Ints, order: Ints, depth: int, texts: Callable[[Ints], list[str]]
) -> Floats:
    """Return a scorer's scores of the first `depth` rows of each query, (n_rows,); NaN for all others.

    queries  texts of the queries
    order    rows of each query, best first, (n_rows,)
    texts    returns the texts of some rows
    """
    scores = np.full(len(order), np.nan)
    for query, first, last in zip(queries, query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True):
        rows = order[first : min(last, first + depth)]
        scores[rows] = scorer.scores(query, texts(rows))
    return scores


def slow_run_scores(
    scorer: Scorer, topics: Mapping[str, str], run: Run, depth: int, texts: Callable[[Ints], list[str]]
) -> Floats:
    """Return a scorer's scores of the first `depth` documents of each query of a run, (n_rows,); NaN for all others.

    texts  returns the texts of some rows
    """
    queries = [topics[query_id] for query_id in run]
    return slow_scores(scorer, queries, run.query_ptr, np.arange(run.n_rows), depth, texts)


def with_last_stage(
    index: BoundIndex, model: Ranker, run: Run, topics: Mapping[str, str], texts: Callable[[Ints], list[str]]
) -> Run:
    """Return a run in the order of the model's last stage; the run itself where there is none to use.

    texts  returns the texts of some rows of the run
    """
    if (usable := usable_stage(index, model)) is None:
        return run
    stage, scorer = usable
    return stage.reorder(run, slow_run_scores(scorer, topics, run, stage.depth, texts))


def texts_of_documents(index: BoundIndex, run: Run | RankingData, rows: Ints) -> list[str]:
    """Return the texts of some rows of a run, which are documents of the index."""
    return index.document_texts(index.forward.doc_numbers(run.doc_ids[rows]))
