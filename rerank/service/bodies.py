"""The bodies of requests: what pydantic checks of all of them, their limits, and the answers of their faults.

Annotations are evaluated in the files of endpoints (no `from __future__ import annotations`): the bodies have the
limits of the service, as types that the endpoints give to the parameters of generic bodies.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, ClassVar

from fastapi import Depends
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.requests import Request
from starlette.responses import Response

from rerank.errors import shown
from rerank.runtime.schema import SchemaError
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.service.app import Service
from rerank.service.faults import ServiceError, unusable
from rerank.types.ids import MOST_LETTERS, is_unicode
from rerank.workflows.cutoff import Cutoff

MOST_FIELDS = 64
MOST_MEMBERS = 256  # of a body, and of a document in it
_MOST_BRACKETS = 500_000  # of a body: a list takes 100 times as much memory as its bracket
_EXPECTED = {  # type of pydantic's error -> what was expected
    "missing": "the key {key}",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "string_type": "text",
    "string_unicode": "text that UTF-8 can hold",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "list_type": "a list",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "union_tag_not_found": "a list of texts, or an object of texts by id",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


class Route(APIRoute):
    """A route whose body is read within the service's limits, and parsed and checked where it stops no other request.

    FastAPI declares the body in /openapi.json; by itself it would check it on the event loop.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers requests."""
        parameters = inspect.signature(self.endpoint).parameters
        if "body" not in parameters:
            return super().get_route_handler()
        model = parameters["body"].annotation

        async def handle(request: Request) -> Response:
            service: Service = request.app.state.service
            async with service.body(request, partial(read_body, model, service)) as body:
                response: Response = await self.endpoint(body, request)
                return response

        return handle


def read_body(model: type["Body"], service: Service, text: bytes) -> "Body":
    """Return a body; raises ServiceError. The service is the context of its validators."""
    if text.count(b"[") + text.count(b"{") > _MOST_BRACKETS:
        raise ServiceError(413, "body", f"at most {_MOST_BRACKETS} brackets", "more", "Send it in parts.")
    try:
        return model.model_validate(parse_json(text, finite=True), context=service)
    except ParseFault as fault:
        line = "" if fault.line is None else f" in line {fault.line}"
        raise ServiceError(400, "body", "JSON", f"{fault}{line}", "Send one JSON object.") from None
    except RecursionError:
        raise ServiceError(400, "body", "JSON", "brackets nested too deep", "Send one JSON object.") from None
    except ValidationError as error:
        raise _fault(error) from None


def _fault(error: ValidationError) -> ServiceError:
    """Return the answer for the first error of a body."""
    first = error.errors(include_url=False)[0]
    *steps, last = first["loc"] or ("",)
    kind, values = first["type"], {"key": last, **first.get("ctx", {})}
    steps = [step for step in (*steps, last) if step not in ("", "[]", "{}")]  # without those that name a form
    cause = values.get("error")
    if not isinstance(cause, SchemaError):
        found = values.get("actual_length", "none" if kind == "missing" else shown(first["input"]))
        expected = _EXPECTED[kind].format(**values) if kind in _EXPECTED else first["msg"]
        cause = SchemaError(expected, str(found), "Add it." if kind == "missing" else None)
        steps = steps[:-1] if kind == "missing" else steps
    for step in reversed(steps):
        cause.within(f"[{step}]" if isinstance(step, int) else step if step.isidentifier() else f"[{shown(step)}]")
    fault = unusable(cause)
    if kind == "too_long" and steps and steps[0] in ("documents", "texts") and len(steps) == 1:
        remedy = "Send the others in another request."
        return ServiceError(413, fault.place, f"at most {values['max_length']} documents", fault.found, remedy)
    return fault


def check_members(value: Mapping[str, Any]) -> None:
    """Refuse an object of too many members."""
    if len(value) > MOST_MEMBERS:
        raise SchemaError(f"at most {MOST_MEMBERS} keys", str(len(value)), "Leave out those that are not needed.")


def plain_text(text: str) -> str:
    """Return a text that UTF-8 and Java can hold."""
    if not text.isascii() and not is_unicode(text):
        raise SchemaError("text that UTF-8 can hold", shown(text), "Remove the half surrogate pair.")
    if "\0" in text:
        raise SchemaError("text without NUL", shown(text), "Remove the character.")
    return text


def words(text: str) -> str:
    """Return the text of a query."""
    if not text.strip():
        raise SchemaError("text that is not all white space", shown(text))
    return plain_text(text)


class BestPassage(BaseModel):
    """The passage of a document that fits the query best: characters `begin` to `end` of its field."""

    text: str
    score: float
    begin: int
    end: int


class Body(BaseModel):
    """A body: null is as good as nothing, and unknown keys are refused where they look like a misspelt one.

    Bodies are generic: the types of members that have limits of the service are parameters.
    """

    model_config = ConfigDict(strict=True, extra="allow")
    one_of: ClassVar[tuple[str, ...]] = ()  # of which there must be exactly one
    ignored: ClassVar[tuple[str, ...]] = ()  # keys of other services' bodies that have no effect

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: object) -> Any:
        if not isinstance(value, dict):
            raise SchemaError("an object", shown(value))
        check_members(value)
        forbids = cls.model_config["extra"] == "forbid"
        for key in value:
            if key in cls.model_fields or key in cls.ignored or (value[key] is None and not forbids):
                continue
            near = get_close_matches(key, cls.model_fields, n=1, cutoff=0.75) if len(key) < 64 else []
            if near:
                raise SchemaError("a known key", shown(key), f"Did you mean {near[0]!r}?")
            if forbids:
                raise SchemaError(f"keys {', '.join(cls.model_fields)}", shown(key), "Leave it out.")
        given = [key for key in cls.one_of if value.get(key) is not None]
        if cls.one_of and len(given) != 1:
            found = " and ".join(given) or "none"
            raise SchemaError(f"one of {' and '.join(cls.one_of)}", found, "Give exactly one.")
        return value


Least = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
Names = Annotated[list[Name], Field(max_length=MOST_FIELDS)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Query = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": r"\S"})]


def cutoff(min_score: float | None, abstain: float | None) -> Cutoff | None:
    """Return the least probabilities of a body; None where it has none."""
    given = min_score is not None or abstain is not None
    return Cutoff(min_score or 0.0, abstain or 0.0) if given else None


def token(service: Service) -> list[Any]:
    """Return what declares the bearer token, which `Guard` checks, in /openapi.json."""
    return [] if service.settings.token is None else [Depends(HTTPBearer(auto_error=False))]
