"""The OpenAPI document, from the declarations of bodies and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rerank.service.bodies import Body, rerank_body, search_body
from rerank.service.faults import STATUSES
from rerank.service.requests import RERANK_PATHS
from rerank.service.settings import Limits
from rerank.version import __version__

_TEXT, _NUMBER, _WHOLE, _FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))
_GET_FAULTS = (400, 401, 405, 421, 429, 500, 503)
_POST_FAULTS = (400, 401, 404, 405, 408, 413, 415, 421, 422, 429, 500, 503)


def document(limits: Limits, with_token: bool) -> dict[str, Any]:
    """Return the document; `with_token` declares the bearer token."""
    search, rerank = search_body(limits), rerank_body(limits)
    paths: dict[str, Any] = {
        "/search": {"post": _post("search", "Search, and reorder with a model.", search, _reference("SearchAnswer"))},
    }
    for path in RERANK_PATHS:
        name = path.strip("/").replace("/", "_")
        paths[path] = {"post": _post(name, "Order documents for a query.", rerank, _reference("RerankAnswer"))}
    paths["/models"] = {"get": _get("models", "The rankings that requests can name.", _reference("Models"))}
    paths["/health"] = {"get": _get("health", "Whether the process answers.", _status())}
    paths["/ready"] = {"get": _get("ready", "Whether requests are answered: kernels are compiled.", _status())}
    paths["/metrics"] = {"get": _get("metrics", "Counters in Prometheus' text format.", None)}
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "rerank",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": _schemas(search, rerank)},
    }
    if with_token:
        whole["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path in ("/search", *RERANK_PATHS, "/models", "/metrics"):
            for operation in paths[path].values():
                operation["security"] = [{"token": []}]
    return whole


def _schemas(search: Body, rerank: Body) -> dict[str, Any]:
    parts = {name: _TEXT for name in ("place", "expected", "found", "remedy")}
    error = _object({"message": _TEXT, "error": _object({"status": _WHOLE, **parts}), "request_id": _TEXT})
    feature = _object({"feature": _TEXT, "value": {"type": ["number", "null"]}, "contribution": _NUMBER})
    spans = {"type": "array", "items": {"type": "array", "items": _WHOLE, "minItems": 2, "maxItems": 2}}
    hit = _object(
        {"rank": _WHOLE, "id": _TEXT, "score": _NUMBER, "bm25": _object({"rank": _WHOLE, "score": _NUMBER})},
        {
            "fields": {"type": "object"},
            "matches": {"type": "object", "additionalProperties": spans},
            "features": {"type": "array", "items": feature},
        },
    )
    result = _object({"query_id": _TEXT, "query": _TEXT, "hits": {"type": "array", "items": hit}})
    ranked = _object({"index": _WHOLE, "relevance_score": _NUMBER}, {"document": {"type": ["object", "string"]}})
    model = _object({"id": _TEXT, "ranker": _TEXT, "features": _WHOLE, "explains": _FLAG})
    models, names = {"type": "array", "items": model}, {"type": "array", "items": _TEXT}
    listed = {"type": "array", "items": ranked}
    return {
        search.name: search.schema(),
        rerank.name: rerank.schema(),
        "SearchAnswer": _object(
            {"id": _TEXT, "model": _TEXT, "took_ms": _NUMBER, "results": {"type": "array", "items": result}}
        ),
        "RerankAnswer": {
            "anyOf": [
                _object({"id": _TEXT, "model": _TEXT}, {"results": listed, "data": listed}),
                {"type": "array", "items": _object({"index": _WHOLE, "score": _NUMBER}, {"text": _TEXT})},
            ]
        },
        "Models": _object({"served": _TEXT, "most_documents": _WHOLE, "fields": names, "data": models}),
        "Error": error,
    }  # fmt: skip


def _object(members: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {**members, **(optional or {})}, "required": list(members)}


def _status() -> dict[str, Any]:
    return _object({"status": _TEXT})


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": dict(schema)}}


def _responses(schema: Mapping[str, Any] | None, faults: tuple[int, ...]) -> dict[str, Any]:
    content = {"text/plain": {"schema": _TEXT}} if schema is None else _json(schema)
    answers: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    for status in faults:
        answers[str(status)] = {"description": STATUSES[status], "content": _json(_reference("Error"))}
    return answers


def _get(name: str, summary: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": _responses(schema, _GET_FAULTS)}


def _post(name: str, summary: str, body: Body, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "requestBody": {"required": True, "content": _json(_reference(body.name))},
        "responses": _responses(schema, _POST_FAULTS),
    }
