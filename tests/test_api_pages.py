"""The pages of the API name every public class and function, once."""

from __future__ import annotations

import re

import rerank
from tests.examples import ROOT

NAMED = re.compile(r"^::: (rerank\.[\w.]+)$", re.MULTILINE)
PAGES = {page: NAMED.findall(page.read_text("utf8")) for page in sorted((ROOT / "docs" / "api").glob("*.md"))}
PATHS = [path for paths in PAGES.values() for path in paths]


def test_each_public_name_is_on_one_page() -> None:
    last = [path.rpartition(".")[2] for path in PATHS]
    assert [name for name in rerank.__all__ if name != "__version__" and last.count(name) != 1] == []


def test_pages_name_classes_and_functions_and_nothing_private() -> None:
    for path in PATHS:
        module, _, name = path.rpartition(".")
        assert not name.startswith("_"), path
        assert getattr(__import__(module, fromlist=[name]), name).__doc__, path


def test_each_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf8")
    assert all(f"- api/{page.name}\n" in navigation for page in PAGES)
