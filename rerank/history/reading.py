"""Reading of history files, which `rerank.history.store` writes; whatever they hold is checked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, shown
from rerank.files.npz import NpzFault, read_arrays
from rerank.files.source import check_file
from rerank.history.base import Arrays, LearnedFamily
from rerank.history.checks import HistoryFault, check_ascending, check_numbers, check_pointers
from rerank.history.collection import NEAREST, Neighbours
from rerank.history.history import MOST_FOLDS, History, learned_families
from rerank.history.judged import Judged
from rerank.history.store import FORMAT, VERSION
from rerank.runtime.schema import Choice, Plain, Record, SchemaError, Text, Whole
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.types import Ints
from rerank.types.ids import ID_RULE, QUERY_RULE, Ids, first_broken
from rerank.types.ranking_data import MOST_LABEL

MOST_FREQUENCY = 1 << 20  # of a word in a query
_REMEDY = "Learn it again (rerank history)."
_KINDS = {
    "query_ids": "U",
    "words": "u",
    "word_ptr": "i",
    "query_words": "i",
    "freqs": "i",
    "doc_ptr": "i",
    "docs": "i",
    "labels": "f",
    "folds": "i",
    "near_docs": "i",
    "near_cosines": "f",
    "doc_ids": "U",
}
_ABOUT = Record(
    {
        "format": Choice(lambda: [FORMAT]),
        "version": Whole(VERSION, VERSION),
        "folds": Whole(2, MOST_FOLDS),
        "terms": Whole(0, 2**31 - 2),
        "fingerprint": Plain(),
        "checksum": Text(16),
    }
)


def load_history(path: str | Path) -> History:
    """Read a history that `History.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    History
        The history.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        If it is no history, of another version, or damaged.

    """
    checked = check_file(path, "a history (.npz)")
    try:
        return _read(checked)
    except (NpzFault, HistoryFault) as fault:
        raise FileFormatError(checked, None, f"expected a history, got {fault}. {_REMEDY}") from None
    except SchemaError as error:
        raise FileFormatError(checked, None, f"about: {error.fault(_REMEDY)}") from None


def _read(path: Path) -> History:
    about = _about(read_arrays(path, {"about": "u"}))
    families = {name: member for name, member in learned_families().items() if member.stored}
    kinds = {
        f"part{number}.{family}.{name}": np.dtype(dtype).kind
        for number in range(about["folds"] + 1)
        for family, member in families.items()
        for name, dtype in member.stored.items()
    }
    arrays = read_arrays(path, {**_KINDS, **kinds})
    missing = [name for name in (*_KINDS, *kinds) if name not in arrays]
    if missing:
        raise HistoryFault(f"no {missing[0]}")
    history = _history(arrays, about, families)
    if history.checksum != about["checksum"]:
        raise HistoryFault(f"content of checksum {history.checksum} in place of {shown(about['checksum'])}")
    return history


def _about(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        value = parse_json(arrays["about"].tobytes()) if "about" in arrays else None
    except ParseFault as fault:
        raise HistoryFault(f"arrays of something else (about: {fault})") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise HistoryFault("arrays of something else")
    about: dict[str, Any] = _ABOUT.read(value, {})
    if about["fingerprint"] is None:
        raise HistoryFault("no fingerprint")
    return about


def _history(
    arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], families: Mapping[str, LearnedFamily]
) -> History:
    """Return the history of arrays, all of them checked."""
    doc_ids = _ids("doc_ids", arrays["doc_ids"], allow_empty=True)
    judged = _judged(arrays, len(doc_ids))
    folds = arrays["folds"]
    if folds.shape != (judged.n_queries,):
        raise HistoryFault(f"folds of shape {folds.shape}")
    check_numbers("folds", folds, 0, about["folds"] - 1)
    _check_folds(judged, folds)
    near_docs, cosines = arrays["near_docs"], arrays["near_cosines"]
    for name, array in (("near_docs", near_docs), ("near_cosines", cosines)):
        if array.shape != (len(doc_ids), NEAREST):
            raise HistoryFault(f"{name} of shape {array.shape}")
    check_numbers("near_docs", near_docs, -1, len(doc_ids) - 1)
    check_numbers("near_cosines", cosines, 0.0, 1.001)
    learned: list[dict[str, Arrays]] = [
        {
            family: {
                name: arrays[f"part{number}.{family}.{name}"].astype(dtype) for name, dtype in member.stored.items()
            }
            for family, member in families.items()
        }
        for number in range(about["folds"] + 1)
    ]
    history = History(
        judged=judged,
        folds=folds.astype(np.int64),
        learned=learned,
        neighbours=Neighbours(near_docs.astype(np.int32), cosines.astype(np.float32)),
        doc_ids=doc_ids,
        n_terms=about["terms"],
        fingerprint=about["fingerprint"],
    )
    for part in learned:
        for family, member in families.items():
            member.check(part[family], len(judged.words), about["terms"])
    return history


def _judged(arrays: Mapping[str, NDArray[Any]], n_docs: int) -> Judged:
    query_ids, words = _ids("query_ids", arrays["query_ids"]), _words(arrays["words"])
    names = ("word_ptr", "query_words", "freqs", "doc_ptr", "docs", "labels", "folds")
    flat = [name for name in names if arrays[name].ndim != 1]
    if flat:
        raise HistoryFault(f"{flat[0]} of shape {arrays[flat[0]].shape}")
    query_words, freqs, docs, labels = (arrays[name] for name in ("query_words", "freqs", "docs", "labels"))
    check_pointers("word_ptr", arrays["word_ptr"], len(query_ids), len(query_words))
    check_pointers("doc_ptr", arrays["doc_ptr"], len(query_ids), len(docs))
    if len(freqs) != len(query_words) or len(labels) != len(docs):
        raise HistoryFault("freqs or labels of another number than words or documents")
    check_numbers("query_words", query_words, 0, len(words) - 1)
    check_numbers("freqs", freqs, 1, MOST_FREQUENCY)
    check_numbers("docs", docs, 0, n_docs - 1)
    check_numbers("labels", labels, float(np.finfo(np.float32).tiny), MOST_LABEL)
    check_ascending("query_words", arrays["word_ptr"], query_words)
    check_ascending("docs", arrays["doc_ptr"], docs)
    return Judged(
        query_ids=query_ids,
        words=words,
        word_ptr=arrays["word_ptr"].astype(np.int64),
        query_words=query_words.astype(np.int32),
        freqs=freqs.astype(np.int32),
        doc_ptr=arrays["doc_ptr"].astype(np.int64),
        docs=docs.astype(np.int32),
        labels=labels.astype(np.float32),
    )


def _ids(name: str, ids: NDArray[Any], allow_empty: bool = False) -> Ids:
    """Return ids, checked; those of queries ascend, and those of documents may be empty."""
    if ids.ndim != 1 or not len(ids):
        raise HistoryFault(f"{name} of shape {ids.shape}")
    texts = ids.astype(ids.dtype.newbyteorder("="))
    broken = first_broken([text for text in texts.tolist() if text or not allow_empty])
    if broken is not None:
        raise HistoryFault(f"{name} that are not {ID_RULE if allow_empty else QUERY_RULE} ({shown(broken)})")
    if not allow_empty and (texts[1:] <= texts[:-1]).any():
        raise HistoryFault(f"{name} that do not ascend")
    return texts


def _words(raw: NDArray[Any]) -> tuple[str, ...]:
    try:
        words = parse_json(raw.tobytes())
    except ParseFault as fault:
        raise HistoryFault(f"words that are no JSON ({fault})") from None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise HistoryFault("words that are no list of texts")
    if any(second <= first for first, second in pairwise(words)):
        raise HistoryFault("words that do not ascend")
    return tuple(words)


def _check_folds(judged: Judged, folds: Ints) -> None:
    """Raise where queries of the same terms are in different folds: one would learn from the other."""
    fold_of_key = dict(zip(judged.keys(), folds.tolist(), strict=True))
    if any(fold_of_key[key] != fold for key, fold in zip(judged.keys(), folds.tolist(), strict=True)):
        raise HistoryFault("folds that divide queries of the same terms")
