"""The page in a real browser, headless: search, judge, download, explain, by the keyboard alone, on a phone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rerank
from tests.evaluation.browser import Browser, chromium, opened_browser
from tests.service.server import Running, running

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on PATH: the page cannot be looked at")
RIGHT = "e.getBoundingClientRect().right"
WIDER = f"[...document.querySelectorAll('body *')].filter(e => {RIGHT} > innerWidth + 1).map(e => e.outerHTML)"
NASTY = [
    {
        "id": "<b>x</b>",
        "title": "<script>window.hurt = 1</script> amber",
        "body": "<img src=x onerror='window.hurt=1'> amber 🙂 amber",
    },
    {"id": "'\"><i>", "title": "&lt;i&gt; amber", "body": "javascript:alert(1) " + "amber-" * 200},
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened_browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def _wait(browser: Browser, condition: str) -> Any:
    """Return the value of a condition when it holds."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if value := browser.value(condition):
            return value
        time.sleep(0.05)
    raise AssertionError(f"{condition}: {browser.value('document.body.innerText')}")


def _open(browser: Browser, server: Running, width: int = 1280, query: str = "") -> None:
    browser.call("Emulation.setEmulatedMedia", features=[])
    browser.open_url(f"http://127.0.0.1:{server.port}/", width)
    browser.value("localStorage.clear()")
    browser.open_url(f"http://127.0.0.1:{server.port}/?{time.monotonic()}#q={query}", width)
    _wait(browser, "document.querySelectorAll('#model option').length > 0")
    if query:
        _wait(browser, "document.querySelectorAll('li').length > 0")


def _press(browser: Browser, *keys: str) -> None:
    for key in keys:
        code = {"windowsVirtualKeyCode": 13, "text": "\r"} if key == "Enter" else {"text": key}
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)


def _ids(browser: Browser, section: str) -> list[str]:
    return browser.value(f"[...document.querySelectorAll('#{section} li')].map(e => e.dataset.id)")


@pytest.mark.parametrize("width", [360, 1280])
def test_page_fits_and_asks_nobody_else(browser: Browser, server: Running, width: int) -> None:
    _open(browser, server, width, "amber%20stone")
    asked = {event["params"]["request"]["url"] for event in browser.events if "request" in event["params"]}
    assert all(url.startswith((f"http://127.0.0.1:{server.port}/", "data:")) for url in asked)
    assert [event for event in browser.events if event["method"] != "Network.requestWillBeSent"] == []
    browser.value("document.querySelectorAll('.why-button').forEach(e => e.click())")
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(WIDER) == []


def test_page_shows_both_orders_and_the_movement(browser: Browser, server: Running) -> None:
    _open(browser, server, query="amber%20stone")
    body = {"query": "amber stone", "k": 100, "candidates": 100}
    hits = server.post("/search", body).json()["results"][0]["hits"]
    assert _ids(browser, "reranked") == [hit["id"] for hit in hits][:20]
    assert _ids(browser, "bm25") == [hit["id"] for hit in sorted(hits, key=lambda hit: hit["bm25"]["rank"])][:20]
    moves = browser.value("[...document.querySelectorAll('#reranked .move')].map(e => e.textContent)")
    expected = [hit["bm25"]["rank"] - hit["rank"] for hit in hits[:20]]
    assert moves == ["=" if up == 0 else f"{'▲' if up > 0 else '▼'} {abs(up)}" for up in expected]
    assert set(browser.value("[...document.querySelectorAll('mark')].map(e => e.textContent)")) == {"amber", "stone"}
    browser.value("document.querySelector('#more').click()")
    assert len(_ids(browser, "reranked")) == len(hits)


