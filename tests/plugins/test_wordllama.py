"""WordLlama as an encoder, with the weights of its wheel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from tests.tiny import tiny


def test_wordllama_encodes_documents_and_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordllama")
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    world = tiny()
    index = rerank.Index.build(world.documents, tmp_path / "index")
    run = index.search(world.topics, k=20)
    data = index.using(encoder="rerank.plugins.wordllama:encode").features(run, world.topics, world.qrels)
    values = data.column("encoder.cosine")
    assert np.isfinite(values).all()
    assert values.std() > 0.01
