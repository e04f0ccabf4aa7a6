"""`rerank serve`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    FUNCTIONS,
    Decorator,
    Number,
    Whole,
    functions_option,
    language_option,
    path_type,
)
from rerank.errors import InvalidInputError, MissingFileError, RerankError

if TYPE_CHECKING:
    from rerank.service.settings import Settings

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "orjson")


def _options() -> Decorator:
    """Return the options of the address, the files and the limits."""
    positive, seconds = Whole(), Number(0.001, 3600.0)
    options = (
        click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."),
        click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, metavar="N",
                     help="Port; 0 is a free one."),
        click.option("--demo", is_flag=True, help="Serve the docstrings of your Python library, and a model of them."),
        click.option("--workers", type=positive, default=1, show_default=True, metavar="N", help="Processes."),
        click.option(
            "--threads", type=positive, metavar="N", help="Threads of each process; by default cores / workers."
        ),
        click.option("--token-file", type=path_type, metavar="FILE", help="File of the token that requests carry."),
        click.option("--no-token", is_flag=True, help="Listen on other addresses than the loopback without a token."),
        click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Further name of a local service."),
        click.option("--model-name", "model_names", multiple=True, metavar="NAME",
                     help="What requests call the model; repeat it for several names. By default its file's name."),
        click.option("--text-field", metavar="NAME", default="contents", show_default=True,
                     help="Field of INDEX that plain texts of /rerank fill."),
        click.option("--other-index", is_flag=True, help="Serve a model that was trained on another index."),
        click.option("--log-queries", type=path_type, metavar="FOLDER", help="Append queries and candidates to files."),
        click.option("--log-features", is_flag=True, help="Append their features, too."),
        click.option("--deadline", type=seconds, default=10.0, show_default=True, metavar="S",
                     help="Seconds in which a request is answered; 503 after that."),
        click.option("--queue", type=positive, default=256, show_default=True, metavar="N",
                     help="Requests of a process that wait; 429 beyond that."),
        click.option("--max-documents", type=positive, default=1000, show_default=True, metavar="N",
                     help="Documents of /rerank, and candidates of a query of /search."),
        click.option("--max-body", type=positive, default=8 << 20, show_default=True, metavar="BYTES",
                     help="Size of a request's body."),
    )  # fmt: skip

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command("serve", short_help="an HTTP service and a page to search with")
@click.argument("index", type=path_type, required=False)
@click.argument("model", type=path_type, required=False)
@_options()
@functions_option()
@language_option()
@click.pass_context
def command(context: click.Context, /, index: Path | None, model: Path | None, demo: bool, **options: Any) -> None:
    """Answer searches of INDEX, reordered by MODEL, over HTTP; BM25's order without MODEL.

    The page is at /, the interface at /openapi.json. SIGTERM ends the service after the requests that run, SIGHUP or a
    new file MODEL takes up a new model. Needs the extra `service`.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise RerankError(
            f"serve: expected {', '.join(_NEEDED)}, got no {' and no '.join(missing)}. "
            "Run `pip install 'lucene-rerank[lucene,service]'`."
        )
    if demo == (index is not None):
        raise click.UsageError("serve: expected INDEX or --demo, got both or neither. Name an index.")
    token = _token(options["token_file"], options["no_token"], options["host"])
    if demo:
        from rerank.workflows.demo import demo_files

        index, model = demo_files()
    if model is not None and not model.is_file():
        raise MissingFileError(model, "a model file")
    from rerank.service.server import serve

    functions = tuple(context.meta.get(FUNCTIONS, ()))
    serve(_settings(index or Path(), model, token, functions, options))


def _token(file: Path | None, without: bool, host: str) -> str | None:
    """Return the token; refuse an address that others reach without one."""
    from rerank.service.settings import is_loopback

    if file is not None:
        token = file.read_text("utf8", "replace").strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidInputError(
                f"{file}: expected a token of printable ASCII characters, got none. Write one line."
            )
        return token
    if without or is_loopback(host):
        return None
    raise InvalidInputError(
        f"--host: expected --token-file for an address that others reach, got {host} without one. "
        "Add --token-file FILE, or --no-token."
    )


def _settings(
    index: Path, model: Path | None, token: str | None, functions: tuple[Path, ...], options: dict[str, Any]
) -> Settings:
    """Return the settings of the service."""
    from rerank.runtime.threads import thread_count
    from rerank.service.settings import Limits, Settings

    workers = options["workers"]
    if options["log_features"] and options["log_queries"] is None:
        raise InvalidInputError("--log-features: expected --log-queries beside it, got none. Add --log-queries FOLDER.")
    limits = Limits(
        body_bytes=options["max_body"],
        documents=options["max_documents"],
        waiting=options["queue"],
        deadline=options["deadline"],
    )
    names = (
        "model_names",
        "language",
        "other_index",
        "text_field",
        "host",
        "port",
        "log_queries",
        "log_features",
    )
    return Settings(
        index=index,
        model=model,
        hosts=options["hosts"],
        token=token,
        workers=workers,
        threads=options["threads"] or max(1, thread_count(None) // workers),
        functions=functions,
        limits=limits,
        **{name: options[name] for name in names},
    )
