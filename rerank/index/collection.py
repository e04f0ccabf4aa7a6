"""A collection as texts are compared with it: its statistics and analyser, and what is bound to it.

An index is one (`rerank.index.bound_index`); so is what a model file holds of the index of its training, without
documents.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from rerank.errors import log
from rerank.files.inputs import RunLike
from rerank.history.history import History, read_history
from rerank.history.judged import IndexHistory, UnnamedHistory
from rerank.index.resources import SCORER, Resources, bound_scorer, named_runs
from rerank.lucene.analysis import Analyser
from rerank.lucene.texts import TextAnalyser
from rerank.runtime.progress import InProcess
from rerank.types import CONTENTS, ForwardIndex, Passages, Run
from rerank.vectors.encoder import Encoder
from rerank.vectors.scorer import Scorer
from rerank.vectors.vectors import ENCODER, Vectors

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

UNNAMED_TEXTS = (
    "texts: without ids of documents of the index, the model's features of similar judged queries are missing. Pass a "
    "mapping by id where there are such documents."
)
Resource = TypeVar("Resource")


class Collection(InProcess):
    """What features of texts need of a collection.

    Parameters
    ----------
    path : Path
        What messages call it.
    bound : Resources
        What is bound to it.
    threads : int or None
        Number of threads; None uses all cores.
    check_models : bool
        Whether to refuse models that were trained on another index.

    """

    _without_history: ClassVar[str] = UNNAMED_TEXTS  # what is logged where features of a history are missing

    def __init__(self, path: Path, bound: Resources, threads: int | None = None, check_models: bool = True) -> None:
        self.path = path
        self.threads = threads
        self.check_models = check_models
        self._bound = bound
        self._read: dict[str, list[Any]] = {name: [] for name in ("vectors", "history", ENCODER, SCORER)}
        self.warned_of: set[str] = set()  # what is logged once

    def using(
        self,
        *,
        vectors: Vectors | str | Path | bool | None = None,
        history: History | str | Path | bool | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None,
        scorer: Scorer | str | Callable[[str, list[str]], Any] | bool | None = None,
        runs: Mapping[str, RunLike] | None = None,
        threads: int | None = None,
        check_models: bool | None = None,
        remove_query: bool | None = None,
    ) -> Self:
        """Return the same opened index with other resources; None keeps what is bound.

        Parameters
        ----------
        vectors, history, encoder, scorer, runs, threads, check_models, remove_query : as for the class
            What is bound.

        Returns
        -------
        Index
            The index, which shares the Lucene reader and the forward arrays: closing one closes both.

        """
        other = object.__new__(type(self))  # copy() would open the index again, as unpickling does
        other.__dict__.update(self.__dict__)
        resources = {
            "vectors": vectors,
            "history": history,
            "encoder": encoder,
            "scorer": bound_scorer(scorer),
            "runs": None if runs is None else named_runs(runs),
            "remove_query": remove_query,
        }
        changes: dict[str, Any] = {name: resource for name, resource in resources.items() if resource is not None}
        other._read = {name: [] if name in changes else kept for name, kept in self._read.items()}
        other._bound = replace(self._bound, **changes)
        other.threads = self.threads if threads is None else threads
        other.check_models = self.check_models if check_models is None else check_models
        return other

    @property
    @abstractmethod
    def forward(self) -> ForwardIndex:
        """The forward arrays, or the statistics alone: those of no documents."""

    @property
    @abstractmethod
    def analyser(self) -> Analyser:
        """The analyser; starts Java."""

    @property
    @abstractmethod
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts that no index holds; starts Java."""

    @property
    def passages(self) -> Passages | None:
        """The passages of documents; None without."""
        return None

    def _kept(self, name: str) -> Any:
        """Return a resource that is kept where nothing is bound: a file, or the name of an encoder or scorer."""
        return None

    @property
    def main_field(self) -> str:
        """The text field that holds over half of the words of `contents`; `contents` where none does; starts Java."""
        joined = self.analyser.joined_fields
        stored = self.forward.fingerprint["fields"]
        names = [name for name in (self.forward.fields if joined is None else joined) if name != CONTENTS]
        longest = max(names, key=lambda name: stored[name]["tokens"], default=CONTENTS)
        return longest if 2 * stored[longest]["tokens"] > stored[CONTENTS]["tokens"] else CONTENTS

    def _resource(self, name: str, read: Callable[[Any], Resource]) -> Resource | None:
        """Return a resource, which is read once for this index and all that `using` makes with the same one bound.

        read  the resource of what is bound
        """
        kept: list[Resource | None] = self._read[name]
        if not kept:
            bound = getattr(self._bound, name)
            bound = self._kept(name) if bound is None else bound
            kept.append(None if bound is None or isinstance(bound, bool) else read(bound))
        return kept[0]

    @property
    def vectors(self) -> Vectors | None:
        """The vectors of the index; None if it has none."""
        return self._resource(
            "vectors", lambda bound: Vectors.read(bound, self) if isinstance(bound, str | Path) else bound
        )

    @property
    def history(self) -> History | None:
        """What is learned from judgements; None if nothing is."""
        return self._resource("history", lambda bound: read_history(bound) if isinstance(bound, str | Path) else bound)

    def with_history_of(self, model: Ranker | None) -> Self:
        """Return the index with the history that a model holds; the index itself for a model without one.

        Parameters
        ----------
        model : Ranker or None
            A fitted model.

        Returns
        -------
        Index
            The index.

        """
        return self if model is None or model.history_ is None else self.using(history=model.history_)

    def text_history(self, have_ids: bool) -> IndexHistory | UnnamedHistory | None:
        """Return the history for features of texts: missing values for texts that are no documents of an index.

        Parameters
        ----------
        have_ids : bool
            Whether texts were given with ids, which may be those of documents.

        Returns
        -------
        IndexHistory, UnnamedHistory or None
            The history; None if nothing is learned.

        """
        if self.history is None:
            return None
        self.warn_once(self._without_history)
        return UnnamedHistory(self.history.checksum)

    def warn_once(self, text: str) -> None:
        """Log a warning, once for a collection.

        Parameters
        ----------
        text : str
            The message.

        """
        if text not in self.warned_of:
            self.warned_of.add(text)
            log.warning("%s", text)

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of texts; None if there is none."""
        return self._resource(ENCODER, Encoder.of)

    @property
    def scorer(self) -> Scorer | None:
        """The slow scorer of a query and texts; None if there is none."""
        return self._resource(SCORER, Scorer.of)

    @property
    def runs(self) -> Mapping[str, Run]:
        """Runs of other systems, by name."""
        return self._bound.runs
