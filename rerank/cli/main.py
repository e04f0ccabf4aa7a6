"""`rerank VERB`: finds the verb's file, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from importlib import import_module

import click

from rerank import __version__
from rerank.errors import RerankError
from rerank.progress import show_progress

VERBS = {
    "index": "build a Lucene index, and beside it what feature extraction needs",
    "retrieve": "write BM25's top k as a TREC run",
    "features": "write the features of a run's query-document pairs",
    "train": "train a ranker, cold or from a base ranker",
    "rank": "order rows whose features are there already",
    "rerank": "retrieve (or take a run), extract and reorder in one go",
    "evaluate": "measure runs against judgements, as trec_eval does",
    "experiment": "run a whole study: k folds by query, held-out runs, a table with significance",
    "demo": "run the same study on the docstrings of your own Python library",
}


class Verbs(click.Group):
    """Loads a verb's module only when that verb is called: help costs no Numba and no Java."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a study uses them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a verb's command; None where there is none of this name."""
        if name not in VERBS:
            return None
        command: click.Command = import_module(f"rerank.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without loading them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rerank")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on stderr.")
@click.pass_context
def cli(ctx: click.Context, quiet: bool) -> None:
    """BM25's top n from a Lucene index, reordered by a model that optimises the measure you report."""
    logging.basicConfig(
        level=logging.WARNING if quiet else logging.INFO, format="rerank: %(message)s", stream=sys.stderr
    )
    ctx.with_resource(show_progress(not quiet))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 the user's mistake, 1 a fault of ours, 130 after Ctrl-C."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code; a fault of ours comes with its traceback."""
    try:
        code = cli.main(arguments, prog_name="rerank", standalone_mode=False)
    except click.exceptions.Abort:
        return _stop("interrupted", 130)
    except KeyboardInterrupt:
        return _stop("interrupted", 130)
    except click.ClickException as error:
        hint = getattr(error, "ctx", None)
        verb = f" (see `{hint.command_path} -h`)" if hint else ""
        return _stop(" ".join(error.format_message().split()) + verb, 2)
    except RerankError as error:
        return _stop(str(error), 2)
    except BrokenPipeError:  # the reader of our stdout has gone: nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


def _stop(message: str, code: int) -> int:
    click.echo(f"rerank: {message}", err=True)
    return code
