"""What is opened once for an index, whatever its resources are."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.history.neighbours import Neighbours, document_neighbours
from rerank.index.resources import PASSAGES, kept_text, resource_folder
from rerank.lucene.arrays import open_forward
from rerank.lucene.search import Searcher
from rerank.lucene.texts import TextAnalyser
from rerank.runtime.fields import Record
from rerank.runtime.store import Kind, Stored, kept
from rerank.types import ForwardIndex, Ints, Passages
from rerank.vectors.encoded_documents import encoded_documents
from rerank.vectors.encoder import Encoder

NEIGHBOURS = Kind(
    "rerank neighbours",
    1,
    "the nearest documents of each document",
    "Delete it, it is made again.",
    Record({}),
    lambda _: {"docs": Stored(np.int32, ("n_docs", "n")), "cosines": Stored(np.float32, ("n_docs", "n"))},
)


@dataclass(frozen=True, eq=False)
class OpenedIndex:
    """What is opened once for an index, whatever its resources are."""

    path: Path
    language: str | None
    commit: str
    is_closed: Event = field(default_factory=Event)  # seen by all threads
    encoded: dict[str, NDArray[np.float32]] = field(default_factory=dict)  # vectors of documents, by the encoder's name

    @cached_property
    def forward(self) -> ForwardIndex:
        """The forward arrays."""
        forward = open_forward(self.path, commit=self.commit)
        if self.language is None:
            return forward
        return replace(forward, fingerprint={**forward.fingerprint, "language": self.language})

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene searcher; InvalidInputError where the index was closed."""
        if self.is_closed.is_set():
            raise InvalidInputError(f"{self.path}: expected an open index, got a closed one. Open it again.")
        return Searcher(self.path, self.language, self.commit)

    @cached_property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts."""
        return TextAnalyser(self.forward, self.searcher.language)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The nearest documents of each document; computed once for an index, and kept in the cache folder."""
        name = f"neighbours-{self.commit[:32]}.npz"
        return Neighbours(**kept(name, NEIGHBOURS, lambda: vars(document_neighbours(self.forward))))

    @cached_property
    def passages(self) -> Passages | None:
        """The passages that are kept with the index; None without."""
        what = "WINDOW/STRIDE of passages, got another text. Delete it."
        file = resource_folder(self.path, self.commit) / PASSAGES
        sizes = kept_text(file, what, re.compile("[0-9]+/[0-9]+").fullmatch)
        return None if sizes is None else Passages.parse(sizes)

    def encode(self, encoder: Encoder, texts: Callable[[Ints], list[str]]) -> NDArray[np.float32]:
        """Return the vectors of all documents by an encoder."""
        if encoder.name not in self.encoded:
            self.encoded[encoder.name] = encoded_documents(encoder, self.forward, texts)
        return self.encoded[encoder.name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what identifies the index."""
        return OpenedIndex, (self.path.resolve(), self.language, self.commit)

    def close(self) -> None:
        """Close the Lucene reader."""
        self.is_closed.set()
        if "searcher" in self.__dict__:
            self.searcher.close()
