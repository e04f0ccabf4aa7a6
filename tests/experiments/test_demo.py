from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from rerank import read_qrels, read_topics
from rerank.errors import InvalidInputError
from rerank.experiments.demo import STUDY, library_collection, run_demo

LONG = " ".join(["Filler words make this docstring worth a topic and leave a document to find."] * 4)
MODULE = f'''
"""Parse the widgets of a page.

{LONG}
"""

class HTMLWidget:
    """Hold one widget."""

    def set_colour(self):
        """Give the widget
        another colour.

        {LONG} Unlike paint, it dries at once.
        """

    async def fetch(self):
        """Short.

        Too short for a topic.
        """

def undocumented():
    pass
'''


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name in ("widgets.py", "package/inner.py", "test/test_widgets.py", "site-packages/other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MODULE)
    (tmp_path / "template.py").write_text("this is no Python {{")
    return tmp_path


def test_demo_collection_has_a_document_for_each_docstring(library: Path) -> None:
    result = library_collection(library)
    ids = [document["id"] for document in result.documents]
    members = ["", ".HTMLWidget", ".HTMLWidget.set_colour", ".HTMLWidget.fetch"]
    assert sorted(ids) == sorted(f"{module}{member}" for module in ("widgets", "package.inner") for member in members)
    assert result.documents[ids.index("widgets.HTMLWidget.set_colour")]["title"] == "widgets HTML Widget set colour"


def test_demo_topic_is_the_first_paragraph_and_leaves_its_document(library: Path) -> None:
    result = library_collection(library)
    bodies = {document["id"]: document["body"] for document in result.documents}
    assert sorted(result.topics.values()) == sorted(
        ["Parse the widgets of a page.", "Give the widget another colour."] * 2
    )
    for query_id, text in result.topics.items():
        ((doc_id, label),) = result.qrels[query_id].items()
        assert label == 1
        assert text not in " ".join(bodies[doc_id].split())
        assert LONG in bodies[doc_id]
    assert bodies["widgets.HTMLWidget.fetch"].startswith("Short.")


def test_demo_collection_of_real_code_is_sound() -> None:
    result = library_collection(Path(asyncio.__file__).parent)
    ids = [document["id"] for document in result.documents]
    assert len(set(ids)) == len(ids) > 200
    assert len(result.topics) > 20
    assert {doc for query_id in result.qrels for doc in result.qrels[query_id]} <= set(ids)


def test_demo_refuses_a_file_as_output(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="expected a folder to write into, got a file"):
        run_demo(tmp_path / "file", study=replace(STUDY, folds=3))


def test_demo_writes_its_collection_and_a_split_of_the_topics(tmp_path: Path) -> None:
    root = Path(asyncio.__file__).parent
    small = replace(STUDY, folds=3, parameters={"n_estimators": 2})
    made = run_demo(tmp_path / "out", root, small)
    collection = library_collection(root)
    lines = (tmp_path / "out" / "docs.jsonl").read_text("utf8").splitlines()
    assert [json.loads(line) for line in lines] == collection.documents
    parts = {
        part: (read_topics(tmp_path / f"out/topics{part}.tsv"), read_qrels(tmp_path / f"out/qrels{part}.txt"))
        for part in ("", ".train", ".test")
    }
    assert all(list(topics) == list(qrels) for topics, qrels in parts.values())
    assert dict(parts[""][0]) == dict(collection.topics)
    written, expected = parts[""][1], collection.qrels
    assert {name: dict(written[name]) for name in written} == {name: dict(expected[name]) for name in expected}
    assert set(parts[".test"][0]) == {query_id for query_id, fold in made.folds.items() if fold == 0}
    assert set(parts[".train"][0]) == set(collection.topics) - set(parts[".test"][0])
    assert {"settings.json", "table.txt", "index", "bm25.run", "lambdamart.run"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
