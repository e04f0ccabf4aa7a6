"""`rerank fuse`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from rerank.cli.options import Whole, file_option, metric_option, option, output_option, path_argument, takes
from rerank.errors import InvalidInputError


@dataclass(frozen=True)
class Options:
    """What `rerank fuse` takes."""

    runs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="RUN RUN [RUN ...]")
    output: Path = output_option("the fused run")
    method: str = option(
        "--method",
        metavar="NAME",
        default="rrf",
        show_default=True,
        help="Fusion method: rrf, combsum, combmnz, weighted or best.",
    )
    norm: str | None = option(
        "--norm",
        metavar="NAME",
        help="Normalisation of each query's scores: none, minmax, max, sum, zscore or rank; rrf uses none.  "
        "[default: minmax; none for best]",
    )
    weights: str | None = option(
        "--weights", metavar="X,X,...", help="Weights of the runs for `weighted`, in their order."
    )
    k: float = option(
        "--rrf-k",
        type=float,
        metavar="X",
        default=60.0,
        show_default=True,
        help="Constant k of reciprocal rank fusion.",
    )
    missing: str | None = option(
        "--missing",
        type=click.Choice(["zero", "lowest"]),
        help="Score of a document that a run does not contain: 0, or the run's lowest score for the query.  "
        "[default: zero; lowest for best]",
    )
    hits: int | None = option(
        "-k", "--hits", type=Whole(), metavar="N", help="Documents to keep per query.  [default: all]"
    )
    name: str | None = option("--name", metavar="TAG", help="Tag of the fused run.  [default: the method]")
    qrels: Path | None = file_option("--qrels", "Judgements for which `best` optimises the weights.")
    metric: str = metric_option("-m", use="that `best` optimises.")


@click.command("fuse", short_help="make one run of several")
@takes(Options)
def command(given: Options) -> None:
    """Combine two or more RUNs into one, by reciprocal rank fusion or by summing normalised scores.

    `--method best --qrels QRELS` finds the weights of two runs that give the highest mean of the measure, and prints
    them on stderr. This is training, so evaluating the result on the same QRELS overestimates its quality. Choose the
    weights on other queries (e.g. the dev set), then fuse the runs of the test queries with the printed options:
    `--method weighted --weights A,B --norm none --missing lowest`.
    """
    from rerank.combination.fusion import fuse
    from rerank.files.trec import read_qrels, read_run, write_run

    weights = None if given.weights is None else parse_weights(given.weights)
    fused = fuse(
        [read_run(path) for path in given.runs],
        given.method,
        norm=given.norm,
        weights=weights,
        k=given.k,
        missing=given.missing,
        qrels=None if given.qrels is None else read_qrels(given.qrels),
        metric=given.metric,
    )
    fused = replace(fused if given.hits is None else fused.head(given.hits), name=given.name or given.method)
    write_run(fused, given.output)


def parse_weights(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers separated by commas, got {text!r}. Write e.g. 0.7,0.3."
        ) from None
