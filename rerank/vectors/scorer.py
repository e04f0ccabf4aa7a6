"""Scorers: slow functions of a query and texts, such as cross-encoders, which users bring or name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log
from rerank.runtime.registry import exception_text, named_function
from rerank.types import Floats

CROSS_ENCODER = "cross-encoder:"
MOST_SCORES = 1_000_000  # that are kept


@dataclass(frozen=True, eq=False)
class Scorer:
    """A function of a query and some texts, which is called once for each query and text.

    Parameters
    ----------
    name : str
        `module:function`, or `cross-encoder:NAME` of sentence-transformers.
    function : callable
        Takes a query and a list of n texts, returns n numbers; the higher, the more relevant.
    seconds : float
        Time for the texts of one query, after which the ranking goes on without their scores.
    known : dict
        Scores that were given, by a checksum of query and text.

    """

    name: str
    function: Callable[[str, list[str]], Any]
    seconds: float = inf
    known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, scorer: Scorer | str | Callable[[str, list[str]], Any]) -> Scorer:
        """Return a scorer as it is, or make one of a function or a name.

        Parameters
        ----------
        scorer : Scorer, str or callable
            The scorer.

        Returns
        -------
        Scorer
            The scorer.

        Raises
        ------
        InvalidInputError
            If there is no such function, or no model of this name on this machine.

        """
        if isinstance(scorer, cls):
            return scorer
        if isinstance(scorer, str) and scorer.startswith(CROSS_ENCODER):
            return cls(scorer, _cross_encoder(scorer))
        return cls(*named_function("scorer", scorer, "from a query and a list of texts to numbers"))

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """Return the score of each text for a query.

        Parameters
        ----------
        query : str
            The text of the query.
        texts : sequence of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts,), dtype float64
            The scores; NaN where the scorer fails or is late, which is logged.

        """
        keys = [
            hashlib.blake2b(f"{query}\0{text}".encode("utf8", "replace"), digest_size=16).digest() for text in texts
        ]
        scores = np.array([self.known.get(key, np.nan) for key in keys])
        unknown = np.flatnonzero(np.isnan(scores)).tolist()
        if unknown:
            try:
                scores[unknown] = self._called(query, [texts[row] for row in unknown])
            except Exception as error:  # whatever a user's function raises: the answer comes in the model's order
                log.warning("scorer %s: no scores of %d texts: %s.", self.name, len(unknown), exception_text(error))
            else:
                if len(self.known) + len(unknown) > MOST_SCORES:
                    self.known.clear()
                self.known.update({keys[row]: float(scores[row]) for row in unknown})
        return scores

    def _called(self, query: str, texts: list[str]) -> Floats:
        """Return the checked scores of texts."""
        answers: SimpleQueue[Any] = SimpleQueue()

        def call() -> None:
            try:
                answers.put(self.function(query, texts))
            except Exception as error:
                answers.put(error)

        Thread(target=call, daemon=True).start()  # one that does not end does not keep the process
        try:
            answer = answers.get(timeout=None if self.seconds == inf else self.seconds)
        except Empty:
            raise TimeoutError(f"no answer after {self.seconds:g} seconds") from None
        if isinstance(answer, Exception):
            raise answer
        values = np.asarray(answer, dtype=np.float64)
        if values.shape != (len(texts),) or not np.isfinite(values).all():
            raise ValueError(f"expected {len(texts)} finite numbers, got others of shape {values.shape}")
        return values


def _cross_encoder(name: str) -> Callable[[str, list[str]], Any]:
    """Return the function of a cross-encoder of sentence-transformers whose files are on this machine."""
    try:
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(name.removeprefix(CROSS_ENCODER), local_files_only=True)
    except Exception as error:  # libraries raise classes of their own for damaged files
        raise InvalidInputError(
            f"scorer {name}: expected a model whose files are on this machine, got {exception_text(error)}. Run `pip "
            "install sentence-transformers` and download the model, or correct the name."
        ) from error
    return lambda query, texts: model.predict([(query, text) for text in texts], show_progress_bar=False)
