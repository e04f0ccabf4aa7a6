"""`rerank train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.options import output_option, path_type, read_base, threads_option

# Constructor arguments that have an option here; the defaults stand in the ranker's class alone.
PARAMETERS: dict[str, type] = {
    "n_estimators": int,
    "learning_rate": float,
    "num_leaves": int,
    "max_depth": int,
    "min_child_samples": int,
    "min_child_weight": float,
    "min_split_gain": float,
    "reg_lambda": float,
    "max_bin": int,
    "subsample": float,
    "colsample_bytree": float,
    "truncation_level": int,
    "sigma": float,
    "normalize": bool,
    "early_stopping_rounds": int,
    "random_state": int,
}


def parameter_options(command: Any) -> Any:
    """Add an option for each of a ranker's hyper-parameters, named as in Python."""
    for name, kind in reversed(PARAMETERS.items()):
        command = click.option(f"--{name.replace('_', '-')}", name, type=kind, help=f"`{name}` of the ranker.")(command)
    return command


def given_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the hyper-parameters that were given."""
    return {name: options[name] for name in PARAMETERS if options[name] is not None}


@click.command("train", short_help="train a ranker")
@click.argument("data", type=path_type)
@output_option("the model")
@click.option("--validate", type=path_type, help="Data on which early stopping watches the metric.")
@click.option("--ranker", default="lambdamart", show_default=True, help="The learner.")
@click.option("--metric", default="nDCG@10", show_default=True, help="Measure to train for, by ir_measures' name.")
@click.option("--base", help="Start from feature:NAME, run:FILE or model:FILE (LambdaSMART).")
@parameter_options
@threads_option()
def command(
    data: Path,
    output: Path,
    validate: Path | None,
    ranker: str,
    metric: str,
    base: str | None,
    threads: int | None,
    **options: Any,
) -> None:
    """Train a ranker on DATA (.svm, .txt, either with .gz, or .npz)."""
    from rerank.files.data import read_data
    from rerank.metrics.registry import parse_measure
    from rerank.rankers.registry import ranker_class

    parse_measure(metric)
    model = ranker_class(ranker)(metric=metric, base=read_base(base), n_jobs=threads, **given_parameters(options))
    model.fit(read_data(data), eval_set=None if validate is None else read_data(validate))
    model.save(output)
