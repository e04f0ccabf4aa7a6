"""Rows of text in columns: the split by NumPy gives what a split line by line does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rerank.files import text_columns
from rerank.files.trec import QRELS, RUN

scores = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("gap", [" ", "\t", "  \t "])
def test_fast_split_equals_split_by_line(tmp_path: Path, gap: str, eol: str) -> None:
    rng = np.random.default_rng(0)
    rows = [
        gap.join([f"q{row // 7}", "Q0", f"d{rng.integers(10**6)}-{row}", "1", repr(rng.normal()), "t"])
        for row in range(100)
    ]
    chunk = (eol.join(rows) + eol).encode()
    fast = text_columns._split_fast(5, chunk, RUN)
    slow = text_columns._split_by_line(tmp_path, 5, chunk, RUN)
    assert fast is not None
    assert np.repeat(fast.names, fast.lengths).tolist() == slow.names
    assert [*fast.lines[0]] == [line for (line,) in slow.lines]
    for member in ("doc_ids", "values"):
        np.testing.assert_array_equal(getattr(fast, member), getattr(slow, member))
    assert fast.tag == slow.tag == "t"


def read_scores(texts: list[str]) -> list[float]:
    """The scores that the fast split reads, which must take the whole chunk."""
    chunk = "".join(f"q Q0 d{row} 1 {text} t\n" for row, text in enumerate(texts)).encode()
    rows = text_columns._split_fast(1, chunk, RUN)
    assert rows is not None
    return rows.values.tolist()


# As repr and printf write them, and digits at random: up to 17 digits count, more must round as they should.
decimals = (
    scores.map(repr)
    | st.floats(-1e4, 1e4).map(lambda score: f"{score:.6f}")
    | st.from_regex(r"-?[0-9]{1,9}(\.[0-9]{0,22})?", fullmatch=True)
    | st.from_regex(r"-?[0-9]{0,3}\.[0-9]{1,18}", fullmatch=True)
)


@given(st.lists(decimals, min_size=1, max_size=20))
def test_scores_are_read_to_the_last_bit(texts: list[str]) -> None:
    assert [score.hex() for score in read_scores(texts)] == [float(text).hex() for text in texts]


def test_many_scores_are_read_to_the_last_bit() -> None:
    random = np.random.default_rng(0)
    values = (random.normal(size=20_000) * 10.0 ** random.integers(-4, 7, 20_000)).tolist()
    assert read_scores([repr(value) for value in values]) == values
    # Each of these is at, or next to, the midpoint of two neighbouring float64 numbers.
    middles = [f"{(1 << 53) + 2 * step + 1}.{tail}" for step in range(50) for tail in ("0", "00", "1")]
    small = [f"{text[:4]}.{text[4:].replace('.', '')}" for text in middles]
    long = [str((1 << 64) - 1), "1." + "9" * 30, "0." + "0" * 25 + "1", "18446744073709551615.5"]
    middles += [*small, *long]
    assert read_scores(middles) == [float(text) for text in middles]


def test_labels_are_read_as_whole_numbers() -> None:
    texts = ["0", "-1", "3", "007", "12345678", "123456789", str(2**63 - 1), str(-(2**63))]
    chunk = "".join(f"q 0 d{row} {text}\n" for row, text in enumerate(texts)).encode()
    rows = text_columns._split_fast(1, chunk, QRELS)
    assert rows is not None
    assert rows.values.tolist() == [int(text) for text in texts]
    for text in ("5.1", "1e3", "-", "--1", "1-", ".0"):
        assert text_columns._split_fast(1, f"q 0 d {text}\n".encode(), QRELS) is None