def test_first_screen_has_the_collection_and_queries_that_find_something(browser: Browser, server: Running) -> None:
    _open(browser, server)
    models = server.client.get("/models").json()
    assert browser.value("document.querySelector('#about').textContent").startswith(
        f"{models['documents']:,} documents"
    )
    links = browser.value("[...document.querySelectorAll('#examples a')].map(e => e.textContent)")
    assert links == models["examples"]
    assert links
    browser.value("document.querySelector('#examples a').click()")
    _wait(browser, "document.querySelectorAll('li[data-id]').length > 0")
    assert browser.value("document.querySelector('#start').hidden")
    browser.value("history.back()")
    _wait(browser, "!document.querySelector('#start').hidden && document.querySelector('#lists').hidden")


def test_page_ranks_texts(browser: Browser, server: Running) -> None:
    _open(browser, server)
    texts = ["a stone", "<b>amber</b> and amber", "amber stone"]
    answer = server.post("/rerank", {"query": "amber stone", "documents": texts}).json()
    browser.value(
        "document.querySelector('#tab-texts').click(); document.querySelector('#text-query').value = 'amber stone';"
        f"document.querySelector('#text-box').value = {json.dumps(chr(10).join(texts))};"
        "document.querySelector('#text-form').requestSubmit()"
    )
    _wait(browser, "document.querySelectorAll('#ranked li').length == 3")
    shown = browser.value("[...document.querySelectorAll('#ranked li')].map(e => e.lastChild.textContent.trim())")
    assert shown == [texts[result["index"]] for result in answer["results"]]
    ends = "[...document.querySelectorAll('#ranked .rank')].map(e => Math.round(e.getBoundingClientRect().right))"
    assert len(set(browser.value(ends))) == 1  # so that the texts begin below each other
    assert browser.value("document.querySelector('#text-about').offsetParent !== null")
    assert browser.value("document.querySelector('#found').hidden && document.title") == "Rank texts - rerank"
    browser.value("history.back()")
    _wait(browser, "document.querySelector('#texts').hidden && !document.querySelector('#found').hidden")
    assert browser.value("document.querySelector('#tab-search').ariaCurrent") == "page"


