"""Install each extra of pyproject.toml in a new environment of its own, and use it once.

    python -m tests.checks.extras [NAME ...]

Without names it is every extra but those that bring PyTorch (gigabytes), which have to be named. Packages come from the
package index that pip is set up with; the package and its jar are wheels of this checkout. The environment of `lucene`
comes first and makes an index, data and a model of a small collection, which the other calls read. At the end, without
names, one environment has all of these extras: what is installed decides nothing, so the call of `lucene` must write
the same run, data, model and better run there, to the byte.

Each row has the seconds and the MB of the installation, what was called, and what came out. An extra without a call, a
failed installation and a failed call are failures.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.checks import ROOT
from tests.examples import write_collection

TORCH = "torch==2.13.0"
WITH_TORCH = ("pyserini", "sentence-transformers")
WRITTEN = ("bm25.run", "data.npz", "model.json", "better.run")  # by the call of `lucene`
LIMIT = 900  # seconds of an installation or a call
ROW = "{:<22}{:>8}{:>8}  {:<46}{}"


class Call(NamedTuple):
    """A call of the product that needs an extra."""

    title: str
    code: str  # of Python; prints what came out, and is run in the folder with the collection, the index and the model
    beside: str = ""  # another extra that the call needs


# The beginning of each call.
START = """
import json, re, shlex, subprocess, sys
from pathlib import Path

import numpy as np

import rerank

