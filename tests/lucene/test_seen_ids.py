from __future__ import annotations

import random

import pytest

from rerank.lucene import documents as seen_ids
from rerank.lucene.documents import SeenIds


@pytest.mark.parametrize(("few", "slots"), [(1 << 16, 1 << 18), (0, 4), (5, 8), (300, 1 << 10)])
def test_seen_ids_are_those_of_a_set(few: int, slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_ids, "_FEW", few)
    monkeypatch.setattr(seen_ids, "_FIRST_SLOTS", slots)
    draw, seen, expected = random.Random(few), SeenIds(), set()
    for _ in range(3000):
        doc_id = draw.choice(("d", "流れ", "😀")) + str(draw.randrange(900))
        assert seen.add(doc_id) == (doc_id not in expected)
        expected.add(doc_id)
        assert len(seen) == len(expected)
