"""The endpoints /search, /rerank (in the shapes that the clients of other services know) and /events, and their bodies.

pydantic checks the bodies. Their limits are constants, but for the number of documents, an option of the service.
"""

import asyncio
import inspect
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import orjson
from fastapi import Depends, FastAPI
from fastapi import Query as Parameter
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
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
    ValidationInfo,
    model_validator,
)
from starlette.requests import Request
from starlette.responses import Response

from rerank.errors import shown
from rerank.lucene.documents import ID_KEYS
from rerank.pipeline.applying import Cutoff
from rerank.runtime.schema import REMEDY, SchemaError
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.service.app import RERANK_PATHS, Service, json_response
from rerank.service.engine import Engine
from rerank.service.jobs import NORMAL_CANDIDATES, RerankAnswer, RerankJob, SearchJob, assigned, compared
from rerank.service.settings import ServiceError, not_written, unknown, unusable
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, is_unicode
from rerank.types.retriever import CONTENTS

MOST_FIELDS = 64
MOST_QUERIES = 32
QUERY_CHARACTERS = 4000
TEXT_CHARACTERS = 200_000  # of the text of a document
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
        parameters = inspect.signature(self.endpoint, eval_str=True).parameters
        if "body" not in parameters:
            return super().get_route_handler()
        model = parameters["body"].annotation

        async def handle(request: Request) -> Response:
            service: Service = request.app.state.service
            async with service.body(request, partial(read_body, model, service)) as body:
                response: Response = await self.endpoint(body, request)
                return response

        return handle


def _fault(error: ValidationError) -> ServiceError:
    """Return the answer for the first error of a body."""
    first = error.errors(include_url=False)[0]
    *steps, last = first["loc"] or ("",)
    kind = first["type"]
    values = {"key": last, **first.get("ctx", {})}
    steps = [step for step in (*steps, last) if step not in ("", "[]", "{}")]  # without those that name a form
    cause = values.get("error")
    if not isinstance(cause, SchemaError):
        found = values.get("actual_length", "none" if kind == "missing" else shown(first["input"]))
        expected = _EXPECTED[kind].format(**values) if kind in _EXPECTED else first["msg"]
        cause = SchemaError(expected, str(found), "Add it." if kind == "missing" else None)
        steps = steps[:-1] if kind == "missing" else steps
    for step in reversed(steps):
        cause.within(f"[{step}]" if isinstance(step, int) else step if step.isidentifier() else f"[{shown(step)}]")
    return unusable(cause)


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
    """A body: null is as good as nothing, and unknown keys are refused where they look like a misspelt one."""

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


def read_body(model: type[Body], service: Service, text: bytes) -> Body:
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


Least = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
Names = Annotated[list[Name], Field(max_length=MOST_FIELDS)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Query = Annotated[
    str,
    Field(min_length=1, max_length=QUERY_CHARACTERS, json_schema_extra={"pattern": r"\S"}),
    AfterValidator(words),
]


def token(service: Service) -> list[Any]:
    """Return what declares the bearer token, which `Guard` checks, in /openapi.json."""
    return [] if service.settings.token is None else [Depends(HTTPBearer(auto_error=False))]


MOST_EXCERPT = 10_000
PARAMETERS = ("compare", "assign")  # of the address
_ONE = "q"  # id of the query of a body that has one


def _ids(queries: object) -> Any:
    """Return queries whose ids can be written to files."""
    broken = first_broken(list(queries)) if isinstance(queries, dict) else None
    if broken is not None:
        raise SchemaError(f"ids {ID_RULE}", shown(broken), "Rename it.")
    return queries


Queries = Annotated[
    Annotated[list[Query], Field(min_length=1, max_length=MOST_QUERIES), Tag("[]")]
    | Annotated[dict[str, Query], Field(min_length=1, max_length=MOST_QUERIES), Tag("{}")],
    Discriminator(lambda value: {list: "[]", dict: "{}"}.get(type(value))),
    AfterValidator(_ids),
]


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


class Search(Body):
    """A body of /search."""

    model_config = ConfigDict(extra="forbid")
    one_of = ("query", "queries")
    query: Query | None = Field(None, description="The query.")
    queries: Queries | None = Field(None, description="Several queries: a list, or an object by query id.")
    k: Count | None = Field(10, description="Number of documents to return for each query.")
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
        k = self.k or 10
        most = service.limits.documents
        candidates = self.candidates or min(max(k, NORMAL_CANDIDATES), most)
        for key, number in (("k", k), ("candidates", candidates)):
            if number > most:
                raise ServiceError(422, f"body.{key}", f"at most {most}", str(number), REMEDY)
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
        compare = parameters.get("compare")
        assign = parameters.get("assign")
        if sum(each is not None for each in (compare, assign, self.model)) > 1:
            raise ServiceError(
                422, "query", "one of compare, assign and the model of the body", "several", "Give one of them."
            )
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
            cutoff=Cutoff.of(self.min_score, self.abstain),
            session=self.session,
            comparison=None if compare is None else compared(compare, self.session),
            assigned=assign or "",
        )


