"""A collection of two subjects, whose words occur together."""

from __future__ import annotations

import random

import pytest

from rerank.types.forward import ForwardIndex
from tests.features.collection import forward_index

SUBJECTS = (("cat", "dog", "pet", "fur", "paw"), ("car", "road", "wheel", "motor", "fuel"))


@pytest.fixture(scope="session")
def forward() -> ForwardIndex:
    """60 documents, each of words of one subject; the last has a word of its own only, and one is empty."""
    draw = random.Random(0)
    documents = {
        f"d{number}": {"contents": draw.choices(SUBJECTS[number % 2], k=6), "title": [SUBJECTS[number % 2][0]]}
        for number in range(58)
    }
    return forward_index({**documents, "empty": {"contents": [], "title": []}, "lonely": {"contents": ["word"]}})
