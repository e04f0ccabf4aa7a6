"""`rerank fuse`."""

from dataclasses import replace
from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    metric_option,
    output_option,
    path_argument,
    path_option,
    read_if,
    refuse_beside,
)
from rerank.errors import InvalidInputError

METHOD = "rrf"
OF_SUMS = "method", "weights", "qrels", "missing"
WITHOUT_EFFECT = {  # a method or an option -> the options that have no effect beside it
    "--learn": OF_SUMS,
    "--model": (*OF_SUMS, "norm", "metric", "no_judged"),
    "--method rrf": ("missing", "metric", "no_judged"),
    **dict.fromkeys(("--method combsum", "--method combmnz", "--method weighted"), ("metric", "no_judged")),
    "--method best": ("no_judged",),
}


@click.command("fuse")
@path_argument("runs", nargs=-1, required=True, metavar="RUN RUN [RUN ...]")
@output_option("the fused run")
@click.option(
    "--method",
    metavar="NAME",
    default=METHOD,
    show_default=True,
    help="Fusion method: rrf, combsum, combmnz, weighted or best.",
)
@click.option(
    "--norm",
    metavar="NAME",
    help="Normalisation of each query's scores: none, minmax, max, sum, zscore or rank; rrf uses none, `--learn` "
    "minmax or zscore.  [default: minmax; none for best]",
)
@click.option("--weights", metavar="X,X,...", help="Weights of the runs for `weighted`, in their order.")
@click.option(
    "--missing",
    type=click.Choice(["zero", "lowest"]),
    help="Score of a document that a run does not contain: 0, or the run's lowest score for the query.  [default: "
    "zero; lowest for best]",
)
@path_option("--qrels", text="Judgements for which `best` optimises the weights.")
@path_option("--learn", text="Learn a fusion model from these judgements.")
@path_option("--model", text="Fuse the runs with this model, written by --learn.")
@click.option("--no-judged", is_flag=True, help="Store no judged queries in the model of `--learn`.")
@metric_option("-m", use="that `best` and `--learn` optimise.")
def command(
    runs: tuple[Path, ...],
    output: Path,
    method: str,
    norm: str | None,
    weights: str | None,
    missing: str | None,
    qrels: Path | None,
    learn: Path | None,
    model: Path | None,
    no_judged: bool,
    metric: str,
) -> None:
    """Combine two or more RUNs into one: reciprocal rank fusion, sums of normalised scores, or a learned fusion.

    `--learn QRELS -o fusion.json` learns weights of at least 0, or trees with many judged queries, and writes a model;
    where comparing queries with judged ones helps, the model holds these with their labels. `--model fusion.json` fuses
    RUNs of other queries with it, in the same order of systems. Weights of `--norm minmax` can be exported for search
    engines (`rerank export`).

    `--method best --qrels QRELS` finds the weights of two runs that give the highest mean of the measure, and prints
    them on stderr; fuse other queries with the printed options. This is training, so evaluating the result on the same
    QRELS overestimates its quality.
    """
    if learn is not None and model is not None:
        raise click.UsageError("--learn: expected it or --model, got both. Learn first, then fuse other queries")
    form = "--learn" if learn is not None else "--model" if model is not None else f"--method {method}"
    refuse_beside(form, WITHOUT_EFFECT.get(form, ()))  # a method that is not known is refused with the known ones
    read = [rerank.read_run(path) for path in runs]
    if learn is not None:
        rerank.learn_fusion(read, rerank.read_qrels(learn), metric, norm=norm, judged=not no_judged).save(output)
    elif model is not None:
        rerank.write_run(rerank.apply_fusion(model, read), output)
    else:
        fused = rerank.fuse(
            read,
            method,
            norm=norm,
            weights=read_if(_numbers, weights),
            missing=missing,
            qrels=read_if(rerank.read_qrels, qrels),
            metric=metric,
        )
        rerank.write_run(replace(fused, name=method), output)


def _numbers(text: str) -> list[float]:
    """Return the numbers of `0.7,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--weights: expected numbers separated by commas, got {text!r}. Write e.g. 0.7,0.3."
        ) from None
