"""Settings of the service (files, address, limits), and its errors.

An error is answered as JSON with the place, what was expected, what was found, and the remedy.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from socket import getaddrinfo

from starlette.exceptions import HTTPException

from rerank.errors import InvalidInputError, shown, suggestion

LOOPBACK = ("127.0.0.1", "::1", "localhost")
BM25_NAME = "bm25"  # the ranking without a model
UNSUPERVISED = "unsupervised"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # environment variable: where several processes keep their metrics


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address or to all addresses of a name; OSError without any."""
    if host in LOOPBACK:
        return True
    return all(ip_address(found[4][0]).is_loopback for found in getaddrinfo(host, None))


def name_of(model: Path) -> str:
    """Return what requests call a model: the name of its file without the ending."""
    return model.name.split(".")[0] or "model"


@dataclass(frozen=True)
class Limits:
    """Limits of a worker process, for one request and for all together.

    Parameters
    ----------
    body_bytes : int
        Bytes of a request's body.
    documents : int
        Documents of a /rerank request, and candidates of a query of /search.
    waiting : int
        Requests that wait for the kernels; further ones are refused with 429.
    wait_seconds : float
        Seconds that a request may wait for the requests before it, estimated by the recent mean time of a request; a
        request that would wait longer is refused with 429.
    answer_bytes : int
        Bytes of the stored documents of an answer.
    total_body_bytes : int
        Bytes of all bodies that are being read or wait.
    deadline : float
        Seconds from a request's head to its answer; 503 after that.
    read_seconds : float
        Seconds in which a body must have arrived.
    batch_rows : int
        Query-document pairs that go to the kernels together; a single request may have more.

    """

    body_bytes: int = 8 << 20
    documents: int = 1000
    waiting: int = 256
    wait_seconds: float = 1.0
    answer_bytes: int = 16 << 20
    total_body_bytes: int = 64 << 20
    deadline: float = 10.0
    read_seconds: float = 10.0
    batch_rows: int = 1 << 14


@dataclass(frozen=True)
class Settings:
    """The files, the address and the options of a service.

    Parameters
    ----------
    index : Path or None
        Folder of the index; None where texts are ranked alone, with the statistics that the model holds.
    model : Path or None
        The model's file; None is the ranking of an index that needs no judgements.
    others : tuple of Path
        Files of further models, which requests name as their files without the ending.
    model_names : tuple of str
        Names by which requests may call the default ranking; answers have the first one. By default the name of the
        model's file without its ending.
    text_field : str or None
        The field of the index that plain texts of /rerank fill; None is the field with most of the index's words.
    host, port : str, int
        The address; port 0 is a free one.
    hosts : tuple of str
        Further names by which browsers may address a service that listens on the loopback alone.
    token : str or None
        What requests must carry as `Authorization: Bearer TOKEN`.
    workers, threads : int
        Number of processes, and of threads of each one's kernels.
    log_queries : Path or None
        Folder to which queries and their candidates are written.
    log_features : bool
        Whether their features are written, too.
    log_hashes : bool
        Whether hashes of the queries are written in place of their texts.
    functions : tuple of Path
        Python files that define features of the model.
    limits : Limits
        The limits.

    """

    index: Path | None
    model: Path | None = None
    others: tuple[Path, ...] = ()
    model_names: tuple[str, ...] = ()
    text_field: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    hosts: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)
    workers: int = 1
    threads: int = 1
    log_queries: Path | None = None
    log_features: bool = False
    log_hashes: bool = False
    functions: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def served_name(self) -> str:
        """What requests call the ranking that is used by default."""
        if self.model_names:
            return self.model_names[0]
        return UNSUPERVISED if self.model is None else name_of(self.model)


_MESSAGE = re.compile(r"(?P<place>.*?): expected (?P<expected>.*?), got (?P<found>.*?)\. (?P<remedy>.*)", re.DOTALL)
STATUSES = {
    400: "The body is not JSON, or its length is given in two ways.",
    401: "The token is missing or wrong.",
    404: "There is no such path, model or document.",
    405: "The path does not have the method.",
    408: "The request did not arrive in time.",
    413: "The body, the number of documents or the answer is too large.",
    415: "The body is not declared as JSON.",
    421: "The request is addressed to another host.",
    422: "A value of the body or a parameter cannot be used.",
    429: "Too many requests wait; try again after `Retry-After` seconds.",
    500: "An internal error; the log has the request's id.",
    503: "The service cannot answer before the deadline.",
}


class ServiceError(HTTPException):
    """An error that is answered to the client, as the parts of the message `place: expected X, got Y. Remedy.`"""

    def __init__(
        self,
        status: int,
        place: str,
        expected: str,
        found: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, f"{place}: expected {expected}, got {found}. {remedy}", headers)
        self.error = {"status": status, "place": place, "expected": expected, "found": found, "remedy": remedy}


def unusable(error: InvalidInputError) -> ServiceError:
    """Return the answer for an error about a value of the body."""
    parts = _MESSAGE.fullmatch(str(error))
    if parts is None:
        return ServiceError(422, "body", "a request that can be answered", "another one", str(error))
    return ServiceError(422, parts["place"], parts["expected"], parts["found"], parts["remedy"])


def unknown(status: int, place: str, name: str, known: Iterable[str]) -> ServiceError:
    """Return the answer for an unknown name, with the nearest known one."""
    return ServiceError(status, place, "a known name", shown(name), suggestion(name, known))


def overloaded() -> ServiceError:
    """Return the answer where the queue is full."""
    return ServiceError(
        429, "service", "capacity for one more request", "a full queue", "Try again in 1 s.", {"Retry-After": "1"}
    )


def too_late() -> ServiceError:
    """Return the answer where the deadline has passed, or cannot be met."""
    return ServiceError(
        503, "service", "an answer before the deadline", "none", "Ask for less, or try again later.",
        {"Retry-After": "1"},
    )  # fmt: skip


def internal() -> ServiceError:
    """Return the answer for an error of the service itself, without its cause."""
    return ServiceError(
        500, "service", "an answer", "an internal error", "Look for the request's id in the service's log."
    )
