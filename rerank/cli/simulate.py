"""`rerank simulate`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import Number, Whole, option, path_argument, path_type, seed_option, takes

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank simulate` takes."""

    run: Path = path_argument(metavar="RUN|TOPICS")
    qrels: Path = path_argument()
    output: Path | None = option(
        "-o", "--output", type=path_type, metavar="FILE", help="File for the log (.csv, .tsv or JSONL, also with .gz)."
    )
    service: str | None = option(
        "--service",
        metavar="URL",
        help="Search a running service with TOPICS, e.g. http://127.0.0.1:8080/search, whose log gets the clicks.",
    )
    users: str = option(
        "--users",
        type=click.Choice(["pbm", "cascade", "dependent"]),
        default="pbm",
        show_default=True,
        help="How users examine a list: each position with its own probability (pbm), down to the first click "
        "(cascade), or on after a click with probability --continuation (dependent).",
    )
    eta: float = option(
        "--eta",
        type=Number(0.0, 100.0),
        metavar="X",
        default=1.0,
        show_default=True,
        help="Position bias of pbm, as an exponent: 0 for none, 1 as measured by eye tracking.",
    )
    noise: float = option(
        "--noise",
        type=Number(0.0, 1.0),
        metavar="X",
        default=0.1,
        show_default=True,
        help="Probability of a click on an examined document of label 0.",
    )
    continuation: float = option(
        "--continuation",
        type=Number(0.0, 1.0),
        metavar="X",
        default=0.6,
        show_default=True,
        help="Probability of going on after a click (dependent).",
    )
    passes: int = option(
        "--passes", type=Whole(), metavar="N", default=16, show_default=True, help="Number of searches with each query."
    )
    depth: int = option(
        "-k", "--hits", type=Whole(), metavar="N", default=10, show_default=True, help="Documents shown per search."
    )
    spread: float = option(
        "--spread",
        type=Number(0.0, 1000.0),
        metavar="X",
        default=0.0,
        show_default=True,
        help="Shuffle each list: standard deviation, in ranks, of the noise added to each rank.",
    )
    seed: int = seed_option()


@click.command("simulate", short_help="simulate clicks on a run")
@takes(Options)
def command(given: Options) -> None:
    """Simulate users who search with the queries of RUN and click according to the labels of QRELS; write their log.

    With --service URL, they search with TOPICS over HTTP, and the log of the service (`rerank serve --log`) has their
    clicks.
    """
    from rerank.clicks.reading import write_clicks
    from rerank.clicks.simulation import Users, simulate_clicks
    from rerank.clicks.visitors import visit_service
    from rerank.files.trec import read_qrels, read_run

    users = Users(given.users, given.eta, given.noise, given.continuation)
    if (given.service is None) == (given.output is None):
        raise click.UsageError("simulate: expected -o or --service, got both or neither. Give one.")
    if given.service is not None:
        sizes = {"passes": given.passes, "depth": given.depth, "seed": given.seed}
        n_searches, n_clicks = visit_service(given.service, given.run, given.qrels, users, **sizes)
        log.info("%s: %d searches, %d clicks", given.service, n_searches, n_clicks)
        return
    clicks = simulate_clicks(
        read_run(given.run),
        read_qrels(given.qrels),
        users,
        passes=given.passes,
        depth=given.depth,
        spread=given.spread,
        seed=given.seed,
    )
    write_clicks(clicks, given.output or Path("-"))
    log.info("%s: %s", given.output, clicks.summary())