def command(line):
    program = Path(sys.executable).with_name("rerank")
    done = subprocess.run([program, "-q", *shlex.split(line)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"rerank {line}: exit {done.returncode}\\n{done.stdout}{done.stderr}")
    return done.stdout.strip()

QUERY = next(iter(rerank.read_topics("topics.tsv").values()))
DOCUMENTS = [json.loads(line) for line in open("docs.jsonl", encoding="utf8")][:20]

def show(scores):  # of DOCUMENTS by id, best first
    values = list(scores.values())
    assert len(scores) == 3 and values == sorted(values, reverse=True) and values[0] > values[-1], scores
    print("best of", len(DOCUMENTS), "texts:", *(f"{name} {value:.3f}" for name, value in scores.items()))
"""

LUCENE = """
command("index docs.jsonl -o index")
command("retrieve index topics.tsv -k 20 -o bm25.run")
command("features index topics.tsv bm25.run --qrels qrels.txt -o data.npz")
options = "--candidates bm25:20 --ranker lambdamart -p n_estimators=5 --no-estimate"
command(f"train index topics.tsv qrels.txt {options} -o model.json")
command("rerank index model.json topics.tsv -o better.run")
figure = re.search("(?m)^better.run +([0-9.]+)", command("evaluate qrels.txt better.run -m nDCG@10"))[1]
assert float(figure) > 0.5, figure
print("nDCG@10", figure)
"""

SERVICE = """
import signal, urllib.request

served = [Path(sys.executable).with_name("rerank"), "serve", "index", "model.json", "--port", "0"]
process = subprocess.Popen(served, stderr=subprocess.PIPE, text=True)
try:
    log = address = ""
    for line in process.stderr:
        log += line
        if "ready after" in line:
            address = re.search("listening on (http://[^ ]+/)", log)[1]
            break
    assert address, log
    body = json.dumps({"query": QUERY, "documents": [each["body"] for each in DOCUMENTS], "top_n": 1}).encode()
    request = urllib.request.Request(address + "rerank", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        best = json.load(answer)["results"][0]
        print(answer.status, "index", best["index"], f"score {best['score']:.3f}")
finally:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
assert process.returncode == 0, process.returncode
"""

CLUSTER = """
command("train data.npz -p n_estimators=5 -o clustered.json --cluster local:2")
scores = rerank.read_model("clustered.json").predict(rerank.read_data("data.npz"))
assert np.isfinite(scores).all() and scores.std() > 0
print("scores of", len(scores), "rows")
"""

TUNE = """
command("train data.npz --tune 3 -p n_estimators=5 -o tuned.json")
defaults = rerank.LambdaMART(n_estimators=5).get_params()
found = {name: value for name, value in rerank.read_model("tuned.json").get_params().items() if value != defaults[name]}
print("best of 3 settings:", found or "the defaults")
"""

PYTERRIER = """
from rerank.plugins.pyterrier import BM25, Reranker

frame = (BM25("index", k=20) >> Reranker("index", "model.json")).search(QUERY)
assert len(frame) > 1 and frame["score"].nunique() > 1, frame
print(len(frame), "rows, first", frame.sort_values("rank")["docno"].iloc[0])
"""

LANGCHAIN = """
from langchain_core.documents import Document

from rerank.plugins.langchain import RerankCompressor

texts = [
    Document(page_content=each["body"], metadata={"id": each["id"], "title": each["title"]}) for each in DOCUMENTS
]
best = RerankCompressor(index="index", model="model.json", top_n=3).compress_documents(texts, QUERY)
show({each.metadata["id"]: each.metadata["score"] for each in best})
"""

LLAMAINDEX = """
from llama_index.core.schema import NodeWithScore, TextNode

from rerank.plugins.llamaindex import RerankPostprocessor

nodes = [
    NodeWithScore(node=TextNode(id_=each["id"], text=each["body"], metadata={"title": each["title"]}))
    for each in DOCUMENTS
]
best = RerankPostprocessor(index="index", model="model.json", top_n=3).postprocess_nodes(nodes, query_str=QUERY)
show({each.node.node_id: each.score for each in best})
"""

HAYSTACK = """
from haystack import Document, Pipeline

from rerank.plugins.haystack import RerankRanker

pipeline = Pipeline()
pipeline.add_component("ranker", RerankRanker("index", "model.json", top_k=3))
texts = [Document(id=each["id"], content=each["body"], meta={"title": each["title"]}) for each in DOCUMENTS]
answer = pipeline.run({"ranker": {"query": QUERY, "documents": texts}})
show({each.id: each.score for each in answer["ranker"]["documents"]})
"""

RERANKERS = """
from rerankers import Document

from rerank.plugins.rerankers import RerankRanker

texts = [Document(text=each["body"], doc_id=each["id"], metadata={"title": each["title"]}) for each in DOCUMENTS]
show({each.doc_id: each.score for each in RerankRanker("index", "model.json").rank(QUERY, texts).top_k(3)})
"""

# The end of the call of an encoder, whose name is in `encoder`.
ENCODE = """
import shutil

shutil.copytree("index", "encoded-index", dirs_exist_ok=True)
command(f"vectors encoded-index --encoder {encoder}")
with rerank.Index.open("encoded-index") as index:
    topics = rerank.read_topics("topics.tsv")
    values = index.features(index.search(topics, k=20), topics).column("encoder.cosine")
known = values[np.isfinite(values)]
assert len(known) and known.std() > 0, values
print("encoder.cosine of", len(known), "rows, mean", f"{known.mean():.3f}")
"""

# A tokenizer of the words of the collection, and their vectors.
WORDS = """
import tokenizers

pattern = re.compile("[a-z0-9]+")
words = sorted({word for line in open("docs.jsonl") for word in pattern.findall(line.lower())})
numbers = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *words])}
tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="[UNK]"))
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
vectors = np.random.default_rng(0).normal(size=(len(numbers), 16)).astype(np.float32)
"""

MODEL2VEC = """
from model2vec import StaticModel

StaticModel(vectors, tokenizer).save_pretrained("static")
encoder = "model2vec:static"
"""

# The file is written byte by byte (protocol buffers), since the extra does not bring the package onnx.
ONNX = """
def varint(number):
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)

def message(*fields):  # (number of the field, integer, text or bytes)
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(number << 3) + varint(value))
        else:
            content = value.encode() if isinstance(value, str) else value
            parts.append(varint(number << 3 | 2) + varint(len(content)) + content)
    return b"".join(parts)

def value(name, kind, *sizes):  # of the graph; a kind is 1 (float32) or 7 (int64)
    shape = message(*((1, message((1 if isinstance(size, int) else 2, size))) for size in sizes))
    return message((1, name), (2, message((1, message((1, kind), (2, shape))))))

