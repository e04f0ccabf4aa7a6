"""Every command and every program on the pages runs, in order, in a folder with a small collection.

The demo, which takes a minute on the whole standard library, reads a part of it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerank.cli.demo import next_commands
from tests.examples import ROOT, SCRIPT, Examples, blocks, write_collection
from tests.lucene.anserini import build_collection

README = ROOT / "README.md"
PAGES = [page for page in [README, *sorted((ROOT / "docs").rglob("*.md"))] if blocks(page)]
ANSERINI = "indexes/anserini"  # a page that names it starts from an index that Anserini has built
WRITTEN = re.compile(r"""(?: -o |\.save\(")([\w./-]+)""")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examples]:
    """The process that runs the commands and programs of all pages."""
    opened = Examples(tmp_path_factory.mktemp("examples"))
    yield opened
    opened.close()


@pytest.mark.slow("251 s: the examples of all pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page_run_and_write_what_they_name(page: Path, examples: Examples, tmp_path: Path) -> None:
    write_collection(tmp_path)
    if ANSERINI in page.read_text("utf8"):
        _write_anserini_index(tmp_path)
    for language, text in blocks(page):
        examples.run(language, text, tmp_path)
        if page == README:
            assert [name for name in WRITTEN.findall(text) if not (tmp_path / name).exists()] == []


def test_readme_has_the_commands_that_the_demo_prints() -> None:
    printed = [line for line in next_commands(Path("demo-output")).splitlines() if re.match("cd |rerank ", line)]
    assert [line.split()[1] for line in printed[5:]] == ["search", "explain", "serve"]
    assert "\n".join(printed[:6]) in README.read_text("utf8")


def _write_anserini_index(folder: Path) -> None:
    """Index the documents of a folder as Anserini's command line does."""
    documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text("utf8").splitlines()]
    whole = [{**document, "contents": f"{document['title']} {document['body']}"} for document in documents]
    options = "-fields", "title", "body", "-storePositions", "-storeDocvectors", "-storeRaw"
    build_collection(whole, folder / "corpus", folder / ANSERINI, *options)


def test_readme_has_examples_in_both_languages() -> None:
    assert {language for language, _ in blocks(README)} == {"sh", "python"}


def test_readme_names_scripts_that_exist() -> None:
    named = SCRIPT.findall(README.read_text("utf8"))
    assert {"scripts/demo", "scripts/test"} <= set(named)
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script


def test_readme_is_at_most_140_lines() -> None:
    assert len(README.read_text("utf8").splitlines()) <= 140
