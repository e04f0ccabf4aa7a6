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

from rerank.errors import log
from rerank.history.neighbours import Neighbours, document_neighbours
from rerank.index.resources import PASSAGES, kept_text, resource_folder
from rerank.lucene.arrays import made_from_index, open_forward
from rerank.lucene.documents import stored_fields
from rerank.lucene.requests import closed_index
from rerank.lucene.search import Searcher
from rerank.lucene.texts import TextAnalyser
from rerank.runtime.fields import Record
from rerank.runtime.store import Kind, Stored, kept
from rerank.types import CONTENTS, ForwardIndex, Ints, Passages
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
SAMPLE = 20  # documents whose terms are compared with those of their texts
LEAST_SHARE = 0.9


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
        if CONTENTS in forward.fields and made_from_index(self.path, self.commit):
            self._check_analyser(forward)
        if self.language is None:
            return forward
        return replace(forward, fingerprint={**forward.fingerprint, "language": self.language})

    def _check_analyser(self, forward: ForwardIndex) -> None:
        """Warn where the terms of an index are not those of its texts: Anserini stores no analyser with it."""
        numbers = np.flatnonzero(forward.doc_ids[:SAMPLE] != "")
        stored = self.searcher.documents(forward.lucene_docs[numbers].tolist())
        texts = [" ".join(map(str, stored_fields(text).values())) for text in stored]
        contents = forward.fields[CONTENTS]
        n_terms = n_found = 0
        for number, analysed in zip(numbers.tolist(), self.searcher.analyze(texts), strict=True):
            if not analysed:  # its text is not stored
                continue
            rows = slice(*contents.doc_ptr[number : number + 2])
            terms = {forward.term(term) for term in contents.terms[rows].tolist()}
            n_terms += len(terms)
            n_found += len(terms.intersection(analysed))
        if n_found < LEAST_SHARE * n_terms:
            log.warning(
                "%s: expected the terms that the analyser %s makes of the documents, got others (only %d of %d terms "
                "agree): queries miss them. Name the language (`rerank index INDEX --language CODE`); other stemmers "
                "and stop words, and -pretokenized, are not known here.",
                self.path,
                self.searcher.language,
                n_found,
                n_terms,
            )

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene searcher; InvalidInputError where the index was closed."""
        if self.is_closed.is_set():
            raise closed_index(self.path)
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
