"""Simulated users of a running service: they search over HTTP, and report their clicks to the service's log."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

import numpy as np

from rerank.clicks.simulation import Users, attraction_of
from rerank.errors import InvalidInputError
from rerank.files.records import QrelsLike, TopicsLike, qrels_of, topics_of

SECONDS = 30.0  # for one request


def visit_service(
    address: str,
    topics: TopicsLike,
    qrels: QrelsLike,
    users: Users | None = None,
    *,
    passes: int = 16,
    depth: int = 10,
    seed: int = 0,
) -> tuple[int, int]:
    """Search a running service with each topic several times, and report clicks by judgements to its log.

    Parameters
    ----------
    address : str
        Where to search, e.g. `http://127.0.0.1:8080/search?compare=A,B`, of a service that logs (`--log`).
    topics : Topics, mapping, DataFrame or path
        The queries; each search is a session.
    qrels : Qrels, mapping, DataFrame or path
        Judgements, by which users click; unjudged documents have label 0.
    users : Users, optional
        How they examine and click.
    passes : int
        Number of searches with each query.
    depth : int
        Documents of a list.
    seed : int
        Seed of all chance, and part of the names of the sessions.

    Returns
    -------
    n_searches, n_clicks : int
        What the service was asked, and told.

    Raises
    ------
    InvalidInputError
        If the service does not answer, or does not log.

    """
    topics, qrels, users = topics_of(topics), qrels_of(qrels), users or Users()
    if urlsplit(address).scheme not in ("http", "https"):
        raise InvalidInputError(f"service: expected an address as http://127.0.0.1:8080/search, got {address!r}.")
    random, ids, n_clicks = np.random.default_rng(seed), list(topics), 0
    judged = [qrels[each] if each in qrels else {} for each in ids]  # noqa: SIM401  # no dict
    order = np.concatenate([random.permutation(len(ids)) for _ in range(passes)]).tolist()
    for number, query in enumerate(order):
        body = {"query": topics[ids[query]], "k": depth, "session": f"simulated {seed} {number}"}
        (result,) = _asked(address, body)["results"]
        if "token" not in result:
            raise InvalidInputError(f"{address}: expected a service that logs, got another. Start it with --log.")
        doc_ids = [hit["id"] for hit in result["hits"]]
        labels = np.array([judged[query].get(doc_id, 0) for doc_id in doc_ids], dtype=np.int64)
        clicked = users.click(attraction_of(labels, qrels, users.noise)[None, :], random)[0]
        clicks = [doc_id for doc_id, is_clicked in zip(doc_ids, clicked.tolist(), strict=True) if is_clicked]
        if clicks:
            _asked(urljoin(address, "/events"), {"token": result["token"], "clicks": clicks})
        n_clicks += len(clicks)
    return len(order), n_clicks


def _asked(address: str, body: dict[str, Any]) -> Any:
    """Return a service's answer to a JSON body."""
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except HTTPError as error:
        told = error.read(10_000).decode("utf-8", "replace")
        raise InvalidInputError(f"{address}: expected an answer, got {error.code}: {' '.join(told.split())}") from None
    except (URLError, OSError, ValueError) as error:
        raise InvalidInputError(
            f"{address}: expected a running service, got {error}. Start `rerank serve INDEX --log queries:FOLDER`."
        ) from None
