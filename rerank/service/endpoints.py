"""The application: its endpoints, and the forms of their answers."""

import os
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import BaseModel
from starlette.responses import Response

from rerank.service.app import PAGE, Guard, Service, json_response
from rerank.service.bodies import Route, token
from rerank.service.events import add_events
from rerank.service.faults import STATUSES
from rerank.service.reranking import add_rerank
from rerank.service.search import add_search
from rerank.service.settings import METRICS_FOLDER
from rerank.version import __version__


def make_app(service: Service) -> Guard:
    """Return the application of a service."""
    app = FastAPI(
        title="rerank",
        version=__version__,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=service.lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {"model": Error, "description": about} for status, about in STATUSES.items()},
    )
    app.state.service = service
    app.router.route_class = Route
    add_search(app, service)
    add_rerank(app, service)
    add_events(app, service)
    _add_others(app, service)
    app.openapi()  # is kept: the first request for it does not stop others
    return Guard(app, service.settings)


class Error(BaseModel):
    """The answer of a request that failed."""

    class Parts(BaseModel):
        """The message in its parts."""

        status: int
        place: str
        expected: str
        found: str
        remedy: str

    message: str
    error: Parts
    request_id: str


class Model(BaseModel):
    """A ranking."""

    id: str
    object: str
    ranker: str
    features: int
    explains: bool
    calibrated: bool
    checksum: str


class Models(BaseModel):
    """The answer of /models."""

    object: str
    served: str
    fields: list[str]
    most_documents: int
    logs: bool
    data: list[Model]
    version: str


class Status(BaseModel):
    """The answer of /health and /ready."""

    status: str


def _add_others(app: FastAPI, service: Service) -> None:
    async def models() -> Response:
        """Return the rankings that requests can name."""
        return json_response(
            {
                "object": "list",
                "served": service.settings.served_name,
                "fields": service.engine.field_names,
                "most_documents": service.limits.documents,
                "logs": service.engine.log is not None,
                "data": [ranking.described() for ranking in service.engine.rankings.values()],
                "version": __version__,
            }
        )

    for path in ("/models", "/v1/models"):
        app.get(path, response_model=Models, dependencies=token(service))(models)

    @app.get("/health", response_model=Status)
    async def health() -> Response:
        """Return whether the process answers."""
        return json_response({"status": "ok"})

    @app.get("/ready", response_model=Status)
    async def ready() -> Response:
        """Return whether requests are answered: kernels are compiled."""
        return json_response({"status": "ready"})

    @app.get("/metrics", response_class=Response, dependencies=token(service))
    async def metrics() -> Response:
        """Return counters in Prometheus' text format."""
        return Response(metrics_text(), media_type="text/plain; version=0.0.4")

    for path, (name, kind) in PAGE.items():
        content = (Path(__file__).parent / "page" / name).read_bytes()
        app.get(path, include_in_schema=False)(partial(_file, content, kind))


async def _file(content: bytes, kind: str) -> Response:
    """Return a file of the page."""
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


def metrics_text() -> bytes:
    """Return the metrics, summed over the processes."""
    if METRICS_FOLDER not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