def test_lists_are_aligned_by_rank_and_buttons_can_be_hit(browser: Browser, server: Running) -> None:
    _open(browser, server, query="amber%20stone")
    top = "[...document.querySelectorAll('#{} li')].map(e => e.getBoundingClientRect().top + scrollY)"
    before = browser.value(top.format("bm25"))
    assert before == browser.value(top.format("reranked"))
    browser.value("document.activeElement.blur()")
    _press(browser, "j", "e")
    assert browser.value("document.querySelector('#reranked .why').getBoundingClientRect().height") > 50
    assert [browser.value(top.format(name)) for name in ("bm25", "reranked")] == [before, before]
    _press(browser, "j")  # the panel lies over what is read next
    assert browser.value("document.querySelectorAll('.why').length") == 0
    sizes = browser.value(
        "[...document.querySelectorAll('button, summary')].filter(e => e.offsetParent)"
        ".flatMap(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert min(sizes) >= 24
    assert browser.value("document.querySelectorAll('main').length") == 1


def test_page_explains_a_document(browser: Browser, server: Running) -> None:
    _open(browser, server, query="amber")
    answer = server.post("/search", {"query": "amber", "k": 100, "candidates": 100, "explain": True}).json()
    first = answer["results"][0]["hits"][0]
    browser.value("document.querySelector('#reranked .why-button').click()")
    names = browser.value("[...document.querySelectorAll('#reranked .why tbody th')].map(e => e.textContent)")
    assert names == [each["feature"] for each in first["features"]]
    meanings = browser.value("[...document.querySelectorAll('#reranked .meaning')].map(e => e.textContent)")
    assert meanings == [each["meaning"] for each in first["features"] if each["meaning"]]
    assert meanings
    assert browser.value("document.querySelector('#reranked .bar').getBoundingClientRect().width") > 10
    browser.value("document.querySelector('#reranked .why-button').click()")
    assert browser.value("document.querySelectorAll('.why').length") == 0


def test_page_judges_and_downloads_by_the_keyboard_alone(browser: Browser, server: Running, tmp_path: Path) -> None:
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    _open(browser, server)
    _press(browser, *"amber", "Enter")
    _wait(browser, "document.querySelectorAll('li').length > 0")
    _press(browser, "j", "2", "j", "0", "h", "e")
    assert browser.value("document.activeElement.closest('section').id") == "bm25"
    assert browser.value("document.querySelectorAll('#bm25 .why').length") == 1
    first, second = _ids(browser, "reranked")[:2]
    assert browser.value("document.querySelectorAll('#reranked [aria-pressed=true]').length") == 2
    _press(browser, "l", "k", "k", "1", "1")  # judged and taken back
    assert browser.value("document.querySelector('#judged-count').textContent") == "1 judged, 1 query"
    _press(browser, "2")
    for name in ("qrels", "topics"):
        browser.value(f"document.querySelector('#save-{name}').focus()")
        _press(browser, "Enter")
    end = time.monotonic() + 20
    files = [tmp_path / "qrels.txt", tmp_path / "topics.tsv"]
    while time.monotonic() < end and not all(file.is_file() and file.stat().st_size for file in files):
        time.sleep(0.05)  # the browser makes a file, and writes it later
    assert sorted((tmp_path / "qrels.txt").read_text().splitlines()) == sorted([f"q1 0 {first} 2", f"q1 0 {second} 0"])
    assert (tmp_path / "topics.tsv").read_text() == "q1\tamber\n"
    browser.open_url(f"http://127.0.0.1:{server.port}/", 1280)
    _wait(browser, "!document.querySelector('#judged').hidden")  # judgements stay


def test_page_judges_queries_and_documents_of_any_name(browser: Browser, tmp_path: Path) -> None:
    import rerank
    from rerank.service.settings import Settings
    from tests.service.server import LIMITS

    names = ["constructor", "__proto__", "toString"]
    documents = [{"id": name, "body": " ".join(names)} for name in names]
    rerank.Index.build(documents, tmp_path / "index").close()
    with running(Settings(tmp_path / "index", limits=LIMITS)) as server:
        for number, query in enumerate(names, start=1):
            browser.open_url(f"http://127.0.0.1:{server.port}/?{number}#q={query}", 1280)
            _wait(browser, "document.querySelectorAll('#bm25 li').length == 3")
            browser.value("document.querySelectorAll('#bm25 li button[data-label=\"2\"]').forEach(e => e.click())")
            counts = f"{3 * number} judged, {number} {'query' if number == 1 else 'queries'}"
            assert browser.value("document.querySelector('#judged-count').textContent") == counts
        browser.open_url(f"http://127.0.0.1:{server.port}/?again", 1280)
        _wait(browser, f"document.querySelector('#judged-count').textContent == '{counts}'")


def test_page_shows_one_list_at_a_time_on_a_phone(browser: Browser, server: Running) -> None:
    _open(browser, server, 360, "amber")
    shown = "['bm25', 'reranked'].filter(id => document.getElementById(id).getBoundingClientRect().height > 0)"
    assert browser.value(shown) == ["reranked"]
    browser.value("document.querySelector('#show-bm25').click()")
    assert browser.value(shown) == ["bm25"]


def test_page_says_what_went_wrong(browser: Browser, server: Running) -> None:
    _open(browser, server, query="amber")
    browser.value("fetch = () => Promise.reject(new TypeError('gone'))")
    browser.value("document.querySelector('#form').requestSubmit()")
    assert _wait(browser, "!document.querySelector('#error').hidden && document.querySelector('#error').textContent")


def test_page_is_dark_where_the_system_is(browser: Browser, server: Running) -> None:
    _open(browser, server, query="amber")
    colours = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] == "rgb(255, 255, 255)" != colours[1]


