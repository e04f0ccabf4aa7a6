"""Forward arrays of fields: postings by document, made from postings by term, and the check of stored arrays.

Memory does not grow with the number of postings. The arrays are made in parts of some documents each; for each part,
all postings are read in blocks of some terms each. The kernels sort postings by counting.

Every kernel can read arrays that pass the check. The check reads all arrays, so it is done once for each state of the
files.

posting   one term in one document; `docs` has the document, `freqs` the number of occurrences
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.store import Fault, are_characters
from rerank.runtime.threads import cores, in_threads
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots
from rerank.types.query_rows import Ints, are_pointers, pointers, query_blocks

_BLOCK = 1 << 24  # postings that are read at a time, unless a term has more
_PART = 1 << 31  # bytes of a part, which is made in memory and then written


class _Block(NamedTuple):
    """The postings of some terms.

    first      number of the first term
    doc_freq   (n_terms,) int32 documents of each term
    docs       (n_postings,) int32 Lucene's document numbers
    freqs      (n_postings,) int32
    positions  (n_tokens,) int32, empty where they are not indexed
    """

    first: int
    doc_freq: NDArray[np.int32]
    docs: NDArray[np.int32]
    freqs: NDArray[np.int32]
    positions: NDArray[np.int32]


@dataclass(frozen=True)
class RawField:
    """The postings of a field as Java exports them, see Exporting.java.

    Parameters
    ----------
    folder : Path
        Folder of the raw files.
    number : int
        Number of the field.
    positions : bool
        Whether the field has positions.

    """

    folder: Path
    number: int
    positions: bool

    @cached_property
    def doc_freq(self) -> NDArray[np.int32]:
        """Number of documents of each term, (n_terms,)."""
        return np.fromfile(self._path("doc_freq"), np.int32)

    def _path(self, name: str) -> Path:
        return self.folder / f"{self.number}.{name}"

    def blocks(self) -> Iterator[_Block]:
        """Yield all postings, block by block."""
        posting_ptr = pointers(self.doc_freq)
        token = 0
        for first, last in query_blocks(posting_ptr, _BLOCK):
            start = int(posting_ptr[first])
            count = int(posting_ptr[last]) - start
            docs, freqs = (self._read(name, start, count) for name in ("docs", "freqs"))
            n_tokens = int(freqs.sum(dtype=np.int64)) if self.positions else 0
            yield _Block(first, self.doc_freq[first:last], docs, freqs, self._read("positions", token, n_tokens))
            token += n_tokens

    def _read(self, name: str, start: int, count: int) -> NDArray[np.int32]:
        if not count:
            return np.empty(0, np.int32)
        return np.fromfile(self._path(name), np.int32, count, offset=4 * start)


def write_field(field: RawField, folder: Path, order: Ints) -> dict[str, int] | None:
    """Write the forward arrays of a field; return the numbers of documents, tokens and terms; None if damaged.

    folder  folder of the arrays
    order   (n_docs,) int64 Lucene's number of each document
    """
    n_docs = len(order)
    doc_freq = field.doc_freq
    n_postings = np.zeros(n_docs, np.int64)
    lengths = np.zeros(n_docs, np.int64)
    collection_freq = np.zeros(len(doc_freq), np.int64)
    for block in field.blocks():
        of_block = collection_freq[block.first : block.first + len(block.doc_freq)]
        if not count_postings(block.doc_freq, block.docs, block.freqs, n_postings, lengths, of_block):
            return None
    lengths = lengths[order]
    doc_ptr = pointers(n_postings[order])
    position_ptr = pointers(lengths)
    _write_postings(field, folder, order, doc_ptr, position_ptr)
    arrays: dict[str, NDArray[Any]] = {
        "doc_ptr": doc_ptr,
        "position_ptr": position_ptr,
        "lengths": lengths.astype(np.int32),
        "doc_freq": doc_freq,
        "collection_freq": collection_freq,
    }
    for name, array in arrays.items():
        np.save(folder / f"{field.number}.{name}.npy", array)
    counts = np.count_nonzero(lengths), position_ptr[-1], np.count_nonzero(doc_freq)
    return dict(zip(("documents", "tokens", "terms"), map(int, counts), strict=True))


def _write_postings(field: RawField, folder: Path, order: Ints, doc_ptr: Ints, position_ptr: Ints) -> None:
    """Write terms, frequencies and positions, one part of the documents after the other."""
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    names = ("terms", "freqs", "positions") if field.positions else ("terms", "freqs")
    ends = {"terms": doc_ptr, "freqs": doc_ptr, "positions": position_ptr}
    with ExitStack() as stack:
        files = []
        for name in names:
            files.append(stack.enter_context(open(folder / f"{field.number}.{name}.npy", "wb")))
            header = {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": (int(ends[name][-1]),)}
            np.lib.format.write_array_header_1_0(files[-1], header)
        for first, last in query_blocks(8 * doc_ptr + 4 * position_ptr * field.positions, _PART):
            # Not a map of the file: the system would write each page many times while it is filled in random order.
            out = [np.empty(ends[name][last] - ends[name][first], np.int32) for name in names]
            next_row, next_token = (ptr[first:last] - ptr[first] for ptr in (doc_ptr, position_ptr))
            for block in field.blocks():
                common = (block.doc_freq, block.docs, block.freqs), numbers, first, last
                jobs = [partial(invert_postings, *common, block.first, next_row, *out[:2])]
                if field.positions:
                    jobs.append(partial(invert_positions, *common, block.positions, next_token, out[2]))
                in_threads(lambda job: job(), jobs, cores())
            for file, values in zip(files, out, strict=True):
                file.write(values.data)


def check_arrays(forward: ForwardIndex) -> None:
    """Raise Fault for forward arrays that kernels cannot read; their shapes and types were checked before."""
    doc_ids = forward.doc_ids
    if not are_characters(doc_ids):
        raise Fault("doc_ids.npy with ids that are not text")
    if not (doc_ids[1:] >= doc_ids[:-1]).all():
        raise Fault("doc_ids.npy out of order")
    if not np.array_equal(np.sort(forward.lucene_docs), np.arange(forward.n_docs)):
        raise Fault("lucene_docs.npy without each document once")
    if not np.array_equal(forward.doc_slots, document_slots(doc_ids)):
        raise Fault("doc_slots.npy that does not fit doc_ids.npy")
    if not are_pointers(forward.term_ptr, len(forward.term_ptr) - 1, len(forward.vocabulary)):
        raise Fault("term_ptr.npy that does not rise from 0 to the length of vocabulary.npy")
    try:
        bytes(forward.vocabulary).decode("utf8")
    except UnicodeDecodeError:
        raise Fault("vocabulary.npy that is no UTF-8") from None
    starts = forward.vocabulary[forward.term_ptr[:-1][np.diff(forward.term_ptr) > 0]]
    if (starts & 0xC0 == 0x80).any():
        raise Fault("term_ptr.npy that divides a character of vocabulary.npy")
    if any(np.isinf(column).any() for column in forward.numbers.values()):
        raise Fault("numbers.npy with infinity")
    for number, field in enumerate(forward.fields.values()):
        _check_field(field, f"{number}.", len(forward.term_ptr) - 1)


def _check_field(field: FieldArrays, name: str, n_terms: int) -> None:
    """Raise Fault for arrays of a field that kernels cannot read; their names begin with `name`."""
    if not are_pointers(field.doc_ptr, len(field.lengths), len(field.terms)):
        raise Fault(f"{name}doc_ptr.npy that does not rise from 0 to the number of postings")
    if field.position_ptr[0] != 0 or not np.array_equal(np.diff(field.position_ptr), field.lengths):
        raise Fault(f"{name}position_ptr.npy that does not fit {name}lengths.npy")
    doc_freq = np.zeros(n_terms, np.int64)
    collection_freq = np.zeros(n_terms, np.int64)
    positions = np.empty(0, np.int32) if field.positions is None else field.positions
    if field.positions is not None and len(positions) != field.position_ptr[-1]:
        raise Fault(f"{name}positions.npy of another number of tokens")
    doc_ptr, terms, freqs, lengths, positions = (
        read_only_view(array) for array in (field.doc_ptr, field.terms, field.freqs, field.lengths, positions)
    )
    if not _count_terms(doc_ptr, terms, freqs, lengths, positions, doc_freq, collection_freq):
        raise Fault(f"{name}terms.npy, {name}freqs.npy or {name}positions.npy with what no document has")
    for array, counted in (("doc_freq", doc_freq), ("collection_freq", collection_freq)):
        if not np.array_equal(getattr(field, array), counted):
            raise Fault(f"{name}{array}.npy of other postings")


@kernel()
def count_postings(doc_freq: Any, docs: Any, freqs: Any, postings: Any, tokens: Any, collection_freq: Any) -> bool:
    """Add the postings and tokens of some terms to those of each document, and count the tokens of each term.

    Return whether all document numbers exist and all frequencies are at least 1; the rest is not counted otherwise.

    doc_freq          (n_terms,) int32 postings of each term
    docs, freqs       (n_postings,) int32, term by term
    postings, tokens  (n_docs,) int64, ADDED TO
    collection_freq   (n_terms,) int64, OUT
    """
    i = 0
    for term in range(len(doc_freq)):
        total = 0
        for _ in range(doc_freq[term]):
            if docs[i] < 0 or docs[i] >= len(postings) or freqs[i] < 1:
                return False
            postings[docs[i]] += 1
            tokens[docs[i]] += freqs[i]
            total += freqs[i]
            i += 1
        collection_freq[term] = total
    return True


@kernel()
def invert_postings(
    by_term: Any, numbers: Any, first: Any, last: Any, first_term: Any, next_row: Any, out_terms: Any, out_freqs: Any
) -> None:
    """Write the postings of some terms in the documents [first, last) in the order of documents.

    Terms ascend within a document, since they are read in ascending order.

    by_term               doc_freq (n_terms,), docs and freqs (n_postings,), int32
    numbers               (n_docs,) int32 number of each document by Lucene's number
    first_term            number of the first term
    next_row              (last - first,) int64, where the next posting of a document goes; CHANGED
    out_terms, out_freqs  (n_postings of the documents,) int32, OUT
    """
    doc_freq, docs, freqs = by_term
    i = 0
    for term in range(len(doc_freq)):
        for _ in range(doc_freq[term]):
            doc = numbers[docs[i]]
            if first <= doc < last:
                row = next_row[doc - first]
                next_row[doc - first] = row + 1
                out_terms[row] = first_term + term
                out_freqs[row] = freqs[i]
            i += 1


@kernel()
def invert_positions(
    by_term: Any, numbers: Any, first: Any, last: Any, positions: Any, next_token: Any, out_positions: Any
) -> None:
    """Write the token positions of some terms in the documents [first, last) in the order of documents.

    by_term, numbers  as for `invert_postings`
    positions         (n_tokens,) int32, term by term
    next_token        (last - first,) int64, where the next position of a document goes; CHANGED
    out_positions     (n_tokens of the documents,) int32, OUT
    """
    _, docs, freqs = by_term
    token = 0
    for i in range(len(docs)):
        doc = numbers[docs[i]]
        if first <= doc < last:
            start = next_token[doc - first]
            for j in range(freqs[i]):
                out_positions[start + j] = positions[token + j]
            next_token[doc - first] = start + freqs[i]
        token += freqs[i]


@kernel()
def _count_terms(
    doc_ptr: Any, terms: Any, freqs: Any, lengths: Any, positions: Any, doc_freq: Any, collection_freq: Any
) -> bool:
    """Return whether each document's terms ascend and are known, and their frequencies add up to its length.

    The positions of each posting must ascend, and not be negative.

    positions                  (n_tokens,) int32, or none
    doc_freq, collection_freq  (n_terms,) int64, OUT, 0 before: counted from the postings
    """
    token = 0
    for doc in range(len(lengths)):
        last = -1
        end = token + lengths[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = terms[posting]
            freq = freqs[posting]
            if term <= last or term >= len(doc_freq) or freq < 1 or freq > end - token:
                return False
            last = term
            doc_freq[term] += 1
            collection_freq[term] += freq
            position = 0
            for i in range(token, token + freq if len(positions) else token):
                if positions[i] < position:
                    return False
                position = positions[i]
            token += freq
        if token != end:
            return False
    return True
