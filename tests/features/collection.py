"""Forward arrays from lists of tokens, and collections for the tests of features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rerank.types import pointers
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots

Documents = Mapping[str, Mapping[str, Sequence[str]]]


def forward_index(documents: Documents, positions: bool = True) -> ForwardIndex:
    """Return the forward arrays of `{document id: {field: tokens}}`; Lucene numbers are the order given."""
    names = sorted({name for document in documents.values() for name in document})
    words = {word for document in documents.values() for tokens in document.values() for word in tokens}
    terms = sorted(word.encode("utf8") for word in words)
    numbers = {term.decode("utf8"): number for number, term in enumerate(terms)}
    doc_ids = np.array(list(documents), dtype=np.str_)
    return ForwardIndex(
        doc_ids=doc_ids,
        doc_slots=document_slots(doc_ids),
        vocabulary=np.frombuffer(b"".join(terms), dtype=np.uint8),
        term_ptr=pointers([len(term) for term in terms]),
        fields={name: _field(name, documents, numbers, positions) for name in names},
        fingerprint={"documents": len(documents), "terms": len(terms)},
    )


def _field(name: str, documents: Documents, numbers: Mapping[str, int], positions: bool) -> FieldArrays:
    texts = [list(document.get(name, ())) for document in documents.values()]
    counts = [sorted((numbers[word], n) for word, n in Counter(tokens).items()) for tokens in texts]
    postings = np.array([pair for pairs in counts for pair in pairs], dtype=np.int64).reshape(-1, 2)
    lengths = [len(tokens) for tokens in texts]
    indices = [
        position
        for tokens in texts
        for _, position in sorted((numbers[word], position) for position, word in enumerate(tokens))
    ]
    return FieldArrays(
        name=name,
        doc_ptr=pointers([len(pairs) for pairs in counts]),
        terms=postings[:, 0].astype(np.int32),
        freqs=postings[:, 1].astype(np.int32),
        positions=np.array(indices, dtype=np.int32) if positions else None,
        position_ptr=pointers(lengths),
        lengths=np.array(lengths, dtype=np.int32),
        doc_freq=np.bincount(postings[:, 0], minlength=len(numbers)).astype(np.int32),
        collection_freq=np.bincount(postings[:, 0], postings[:, 1], minlength=len(numbers)).astype(np.int64),
        n_docs_with=sum(length > 0 for length in lengths),
    )
