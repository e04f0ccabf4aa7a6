"""The unsupervised ranking: the model that needs no judgements, made of what an index has."""

from pathlib import Path

from rerank.errors import log
from rerank.features.column_plan import column_plan
from rerank.features.family import family
from rerank.features.recipe import Recipe
from rerank.index.collection import Collection
from rerank.index.default_candidates import default_candidates
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.rankers.standard_scores import RANK, SCORES
from rerank.rankers.unsupervised import Unsupervised
from rerank.retrieval.candidates import RERANKED
from rerank.types.retriever import Retriever
from rerank.vectors.vectors import ENCODER


def applied_model(model: Ranker | str | Path, index: Collection, *, union: bool = True) -> Ranker:
    """Return the model that an argument gives: a fitted ranker, the path of its file, or "unsupervised".

    union  as for `unsupervised_model`
    """
    return unsupervised_model(index, union=union) if model == UNSUPERVISED else fitted_model(model)


def unsupervised_model(index: Collection, *, union: bool = True) -> Unsupervised:
    """Return the sum of those standardised scores for which an index has the positions, vectors or encoder.

    union  whether its candidates are `default_candidates`; otherwise BM25's, or any that are given
    """
    of_vectors = () if index.vectors is None else tuple(index.vectors.spaces)
    spaces = ("", *of_vectors, *(() if index.encoder is None else (ENCODER,)))  # "": the family needs none
    field_of = {score: score.partition(".")[2] for score in SCORES}
    fields = [name for name in index.forward.fields if name in field_of.values()]
    possible = [score for score in SCORES if field_of[score] in fields or SCORES[score] == ENCODER]
    used = {score: SCORES[score] for score in possible if family(SCORES[score]).needs_space in spaces}
    recipe = Recipe(
        fields=tuple(fields),
        families=tuple(dict.fromkeys((*used.values(), "run"))),
        features=(*used, RANK),
        numbers=(),
        functions=(),
        vectors=None if index.vectors is None else index.vectors.checksum,
        encoder=None if index.encoder is None else index.encoder.name,
    )
    names = column_plan(index.forward, recipe).names  # without those that need positions, where there are none
    summed = ", ".join(name for name in names if name in SCORES)
    log.info("unsupervised: sum of %s; without %s.", summed, _lacking(set(possible) - set(names)))
    retriever = Retriever(default_candidates(index).tag, depth=RERANKED) if union else None
    return Unsupervised.of(names, recipe.to_dict(), dict(index.forward.fingerprint), retriever)


def _lacking(names: set[str]) -> str:
    """Return the names of scores that an index lacks, each with what it needs for them, as one text."""
    remedies = {"proximity": "positions", "lsi": "`rerank vectors`", "encoder": "`rerank vectors --encoder`"}
    return ", ".join(f"{name} ({remedies[SCORES[name]]})" for name in SCORES if name in names) or "none"
