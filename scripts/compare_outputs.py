"""Compare what two states of the repository compute on a real collection: runs, features, models and figures.

Run: scripts/compare_outputs.py BEFORE [AFTER] [--collection cranfield]     # commits; AFTER is HEAD by default
Each state indexes the collection, retrieves by each source, computes the features of all resources, trains, reranks and
evaluates in a process of its own, with the names that its command line has; the numbers are compared bit for bit.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
TREES = "-p n_estimators=40 -p num_leaves=15 --threads 2"
COMMON = [
    "index {corpus} -o index",
    "retrieve index {topics} -o bm25.run -k 200",
]
OLD = [
    "vectors index -o vectors --dimensions 50",
    "history index {topics} {qrels} -o history.npz",
    "retrieve index {topics} -o rm3.run -k 200 --retriever rm3",
    "retrieve index {topics} -o lsi.run -k 200 --retriever lsi --vectors vectors",
    "retrieve index {topics} -o union.run --union bm25:100,rm3:100,lsi:50 --vectors vectors --sources sources",
    "features index {topics} bm25.run --qrels {qrels} -o data.npz",
    "features index {topics} bm25.run --qrels {qrels} -o all.npz --vectors vectors --history history.npz",
]
NEW = [
    "features index {topics} bm25.run --qrels {qrels} -o data.npz",
    "vectors index --dimensions 50",
    "history index {topics} {qrels}",
    "retrieve index {topics} -o rm3.run -k 200 --candidates rm3",
    "retrieve index {topics} -o lsi.run -k 200 --candidates lsi",
    "retrieve index {topics} -o union.run --candidates bm25:100,rm3:100,lsi:50 --sources sources",
    "features index {topics} bm25.run --qrels {qrels} -o all.npz",
]
AFTERWARDS = [
    f"train data.npz -o cold.json {TREES}",
    f"train data.npz --base run:bm25.run -o warm.json {TREES}",
    f"train all.npz -o all.json {TREES}",
    "train data.npz --ranker ranksvm -o linear.json --threads 2",
    "rank cold.json data.npz -o cold.run",
    "rank linear.json data.npz -o linear.run",
    "rank all.json all.npz -o all.run",
    "rerank index warm.json {topics} -k 200 -o warm.run",
    "evaluate {qrels} bm25.run rm3.run lsi.run cold.run warm.run linear.run -m nDCG@10 --format json -o figures.json",
    "export cold.json --to lightgbm -o cold.txt",
    "export cold.json --to xgboost -o cold.xgboost.json",
]


def main() -> int:
    """Print what differs; return 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--collection", default="cranfield")
    given = parser.parse_args()
    before, after = [*given.commits, "HEAD"][:2]
    with TemporaryDirectory() as folder:
        states = [
            computed(commit, Path(folder) / name, given.collection) for commit, name in ((before, "a"), (after, "b"))
        ]
        names = sorted(path.name for path in states[1].glob("*.*") if path.is_file())
        differing = [name for name in names if not same(states[0] / name, states[1] / name)]
    print(f"{len(names)} files, {len(differing)} differ{': ' + ', '.join(differing) if differing else ''}")
    return int(bool(differing))


def computed(commit: str, folder: Path, collection: str) -> Path:
    """Return the folder of the outputs of a commit."""
    source, work = folder / "source", folder / "work"
    source.mkdir(parents=True)
    work.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    data = DATA / "collections" / collection
    files: dict[str, object] = {
        "corpus": data / "corpus.jsonl",
        "topics": data / "topics.tsv",
        "qrels": data / "qrels.txt",
    }
    bound = (source / "rerank" / "workflows" / "resources.py").exists()
    for line in [*COMMON, *(NEW if bound else OLD), *AFTERWARDS]:
        command = [sys.executable, "-m", "rerank", "-q", *line.format(**files).split()]
        environment = {**os.environ, "PYTHONPATH": str(source), "RERANK_CACHE": str(folder / "cache")}
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{commit}: {line}: {done.stderr}")
    kept = work / "index" / "rerank-resources" / "history.npz"
    if kept.exists():
        kept.rename(work / "history.npz")
    return work


def same(one: Path, other: Path) -> bool:
    """Return whether two files have the same content; stored arrays are compared, and models by their numbers."""
    if not (one.exists() and other.exists()):
        return False
    if one.suffix == ".npz":
        left, right = (np.load(path, allow_pickle=False) for path in (one, other))
        names = set(left.files) - {"about"}  # which names the version of the format
        return names == set(right.files) - {"about"} and all(
            left[name].tobytes() == right[name].tobytes() for name in names
        )
    if one.name.endswith(".json") and one.name.count(".") == 1:
        return numbers(json.loads(one.read_text("utf8"))) == numbers(json.loads(other.read_text("utf8")))
    return one.read_bytes() == other.read_bytes()


def numbers(value: object) -> list[float | bool | None]:
    """Return the numbers of a JSON value in the order of its sorted keys."""
    if isinstance(value, dict):
        return [each for key in sorted(value) for each in numbers(value[key])]
    if isinstance(value, list):
        return [each for item in value for each in numbers(item)]
    return [value] if isinstance(value, int | float) or value is None else []


if __name__ == "__main__":
    sys.exit(main())
