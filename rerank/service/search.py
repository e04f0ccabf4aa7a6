"""The endpoint /search."""

import time
from collections.abc import Mapping
from typing import Annotated, Any, Generic, TypeVar

import orjson
from fastapi import FastAPI
from fastapi import Query as Parameter
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag
from starlette.requests import Request
from starlette.responses import Response

from rerank.clicks.drafts import METHODS
from rerank.errors import shown
from rerank.runtime.schema import SchemaError
from rerank.service.app import Service
from rerank.service.bodies import BestPassage, Body, Least, Name, Names, Query, cutoff, token, words
from rerank.service.experiments import TEAM_DRAFT, assigned, compared
from rerank.service.faults import ServiceError, unknown
from rerank.service.jobs import NORMAL_CANDIDATES, SearchJob
from rerank.types.ids import ID_RULE, first_broken

MOST_EXCERPT = 10_000
PARAMETERS = ("compare", "assign", "method")  # of the address
_ONE = "q"  # id of the query of a body that has one
QueryText = TypeVar("QueryText", bound=str)
Queries = TypeVar("Queries", bound=list[str] | dict[str, str])
Count = TypeVar("Count", bound=int)


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
    """A document; the last four members are there where they were asked for, `probability` of a calibrated model."""

    rank: int
    id: str
    score: float
    probability: float | None = None
    bm25: Bm25Place
    fields: dict[str, Any] = {}
    matches: dict[str, list[Annotated[list[int], Field(min_length=2, max_length=2)]]] = {}
    features: list[Contribution] = []
    passage: BestPassage | None = None


class Result(BaseModel):
    """The hits of one query.

    `probability` is that of any relevant document, of a calibrated model; `token` what /events takes, of a service that
    logs queries.
    """

    query_id: str
    query: str
    probability: float | None = None
    token: str | None = None
    hits: list[Hit]


class SearchAnswer(BaseModel):
    """The answer of /search."""

    id: str
    model: str
    took_ms: float
    results: list[Result]


class SearchBody(Body, Generic[QueryText, Queries, Count]):
    """What a body of /search holds."""

    model_config = ConfigDict(extra="forbid")
    one_of = ("query", "queries")
    query: QueryText | None = Field(None, description="The query.")
    queries: Queries | None = Field(None, description="Several queries: a list, or an object by query id.")
    k: Count | None = Field(  # type: ignore[assignment]
        10, description="Number of documents to return for each query."
    )
    candidates: Count | None = Field(
        None, description="Number of BM25's documents that the model reorders; by default 100, or k if that is more."
    )
    model: Name | None = Field(None, description="A name of /models; the served model by default.")
    fields: Names | None = Field(None, description="Fields of the documents to return; none by default.")
    excerpt: Annotated[int, Field(ge=0, le=MOST_EXCERPT)] | None = Field(
        0, description="Longest text of a field: the part with most matches. 0 is all of it."
    )
    highlight: bool | None = Field(False, description="Whether to return where words of the query are.")
    explain: bool | None = Field(
        False, description="Whether to return the features that add or take most of each document's score."
    )
    min_score: Least | None = Field(
        None, description="Least probability of relevance of a document; others are left out. For a calibrated model."
    )
    abstain: Least | None = Field(
        None,
        description="Least probability that any document is relevant; below it, none is returned. For a calibrated "
        "model.",
    )

    passage: bool | None = Field(
        False, description="Whether to return the passage of each document that fits the query best."
    )
    session: Name | None = Field(
        None, description="Any text that the searches of one session share; its hash is logged. No user is named."
    )

    def job(self, service: Service, parameters: Mapping[str, str]) -> SearchJob:
        """Return the request as a job; raises ServiceError where it asks for too many candidates, or too few."""
        queries: Any = {_ONE: self.query} if self.query is not None else self.queries or {}
        if isinstance(queries, list):
            queries = {f"q{number}": text for number, text in enumerate(queries, start=1)}
        k, most = self.k or 10, service.limits.documents
        candidates = self.candidates or min(max(k, NORMAL_CANDIDATES), most)
        if candidates < k:
            raise ServiceError(
                422, "body.candidates", f"at least the {k} documents of k", str(candidates), "Ask for more candidates."
            )
        if candidates * len(queries) > most * 8:
            raise ServiceError(
                413, "body.queries", f"at most {most * 8} candidates of all queries together",
                str(candidates * len(queries)), "Send some queries in another request.",
            )  # fmt: skip
        for name in parameters:
            if name not in PARAMETERS:
                raise unknown(422, f"query.{name[:100]}", name, PARAMETERS)
        compare, assign = parameters.get("compare"), parameters.get("assign")
        if sum(each is not None for each in (compare, assign, self.model)) > 1:
            raise ServiceError(
                422, "query", "one of compare, assign and the model of the body", "several", "Give one of them."
            )
        method = parameters.get("method", TEAM_DRAFT)
        if method not in METHODS:
            raise unknown(422, "query.method", method, METHODS)
        return SearchJob(
            self.model or (assigned(assign, self.session) if assign is not None else service.settings.served_name),
            queries=queries,
            k=k,
            candidates=candidates,
            fields=tuple(dict.fromkeys(self.fields or ())),
            excerpt=self.excerpt or 0,
            highlight=bool(self.highlight),
            explain=bool(self.explain),
            passage=bool(self.passage),
            cutoff=cutoff(self.min_score, self.abstain),
            session=self.session,
            comparison=None if compare is None else compared(compare, method, self.session),
            assigned=assign or "",
        )


def _ids(queries: object) -> Any:
    """Return queries whose ids can be written to files."""
    broken = first_broken(list(queries)) if isinstance(queries, dict) else None
    if broken is not None:
        raise SchemaError(f"ids {ID_RULE}", shown(broken), "Rename it.")
    return queries


def add_search(app: FastAPI, service: Service) -> None:
    """Add the endpoint, whose bodies have the limits of the service."""
    limits = service.limits
    Words = Annotated[Query, Field(max_length=limits.query_characters), AfterValidator(words)]
    Several = Annotated[
        Annotated[list[Words], Field(min_length=1, max_length=limits.queries), Tag("[]")]
        | Annotated[dict[str, Words], Field(min_length=1, max_length=limits.queries), Tag("{}")],
        Discriminator(lambda value: {list: "[]", dict: "{}"}.get(type(value))),
        AfterValidator(_ids),
    ]
    Depth = Annotated[int, Field(ge=1, le=limits.documents)]

    class Search(SearchBody[Words, Several, Depth]):
        """A body of /search."""

    @app.post("/search", response_model=SearchAnswer, dependencies=token(service))
    async def search(
        body: Search,
        request: Request,
        compare: Annotated[str | None, Parameter(description="Two models, as A,B, that share one list.")] = None,
        assign: Annotated[str | None, Parameter(description="Two models, as A,B, of which a session gets one.")] = None,
        method: Annotated[str, Parameter(description=f"How a list is shared: {', '.join(METHODS)}.")] = TEAM_DRAFT,
    ) -> Response:
        """Search, and reorder with a model, or with two that are compared."""
        job = body.job(service, request.query_params)
        start = time.perf_counter()
        results = orjson.Fragment(await service.answer(request, job))
        if service.engine.log is not None:  # after the answer: what nobody got was not shown
            service.engine.log.write(job.entry)
        took = round(1000 * (time.perf_counter() - start), 3)
        answer = {"id": job.request_id, "model": ",".join(job.models), "took_ms": took, "results": results}
        return Response(orjson.dumps(answer), media_type="application/json")
