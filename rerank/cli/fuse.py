"""`rerank fuse`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from rerank.cli.options import (
    Whole,
    file_option,
    metric_option,
    option,
    output_option,
    path_argument,
    refuse_beside,
    takes,
)
from rerank.errors import InvalidInputError

METHOD = "rrf"
SCORED = "combsum", "combmnz", "weighted", "best"
OF_SUMS = "method", "weights", "qrels", "missing"
WITHOUT_EFFECT = {  # a method or an option -> the options that have no effect beside it
    "--learn": (*OF_SUMS, "hits", "name"),
    "--model": (*OF_SUMS, "norm", "metric", "no_judged"),
    "--method rrf": ("missing", "metric", "no_judged"),
    **{f"--method {method}": ("metric", "no_judged") for method in SCORED[:-1]},
    "--method best": ("no_judged",),
}


@dataclass(frozen=True)
class Options:
    """What `rerank fuse` takes."""

    runs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="RUN RUN [RUN ...]")
    output: Path = output_option("the fused run")
    method: str = option(
        "--method",
        metavar="NAME",
        default=METHOD,
        show_default=True,
        help="Fusion method: rrf, combsum, combmnz, weighted or best.",
    )
    norm: str | None = option(
        "--norm",
        metavar="NAME",
        help="Normalisation of each query's scores: none, minmax, max, sum, zscore or rank; rrf uses none, "
        "`--learn` minmax or zscore.  [default: minmax; none for best]",
    )
    weights: str | None = option(
        "--weights", metavar="X,X,...", help="Weights of the runs for `weighted`, in their order."
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
    learn: Path | None = file_option("--learn", "Learn a fusion model from these judgements.")
    model: Path | None = file_option("--model", "Fuse the runs with this model, written by --learn.")
    no_judged: bool = option("--no-judged", is_flag=True, help="Store no judged queries in the model of `--learn`.")
    metric: str = metric_option("-m", use="that `best` and `--learn` optimise.")


@click.command("fuse", short_help="make one run of several")
@takes(Options)
def command(options: Options) -> None:
    """Combine two or more RUNs into one: reciprocal rank fusion, sums of normalised scores, or a learned fusion.

    `--learn QRELS -o fusion.json` learns weights of at least 0, or trees with many judged queries, and writes a model;
    where comparing queries with judged ones helps, the model holds these with their labels. `--model fusion.json` fuses
    RUNs of other queries with it, in the same order of systems. Weights of `--norm minmax` can be exported for search
    engines (`rerank export`).

    `--method best --qrels QRELS` finds the weights of two runs that give the highest mean of the measure, and prints
    them on stderr; fuse other queries with the printed options. This is training, so evaluating the result on the same
    QRELS overestimates its quality.
    """
    from rerank.files.trec import read_qrels, read_run, write_run

    _check_options(options)
    runs = [read_run(path) for path in options.runs]
    if options.learn is not None:
        from rerank.rankers.fusion import learn_fusion

        qrels = read_qrels(options.learn)
        learn_fusion(runs, qrels, options.metric, norm=options.norm, judged=not options.no_judged).save(options.output)
        return
    if options.model is not None:
        from rerank.rankers.fusion import apply_fusion
        from rerank.rankers.store import read_model

        fused = apply_fusion(read_model(options.model), runs)
    else:
        from rerank.retrieval.fusion import fuse

        fused = fuse(
            runs,
            options.method,
            norm=options.norm,
            weights=None if options.weights is None else parse_weights(options.weights),
            missing=options.missing,
            qrels=None if options.qrels is None else read_qrels(options.qrels),
            metric=options.metric,
        )
    name = options.name or ("fusion" if options.model is not None else options.method)
    write_run(replace(fused if options.hits is None else fused.head(options.hits), name=name), options.output)


def _check_options(options: Options) -> None:
    """Refuse options that have no effect together."""
    if options.learn is not None and options.model is not None:
        raise click.UsageError("--learn: expected it or --model, got both. Learn first, then fuse other queries")
    form = "--learn" if options.learn is not None else "--model" if options.model is not None else ""
    form = form or f"--method {options.method}"
    refuse_beside(form, WITHOUT_EFFECT.get(form, ()))  # a method that is not known is refused with the known ones


def parse_weights(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers separated by commas, got {text!r}. Write e.g. 0.7,0.3."
        ) from None
