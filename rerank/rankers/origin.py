"""Whether the candidates that a model is applied to were retrieved as those that it was trained on.

BM25's scores change with k1 and b: a model that starts from them has learned for one scale, so other parameters are
refused. For a model without such a start a warning is logged: features of the run, and those computed over a query's
candidates, change as well. A tag without parameters is never refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from rerank.errors import ModelMismatchError
from rerank.rankers.warm_start import CANDIDATES, ModelBase, OtherRunBase
from rerank.types import Run
from rerank.types.retriever import UNNAMED, Retriever

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

log = logging.getLogger("rerank")


def trained_retriever(model: Ranker) -> Retriever | None:
    """Return what retrieved the candidates that a model, or the model it starts from, was trained on."""
    return next((each.retriever_ for each in _with_bases(model) if each.retriever_ is not None), None)


def check_retrievers(
    model: Ranker,
    retriever: Retriever | None,
    run_retrievers: Mapping[str, Retriever],
    what: str,
    starts_there: bool = True,
) -> None:
    """Refuse other scores than those that a model starts from; log where features come from another retriever.

    retriever       of the candidates, None where it is unknown
    run_retrievers  of the other runs whose scores are features, by name
    what            what the message calls the candidates
    starts_there    False where the scores to start from are given by themselves
    Raises ModelMismatchError.
    """
    differing: dict[tuple[str, Retriever | None, Retriever | None], bool] = {}
    for each in _with_bases(model) if starts_there else [model]:
        start = each.base_.source if starts_there else None
        parts = [("candidates", each.retriever_, retriever, start == CANDIDATES)]
        for name, made in each.run_retrievers_.items():
            parts.append((f"run {name}", made, run_retrievers.get(name), start == name))
        for part, trained, given, is_start in parts:
            if is_start:
                _refuse_other(part, trained, given, what)
            if trained != given and (trained is not None or is_start):
                differing[part, trained, given] = is_start or differing.get((part, trained, given), False)
    for pair, is_start in differing.items():
        _note_other(*pair, is_start)


def check_base_run(model: Ranker, run: Run) -> None:
    """Refuse a run to start from whose retriever had other parameters than that of training; log another name."""
    base = model.base_
    trained = model.retriever_
    if isinstance(base, OtherRunBase):
        trained = None if base.name == UNNAMED else Retriever.of_tag(base.name)
    _refuse_other("a base run", trained, run.retriever, f"base run {run.name}")
    if trained != run.retriever:
        _note_other("a base run", trained, run.retriever, True)


def note_unknown_start(model: Ranker) -> None:
    """Log that the retriever of the scores to start from is unknown and cannot be checked at `predict`."""
    if model.base_.source == CANDIDATES and not (model.retriever_ and model.retriever_.known):
        tag = f" (tag {model.retriever_})" if model.retriever_ else ""
        _note(
            f"base: what retrieved the run is unknown{tag}; apply the model to candidates retrieved in the same way",
            logging.INFO,
        )


def _with_bases(model: Ranker) -> Iterator[Ranker]:
    """Yield a model, the model it starts from, and so on."""
    yield model
    if isinstance(model.base_, ModelBase):
        yield from _with_bases(model.base_.model)


def _refuse_other(part: str, trained: Retriever | None, given: Retriever | None, what: str) -> None:
    """Refuse BM25 of other parameters than those of the scores that a model starts from."""
    if trained and given and trained.known and given.known and trained != given:
        field = "" if trained.field == given.field else f" on field {trained.field}"
        raise ModelMismatchError(
            f"{what}: expected {part} of {trained}, whose scores the model starts from, got {part} of {given}. "
            f"Retrieve with k1 {trained.k1!r} and b {trained.b!r}{field}, or train the model on such a run."
        )


def _note_other(part: str, trained: Retriever | None, given: Retriever | None, is_start: bool) -> None:
    unknown = "an unknown retriever"
    _note(
        f"model: trained on {part} of {trained or unknown}, applied to {part} of {given or unknown}; "
        f"{'the scores it starts from' if is_start else 'features'} may differ",
        logging.WARNING if trained and given else logging.INFO,
    )


@lru_cache(maxsize=1024)
def _note(message: str, level: int) -> None:
    """Log a message, once in a process."""
    log.log(level, message)
