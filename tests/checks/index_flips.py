"""Flips single bits in every type of Lucene's files, opens and searches the index, and counts what happened.

    python -m tests.checks.index_flips [--flips 200] [--collection DATA/collections/cranfield]

Two indexes of the collection are damaged: one as `rerank index` builds it, and one that Lucene has packed into compound
files, with a deleted document. An outcome is `refused` (an IndexFolderError at the opening or search), `same run`,
`different run`, or `error` (any other exception). Exit 1 if there is a different run or an error.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import rerank
from rerank.errors import IndexFolderError
from rerank.types import Run, Topics
from tests.checks import DATA

POLICY = "LogDocMergePolicy"
OUTCOMES = ("refused", "same run", "different run", "error")


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=200, help="flips of each type of file")
    parser.add_argument("--collection", type=Path, default=DATA / "collections" / "cranfield")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    topics = rerank.read_topics(options.collection / "topics.tsv")
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["RERANK_CACHE"] = str(Path(scratch) / "cache")
        plain, packed = Path(scratch) / "plain", Path(scratch) / "compound"
        rerank.Index.build(options.collection / "corpus.jsonl", plain, vectors=False).close()
        write_compound(plain, packed)
        for index in (plain, packed):
            for kind, files in types_of_files(index).items():
                flips = random_flips(files, options.flips, random.Random(f"{options.seed} {index.name} {kind}"))
                table[f"{index.name} {kind}"] = flipped(index, flips, topics)
    print(f"{'file':<22}" + "".join(f"{outcome:>15}" for outcome in OUTCOMES))
    for name, counts in [*table.items(), ("all", sum(table.values(), Counter()))]:
        print(f"{name:<22}" + "".join(f"{counts[outcome]:>15,}" for outcome in OUTCOMES))
    return int(any(counts["different run"] + counts["error"] for counts in table.values()))


def write_compound(source: Path, target: Path) -> None:
    """Write a copy of an index in compound files, in which a document is deleted."""
    from jnius import autoclass

    shutil.copytree(source, target, ignore=shutil.ignore_patterns("rerank"))
    lucene = "org.apache.lucene"
    directory = autoclass(f"{lucene}.store.FSDirectory").open(autoclass("java.nio.file.Paths").get(str(target)))
    for doc_id, merges in (("1", True), ("2", False)):
        settings, policy = autoclass(f"{lucene}.index.IndexWriterConfig")(), autoclass(f"{lucene}.index.{POLICY}")()
        policy.setNoCFSRatio(1.0)
        settings.setMergePolicy(policy)
        writer = autoclass(f"{lucene}.index.IndexWriter")(directory, settings)
        term = autoclass(f"{lucene}.index.Term")("id", doc_id)
        writer.deleteDocuments(autoclass(f"{lucene}.search.TermQuery")(term))
        if merges:
            writer.forceMerge(1)
        writer.close()


def types_of_files(index: Path) -> dict[str, list[Path]]:
    """Return the files of a Lucene index that are not empty, by their ending."""
    types = defaultdict(list)
    for path in sorted(index.iterdir()):
        if path.is_file() and path.stat().st_size:
            types[path.suffix or path.name.partition("_")[0]].append(path)
    return types


def random_flips(files: Sequence[Path], number: int, generator: random.Random) -> list[tuple[Path, int, int]]:
    """Return file, byte and bit of each flip; a quarter of them are in the last 64 bytes, where the checksum is."""
    flips = []
    for each in range(number):
        path = generator.choice(files)
        size = path.stat().st_size
        first = max(size - 64, 0) if each % 4 == 0 else 0
        flips.append((path, generator.randrange(first, size), generator.randrange(8)))
    return flips


def flipped(index: Path, flips: Sequence[tuple[Path, int, int]], topics: Topics) -> Counter[str]:
    """Return how often each outcome occurred."""
    whole = searched(index, topics)
    counts = Counter[str]()
    for path, byte, bit in flips:
        with bit_flipped(path, byte, bit):
            counts[outcome(index, topics, whole)] += 1
    return counts


@contextmanager
def bit_flipped(path: Path, byte: int, bit: int) -> Iterator[None]:
    """Flip one bit of a file in the block."""
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek(byte)
        file.write(bytes([content[byte] ^ 1 << bit]))
    try:
        yield
    finally:
        path.write_bytes(content)


def outcome(index: Path, topics: Topics, whole: Run) -> str:
    """Return what happens to a search of a damaged index."""
    try:
        run = searched(index, topics)
    except IndexFolderError:
        return "refused"
    except Exception as error:
        print(f"{index.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return "error"
    columns = ((run.query_ptr, whole.query_ptr), (run.doc_ids, whole.doc_ids), (run.scores, whole.scores))
    same = all(left.tobytes() == right.tobytes() for left, right in columns)
    return "same run" if same else "different run"


def searched(index: Path, topics: Topics) -> Run:
    """Open an index and return a run of it."""
    with rerank.Index.open(index) as opened:
        return opened.search(topics, k=100)


if __name__ == "__main__":
    sys.exit(main())