def test_page_reads_no_document_as_html(browser: Browser, tmp_path: Path) -> None:
    import rerank
    from rerank.service.settings import Settings
    from tests.service.server import LIMITS

    rerank.Index.build(NASTY, tmp_path / "index").close()
    with running(Settings(tmp_path / "index", limits=LIMITS)) as server:
        _open(browser, server, 360, "amber%20%3Cscript%3E")
        assert _ids(browser, "bm25") == [hit["id"] for hit in _hits(server)]
        assert browser.value("window.hurt") is None
        assert browser.value("document.querySelectorAll('li b, li i, li img, li script').length") == 0
        texts = json.dumps(
            browser.value("[...document.querySelectorAll('li')].map(e => e.textContent)"), ensure_ascii=False
        )
        assert "<script>window.hurt = 1</script>" in texts
        assert "onerror='window.hurt=1'> amber 🙂 amber" in texts
        assert set(browser.value("[...document.querySelectorAll('mark')].map(e => e.textContent)")) <= {
            "amber",
            "script",
        }
        assert browser.value("document.documentElement.scrollWidth") <= 360


def _hits(server: Running) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = server.post("/search", {"query": "amber <script>"}).json()["results"][0]["hits"]
    return hits


def test_page_asks_for_the_token(browser: Browser, settings: Any) -> None:
    from dataclasses import replace

    with running(replace(settings, model=None, token="secret-1")) as server:
        browser.open_url(f"http://127.0.0.1:{server.port}/#q=amber", 1280)
        _wait(browser, "!document.querySelector('#token-row').hidden")
        browser.value("document.querySelector('#token').value = 'secret-1'")
        browser.value("document.querySelector('#token').dispatchEvent(new Event('change'))")
        browser.value("document.querySelector('#query').value = 'amber'")
        browser.value("document.querySelector('#form').requestSubmit()")
        assert len(_wait(browser, "[...document.querySelectorAll('#bm25 li')].map(e => e.dataset.id)")) > 5
        assert browser.value("document.querySelectorAll('#reranked li').length") > 5  # by the unsupervised ranking


def test_page_reports_what_is_shown_and_clicked_where_the_service_logs(
    browser: Browser, settings: Any, tmp_path: Path
) -> None:
    import rerank

    with running(replace(settings, log_queries=tmp_path)) as server:
        _open(browser, server, query="amber")
        assert browser.value("document.querySelector('#bm25').hidden")
        browser.value("document.querySelectorAll('#reranked .line')[2].click()")
        browser.value("document.querySelectorAll('#reranked [data-label]')[0].click()")  # a judgement is no click
        browser.open_url(f"http://127.0.0.1:{server.port}/?compare=model,bm25&x=1#q=amber%20stone", 1280)
        _wait(browser, "document.querySelectorAll('#reranked li').length > 0")
        browser.value("document.querySelectorAll('#reranked .text')[0].click()")
        second = _ids(browser, "reranked")[0]
        end = time.monotonic() + 20
        while time.monotonic() < end and (tmp_path / "events.jsonl").read_text().count('"click"') < 2:
            time.sleep(0.05)
    clicks = rerank.read_clicks(tmp_path)
    names = clicks.query_ids[clicks.query], clicks.doc_ids[clicks.document], clicks.position
    clicked = [(query, position) for query, _, position in zip(*names, strict=True)]
    rows = [row for row, was in zip(clicked, clicks.clicked.tolist(), strict=True) if was]
    assert rows == [("amber", 3), ("amber stone", 1)]
    assert names[1][clicks.clicked].tolist()[1] == second
    assert set(clicks.rankers) == {"model", "bm25"}
    assert clicks.n_positions == 20


def test_page_shows_probabilities_of_a_calibrated_model(
    browser: Browser, index: rerank.Index, calibrated_file: Path
) -> None:
    from rerank.service.settings import Settings
    from tests.service.server import LIMITS

    with running(Settings(index.path, calibrated_file, limits=LIMITS, threads=2)) as server:
        _open(browser, server, query="amber%20stone")
        body = {"query": "amber stone", "k": 100, "candidates": 100}
        hits = server.post("/search", body).json()["results"][0]["hits"]
        shown = browser.value("[...document.querySelectorAll('#reranked li .score')].map(e => e.innerText)")
        assert shown == [f"{int(100 * hit['probability'] + 0.5)} % likely relevant" for hit in hits[:20]]
        assert "likely" not in browser.value("document.querySelector('#bm25 li .score').innerText")
