"""Checks that candidates were retrieved in the same way as those that a model was trained on.

BM25's scores change with k1 and b: a model that starts from them has learned for one scale, so candidates that were
retrieved with other parameters are refused. For a model without such a start a warning is logged: features of the run,
and those computed over a query's candidates, change as well. A tag without parameters is never refused.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from rerank.errors import ModelMismatchError, log
from rerank.rankers.bases import OWN_RUN, ModelBase, OtherRunBase
from rerank.types import UNNAMED, Retriever, Run


def trained_retriever(model: Any) -> Retriever | None:
    """Return what retrieved the candidates that a model, or the model it starts from, was trained on."""
    return next((start.retriever_ for start in _with_bases(model) if start.retriever_ is not None), None)


def check_retrievers(
    model: Any,
    retriever: Retriever | None,
    run_retrievers: Mapping[str, Retriever],
    what: str,
    starts_there: bool = True,
) -> None:
    """Refuse scores that a model cannot start from; log where features come from another retriever.

    retriever       of the candidates, None where it is unknown
    run_retrievers  of the other runs whose scores are features, by name
    what            what the message calls the candidates
    starts_there    False where the scores to start from are passed separately
    Raises ModelMismatchError.
    """
    models = list(_with_bases(model)) if starts_there else [model]
    sources = {one.base_.source for one in models} if starts_there else set()
    for one in models:
        _compare("candidates", one.retriever_, retriever, OWN_RUN in sources, what)
        for name, trained in one.run_retrievers_.items():
            _compare(f"run {name}", trained, run_retrievers.get(name), name in sources, what)


def check_base_run(model: Any, run: Run) -> None:
    """Refuse a base run whose retriever had other parameters than in training; log another name."""
    trained = model.retriever_
    if isinstance(model.base_, OtherRunBase):
        trained = None if model.base_.name == UNNAMED else Retriever.of_tag(model.base_.name)
    _compare("a base run", trained, run.retriever, True, f"base run {run.name}")


def note_unknown_start(model: Any) -> None:
    """Log that the retriever of the scores to start from is unknown and cannot be checked at `predict`."""
    if model.base_.source == OWN_RUN and not (model.retriever_ and model.retriever_.known):
        tag = f" (tag {model.retriever_})" if model.retriever_ else ""
        _note(
            f"base: what retrieved the run is unknown{tag}; apply the model to candidates retrieved in the same way",
            logging.INFO,
        )


def _with_bases(model: Any) -> Iterator[Any]:
    """Yield a model, the model it starts from, and so on."""
    yield model
    if isinstance(model.base_, ModelBase):
        yield from _with_bases(model.base_.model)


def _compare(part: str, trained: Retriever | None, applied: Retriever | None, is_start: bool, what: str) -> None:
    """Refuse start scores of BM25 with other parameters than in training; log any other difference."""
    if trained == applied or (trained is None and not is_start):
        return
    if is_start and trained and applied and trained.known and applied.known:
        field = "" if trained.field == applied.field else f" on field {trained.field}"
        raise ModelMismatchError(
            f"{what}: expected {part} of {trained}, whose scores the model starts from, got {part} of {applied}. "
            f"Retrieve with k1 {trained.k1!r} and b {trained.b!r}{field}, or train the model on such a run."
        )
    unknown = "an unknown retriever"
    of_others = part == "candidates" and trained and not trained.known and applied and applied.known
    _note(
        f"model: trained on {part} of {trained or unknown}, applied to {part} of {applied or unknown}; "
        f"{'the scores it starts from' if is_start else 'features'} may differ"
        f"{'. For these and for texts, train with --candidates bm25:100' if of_others else ''}",
        logging.WARNING if trained and applied else logging.INFO,
    )


@lru_cache(maxsize=1024)
def _note(message: str, level: int) -> None:
    """Log a message, once in a process."""
    log.log(level, message)
