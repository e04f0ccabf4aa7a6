"""What the service is started with: files, address, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from socket import getaddrinfo

LOOPBACK = ("127.0.0.1", "::1", "localhost")
BM25_NAME = "bm25"  # the ranking without a model
UNSUPERVISED = "unsupervised"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # environment variable: where several processes keep their metrics


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address, or to all that a name has; OSError if it has none."""
    if host in LOOPBACK:
        return True
    return all(ip_address(found[4][0]).is_loopback for found in getaddrinfo(host, None))


def name_of(model: Path) -> str:
    """Return what requests call a model: the name of its file without the ending."""
    return model.name.split(".")[0] or "model"


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask of a worker process.

    Parameters
    ----------
    body_bytes : int
        Bytes of a request's body.
    documents : int
        Documents of a /rerank request, and candidates of a query of /search.
    queries : int
        Queries of a /search request.
    query_characters, text_characters : int
        Characters of a query, and of the text of a document.
    waiting : int
        Requests that wait for the kernels; further ones are refused with 429.
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
    queries: int = 32
    query_characters: int = 4000
    text_characters: int = 200_000
    waiting: int = 256
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
    index : Path
        Folder of the index.
    model : Path or None
        The model's file; None is the ranking that needs no judgements.
    others : tuple of Path
        Files of further models, which requests name as their files without the ending.
    model_names : tuple of str
        What requests may call the ranking that is used by default, the first one in answers; by default the name of
        the model's file without its ending.
    other_index : bool
        Whether a model that was trained on another index is accepted.
    text_field : str or None
        The field of the index that plain texts of /rerank fill; None is that with most of the index's words.
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

    index: Path
    model: Path | None = None
    others: tuple[Path, ...] = ()
    model_names: tuple[str, ...] = ()
    other_index: bool = False
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

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)
