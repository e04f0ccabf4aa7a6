"""Postings in the order of documents equal those of a dictionary, for any size of blocks and parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rerank.lucene import postings as lucene_postings
from rerank.lucene.postings import RawField, write_field


def write_raw(folder: Path, seed: int) -> dict[tuple[int, int], list[int]]:
    """Write raw postings of 40 terms; return the positions of each by Lucene's document number and term."""
    random = np.random.default_rng(seed)
    postings: dict[tuple[int, int], list[int]] = {}
    raw: dict[str, list[int]] = {name: [] for name in ("doc_freq", "docs", "freqs", "positions")}
    for term in range(40):
        docs = np.flatnonzero(random.random(23) < random.choice([0.0, 0.1, 0.9])).tolist()
        raw["doc_freq"].append(len(docs))
        for doc in docs:
            positions = sorted(random.choice(500, random.integers(1, 5), replace=False).tolist())
            postings[doc, term] = positions
            raw["docs"].append(doc)
            raw["freqs"].append(len(positions))
            raw["positions"] += positions
    for name, values in raw.items():
        np.array(values, np.int32).tofile(folder / f"0.{name}")
    return postings


@pytest.mark.parametrize(("block", "part"), [(1, 1), (7, 100), (1 << 24, 300), (13, 1 << 31), (1 << 24, 1 << 31)])
@pytest.mark.parametrize("positions", [True, False])
def test_field_equals_its_postings_for_any_block_and_part(
    block: int, part: int, positions: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lucene_postings, "_BLOCK", block)
    monkeypatch.setattr(lucene_postings, "_PART", part)
    postings, order = write_raw(tmp_path, seed=block), np.random.default_rng(part).permutation(23)
    field = RawField(tmp_path, 0, positions)
    counts = write_field(field, tmp_path, order)
    assert counts is not None
    read = {path.name.split(".")[1]: np.load(path) for path in tmp_path.glob("*.npy")}
    assert ("positions" in read) == positions
    assert counts["tokens"] == sum(map(len, postings.values()))
    for number, doc in enumerate(order.tolist()):
        rows = slice(*read["doc_ptr"][number : number + 2].tolist())
        expected = {term: tokens for (of_doc, term), tokens in postings.items() if of_doc == doc}
        assert read["terms"][rows].tolist() == sorted(expected)
        assert read["freqs"][rows].tolist() == [len(expected[term]) for term in sorted(expected)]
        assert read["lengths"][number] == sum(map(len, expected.values()))
        if positions:
            tokens = slice(*read["position_ptr"][number : number + 2].tolist())
            assert read["positions"][tokens].tolist() == [at for term in sorted(expected) for at in expected[term]]
    for term in range(40):
        of_term = [tokens for (_, each), tokens in postings.items() if each == term]
        assert read["doc_freq"][term] == len(of_term)
        assert read["collection_freq"][term] == sum(map(len, of_term))


@pytest.mark.parametrize("name", ["docs", "freqs"])
def test_postings_that_are_out_of_range_are_not_written(name: str, tmp_path: Path) -> None:
    write_raw(tmp_path, seed=0)
    assert write_field(RawField(tmp_path, 0, True), tmp_path, np.arange(22)) is None
    path = tmp_path / f"0.{name}"
    content = np.fromfile(path, np.int32)
    content[5] = -1
    content.tofile(path)
    assert write_field(RawField(tmp_path, 0, True), tmp_path, np.arange(23)) is None
