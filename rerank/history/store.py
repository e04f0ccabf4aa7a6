"""History files (`rerank.runtime.container`): the arrays of `History.arrays`; `words` are the bytes of a JSON list."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.history.collection import NEAREST
from rerank.runtime import container
from rerank.runtime.container import Fault, Kind, Stored, offsets
from rerank.runtime.schema import Plain, Record, Text, Whole, at
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.types.ids import ID_RULE, QUERY_RULE, Ids, first_broken
from rerank.types.ranking_data import MOST_LABEL

FOLDS = 20
MOST_FREQUENCY = 1 << 20  # of a word in a query
_JUDGED: dict[str, Stored] = {
    "query_ids": Stored(np.str_, ("n_queries",)),
    "words": Stored(np.uint8, (None,)),
    "doc_ids": Stored(np.str_, ("n_docs",)),
    "query_words": Stored(np.int32, ("n_query_words",)),
    "freqs": Stored(np.int32, ("n_query_words",), 1, MOST_FREQUENCY),
    "word_ptr": offsets("n_queries", "n_query_words"),
    "docs": Stored(np.int32, ("n_judgements",), 0, lambda sizes: sizes["n_docs"] - 1),
    "labels": Stored(np.float32, ("n_judgements",), float(np.finfo(np.float32).tiny), MOST_LABEL),
    "doc_ptr": offsets("n_queries", "n_judgements"),
    "folds": Stored(np.int64, ("n_queries",), 0, FOLDS - 1),
    "near_docs": Stored(np.int32, ("n_docs", NEAREST), -1, lambda sizes: sizes["n_docs"] - 1),
    "near_cosines": Stored(np.float32, ("n_docs", NEAREST), 0.0, 1.001),
}


def _check(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise for content that no history has."""
    n_words = len(stored_words(arrays["words"]))
    _check_ids("query_ids", arrays["query_ids"], allow_empty=False)
    _check_ids("doc_ids", arrays["doc_ids"], allow_empty=True)
    with at("query_words"):
        Stored(np.int32, (None,), 0, n_words - 1).read(arrays["query_words"], {})
    for ptr, name in (("word_ptr", "query_words"), ("doc_ptr", "docs")):
        starts = np.zeros(len(arrays[name]) + 1, dtype=np.bool_)
        starts[arrays[ptr]] = True
        if ((np.diff(arrays[name]) <= 0) & ~starts[1:-1]).any():
            raise Fault(f"{name} that do not ascend")


KIND = Kind(
    "rerank history",
    1,
    "a history",
    "Learn it again (rerank history).",
    Record(
        {
            "terms": Whole(0, 2**31 - 2),
            "fingerprint": Plain(optional=False),
            "checksum": Text(16),
        }
    ),
    lambda values: _JUDGED,
    _check,
)


def check_history_path(path: str | Path) -> None:
    """Refuse a file name of another format."""
    if not str(path).endswith(".npz"):
        raise InvalidInputError(f"{path}: expected a name that ends in .npz, got another. Rename it.")


def write_history(path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a history; the same content gives the same bytes."""
    check_history_path(path)
    container.write(path, KIND, about, arrays)


def _check_ids(name: str, ids: Ids, allow_empty: bool) -> None:
    """Raise unless there are ids; those of queries ascend, and those of documents may be empty."""
    broken = first_broken([text for text in ids.tolist() if text or not allow_empty])
    if broken is not None:
        raise Fault(f"{name} that are not {ID_RULE if allow_empty else QUERY_RULE} ({shown(broken)})")
    if not len(ids) or (not allow_empty and (ids[1:] <= ids[:-1]).any()):
        raise Fault(f"{name} that do not ascend" if len(ids) else f"no {name}")


def stored_words(raw: NDArray[Any]) -> tuple[str, ...]:
    """Return the words of the judged queries, which ascend."""
    try:
        words = parse_json(raw.tobytes())
    except ParseFault as fault:
        raise Fault(f"words that are no JSON ({fault})") from None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise Fault("words that are no list of texts")
    if any(second <= first for first, second in pairwise(words)):
        raise Fault("words that do not ascend")
    return tuple(words)
