"""The bodies of /search, of /rerank (in the forms that clients of other services send) and of /events.

pydantic checks them; what depends on the index or on the service's limits is checked when a body becomes a job. A job
is a request until it is answered.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import blake2b
from typing import Annotated, Any, ClassVar

import numpy as np
import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rerank.errors import shown
from rerank.files.corpus import of_hit
from rerank.files.json_lines import ID_KEYS
from rerank.lucene.documents import is_text
from rerank.lucene.text_documents import of_store
from rerank.rankers.cutoff import Cutoff
from rerank.rankers.probability_map import logistic
from rerank.runtime.fields import REMEDY
from rerank.runtime.json_text import ParseFault, check_nesting
from rerank.service.settings import ServiceError
from rerank.types.data_frames import plain_name
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken
from rerank.types.retriever import Passage

SCORE_PATHS = ("/score", "/v1/score")  # of vLLM
NIM_PATH = "/v1/ranking"
_NO_PROBABILITY = (
    "relevance_score is null, since the model is not calibrated, or a slow scorer decides the order; score orders the "
    "documents of one query"
)
RERANK_PATHS = (
    *("/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking", *SCORE_PATHS, NIM_PATH),
    "/infinity/rerank",
)
# Of NVIDIA NIM, /score, and Mixedbread and Elasticsearch.
_NAMES = {
    **{"passages": "documents", "text_1": "query", "data_1": "query", "queries": "query"},
    **{"text_2": "documents", "data_2": "documents", "items": "documents"},
    **{"input": "documents", "return_input": "return_documents"},
}
MOST_FIELDS = 64
MOST_QUERIES = 32
QUERY_CHARACTERS = 4000
TEXT_CHARACTERS = 200_000  # of the text of a document
MOST_MEMBERS = 256  # of a body, and of a document in it
MOST_EXCERPT = 10_000
NORMAL_CANDIDATES = 100  # candidates that a model reorders by default
PARAMETERS = ("compare", "assign")  # parameters of the address
_ONE = "q"  # id of the query of a body that has one
_TEXT = "text"
_FORMS: dict[type, str] = {list: "[]", dict: "{}", str: "''"}  # tags of forms by JSON type
_EXPECTED = {  # type of pydantic's error -> what was expected
    "refused": "{expected}",
    "missing": "the key {key}",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "string_type": "text",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "list_type": "a list",
    "too_short": "at least {min_length} entries",
    "too_long": "at most {max_length} entries",
    "string_pattern_mismatch": "text without NUL, and a query of more than white space",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


@dataclass(eq=False)
class Job:
    """A request whose body has been checked; nobody waits for its answer after the deadline (`time.monotonic()`).

    models        names of the served models that answer it: one, or two that share each list
    rows          number of query-document pairs that the kernels compute
    place, named  where the request names served models, and all that it names there
    """

    body: Any
    models: tuple[str, ...] = ()
    rows: int = 0
    place: str = "body.model"
    named: tuple[str, ...] = ()
    request_id: str = ""
    deadline: float = float("inf")
    answer: Any = field(default=None, init=False)
    fault: Exception | None = field(default=None, init=False)

    def is_late(self) -> bool:
        """Return whether nobody waits for the answer any more."""
        return time.monotonic() > self.deadline


@dataclass(eq=False)
class SearchJob(Job):
    """A request of /search.

    queries     texts by query id
    candidates  number of candidates of each query
    session     seed of what is drawn at random for the request
    entry       what is written to the log of queries when the answer is sent
    """

    queries: Mapping[str, str] = field(default_factory=dict)
    candidates: int = NORMAL_CANDIDATES
    session: str = ""
    entry: Sequence[Any] = field(default=(), init=False)

    def seed(self, query: str) -> int:
        """Return the seed of what is drawn at random for the list of a query."""
        return _number(*self.models, self.session, query)


@dataclass(eq=False)
class RerankJob(Job):
    """A request of /rerank: texts, or fields of the index by name, or ids of documents of the index."""

    documents: Sequence[str | Mapping[str, Any]] = ()
    doc_ids: Sequence[str] | None = None


@dataclass(frozen=True)
class RerankAnswer:
    """The documents of a /rerank request, best first: their numbers in the request, and their scores.

    probabilities  of relevance, where the model is calibrated; documents that are not likely enough are left out
    texts          texts of the returned documents, by their numbers, where the index has them
    passages       best passages of the documents, by their numbers, where the request asks for them
    """

    order: list[int]
    scores: list[float]
    probabilities: list[float] | None = None
    texts: Mapping[int, str] | None = None
    passages: Mapping[int, Passage] = field(default_factory=dict)


def _number(*texts: str) -> int:
    """Return a number of 64 bits that looks random, the same for the same texts."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest())


