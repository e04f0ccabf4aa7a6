"""`rerank fuse`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import output_option, path_type
from rerank.errors import InvalidInputError


@click.command("fuse", short_help="make one run of several")
@click.argument("runs", nargs=-1, required=True, type=path_type, metavar="RUN RUN [RUN ...]")
@output_option("the fused run")
@click.option(
    "--method",
    type=click.Choice(["rrf", "combsum", "combmnz", "weighted"]),
    default="rrf",
    show_default=True,
    help="How documents are scored anew.",
)
@click.option(
    "--norm",
    type=click.Choice(["none", "min-max", "max", "sum", "z-score", "rank"]),
    help="What makes the scores of different runs alike, per query.  [default: min-max; rrf looks at ranks alone]",
)
@click.option("--weights", metavar="X,X,...", help="A number for each run, for `weighted`.")
@click.option("--rrf-k", "k", type=float, metavar="X", default=60.0, show_default=True, help="RRF's constant.")
@click.option(
    "--missing",
    type=click.Choice(["zero", "lowest"]),
    default="zero",
    show_default=True,
    help="Score, by a run that does not hold it, of a document: 0, or the lowest of the query there.",
)
@click.option(
    "-k", "--hits", type=click.IntRange(min=1), metavar="N", help="Most documents of a query.  [default: all]"
)
@click.option("--name", metavar="TAG", help="Name of the new run.  [default: the method]")
def command(
    runs: tuple[Path, ...],
    output: Path,
    method: str,
    norm: str | None,
    weights: str | None,
    k: float,
    missing: str,
    hits: int | None,
    name: str | None,
) -> None:
    """Write one run of two or more RUNs: reciprocal rank fusion, or sums of normalised scores."""
    from rerank.files.trec import read_run, write_run
    from rerank.rankers.fusion import fuse

    given = None if weights is None else parse_weights(weights)
    records = [read_run(path) for path in runs]
    fused = fuse(records, method, norm=norm, weights=given, k=k, missing=missing, hits=hits, name=name)
    write_run(fused, output)


def parse_weights(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers parted by commas, found {text!r}; write e.g. 0.7,0.3."
        ) from None
