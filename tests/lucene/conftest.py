"""One small real index for the whole session, and nfcorpus where the real data are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.lucene.build import build_index

WORDS = (
    *("river", "bank", "money", "loan", "water", "flow", "heat", "transfer", "wing", "shock"),
    *("wave", "boundary", "layer", "naïve", "café", "😀", "流れ"),
)


def many_ties(n_documents: int = 600) -> list[dict[str, Any]]:
    """Short documents of few words: most scores are shared by dozens of them."""
    random = np.random.default_rng(1)
    return [
        {
            "id": f"doc-{(number * 7919) % n_documents}{'😀' if number % 50 == 0 else ''}",
            "title": " ".join(random.choice(WORDS, 2)),
            "body": " ".join(random.choice(WORDS, random.integers(1, 5))),
        }
        for number in range(n_documents)
    ]


@pytest.fixture(scope="session")
def documents() -> list[dict[str, Any]]:
    return many_ties()


@pytest.fixture(scope="session")
def small_index(tmp_path_factory: pytest.TempPathFactory, documents: list[dict[str, Any]]) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "small"
    build_index(documents, folder)
    return folder


@pytest.fixture(scope="session")
def nfcorpus(shared_data: Path) -> Path:
    return shared_data / "collections" / "nfcorpus"


@pytest.fixture(scope="session")
def nfcorpus_index(tmp_path_factory: pytest.TempPathFactory, nfcorpus: Path) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "nfcorpus"
    with open(nfcorpus / "corpus.jsonl", encoding="utf8") as lines:
        build_index(map(json.loads, lines), folder)
    return folder
