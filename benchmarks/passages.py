"""What the family of passages gains."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, documents_of, judged
from benchmarks.measuring import MEASURE, folds, mean_of_run, values_of_run
from benchmarks.quality import trained
from benchmarks.registry import Options, Row, benchmark

ONE = "100000/100000"  # every document is one passage: its columns are copies of others, which shows what chance does
WINDOWS = (ONE, "200/100", "100/50", "50/25")
JOINED, TRAINING_QUERIES = 5, 500


def joined_documents(documents: Sequence[Mapping[str, Any]], size: int, step: int) -> list[dict[str, str]]:
    """Return documents that are each `size` successive ones, beginning at every `step`-th; titles are in the body."""
    return [
        {
            "id": str(each["id"]),
            "title": each["title"],
            "body": " ".join(f"{part['title']} {part['body']}" for part in documents[first : first + size]),
        }
        for first, each in enumerate(documents)
        if first % step == 0
    ]


def _joined_labels(qrels: rerank.Qrels, owner: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the greatest label of each joined document; `owner` is the document that holds another."""
    labels: dict[str, dict[str, int]] = {}
    for query_id in qrels:
        own = labels.setdefault(query_id, {})
        for doc_id, label in qrels[query_id].items():
            if doc_id in owner:
                own[owner[doc_id]] = max(own.get(owner[doc_id], label), label)
    return labels


@benchmark(
    data="cranfield, cacm, med, five folds; nfcorpus, 500 training queries, dev; each also with five documents joined",
    peer="the default recipe",
)
def passages(options: Options) -> Iterator[Row]:
    """nDCG@10 of LambdaMART on BM25's first 100 documents with the family of passages, by window."""
    from rerank.features.family import default_family_names

    recipes = {"default": rerank.Recipe()} | {
        f"passages {window}": rerank.Recipe(families=(*default_family_names(), "passages"), passages=window)
        for window in WINDOWS
    }
    for name in options.chosen_collections((*reversed(SMALL), "nfcorpus")):
        documents = documents_of(options, name)
        parts = [judged(options, name, part) for part in (("train", "dev") if name == "nfcorpus" else ("",))]
        topics = {query_id: text for part, _ in parts for query_id, text in part.items()}
        for kind, size in ((name, 1), (f"{name}, joined", JOINED)):
            owner = {each["id"]: documents[number - number % size]["id"] for number, each in enumerate(documents)}
            labels = {q: each for _, qrels in parts for q, each in _joined_labels(qrels, owner).items()}
            with (
                tempfile.TemporaryDirectory() as folder,
                rerank.Index.build(joined_documents(documents, size, size), Path(folder) / "i", vectors=False) as index,
            ):
                run = index.search(topics, 100)
                test = list(parts[-1][0])
                bm25 = mean_of_run({query_id: labels[query_id] for query_id in test}, run)
                reference: list[dict[str, float]] = []
                for recipe_name, recipe in recipes.items():
                    data = index.features(run, topics, labels, recipe=recipe)
                    own = [_values(options, data, labels, test, seed) for seed in range(options.n_seeds(3))]
                    reference = reference or own
                    gains = [
                        np.mean([new[query_id] - old[query_id] for query_id in new])
                        for new, old in zip(own, reference, strict=True)
                    ]
                    row = {"collection": kind, "recipe": recipe_name, "BM25": bm25}
                    row[MEASURE] = float(np.mean([list(each.values()) for each in own]))
                    yield {**row, "gain": np.mean(gains), "seeds with a gain": sum(gain > 0 for gain in gains)}


def _values(
    options: Options, data: rerank.RankingData, labels: Any, test: Sequence[str], seed: int
) -> dict[str, float]:
    """Return the measure of each test query: of queries of other folds, or of 500 that are not tested."""
    names, values = data.query_ids.tolist(), dict[str, float]()
    apart = np.isin(names, test, invert=True)
    if apart.any():
        train = np.random.default_rng(seed).permutation(np.flatnonzero(apart))[:TRAINING_QUERIES]
        splits = iter([(train, np.flatnonzero(~apart))])
    else:
        splits = folds(len(names), seed)
    for train, held_out in splits:
        stops = np.random.default_rng(seed).permutation(len(train)) % 10 == 0
        parts = data.select(train[~stops]), data.select(train[stops])
        model = trained(options, *parts, random_state=seed, n_jobs=1, early_stopping_rounds=60)
        run = model.rank(data.select(held_out))
        own = {names[number]: labels[names[number]] for number in held_out.tolist()}
        values |= dict(zip(own, values_of_run(own, run).tolist(), strict=True))
    return values
