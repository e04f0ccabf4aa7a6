"""What is shown and clicked is logged as a log that `rerank clicks` reads, and two rankings are compared on it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rerank
from benchmarks.users import Users, visit_service
from rerank.clicks.interleaving import interleave
from rerank.errors import InvalidInputError
from tests.service.server import LIMITS, Running, running
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def logging_settings(settings: Any, model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("logged")
    other = shutil.copy(model_file, folder / "other.json")
    return replace(settings, others=(Path(other),), log_queries=folder / "log")


@pytest.fixture(scope="module")
def logging_server(logging_settings: Any) -> Iterator[Running]:
    with running(logging_settings) as started:
        yield started


def _search(server: Running, query: str, address: str = "/search", **body: Any) -> Any:
    answer = server.post(address, {"query": query, "k": 8, "candidates": 40, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _ids(answer: Any) -> list[str]:
    return [hit["id"] for hit in answer["results"][0]["hits"]]


def _events(server: Running) -> list[dict[str, Any]]:
    log = server.service.engine.log
    assert log is not None
    assert log.put([]).result(10)  # what was put before is then in the files
    folder = server.service.settings.log_queries
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_log_of_shown_and_clicked_documents_is_read_as_clicks(settings: Any, collection: Tiny, tmp_path: Path) -> None:
    queries = list(collection.topics.values())[:4]
    with running(replace(settings, log_queries=tmp_path / "log")) as server:
        expected = []
        for number, query in enumerate(queries):
            result = _search(server, query, session=f"person {number % 2}")["results"][0]
            ids = [hit["id"] for hit in result["hits"]]
            done = server.post("/events", {"token": result["token"], "clicks": [ids[number], ids[0], ids[0]]})
            assert (done.status_code, done.json()) == (200, {"written": 3})
            expected += [(query, doc, place, doc in (ids[number], ids[0])) for place, doc in enumerate(ids, 1)]
        part = _search(server, queries[0])["results"][0]
        top = [hit["id"] for hit in part["hits"]][:3]
        assert server.post("/events", {"token": part["token"], "shown": top, "clicks": top[1:2]}).status_code == 200
        expected += [(queries[0], doc, place, place == 2) for place, doc in enumerate(top, 1)]
        served = server.client.get("/models").json()["data"][-1]
        logged = _events(server)[0]
    clicks = rerank.read_clicks(tmp_path / "log")
    names = clicks.query_ids[clicks.query], clicks.doc_ids[clicks.document]
    rows = zip(*(column.tolist() for column in (*names, clicks.position, clicks.clicked)), strict=True)
    assert list(rows) == expected
    assert clicks.rankers == ("model",)
    assert clicks.session is not None
    assert len(set(clicks.session.tolist())) == 3
    assert clicks.time is not None
    assert (clicks.time > 1.7e9).all()
    assert logged["query_attributes"] == {"ranker": "model", "checksums": {"model": served["checksum"]}}
    assert len(served["checksum"]) == 16
    assert "person" not in (tmp_path / "log" / "events.jsonl").read_text()
    topics = rerank.read_topics(tmp_path / "log" / "topics.tsv")
    ids_of_texts = rerank.read_clicks(tmp_path / "log", topics=topics)
    assert ids_of_texts.n_rows == clicks.n_rows
    assert set(ids_of_texts.query_ids.tolist()) <= set(topics)


def test_clicks_without_impressions_are_refused_in_one_line(logging_server: Running, server: Running) -> None:
    result = _search(logging_server, "amber stone")["results"][0]
    token, ids = result["token"], [hit["id"] for hit in result["hits"]]
    for body, place in (
        ({"token": token, "clicks": [ids[0], "elsewhere"]}, "body.clicks[1]"),
        ({"token": token, "shown": ["elsewhere"]}, "body.shown[0]"),
        ({"token": token[:-1] + ("0" if token[-1] != "0" else "1"), "clicks": ids[:1]}, "body.token"),
        ({"token": "x" + token, "clicks": ids[:1]}, "body.token"),
        ({"token": "", "clicks": ids[:1]}, "body.token"),
        ({"token": "é.é.é", "clicks": ids[:1]}, "body.token"),
        ({"clicks": ids[:1]}, "body"),
        ({"token": token, "clicks": "d1"}, "body.clicks"),
        ({"token": token, "click": ids[:1]}, "body"),
    ):
        refused = logging_server.post("/events", body)
        assert refused.status_code == 422, refused.text
        assert refused.json()["error"]["place"] == place
        assert "\n" not in refused.json()["message"]
    assert "token" not in _search(server, "amber stone")["results"][0]
    refused = server.post("/events", {"token": token, "clicks": ids[:1]})
    assert (refused.status_code, refused.json()["error"]["remedy"]) == (404, "Start it with --log queries:FOLDER.")


def test_tokens_are_taken_by_any_process_of_the_folder_and_by_no_other(
    logging_server: Running, logging_settings: Any, tmp_path: Path
) -> None:
    from rerank.service.querylog import QueryLog
    from rerank.service.settings import ServiceError

    result = _search(logging_server, "amber")["results"][0]
    ids = [hit["id"] for hit in result["hits"]]
    assert len(QueryLog(logging_settings).events(result["token"], [], ids[:2])) == 1
    with pytest.raises(ServiceError, match=r"body\.token: expected the token of an answer of this service"):
        QueryLog(replace(logging_settings, log_queries=tmp_path)).events(result["token"], [], ids[:2])
    assert (tmp_path / ".key").stat().st_mode & 0o777 == 0o600


def test_answers_that_nobody_got_are_no_impressions(settings: Any, tmp_path: Path) -> None:
    limits = replace(LIMITS, answer_bytes=20)
    with running(replace(settings, log_queries=tmp_path, limits=limits)) as server:
        assert server.post("/search", {"query": "amber", "fields": ["body"]}).status_code == 413
        _search(server, "birch")
        assert [event["user_query"] for event in _events(server)] == ["birch"]


@pytest.mark.parametrize("name", [".lock", "events.jsonl"])
def test_answers_do_not_depend_on_the_log_and_events_say_that_they_are_not_written(
    name: str, settings: Any, tmp_path: Path
) -> None:
    (tmp_path / name).mkdir()
    with running(replace(settings, log_queries=tmp_path)) as server:
        result = _search(server, "amber")["results"][0]
        body = {"token": result["token"], "clicks": [result["hits"][0]["id"]]}
        refused = server.post("/events", body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert refused.json()["message"] == (
            "service: expected a log that can be written, got another one. Send the events again later."
        )
        (tmp_path / name).rmdir()
        assert server.post("/events", body).json() == {"written": 1}
        assert [event["action_name"] for event in _events(server)] == ["click"]


def test_tokens_are_as_long_as_answers_are(settings: Any, tmp_path: Path) -> None:
    with running(replace(settings, log_queries=tmp_path, limits=replace(LIMITS, documents=20_000))) as server:
        log = server.service.engine.log
        assert log is not None
        ids = [f"d{number}" for number in range(20_000)]
        token = log.token("r" * 64 + "-1-" + "q" * 512, ids)
        assert len(token) > 1 << 16
        assert server.post("/events", {"token": token, "clicks": ids[-1:]}).json() == {"written": 1}


def test_two_models_share_a_list_and_events_are_credited(logging_server: Running, collection: Tiny) -> None:
    address = "/search?compare=bm25,model"
    for query in list(collection.topics.values())[:3]:
        both = [_ids(_search(logging_server, query, model=name)) for name in ("bm25", "model")]
        first = _search(logging_server, query, address, session="s", fields=["body"], explain=False)
        again = _search(logging_server, query, address, session="s")
        logged = _events(logging_server)[-1]
        told, ids = logged["query_attributes"], _ids(again)
        assert _ids(first) == ids == logged["query_response_hit_ids"]
        assert [hit["rank"] for hit in again["results"][0]["hits"]] == list(range(1, len(ids) + 1))
        assert first["model"] == "bm25,model"
        assert all(hit["fields"]["body"] for hit in first["results"][0]["hits"])
        expected = interleave(*both, 8, random=told["seed"])
        assert (ids, told["sides"], told["credits"]) == tuple(expected)
        assert told["rankers"] == ["bm25", "model"]
        assert set(told["checksums"]) == {"bm25", "model"}
        token = again["results"][0]["token"]
        assert logging_server.post("/events", {"token": token, "clicks": ids[:1]}).status_code == 200
    different = {tuple(_ids(_search(logging_server, query, address, session=f"s{n}"))) for n in range(20)}
    assert len(different) > 1


def test_interleaving_of_the_log_credits_the_side(settings: Any, collection: Tiny, tmp_path: Path) -> None:
    with running(replace(settings, log_queries=tmp_path / "log")) as server:
        for number, query in enumerate(3 * list(collection.topics.values())):
            answer = _search(server, query, "/search?compare=model,bm25", session=str(number))
            told = _events(server)[-1]["query_attributes"]
            credited = zip(_ids(answer), told["sides"], told["credits"], strict=True)
            liked = [doc for doc, side, credit in credited if side == 0 and credit]
            server.post("/events", {"token": answer["results"][0]["token"], "clicks": liked[:2]})
    result = rerank.experiment_result(rerank.read_clicks(tmp_path / "log"))
    assert (result.first, result.second, result.losses) == ("bm25", "model", 30 - result.ties)
    assert result.high < 0.0
    assert result.p_value < 1e-3


def test_sessions_are_assigned_a_model_that_stays(logging_server: Running) -> None:
    address = "/search?assign=model,bm25"
    given = {n: _search(logging_server, "amber stone", address, session=f"s{n}")["model"] for n in range(60)}
    assert all(_search(logging_server, "birch", address, session=f"s{n}")["model"] == given[n] for n in range(20))
    assert 15 < Counter(given.values())["bm25"] < 45
    told = _events(logging_server)[-1]["query_attributes"]
    assert (told["ranker"], told["assigned"]) == (given[19], "model,bm25")
    assert {_search(logging_server, "amber", address)["model"] for _ in range(30)} == {"model", "bm25"}


@pytest.mark.parametrize(
    ("address", "body", "status", "place"),
    [
        ("?k=5", {}, 422, "query.k"),
        ("?compare=bm25", {}, 422, "query.compare"),
        ("?compare=bm25,bm25", {}, 422, "query.compare"),
        ("?assign=a,b,c", {}, 422, "query.assign"),
        ("?compare=bm25,modell", {}, 404, "query.compare"),
        ("?assign=bm25,nope", {"session": "a"}, 404, "query.assign"),
        ("?assign=nope,bm25", {"session": "a"}, 404, "query.assign"),
        ("?compar=bm25,model", {}, 422, "query.compar"),
        ("?compare=bm25,model&method=optimised", {}, 422, "query.method"),
        ("?compare=bm25,model&assign=bm25,model", {}, 422, "query"),
        ("?compare=bm25,model", {"model": "bm25"}, 422, "query"),
        ("?compare=bm25,model", {"session": ""}, 422, "body.session"),
    ],
)
def test_comparisons_that_cannot_be_are_refused(
    address: str, body: dict[str, Any], status: int, place: str, logging_server: Running
) -> None:
    refused = logging_server.post(f"/search{address}", {"query": "amber", **body})
    assert (refused.status_code, refused.json()["error"]["place"]) == (status, place), refused.text


def test_hashes_stand_for_the_texts_of_queries(settings: Any, tmp_path: Path) -> None:
    with running(replace(settings, log_queries=tmp_path, log_features=True, log_hashes=True)) as server:
        for query in ("amber stone", "Amber  STONE", "birch"):
            result = _search(server, query)["results"][0]
            server.post("/events", {"token": result["token"], "clicks": [result["hits"][1]["id"]]})
    texts = "".join(path.read_text("utf8") for path in tmp_path.iterdir() if path.name != ".key")
    assert "amber" not in texts.lower()
    topics = rerank.read_topics(tmp_path / "topics.tsv")
    clicks = rerank.read_clicks(tmp_path, topics=topics)
    assert len(clicks.query_ids) == 2
    assert clicks.n_rows == 24
    (features,) = tmp_path.glob("features-*.svm")
    shown, _ = rerank.estimate_clicks(clicks).shown(rerank.read_data(features))
    assert list(shown) == clicks.query_ids.tolist()
    assert shown.n_rows == 16


def test_models_of_equal_names_are_refused(settings: Any, model_file: Path, index: rerank.Index) -> None:
    from rerank.service.served_models import load_models

    with pytest.raises(
        InvalidInputError, match=r"models: expected files of different names, got .* beside bm25 and model"
    ):
        load_models(replace(settings, others=(model_file,)), index)


def test_simulated_users_search_the_service_and_click(settings: Any, collection: Tiny, tmp_path: Path) -> None:
    users = Users(eta=0.0, noise=0.0)
    with running(replace(settings, log_queries=tmp_path)) as server:
        address = f"http://127.0.0.1:{server.port}/search?compare=bm25,model"
        topics = dict(list(collection.topics.items())[:5])
        searches, n_clicks = visit_service(address, topics, collection.qrels, users, passes=3, depth=6)
        with pytest.raises(InvalidInputError, match=r"expected an answer, got 422: .*query\.compare"):
            visit_service(f"{address}x,y", topics, collection.qrels)
    with pytest.raises(InvalidInputError, match=r"expected a running service, got .*Start `rerank serve"):
        visit_service(address, topics, collection.qrels)
    with pytest.raises(InvalidInputError, match=r"service: expected an address as http"):
        visit_service("search", topics, collection.qrels)
    clicks = rerank.read_clicks(tmp_path, topics=topics)
    assert searches == 15
    assert (len(clicks.list_ptr) - 1, int(clicks.clicked.sum()), clicks.n_positions) == (15, n_clicks, 6)
    labels = [
        collection.qrels[query].get(doc, 0)
        for query, doc in zip(clicks.query_ids[clicks.query], clicks.doc_ids[clicks.document], strict=True)
    ]
    most = max(label for own in collection.qrels.values() for label in own.values())
    assert clicks.clicked[np.array(labels) == most].all()
    assert not clicks.clicked[np.array(labels) == 0].any()


def test_simulated_users_are_told_where_a_service_does_not_log(server: Running, collection: Tiny) -> None:
    with pytest.raises(InvalidInputError, match=r"expected a service that logs, got another"):
        visit_service(f"http://127.0.0.1:{server.port}/search", collection.topics, collection.qrels)
