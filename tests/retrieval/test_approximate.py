"""The nearest documents by an index: as the exact search says, for any number of threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.retrieval.sources import nearest as approximate
from rerank.retrieval.sources.nearest import nearest_hits

pytest.importorskip("faiss", reason="faiss-cpu is not installed")


@pytest.fixture(autouse=True)
def no_index_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path))
    approximate._PREPARED.clear()


@pytest.fixture(scope="module")
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Documents around centres, some of them zero, and queries."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(20, 16))
    documents = (centres[random.integers(20, size=3000)] + 0.3 * random.normal(size=(3000, 16))).astype(np.float32)
    documents[::500] = 0.0
    return documents, documents[1:40] + 0.1 * random.normal(size=(39, 16)).astype(np.float32)


def test_search_with_an_index_finds_nearly_what_the_exact_one_does(
    vectors: tuple[np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents, queries = vectors
    exact = nearest_hits(queries, documents, 50)
    monkeypatch.setattr(approximate, "EXACT", 1000)
    approximate._PREPARED.clear()
    caplog.set_level("INFO", "rerank")
    found = nearest_hits(queries, documents, 50)
    assert "nearest documents: index of 3000 vectors made in" in caplog.text
    shares = []
    for (docs, scores), (wanted, wanted_scores) in zip(found, exact, strict=True):
        true = dict(zip(wanted.tolist(), wanted_scores.tolist(), strict=True))
        shares.append(len(set(docs.tolist()) & set(true)) / len(true))
        assert all(score == true.get(doc, score) for doc, score in zip(docs.tolist(), scores.tolist(), strict=True))
        assert (np.diff(scores) <= 0.0).all()
    assert np.mean(shares) >= 0.9


def test_result_does_not_depend_on_threads_and_on_other_queries(
    vectors: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, queries = vectors
    monkeypatch.setattr(approximate, "EXACT", 1000)
    results = []
    for threads in (1, 2):
        approximate._PREPARED.clear()  # the second is read from its file
        results.append(nearest_hits(queries, documents, 50, threads))
    results.append([nearest_hits(query[None], documents, 50)[0] for query in queries])
    for one, other in ((0, 1), (0, 2)):
        for (docs, scores), (others, other_scores) in zip(results[one], results[other], strict=True):
            np.testing.assert_array_equal(docs, others)
            np.testing.assert_array_equal(scores, other_scores)


def test_few_documents_are_all_compared(vectors: tuple[np.ndarray, np.ndarray]) -> None:
    assert approximate.prepared(vectors[0])[0] is None


def test_index_is_read_from_its_file_and_a_damaged_one_is_made_again(
    vectors: tuple[np.ndarray, np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents, queries = vectors
    monkeypatch.setattr(approximate, "EXACT", 1000)
    caplog.set_level("INFO", "rerank")
    made = nearest_hits(queries, documents, 50)
    (file,) = tmp_path.glob("nearest-*")
    for damaged, messages in ((False, 0), (True, 1)):
        if damaged:
            file.write_bytes(file.read_bytes()[:-100])
        approximate._PREPARED.clear()
        caplog.clear()
        again = nearest_hits(queries, documents, 50)
        assert caplog.text.count("made in") == messages
        for (docs, scores), (others, other_scores) in zip(made, again, strict=True):
            np.testing.assert_array_equal(docs, others)
            np.testing.assert_array_equal(scores, other_scores)
    other = documents.copy()
    other[7] *= -1.0
    nearest_hits(queries[:1], other, 50)
    assert len(list(tmp_path.glob("nearest-*"))) == 2
