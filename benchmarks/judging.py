"""What the first judgements of a new index bring, of documents that are chosen in two ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rerank
from benchmarks.data import SMALL, judged, opened, read_topics, some_queries
from benchmarks.measuring import MEASURE, mean_of_run, save_figure
from benchmarks.registry import Options, Row, benchmark

QUERIES, OF_QUERY = 10, 4  # 40 judgements: about ten minutes
SYSTEMS = ("BM25", "unsupervised", "drawn at random", "chosen by disagreement")


def draw_judging(rows: list[Row], path: Path) -> None:
    """Draw the measure of each system as a bar, by collection."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(7.0, 3.5), layout="constrained").subplots()
    names = list(dict.fromkeys(row["collection"] for row in rows))
    width = 0.8 / len(SYSTEMS)
    for number, system in enumerate(SYSTEMS):
        heights = [row[MEASURE] for row in rows if row["system"] == system]
        axes.bar(np.arange(len(names)) + number * width, heights, width, label=system)
    axes.set_xticks(np.arange(len(names)) + 1.5 * width, names)
    axes.set(ylabel=MEASURE, title=f"{QUERIES * OF_QUERY} judgements of {QUERIES} queries")
    axes.legend()
    save_figure(axes.figure, path)


@benchmark(
    data="med, cacm, cranfield; nfcorpus, training queries judged and dev queries measured",
    peer="documents of the pool that are drawn at random",
    draw=draw_judging,
)
def judging(options: Options) -> Iterator[Row]:
    """What 40 judgements of 10 queries bring to `rerank train`, chosen as `rerank judge` does and drawn at random.

    The measured queries are those that are not judged; of nfcorpus, the dev queries.
    """
    for name in options.chosen_collections((*SMALL, "nfcorpus")):
        with opened(options, name) as index:
            index.learn_vectors()
            values: dict[str, list[float]] = {system: [] for system in SYSTEMS}
            for seed in range(options.n_seeds(5)):
                for system, value in _values(index, options, name, seed):
                    values[system].append(value)
        for system, each in values.items():
            yield {"collection": name, "system": system, MEASURE: np.mean(each), "sd": np.std(each)}


def _values(index: rerank.Index, options: Options, collection: str, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the measure of each system for one draw of the judged queries."""
    from rerank.training.documents_to_judge import pool

    topics = read_topics(options, collection)
    qrels = judged(options, collection, "train" if collection == "nfcorpus" else "")[1]
    random = np.random.default_rng(seed)
    own = random.permutation(list(qrels)).tolist()[:QUERIES]
    test = (
        judged(options, collection, "dev")[1]
        if collection == "nfcorpus"
        else some_queries(qrels, [name for name in qrels if name not in set(own)])
    )
    unseen = rerank.Topics({query_id: topics[query_id] for query_id in test})
    pooled = pool(index, {query_id: topics[query_id] for query_id in own})
    drawn = {query_id: random.permutation(documents).tolist() for query_id, documents in pooled.items()}
    yield SYSTEMS[0], mean_of_run(test, index.search(unseen))
    yield SYSTEMS[1], mean_of_run(test, rerank.rerank(index, "unsupervised", unseen))
    for system, documents in zip(SYSTEMS[2:], (drawn, pooled), strict=True):
        some = {
            query_id: {doc_id: qrels[query_id].get(doc_id, 0) for doc_id in doc_ids[:OF_QUERY]}
            for query_id, doc_ids in documents.items()
        }
        model = rerank.train(index, topics, some, estimate=False).model
        yield system, mean_of_run(test, rerank.rerank(index, model, unseen))
