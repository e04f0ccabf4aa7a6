"""`rerank serve`."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    Number,
    Whole,
    file_option,
    functions_option,
    limits_option,
    option,
    path_argument,
    takes,
)
from rerank.errors import InvalidInputError, MissingFileError, RerankError

if TYPE_CHECKING:
    from rerank.service.settings import Settings

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "orjson")
LIMITS: dict[str, tuple[str, Number | Whole]] = {  # of --limit: the field of `Limits`, and its numbers
    "deadline": ("deadline", Number(0.001, 3600.0)),
    "queue": ("waiting", Whole()),
    "documents": ("documents", Whole()),
    "body": ("body_bytes", Whole()),
}


@dataclass(frozen=True)
class Options:
    """What `rerank serve` takes."""

    index: Path | None = path_argument(required=False)
    models: tuple[Path, ...] = path_argument(nargs=-1, metavar="[MODEL ...]")
    host: str = option(
        "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."
    )
    port: int = option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8080,
        show_default=True,
        metavar="N",
        help="Port; 0 chooses a free one.",
    )
    demo: bool = option(
        "--demo",
        is_flag=True,
        help="Serve an example: the docstrings of your Python installation, with a model trained on them.",
    )
    workers: int = option(
        "--workers", type=Whole(), default=1, show_default=True, metavar="N", help="Number of processes."
    )
    threads: int | None = option(
        "--threads", type=Whole(), metavar="N", help="Threads per process.  [default: cores / workers]"
    )
    token_file: Path | None = file_option(
        "--token-file", "File with the token that requests must send (Authorization: Bearer)."
    )
    no_token: bool = option(
        "--no-token", is_flag=True, help="Allow an address other than the loopback without a token."
    )
    hosts: tuple[str, ...] = option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="Host name by which requests may address a local service, beside localhost. Repeatable.",
    )
    model_names: tuple[str, ...] = option(
        "--model-name",
        multiple=True,
        metavar="NAME",
        help="Name of the model in requests. Repeatable.  [default: the name of its file]",
    )
    text_field: str | None = option(
        "--text-field",
        metavar="NAME",
        help="Field of INDEX that plain texts of /rerank are read as.  [default: the longest]",
    )
    other_index: bool = option("--other-index", is_flag=True, help="Allow a model that was trained on another index.")
    log: str | None = option(
        "--log",
        metavar="KIND:FOLDER",
        help="Log queries, candidates, what is shown and clicked (/events) to FOLDER. KIND is queries; features: also "
        "the features; hashed: the features, and hashes in place of the texts of queries.",
    )
    limits: dict[str, Any] = limits_option(
        LIMITS,
        "deadline=10 (seconds per request, then 503), queue=256 (waiting requests, then 429), documents=1000 (per "
        "request), body=8388608 (bytes per request)",
    )
    functions: tuple[Path, ...] = functions_option()


@click.command("serve", short_help="start an HTTP search service")
@takes(Options)
def command(options: Options) -> None:
    """Start an HTTP service that searches INDEX and ranks with MODEL, or without judgements if MODEL is not given.

    Requests can name further MODELs, and compare two on live searches. The search page is at /, the description of the
    interface at /openapi.json. On SIGTERM, the service finishes running requests and stops. On SIGHUP, or when a file
    MODEL changes, it loads the new model. Needs the extra `service`.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise RerankError(
            f"serve: expected {', '.join(_NEEDED)}, got no {' and no '.join(missing)}. "
            "Run `pip install 'lucene-rerank[lucene,service]'`."
        )
    if options.demo == (options.index is not None):
        raise click.UsageError("serve: expected INDEX or --demo, got both or neither. Name an index.")
    settings = _settings(options)
    for model in options.models:
        if not model.is_file():
            raise MissingFileError(model, "a model file")
    from rerank.service.server import serve

    serve(settings)


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
    try:
        if without or is_loopback(host):
            return None
    except (OSError, UnicodeError):
        raise InvalidInputError(
            f"--host: expected an address of this machine, got {host}, which has none. Name another."
        ) from None
    raise InvalidInputError(
        f"--host: expected --token-file for an address that others reach, got {host} without one. "
        "Add --token-file FILE, or --no-token."
    )


def _settings(options: Options) -> Settings:
    """Return the settings of the service."""
    from rerank.runtime.threads import thread_count
    from rerank.service.settings import Limits, Settings

    token, (kind, log_queries) = _token(options.token_file, options.no_token, options.host), _log(options.log)
    index = options.index or Path()
    models = options.models
    if options.demo:
        from rerank.experiments.demo import demo_files

        index, model = demo_files()
        models = (model,)
    return Settings(
        index=index,
        model=models[0] if models else None,
        others=tuple(models[1:]),
        model_names=options.model_names,
        other_index=options.other_index,
        text_field=options.text_field,
        host=options.host,
        port=options.port,
        hosts=options.hosts,
        token=token,
        workers=options.workers,
        threads=options.threads or max(1, thread_count(None) // options.workers),
        log_queries=log_queries,
        log_features=kind in ("features", "hashed"),
        log_hashes=kind == "hashed",
        functions=options.functions,
        limits=Limits(**options.limits),
    )


def _log(text: str | None) -> tuple[str, Path | None]:
    """Return kind and folder of `--log`."""
    if text is None:
        return "", None
    kind, _, folder = text.partition(":")
    if kind not in ("queries", "features", "hashed") or not folder:
        raise InvalidInputError(
            f"--log: expected queries:FOLDER, features:FOLDER or hashed:FOLDER, got {text!r}. Write e.g. queries:log."
        )
    return kind, Path(folder)