table = message((1, len(vectors)), (1, 16), (2, 1), (8, "table"), (9, vectors.tobytes()))
nodes = [
    message((1, "table"), (1, "input_ids"), (2, "states"), (4, "Gather")),
    message((1, "attention_mask"), (2, "unused"), (4, "Identity")),
]
inputs = [value(name, 7, "b", "s") for name in ("input_ids", "attention_mask")]
graph = [*((1, node) for node in nodes), (2, "tokens"), (5, table), *((11, each) for each in inputs)]
graph.append((12, value("states", 1, "b", "s", 16)))
folder = Path("transformer")
folder.mkdir()
(folder / "model.onnx").write_bytes(message((1, 8), (7, message(*graph)), (8, message((1, ""), (2, 17)))))
tokenizer.save(str(folder / "tokenizer.json"))
encoder = "onnx:transformer"
"""

SENTENCE_TRANSFORMERS = """
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import StaticEmbedding

SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu").save("sentences")
encoder = "sentence-transformers:sentences"
"""

PYSERINI = """
from rerank.plugins.pyserini import RerankSearcher

from pyserini.search.lucene import LuceneSearcher

hits = RerankSearcher(LuceneSearcher("index"), "model.json", depth=20).search(QUERY, k=3)
show({hit.docid: hit.score for hit in hits})
"""

PLOT = """
command("evaluate qrels.txt bm25.run better.run -m nDCG@10 -o gains.svg")
picture = Path("gains.svg").read_text()
assert "<svg" in picture
print(len(picture), "characters of SVG")
"""

PARQUET = """
data = rerank.read_data("data.npz")
rerank.write_data(data, "data.parquet")
for form in ("npz", "parquet"):
    command(f"train data.{form} -p n_estimators=5 -o of-{form}.json")
scores = [rerank.read_model(f"of-{form}.json").predict(data) for form in ("npz", "parquet")]
np.testing.assert_array_equal(*scores)
print("scores of", len(data.X), "rows as from data.npz")
"""

# onnx.reference cannot compute the exported thresholds (float64): tests/checks/exchange.py compares scores.
EXCHANGE = """
import onnx

command("train data.npz -p n_estimators=5 -o plain.json")
command("export plain.json --to onnx -o plain.onnx")
model = onnx.load("plain.onnx")
onnx.checker.check_model(model, full_check=True)
(trees,) = (node for node in model.graph.node if node.op_type == "TreeEnsembleRegressor")
(ids,) = (each.ints for each in trees.attribute if each.name == "nodes_treeids")
assert set(ids) == set(range(5)), sorted(set(ids))
print("TreeEnsembleRegressor of 5 trees,", len(ids), "nodes")
"""

IR_DATASETS = """
import ir_datasets

