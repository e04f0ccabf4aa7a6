"""`rerank fuse`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from rerank.cli.options import Whole, file_option, output_option, path_type
from rerank.errors import InvalidInputError


@click.command("fuse", short_help="make one run of several")
@click.argument("runs", nargs=-1, required=True, type=path_type, metavar="RUN RUN [RUN ...]")
@output_option("the fused run")
@click.option(
    "--method",
    metavar="NAME",
    default="rrf",
    show_default=True,
    help="Fusion method: rrf, combsum, combmnz, weighted or best.",
)
@click.option(
    "--norm",
    metavar="NAME",
    help="Normalization of the scores of each run and query: none, minmax, max, sum, zscore or rank; not used by rrf.  "
    "[default: minmax; none for best]",
)
@click.option("--weights", metavar="X,X,...", help="A number for each run, for `weighted`.")
@click.option("--rrf-k", "k", type=float, metavar="X", default=60.0, show_default=True, help="RRF's constant.")
@click.option(
    "--missing",
    type=click.Choice(["zero", "lowest"]),
    help="Score of a document that is not in a run: 0, or the lowest score of the query in that run.  "
    "[default: zero; lowest for best]",
)
@click.option("-k", "--hits", type=Whole(), metavar="N", help="Number of documents per query.  [default: all]")
@click.option("--name", metavar="TAG", help="Name of the new run.  [default: the method]")
@file_option("--qrels", "Judgements on which `best` optimises the weights.")
@click.option(
    "-m",
    "--metric",
    metavar="MEASURE",
    default="nDCG@10",
    show_default=True,
    help="Measure that `best` optimises.",
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

    `--method best --qrels QRELS` finds the weights alpha and 1 - alpha of two runs with the highest mean of the
    measure, and prints them on stderr. This is training: results on the same QRELS are biased. Choose the weights on
    the qrels of other queries (dev), then fuse the runs of the test queries with the printed options:
    `--method weighted --weights A,B --norm none --missing lowest`.
    """
    from rerank.combination.fusion import fuse
    from rerank.files.trec import read_qrels, read_run, write_run

    numbers = None if weights is None else parse_weights(weights)
    loaded = [read_run(path) for path in runs]
    judgements = None if qrels is None else read_qrels(qrels)
    fused = fuse(
        loaded,
        method,
        norm=norm,
        weights=numbers,
        k=k,
        missing=missing,
        qrels=judgements,
        metric=metric,
    )
    fused = replace(fused if hits is None else fused.head(hits), name=name or method)
    write_run(fused, output)


def parse_weights(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers separated by commas, got {text!r}. Write e.g. 0.7,0.3."
        ) from None
