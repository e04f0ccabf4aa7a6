"""The page in a real headless browser: requests, messages and width."""

from __future__ import annotations

from pathlib import Path

import pytest

from rerank.evaluation.comparison_page import report
from tests.evaluation.browser import Browser, chromium, opened_browser
from tests.evaluation.test_page import nasty_content

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on PATH: the page cannot be looked at")
WIDER = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && %s).map(e => e.outerHTML)"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "report.html"
    made.write_text(report(*nasty_content()), "utf8")
    return made


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    with opened_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("width", [360, 1280])
def test_page_loads_alone_without_an_error_and_fits(browser: Browser, path: Path, width: int) -> None:
    browser.open(path, width)
    asked = [event["params"]["request"]["url"] for event in browser.events if "request" in event["params"]]
    assert asked == [path.resolve().as_uri()]
    assert len(browser.events) == 1, browser.events  # no message in the console either
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(WIDER % "e.getBoundingClientRect().right > innerWidth + 1") == []


def test_page_has_its_tables_and_charts_and_no_script(browser: Browser, path: Path) -> None:
    browser.open(path, 1280)
    assert browser.value("document.scripts.length + document.images.length") == 0
    assert browser.value("document.querySelectorAll('svg[role=img]').length") == 2
    drawn = (
        "[...document.querySelectorAll('svg[role=img]')].every(e => e.getBBox().width > 100 && e.getBBox().height > 20)"
    )
    assert browser.value(drawn)
    assert browser.value("document.querySelectorAll('table').length") == 4
    assert browser.value("[...document.querySelectorAll('th')].every(e => e.textContent)")
    assert browser.value("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")
    assert browser.value("document.title").startswith("<script>alert(1)</script>")


def test_letters_of_charts_can_be_read_on_a_phone(browser: Browser, path: Path) -> None:
    browser.open(path, 360)
    sizes = browser.value("[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)")
    assert min(sizes) > 9


def test_names_in_charts_are_not_cut_off(browser: Browser, path: Path) -> None:
    browser.open(path, 1280)
    outside = "e => { const box = e.getBBox(); return box.x < 0 || box.x + box.width > 400; }"
    lying = "[...document.querySelectorAll('svg text:not([transform])')]"
    assert browser.value(f"{lying}.filter({outside}).map(e => e.textContent)") == []


def test_dark_and_light_differ(browser: Browser, path: Path) -> None:
    browser.open(path, 1280)
    paper = "getComputedStyle(document.body).backgroundColor"
    colours = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours.append(browser.value(paper))
    assert colours[0] == "rgb(255, 255, 255)"
    assert colours[1] != colours[0]
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.value(paper) == "rgb(255, 255, 255)"


def test_page_prints(browser: Browser, path: Path) -> None:
    browser.open(path, 1280, media="print")
    assert browser.value(WIDER % "getComputedStyle(e).overflowX == 'auto'") == []
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert 1 < printed.count(b"/Type /Page\n") <= 20