def _refused(expected: str, found: str, remedy: str = REMEDY) -> PydanticCustomError:
    """Return the error of a validator."""
    return PydanticCustomError("refused", "{expected}", {"expected": expected, "found": found, "remedy": remedy})


def _fault(error: ValidationError) -> ServiceError:
    """Return the answer for the first error of a body."""
    first = error.errors(include_url=False)[0]
    steps = [step for step in first["loc"] if step not in _FORMS.values()]
    values = first.get("ctx", {})
    kind = first["type"]
    if kind == "missing":
        values = {"key": steps.pop(), "found": "none", "remedy": "Add it."}
    expected = _EXPECTED[kind].format(**values) if kind in _EXPECTED else first["msg"]
    found = values.get("found") or (len(first["input"]) if kind.endswith("too_long") else shown(first["input"]))
    place = "body" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return ServiceError(422, place, expected, str(found), values.get("remedy", REMEDY))


def _checked_ids(queries: Any) -> Any:
    """Return queries whose ids can be written to files."""
    broken = first_broken(queries) if isinstance(queries, dict) else None
    if broken is not None:
        raise _refused(f"ids {ID_RULE}", shown(broken), "Rename it.")
    return queries


def _form(value: object) -> str | None:
    """Return the tag of a value's form."""
    return _FORMS.get(type(value))


Least = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
Names = Annotated[list[Name], Field(max_length=MOST_FIELDS)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]
Queries = Annotated[
    Annotated[list[Query], Field(min_length=1, max_length=MOST_QUERIES), Tag("[]")]
    | Annotated[dict[str, Query], Field(min_length=1, max_length=MOST_QUERIES), Tag("{}")],
    Discriminator(_form, "form", "a list of texts, or an object of texts by id"),
    AfterValidator(_checked_ids),
]
Text = Annotated[str, Field(max_length=TEXT_CHARACTERS, pattern=r"^[^\x00]*$")]
Document = Annotated[
    Annotated[Text, Tag("''")] | Annotated[dict[str, Any], Field(max_length=MOST_MEMBERS), Tag("{}")],
    Discriminator(_form, "form", "text, or an object with a text or an id"),
]


class Body(BaseModel):
    """A body: a key with null counts as absent, and unknown keys that look like a misspelt one are refused."""

    model_config = ConfigDict(strict=True)
    one_of: ClassVar[tuple[str, ...]] = ()  # keys of which there must be exactly one
    other_keys: ClassVar[bool] = False  # whether other keys are ignored, not refused

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: object) -> Any:
        if not isinstance(value, dict):
            raise _refused("an object", shown(value))
        if len(value) > MOST_MEMBERS:
            raise _refused(f"at most {MOST_MEMBERS} keys", str(len(value)), "Leave out those that are not needed.")
        known = {plain_name(name): name for name in cls.model_fields}
        for key in value:
            if key in cls.model_fields:
                continue
            near = get_close_matches(plain_name(key), known, n=1, cutoff=0.8) if len(key) < 64 else []
            if near and value[key] is not None:
                raise _refused("a known key", shown(key), f"Did you mean {known[near[0]]!r}?")
            if not cls.other_keys:
                raise _refused(f"keys {', '.join(cls.model_fields)}", shown(key), "Leave it out.")
        present = {key: member for key, member in value.items() if member is not None}
        named = [key for key in cls.one_of if key in present]
        if cls.one_of and len(named) != 1:
            raise _refused(
                f"one of {' and '.join(cls.one_of)}",
                " and ".join(named) or shown(", ".join(value)),
                "Give exactly one.",
            )
        return present


