"""What the service answers at each of its paths."""

import asyncio
import inspect
import os
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import Depends, FastAPI, Query
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response

from rerank.service.app import HANDLERS, PAGE, Guard, Service, json_response
from rerank.service.bodies import RERANK_PATHS, Events, Rerank, Search, read_body
from rerank.service.settings import METRICS_FOLDER, STATUSES, ServiceError
from rerank.version import __version__


class Route(APIRoute):
    """A route whose body is read within the service's limits, and parsed and checked outside the event loop.

    FastAPI declares the body in /openapi.json; by default it would check the body on the event loop, which stops other
    requests.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers requests."""
        parameters = inspect.signature(self.endpoint).parameters
        if "body" not in parameters:
            return super().get_route_handler()
        read = partial(read_body, parameters["body"].annotation)

        async def handle(request: Request) -> Response:
            service: Service = request.app.state.service
            async with service.body(request, read) as body:
                return await self.endpoint(body, request)

        return handle


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
        responses={status: {"description": about} for status, about in STATUSES.items()},
        exception_handlers=HANDLERS,
    )
    app.state.service = service
    app.router.route_class = Route
    # Declares the bearer token in /openapi.json; `Guard` checks it.
    token = [] if service.settings.token is None else [Depends(HTTPBearer(auto_error=False))]
    app.post("/search", dependencies=token)(search)
    for path in RERANK_PATHS:
        app.post(path, dependencies=token)(rerank)
    app.post("/events", dependencies=token)(events)
    for path in ("/models", "/v1/models"):
        app.get(path, dependencies=token)(models)
    app.get("/metrics", response_class=Response, dependencies=token)(metrics)
    app.get("/health")(health)
    app.get("/ready")(ready)
    for path, (name, kind) in PAGE.items():
        content = (Path(__file__).parent / "page" / name).read_bytes()
        app.get(path, include_in_schema=False)(partial(_file, content, kind))
    app.openapi()  # FastAPI keeps it: so the first request for it does not stop others
    return Guard(app, service)


async def search(
    body: Search,
    request: Request,
    compare: Annotated[str | None, Query(description="Two models, as A,B, that share one list.")] = None,
    assign: Annotated[str | None, Query(description="Two models, as A,B, of which a session gets one.")] = None,
) -> Response:
    """Search, and reorder the candidates with a model, or with two models that are compared."""
    service: Service = request.app.state.service
    job = body.job(service.limits.documents, service.settings.served_name, request.query_params)
    start = time.perf_counter()
    results = orjson.Fragment(await service.answer(request, job))
    if service.engine.log is not None:  # after the answer, since hits that nobody received were not shown
        service.engine.log.put(job.entry)
    took = round(1000 * (time.perf_counter() - start), 3)
    return json_response({"id": job.request_id, "model": ",".join(job.models), "took_ms": took, "results": results})


async def rerank(body: Rerank, request: Request) -> Response:
    """Order documents for a query."""
    service: Service = request.app.state.service
    engine = service.engine
    job = body.job(service.limits.documents, service.settings.served_name, engine.field_names, engine.text_field)
    await service.answer(request, job)
    return json_response(body.answer(job, request.scope["path"]))


async def events(body: Events, request: Request) -> Response:
    """Log what searchers were shown and clicked."""
    service: Service = request.app.state.service
    query_log = service.engine.log
    if query_log is None:
        raise ServiceError(404, "service", "a log of queries", "none", "Start it with --log queries:FOLDER.")
    written = query_log.put(await asyncio.to_thread(query_log.events, body.token, body.shown, body.clicks))
    done = asyncio.wrap_future(written)
    await asyncio.wait([done], timeout=service.limits.deadline)
    if written.cancel() or not await done:
        raise ServiceError(
            503, "service", "a log that can be written", "another one", "Send the events again later.",
            {"Retry-After": "5"},
        )  # fmt: skip
    return json_response({"written": len(body.shown) + len(body.clicks)})


async def models(request: Request) -> Response:
    """Return the served models that requests can name."""
    service: Service = request.app.state.service
    engine = service.engine
    return json_response(
        {
            "object": "list",
            "served": service.settings.served_name,
            "fields": engine.field_names,
            "most_documents": service.limits.documents,
            "logs": engine.log is not None,
            "documents": 0 if service.settings.index is None else len(engine.index.forward.doc_ids),
            "examples": engine.examples,
            "data": [served.described() for served in engine.served_models.values()],
            "version": __version__,
        }
    )


async def health() -> Response:
    """Return whether the process answers."""
    return json_response({"status": "ok"})


async def ready() -> Response:
    """Return whether requests are answered: kernels are compiled."""
    return json_response({"status": "ready"})


async def metrics() -> Response:
    """Return counters in Prometheus' text format, summed over the processes."""
    registry = REGISTRY
    if METRICS_FOLDER in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type="text/plain; version=0.0.4")


async def _file(content: bytes, kind: str) -> Response:
    """Return a file of the page."""
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})
