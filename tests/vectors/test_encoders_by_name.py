"""Encoders of other libraries, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.vectors.encoder import Encoder
from rerank.vectors.encoders_by_name import LIBRARIES, OnnxModel, named_functions
from tests.tiny import tiny

WORDS = {"[PAD]": 0, "[UNK]": 1, "query:": 2, "flutter": 3, "wing": 4, "of": 5}


def tiny_onnx(folder: Path, *files: tuple[str, str]) -> Path:
    """Write a model whose tokens have one-hot vectors, with its tokenizer and files of settings."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    tokenizers = pytest.importorskip("tokenizers")
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(np.eye(len(WORDS), dtype=np.float32), "table")
    ids, mask = (helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in ("input_ids", "mask"))
    mask.name = "attention_mask"
    states = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["b", "s", len(WORDS)])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["states"]),
        helper.make_node("Identity", ["attention_mask"], ["unused"]),
    ]
    graph = helper.make_graph(nodes, "tokens", [ids, mask], [states], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.save(model, folder / "model.onnx")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, text in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf8")
    return folder


def test_onnx_encoder_has_the_mean_of_a_texts_tokens_whatever_is_beside_it(tmp_path: Path) -> None:
    model = OnnxModel(tiny_onnx(tmp_path))
    mean = np.eye(len(WORDS))[[3, 4, 4]].mean(axis=0)
    vectors = model.encode("", ["flutter wing wing", "of", "wing of flutter of wing"])
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), rtol=1e-6)
    np.testing.assert_array_equal(vectors[:1], model.encode("", ["flutter wing wing"]))


def test_onnx_encoder_has_pooling_length_and_prefix_of_its_files(tmp_path: Path) -> None:
    settings = (
        ("1_Pooling/config.json", '{"pooling_mode_cls_token": true}'),
        ("sentence_bert_config.json", '{"max_seq_length": 1}'),
        ("config_sentence_transformers.json", '{"prompts": {"query": "query: "}}'),
    )
    encoder = Encoder.of(f"onnx:{tiny_onnx(tmp_path, *settings)}")
    assert encoder.encode(["wing of"]).argmax() == WORDS["wing"]
    assert encoder.encode_queries(["wing of"]).argmax() == WORDS["query:"]
    cut = ("sentence_bert_config.json", '{"max_seq_length": 1}')
    assert np.count_nonzero(OnnxModel(tiny_onnx(tmp_path, cut)).encode("", ["wing of"])) == 1


def test_wordllama_encodes_documents_and_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordllama")
    monkeypatch.setenv("RERANK_CACHE", str(tmp_path / "cache"))
    world = tiny()
    index = rerank.Index.build(world.documents, tmp_path / "index")
    run = index.search(world.topics, k=20)
    data = index.using(encoder="wordllama").features(run, world.topics, world.qrels)
    values = data.column("encoder.cosine")
    assert np.isfinite(values).all()
    assert values.std() > 0.01


@pytest.mark.parametrize("kind", LIBRARIES)
def test_encoder_without_its_packages_names_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.vectors.encoders_by_name.find_spec", lambda name: None)
    packages = LIBRARIES[kind][0]
    with pytest.raises(InvalidInputError) as caught:
        named_functions(f"{kind}:some/model")
    assert str(caught.value) == (
        f"encoder {kind}:some/model: expected the package {packages[0]}, got none. "
        f"Run `pip install {' '.join(packages)}`."
    )


def test_onnx_encoder_without_its_files_names_the_missing_one(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    with pytest.raises(InvalidInputError, match=r"on this machine, got FileNotFoundError: no .*model\.onnx\. Correct"):
        named_functions(f"onnx:{tmp_path}")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "sentence_bert_config.json"])
def test_onnx_encoder_of_a_damaged_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    tiny_onnx(tmp_path)
    (tmp_path / name).write_text("damaged", encoding="utf8")
    with pytest.raises(InvalidInputError, match="expected a model whose files are on this machine, got") as refused:
        named_functions(f"onnx:{tmp_path}")
    assert "\n" not in str(refused.value)


def test_names_of_functions_are_left_to_their_import() -> None:
    assert named_functions("my_module:function") is None
    assert named_functions("onnx:") is None
