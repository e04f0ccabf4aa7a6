#!/usr/bin/env python
"""One step of scripts/bench_scale.py --parts documents; prints its time as JSON.

    scripts/scale_documents.py index|open|search|features|rerank INDEX DOCUMENTS SHARDS

A document is 2 to 7 sentences of the collections in ../shared/data, drawn at random; each word is replaced, with
probability 1/50, by a compound of two words that are drawn by Zipf's law, so that the vocabulary grows with the number
of documents as that of real text does. Document number n is the same for every size.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rerank  # noqa: E402

COLLECTIONS = ROOT.parent / "shared" / "data" / "collections"
NAMES = ("cranfield", "cacm", "med", "nfcorpus")
QUERIES, DEPTH, RERANKED = 1000, 1000, 100
NEW_WORDS = 50  # one word of so many is a compound


def sentences() -> list[list[str]]:
    """Return the sentences of all collections as words."""
    split, found = re.compile(r"[.!?]\s+"), []
    for name in NAMES:
        with open(COLLECTIONS / name / "corpus.jsonl", encoding="utf8") as lines:
            for line in lines:
                document = json.loads(line)
                text = " ".join(str(document.get(key) or "") for key in ("title", "body"))
                found += [words for part in split.split(text) if 4 <= len(words := part.split()) <= 60]
    return found


def documents(size: int) -> Iterator[dict[str, Any]]:
    """Yield documents with id, title, body and year."""
    all_sentences = sentences()
    counts = Counter(word for words in all_sentences for word in words if word.isalpha())
    frequent = [word for word, _ in counts.most_common()]
    for number in range(size):
        draw = Random(number)
        chosen = draw.choices(all_sentences, k=draw.randrange(2, 8))
        texts = [
            " ".join(word if draw.randrange(NEW_WORDS) else compound(draw, frequent) for word in each)
            for each in chosen
        ]
        title = " ".join(chosen[0][:8])
        yield {"id": f"doc-{number:08d}", "title": title, "body": ". ".join(texts), "year": 1950 + number % 70}


def compound(draw: Random, words: list[str]) -> str:
    """Return two words as one: the rank of each is drawn with a probability of about 1 / rank."""
    return "".join(words[int(len(words) ** draw.random()) - 1] for _ in range(2))


def topics() -> dict[str, str]:
    """Return real queries, the same for every size."""
    found: dict[str, str] = {}
    for name in NAMES:
        read = rerank.read_topics(COLLECTIONS / name / "topics.tsv")
        found |= {f"{name}-{query_id}": text for query_id, text in read.items()}
    return {query_id: found[query_id] for query_id in Random(0).sample(sorted(found), QUERIES)}


def run_step(name: str, folder: Path, size: int, shards: int) -> dict[str, Any]:
    """Run a step; return its seconds, start of Java and reading of queries and compiled kernels left out."""
    if name == "index":
        start = time.perf_counter()
        rerank.Index.build(documents(size), folder, shards=shards or None, overwrite=True, vectors=False).close()
        return {"seconds": time.perf_counter() - start, "what": "made, indexed, forward arrays"}
    queries = topics()
    index = rerank.Index.open(folder)
    if name == "open":
        start = time.perf_counter()
        forward = index.forward
        what = f"{len(forward.term_ptr) - 1:,} terms, {len(forward.fields['contents'].terms):,} postings"
        return {"seconds": time.perf_counter() - start, "what": what}
    index.search({"warm": "heat flow"}, k=10)
    if name == "search":
        start = time.perf_counter()
        run = index.search(queries, k=DEPTH)
        seconds = time.perf_counter() - start
        rerank.write_run(run.head(RERANKED), folder.with_suffix(".run"))
        return {"seconds": seconds, "what": f"{QUERIES:,} queries, {run.n_rows:,} hits"}
    run = rerank.read_run(folder.with_suffix(".run"))
    model = folder.with_suffix(".json")
    if name == "features":
        few = {query: dict(list(run[query].items())[:10]) for query in list(run)[:20]}
        index.features(few, queries)  # compiles what is not in the cache
        start = time.perf_counter()
        data = index.features(run, queries)
        seconds = time.perf_counter() - start
        labels = [crc32(doc_id.encode()) % 3 for doc_id in data.doc_ids.tolist()]
        qrels: dict[str, dict[str, int]] = {}
        for query in list(run)[:100]:
            rows = data.rows(query)
            qrels[query] = dict(zip(data.doc_ids[rows].tolist(), labels[rows], strict=True))
        train = index.features({query: run[query] for query in qrels}, queries, qrels)
        rerank.LambdaMART(n_estimators=50).fit(train).save(model)
        return {"seconds": seconds, "what": f"{run.n_rows:,} rows of {data.X.shape[1]} features"}
    start = time.perf_counter()
    ranked = rerank.rerank(index, model, queries, k=RERANKED)
    return {"seconds": time.perf_counter() - start, "what": f"{len(ranked):,} queries, {RERANKED} documents each"}


def main() -> None:
    name, folder, size, shards = sys.argv[1:]
    print(json.dumps(run_step(name, Path(folder), int(size), int(shards))))


if __name__ == "__main__":
    main()
