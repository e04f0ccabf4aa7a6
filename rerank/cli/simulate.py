"""`rerank simulate`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import Number, Whole, option, output_option, path_argument, takes

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank simulate` takes."""

    run: Path = path_argument()
    qrels: Path = path_argument()
    output: Path = output_option("the log (.csv, .tsv or JSONL, also with .gz)")
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
    seed: int = option("--seed", type=Whole(0), metavar="N", default=0, show_default=True, help="Random seed.")


@click.command("simulate", short_help="simulate clicks on a run")
@takes(Options)
def command(given: Options) -> None:
    """Simulate users who search with the queries of RUN and click according to the labels of QRELS; write their log."""
    from rerank.clicks.reading import write_clicks
    from rerank.clicks.simulation import Users, simulate_clicks
    from rerank.files.trec import read_qrels, read_run

    users = Users(given.users, given.eta, given.noise, given.continuation)
    clicks = simulate_clicks(
        read_run(given.run),
        read_qrels(given.qrels),
        users,
        passes=given.passes,
        depth=given.depth,
        spread=given.spread,
        seed=given.seed,
    )
    write_clicks(clicks, given.output)
    log.info("%s: %s", given.output, clicks.summary())
