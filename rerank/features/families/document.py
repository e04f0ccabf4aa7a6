"""The document family: user-defined functions over the raw document (`@rerank.feature(over="document")`).

The static family: numbers of the documents (year, clicks, stars), which do not depend on the query.

The prior family: properties of a field that do not depend on the query.

tf, len, u, idf as in the LETOR family. A common term occurs in over a tenth of the documents with the field: these are
the stop words that the analyser did not remove.

References
----------
Bendersky, Croft & Diao, WSDM 2011; Zhou & Croft, CIKM 2005.

"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import Cost, Feature, FieldFamily, Missing, RunFamily
from rerank.features.candidates import Candidates
from rerank.features.functions import Function, functions
from rerank.features.match import FieldBlock, cached_by_field, field_idf
from rerank.features.recipe import Recipe, register
from rerank.runtime.codec import check_nesting
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import log
from rerank.types.forward import FieldArrays

_GREATEST = float(np.finfo(np.float32).max)
COMMON_SHARE = 0.1
_BENDERSKY = "Bendersky, Croft & Diao, WSDM 2011, table 1"
_MISSING = (Missing.EMPTY_FIELD,)


@register("document")
class DocumentFeatures(RunFamily):
    """A feature for each user-defined function over the raw document."""

    evidence = "functions of the document"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _document_functions(recipe)]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        chosen = _document_functions(recipe)
        if not chosen or candidates.documents is None:
            return
        numbers, number_of_row = np.unique(candidates.docs, return_inverse=True)
        documents = [_parsed(text) for text in candidates.documents(numbers)]
        for query in range(len(candidates.query_lengths)):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens = candidates.query_tokens(query)
            subject = f"query {str(candidates.query_ids[query])!r}"
            subjects = [f"{subject}, document {doc_id!r}" for doc_id in map(str, candidates.doc_ids[first:last])]
            row_documents = [documents[number] for number in number_of_row[first:last].tolist()]
            for column, function in enumerate(chosen):
                out[first:last, column] = _values(function, tokens, row_documents, subjects)


def _values(
    function: Function, tokens: Sequence[str], documents: Sequence[Mapping[str, Any] | str], subjects: Sequence[str]
) -> NDArray[np.float32]:
    """Return a function's value of each document; the error for a value that is no number names the document."""
    values = [
        function.call(subject, list(tokens), document) for subject, document in zip(subjects, documents, strict=True)
    ]
    try:
        return function.column(values, len(values), "the query's documents")
    except InvalidInputError:
        return np.concatenate(
            [function.column([value], 1, subject) for value, subject in zip(values, subjects, strict=True)]
        )


def _document_functions(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "document"]


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a read-only mapping, any other document as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        check_nesting(text)
        document: Mapping[str, Any] = json.loads(text, object_hook=read_only)
    except ValueError:
        return text
    return document


def read_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return a read-only dict with read-only lists; for `json.loads(object_hook=...)`."""
    return _Dict({key: _List.of(value) if type(value) is list else value for key, value in values.items()})


def _refuse(self: Any, *arguments: Any, **options: Any) -> NoReturn:
    raise TypeError("a document cannot be changed; change a copy, e.g. copy.deepcopy(document)")


class _Dict(dict[str, Any]):
    """A read-only dict, whose copies can be changed."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __copy__(self) -> dict[str, Any]:
        return dict(self)


class _List(list[Any]):
    """A read-only list, whose copies can be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    @classmethod
    def of(cls, values: list[Any]) -> _List:
        """Return a list, and the lists in it, as read-only lists."""
        return cls([cls.of(value) if type(value) is list else value for value in values])

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(value, memo) for value in self]

    def __copy__(self) -> list[Any]:
        return list(self)


@register("static")
class StaticFeatures(RunFamily):
    """A feature for each number of the documents."""

    evidence = "numbers of the document"

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [
            Feature(
                name=f"static.{name}",
                meaning=f"The document's own number {name}.",
                formula="the number in the document",
                source="the corpus",
                unit="the corpus's",
                low=-inf,
                missing=(Missing.NO_NUMBER,),
                cost=Cost.PAIR,
            )
            for name in recipe.numbers or ()
        ]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each number); numbers beyond float32 become its greatest number."""
        for column, name in enumerate(recipe.numbers or ()):
            out[:, column] = np.clip(candidates.numbers[name][candidates.docs], -_GREATEST, _GREATEST)


def _feature(name: str, meaning: str, formula: str, source: str, unit: str, high: float = inf) -> Feature:
    return Feature(name, meaning, formula, source, unit, 0.0, high, _MISSING, Cost.PAIR)


_FEATURES = (
    _feature(
        "entropy",
        "How evenly the field's tokens are spread over its terms.",
        "-sum over its terms of tf / len * ln(tf / len)",
        _BENDERSKY,
        "nats",
    ),
    _feature(
        "stop_share",
        "Share of the field's tokens that are common terms.",
        "sum of tf over its common terms, / len",
        _BENDERSKY + ", fracStops",
        "share",
        1.0,
    ),
    _feature("unique_terms", "Number of distinct terms of the field.", "u", "Pyserini 0.22", "terms"),
    _feature("unique_share", "How rarely terms are repeated in the field.", "u / len", _BENDERSKY, "share", 1.0),
    _feature(
        "mean_idf",
        "How rare the field's terms are.",
        "mean over its tokens of idf",
        "Zhou & Croft, CIKM 2005, document quality",
        "nats",
    ),
)


@register("prior")
class PriorFeatures(FieldFamily):
    """Entropy, common terms, distinct terms, rarity."""

    evidence = "quality of the text"
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 5)."""
        out[:] = _priors(block.field)[block.candidates.docs]


@cached_by_field
def _priors(field: FieldArrays) -> NDArray[np.float32]:
    """Return the columns of every document, (n_docs, 5)."""
    table = np.empty((len(field.lengths), len(_FEATURES)), dtype=np.float32)
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))
    lengths = read_only_view(field.lengths)
    doc_freq = read_only_view(field.doc_freq)
    with read_in_order(*postings):
        _fill(postings, lengths, field_idf(field), doc_freq, COMMON_SHARE * field.n_docs_with, table)
    return table


@kernel()
def _fill(postings, lengths, idf, doc_freq, common, out):  # type: ignore[no-untyped-def]
    """Fill the columns of every document; the entropy is ln(len) - (sum of tf * ln(tf)) / len."""
    doc_ptr, terms, freqs = postings
    for doc in range(len(lengths)):
        if lengths[doc] == 0:
            out[doc] = np.nan
            continue
        product = 0.0
        stops = 0
        rarity = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            count = freqs[posting]
            term = terms[posting]
            if count > 1:
                product += count * log(np.float64(count))
            stops += count if doc_freq[term] > common else 0
            rarity += count * idf[term]
        length = np.float64(lengths[doc])
        unique = doc_ptr[doc + 1] - doc_ptr[doc]
        out[doc, 0] = max(log(length) - product / length, 0.0)
        out[doc, 1] = stops / length
        out[doc, 2] = unique
        out[doc, 3] = unique / length
        out[doc, 4] = rarity / length
