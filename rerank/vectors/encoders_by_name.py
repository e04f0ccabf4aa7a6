"""Encoders by name: models of other, installed libraries, whose weights are on this machine.

    sentence-transformers:NAME   a model of sentence-transformers, by its name or folder
    model2vec:NAME               a static model, by its name or folder
    onnx:FOLDER                  model.onnx and tokenizer.json of a folder, by onnxruntime, without PyTorch
    wordllama                    the model in wordllama's wheel

Prefixes of queries and documents, greatest length and pooling are read from the model's own files.
Nothing is downloaded.
"""

import json
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.registry import exception_text

TOKENS = 512  # greatest length of a text if the model's files name none
BATCH = 32  # texts of about equal length in each call of an ONNX model
Functions = tuple[Callable[[list[str]], Any], Callable[[list[str]], Any]]  # for documents, for queries


def named_functions(name: str) -> Functions | None:
    """Return the functions of an encoder of another library; None if the name does not begin with such a library."""
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
        """Return the content of a file of settings; an empty mapping if there is no such file."""
        path = self.folder / name
        return json.loads(path.read_text("utf8")) if path.is_file() else {}

    def encode(self, prefix: str, texts: list[str]) -> NDArray[np.float32]:
        """Return the unit vectors of texts, (n, dimensions) float32; the prefix is put in front of each text."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        parts = np.array_split(order, -(-len(order) // BATCH))
        vectors = np.concatenate([self._pooled([prefix + texts[number] for number in part]) for part in parts])
        out = np.empty_like(vectors)
        out[order] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return out

    def _pooled(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the vectors of texts: the model's own, else the mean or the first of the vectors of their tokens."""
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


# Kind of encoder, which is also an extra of this package -> packages that it needs, function that loads its model.
LIBRARIES: dict[str, tuple[tuple[str, ...], Callable[[str], Functions]]] = {
    "sentence-transformers": (("sentence_transformers",), _sentence_transformers),
    "model2vec": (("model2vec",), _model2vec),
    "onnx": (("onnxruntime", "tokenizers"), _onnx),
    "wordllama": (("wordllama",), _wordllama),
}
