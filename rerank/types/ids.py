"""Ids as arrays: text for users, UTF-8 bytes and 64-bit words for vectorised comparison."""

import re
from collections.abc import Collection, Iterable
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from rerank.errors import log, shown
from rerank.types.query_rows import Ints

Ids = NDArray[np.str_]
Words = NDArray[np.uint64]
WHITE_SPACE = " \t\n\r\x0b\x0c\0"
MOST_LETTERS = 512  # maximum length of an id: arrays of ids are as wide as the longest one
QUERY = "query"  # id of a query that is given as text
ID_RULE = f"of 1 to {MOST_LETTERS} characters without white space"
QUERY_RULE = f"{ID_RULE} that do not begin with # or a byte order mark"


# White space is ASCII white space, as for trec_eval: a no-break space is allowed in an id. Lone surrogates are not:
# UTF-8 cannot encode them. A line that begins with `#` is a comment, and a byte order mark at its beginning is dropped.
ID = re.compile(rf"[^{WHITE_SPACE}\ud800-\udfff]{{1,{MOST_LETTERS}}}")
QUERY_ID = re.compile(rf"(?![#\ufeff]){ID.pattern}")
_PART = re.compile(r"(.+)([#_:-])[^#_:-]+")  # of a document: a passage or chunk
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")  # before a number
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, an odd number: a multiplicative (Fibonacci) hash


def id_array(ids: Any) -> Ids:
    """Return ids as a NumPy text array, never of width 0."""
    array = np.asarray(ids, dtype=np.str_) if len(ids) else np.empty(0, dtype="U1")
    return array if array.dtype.itemsize else array.astype("U1")


def id_bytes(ids: NDArray[Any]) -> NDArray[np.bytes_]:
    """Return ids (text or bytes) as UTF-8 bytes, which sort as the text does; the width is a multiple of eight."""
    if ids.dtype.kind == "U":
        letters = np.ascontiguousarray(ids)[:, None].view(np.uint32)
        plain = letters.max(initial=0) < 128
        ids = letters.astype(np.uint8).view(f"S{letters.shape[1]}")[:, 0] if plain else np.char.encode(ids, "utf-8")
    return np.ascontiguousarray(ids, dtype=f"S{-(-ids.dtype.itemsize // 8) * 8}")


def sort_keys(ids: NDArray[Any]) -> list[Words]:
    """Return integer keys that sort as the ids do, in the order of `np.lexsort`: the primary key is last."""
    return [word.astype(np.uint64) for word in id_bytes(ids)[:, None].view(">u8").T[::-1]]


def row_codes(query: NDArray[np.int64], doc_ids: NDArray[Any]) -> Words:
    """Return a 64-bit hash of every row's query number and document id.

    hash = query * odd + sum over words of fold(word * odd_k) * odd, where a word is eight bytes of the id and
    fold(x) = x ^ x >> 32. A word of 0 adds nothing, so that the width of the array does not change the hash.
    """
    words = id_bytes(doc_ids)[:, None].view("<u8")
    codes = query.astype(np.uint64) * ODD
    factors = np.cumprod(np.full(words.shape[1], 0xD1342543DE82EF95, dtype=np.uint64))
    for word, factor in zip(words.T, factors, strict=True):
        mixed = word * factor
        mixed ^= mixed >> np.uint64(32)
        codes += mixed * ODD
    return codes


def repeated_row(query: Ints, doc_ids: NDArray[Any], codes: Words | None = None) -> int | None:
    """Return the first row with the query and document of an earlier row, or None.

    Shapes: query int64 (n_rows,); doc_ids (n_rows,); codes uint64 (n_rows,).
    """
    codes = row_codes(query, doc_ids) if codes is None else codes
    ordered = np.sort(codes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return None
    rows = np.flatnonzero(np.isin(codes, repeated))
    rows = rows[np.lexsort((*sort_keys(doc_ids[rows]), query[rows]))]
    again = (query[rows[1:]] == query[rows[:-1]]) & (doc_ids[rows[1:]] == doc_ids[rows[:-1]])
    return int(rows[1:][again].min()) if again.any() else None


def id_texts(ids: NDArray[np.bytes_]) -> Ids:
    """Return the text of UTF-8 bytes."""
    letters = np.ascontiguousarray(ids)[:, None].view(np.uint8)
    if letters.max(initial=0) > 127:
        return id_array(np.char.decode(ids, "utf-8"))
    width = int(np.flatnonzero(letters.any(axis=0)).max(initial=0)) + 1
    return letters[:, :width].astype(np.uint32).view(f"U{width}")[:, 0]


def first_broken(names: Iterable[str], form: re.Pattern[str] = ID) -> str | None:
    """Return the first id that cannot be written to a file (see `ID_RULE`), or begin a line (`QUERY_ID`), or None."""
    names = list(names)
    joined = "".join(names)
    # Ids of documents are plain as a rule: all of them are checked at once.
    is_plain = form is ID and joined.isascii() and not any(letter in joined for letter in WHITE_SPACE) and all(names)
    if is_plain and max(map(len, names), default=0) <= MOST_LETTERS:
        return None
    return next((name for name in names if form.fullmatch(name) is None), None)


def written_apart(names: Iterable[str], others: Collection[str]) -> str:
    """Say that an id is one of others written in another way, as 051, "51" or 51.0 for 51; "" where none is."""
    known = dict.fromkeys(others) if isinstance(others, list) else others
    missing = [name for name in names if name not in known]
    plain = {_plain(other): other for other in known} if missing else {}
    pairs = ((name, plain.get(_plain(name))) for name in missing)
    pair = next((pair for pair in pairs if pair[1] is not None), None)
    alone = "differ in zeros, quotes, case or Unicode's form alone: write them in one way"
    return "" if pair is None else f"{shown(pair[0])} and {shown(pair[1])} {alone}"


def warn_apart(what: str, names: Iterable[str], others: Collection[str]) -> None:
    """Log a warning where an id is one of others written in another way: what is matched by id then lacks it."""
    if apart := written_apart(names, others):
        log.warning("%s: %s", what, apart)


def _plain(name: str) -> str:
    return _ZEROS.sub("", normalize("NFC", name.strip("\"'").removesuffix(".0").casefold()))


def _part_of(names: Iterable[str], others: set[str]) -> re.Match[str] | None:
    """Return the match of the first id that names a part of another document; group 1 is the id of that document."""
    return next((part for part in map(_PART.fullmatch, names) if part is not None and part[1] in others), None)


def judged_parts(names: Iterable[str], judged: Iterable[str]) -> str:
    """Return what to do where the documents of an index are parts of those that are judged; "" where they are not."""
    part = _part_of(names, set(judged))
    if part is None:
        return ""
    return (
        f"{shown(part[0])} is a part of {shown(part[1])}: index whole documents, whose passages `rerank index "
        "--passages` scores, or judge the parts."
    )


def same_ids(names: Iterable[str], others: Iterable[str], what: str = "query") -> str:
    """Return what to do where none of some ids, of queries or documents, is one of others."""
    names, others = list(names), set(others)
    part = _part_of(names, others) if what == "document" else None
    if part is not None:
        return (
            f"{shown(part[0])} is a part of {shown(part[1])}: keep the best part of each document, e.g. "
            f"awk '{{sub(/{part[2]}[^{part[2]}]*$/, \"\", $3)}} !seen[$1, $3]++'."
        )
    return f"{written_apart(names, others) or f'Check that both use the same {what} ids'}."
