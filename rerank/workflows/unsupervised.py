"""The ranking that needs no judgements, over what an index has."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from rerank.features.plan import ColumnPlan
from rerank.features.recipe import Recipe
from rerank.features.registry import family
from rerank.rankers.ranker import Ranker
from rerank.rankers.standard_scores import RANK, SCORES, summed
from rerank.rankers.store import fitted_model
from rerank.rankers.unsupervised import Unsupervised
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.retrieval.candidates import DEPTH, Candidates
from rerank.types.retriever import CONTENTS, Retriever
from rerank.vectors.space import ENCODER, LSI

if TYPE_CHECKING:
    from rerank.workflows.bound import BoundIndex

SOURCES = ("bm25", "rm3")
NEAREST = "lsi:200"  # of an index with vectors
_log = logging.getLogger("rerank")


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
    names = ColumnPlan.of(index.forward, recipe).names  # without those that need positions, where there are none
    _log.info("unsupervised: sum of %s; without %s.", ", ".join(summed(names)), _lacking(set(SCORES) - set(names)))
    retriever = Retriever(best_candidates(index).tag) if union else None
    return Unsupervised.of(names, recipe.to_dict(), dict(index.forward.fingerprint), retriever)


def _lacking(names: set[str]) -> str:
    """Return the scores that an index lacks, and what gives it each of them."""
    remedies = {"proximity": "positions", "lsi": "`rerank vectors`", "words": "`rerank vectors`"}
    remedies |= {"encoder": "`rerank vectors --encoder`"}
    return ", ".join(f"{name} ({remedies[SCORES[name]]})" for name in SCORES if name in names) or "none"
