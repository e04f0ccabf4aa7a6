"""The endpoints: of each, the body that pydantic checks, its function, and the form of its answer.

Annotations are evaluated here (no `from __future__ import annotations`): the bodies have the limits of the service.
"""

import inspect
import math
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import orjson
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    PrivateAttr,
    Tag,
    ValidationError,
    model_validator,
)
from starlette.requests import Request
from starlette.responses import Response

from rerank.errors import shown
from rerank.lucene.documents import ID_KEYS
from rerank.runtime.schema import SchemaError
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.service.app import PAGE, RERANK_PATHS, Guard, Service, json_response
from rerank.service.faults import STATUSES, ServiceError, unknown, unusable
from rerank.service.jobs import NORMAL_CANDIDATES, RerankAnswer, RerankJob, SearchJob
from rerank.service.settings import METRICS_FOLDER
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, is_unicode
from rerank.types.retriever import CONTENTS
from rerank.version import __version__

MOST_FIELDS = 64
MOST_MEMBERS = 256  # of a body, and of a document in it
MOST_EXCERPT = 10_000
_MOST_BRACKETS = 500_000  # of a body: a list takes 100 times as much memory as its bracket
_ONE = "q"  # id of the query of a body that has one
_TEXT = "text"
_EXPECTED = {  # type of pydantic's error -> what was expected
    "missing": "the key {key}",
    "int_type": "a whole number",
    "bool_type": "true or false",
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
    app.router.route_class = _Route
    _add_search(app, service)
    _add_rerank(app, service)
    _add_others(app, service)
    app.openapi()  # is kept: the first request for it does not stop others
    return Guard(app, service.settings)


class _Route(APIRoute):
    """A route whose body is read within the service's limits, and parsed and checked where it stops no other request.

    FastAPI declares the body in /openapi.json; by itself it would check it on the event loop.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers requests."""
        parameters = inspect.signature(self.endpoint).parameters
        if "body" not in parameters:
            return super().get_route_handler()
        read = partial(read_body, parameters["body"].annotation)

        async def handle(request: Request) -> Response:
            async with request.app.state.service.body(request, read) as body:
                response: Response = await self.endpoint(body, request)
                return response

        return handle


def read_body(model: type["Body"], text: bytes) -> "Body":
    """Return a body; raises ServiceError."""
    if text.count(b"[") + text.count(b"{") > _MOST_BRACKETS:
        raise ServiceError(413, "body", f"at most {_MOST_BRACKETS} brackets", "more", "Send it in parts.")
    try:
        return model.model_validate(parse_json(text, finite=True))
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


def _check_members(value: Mapping[str, Any]) -> None:
    """Refuse an object of too many members."""
    if len(value) > MOST_MEMBERS:
        raise SchemaError(f"at most {MOST_MEMBERS} keys", str(len(value)), "Leave out those that are not needed.")


def _plain(text: str) -> str:
    """Return a text that UTF-8 and Java can hold."""
    if not text.isascii() and not is_unicode(text):
        raise SchemaError("text that UTF-8 can hold", shown(text), "Remove the half surrogate pair.")
    if "\0" in text:
        raise SchemaError("text without NUL", shown(text), "Remove the character.")
    return text


def _words(text: str) -> str:
    if not text.strip():
        raise SchemaError("text that is not all white space", shown(text))
    return _plain(text)


def _ids(queries: Any) -> Any:
    """Return queries whose ids can be written to files."""
    broken = first_broken(list(queries)) if isinstance(queries, dict) else None
    if broken is not None:
        raise SchemaError(f"ids {ID_RULE}", shown(broken), "Rename it.")
    return queries


class Body(BaseModel):
    """A body: null is as good as nothing, and unknown keys are refused where they look like a misspelt one."""

    model_config = ConfigDict(strict=True, extra="allow")
    one_of: ClassVar[tuple[str, str]]  # of which there must be exactly one
    ignored: ClassVar[tuple[str, ...]] = ()  # keys of other services' bodies that have no effect

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise SchemaError("an object", shown(value))
        _check_members(value)
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
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise SchemaError(f"one of {' and '.join(cls.one_of)}", found, "Give exactly one.")
        return value


_Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
_Names = Annotated[list[_Name], Field(max_length=MOST_FIELDS)]
_Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Bm25Place(BaseModel):
    """Rank and score of a document among the candidates."""

    rank: int
    score: float


class Contribution(BaseModel):
    """A feature, and what it adds to a score."""

    feature: str
    value: float | None
    contribution: float


class Hit(BaseModel):
    """A document; the last three members are there where they were asked for."""

    rank: int
    id: str
    score: float
    bm25: Bm25Place
    fields: dict[str, Any] = {}
    matches: dict[str, list[Annotated[list[int], Field(min_length=2, max_length=2)]]] = {}
    features: list[Contribution] = []


class Result(BaseModel):
    """The hits of one query."""

    query_id: str
    query: str
    hits: list[Hit]


class SearchAnswer(BaseModel):
    """The answer of /search."""

    id: str
    model: str
    took_ms: float
    results: list[Result]


def _add_search(app: FastAPI, service: Service) -> None:
    limits = service.limits
    Words = Annotated[
        str,
        Field(min_length=1, max_length=limits.query_characters, json_schema_extra={"pattern": r"\S"}),
        AfterValidator(_words),
    ]
    Several = Annotated[
        Annotated[list[Words], Field(min_length=1, max_length=limits.queries), Tag("[]")]
        | Annotated[dict[str, Words], Field(min_length=1, max_length=limits.queries), Tag("{}")],
        Discriminator(lambda value: {list: "[]", dict: "{}"}.get(type(value))),
        AfterValidator(_ids),
    ]
    Documents = Annotated[int, Field(ge=1, le=limits.documents)]

    class Search(Body):
        """A body of /search."""

        model_config = ConfigDict(extra="forbid")
        one_of = ("query", "queries")
        query: Words | None = Field(None, description="The query.")
        queries: Several | None = Field(None, description="Several queries: a list, or an object by query id.")
        k: Documents | None = Field(10, description="Number of documents to return for each query.")
        candidates: Documents | None = Field(
            None,
            description="Number of BM25's documents that the model reorders; by default 100, or k if that is more.",
        )
        model: _Name | None = Field(None, description="A name of /models; the served model by default.")
        fields: _Names | None = Field(None, description="Fields of the documents to return; none by default.")
        excerpt: Annotated[int, Field(ge=0, le=MOST_EXCERPT)] | None = Field(
            0, description="Longest text of a field: the part with most matches. 0 is all of it."
        )
        highlight: bool | None = Field(False, description="Whether to return where words of the query are.")
        explain: bool | None = Field(
            False, description="Whether to return the features that add or take most of each document's score."
        )

    @app.post("/search", response_model=SearchAnswer, dependencies=_token(service))
    async def search(body: Search, request: Request) -> Response:
        """Search, and reorder with a model."""
        queries = {_ONE: body.query} if body.query is not None else body.queries or {}
        if isinstance(queries, list):
            queries = {f"q{number}": text for number, text in enumerate(queries, start=1)}
        k = body.k or 10
        candidates = body.candidates or min(max(k, NORMAL_CANDIDATES), limits.documents)
        if candidates < k:
            raise ServiceError(
                422, "body.candidates", f"at least the {k} documents of k", str(candidates), "Ask for more candidates."
            )
        if candidates * len(queries) > limits.documents * 8:
            raise ServiceError(
                413, "body.queries", f"at most {limits.documents * 8} candidates of all queries together",
                str(candidates * len(queries)), "Send some queries in another request.",
            )  # fmt: skip
        job = SearchJob(
            body.model or service.settings.served_name,
            queries=queries,
            k=k,
            candidates=candidates,
            fields=tuple(dict.fromkeys(body.fields or ())),
            excerpt=body.excerpt or 0,
            highlight=bool(body.highlight),
            explain=bool(body.explain),
        )
        start = time.perf_counter()
        results = orjson.Fragment(await service.answer(request, job))
        took = round(1000 * (time.perf_counter() - start), 3)
        answer = {"id": job.request_id, "model": job.model, "took_ms": took, "results": results}
        return Response(orjson.dumps(answer), media_type="application/json")


class RankedDocument(BaseModel):
    """A document of a /rerank request."""

    index: int
    relevance_score: float
    document: dict[str, Any] | str = {}


class Ranked(BaseModel):
    """The answer of /rerank; Voyage's clients get `data` in place of `results`."""

    id: str
    model: str
    results: list[RankedDocument] = []
    data: list[RankedDocument] = []


class RankedText(BaseModel):
    """A text of a /rerank request in the shape of Text Embeddings Inference."""

    index: int
    score: float
    text: str = ""


def _add_rerank(app: FastAPI, service: Service) -> None:
    limits = service.limits

    def check_text(text: str) -> None:
        if len(text) > limits.text_characters:
            raise SchemaError(f"at most {limits.text_characters} characters", str(len(text)), "Cut the text.")
        _plain(text)

    def check_document(value: Any) -> Any:
        if isinstance(value, str):
            check_text(value)
        elif not isinstance(value, dict):
            raise SchemaError("text, or an object with a text or an id", shown(value))
        else:
            _check_members(value)
            for key, each in value.items():
                for text in each if isinstance(each, list) else [each]:
                    if isinstance(text, str):
                        try:
                            check_text(text)
                        except SchemaError as error:
                            raise error.within(shown(key)) from None
        return value

    Words = Annotated[
        str,
        Field(min_length=1, max_length=limits.query_characters, json_schema_extra={"pattern": r"\S"}),
        AfterValidator(_words),
    ]
    Text = Annotated[str, Field(max_length=limits.text_characters), AfterValidator(_plain)]
    Document = Annotated[Any, PlainValidator(check_document, json_schema_input_type=str | dict[str, Any])]
    several = Field(min_length=1, max_length=limits.documents)

    class Rerank(Body):
        """A body of /rerank in the shape of Cohere, Jina, Voyage and TEI."""

        one_of = ("documents", "texts")
        ignored = ("priority", "truncate", "truncation", "truncation_direction", "user", "return_input", "input")
        query: Words = Field(description="The query.")
        documents: Annotated[list[Document], several] | None = Field(
            None,
            description="Texts; or objects with `text` or fields of the index; or objects with the `id` of a document "
            "of the index and no text, in all of them.",
        )
        texts: Annotated[list[Text], several] | None = Field(
            None, description="Texts, in the shape of Text Embeddings Inference; the answer is then a list."
        )
        model: _Name | None = Field(None, description="A name of /models; the served model by default.")
        top_n: _Count | None = Field(None, description="Number of documents to return; all by default.")
        top_k: _Count | None = Field(
            None,
            description="The same for Voyage's clients; the answer then has `data`, with texts as documents.",
        )
        return_documents: bool | None = Field(True, description="Whether to return the documents.")
        return_text: bool | None = Field(False, description="Whether to return the texts of `texts`.")
        raw_scores: bool | None = Field(False, description="Whether scores are the model's, not between 0 and 1.")
        rank_fields: _Names | None = Field(None, description="Members of the documents that are joined to their text.")
        max_tokens_per_doc: _Count | None = Field(
            None, description="Number of words of each text, from its beginning, that are read."
        )
        _doc_ids: list[str] | None = PrivateAttr(None)
        _texts: list[str | dict[str, Any]] = PrivateAttr(default_factory=list)

        @property
        def given(self) -> list[Any]:
            """The documents or texts."""
            return (self.documents if self.texts is None else self.texts) or []

        @model_validator(mode="after")
        def _prepare(self) -> "Rerank":
            """Set the ids, or else the texts and fields of the index, of the documents."""
            place = "body.documents" if self.texts is None else "body.texts"
            _check_rank_fields(self.given, self.rank_fields or ())
            self._doc_ids = None if self.rank_fields else _ids_of(self.given, place)
            if self._doc_ids is None:
                names = service.engine.field_names
                self._texts = [
                    _cut(_document(each, f"{place}[{number}]", self.rank_fields, names), self.max_tokens_per_doc)
                    for number, each in enumerate(self.given)
                ]
            return self

    def shape(body: Rerank, path: str, job: RerankJob, answer: RerankAnswer) -> Any:
        """Return the answer, in the form that the body and the path ask for."""
        scores = answer.scores if body.raw_scores else [logistic(score) for score in answer.scores]
        ranked = list(zip(answer.order, scores, strict=True))[: job.count]
        if body.texts is not None:
            return [
                {"index": number, "score": score, **({_TEXT: body.texts[number]} if body.return_text else {})}
                for number, score in ranked
            ]
        asked = body.model_fields_set | set(body.model_extra or ())
        voyage = body.top_n is None and ("top_k" in asked or "truncation" in asked)
        results = []
        for number, score in ranked:
            entry: dict[str, Any] = {"index": number, "relevance_score": score}
            if body.return_documents is not False:
                entry["document"] = _returned(body.given[number], answer.texts, number)
                if voyage or path == RERANK_PATHS[-1]:
                    entry["document"] = entry["document"].get(_TEXT, "")
            results.append(entry)
        return {
            "id": job.request_id,
            "object": "list",
            "model": job.model,
            **({} if voyage else {"results": results}),
            **({"data": results} if voyage or (body.top_n is None and path == "/v1/rerank") else {}),
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        }

    async def rerank(body: Rerank, request: Request) -> Response:
        """Order documents for a query."""
        job = RerankJob(
            body.model or service.settings.served_name,
            query=body.query,
            documents=body._texts,
            doc_ids=body._doc_ids,
            with_texts=body.return_documents is not False,
            count=body.top_n or body.top_k,
            shape=partial(shape, body, request.scope["path"]),
        )
        return Response(await service.answer(request, job), media_type="application/json")

    for path in RERANK_PATHS:
        app.post(path, response_model=Ranked | list[RankedText], dependencies=_token(service))(rerank)


def _check_rank_fields(given: Sequence[Any], rank_fields: Sequence[str]) -> None:
    """Refuse names that no document has."""
    for number, name in enumerate(rank_fields):
        if not any(isinstance(each, dict) and name in each for each in given):
            known = dict.fromkeys(key for each in given if isinstance(each, dict) for key in each)
            raise unknown(422, f"body.rank_fields[{number}]", name, known)


def _cut(document: str | dict[str, Any], most: int | None) -> str | dict[str, Any]:
    """Return a document with the first words of each text, as many as wanted."""
    if most is None:
        return document
    if isinstance(document, dict):
        return {name: _cut(value, most) if isinstance(value, str) else value for name, value in document.items()}
    words = document.split(maxsplit=most)
    return document if len(words) <= most else " ".join(words[:most])


def _ids_of(given: Sequence[Any], place: str) -> list[str] | None:
    """Return the ids of documents of the index, or None where the documents are texts; refuse both together."""
    named = [isinstance(each, dict) and set(each) <= set(ID_KEYS) for each in given]
    if not any(named):
        return None
    if not all(named):
        number = named.index(not named[0])
        raise ServiceError(
            422, f"{place}[{number}]", "an id alone in all documents or in none",
            "a text beside ids" if named[0] else "an id beside texts", "Send two requests.",
        )  # fmt: skip
    ids: dict[str, None] = {}
    for number, each in enumerate(given):
        doc_id = each[next(key for key in ID_KEYS if key in each)] if each else None
        doc_id = str(doc_id) if isinstance(doc_id, int) and not isinstance(doc_id, bool) else doc_id
        if not isinstance(doc_id, str) or not doc_id or doc_id in ids:
            raise ServiceError(
                422, f"{place}[{number}].id", "the id of a document of the index, each once", shown(doc_id),
                "Name the document, or send its text.",
            )  # fmt: skip
        ids[doc_id] = None
    return list(ids)


def _document(
    given: str | Mapping[str, Any], place: str, rank_fields: Sequence[str] | None, fields: Sequence[str]
) -> str | dict[str, Any]:
    """Return a document as `Index.text_features` takes it: a text, or fields of the index."""
    if isinstance(given, str):
        return given
    if rank_fields:
        return " ".join(str(given[name]) for name in rank_fields if isinstance(given.get(name), str | int | float))
    own = {name: value for name, value in given.items() if name in fields and _is_value(value)}
    if _TEXT in given and _TEXT not in fields:
        if not isinstance(given[_TEXT], str):
            raise ServiceError(422, f"{place}.{_TEXT}", "text", shown(given[_TEXT]), "Send the text of the document.")
        has_texts = any(isinstance(each, str | list) for each in own.values())
        return {**own, CONTENTS: given[_TEXT]} if has_texts else given[_TEXT]
    if not own:
        raise ServiceError(
            422, place, f"a text, or fields of the index ({', '.join(fields)})", shown(dict(given)),
            "Name the text `text`, or the fields in rank_fields.",
        )  # fmt: skip
    return own


def _is_value(value: Any) -> bool:
    """Return whether a value can be that of a field: text, a list of texts, or a number."""
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))


