"""Ids as arrays: text for users, UTF-8 bytes and 64-bit words for vectorised comparison.

Rows of queries in flat arrays: `query_ptr` gives the rows of each query.

Order of rows, and how ties are decided.

A run is read as by trec_eval: equal scores by document id, descending (`trec_order`). The rows of training data are in
that order of documents already, so that a stable sort decides ties alike (`query_order`; kernels, which call no other
file, sort by merging or keep the earlier row). Texts without ids are known by their position (`position_order`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")  # before a number
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, an odd number: a multiplicative (Fibonacci) hash
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def zeros_apart(names: Iterable[str], others: Iterable[str]) -> str:
    """Say that an id differs from one of others in zeros before a number alone, as 051 and 51; "" where none does."""
    known = set(others)
    plain = {_ZEROS.sub("", other): other for other in known}
    pairs = ((name, plain.get(_ZEROS.sub("", name))) for name in names if name not in known)
    pair = next((pair for pair in pairs if pair[1] is not None), None)
    return "" if pair is None else f"{pair[0]!r} and {pair[1]!r} differ in zeros alone: write them in one way"


def same_ids(names: Iterable[str], others: Iterable[str]) -> str:
    """Return what to do where none of some query ids is one of others."""
    return f"{zeros_apart(names, others) or 'Check that both use the same query ids'}."


def hash_slots(hashes: Words) -> NDArray[np.int32]:
    """Return an open-addressing hash table of the numbers of some hashes: a lookup reads one slot or two.

    The size is a power of two and over four times the number of hashes. A number is in the slot of its hash's leading
    bits or, if that slot is taken, in the next free one (linear probing); -1 marks a free slot. Of equal hashes, the
    lowest number comes first.
    """
    slots = np.full(1 << (4 * len(hashes)).bit_length(), -1, dtype=np.int32)
    numbers = np.arange(len(hashes))[::-1]  # NumPy keeps the last value assigned to a slot
    slot = _first_slots(hashes, slots)[::-1]
    while len(numbers):
        free = slots[slot] < 0
        slots[slot[free]] = numbers[free]
        unplaced = slots[slot] != numbers
        numbers = numbers[unplaced]
        slot = (slot[unplaced] + 1) & (len(slots) - 1)
    return slots


def find_in_slots(slots: NDArray[np.int32], hashes: Words, is_same: Callable[[Ints, Ints], NDArray[np.bool_]]) -> Ints:
    """Return the number of each hash in a table of `hash_slots`, -1 for one that is not there.

    is_same(numbers, rows) returns whether numbers of the table are those of the rows of `hashes`
    """
    slot = _first_slots(hashes, slots)
    numbers = slots[slot].astype(np.int64)
    rows = np.flatnonzero(numbers >= 0)
    while len(rows := rows[~is_same(numbers[rows], rows)]):
        slot[rows] = (slot[rows] + 1) & (len(slots) - 1)
        numbers[rows] = slots[slot[rows]]
        rows = rows[numbers[rows] >= 0]
    return numbers


def _first_slots(hashes: Words, slots: NDArray[np.int32]) -> Ints:
    return (hashes >> np.uint64(65 - len(slots).bit_length())).astype(np.int64)


def query_rows(query_ptr: Ints) -> Ints:
    """Return the query number of every row, (n_rows,) int64."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def pointers(counts: ArrayLike) -> Ints:
    """Return (n + 1,) int64 offsets of consecutive groups of rows whose sizes are `counts`."""
    counts = np.asarray(counts, dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def by_number(numbers: NDArray[np.int32 | np.int64], n: int) -> tuple[Ints, Ints]:
    """Return pointers (n + 1,) to the rows of each of n numbers, and these rows, ascending within a number."""
    return pointers(np.bincount(numbers, minlength=n)), np.argsort(numbers, kind="stable")


def are_pointers(ptr: ArrayLike, n: int, end: int) -> bool:
    """Return whether `ptr` has n + 1 whole numbers that rise from 0 to `end`; differences could overflow."""
    ptr = np.asarray(ptr)
    fits = ptr.shape == (n + 1,) and ptr.dtype.kind in "iu" and ptr[0] == 0 and ptr[-1] == end
    return bool(fits and not (ptr[1:] < ptr[:-1]).any())


def query_blocks(query_ptr: Ints, n_rows: int = 1 << 15) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, last) of whole queries (or other groups), of at most so many rows or of one query.

    By default, temporary arrays of a range fit in cache.
    """
    first = 0
    while first < len(query_ptr) - 1:
        last = max(int(np.searchsorted(query_ptr, query_ptr[first] + n_rows, side="right")) - 1, first + 1)
        yield first, last
        first = last


def ideal_of_rows(labels: Floats, query_ptr: Ints) -> tuple[Floats, Ints]:
    """Return the positive labels of every query, best first, assuming that no other document was judged."""
    rows = np.flatnonzero(labels > 0)
    query = np.searchsorted(query_ptr, rows, side="right") - 1
    labels = labels[rows]
    return labels[np.lexsort((-labels, query))], pointers(np.bincount(query, minlength=len(query_ptr) - 1))


TIE_STEP = 1e-6  # by which Anserini's ScoreTiesAdjusterReranker lowers each further document of a tie


def scores_and_ranks(query_ptr: Ints, scores: Floats) -> Floats:
    """Return the score and the rank of each row, (n_rows, 2) float64, those of equal scores as of the first of them.

    Scores are in trec_eval's order. Those that Anserini has set apart, x, x - 0.000001, x - 0.000002, are equal ones:
    the same document under two ids has one score and one rank.
    """
    scores = scores.astype(np.float32).astype(np.float64)  # as trec_eval compares them
    rows = np.arange(len(scores))
    firsts = query_ptr[query_rows(query_ptr)]
    falls = np.append(np.inf, scores[:-1] - scores[1:])
    is_step = np.abs(falls - TIE_STEP) <= np.finfo(np.float32).eps * np.abs(scores)
    is_equal = ((falls == 0.0) | is_step) & (firsts < rows)
    first = np.maximum.accumulate(np.where(is_equal, 0, rows))
    return np.column_stack([scores[first], first - firsts + 1.0])


def joined_rows(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the rows of groups that begin at `starts`, concatenated, and their `query_ptr`."""
    query_ptr = pointers(counts)
    return np.arange(query_ptr[-1]) + np.repeat(starts - query_ptr[:-1], counts), query_ptr


