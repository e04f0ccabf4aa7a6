"""Bodies, excerpts, counters and the model's file: laws of the parts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.service.bodies import rerank_body, search_body
from rerank.service.counters import SECONDS, Counters
from rerank.service.encoding import json_bytes
from rerank.service.faults import STATUSES, ServiceError
from rerank.service.jobs import RerankAnswer, RerankJob
from rerank.service.requests import rerank_answer, rerank_job, search_job
from rerank.service.settings import Limits
from rerank.service.stored import Matcher, excerpt, stored_fields
from tests.service.server import LIMITS

KEYS = (*search_body(LIMITS).keys, *rerank_body(LIMITS).keys, "other", "id", "text")
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("title")
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
)
TEXT = st.text(st.sampled_from("ab \n🙂é"), max_size=200)


@given(JSON | st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
def test_any_json_is_a_job_or_a_fault_with_a_place(body: Any) -> None:
    for read in (
        lambda: search_job(body, LIMITS, "m"),
        lambda: rerank_job(body, LIMITS, "m", ("title", "contents")),
    ):
        job, fault = _result(read)
        if fault is None:
            assert 0 < job.rows <= 8 * LIMITS.documents * 16
        else:
            assert fault.status in STATUSES
            assert fault.place.startswith("body")
            assert json.loads(json.dumps(fault.body("x")))["error"]["remedy"].endswith((".", "?"))


def _result(read: Any) -> tuple[Any, ServiceError | None]:
    try:
        return read(), None
    except ServiceError as fault:
        return None, fault


@given(TEXT, st.integers(0, 60))
def test_an_excerpt_is_a_part_of_the_text_with_its_matches(text: str, longest: int) -> None:
    spans = [[begin, begin + 1] for begin, letter in enumerate(text) if letter == "a"]
    part, kept = excerpt(text, spans, longest)
    assert part in text
    assert not longest or len(part) <= longest
    assert all(part[begin:end] == "a" for begin, end in kept)
    if not longest or len(text) <= longest:
        assert (part, kept) == (text, spans)


def test_an_excerpt_has_the_most_matches() -> None:
    text = "one a two " + "b " * 100 + "a a a a " + "c " * 100
    spans = [[begin, begin + 1] for begin, letter in enumerate(text) if letter == "a"]
    part, kept = excerpt(text, spans, 40)
    assert len(kept) == 4
    assert part.count("a") == 4


def test_matches_are_words_whose_term_is_in_the_query() -> None:
    def analyse(texts: Any) -> list[list[str]]:  # a stemmer that cuts an s, and takes Chinese letters in pairs
        pairs = [[t[i : i + 2] for i in range(len(t) - 1)] if t > "\u4e00" else [t.rstrip("s")] for t in texts]
        return [[term for term in own if term != "the"] for own in pairs]

    texts = ["The Cats' cat, the dogs", "北京大学"]
    matcher = Matcher(analyse, texts)
    found = [texts[0][begin:end] for begin, end in matcher.spans(texts[0], frozenset(["cat", "the"]))]
    assert found == ["Cats", "cat"]
    assert matcher.spans(texts[1], frozenset(["京大"])) == [[1, 3]]
    assert matcher.spans(texts[1], frozenset(["北京", "京大", "大学"])) == [[0, 4]]


def test_stored_documents_are_json_or_markup() -> None:
    assert stored_fields('{"id": "a", "title": "b"}') == {"id": "a", "title": "b"}
    assert stored_fields("<DOC>text</DOC>") == {"contents": "<DOC>text</DOC>"}
    assert stored_fields("[1]") == {"contents": "[1]"}
    assert stored_fields('{"n": NaN}') == {"n": None}
    assert stored_fields(None) == {}


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 40)), max_size=30))
def test_counters_are_sums_over_the_processes(events: list[tuple[int, float]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counters"
        Counters.new_file(path, 3)
        rows = [Counters(path, row, 3) for row in range(3)]
        for row, seconds in events:
            rows[row].observe("/search", seconds)
        text = rows[0].text()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    for bound in SECONDS:
        name = f'rerank_request_seconds_bucket{{path="/search",le="{bound:g}"}}'
        assert float(values[name]) == sum(seconds <= bound for _, seconds in events)
    assert float(values['rerank_request_seconds_count{path="/search"}']) == len(events)


def test_a_model_file_has_changed_when_it_is_written_whole(tmp_path: Path) -> None:
    from rerank.service.reload import ModelFile

    path = tmp_path / "model.json"
    path.write_text("one")
    file = ModelFile(path)
    assert not file.has_changed()
    path.write_text("one, and more")
    assert [file.has_changed(), file.has_changed(), file.has_changed()] == [False, True, False]
    path.unlink()
    assert not file.has_changed()
    (tmp_path / "new").write_text("two")
    os.replace(tmp_path / "new", path)
    assert [file.has_changed(), file.has_changed(), file.has_changed()] == [False, True, False]
    assert not ModelFile(None).has_changed()


def test_limits_are_those_that_openapi_declares() -> None:
    from rerank.service.openapi import document

    schemas = document(Limits(documents=7), with_token=True)["components"]["schemas"]
    assert schemas["Search"]["properties"]["k"]["maximum"] == 7
    documents = schemas["Rerank"]["properties"]["documents"]
    assert documents["type"] == ["array", "null"]
    assert documents["maxItems"] == 7


def test_json_is_unicode_without_half_pairs_and_without_nan() -> None:
    assert json_bytes({"a": ["é", 2**70, "\ud800"]}) == '{"a":["é",1180591620717411303424,"?"]}'.encode()
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            rerank_answer(RerankJob("model"), RerankAnswer([0, 1], [1.0, value]))
