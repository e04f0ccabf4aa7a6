"""Collections without an index, with which texts are compared: that of a model's training, and the texts themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

from rerank.errors import ModelMismatchError, log
from rerank.files.json_lines import ID_KEYS
from rerank.index.bound_model import BoundModel
from rerank.index.collection import Collection
from rerank.index.index import Index
from rerank.index.model_checks import model_recipe
from rerank.index.resources import Resources, needed_resources
from rerank.index.texts import TITLES
from rerank.lucene.analysis import Analyser
from rerank.lucene.documents import is_text
from rerank.lucene.languages import ENGLISH, check_language
from rerank.lucene.text_documents import TEXT_KEYS, metadata_of
from rerank.lucene.texts import TextAnalyser
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.ranker import Ranker, fitted_model, read_model
from rerank.runtime.store import file_state
from rerank.types import CONTENTS, ForwardIndex, Passages
from rerank.types.data_frames import plain_value
from rerank.types.statistics import Statistics
from rerank.vectors.vectors import ENCODER, Vectors, vectors_of_terms

REMEDY = "Pass the index (index=), or set model.statistics_ = index.statistics(model), as `rerank train INDEX` does."


class TextCollection(Collection):
    """A collection of which only statistics are known.

    Parameters
    ----------
    statistics : Statistics
        The statistics.
    passages : Passages, optional
        The passages that the index kept.
    are_own : bool
        Whether the statistics are those of the texts of each call.

    """

    _without_history: ClassVar[str] = (
        "texts: without an index, the model's features of similar judged queries are missing, as in the estimate of "
        "`rerank train` on texts without ids. Documents of the index have them, where they are retrieved from it "
        "(RerankRetriever) or passed by id (rerank_texts with index=)."
    )

    def __init__(self, statistics: Statistics, passages: Passages | None = None, are_own: bool = False) -> None:
        super().__init__(Path("model"), Resources())
        self._opened = _Opened(statistics, are_own)
        self._passages = passages

    @property
    def forward(self) -> ForwardIndex:
        """The statistics, as forward arrays of no documents."""
        return self._opened.statistics.forward

    @property
    def analyser(self) -> Analyser:
        """The analyser; starts Java."""
        return self._opened.analyser

    @property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts; starts Java."""
        return self._opened.text_analyser

    @property
    def passages(self) -> Passages | None:
        """The passages that the index kept; None without."""
        return self._passages

    def _kept(self, name: str) -> Vectors | None:
        """Return the vectors of terms that the statistics hold."""
        statistics = self._opened.statistics
        if name != "vectors" or statistics.term_vectors is None:
            return None
        return vectors_of_terms(self.forward, statistics.term_vectors, statistics.query_map)


@dataclass(frozen=True, eq=False)
class _Opened:
    """What is made once for a collection, whatever is bound to it."""

    statistics: Statistics
    are_own: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the statistics: another process starts its own Java."""
        return _Opened, (self.statistics, self.are_own)

    @cached_property
    def analyser(self) -> Analyser:
        """The analyser of the statistics' language."""
        joined = self.statistics.joined_fields
        language = check_language(self.statistics.fingerprint["language"])
        return Analyser(language, None if joined is None else tuple(joined))

    @cached_property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts."""
        return TextAnalyser(self.statistics.forward, self.analyser.language, self.are_own)


def model_for_texts(model: Ranker | str | Path, index: Index | None = None, documents: Any = ()) -> BoundModel:
    """Return a model that is applied to texts, with the statistics of an index or, without one, those that it holds.

    "unsupervised", without an index, has the statistics of the texts of each call.

    Parameters
    ----------
    model : Ranker, path or "unsupervised"
        The model.
    index : Index or None
        The index.
    documents : list or mapping
        Texts of the call, for the names of their fields, where the statistics are their own.

    Returns
    -------
    BoundModel
        The model.

    Raises
    ------
    ModelMismatchError
        Without an index, if the model holds no statistics, or has features that need the index.

    """
    if index is not None:
        return BoundModel.of(index, model, union=False)
    if model == UNSUPERVISED:
        return BoundModel.of(own_collection(documents), model, union=False)
    if isinstance(model, str | Path) and Path(model).is_file():
        model = _kept_model(Path(model), *file_state(Path(model)))
    model = fitted_model(model)
    recipe = model_recipe(model)
    if ENCODER in needed_resources(recipe):
        raise ModelMismatchError(
            "model: expected an index with the encoder that its features need, got none. Pass the index (index=), or "
            "train on it without (index.using(encoder=False))."
        )
    if model.statistics_ is None:
        raise ModelMismatchError(
            f"model: expected one that holds the statistics of its collection, or an index, got neither. {REMEDY}"
        )
    return BoundModel.of(_collection(model.statistics_, recipe.passages), model, union=False)


@lru_cache(maxsize=4)
def _kept_model(path: Path, *state: int) -> Ranker:
    """Return the model of a file in a state, which is read once for calls that name it and for all components."""
    return read_model(path)


@lru_cache(maxsize=16)
def _collection(statistics: Statistics, passages: str | None) -> TextCollection:
    """Return the collection of a model's statistics, which is made once for them, with the words that it knows."""
    return TextCollection(statistics, None if passages is None else Passages.parse(passages))


def own_collection(documents: Any) -> TextCollection:
    """Return a collection whose statistics are those of the texts of each call, with the fields of some documents."""
    given = documents.values() if isinstance(documents, Mapping) else documents
    mappings = [
        {name: value for name, value in document.items() if isinstance(name, str)}
        for document in given
        if isinstance(document, Mapping)
    ]
    fields = {CONTENTS, *(name for document in mappings for name in _own_fields(document))}
    values = [each for document in mappings for each in document.items()]
    numbers = {name for name, value in values if isinstance(value, Real) and not isinstance(value, bool)}
    return _own_collection(tuple(sorted(fields)), tuple(sorted(numbers - fields)))


def _own_fields(document: Mapping[Any, Any]) -> set[Any]:
    """Return the names of a document's texts; of one with metadata, as stores have them, its text and its title."""
    metadata = metadata_of(document)
    of_store = metadata is not None and any(isinstance(document.get(name), str) for name in TEXT_KEYS)
    texts = {name for name, value in {**(metadata or {}), **document}.items() if is_text(plain_value(value))}
    return texts & {*TEXT_KEYS, *TITLES} if of_store else texts & document.keys() - set(ID_KEYS)


@lru_cache(maxsize=16)
def _own_collection(fields: tuple[str, ...], numbers: tuple[str, ...]) -> TextCollection:
    """Return the collection, which says once what its statistics are."""
    log.warning(
        "texts: without an index, statistics are those of the texts of each call alone, analysed as English. Train a "
        "model, which holds those of its collection, or pass an index."
    )
    return TextCollection(Statistics.of_nothing(ENGLISH, fields, numbers), are_own=True)
