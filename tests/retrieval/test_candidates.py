"""Candidates as text: sources with their depths, and the parameters of BM25."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rerank.errors import InvalidInputError
from rerank.retrieval.candidates import Candidates, Part
from rerank.types.retriever import Retriever


def test_unions_are_read_and_become_tags() -> None:
    candidates = Candidates.parse("bm25:1000, rm3:50,run:some/dense.run:20,run:other.txt")
    assert candidates.sources == (
        Part("bm25", 1000),
        Part("rm3", 50),
        Part("dense", 20, "some/dense.run"),
        Part("other", None, "other.txt"),
    )
    assert candidates.tag == "union:bm25:1000,rm3:50,run:dense:20,run:other"
    for each in (candidates, replace(candidates, k1=1.2, b=0.75, field="the title")):
        again = Candidates.of_retriever(Retriever.of_tag(each.tag))
        assert again is not None
        assert (again.tag, again.k1, again.b, again.field) == (each.tag, each.k1, each.b, each.field)


def test_parameters_of_bm25_are_written_as_in_a_tag() -> None:
    candidates = Candidates.parse("bm25-k1=1.2-b=0.75-field=title:100,rm3:50", k1=2.0)
    assert (candidates.k1, candidates.b, candidates.field) == (1.2, 0.75, "title")
    assert [(part.name, part.k) for part in candidates.sources] == [("bm25", 100), ("rm3", 50)]
    assert Candidates.parse("rm3-k1=1.2-b=0.75", 20) == Candidates.parse("rm3", 20, k1=1.2, b=0.75)
    assert Candidates.parse("run:a-k1=1.2-b=0.75/dense.run").k1 == 0.9
    with pytest.raises(InvalidInputError, match=r"^candidates: expected one k1 and b for all sources, got \(1\.0, "):
        Candidates.parse("bm25-k1=1-b=1,rm3-k1=2-b=1")


def test_candidates_of_one_source_have_its_depth() -> None:
    assert Candidates.parse("rm3").k == 1000
    assert Candidates.parse("rm3", 20).at_depth(30).sources == (Part("rm3", 30),)
    assert Candidates.of_retriever(Retriever.bm25(1.2, 0.75, "title")) == Candidates(k1=1.2, b=0.75, field="title")
    assert Candidates.of_retriever(Retriever("lsi-dimensions=400", depth=7)) == Candidates((Part("lsi", 7),))
    assert Candidates.of_retriever(Retriever("another system")) is None
    assert Candidates.parse("run:dense.run").k is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected sources with their depths, got ''"),
        ("lsa:10", "expected a known name, got 'lsa'. Did you mean 'lsi'?"),
        ("rm3:x", "expected rm3 with its depth, got 'rm3:x'"),
        ("rm3:1e3", "expected rm3 with its depth"),
        ("rm3:5,rm3:6", "expected each source once, got 'rm3' twice"),
        ("run:", "expected run:FILE with a file name of letters and digits"),
        ("run:bm25.run", "other than a source's, got 'run:bm25.run'"),
        ("bm25,run:dense.npy", "expected run:FILE with a run, got vectors ('dense.npy'). Make a run of them in Python"),
        ("run:a.run,run:b/a.txt", "expected each source once, got 'a' twice"),
    ],
)
def test_unions_that_name_what_is_not_there_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^candidates: ") as refused:
        Candidates.parse(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
