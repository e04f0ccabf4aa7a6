"""Answers as JSON: hits are written from arrays, without an object for each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.types.arrays import Floats, Ints

try:
    import orjson
except ImportError:  # it is faster, and the extra `service` has it
    orjson = None  # type: ignore[assignment]

_RANKS: list[bytes] = []  # `{"rank":1,"id":"` at 0, `,{"rank":2,"id":"` at 1 and so on
_BM25: list[bytes] = []  # `,"bm25":{"rank":1,"score":` at 0 and so on
_SCORE, _END = b'","score":', b"}}"
_PARTS = 7  # of a hit


def json_bytes(content: Any) -> bytes:
    """Return a value as JSON in UTF-8; a half surrogate pair, which UTF-8 cannot hold, is written as `?`."""
    if orjson is not None:
        with suppress(TypeError):  # half surrogate pairs and integers beyond 64 bits, which the standard library writes
            return bytes(orjson.dumps(content))
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def hits_json(
    ids: Sequence[bytes], scores: Sequence[bytes], bm25_ranks: Ints, bm25_scores: Sequence[bytes],
    more: Sequence[bytes] | None = None,
) -> bytes:  # fmt: skip
    """Return the hits of a query, best first, as a JSON list.

    ids, scores, bm25_scores  JSON of each hit, see `id_texts` and `number_texts`
    bm25_ranks  rank of each hit among BM25's documents, from 0
    more        further members of each hit, see `members`
    """
    n = len(ids)
    _extend(max(n, int(bm25_ranks.max(initial=0)) + 1))
    parts = [b""] * (_PARTS * n)
    parts[0::_PARTS] = _RANKS[:n]
    parts[1::_PARTS] = ids
    parts[2::_PARTS] = [_SCORE] * n
    parts[3::_PARTS] = scores
    parts[4::_PARTS] = map(_BM25.__getitem__, bm25_ranks.tolist())
    parts[5::_PARTS] = bm25_scores
    parts[6::_PARTS] = [_END] * n if more is None else [b"}%b}" % each for each in more]
    return b"[%b]" % b"".join(parts)


def members(values: dict[str, Any]) -> bytes:
    """Return the members of an object as JSON, each after a comma."""
    return b"," + json_bytes(values)[1:-1] if values else b""


def id_texts(ids: NDArray[Any]) -> list[bytes]:
    """Return the JSON of ids without their quotation marks."""
    if not len(ids):
        return []
    return json_bytes(ids.tolist())[2:-2].split(b'","')  # `"` is escaped inside an id: there is no other `","`


def check_finite(scores: ArrayLike) -> None:
    """Raise ValueError unless all scores are finite: JSON has no other numbers, and orjson would write null."""
    if not np.isfinite(scores).all():
        raise ValueError("scores: expected finite values, got others. Check the model.")


def number_texts(values: Floats) -> list[bytes]:
    """Return the JSON of numbers, the shortest that float64 reads back; ValueError where one is not finite."""
    if not len(values):
        return []
    check_finite(values)
    if orjson is not None:
        text: bytes = orjson.dumps(np.ascontiguousarray(values, np.float64), option=orjson.OPT_SERIALIZE_NUMPY)
        return text[1:-1].split(b",")
    return repr(values.tolist())[1:-1].encode().split(b", ")


def _extend(count: int) -> None:
    """Make the constant parts of hits up to a rank."""
    for rank in range(len(_RANKS) + 1, count + 1):
        _RANKS.append(b'%b{"rank":%d,"id":"' % (b"," if rank > 1 else b"", rank))
        _BM25.append(b',"bm25":{"rank":%d,"score":' % rank)