def json_bytes(content: object) -> bytes:
    """Return a value as JSON in UTF-8; a half surrogate pair, which UTF-8 cannot hold, is written as `?`."""
    try:
        return orjson.dumps(content)
    except TypeError:  # half surrogate pairs and integers beyond 64 bits, which the standard library writes
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def read_body(model: type[Body], text: bytes) -> Body:
    """Return a body; raises ServiceError."""
    try:
        check_nesting(text.decode("utf-8", "replace"))  # answers repeat its values, and must be writable
        return model.model_validate(orjson.loads(text))
    except (orjson.JSONDecodeError, ParseFault) as error:
        raise ServiceError(400, "body", "JSON", str(error), "Send one JSON object.") from None
    except ValidationError as error:
        raise _fault(error) from None


class Ranked(Body):
    """What the bodies of /search and /rerank share."""

    model: Name | None = Field(None, description="A name of /models; the served model by default.")
    min_score: Least | None = Field(
        None, description="Least probability of relevance of a document; others are left out. For a calibrated model."
    )
    abstain: Least | None = Field(
        None,
        description="Least probability that any document is relevant; below it, none is returned. For a calibrated "
        "model.",
    )

    @property
    def cutoff(self) -> Cutoff | None:
        """The probabilities below which documents are left out."""
        return Cutoff.of(self.min_score, self.abstain)


class Search(Ranked):
    """A body of /search."""

    one_of = ("query", "queries")
    query: Query | None = Field(None, description="The query.")
    queries: Queries | None = Field(None, description="Several queries: a list, or an object by query id.")
    k: Count = Field(10, description="Number of documents to return for each query.")
    candidates: Count | None = Field(
        None, description="Number of BM25's documents that the model reorders; by default 100, or k if that is more."
    )
    fields: Names = Field([], description="Fields of the documents to return; none by default.")
    excerpt: Annotated[int, Field(ge=0, le=MOST_EXCERPT)] = Field(
        0, description="Longest text of a field: the part with most matches, with … for what is left out. 0 is all."
    )
    highlight: bool = Field(False, description="Whether to return where words of the query are.")
    explain: bool = Field(
        False, description="Whether to return the features that add or take most of each document's score."
    )
    passage: bool = Field(False, description="Whether to return the passage of each document that fits the query best.")
    session: Name | None = Field(
        None, description="Any text that the searches of one session share; its hash is logged. No user is named."
    )

    def job(self, most: int, served: str, parameters: Mapping[str, str]) -> SearchJob:
        """Return the request as a job; raises ServiceError.

        most        most candidates of a query
        served      the ranking that is used by default
        parameters  parameters of the address
        """
        queries: Any = {_ONE: self.query} if self.query is not None else self.queries
        if isinstance(queries, list):
            queries = {f"q{number}": text for number, text in enumerate(queries, start=1)}
        candidates = self.candidates or min(max(self.k, NORMAL_CANDIDATES), most)
        for key, number in (("k", self.k), ("candidates", candidates)):
            if number > most:
                raise ServiceError(422, f"body.{key}", f"at most {most}", str(number), REMEDY)
        if candidates < self.k:
            raise ServiceError(
                422, "body.candidates", f"at least the {self.k} documents of k", str(candidates),
                "Ask for more candidates.",
            )  # fmt: skip
        if candidates * len(queries) > most * 8:
            raise ServiceError(
                413, "body.queries", f"at most {most * 8} candidates of all queries together",
                str(candidates * len(queries)), "Send some queries in another request.",
            )  # fmt: skip
        job = SearchJob(self, (self.model or served,), queries=queries, candidates=candidates)
        job.session = self.session or secrets.token_hex(8)
        self._name_two(job, parameters)
        job.named = job.named or job.models
        job.rows = len(job.models) * candidates * len(queries)
        return job

    def _name_two(self, job: SearchJob, parameters: Mapping[str, str]) -> None:
        """Set the served models of `compare` or `assign`; the session draws one of the two that are assigned."""
        if len(parameters) + (self.model is not None) > 1:
            raise ServiceError(
                422, "query", "one of compare, assign and the model of the body", "several", "Give one of them."
            )
        for name, text in parameters.items():
            job.place = f"query.{name}"
            job.named = job.models = tuple(text.split(","))
            if len(set(job.named)) != 2 or len(job.named) != 2 or not all(job.named):
                raise ServiceError(
                    422, job.place, "two names of /models, as A,B", text[:100] or "none", "Name two models."
                )
            if name == "assign":
                job.models = (job.named[_number(*job.named, job.session) % 2],)


