"""Word vectors: counts of pairs against their definition, and what the vectors say."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rerank.types.forward import ForwardIndex
from rerank.vectors import space as words
from rerank.vectors.space import frequent_terms
from tests.features.collection import forward_index
from tests.vectors.conftest import SUBJECTS


@pytest.mark.parametrize("slots", [1, 1 << 12])
def test_pair_counts_equal_their_definition(forward: ForwardIndex, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_FIRST_SLOTS", slots)
    monkeypatch.setattr(words, "_DOCUMENTS", 7)
    field, expected = forward.fields["contents"], Counter[tuple[int, int]]()
    rows = frequent_terms(field)
    for doc in range(forward.n_docs):
        postings = range(field.doc_ptr[doc], field.doc_ptr[doc + 1])
        terms = [field.terms[posting] for posting in postings for _ in range(field.freqs[posting])]
        at = field.positions[field.position_ptr[doc] : field.position_ptr[doc + 1]]  # type: ignore[index]
        known = [(place, int(rows[term])) for place, term in zip(at.tolist(), terms, strict=True) if rows[term] >= 0]
        for place, one in known:
            for other_place, other in known:
                if one < other and abs(place - other_place) <= words.WINDOW:
                    expected[one, other] += words.WINDOW + 1 - abs(place - other_place)
    n_words = int(rows.max()) + 1
    keys, counts = words._pair_counts(field, rows, n_words)
    assert dict(zip(((int(k) // n_words, int(k) % n_words) for k in keys), counts.tolist(), strict=True)) == expected
    assert (np.diff(keys) > 0).all()


def test_pairs_that_occur_most_are_kept_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.array([0 * 3 + 1, 0 * 3 + 2, 1 * 3 + 2])
    counts = np.array([5, 1, 7], dtype=np.int32)
    whole = words._mutual_information(keys, counts, 3)
    monkeypatch.setattr(words, "MOST_PAIRS", 2)
    fewer = words._mutual_information(keys, counts, 3)

    def values(matrix: words.SparseRows) -> dict[tuple[int, int], float]:
        context = np.repeat(np.arange(3), np.diff(matrix.row_ptr))
        return dict(
            zip(zip(context.tolist(), matrix.columns.tolist(), strict=True), matrix.values.tolist(), strict=True)
        )

    assert values(fewer) == {pair: value for pair, value in values(whole).items() if set(pair) != {0, 2}}


def test_word_vectors_bring_words_of_a_subject_together(forward: ForwardIndex) -> None:
    space = words.learn_words(forward.fields["contents"], 2)
    units = [[space.units[space.rows[forward.term_number(word)]] for word in subject] for subject in SUBJECTS]
    within = [float(a @ b) for subject in units for a in subject for b in subject]
    across = [float(a @ b) for a in units[0] for b in units[1]]
    assert min(within) > 0.9
    assert max(across) < 0.1


def test_word_vectors_do_not_depend_on_threads(forward: ForwardIndex) -> None:
    one, two = (words.learn_words(forward.fields["contents"], 3, threads).term_vectors for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_word_without_neighbours_has_no_vector() -> None:
    forward = forward_index({f"d{n}": {"contents": ["alone"] if n < 4 else ["one", "two"]} for n in range(9)})
    space = words.learn_words(forward.fields["contents"], 2)
    assert space.rows[forward.term_number("alone")] == -1
    assert space.rows[forward.term_number("one")] >= 0
