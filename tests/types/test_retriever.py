from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rerank.errors import InvalidInputError
from rerank.runtime.codec import restored
from rerank.types import Run
from rerank.types.retriever import MOST_DOCUMENTS, RETRIEVERS, UNNAMED, Passages, Retriever, retriever_members

positive = st.floats(0, allow_nan=False, allow_infinity=False)


@given(positive, positive, st.text(min_size=1))
def test_tag_of_bm25_is_one_word_that_tells_all(k1: float, b: float, field: str) -> None:
    made = Retriever.bm25(k1, b, field)
    assert Retriever.of_tag(str(made)) == made
    assert len(str(made).split()) == 1
    assert made.known


@given(st.text(min_size=1))
def test_tag_of_another_system_is_kept_as_it_is(tag: str) -> None:
    assert str(Retriever.of_tag(tag)) == tag or Retriever.of_tag(tag).known


@pytest.mark.parametrize("tag", ["BM25", "Anserini", "bm25", "bm25-k1=0.9", "bm25-k1=0.9-b=0.4+dense", "bm25-k1=x-b=0"])
def test_parameters_of_another_tag_are_unknown(tag: str) -> None:
    assert Retriever.of_tag(tag) == Retriever(tag)
    assert not Retriever.of_tag(tag).known


def test_a_run_tells_its_retriever_by_its_name() -> None:
    run = Run.of({"q": {"d": 1.0}})
    assert (run.name, run.retriever) == (UNNAMED, None)
    tagged = Run.from_rows(["q"], ["d"], [1.0], "bm25-k1=0.9-b=0.4-field=title")
    assert tagged.retriever == Retriever.bm25(0.9, 0.4, "title")


def test_members_of_files_come_back() -> None:
    made, others = Retriever.bm25(2, 0), {"dense": Retriever("dense-v1")}
    members = retriever_members(made, others)
    assert members == {"retriever": "bm25-k1=2.0-b=0.0", "run_retrievers": {"dense": "dense-v1"}}
    assert restored(RETRIEVERS, members) == {"retriever": made, "run_retrievers": others}
    assert retriever_members(None, {}) == {}


@pytest.mark.parametrize("depth", [1, 200, MOST_DOCUMENTS])
def test_depth_of_a_retriever_comes_back_from_a_file(depth: int) -> None:
    made = replace(Retriever.bm25(0.9, 0.4), depth=depth)
    members = {"run_retrievers": {}, **retriever_members(made, {})}
    assert restored(RETRIEVERS, members)["retriever"].depth == depth


@pytest.mark.parametrize("members", [{"retriever": 3}, {"run_retrievers": ["x"]}, {"run_retrievers": {"x": None}}])
def test_members_that_are_no_tags_are_refused(members: dict) -> None:
    with pytest.raises(InvalidInputError, match=r"retrievers?[.x]*: expected (an object|text of 1 to)"):
        restored(RETRIEVERS, {"retriever": "a", "run_retrievers": {}, **members})


@pytest.mark.parametrize(("window", "stride"), [(200.5, 100), (True, True), ("200", "300"), (100, 200), (0, 0)])
def test_passages_of_other_numbers_are_refused(window: Any, stride: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"^passages: expected words of a window .*, got '{window}/{stride}'"):
        Passages(window, stride)