class Rerank(Ranked):
    """A body of /rerank in the form of Cohere, Jina, Voyage and TEI, vLLM's /score and NVIDIA NIM's /v1/ranking."""

    one_of = ("documents", "texts")
    other_keys = True
    query: Query = Field(description="The query.")
    documents: list[Document] | None = Field(
        None,
        min_length=1,
        description="Texts; or objects with `text` or fields of the index; or objects with the `id` of a document "
        "of the index and no text, in all of them.",
    )
    texts: list[Text] | None = Field(
        None, min_length=1, description="Texts, in the form of Text Embeddings Inference; the answer is then a list."
    )
    top_n: Count | None = Field(None, description="Number of documents to return; all by default.")
    top_k: Count | None = Field(
        None, description="The same for Voyage's clients; the answer then has `data`, with texts as documents."
    )
    truncation: bool | None = Field(None, description="Sent by Voyage's clients: no effect but the form of the answer.")
    rank_fields: Names = Field(
        [],
        description="Members of the documents to rank by; those that are no fields of the index are one text. By "
        "default all that are fields.",
    )
    return_documents: bool = Field(True, strict=False, description="Whether to return the documents.")
    return_text: bool = Field(False, description="Whether to return the texts of `texts`.")
    return_passages: bool = Field(
        False, description="Whether to return the passage of each document that fits the query best."
    )
    raw_scores: bool = Field(
        False,
        description="Whether `score` in answers to `texts` and of /score is that of the model. Otherwise it is the "
        "probability of relevance or, of a model that is not calibrated, the logistic function of its score.",
    )

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, value: Any) -> Any:
        """Return a body with the names of Cohere's keys."""
        if not isinstance(value, dict):
            return value
        body = {_NAMES.get(key, key): member for key, member in value.items()}
        if len(body) < len(value):
            raise _refused("one query and one list of documents", shown(", ".join(value)), "Give exactly one of each.")
        if isinstance(body.get("query"), dict):
            body["query"] = body["query"].get(_TEXT)
        if isinstance(body.get("query"), list):
            if len(body["query"]) != 1:
                raise _refused("one query", f"a list of {len(body['query'])}", "Send each with its documents.")
            body["query"] = body["query"][0]
        if isinstance(text := value.get("text_2", value.get("data_2")), str):
            body["documents"] = [text]
        return body

    @property
    def items(self) -> list[Any]:
        """The documents or texts."""
        return (self.documents if self.texts is None else self.texts) or []

    @property
    def count(self) -> int | None:
        """Number of documents to return; None is all."""
        return self.top_n or self.top_k

    def job(self, most: int, served: str, names: Sequence[str], field: str) -> RerankJob:
        """Return the request as a job; raises ServiceError.

        most   most documents of the request
        names  names of the fields and numbers that documents may have
        field  field of the index that plain texts fill
        """
        place = "body.documents" if self.texts is None else "body.texts"
        if len(self.items) > most:
            raise ServiceError(
                413, place, f"at most {most} documents", str(len(self.items)), "Send the others in another request."
            )
        models = (self.model or served,)
        job = RerankJob(self, models, len(self.items), named=models, doc_ids=_ids_of(self.items, place))
        if job.doc_ids is None:
            job.documents = [
                _document(self._ranked_part(of_hit(item), names), f"{place}[{n}]", names, field)
                for n, item in enumerate(self.items)
            ]
        return job

    def _ranked_part(self, item: Any, names: Sequence[str]) -> Any:
        """Return the members of a document that `rank_fields` names; texts that are no fields become one text."""
        if isinstance(item, str) or not self.rank_fields:
            return item
        part = {name: item[name] for name in self.rank_fields if name in item}
        others = [part.pop(name) for name in list(part) if name not in names and is_text(part[name])]
        lines = ("\n".join([other] if isinstance(other, str) else other) for other in others)
        return {**part, _TEXT: "\n".join(lines)} if others else part

    def answer(self, job: Job, path: str) -> Any:
        """Return the answer, in the form that the body and the path ask for."""
        ranked: RerankAnswer = job.answer
        scores = ranked.scores
        if not self.raw_scores and (path in SCORE_PATHS or self.texts is not None):
            scores = ranked.probabilities or logistic(np.array(scores)).tolist()
        best = list(zip(ranked.order, scores, strict=True))[: self.count]
        if path == NIM_PATH:
            return {"rankings": [{"index": number, "logit": score} for number, score in best]}
        if path in SCORE_PATHS:
            data = [{"index": number, "object": "score", "score": score} for number, score in sorted(best)]
            return {"id": job.request_id, "object": "list", "model": job.models[0], "data": data}
        passages = {number: {"passage": passage._asdict()} for number, passage in ranked.passages.items()}
        if self.texts is not None:
            return [
                {"index": number, "score": score, **({_TEXT: self.texts[number]} if self.return_text else {})}
                | passages.get(number, {})
                for number, score in best
            ]
        voyage = self.top_n is None and (self.top_k is not None or self.truncation is not None)
        results = []
        probabilities: Sequence[float | None] = ranked.probabilities or [None] * len(scores)
        for (number, score), probability in zip(best, probabilities, strict=False):
            entry: dict[str, Any] = {"index": number, "relevance_score": probability, "score": score}
            entry |= passages.get(number, {})
            if self.return_documents:
                document = self._document(number, ranked.texts)
                entry["document"] = document.get(_TEXT, "") if voyage or path == RERANK_PATHS[-1] else document
            results.append(entry)
        return {
            "id": job.request_id,
            "object": "list",
            "model": job.models[0],
            **({} if voyage else {"results": results}),
            **({"data": results} if voyage or (self.top_n is None and path == "/v1/rerank") else {}),
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
            | ({"reason": _NO_PROBABILITY} if ranked.probabilities is None else {}),
        }

    def _document(self, number: int, texts: Mapping[int, str] | None) -> dict[str, Any]:
        """Return a document as it was sent, with its text where the index has it."""
        item = self.items[number]
        document = {_TEXT: item} if isinstance(item, str) else dict(item)
        return document if texts is None else {**document, _TEXT: texts[number]}