def add_search(app: FastAPI, service: Service) -> None:
    """Add the endpoint."""

    @app.post("/search", response_model=SearchAnswer, dependencies=token(service))
    async def search(
        body: Search,
        request: Request,
        compare: Annotated[str | None, Parameter(description="Two models, as A,B, that share one list.")] = None,
        assign: Annotated[str | None, Parameter(description="Two models, as A,B, of which a session gets one.")] = None,
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


_TEXT = "text"


def _check_text(text: str) -> None:
    """Refuse a text that is too long, or has characters that UTF-8 or Java cannot hold."""
    if len(text) > TEXT_CHARACTERS:
        raise SchemaError(f"at most {TEXT_CHARACTERS} characters", str(len(text)), "Cut the text.")
    plain_text(text)


def _check_document(value: object) -> Any:
    """Refuse what is neither a text nor an object, and texts in it that are too long."""
    if isinstance(value, str):
        _check_text(value)
    elif not isinstance(value, dict):
        raise SchemaError("text, or an object with a text or an id", shown(value))
    else:
        check_members(value)
        for key, member in value.items():
            for text in member if isinstance(member, list) else [member]:
                if isinstance(text, str):
                    try:
                        _check_text(text)
                    except SchemaError as error:
                        raise error.within(shown(key)) from None
    return value


Document = Annotated[Any, PlainValidator(_check_document, json_schema_input_type=str | dict[str, Any])]
Text = Annotated[str, Field(max_length=TEXT_CHARACTERS), AfterValidator(plain_text)]


class RankedDocument(BaseModel):
    """A document of a /rerank request."""

    index: int
    relevance_score: float
    document: dict[str, Any] | str = {}
    passage: BestPassage | None = None


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
    passage: BestPassage | None = None


class Rerank(Body):
    """A body of /rerank in the shape of Cohere, Jina, Voyage and TEI."""

    one_of = ("documents", "texts")
    ignored = ("priority", "truncate", "truncation", "truncation_direction", "user", "return_input", "input")
    query: Query = Field(description="The query.")
    documents: list[Document] | None = Field(
        None,
        min_length=1,
        description="Texts; or objects with `text` or fields of the index; or objects with the `id` of a document "
        "of the index and no text, in all of them.",
    )
    texts: list[Text] | None = Field(
        None, min_length=1, description="Texts, in the shape of Text Embeddings Inference; the answer is then a list."
    )
    model: Name | None = Field(None, description="A name of /models; the served model by default.")
    top_n: Count | None = Field(None, description="Number of documents to return; all by default.")
    top_k: Count | None = Field(
        None,
        description="The same for Voyage's clients; the answer then has `data`, with texts as documents.",
    )
    return_documents: bool | None = Field(True, description="Whether to return the documents.")
    return_text: bool | None = Field(False, description="Whether to return the texts of `texts`.")
    return_passages: bool | None = Field(
        False, description="Whether to return the passage of each document that fits the query best."
    )
    raw_scores: bool | None = Field(
        False,
        description="Whether scores are the model's, not between 0 and 1: probabilities of relevance of a calibrated "
        "model, otherwise the logistic function of its scores.",
    )
    min_score: Least | None = Field(
        None, description="Least probability of relevance of a document; others are left out. For a calibrated model."
    )
    abstain: Least | None = Field(
        None,
        description="Least probability that any document is relevant; below it, none is returned. For a calibrated "
        "model.",
    )
    rank_fields: Names | None = Field(None, description="Members of the documents that are joined to their text.")
    max_tokens_per_doc: Count | None = Field(
        None, description="Number of words of each text, from its beginning, that are read."
    )
    _doc_ids: list[str] | None = PrivateAttr(None)
    _texts: list[str | dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def given(self) -> list[Any]:
        """The documents or texts."""
        return (self.documents if self.texts is None else self.texts) or []

    @model_validator(mode="after")
    def _prepare(self, info: ValidationInfo[Service]) -> Self:
        """Set the ids, or else the texts and fields of the index, of the documents."""
        place = "body.documents" if self.texts is None else "body.texts"
        engine = info.context.engine
        most = info.context.limits.documents
        if len(self.given) > most:
            raise ServiceError(
                413, place, f"at most {most} documents", str(len(self.given)), "Send the others in another request."
            )
        names = (*engine.field_names, *engine.run_names(self.model or info.context.settings.served_name))
        _check_rank_fields(self.given, self.rank_fields or ())
        self._doc_ids = None if self.rank_fields else _ids_of(self.given, place)
        if self._doc_ids is None:
            self._texts = [
                _cut(
                    _document(each, f"{place}[{number}]", self.rank_fields, engine, names),
                    self.max_tokens_per_doc,
                )
                for number, each in enumerate(self.given)
            ]
        return self

    def job(self, service: Service, path: str) -> RerankJob:
        """Return the request, which came by a path, as a job."""
        return RerankJob(
            self.model or service.settings.served_name,
            query=self.query,
            documents=self._texts,
            doc_ids=self._doc_ids,
            with_texts=self.return_documents is not False,
            passages=bool(self.return_passages),
            count=self.top_n or self.top_k,
            cutoff=Cutoff.of(self.min_score, self.abstain),
            shape=partial(self._shape, path),
        )

    def _shape(self, path: str, job: RerankJob, answer: RerankAnswer) -> Any:
        """Return the answer, in the form that the body and the path ask for."""
        scores = answer.scores if self.raw_scores else answer.probabilities or list(map(logistic, answer.scores))
        ranked = list(zip(answer.order, scores, strict=True))[: job.count]
        passages = {number: {"passage": passage._asdict()} for number, passage in answer.passages.items()}
        if self.texts is not None:
            return [
                {"index": number, "score": score, **({_TEXT: self.texts[number]} if self.return_text else {})}
                | passages.get(number, {})
                for number, score in ranked
            ]
        asked = self.model_fields_set | set(self.model_extra or ())
        voyage = self.top_n is None and ("top_k" in asked or "truncation" in asked)
        results = []
        for number, score in ranked:
            entry: dict[str, Any] = {"index": number, "relevance_score": score, **passages.get(number, {})}
            if self.return_documents is not False:
                entry["document"] = _returned(self.given[number], answer.texts, number)
                if voyage or path == RERANK_PATHS[-1]:
                    entry["document"] = entry["document"].get(_TEXT, "")
            results.append(entry)
        return {
            "id": job.request_id,
            "object": "list",
            "model": job.model,
            **({} if voyage else {"results": results}),
            **({"data": results} if voyage or (self.top_n is None and path == "/v1/rerank") else {}),
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        }


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
    given: str | Mapping[str, Any],
    place: str,
    rank_fields: Sequence[str] | None,
    engine: Engine,
    names: Sequence[str],
) -> str | dict[str, Any]:
    """Return a document as `Index.text_features` takes it: a text, or fields of the index.

    names  of the fields and numbers that it may have, scores in other runs among them
    """
    if isinstance(given, str):
        return given
    if rank_fields:
        return " ".join(str(given[name]) for name in rank_fields if isinstance(given.get(name), str | int | float))
    own = {name: value for name, value in given.items() if name in names and _is_value(value)}
    if _TEXT in given and _TEXT not in names:
        if not isinstance(given[_TEXT], str):
            raise ServiceError(422, f"{place}.{_TEXT}", "text", shown(given[_TEXT]), "Send the text of the document.")
        field = CONTENTS if engine.text_field in own else engine.text_field
        return {**own, field: given[_TEXT]} if own else given[_TEXT]
    if not own:
        raise ServiceError(
            422, place, f"a text, or fields of the index ({', '.join(engine.field_names)})", shown(dict(given)),
            "Name the text `text`, or the fields in rank_fields.",
        )  # fmt: skip
    return own


def _is_value(value: object) -> bool:
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


def add_rerank(app: FastAPI, service: Service) -> None:
    """Add the endpoint under all its paths."""

    async def rerank(body: Rerank, request: Request) -> Response:
        """Order documents for a query."""
        job = body.job(service, request.scope["path"])
        return Response(await service.answer(request, job), media_type="application/json")

    for path in RERANK_PATHS:
        app.post(path, response_model=Ranked | list[RankedText], dependencies=token(service))(rerank)


class Events(Body):
    """A body of /events."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(description="The token of a result of /search.")
    clicks: list[Name] | None = Field(None, description="Ids of documents of the result that were clicked.")
    shown: list[Name] | None = Field(
        None, description="Ids of the documents that were shown, where these are not all of the result."
    )


class Written(BaseModel):
    """The answer of /events."""

    written: int


def add_events(app: FastAPI, service: Service) -> None:
    """Add the endpoint."""

    @app.post("/events", response_model=Written, dependencies=token(service))
    async def events(body: Events, request: Request) -> Response:
        """Log what searchers were shown and clicked."""
        log = service.engine.log
        if log is None:
            raise ServiceError(404, "service", "a log of queries", "none", "Start it with --log queries:FOLDER.")
        shown = body.shown or []
        clicks = body.clicks or []
        written = log.write(await asyncio.to_thread(log.events, body.token, shown, clicks))
        done = asyncio.wrap_future(written)
        await asyncio.wait([done], timeout=service.limits.deadline)
        if written.cancel() or not await done:
            raise not_written()
        return json_response({"written": len(shown) + len(clicks)})
