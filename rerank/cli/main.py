"""`rerank VERB`: imports the module of the verb, runs it, and turns errors into one line and an exit code."""

import io
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import shell_complete

from rerank.errors import RerankError, check_known, log
from rerank.runtime.output import FULL, WRITE_ERRORS, reason_of
from rerank.runtime.progress import show_progress
from rerank.runtime.threads import at_most_threads
from rerank.version import __version__

VERBS = {
    "index": "build a Lucene index, or set the language of one that Anserini built",
    "vectors": "learn vectors of terms and documents from an index",
    "retrieve": "retrieve documents with BM25 or other sources, and write a TREC run",
    "features": "compute the features of the query-document pairs of a run",
    "history": "store judged queries with an index, to compute features of similar queries",
    "judge": "label documents in the terminal or with your own function",
    "clicks": "convert a log of impressions and clicks to labels",
    "train": "train a ranker on judgements, optionally starting from another ranker",
    "rank": "rank documents whose features are in a file",
    "rerank": "retrieve documents, or read a run, and reorder them with a model",
    "search": "run one query and print titles and matching text",
    "explain": "show why one document is ranked above another, or describe a model",
    "serve": "start an HTTP search service with a search page",
    "export": "convert a model to the format of another library or search engine",
    "import": "convert a model of another library",
    "evaluate": "evaluate runs against judgements, as trec_eval does, or against clicks; write a report",
    "fuse": "combine several runs into one, by rank or by score",
    "compile": "compile all kernels in advance, so that other verbs start faster",
    "doctor": "check judgements, runs, topics, features and indexes for problems",
    "experiment": "compare rankers by cross-validation, with a table of significance tests",
    "demo": "run an example experiment on Python's docstrings",
}


_OF_ANOTHER_KIND = re.compile(  # errors that arguments in the wrong order cause, up to the remedy
    r"(?P<path>.+?)(?::(?P<line>\d+))?: expected (?P<expected>\d+ columns|a model file|a folder (?:with|of)|a \w+ file|"
    r"a JSON object|an id as|one of the keys|a name that ends|a finite number as label|`qid:)\b.*?, "
    r"got .+?(?=\. [A-Z]|\.$)"
)
_EXTRA = "Got unexpected extra argument"  # click's words
DATA = "ranking data"
_COMPLETION = "_RERANK_COMPLETE"  # environment variable by which a shell asks for completions


class Verbs(click.Group):
    """Imports the module of a verb only when that verb is called, so that help imports neither Numba nor Java."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of a typical study."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of a verb; None for an option, and for an incomplete word that a shell completes."""
        if name.startswith("-") or (name not in VERBS and ctx.resilient_parsing):
            return None
        check_known("verb", name, VERBS)
        command: click.Command = import_module(f"rerank.cli.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a verb and its arguments; refuse an option that takes one value and is given twice."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            own = click.Context(command, ctx, name, resilient_parsing=True, **command.context_settings)
            given = Counter(command.make_parser(own).parse_args(list(rest))[2])
            twice = next(
                (option for option in given if given[option] > 1 and not getattr(option, "multiple", True)), None
            )
            if twice is not None:
                raise click.UsageError(f"{twice.opts[0]}: expected it once, got it again. Leave one out", own)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB [ARGUMENTS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="rerank")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no messages except warnings.")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Number of threads.  [default: all cores]")