def _returned(given: str | Mapping[str, Any], texts: Mapping[int, str] | None, number: int) -> dict[str, Any]:
    """Return a document as an answer holds it."""
    document = {_TEXT: given} if isinstance(given, str) else dict(given)
    return document if texts is None else {**document, _TEXT: texts[number]}


def logistic(score: float) -> float:
    """Return 1 / (1 + exp(-score)), which is between 0 and 1 and keeps the order."""
    if score < 0:
        return math.exp(score) / (1.0 + math.exp(score)) if score > -700 else 0.0
    return 1.0 / (1.0 + math.exp(-score))


class Model(BaseModel):
    """A ranking."""

    id: str
    object: str
    ranker: str
    features: int
    explains: bool


class Models(BaseModel):
    """The answer of /models."""

    object: str
    served: str
    fields: list[str]
    most_documents: int
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
                "data": [ranking.described() for ranking in service.engine.rankings.values()],
                "version": __version__,
            }
        )

    for path in ("/models", "/v1/models"):
        app.get(path, response_model=Models, dependencies=_token(service))(models)

    @app.get("/health", response_model=Status)
    async def health() -> Response:
        """Return whether the process answers."""
        return json_response({"status": "ok"})

    @app.get("/ready", response_model=Status)
    async def ready() -> Response:
        """Return whether requests are answered: kernels are compiled."""
        return json_response({"status": "ready"})

    @app.get("/metrics", response_class=Response, dependencies=_token(service))
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


def _token(service: Service) -> list[Any]:
    """Return what declares the bearer token, which `Guard` checks, in /openapi.json."""
    return [] if service.settings.token is None else [Depends(HTTPBearer(auto_error=False))]
