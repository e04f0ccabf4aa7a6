"""`rerank fuse`."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click

from rerank.cli.options import file_option, output_option, path_type
from rerank.errors import InvalidInputError


@cache
def fusion_names(mark: str) -> tuple[str, ...]:
    """Return the names entered under `@method` or `@norm`, read from their source: help must not wait for NumPy."""
    spec = find_spec("rerank.combination.fusion")
    source = Path(spec.origin).read_text("utf8") if spec and spec.origin else ""
    return tuple(re.findall(rf'^@{mark}\("([\w-]+)"\)', source, re.MULTILINE))


@click.command("fuse", short_help="make one run of several")
@click.argument("runs", nargs=-1, required=True, type=path_type, metavar="RUN RUN [RUN ...]")
@output_option("the fused run")
@click.option(
    "--method",
    type=click.Choice(fusion_names("method")),
    default="rrf",
    show_default=True,
    help="How documents are scored anew.",
)
@click.option(
    "--norm",
    type=click.Choice(fusion_names("norm")),
    help="What makes the scores of different runs alike, per query.  "
    "[default: min-max; none for best; rrf looks at ranks alone]",
)
@click.option("--weights", metavar="X,X,...", help="A number for each run, for `weighted`.")
@click.option("--rrf-k", "k", type=float, metavar="X", default=60.0, show_default=True, help="RRF's constant.")
@click.option(
    "--missing",
    type=click.Choice(["zero", "lowest"]),
    help="Score, by a run that does not hold it, of a document: 0, or the lowest of the query there.  "
    "[default: zero; lowest for best]",
)
@click.option(
    "-k", "--hits", type=click.IntRange(min=1), metavar="N", help="Most documents of a query.  [default: all]"
)
@click.option("--name", metavar="TAG", help="Name of the new run.  [default: the method]")
@file_option("--qrels", "Judgements that `best` chooses the weights on.")
@click.option(
    "-m",
    "--metric",
    metavar="MEASURE",
    default="nDCG@10",
    show_default=True,
    help="Measure that `best` chooses the weights by.",
)
def command(
    runs: tuple[Path, ...],
    output: Path,
    method: str,
    norm: str | None,
    weights: str | None,
    k: float,
    missing: str | None,
    hits: int | None,
    name: str | None,
    qrels: Path | None,
    metric: str,
) -> None:
    """Write one run of two or more RUNs: reciprocal rank fusion, or sums of normalised scores.

    `--method best --qrels QRELS` finds the weights alpha and 1 - alpha of two runs for which no other alpha has a
    better mean of the measure, and says them on stderr. That is training on QRELS: a figure reported on the same
    QRELS is too good. Choose the weights on the qrels of other queries (dev), then fuse the runs to be reported (test)
    with the options said there: `--method weighted --weights A,B --norm none --missing lowest`.
    """
    from rerank.combination.fusion import fuse
    from rerank.files.trec import read_qrels, read_run, write_run

    given = None if weights is None else parse_weights(weights)
    records = [read_run(path) for path in runs]
    judgements = None if qrels is None else read_qrels(qrels)
    fused = fuse(
        records,
        method,
        norm=norm,
        weights=given,
        k=k,
        missing=missing,
        hits=hits,
        name=name,
        qrels=judgements,
        metric=metric,
    )
    write_run(fused, output)


def parse_weights(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers parted by commas, got {text!r}. Write e.g. 0.7,0.3."
        ) from None
