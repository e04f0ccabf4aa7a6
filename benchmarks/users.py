"""Simulated users: clicks on the lists of a ranker by judged relevance, for tests of estimators and for planning.

    python -m benchmarks.users RUN QRELS -o LOG
    python -m benchmarks.users TOPICS QRELS --service http://127.0.0.1:8080/search

attraction   P(click | examined) = noise + (1 - noise) (2^y - 1) / (2^y_max - 1) for label y
pbm          position k is examined with probability theta_k^eta, independently of other positions
cascade      positions are examined from the first to the first click
dependent    positions are examined from the first; after a click the user goes on with probability `continuation`

The values of theta are those that Joachims et al. measured by eye tracking, as Hu et al. use them.

References
----------
Z. Hu, Y. Wang, Q. Peng and H. Li, Unbiased LambdaMART: An Unbiased Pairwise Learning-to-Rank Algorithm, WWW 2019,
section 6.1. N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models,
WSDM 2008 (cascade). F. Guo, C. Liu and Y. Wang, Efficient multiple-click models in web search, WSDM 2009 (dependent
click model). A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search, 2015, chapter 3.

"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

import click
import numpy as np
from numpy.typing import NDArray

from rerank.clicks.interleaving import Interleaved, interleave
from rerank.clicks.reading import write_clicks
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError, unknown_name
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike, qrels_of, run_of, topics_of
from rerank.types import Floats, Ints, Qrels, Run
from rerank.types.ids import Ids, id_array

EXAMINATION = (0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06)
LISTS_AT_ONCE = 1 << 16
SECONDS = 30.0  # for one request to a service
SIDES = ("A", "B")
Clicked = NDArray[np.bool_]


@dataclass(frozen=True)
class Users:
    """How simulated users examine and click.

    Parameters
    ----------
    model : {"pbm", "cascade", "dependent"}
        What they examine.
    eta : float
        Exponent of the position bias of `pbm`: 0 examines every position, 1 as in eye tracking, 2 more steeply.
    noise : float
        Probability of a click on an examined document of label 0.
    continuation : float
        Probability that users of `dependent` go on after a click.

    """

    model: str = "pbm"
    eta: float = 1.0
    noise: float = 0.1
    continuation: float = 0.6

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown_name("model of users", self.model, MODELS)
        for name, high in (("noise", 1.0), ("continuation", 1.0), ("eta", 100.0)):
            value = getattr(self, name)
            if not 0.0 <= value <= high:
                raise InvalidInputError(f"{name}: expected a number from 0 to {high:g}, got {value!r}. Give another.")

    def examination(self, n_positions: int) -> Floats:
        """Return theta_k^eta of the first positions; those beyond the tenth are as the tenth.

        Parameters
        ----------
        n_positions : int
            Number of positions.

        Returns
        -------
        ndarray of shape (n_positions,), dtype float64
            Probability of examination of `pbm`.

        """
        theta = np.array(EXAMINATION)[np.minimum(np.arange(n_positions), len(EXAMINATION) - 1)]
        return np.asarray(theta**self.eta, dtype=np.float64)

    def click(self, attraction: Floats, random: np.random.Generator) -> Clicked:
        """Return clicks on lists.

        Parameters
        ----------
        attraction : ndarray of shape (n_lists, n_positions), dtype float64
            P(click | examined) of each document; 0 where a list has no document.
        random : numpy.random.Generator
            Source of chance.

        Returns
        -------
        ndarray of shape (n_lists, n_positions), dtype bool
            Whether each document is clicked.

        """
        return MODELS[self.model](self, attraction, random)


def _position_based(users: Users, attraction: Floats, random: np.random.Generator) -> Clicked:
    return np.asarray(random.random(attraction.shape) < attraction * users.examination(attraction.shape[1]))


def _cascade(users: Users, attraction: Floats, random: np.random.Generator) -> Clicked:
    wanted = random.random(attraction.shape) < attraction
    return np.asarray(wanted & (np.cumsum(wanted, axis=1) == 1), dtype=np.bool_)


def _dependent(users: Users, attraction: Floats, random: np.random.Generator) -> Clicked:
    wanted = random.random(attraction.shape) < attraction
    stops = wanted & (random.random(attraction.shape) >= users.continuation)
    stopped_before = np.cumsum(stops, axis=1) - stops > 0
    return np.asarray(wanted & ~stopped_before, dtype=np.bool_)


MODELS: dict[str, Callable[[Users, Floats, np.random.Generator], Clicked]] = {
    "pbm": _position_based,
    "cascade": _cascade,
    "dependent": _dependent,
}


def simulate_clicks(
    run: RunLike,
    qrels: QrelsLike,
    users: Users | None = None,
    *,
    passes: int = 16,
    depth: int = 10,
    spread: float = 0.0,
    seed: int = 0,
) -> Clicks:
    """Simulate users that search with each query several times.

    Parameters
    ----------
    run : Run, mapping, DataFrame or path
        The ranker that makes the log.
    qrels : Qrels, mapping, DataFrame or path
        Judgements; unjudged documents have label 0, and a negative label counts as 0.
    users : Users, optional
        How users examine and click.
    passes : int
        Number of searches with each query; each is a session.
    depth : int
        Documents of a list.
    spread : float
        Standard deviation, in ranks, of normal noise that is added to the rank of each document in each list: with
        0 no document ever moves, and position and relevance cannot be told apart.
    seed : int
        Seed of all chance.

    Returns
    -------
    Clicks
        The impressions, with the name of the run as the ranker.

    """
    run, qrels, users = run_of(run), qrels_of(qrels), users or Users()
    if passes < 1 or depth < 1 or not run.n_rows:
        raise InvalidInputError(
            f"simulate: expected a run with rows, and passes and depth from 1, got {run.n_rows} rows, {passes} and "
            f"{depth}. Give others."
        )
    random = np.random.default_rng(seed)
    depth = min(depth, int(np.diff(run.query_ptr).max()))
    attraction = attractions(qrels, run, users.noise)
    columns = [
        _rows_of(run, queries, _shown(run, queries, depth, spread, random), attraction, users, random)
        for queries in _list_queries(len(run), passes, random)
    ]
    return _joined(run, columns)


Shown = tuple[Ints, Ints, Ints, Clicked, Ints]


def _joined(run: Run, columns: list[Shown]) -> Clicks:
    """Return the log of all blocks of lists."""
    docs, document = np.unique(run.doc_ids, return_inverse=True)
    query, row, position, clicked, session = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Clicks(
        query_ids=run.query_ids,
        doc_ids=id_array(docs),
        query=query.astype(np.int32),
        document=document.reshape(-1)[row].astype(np.int32),
        position=position.astype(np.int32),
        clicked=clicked,
        session=(np.cumsum(np.diff(session, prepend=-1) != 0) - 1).astype(np.int32),
        ranker=np.zeros(len(query), dtype=np.int32),
        rankers=(run.name,),
    )


def attractions(qrels: Qrels, run: Run, noise: float) -> Floats:
    """Return P(click | examined) of each row of a run, (n_rows,)."""
    labels, _ = qrels.lookup(run.query_ids, run.query_ptr, run.stored_ids)
    return attraction_of(labels, qrels, noise)


def attraction_of(labels: Ints, qrels: Qrels, noise: float) -> Floats:
    """Return P(click | examined) of documents by their labels in the qrels, of the same shape."""
    most = max(int(qrels.labels.max(initial=0)), 1)
    gains = np.exp2(np.maximum(labels, 0)) - 1.0
    return np.asarray(noise + (1.0 - noise) * gains / (2.0**most - 1.0), dtype=np.float64)


def _list_queries(n_queries: int, passes: int, random: np.random.Generator) -> list[Ints]:
    """Return the queries of all lists in blocks: every query once a pass, in random order."""
    order = np.concatenate([random.permutation(n_queries) for _ in range(passes)])
    return [order[first : first + LISTS_AT_ONCE] for first in range(0, len(order), LISTS_AT_ONCE)]


def _shown(run: Run, queries: Ints, depth: int, spread: float, random: np.random.Generator) -> Ints:
    """Return the row of the run at each position of lists of these queries, (n_lists, depth), -1 for none."""
    width = depth if spread == 0.0 else depth + int(np.ceil(6.0 * spread))
    rows = run.query_ptr[queries][:, None] + np.arange(width)
    rows[rows >= run.query_ptr[queries + 1][:, None]] = -1
    if spread > 0.0:
        keys = np.arange(width) + spread * random.standard_normal(rows.shape)
        keys[rows < 0] = np.inf
        rows = np.take_along_axis(rows, np.argsort(keys, axis=1, kind="stable")[:, :depth], axis=1)
    return rows


def _rows_of(
    run: Run, queries: Ints, rows: Ints, attraction: Floats, users: Users, random: np.random.Generator
) -> Shown:
    """Return query, row of the run, position, click and list of each impression of the lists."""
    filled = rows >= 0
    clicked = users.click(np.where(filled, attraction[rows], 0.0), random)
    number, place = np.nonzero(filled)
    return queries[number], rows[filled], place + 1, clicked[filled], number


def simulate_interleaving(
    first: RunLike,
    second: RunLike,
    qrels: QrelsLike,
    users: Users | None = None,
    *,
    sessions: int = 1000,
    depth: int = 10,
    seed: int = 0,
) -> Clicks:
    """Simulate users who search with random queries and see interleaved lists, to plan an experiment.

    Parameters
    ----------
    first, second : Run, mapping, DataFrame or path
        The rankers.
    qrels : Qrels, mapping, DataFrame or path
        Judgements, by which users click.
    users : Users, optional
        How they examine and click.
    sessions : int
        Number of searches; each is a session.
    depth : int
        Documents of a list.
    seed : int
        Seed of all chance.

    Returns
    -------
    Clicks
        The log, with the rankers A (first) and B (second).

    Raises
    ------
    InvalidInputError
        If the runs have no query in common.

    """
    first, second, qrels, users = run_of(first), run_of(second), qrels_of(qrels), users or Users()
    shared = [query for query in first if query in second]
    if not shared:
        raise InvalidInputError("interleaving: expected runs of the same queries, got none in common. Name others.")
    random = np.random.default_rng(seed)
    chosen = random.choice(len(shared), sessions)
    tops = [[run.doc_ids[run.rows(query)][: 2 * depth].tolist() for query in shared] for run in (first, second)]
    lists = [interleave(tops[0][query], tops[1][query], depth, random) for query in chosen]
    return _clicked(lists, np.array(shared)[chosen], qrels, users, depth, random)


def _clicked(
    lists: list[Interleaved],
    query_ids: Ids,
    qrels: Qrels,
    users: Users,
    depth: int,
    random: np.random.Generator,
) -> Clicks:
    """Return the log of users who see these lists, one a session."""
    sizes = np.array([len(each.documents) for each in lists])
    filled = np.arange(depth) < sizes[:, None]
    queries = np.repeat(query_ids, sizes)
    documents = np.concatenate([each.documents for each in lists])
    judged = {query: qrels[query] for query in set(queries.tolist()) if query in qrels}
    pairs = zip(queries.tolist(), documents.tolist(), strict=True)
    labels = [judged.get(query, {}).get(document, 0) for query, document in pairs]
    attraction = np.zeros(filled.shape)
    attraction[filled] = attraction_of(np.array(labels), qrels, users.noise)
    clicks = Clicks.from_rows(
        query_ids=queries,
        doc_ids=documents,
        positions=np.nonzero(filled)[1] + 1,
        clicked=users.click(attraction, random)[filled],
        session=np.repeat(np.arange(len(lists)), sizes).astype(str),
    )
    sides = np.concatenate([each.sides for each in lists]).astype(np.int32)
    return replace(clicks, ranker=sides, rankers=SIDES, credit=np.concatenate([each.credits for each in lists]))


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
    n_searches : int
        Searches that were made.
    n_clicks : int
        Clicks that were reported.

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


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", metavar="RUN|TOPICS")
@click.argument("qrels")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the log of users who see RUN.")
@click.option("--service", help="Address of a running service, which is searched with TOPICS.")
@click.option("--passes", default=16, show_default=True, help="Number of searches with each query.")
@click.option("--spread", default=0.0, show_default=True, help="Standard deviation of noise in the ranks of a list.")
def main(run: str, qrels: str, output: Path | None, service: str | None, passes: int, spread: float) -> None:
    """Simulate users who search with the queries of RUN or TOPICS and click by the labels of QRELS."""
    if (output is None) == (service is None):
        raise click.UsageError("expected -o or --service, got both or neither. Give one.")
    if service is not None:
        n_searches, n_clicks = visit_service(service, run, qrels, passes=passes)
        click.echo(f"{n_searches} searches, {n_clicks} clicks", err=True)
    elif output is not None:
        write_clicks(simulate_clicks(run, qrels, passes=passes, spread=spread), output)


if __name__ == "__main__":
    main()
