"""Languages: the analyser of the index is the one of its queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from rerank.errors import InvalidInputError
from rerank.lucene.arrays import open_forward
from rerank.lucene.build import build_index
from rerank.lucene.languages import check_language, languages
from rerank.lucene.search import Searcher
from tests.lucene import anserini

DOCUMENTS = [
    {"id": "a", "contents": "Die Häuser der großen Städte"},
    {"id": "b", "contents": "Wasser"},
]


def test_index_of_a_language_is_searched_as_it_was_built(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "de", language="de")
    assert open_forward(tmp_path / "de").fingerprint["language"] == "de"
    with pytest.raises(InvalidInputError, match=r"^language: expected 'de', in which the index was built, got 'fr'. "):
        Searcher(tmp_path / "de", "fr")
    with Searcher(tmp_path / "de") as searcher:
        assert searcher.language == "de"
        assert searcher.analyze(["Die Häuser"]) == [["haus"]]
        assert list(searcher.search({"q": "Haus"})["q"]) == ["a"]
    build_index(DOCUMENTS, tmp_path / "en")
    with Searcher(tmp_path / "en") as searcher:
        assert searcher.language == "en"
        assert list(searcher.search({"q": "Haus"})["q"]) == []


def test_index_of_anserinis_in_a_language_is_opened_with_it(tmp_path: Path) -> None:
    anserini.build_collection(DOCUMENTS, tmp_path / "corpus", tmp_path / "index", "-language", "de")
    with Searcher(tmp_path / "index", "de") as searcher:
        assert list(searcher.search({"q": "Haus"})["q"]) == ["a"]
    with Searcher(tmp_path / "index") as searcher:
        assert list(searcher.search({"q": "Haus"})["q"]) == []


@pytest.mark.slow("7 s: an index for each language")
def test_every_language_analyses(tmp_path: Path) -> None:
    for code in languages():
        build_index([{"id": "a", "body": "x1y"}], tmp_path / code, language=code)
        with Searcher(tmp_path / code) as searcher:
            assert list(searcher.search({"q": "x1y"})["q"]) == ["a"], code


def test_unknown_language_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    message = r"^language: expected a code that Anserini knows \(ar, bn, da, de, en, .*\), got 'deutsch'. Name one"
    with pytest.raises(InvalidInputError, match=message):
        check_language("deutsch")
    with pytest.raises(InvalidInputError, match=message):
        build_index(DOCUMENTS, tmp_path / "index", language="deutsch")
    assert not (tmp_path / "index").exists()


def test_documents_come_back_as_they_were_given_where_the_index_keeps_them(tmp_path: Path) -> None:
    build_index(DOCUMENTS, tmp_path / "kept")
    with Searcher(tmp_path / "kept") as searcher:
        (text,) = searcher.documents([searcher.doc_ids.tolist().index("b")])
        assert text is not None
        assert '"Wasser"' in text
    anserini.build(DOCUMENTS, tmp_path / "not kept")
    with Searcher(tmp_path / "not kept") as searcher:
        assert searcher.documents([0, 1]) == [None, None]
