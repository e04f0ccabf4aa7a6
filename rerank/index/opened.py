"""What is opened once for an index, whatever its resources are."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, RerankError, log
from rerank.history.neighbours import Neighbours, document_neighbours
from rerank.lucene.arrays import open_forward
from rerank.lucene.search import Searcher
from rerank.lucene.texts import TextAnalyser
from rerank.runtime.output import whole_file
from rerank.runtime.store import cache_folder
from rerank.types import ForwardIndex, Ints
from rerank.vectors.encoded_documents import encoded_documents
from rerank.vectors.encoder import Encoder


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
        file = cache_folder() / f"neighbours-{self.commit[:32]}.npz"
        try:
            with np.load(file) as stored:
                found = Neighbours(stored["docs"], stored["cosines"])
            if len(found.docs) == len(found.cosines) == self.forward.n_docs:
                return found
        except (OSError, ValueError, KeyError, BadZipFile):
            log.debug("%s: the nearest documents of each document are computed.", file)
        found = document_neighbours(self.forward)
        with suppress(OSError, RerankError):  # where the cache cannot be written, they are computed in each process
            file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(file, binary=True) as stored:
                np.savez(stored, docs=found.docs, cosines=found.cosines)
        return found

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
