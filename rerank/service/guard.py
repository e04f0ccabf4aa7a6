"""What is done for every request: its id, the checks of host and token, the headers of the answer, log and counters."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from itertools import count

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from rerank.service.app import Message, Receive, Send, error_response, routing_fault
from rerank.service.counters import CODES, PATHS, Counters
from rerank.service.faults import ServiceError, internal
from rerank.service.page import page_files
from rerank.service.requests import RERANK_PATHS
from rerank.service.settings import LOOPBACK, Settings

log = logging.getLogger("rerank")
Application = Callable[[Message, Receive, Send], Awaitable[None]]
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OPEN = frozenset(["/health", "/ready", "/openapi.json", *page_files()])  # paths without a token
_ALIASES = {
    **dict.fromkeys(RERANK_PATHS, "/rerank"),
    "/v1/models": "/models",
    **dict.fromkeys(page_files(), "page"),
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Guard:
    """The application with its checks.

    Parameters
    ----------
    app : callable
        The ASGI application that answers.
    settings : Settings
        The token, and the names of the host.
    counters : Counters
        Where requests are counted.

    """

    def __init__(self, app: Application, settings: Settings, counters: Counters) -> None:
        self._app, self._counters = app, counters
        self._prefix, self._numbers = secrets.token_hex(4), count(1)  # of the ids that are given here
        self._token = None if settings.token is None else f"Bearer {settings.token}".encode()
        self._hosts = frozenset((*LOOPBACK, settings.host, *settings.hosts)) if settings.is_local else None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request; other kinds of messages go on as they are."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, headers = time.perf_counter(), dict(scope["headers"])
        request_id = self._request_id(headers)
        scope.setdefault("state", {}).update(request_id=request_id, arrived=time.monotonic())
        scope["app"] = self._app  # Starlette then raises HTTPException
        status = 0

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode()), *HEADERS]
            await send(message)

        try:
            self._check(scope, headers)
            await self._app(scope, receive, send_marked)
        except ClientDisconnect:
            status = status or 499
        except (ServiceError, HTTPException) as error:
            fault = error if isinstance(error, ServiceError) else routing_fault(error, scope["method"])
            await error_response(fault, request_id)(scope, receive, send_marked)
        except Exception as error:
            log.error("request %s failed", request_id, exc_info=error)
            if status:
                raise
            await error_response(internal(), request_id)(scope, receive, send_marked)
        finally:
            self._count(scope, status or 499, time.perf_counter() - start, request_id)

    def _request_id(self, headers: dict[bytes, bytes]) -> str:
        """Return the client's id of a request where it has the form of one, otherwise a new one."""
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        return given if _REQUEST_ID.fullmatch(given) else f"{self._prefix}{next(self._numbers):08x}"

    def _check(self, scope: Message, headers: dict[bytes, bytes]) -> None:
        """Refuse a foreign host, by which a page elsewhere could read a service on the loopback, and a wrong token."""
        if self._hosts is not None and _host_name(headers.get(b"host", b"")) not in self._hosts:
            raise ServiceError(
                421, "header Host", "a name of the loopback", "another host",
                "Use 127.0.0.1, or name the host with --allow-host.",
            )  # fmt: skip
        if self._token is None or scope["path"] in _OPEN:
            return
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._token):
            raise ServiceError(
                401, "header Authorization", "Bearer and the token", "another one or none", "Send the token.",
                {"WWW-Authenticate": "Bearer"},
            )  # fmt: skip

    def _count(self, scope: Message, status: int, seconds: float, request_id: str) -> None:
        path = _ALIASES.get(scope["path"], scope["path"])
        path = path if path in PATHS else "other"
        code = str(status) if status in (429, 503) else f"{status // 100}xx"
        self._counters.add("rerank_requests_total", path=path, code=code if code in CODES else "2xx")
        if path in ("/search", "/rerank"):
            self._counters.observe(path, seconds)
        target = scope.get("raw_path", b"").decode("ascii", "backslashreplace")[:200]
        log.info("%s %s %d %.1f ms id=%s", scope["method"][:20], target, status, 1000 * seconds, request_id)


def _host_name(host: bytes) -> str:
    """Return the name in a Host header, without the port."""
    name = host.decode("latin-1").lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
