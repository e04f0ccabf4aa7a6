"""The list of Java's classes for the archive: those that a build of an index and a search load."""

from __future__ import annotations

from pathlib import Path

from rerank.lucene import jvm
from rerank.lucene.build import build_index
from rerank.lucene.search import Searcher


def load_classes(class_list: str, folder: str) -> None:
    """Index and search in this process, whose Java writes the names of the classes that it loads to a file."""
    jvm.add_options("-Xshare:off", f"-XX:DumpLoadedClassList={class_list}")
    index = Path(folder) / "index"
    build_index(({"id": f"d{number}", "title": "a title", "body": "the words of a body"} for number in range(9)), index)
    with Searcher(index) as searcher:
        searcher.search({"q": "title words"}, 10)
        searcher.search({"q": "title words", "r": "body"}, 10)
        searcher.analyze(["some words"])
        searcher.documents([0])