def trec_order(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> Ints:
    """Return the rows of each query by score, then document id, both descending.

    Scores are compared as float32, which is trec_eval's type; NaN is last. doc_ids are text or bytes.
    """
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    np.fmin(np.negative(keys, out=keys), np.float32(np.inf), out=keys)
    ends = query_ptr[1:-1][(query_ptr[1:-1] > 0) & (query_ptr[1:-1] < len(keys))] - 1  # the last row of a query
    falls = keys[1:] < keys[:-1]
    falls[ends] = False
    order = np.arange(len(keys))
    for number in np.unique(query_rows(query_ptr)[1:][falls]).tolist():
        rows = slice(*query_ptr[number : number + 2].tolist())
        ascending = np.argsort(keys[rows])
        order[rows] = ascending + rows.start
        keys[rows] = keys[rows][ascending]
    second = np.concatenate([[False], keys[1:] == keys[:-1], [False]])  # whether a row ties with the one before
    second[ends + 1] = False
    tied = np.flatnonzero(second[:-1] | second[1:])
    if len(tied):
        own = order[tied]
        group = np.cumsum(~second[tied])
        order[tied] = own[np.lexsort((own, *(~key for key in sort_keys(doc_ids[own])), group))]
    return order


def query_order(query_ptr: Ints, keys: NDArray[Any]) -> Ints:
    """Return the rows of each query by key (n_rows,), ascending; equal keys in the order of the rows."""
    return np.lexsort((keys, query_rows(query_ptr)))


def position_order(positions: Ints, scores: NDArray[np.float64]) -> Ints:
    """Return the rows of texts that were given as a list: by score, descending, equal scores by position."""
    return np.lexsort((positions, -scores))
