"""A small collection with labels, a run, and logs of simulated users."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.types import Qrels, Run


@pytest.fixture(scope="package")
def judged() -> tuple[Run, Qrels]:
    """A run of 200 queries with 20 documents each, in random order, and labels from 0 to 2."""
    random = np.random.default_rng(0)
    query = np.repeat([f"q{number}" for number in range(200)], 20)
    docs = np.tile([f"d{number}" for number in range(20)], 200)
    qrels = Qrels.from_rows(query, docs, random.choice([0, 0, 0, 1, 2], len(docs)))
    return Run.from_rows(query, docs, random.random(len(docs)), "logging"), qrels
