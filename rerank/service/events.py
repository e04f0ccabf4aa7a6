"""The endpoint /events: what searchers were shown and clicked, written to the log of the queries."""

import asyncio
from typing import Annotated, Generic, TypeVar

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from rerank.service.app import Service, json_response
from rerank.service.bodies import Body, Name, token
from rerank.service.faults import ServiceError, not_written
from rerank.service.querylog import longest_token

Token = TypeVar("Token", bound=str)
Documents = TypeVar("Documents", bound=list[str])


class EventsBody(Body, Generic[Token, Documents]):
    """What a body of /events holds."""

    model_config = ConfigDict(extra="forbid")
    token: Token = Field(description="The token of a result of /search.")
    clicks: Documents | None = Field(None, description="Ids of documents of the result that were clicked.")
    shown: Documents | None = Field(
        None, description="Ids of the documents that were shown, where these are not all of the result."
    )


class Written(BaseModel):
    """The answer of /events."""

    written: int


def add_events(app: FastAPI, service: Service) -> None:
    """Add the endpoint, whose bodies have the limits of the service."""
    limits = service.limits
    Token = Annotated[str, Field(max_length=longest_token(limits.documents))]
    Ids = Annotated[list[Name], Field(max_length=limits.documents)]

    class Events(EventsBody[Token, Ids]):
        """A body of /events."""

    @app.post("/events", response_model=Written, dependencies=token(service))
    async def events(body: Events, request: Request) -> Response:
        """Log what searchers were shown and clicked."""
        log = service.engine.log
        if log is None:
            raise ServiceError(404, "service", "a log of queries", "none", "Start it with --log queries:FOLDER.")
        shown, clicks = body.shown or [], body.clicks or []
        written = log.write(await asyncio.to_thread(log.events, body.token, shown, clicks))
        done = asyncio.wrap_future(written)
        await asyncio.wait([done], timeout=limits.deadline)
        if written.cancel() or not await done:
            raise not_written()
        return json_response({"written": len(shown) + len(clicks)})
