"""`rerank interleave`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from rerank.cli.clicks import LogOptions
from rerank.cli.options import Whole, option, path_argument, takes


@dataclass(frozen=True)
class Options(LogOptions):
    """What `rerank interleave` takes."""

    logs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="LOG [LOG ...]")
    seed: int = option(
        "--seed", type=Whole(0), metavar="N", default=0, show_default=True, help="Seed of the bootstrap."
    )
    form: str = option(
        "--format",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help="Output format.",
    )


@click.command("interleave", short_help="result of an interleaving experiment")
@takes(Options)
def command(given: Options) -> None:
    """Print which of two rankers the searchers of LOG preferred, whose column `ranker` has who added each document.

    A session is won by the ranker with more clicks. The p-value is that of the two-sided sign test over the sessions
    that are no ties, the interval a bootstrap of sessions.
    """
    from rerank.clicks.interleaving import interleaving_result

    result = interleaving_result(given.read(*given.logs), seed=given.seed)
    if given.form == "json":
        click.echo(json.dumps(asdict(result), indent=1))
        return
    from tabulate import tabulate

    row = [
        result.first,
        result.second,
        f"{result.wins}/{result.ties}/{result.losses}",
        f"{result.difference:+.4f}",
        f"{result.low:+.4f} to {result.high:+.4f}",
        "<0.0001" if result.p_value < 0.0001 else f"{result.p_value:.4f}",
    ]
    header = ["ranker", "against", "W/T/L", "(W - L) / sessions", "95 % interval", "p"]
    click.echo(tabulate([row], header, disable_numparse=True, colalign=("left", "left", *["right"] * 4)))
