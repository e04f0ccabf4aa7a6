"""`rerank demo`."""

from pathlib import Path
from shlex import quote

import click

from rerank.cli.options import folder_option


@click.command("demo")
@folder_option("collection, index, runs, models and figures", default="demo-output", show_default=True)
@click.option(
    "--library",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Folder of the Python files whose docstrings are indexed.  [default: the standard library]",
)
def command(output: Path, library: Path | None) -> None:
    """Index the docstrings of your Python installation, and compare BM25, LambdaMART and LambdaSMART on them.

    LambdaSMART starts from BM25's scores, with a learned weight. Each document is a docstring. Its first paragraph is
    not part of the document, but a topic. The collection is also written to files, with its topics split into two
    parts, and commands to try on it are printed.
    """
    from rerank.experiments.demo import run_demo

    click.echo(run_demo(output, library))
    click.echo(f"\n{next_commands(output)}")


def next_commands(folder: Path) -> str:
    """Return the commands to try on the files of the demo, with the folder's name."""
    lines = [
        "Documents, topics, judgements, index, runs, models and figures per query are there. Next, with a model of the",
        "training topics (.train) and the others, which are held out (.test):",
        "",
        f"cd {quote(str(folder))}",
        "rerank train index topics.train.tsv qrels.train.txt --candidates bm25:100 --no-history --no-estimate "
        "-o model.json",
        "rerank rerank index model.json topics.test.tsv -o better.run",
        "rerank evaluate qrels.test.txt bm25.run better.run -m RR@10 -m nDCG@10",
        "rerank evaluate qrels.test.txt bm25.run better.run --topics topics.test.tsv -o report.html",
        "rerank search index model.json -k 3 read the lines of a compressed file",
        "rerank explain model.json",
        "rerank serve index model.json   # http://127.0.0.1:8080; needs the extra `service`",
    ]
    return "\n".join(lines)
