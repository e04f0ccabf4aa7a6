"""`rerank value`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.clicks import LogOptions
from rerank.cli.options import Number, Whole, option, path_argument, takes

if TYPE_CHECKING:
    from rerank.clicks.off_policy import OffPolicyValue


@dataclass(frozen=True)
class Options(LogOptions):
    """What `rerank value` takes."""

    clicks: Path = path_argument(metavar="LOG")
    runs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="RUN [RUN ...]")
    hits: int = option(
        "-k", "--hits", type=Whole(), metavar="N", default=10, show_default=True, help="Documents of a run that count."
    )
    clip: float = option(
        "--clip",
        type=Number(0.001, 1.0),
        metavar="X",
        default=0.05,
        show_default=True,
        help="Least probability of examination by which a click is divided.",
    )
    most_unseen: float = option(
        "--most-unseen",
        type=Number(0.0, 1.0),
        metavar="X",
        default=0.5,
        show_default=True,
        help="Refuse a run of whose first documents a larger share was never shown.",
    )
    least_effective: float = option(
        "--least-effective",
        type=Number(0.0),
        metavar="X",
        default=100.0,
        show_default=True,
        help="Refuse a value that rests on fewer effective clicks.",
    )
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


@click.command("value", short_help="value of runs on a click log")
@takes(Options)
def command(given: Options) -> None:
    """Estimate what each RUN would be worth to the searchers of LOG, from 0 to 1, without judgements.

    Each click counts the inverse of the probability that its position was examined, times 1 / log2(1 + rank) in the
    run. A value is refused, with the reason, where the log says too little of the run.
    """
    from rerank.clicks.off_policy import ValueRules, off_policy_value
    from rerank.files.trec import read_run

    rules = ValueRules(given.hits, given.clip, given.most_unseen, given.least_effective, seed=given.seed)
    clicks = given.read(given.clicks)
    values = {str(path): off_policy_value(clicks, read_run(path), rules) for path in given.runs}
    if given.form == "json":
        click.echo(json.dumps({path: _plain(value) for path, value in values.items()}, indent=1))
        return
    click.echo(_table(values))


def _plain(value: OffPolicyValue) -> dict[str, object]:
    return {name: None if number != number else number for name, number in asdict(value).items()}


def _table(values: dict[str, OffPolicyValue]) -> str:
    from tabulate import tabulate

    rows = [
        [
            path,
            "refused" if each.refusal else f"{each.value:.4f}",
            "" if each.refusal else f"{each.low:.4f} to {each.high:.4f}",
            f"{each.effective_clicks:.0f}",
            f"{each.unseen:.1%}",
            each.n_queries,
        ]
        for path, each in values.items()
    ]
    header = ["run", "value", "95 % interval", "effective clicks", "never shown", "queries"]
    table = tabulate(rows, header, disable_numparse=True, colalign=("left", *["right"] * 5))
    refusals = [f"{path}: {each.refusal}." for path, each in values.items() if each.refusal]
    return "\n".join([table, *refusals])
