"""`rerank interleave`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import click

from rerank.cli.clicks import LogOptions
from rerank.cli.options import format_option, option, samples_option, takes


@dataclass(frozen=True)
class Options(LogOptions):
    """What `rerank interleave` takes."""

    rankers: str | None = option("--rankers", metavar="A,B", help="The two rankers, where the log has more.")
    samples: tuple[int, int] = samples_option("the bootstrap of sessions")
    form: str = format_option("table", "json")


@click.command("interleave", short_help="result of an interleaving or A/B experiment")
@takes(Options)
def command(given: Options) -> None:
    """Print which of two rankers the searchers of LOG preferred, whose column `ranker` has who added each document.

    Where lists have documents of both, a session is won by the ranker with more credit (a column `credit` says what a
    click counts), and p is that of the sign test over the sessions that are no ties. Where each session has one of the
    rankers (an A/B test), 1 / rank of the first click is compared, with Welch's t-test.
    """
    from tabulate import tabulate

    from rerank.clicks.interleaving import InterleavingResult, experiment_result

    rankers = None if given.rankers is None else tuple(given.rankers.split(","))
    result = experiment_result(given.read(), rankers, samples=given.samples[0], seed=given.samples[1])
    if given.form == "json":
        click.echo(json.dumps(asdict(result), indent=1))
        return
    if isinstance(result, InterleavingResult):
        middle = {"W/T/L": f"{result.wins}/{result.ties}/{result.losses}"}
    else:
        middle = {"sessions": f"{result.sessions[0]}/{result.sessions[1]}"}
        middle["1 / rank of first click"] = f"{result.means[0]:.4f}/{result.means[1]:.4f}"
    row = {
        "ranker": result.first,
        "against": result.second,
        **middle,
        "difference": f"{result.difference:+.4f}",
        "95 % interval": f"{result.low:+.4f} to {result.high:+.4f}",
        "p": "<0.0001" if result.p_value < 0.0001 else f"{result.p_value:.4f}",
    }
    alignment = ("left", "left", *["right"] * (len(row) - 2))
    click.echo(tabulate([list(row.values())], list(row), disable_numparse=True, colalign=alignment))
