"""Functions of texts that users bring: encoders, which make vectors, and slow scorers, such as cross-encoders.

The file of an encoder's vectors of the documents is made once for an index and an encoder. When it is opened, a few
documents are encoded again: a file of another encoder of the same name is made anew. Vectors of queries beside those of
documents are what the families of features are given.

Encoders by name: models of other libraries that are installed and whose weights are on this machine.

    sentence-transformers:NAME   a model of sentence-transformers, by its name or folder
    model2vec:NAME               a static model, by its name or folder
    onnx:FOLDER                  model.onnx and tokenizer.json of a folder, by onnxruntime, without PyTorch
    wordllama                    the model in wordllama's wheel

Prefixes of queries and documents, greatest length, pooling and normalisation are those that the model's own files name.
Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.runtime import store
from rerank.runtime.codec import Record, Text
from rerank.runtime.output import whole_file
from rerank.runtime.progress import track
from rerank.runtime.registry import exception_text, named_function
from rerank.runtime.store import Blocks, Kind, Stored, cache_folder, note_path
from rerank.types import Floats, ForwardIndex, Ints
from rerank.vectors.vectors import ENCODER, IDENTITY, MOST_DIMENSIONS, Vectors, check_finite, identity

Texts = Callable[[Ints], Sequence[str]]
_BATCH = 256  # texts of a call
_BLOCK = 2048  # documents that are encoded anew after an interruption, at most
_PROBES = 4  # documents that are encoded again when a file is opened
_TOLERANCE = 1e-3  # of a cosine: batches of other sizes may change the last bits
TOKENS = 512  # of a text, where a model's files do not name its greatest length
BATCH = 32  # texts of about equal length of one call of an ONNX model
Functions = tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]  # of documents, of queries


@dataclass(frozen=True, eq=False)
class Encoder:
    """A function from texts to vectors.

    Parameters
    ----------
    name : str
        `module:function`, or the name of a model, see `LIBRARIES`.
    function : callable
        Takes a list of n texts, returns an array-like of shape (n, dimensions).
    query_function : callable or None
        The same of queries, where it is another function.

    """

    name: str
    function: Callable[[list[str]], Any]
    query_function: Callable[[list[str]], Any] | None = None

    @classmethod
    def of(cls, encoder: Encoder | str | Callable[[list[str]], Any]) -> Encoder:
        """Return an encoder as it is, of a callable, or of a name; raises InvalidInputError."""
        if isinstance(encoder, cls):
            return encoder
        if isinstance(encoder, str) and (functions := named_functions(encoder)) is not None:
            return cls(encoder, *functions)
        return cls(*named_function("encoder", encoder, "from a list of texts to an array"))

    def encode_queries(self, texts: Sequence[str], dimensions: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of queries."""
        return Encoder(self.name, self.query_function or self.function).encode(texts, dimensions)

    def encode(self, texts: Sequence[str], dimensions: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of documents."""
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if not rows:
            return np.zeros((len(texts), dimensions or 1), dtype=np.float32)
        batches = [rows[first : first + _BATCH] for first in range(0, len(rows), _BATCH)]
        parts = [self._called([texts[row] for row in batch]) for batch in batches]
        if len({part.shape[1] for part in parts} | ({dimensions} if dimensions else set())) > 1:
            raise self._fault(f"{dimensions or parts[0].shape[1]} dimensions in every call", f"{parts[-1].shape[1]}")
        out = np.zeros((len(texts), parts[0].shape[1]), dtype=np.float32)
        out[rows] = np.concatenate(parts)
        return out

    def _called(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the checked vectors of one call."""
        try:
            returned = self.function(list(texts))
        except Exception as error:
            raise self._fault("vectors", exception_text(error)) from error
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(returned, dtype=np.float32)
        except (TypeError, ValueError):
            raise self._fault("an array of numbers", type(returned).__name__) from None
        if vectors.ndim != 2 or len(vectors) != len(texts) or not 1 <= vectors.shape[1] <= MOST_DIMENSIONS:
            raise self._fault(
                f"shape ({len(texts)}, dimensions) with 1 to {MOST_DIMENSIONS} dimensions", f"{vectors.shape}"
            )
        are_finite = np.isfinite(vectors).all(axis=1)
        if not are_finite.all():
            raise self._fault("finite numbers", f"NaN or infinity for the text {shown(texts[are_finite.argmin()])}")
        have_length = vectors.any(axis=1)
        if not have_length.all():
            raise self._fault("vectors other than zero", f"zero for the text {shown(texts[have_length.argmin()])}")
        return vectors

    def _fault(self, expected: str, got: str) -> InvalidInputError:
        return InvalidInputError(f"encoder {self.name}: expected {expected}, got {got}. Correct the function.")


def encoded_documents(encoder: Encoder, forward: ForwardIndex, texts: Texts) -> NDArray[np.float32]:
    """Return the vectors of all documents of an index, (n_docs, dimensions), from a file of the cache folder.

    A document without text has the vector zero. The file is made where there is none; a call after an interrupted one
    goes on where that ended.
    """
    values = {**identity(forward), "encoder": encoder.name}
    path = cache_folder() / f"encoded-{hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]}"
    probes = np.unique(np.linspace(0, max(forward.n_docs - 1, 0), _PROBES).astype(np.int64))[: forward.n_docs]
    again = encoder.encode(texts(probes)) if len(probes) else np.zeros((0, 1), np.float32)
    if path.is_file():
        with suppress(FileFormatError):
            stored = store.read(path, KIND, [note_path(path)])[1]["vectors"]
            if _agree(stored, probes, again):
                return stored
            del stored  # Windows replaces no mapped file
        log.info("%s: the encoder has changed; all documents are encoded again.", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = forward.n_docs, again.shape[1]
    store.write(path, KIND, values, {"vectors": Blocks(np.float32, shape, _blocks(encoder, path, shape, texts))})
    for part in path.parent.glob(f"{path.name}.*.npy"):
        part.unlink(missing_ok=True)
    return store.read(path, KIND, [note_path(path)])[1]["vectors"]


def _blocks(encoder: Encoder, path: Path, shape: tuple[int, int], texts: Texts) -> Iterator[NDArray[np.float32]]:
    """Yield the vectors of the documents; a block is a file near `path` until all are made, to go on from there."""
    n_docs, dimensions = shape
    for first in track(range(0, n_docs, _BLOCK), f"vectors of {encoder.name}"):
        docs = np.arange(first, min(first + _BLOCK, n_docs))
        part = path.with_name(f"{path.name}.{first}.npy")
        block = np.empty((0, 0), np.float32)
        with suppress(EOFError, OSError, ValueError):
            block = np.load(part)
        again = encoder.encode(texts(docs[:1]), dimensions) if len(block) else block
        if block.shape != (len(docs), dimensions) or not _agree(block, np.array([0]), again):
            block = encoder.encode(texts(docs), dimensions)
            with whole_file(part, binary=True) as file:
                np.save(file, block)
        yield block


KIND = Kind(
    "rerank document vectors",
    1,
    "document vectors of an encoder",
    "Delete it, it is made again.",
    Record({**IDENTITY, "encoder": Text()}),
    lambda _: {"vectors": Stored(np.float32, ("n_docs", "n_dimensions"), mapped=True)},
    lambda _, arrays: check_finite("documents", arrays["vectors"]),
)


def _agree(stored: NDArray[np.float32], probes: Ints, again: NDArray[np.float32]) -> bool:
    """Return whether the stored vectors of some documents are those of the encoder."""
    if len(stored) <= probes.max(initial=-1) or (again.any() and stored.shape[1] != again.shape[1]):
        return False
    left = stored[probes].astype(np.float64)
    if not again.any():
        return not left.any()
    norms = np.linalg.norm(again.astype(np.float64), axis=1)
    distance = np.linalg.norm(left - again, axis=1)
    return bool((distance <= _TOLERANCE * np.maximum(norms, 1e-30)).all())


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Vectors of some queries.

    Parameters
    ----------
    vectors : Vectors or None
        Vectors of terms and documents.
    queries : mapping from str to ndarray of shape (n_queries, dimensions) and dtype float32
        Vectors of the queries, by space; zeros where a query has none.
    encoded : ndarray of shape (n_docs, dimensions) and dtype float32, or None
        Vectors of the documents by an encoder.

    """

    vectors: Any
    queries: Mapping[str, NDArray[np.float32]]
    encoded: NDArray[np.float32] | None = None

    def documents(self, space: str, of_field: str, docs: Ints) -> tuple[NDArray[np.float32], Ints]:
        """Return an array of vectors of documents, and the row of each document in it, (n,) int64."""
        stored = self.vectors.stored.get((space, of_field))
        if stored is not None:
            return stored, docs
        distinct, rows = np.unique(docs, return_inverse=True)
        return self.vectors.documents(space, of_field, distinct), rows


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors of an encoder.

    Parameters
    ----------
    name : str
        Name of the encoder.
    documents : ndarray of shape (n_docs, dimensions) and dtype float32
        Vectors of the documents of the index.
    queries : mapping from str to ndarray of shape (dimensions,) and dtype float32
        Vectors of the queries, by query id.

    """

    name: str
    documents: NDArray[np.float32]
    queries: Mapping[str, NDArray[np.float32]]

    def of_queries(self, query_ids: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of some queries, (n_queries, dimensions) float32."""
        rows = [self.queries[query_id] for query_id in query_ids]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.documents.shape[1])


def query_vectors(
    vectors: Vectors | None,
    encoded: Encoded | None,
    forward: ForwardIndex,
    query_ids: Iterable[str],
    query_terms: Sequence[Sequence[str]],
) -> QueryVectors | None:
    """Return the vectors of queries; `forward` are the arrays of the index, or of texts that it does not hold."""
    queries: dict[str, NDArray[np.float32]] = {}
    if vectors is not None:
        queries = {name: space.queries(vectors.forward, query_terms) for name, space in vectors.spaces.items()}
    if encoded is not None:
        queries[ENCODER] = encoded.of_queries(query_ids)
    elif vectors is None:
        return None
    return QueryVectors(
        vectors=None if vectors is None else vectors.on(forward),
        queries=queries,
        encoded=None if encoded is None else encoded.documents,
    )


def named_functions(name: str) -> Functions | None:
    """Return the functions of an encoder of another library; None for a name of another form."""
    kind, _, model = name.partition(":")
    if kind not in LIBRARIES or not (model or kind == "wordllama"):
        return None
    packages, load = LIBRARIES[kind]
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise InvalidInputError(
            f"encoder {name}: expected the package {missing[0]}, got none. Run `pip install {' '.join(missing)}`."
        )
    try:
        return load(model)
    except Exception as error:  # libraries raise classes of their own for damaged files
        raise InvalidInputError(
            f"encoder {name}: expected a model whose files are on this machine, got {exception_text(error)}. Correct "
            "the name, or download the model first."
        ) from error


def _sentence_transformers(name: str) -> Functions:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(name, local_files_only=True)
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    return partial(model.encode_document, **options), partial(model.encode_query, **options)


def _model2vec(name: str) -> Functions:
    from model2vec import StaticModel

    encode = StaticModel.from_pretrained(name, force_download=False).encode
    return encode, encode


def _wordllama(_: str) -> Functions:
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return model.embed, model.embed


def _onnx(name: str) -> Functions:
    model = OnnxModel(Path(name))
    prompts = model.settings("config_sentence_transformers.json").get("prompts", {})
    documents = prompts.get("document") or prompts.get("passage") or ""
    return partial(model.encode, documents), partial(model.encode, prompts.get("query") or "")


class OnnxModel:
    """A transformer in ONNX form with its tokenizer.

    Parameters
    ----------
    folder : Path
        Holds `model.onnx` or `onnx/model.onnx`, `tokenizer.json`, and the files of settings that sentence-transformers
        writes.

    """

    def __init__(self, folder: Path) -> None:
        from onnxruntime import InferenceSession
        from tokenizers import Tokenizer

        self.folder = folder
        inner = folder / "onnx" / "model.onnx"
        model = inner if inner.is_file() else folder / "model.onnx"
        tokenizer = folder / "tokenizer.json"
        for path in (model, tokenizer):
            if not path.is_file():
                raise FileNotFoundError(f"no {path}")
        self.session = InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_truncation(self.settings("sentence_bert_config.json").get("max_seq_length") or TOKENS)
        self.tokenizer.enable_padding()
        self.first_token = self.settings("1_Pooling/config.json").get("pooling_mode_cls_token", False)

    def settings(self, name: str) -> dict[str, Any]:
        """Return a file of settings; empty where there is none."""
        path = self.folder / name
        return json.loads(path.read_text("utf8")) if path.is_file() else {}

    def encode(self, prefix: str, texts: list[str]) -> NDArray[np.float32]:
        """Return the unit vectors of texts, (n, dimensions), each behind a prefix."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        parts = np.array_split(order, -(-len(order) // BATCH))
        vectors = np.concatenate([self._pooled([prefix + texts[number] for number in part]) for part in parts])
        out = np.empty_like(vectors)
        out[order] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return out

    def _pooled(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the model's own vectors of texts, or the mean or the first of those of their tokens."""
        encodings = self.tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        values = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        inputs = {value.name: values[value.name] for value in self.session.get_inputs()}
        names = [value.name for value in self.session.get_outputs()]
        name = "sentence_embedding" if "sentence_embedding" in names else names[0]
        output: NDArray[np.float32] = self.session.run([name], inputs)[0]
        if output.ndim == 2:
            return output
        if self.first_token:
            return output[:, 0]
        weights = mask[:, :, np.newaxis].astype(np.float32)
        return (output * weights).sum(axis=1) / weights.sum(axis=1)  # type: ignore[no-any-return]


# Kind of encoder, and extra of this package -> the packages that it needs, and what loads its model.
LIBRARIES: dict[str, tuple[tuple[str, ...], Callable[[str], Functions]]] = {
    "sentence-transformers": (("sentence_transformers",), _sentence_transformers),
    "model2vec": (("model2vec",), _model2vec),
    "onnx": (("onnxruntime", "tokenizers"), _onnx),
    "wordllama": (("wordllama",), _wordllama),
}


CROSS_ENCODER = "cross-encoder:"
MOST_SCORES = 1_000_000  # that are kept


@dataclass(frozen=True, eq=False)
class Scorer:
    """A function of a query and some texts, which is called once for each query and text.

    Parameters
    ----------
    name : str
        `module:function`, or `cross-encoder:NAME` of sentence-transformers.
    function : callable
        Takes a query and a list of n texts, returns n numbers; the higher, the more relevant.
    seconds : float
        Time for the texts of one query, after which the ranking goes on without their scores.
    known : dict
        Scores that were given, by a checksum of query and text.

    """

    name: str
    function: Callable[[str, list[str]], Any]
    seconds: float = inf
    known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, scorer: Scorer | str | Callable[[str, list[str]], Any]) -> Scorer:
        """Return a scorer as it is, or that of a function or a name.

        Parameters
        ----------
        scorer : Scorer, str or callable
            The scorer.

        Returns
        -------
        Scorer
            The scorer.

        Raises
        ------
        InvalidInputError
            If there is no such function, or no model of this name on this machine.

        """
        if isinstance(scorer, cls):
            return scorer
        if isinstance(scorer, str) and scorer.startswith(CROSS_ENCODER):
            return cls(scorer, _cross_encoder(scorer))
        return cls(*named_function("scorer", scorer, "from a query and a list of texts to numbers"))

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """Return the score of each text for a query.

        Parameters
        ----------
        query : str
            The text of the query.
        texts : sequence of str
            The texts.

        Returns
        -------
        ndarray of shape (n_texts,), dtype float64
            The scores; NaN where the scorer fails or is late, which is logged.

        """
        keys = [
            hashlib.blake2b(f"{query}\0{text}".encode("utf8", "replace"), digest_size=16).digest() for text in texts
        ]
        scores = np.array([self.known.get(key, np.nan) for key in keys])
        unknown = np.flatnonzero(np.isnan(scores)).tolist()
        if unknown:
            try:
                scores[unknown] = self._called(query, [texts[row] for row in unknown])
            except Exception as error:  # whatever a user's function raises: the answer comes in the model's order
                log.warning("scorer %s: no scores of %d texts: %s.", self.name, len(unknown), exception_text(error))
            if len(self.known) + len(unknown) > MOST_SCORES:
                self.known.clear()
            self.known.update({keys[row]: float(scores[row]) for row in unknown})
        return scores

    def _called(self, query: str, texts: list[str]) -> Floats:
        """Return the checked scores of texts."""
        answers: SimpleQueue[Any] = SimpleQueue()

        def call() -> None:
            try:
                answers.put(self.function(query, texts))
            except Exception as error:
                answers.put(error)

        Thread(target=call, daemon=True).start()  # one that does not end does not keep the process
        try:
            answer = answers.get(timeout=None if self.seconds == inf else self.seconds)
        except Empty:
            raise TimeoutError(f"no answer after {self.seconds:g} seconds") from None
        if isinstance(answer, Exception):
            raise answer
        values = np.asarray(answer, dtype=np.float64)
        if values.shape != (len(texts),) or not np.isfinite(values).all():
            raise ValueError(f"expected {len(texts)} finite numbers, got others of shape {values.shape}")
        return values


def _cross_encoder(name: str) -> Callable[[str, list[str]], Any]:
    """Return the function of a cross-encoder of sentence-transformers whose files are on this machine."""
    try:
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(name.removeprefix(CROSS_ENCODER), local_files_only=True)
    except Exception as error:  # libraries raise classes of their own for damaged files
        raise InvalidInputError(
            f"scorer {name}: expected a model whose files are on this machine, got {exception_text(error)}. Run `pip "
            "install sentence-transformers` and download the model, or correct the name."
        ) from error
    return lambda query, texts: model.predict([(query, text) for text in texts], show_progress_bar=False)