mine = ir_datasets.create_dataset(queries_tsv="topics.tsv", qrels_trec="qrels.txt")
ir_datasets.registry.register("mine", mine)
topics, qrels = rerank.read_topics("irds:mine"), rerank.read_qrels("irds:mine")
figure = rerank.evaluate(qrels, "bm25.run", ["nDCG@10"])["nDCG@10"]
assert figure == rerank.evaluate("qrels.txt", "bm25.run", ["nDCG@10"])["nDCG@10"]
print(len(topics), "topics, nDCG@10 of BM25", f"{float(figure):.4f}")
"""

CALLS = {
    "lucene": Call("rerank index, train, rerank, evaluate", LUCENE),
    "service": Call("rerank serve, POST /rerank", SERVICE, "lucene"),
    "cluster": Call("rerank train data.npz --cluster local:2", CLUSTER),
    "tune": Call("rerank train data.npz --tune 3", TUNE),
    "pyterrier": Call("BM25(index) >> Reranker(index, model)", PYTERRIER),
    "langchain": Call("RerankCompressor.compress_documents", LANGCHAIN),
    "llamaindex": Call("RerankPostprocessor.postprocess_nodes", LLAMAINDEX),
    "haystack": Call("RerankRanker in a Pipeline", HAYSTACK),
    "rerankers": Call("RerankRanker.rank", RERANKERS),
    "wordllama": Call("rerank vectors --encoder wordllama", 'encoder = "wordllama"\n' + ENCODE),
    "model2vec": Call("rerank vectors --encoder model2vec:FOLDER", WORDS + MODEL2VEC + ENCODE),
    "onnx": Call("rerank vectors --encoder onnx:FOLDER", WORDS + ONNX + ENCODE),
    "sentence-transformers": Call("rerank vectors, its encoder", WORDS + SENTENCE_TRANSFORMERS + ENCODE),
    "pyserini": Call("RerankSearcher(LuceneSearcher)", PYSERINI),
    "plot": Call("rerank evaluate -o gains.svg", PLOT),
    "parquet": Call("write_data, rerank train data.parquet", PARQUET),
    "exchange": Call("rerank export --to onnx", EXCHANGE),
    "ir-datasets": Call("read_topics, read_qrels of irds:NAME", IR_DATASETS),
}


class FailedError(Exception):
    """A command failed; the text has its messages."""


def run(*command: str | Path, folder: Path = ROOT, **variables: str | Path) -> str:
    """Run a command with variables of the environment; return its output, or raise FailedError with its messages."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {name: str(value) for name, value in variables.items()}
    parts = [str(part) for part in command]
    try:
        done = subprocess.run(
            parts, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired as error:
        raise FailedError(f"{' '.join(parts[:4])}: not done after {LIMIT} s") from error
    if done.returncode:
        shown = " ".join(parts[:4] if parts[1] != "-c" else parts[:1])
        raise FailedError(f"{shown}: exit {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def names_of_extras() -> list[str]:
    """Return the extras of pyproject.toml, `lucene` first; end if they are not those that have a call."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]
    if different := extras.keys() ^ CALLS.keys():
        sys.exit(f"extras: expected a call for each extra of pyproject.toml and no other, got {sorted(different)}.")
    return sorted(extras, key=lambda name: name != "lucene")


def megabytes(folder: Path) -> float:
    """Return the size of the files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6


def check(extra: str, call: Call, wheels: Path, shared: Path, scratch: Path) -> str:
    """Install an extra in a new environment, make a call in the shared folder, and return the row of the table."""
    environment = scratch / "environment"
    python = environment / "bin" / "python"
    wheel = next(wheels.glob("lucene_rerank-*.whl"))
    extras = ",".join(filter(None, (extra, call.beside)))
    run(sys.executable, "-m", "venv", environment)
    begin = time.monotonic()
    if extra in WITH_TORCH:
        run(python, "-m", "pip", "install", "-q", TORCH)
    run(python, "-m", "pip", "install", "-q", "--find-links", wheels, f"lucene-rerank[{extras}] @ {wheel.as_uri()}")
    seconds = time.monotonic() - begin
    size = megabytes(environment)
    run(python, "-m", "pip", "check")
    folders = {"RERANK_CACHE": scratch / "cache", "IR_DATASETS_HOME": scratch / "ir_datasets"}
    out = run(python, "-c", START + call.code, folder=shared, **folders).strip().splitlines()
    shutil.rmtree(environment)
    return ROW.format(extras, f"{seconds:.0f}", f"{size:.0f}", call.title, out[-1])


def check_all(names: list[str], wheels: Path, shared: Path, scratch: Path) -> str:
    """Make the call of `lucene` in an environment of all extras, and compare the files with those of `lucene`."""
    folder = scratch / "all"
    folder.mkdir()
    write_collection(folder)
    row = check(",".join(names), CALLS["lucene"], wheels, folder, scratch)
    different = [name for name in WRITTEN if (folder / name).read_bytes() != (shared / name).read_bytes()]
    if different:
        raise FailedError(f"expected the bytes that `lucene` alone writes, got others of {', '.join(different)}")
    return f"all, {row.partition(' ')[2].strip()}; {', '.join(WRITTEN)}: the same bytes"


def main() -> None:
    """Check the extras that are named, all without PyTorch by default."""
    known = names_of_extras()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"extras: {', '.join(known)}")
    given = parser.parse_args().names
    if unknown := set(given) - set(known):
        parser.error(f"expected names of extras, got {', '.join(sorted(unknown))}")
    names = [name for name in known if name in given or (not given and name not in WITH_TORCH)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        wheels, shared = scratch / "wheels", scratch / "shared"
        shared.mkdir()
        write_collection(shared)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, ROOT, ROOT / "jar")
        print(ROW.format("extra", "s", "MB", "call", "result"), flush=True)
        for name in dict.fromkeys(["lucene", *names]):  # the others read what the call of `lucene` writes
            try:
                print(check(name, CALLS[name], wheels, shared, scratch), flush=True)
            except FailedError as error:
                failures.append(f"{name}: {error}")
                print(ROW.format(name, "", "", CALLS[name].title, "failed"), flush=True)
            if failures and name == "lucene":
                break
        if not given and not failures:
            print(check_all(names, wheels, shared, scratch), flush=True)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
