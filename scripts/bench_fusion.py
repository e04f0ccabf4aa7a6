#!/usr/bin/env python
"""Learned fusion beside rank fusion and tuned weights, on held-out queries.

    python scripts/bench_fusion.py [--collection NAME ...] [--seeds 3] [--runs FOLDER] [--with-index]
        [--output FILE] [--quick]

For med, cacm, cranfield and the dev queries of nfcorpus: the first 1,000 documents by BM25, RM3, latent semantic
indexing and, where the package wordllama is installed, its encoder, over five folds by query, `--seeds` times. All
choices are made inside the training part of a fold:

rrf             reciprocal rank fusion, k = 60: nothing is chosen
convex          min-max normalised scores, the best of the weights in steps of 0.1 that sum to 1
best source     the best single run
learned         `learn_fusion`
weights alone   `learn_fusion(trees=False)`; on few queries the same
with the index  `--with-index`, first seed only: `rerank.train` on the union of 100 documents of each source, whose
                scores and ranks are features beside those of the index
oracle          for each query the best of the weights of `convex`, chosen on the query itself: not to be had

Figures are means of nDCG@10 over the queries and seeds, the share of the queries that learned fusion makes worse than
rank fusion, and the p-value of a paired t-test of the queries' means over the seeds. `--runs` keeps the runs, and takes
them from there again.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from tabulate import tabulate

import rerank
from rerank.combination.sources import source_data, source_names
from rerank.evaluation.significance import paired_differences
from rerank.rankers.fusion import FEW
from rerank.types import Floats, Qrels, Run
from rerank.vectors.encoder import installed_encoder

DATA = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "collections"
COLLECTIONS = ("med", "cacm", "cranfield", "nfcorpus")
SOURCES, MEASURE, FOLDS, STEPS, DEPTH = ("bm25", "rm3", "lsi"), "nDCG@10", 5, 10, 100
METHODS, INDEXED = ("rrf", "convex", "best source", "learned", "weights alone", "oracle"), "with the index"


def main() -> None:
    """Print a table, a line for each collection, and the means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--collection", nargs="+", choices=COLLECTIONS, default=COLLECTIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--runs", type=Path, help="folder of the runs")
    parser.add_argument("--with-index", action="store_true", help="train on the union of the sources, too")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--quick", action="store_true", help="med, one seed")
    given = parser.parse_args()
    names, seeds = (("med",), 1) if given.quick else (tuple(given.collection), given.seeds)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.runs or Path(scratch)
        lines = {name: measured(name, folder, seeds, given.with_index) for name in names}
    table = [[name, *(f"{value:.4f}" for value in line.values())] for name, line in lines.items()]
    methods = (*METHODS, *([INDEXED] if given.with_index else []))
    means = {key: float(np.mean([line[key] for line in lines.values()])) for key in methods}
    print(tabulate(table, ["collection", *next(iter(lines.values()))], tablefmt="github", disable_numparse=True))
    print("mean: " + ", ".join(f"{name} {value:.4f}" for name, value in means.items()))
    print(f"learned - rrf: {means['learned'] - means['rrf']:+.4f}; learned - convex: ", end="")
    print(f"{means['learned'] - means['convex']:+.4f}")
    if given.output is not None:
        given.output.write_text(json.dumps({**lines, "mean": means}, indent=1) + "\n", encoding="utf8")


def measured(name: str, folder: Path, seeds: int, with_index: bool) -> dict[str, float]:
    """Return the figures of a collection."""
    qrels = rerank.read_qrels(DATA / name / ("qrels.dev.txt" if name == "nfcorpus" else "qrels.txt"))
    runs = [run.select(run.query_numbers(list(qrels))) for run in runs_of(name, folder, qrels)]
    query_ids = [query_id for query_id in qrels if any(query_id in run for run in runs)]
    grid, oracle = of_grid(runs, qrels, query_ids)
    values = {method: np.zeros(len(query_ids)) for method in METHODS}
    values["oracle"] = oracle
    values["rrf"] = per_query(rerank.fuse(runs), qrels, query_ids)
    single = np.array([per_query(run, qrels, query_ids) for run in runs])
    for seed in range(seeds):
        fold = np.random.default_rng(seed).permutation(len(query_ids)) % FOLDS
        for number in range(FOLDS):
            train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            values["convex"][test] += grid[grid[:, train].mean(axis=1).argmax(), test] / seeds
            values["best source"][test] += single[single[:, train].mean(axis=1).argmax(), test] / seeds
            for method, trees in (("learned", None), ("weights alone", False)):
                if method == "learned" and len(train) < FEW:
                    continue
                values[method][test] += held_out(runs, qrels, query_ids, train, test, trees) / seeds
            print(f"{name}: fold {number + 1} of seed {seed}", flush=True)
    if with_index:
        values[INDEXED] = of_model(name, folder, qrels, query_ids)
    if not values["learned"].any():
        values["learned"] = values["weights alone"]
    figures = {method: float(value.mean()) for method, value in values.items()}
    figures["worse than rrf"] = float((values["learned"] < values["rrf"] - 1e-12).mean())
    figures["worse than convex"] = float((values["learned"] < values["convex"] - 1e-12).mean())
    if with_index:
        figures["with the index worse than rrf"] = float((values[INDEXED] < values["rrf"] - 1e-12).mean())
    for other in ("rrf", "convex"):
        figures[f"p, {other}"] = t_test(values["learned"], values[other])
    print(name, len(query_ids), {key: round(value, 4) for key, value in figures.items()}, flush=True)
    return figures