def _ids_of(items: Sequence[Any], place: str) -> list[str] | None:
    """Return the ids of documents of the index, or None where the documents are texts; refuse both together."""
    named = [isinstance(item, dict) and set(item) <= set(ID_KEYS) for item in items]
    if not any(named):
        return None
    if not all(named):
        raise ServiceError(
            422, f"{place}[{named.index(not named[0])}]", "an id alone in all documents or in none",
            "a text beside ids" if named[0] else "an id beside texts", "Send two requests.",
        )  # fmt: skip
    ids: dict[str, None] = {}
    for number, item in enumerate(items):
        doc_id = next((item[key] for key in ID_KEYS if key in item), None)
        doc_id = str(doc_id) if type(doc_id) is int else doc_id
        if not isinstance(doc_id, str) or not doc_id or doc_id in ids:
            raise ServiceError(
                422, f"{place}[{number}].id", "the id of a document of the index, each once", shown(doc_id),
                "Name the document, or send its text.",
            )  # fmt: skip
        ids[doc_id] = None
    return list(ids)


def _document(item: str | Mapping[str, Any], place: str, names: Sequence[str], field: str) -> str | dict[str, Any]:
    """Return a document as `Index.text_features` takes it: a text, or fields of the index."""
    document = item if isinstance(item, str) or field in item else of_store(item, names, field)
    if isinstance(document, str):
        return document
    own = {
        name: value
        for name, value in document.items()
        if name in names and (is_text(value) or type(value) in (int, float))
    }
    if not own:
        raise ServiceError(
            422, place, f"a text, or fields of the index ({', '.join(names)})", shown(dict(document)),
            "Name the text `text`, or members that the document has in `rank_fields`.",
        )  # fmt: skip
    return own


class Events(Body):
    """A body of /events."""

    token: str = Field(description="The token of a result of /search.")
    clicks: list[Name] = Field([], description="Ids of documents of the result that were clicked.")
    shown: list[Name] = Field(
        [], description="Ids of the documents that were shown, where these are not all of the result."
    )
