"""Errors as the service answers them: one JSON shape with a place, what was expected, what was found, the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.exceptions import HTTPException

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.runtime.schema import REMEDY, SchemaError

_MESSAGE = re.compile(r"(?P<place>.*?): expected (?P<expected>.*?), got (?P<found>.*?)\. (?P<remedy>.*)", re.DOTALL)
STATUSES = {
    400: "The request is not HTTP or its body not JSON.",
    401: "The token is missing or wrong.",
    404: "There is no such path, model or document.",
    405: "The path does not know the method.",
    408: "The request did not arrive in time.",
    413: "The body, the number of documents or the answer is too large.",
    415: "The body is not declared as JSON.",
    421: "The request is addressed to another host.",
    422: "A value of the body cannot be used.",
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
        self.place, self.expected, self.found, self.remedy = place, expected, found, remedy

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the answer's JSON."""
        return {
            "message": self.detail,
            "error": {
                "status": self.status_code,
                "place": self.place,
                "expected": self.expected,
                "found": self.found,
                "remedy": self.remedy,
            },
            "request_id": request_id,
        }


def unusable(error: InvalidInputError) -> ServiceError:
    """Return the answer for an error about a value of the body."""
    if isinstance(error, SchemaError):
        path = f"body.{error.path}" if error.path else "body"
        return ServiceError(422, path, error.expected, error.got, error.remedy or REMEDY)
    parts = _MESSAGE.fullmatch(str(error))
    if parts is None:
        return ServiceError(422, "body", "a request that can be answered", "another one", str(error))
    return ServiceError(422, parts["place"], parts["expected"], parts["found"], parts["remedy"])


def unknown(status: int, place: str, name: str, known: Iterable[str]) -> ServiceError:
    """Return the answer for an unknown name, with the nearest known one."""
    return ServiceError(status, place, "a known name", shown(name), suggestion(name, known))


def overloaded(seconds: float) -> ServiceError:
    """Return the answer where the queue is full; `seconds` is the expected time until it is empty."""
    after = str(max(1, min(60, round(seconds + 0.5))))
    return ServiceError(
        429, "service", "capacity for one more request", "a full queue", f"Try again in {after} s.",
        {"Retry-After": after},
    )  # fmt: skip


def large_answer(place: str, most: int) -> ServiceError:
    """Return the answer where the documents asked for are too large together."""
    return ServiceError(
        413, place, f"documents of at most {most} bytes", "more", "Ask for fewer documents, or for an excerpt of each."
    )


def too_late() -> ServiceError:
    """Return the answer where the deadline has passed, or cannot be met."""
    return ServiceError(
        503, "service", "an answer before the deadline", "none", "Ask for less, or try again later.",
        {"Retry-After": "1"},
    )  # fmt: skip


def not_written() -> ServiceError:
    """Return the answer where events are not in the log."""
    return ServiceError(
        503, "service", "a log that can be written", "another one", "Send the events again later.", {"Retry-After": "5"}
    )


def internal() -> ServiceError:
    """Return the answer for an error of the service itself, without its cause."""
    return ServiceError(
        500, "service", "an answer", "an internal error", "Look for the request's id in the service's log."
    )