def t_test(one: Floats, other: Floats) -> float:
    """Return the p-value of a paired t-test."""
    return float(paired_differences((one - other)[:, None], samples=100)[0].p_values["t"])


def held_out(
    runs: Sequence[Run], qrels: Qrels, query_ids: Sequence[str], train: np.ndarray, test: np.ndarray, trees: bool | None
) -> Floats:
    """Return the measure of the test queries by a model of the training queries."""

    def of(queries: np.ndarray) -> list[Run]:
        names = [query_ids[number] for number in queries.tolist()]
        return [run.select(run.query_numbers(names)) for run in runs]

    judged = qrels.select(qrels.query_numbers([query_ids[number] for number in train.tolist()]))
    model = rerank.learn_fusion(of(train), judged, MEASURE, trees=trees)
    fused = rerank.apply_fusion(model, of(test))
    return per_query(fused, qrels, [query_ids[number] for number in test.tolist()])


def of_model(name: str, folder: Path, qrels: Qrels, query_ids: Sequence[str]) -> Floats:
    """Return the measure of each query by models of the other folds that read the index."""
    topics, encoder = rerank.read_topics(DATA / name / "topics.tsv"), installed_encoder()
    candidates = ",".join(f"{source}:{DEPTH}" for source in (*SOURCES, *(("encoder",) if encoder else ())))
    values = np.zeros(len(query_ids))
    fold = np.random.default_rng(0).permutation(len(query_ids)) % FOLDS
    with rerank.Index.open(folder / name / "index") as opened:
        index = opened.using(encoder=encoder or False)
        for number in range(FOLDS):
            parts = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            train, test = ([query_ids[each] for each in part.tolist()] for part in parts)
            judged = qrels.select(qrels.query_numbers(train))
            learned = {each: topics[each] for each in train}
            model = rerank.train(index, learned, judged, candidates=candidates, estimate=False).model
            run = rerank.rerank(index, model, {each: topics[each] for each in test})
            values[fold == number] = per_query(run, qrels, test)
            print(f"{name}: fold {number + 1} with the index", flush=True)
    return values


def per_query(run: Run, qrels: Qrels, query_ids: Sequence[str]) -> Floats:
    """Return the measure of each query, 0 where the run does not have it."""
    values = rerank.evaluate(qrels, run, [MEASURE]).per_query[MEASURE]
    return np.array([values.get(query_id, 0.0) for query_id in query_ids])


def of_grid(runs: Sequence[Run], qrels: Qrels, query_ids: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the measure by weights and query, (n_weights, n_queries), and the best of each query, (n_queries,)."""
    data = source_data(runs)
    names = [f"{name}.minmax" for name in source_names(len(runs))]
    scores = np.nan_to_num(np.column_stack([data.column(name) for name in names]))
    shares = [each for each in product(range(STEPS + 1), repeat=len(runs)) if sum(each) == STEPS]
    grid = np.array([per_query(data.run(scores @ each), qrels, query_ids) for each in np.array(shares) / STEPS])
    return grid, grid.max(axis=0)


def runs_of(name: str, folder: Path, qrels: Qrels) -> list[Run]:
    """Return the runs of a collection, which are made where the folder does not have them."""
    encoder = installed_encoder()
    sources = (*SOURCES, *(("encoder",) if encoder else ()))
    files = {source: folder / name / f"{source}.run" for source in sources}
    if not all(file.is_file() for file in files.values()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        topics = rerank.read_topics(DATA / name / "topics.tsv")
        judged = {query_id: topics[query_id] for query_id in qrels if query_id in topics}
        with rerank.Index.build(
            DATA / name / "corpus.jsonl", folder / name / "index", vectors=False, overwrite=True
        ) as index:
            index.learn_vectors(encoder=False)
            bound = index.using(encoder=encoder or False, vectors=None)
            for source, file in files.items():
                rerank.write_run(bound.search(judged, candidates=f"{source}:1000"), file)
    return [rerank.read_run(file) for file in files.values()]


if __name__ == "__main__":
    main()
