"""`rerank card`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import is_given, measures_option, option, path_argument, path_type, takes


@dataclass(frozen=True)
class Options:
    """What `rerank card` takes."""

    model: Path = path_argument()
    data: tuple[Path, ...] = path_argument(nargs=-1, metavar="[DATA]...")
    output: Path | None = option(
        "-o",
        "--output",
        type=path_type,
        metavar="FILE",
        help="File: .html for a page, else Markdown.  [default: stdout]",
    )
    measures: tuple[str, ...] = measures_option(("that of the training",))
    use: str = option("--use", metavar="TEXT", default="", help="What the model is for, and what it is not for.")


@click.command("card", short_help="describe a model")
@takes(Options)
def command(given: Options) -> None:
    """Describe MODEL: data, features, measures, constraints, calibration, base, versions and intended use.

    DATA, feature files as for `rerank train`, are described, too, and the model is measured on them: give queries that
    it has not seen.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.runtime.output import check_outputs, whole_file
    from rerank.workflows.card import model_card

    check_outputs({"--output": given.output})
    if not given.data and is_given("measures"):
        raise click.UsageError("-m: expected DATA to measure the model on, got none. Name data, or leave it out")
    with errors_with_files({"data": " ".join(map(str, given.data))}):
        data = read_data(given.data) if given.data else None
        card = model_card(given.model, data, measures=given.measures, use=given.use)
    if given.output is None:
        click.echo(card, nl=False)
        return
    with whole_file(given.output) as file:
        file.write(card.to_html() if given.output.suffix == ".html" else card.to_markdown())
