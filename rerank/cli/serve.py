"""`rerank serve`."""

import importlib.util
from pathlib import Path
from typing import Any

import click

from rerank.cli.options import COUNT, NumberOption, functions_option, path_argument, path_option
from rerank.errors import InvalidInputError, MissingFileError, RerankError, check_known

_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "orjson")
LIMITS: dict[str, tuple[str, NumberOption]] = {  # by the name in --limit: field of `Limits`, type of its value
    "deadline": ("deadline", NumberOption(0.001, 3600.0)),
    "queue": ("waiting", COUNT),
    "wait": ("wait_seconds", NumberOption(0.001, 3600.0)),
    "documents": ("documents", COUNT),
    "body": ("body_bytes", COUNT),
}


def _limits(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the numbers of `--limit` by the fields of `Limits`."""
    numbers = {}
    for text in texts:
        name, _, number = text.partition("=")
        check_known("--limit", name, LIMITS)
        field, kind = LIMITS[name]
        numbers[field] = kind.convert(number, parameter, context)
    return numbers


@click.command("serve")
@path_argument("index", required=False)
@path_argument("models", nargs=-1, metavar="[MODEL ...]")
@path_option("--model", "alone", text="In place of INDEX: a model of `rerank train INDEX`, to rank texts.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    metavar="N",
    help="Port; 0 chooses a free one.",
)
@click.option("--workers", type=COUNT, default=1, show_default=True, metavar="N", help="Number of processes.")
@path_option("--token-file", text="File with the token that requests must send (Authorization: Bearer).")
@click.option("--no-token", is_flag=True, help="Allow an address other than the loopback without a token.")
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Host name by which requests may address a local service, beside localhost. Repeatable.",
)
@click.option(
    "--model-name",
    "model_names",
    multiple=True,
    metavar="NAME",
    help="Name of the model in requests. Repeatable.  [default: the name of its file]",
)
@click.option(
    "--text-field",
    metavar="NAME",
    help="Field of INDEX that plain texts of /rerank are read as.  [default: the longest]",
)
@click.option(
    "--log",
    metavar="KIND:FOLDER",
    help="Log queries, candidates, what is shown and clicked (/events) to FOLDER. KIND is queries; features: also the "
    "features; hashed: the features, and hashes in place of the texts of queries.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    callback=_limits,
    metavar="NAME=VALUE",
    help="Limit to change; defaults: deadline=10 (seconds per request, then 503), queue=256 (waiting requests) and "
    "wait=1 (expected seconds in the queue, then 429), documents=1000 (per request), body=8388608 (bytes per request). "
    "Repeatable.",
)
@functions_option
def command(
    index: Path | None,
    models: tuple[Path, ...],
    alone: Path | None,
    token_file: Path | None,
    no_token: bool,
    log: str | None,
    limits: dict[str, Any],
    **settings: Any,
) -> None:
    """Start an HTTP service that searches INDEX and ranks with MODEL, or without judgements if MODEL is not given.

    With --model MODEL alone, it ranks texts (/rerank), and needs no index.

    Requests can name further MODELs, and compare two on live searches. The search page is at /, the description of the
    interface at /openapi.json. On SIGTERM, the service finishes running requests and stops. On SIGHUP, or when a file
    MODEL changes, it loads the new model. Needs the extra `service`.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise RerankError(
            f"serve: expected {', '.join(_NEEDED)}, got no {' and no '.join(missing)}. "
            f"Run `pip install {' '.join(missing).replace('_', '-')}`."
        )
    from rerank.runtime.threads import thread_count
    from rerank.service.settings import Limits, Settings

    token = _token(token_file, no_token, settings["host"])
    kind, folder = _log(log)
    models = _models(index, models, alone)
    from rerank.service.server import serve

    serve(
        Settings(
            index=index,
            model=models[0] if models else None,
            others=models[1:],
            token=token,
            threads=max(1, thread_count(None) // settings["workers"]),
            log_queries=folder,
            log_features=kind in ("features", "hashed"),
            log_hashes=kind == "hashed",
            limits=Limits(**limits),
            **settings,
        )
    )


def _models(index: Path | None, models: tuple[Path, ...], alone: Path | None) -> tuple[Path, ...]:
    """Return the model files; refuse INDEX together with --model, neither of the two, and a file as INDEX."""
    if (index is None) == (alone is None) or (index is not None and index.is_file()):
        got = "neither" if index is None else f"{index} and {alone}" if alone else f"the file {index}"
        raise InvalidInputError(f"serve: expected INDEX [MODEL ...] or --model MODEL, got {got}. Give one of them.")
    models = models if alone is None else (alone,)
    for model in models:
        if not model.is_file():
            raise MissingFileError(model, "a model file")
    return models


def _token(file: Path | None, without: bool, host: str) -> str | None:
    """Return the token, or None; without a token, refuse an address that other machines can reach."""
    from rerank.runtime.json_files import read_whole
    from rerank.service.settings import is_loopback

    if file is not None:
        with file.open("rb") as handle:
            token = read_whole(handle, file).decode("utf8", "replace").strip()
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


def _log(text: str | None) -> tuple[str, Path | None]:
    """Return kind and folder of `--log`; "" and None if it is not given."""
    if text is None:
        return "", None
    kind, _, folder = text.partition(":")
    if kind not in ("queries", "features", "hashed") or not folder:
        raise InvalidInputError(
            f"--log: expected queries:FOLDER, features:FOLDER or hashed:FOLDER, got {text!r}. Write e.g. queries:log."
        )
    return kind, Path(folder)