@click.pass_context
def cli(ctx: click.Context, quiet: bool, threads: int | None) -> None:
    """Retrieve documents from a Lucene index, and reorder them with a trained ranking model.

    `rerank VERB -h` describes the arguments and options of a verb. In bash, eval "$(_RERANK_COMPLETE=bash_source
    rerank)" completes verbs and options; zsh and fish have zsh_source and fish_source.
    """
    ctx.with_resource(_log_to_stderr(logging.WARNING if quiet else logging.INFO))
    ctx.with_resource(show_progress(not quiet))
    ctx.with_resource(at_most_threads(threads))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 success, 2 user error, 1 internal error, 130 after Ctrl-C."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code; an internal error is shown with its traceback."""
    argv = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # UTF-8 in any locale, and file names with their original bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        if _COMPLETION in os.environ:
            return shell_complete(cli, {}, "rerank", _COMPLETION, os.environ[_COMPLETION])
        with cli.make_context("rerank", list(argv) or ["--help"]) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as request:
        return request.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _stop("interrupted", 130)
    except click.ClickException as error:
        return _stop(_usage(error), 2)
    except RerankError as error:
        return _stop(_as_another_file(error), 2)
    except BrokenPipeError:  # the reader of stdout has closed it
        _drop_stdout()
    except OSError as fault:
        return _stop(_refusal(fault), 2)
    except MemoryError as error:
        text = " ".join(str(error).split()).rstrip(".") or "none left"
        return _stop(f"memory: expected enough for the input, got: {text}. Give less, or use a larger machine.", 2)
    except RecursionError as error:
        return _stop(f"internal error: expected calls that end, got: {error}. Report it with the command.", 1)
    return 0


def _open_closed_streams() -> None:
    """Open the null device for closed standard streams; otherwise, another file would get their descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextmanager
def _log_to_stderr(level: int) -> Iterator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("rerank: %(message)s"))
    before, propagated = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate = bool(logging.getLogger().handlers)  # a library that adds one later would write each line twice
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        log.propagate = propagated


def _kind(path: Path) -> str | None:
    """Return what a folder, or the first line of a file, looks like, e.g. "an index"; None if it is not recognised."""
    if path.is_dir():
        return "an index" if any(path.glob("segments_*")) or any(path.glob("shard-*")) else None
    if not path.is_file():
        return None
    with open(path, encoding="utf8", errors="replace") as file:
        line = file.readline(1_000_000)
    columns = line.split()
    if line.startswith('{"format": "rerank-model"'):
        return "a model"
    if line.startswith("# features:") or " qid:" in line:
        return DATA
    if len(columns) == 6 and columns[3].isdigit():
        return "a run"
    if len(columns) == 4 and columns[3].lstrip("-").isdigit():
        return "judgements"
    is_topic = line.partition("\t")[2].strip() and line.count("\t") == 1 and len(columns) > 2
    return "topics" if is_topic or line.lower().startswith("<top") else None


def _usage(error: click.ClickException) -> str:
    """Return click's message in one line, with the command that shows help."""
    context = getattr(error, "ctx", None)
    hint = f" (see `{context.command_path} -h`)" if context else ""
    message = " ".join(error.format_message().split()).rstrip(".")
    if context and message.startswith(_EXTRA) and any("-o" in option.opts for option in context.command.params):
        message = f"{message}. Name the output by -o"
    return message + hint


def _as_another_file(error: RerankError) -> str:
    """Return the message of an error; if its file is of another kind, the remedy says so."""
    message = str(error)
    refused = _OF_ANOTHER_KIND.match(message)
    kind = None if refused is None else _kind(Path(refused["path"]))
    if refused is None or kind is None or kind.split()[-1] in refused["expected"]:
        return message
    if refused["line"] not in (None, "1") and kind != DATA:  # ranking data may begin with comments
        return message
    if kind == DATA and refused["expected"] in ("a finite number as label", "`qid:"):  # an error inside ranking data
        return message
    return f"{refused[0]}. It looks like {kind}: check the arguments and their order."


def _refusal(error: OSError) -> str:
    """Return the message for an error of the operating system about a path, standard output or the disk."""
    reason = reason_of(error)
    if error.filename is not None:
        return f"{error.filename}: expected a path that can be used, got: {reason}. Check it or name another."
    if error.errno not in WRITE_ERRORS:
        raise error
    if error.errno not in FULL:
        return f"disk: expected files that can be read and written, got: {reason}. Check the disk."
    _drop_stdout()
    return f"stdout: expected an output that can be written, got: {reason}. Write elsewhere."


def _drop_stdout() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(message: str, code: int) -> int:
    click.echo(f"rerank: {message}", err=True)
    return code
