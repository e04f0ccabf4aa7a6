"""The endpoint /rerank, in the shapes that the clients of other services know."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Generic, Self, TypeVar

from fastapi import FastAPI
from pydantic import AfterValidator, BaseModel, Field, PlainValidator, PrivateAttr, ValidationInfo, model_validator
from starlette.requests import Request
from starlette.responses import Response

from rerank.errors import shown
from rerank.lucene.documents import ID_KEYS
from rerank.runtime.schema import SchemaError
from rerank.service.app import RERANK_PATHS, Service
from rerank.service.bodies import (
    BestPassage,
    Body,
    Count,
    Least,
    Name,
    Names,
    Query,
    check_members,
    cutoff,
    plain_text,
    token,
    words,
)
from rerank.service.engine import Engine
from rerank.service.faults import ServiceError, unknown
from rerank.service.jobs import RerankAnswer, RerankJob
from rerank.types.retriever import CONTENTS

_TEXT = "text"
QueryText = TypeVar("QueryText", bound=str)
Documents = TypeVar("Documents", bound=list[Any])
Texts = TypeVar("Texts", bound=list[str])


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


class RerankBody(Body, Generic[QueryText, Documents, Texts]):
    """What a body of /rerank holds, in the shape of Cohere, Jina, Voyage and TEI."""

    one_of = ("documents", "texts")
    ignored = ("priority", "truncate", "truncation", "truncation_direction", "user", "return_input", "input")
    query: QueryText = Field(description="The query.")
    documents: Documents | None = Field(
        None,
        description="Texts; or objects with `text` or fields of the index; or objects with the `id` of a document "
        "of the index and no text, in all of them.",
    )
    texts: Texts | None = Field(
        None, description="Texts, in the shape of Text Embeddings Inference; the answer is then a list."
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
        place, engine = "body.documents" if self.texts is None else "body.texts", info.context.engine
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
            cutoff=cutoff(self.min_score, self.abstain),
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


def _check_text(text: str, most: int) -> None:
    """Refuse a text of more characters than `most`, or of such as UTF-8 or Java cannot hold."""
    if len(text) > most:
        raise SchemaError(f"at most {most} characters", str(len(text)), "Cut the text.")
    plain_text(text)


def _check_document(value: object, info: ValidationInfo[Service]) -> Any:
    """Refuse what is neither a text nor an object, and texts in it that are too long."""
    most = info.context.limits.text_characters
    if isinstance(value, str):
        _check_text(value, most)
    elif not isinstance(value, dict):
        raise SchemaError("text, or an object with a text or an id", shown(value))
    else:
        check_members(value)
        for key, each in value.items():
            for text in each if isinstance(each, list) else [each]:
                if isinstance(text, str):
                    try:
                        _check_text(text, most)
                    except SchemaError as error:
                        raise error.within(shown(key)) from None
    return value


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
    """Add the endpoint, whose bodies have the limits of the service, under all its paths."""
    limits = service.limits
    Words = Annotated[Query, Field(max_length=limits.query_characters), AfterValidator(words)]
    Document = Annotated[Any, PlainValidator(_check_document, json_schema_input_type=str | dict[str, Any])]
    Text = Annotated[str, Field(max_length=limits.text_characters), AfterValidator(plain_text)]
    several = Field(min_length=1, max_length=limits.documents)
    Documents = Annotated[list[Document], several]
    Texts = Annotated[list[Text], several]

    class Rerank(RerankBody[Words, Documents, Texts]):
        """A body of /rerank in the shape of Cohere, Jina, Voyage and TEI."""

    async def rerank(body: Rerank, request: Request) -> Response:
        """Order documents for a query."""
        job = body.job(service, request.scope["path"])
        return Response(await service.answer(request, job), media_type="application/json")

    for path in RERANK_PATHS:
        app.post(path, response_model=Ranked | list[RankedText], dependencies=token(service))(rerank)
