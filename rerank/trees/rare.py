"""Columns in which nearly every row has the same code: a row names its exceptions, and nothing else.

usual      code that most rows have in a column: its histogram is what the sum over all rows leaves to it
exception  a row's other code, as one word: column among the rare * 256 + code
A row has eight words, one load from memory in place of a byte for each rare column. Those it does not need name usual
codes, of different columns, whose sums nobody reads. A row with more than eight exceptions has CROWDED as its first
word and is read from the blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.bins import Bins
from rerank.trees.leafwise import CROWDED
from rerank.types import Ints

WORDS = 8
MOST_RARE = int(CROWDED) // 256  # columns: no word of theirs is CROWDED
LEAST_RARE = 20  # columns: to add a row's exceptions takes about as long as the bytes of so many columns
MOST_EXCEPTIONS = 0.25  # share of rows: above it a byte a row costs less
EXCEPTIONS_A_ROW = 4.0  # at most, on average: few rows are crowded
LEAST_BINS = 128  # a feature of fewer may share a column with others


def rare_features(bins: Bins) -> Ints:
    """Return the features, those with the fewest exceptions first, that are to be read by exceptions; often none."""
    found = np.flatnonzero((bins.n_bins + bins.missing > LEAST_BINS) & (bins.elsewhere <= MOST_EXCEPTIONS))
    found = found[np.argsort(bins.elsewhere[found], kind="stable")]
    found = found[np.cumsum(bins.elsewhere[found]) <= EXCEPTIONS_A_ROW][:MOST_RARE]
    return found if len(found) >= LEAST_RARE else found[:0]


def exceptions(blocks: NDArray[np.uint8], first: int, usual: NDArray[np.uint8], n_threads: int) -> NDArray[np.uint16]:
    """Return the words (n_rows + 1, 8) of the columns from `first` on, whose usual codes are `usual` (n_rare,).

    The last are those of a row without exceptions. No rare column, no words: (0, 8).
    """
    if not len(usual):
        return np.empty((0, WORDS), dtype=np.uint16)
    n_rows = blocks.shape[1]
    words = np.empty((n_rows + 1, WORDS), dtype=np.uint16)
    words[-1] = 256 * np.arange(WORDS) + usual[:WORDS]

    def fill(here: slice) -> None:
        _name_exceptions(blocks[:, here], first, usual, CROWDED, words[:-1][here])

    in_threads(fill, row_parts(n_rows, n_threads), n_threads)
    return words


@kernel()
def _name_exceptions(blocks, first, usual, crowded, words):  # type: ignore[no-untyped-def]
    """Fill words (k, 8) of the rows of blocks (n_blocks, k, 16)."""
    for row in range(words.shape[0]):
        n = 0
        for k in range(usual.shape[0]):
            column = first + k
            code = blocks[column // 16, row, column % 16]
            if code != usual[k]:
                if n < WORDS:
                    words[row, n] = 256 * k + np.int64(code)
                n += 1
        if n > WORDS:
            words[row, 0] = crowded
        for place in range(n, WORDS):
            words[row, place] = 256 * place + np.int64(usual[place])
