"""The pages that the documentation shows: their picture is a photograph by Chromium."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rerank
from benchmarks.data import judged, opened
from benchmarks.measuring import run_verb
from benchmarks.quality import MEASURES, nfcorpus_runs
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

WIDTH, HEIGHT, K = 1280, 1500, 100


def photograph(rows: list[Row], path: Path) -> None:
    """Photograph the beginning of the page of the last row."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise BenchmarkError("--picture: expected Chromium, got none. Install it or leave the picture out.")
    window, page = f"--window-size={WIDTH},{HEIGHT}", Path(rows[-1]["page"]).resolve().as_uri()
    command = [program, "--headless", "--no-sandbox", "--hide-scrollbars", window, f"--screenshot={path.resolve()}"]
    subprocess.run([*command, page], check=True, capture_output=True)


def _folder(options: Options, name: str) -> Path:
    folder = (options.folder or Path("bench-output")) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@benchmark(data="nfcorpus, test queries", peer="BM25", draw=photograph)
def report_page(options: Options) -> Iterator[Row]:
    """The report of BM25, LambdaMART and LambdaSMART, as `rerank evaluate` makes it."""
    folder = _folder(options, "nfcorpus")
    (runs,), qrels = nfcorpus_runs(options, 1)
    data = (options.data / "collections" / "nfcorpus").resolve()
    for name, run in runs.items():
        rerank.write_run(run, folder / name)
    rerank.write_qrels(qrels, folder / "qrels.txt")
    measures = [word for measure in MEASURES for word in ("-m", measure)]
    inputs: list[str | Path] = ["--topics", data / "topics.tsv", "--corpus", data / "corpus.jsonl"]
    run_verb("evaluate", "qrels.txt", *runs, *measures, "-c", *inputs, "-o", "report.html", folder=folder)
    yield {"page": str(folder / "report.html")}


@benchmark(data="cranfield: the topics with odd numbers train", peer="BM25", draw=photograph)
def explanation_page(options: Options) -> Iterator[Row]:
    """The explanation of the held-out topic where a relevant document rises most to the first rank."""
    folder, (topics, qrels) = _folder(options, "explain"), judged(options, "cranfield")
    recipe, names = rerank.Recipe(families=("letor", "run", "proximity")), list(topics)
    with opened(options, "cranfield") as index:
        run = index.search({name: topics[name] for name in names[::2]}, k=K)
        model = rerank.LambdaMART(n_estimators=100, num_leaves=7, learning_rate=0.05, base="run")
        model.fit(index.features(run, topics, qrels, recipe=recipe)).save(folder / "model.json")
        before = index.search({name: topics[name] for name in names[1::2]}, k=K)
        after = rerank.rerank(index, model, topics, before, k=K)
        rises = {}
        for query_id in before:
            old, new, labels = list(before[query_id]), list(after[query_id]), qrels[query_id]
            if labels.get(new[0], 0) > 0 and labels.get(old[0], 0) <= 0:
                rises[query_id] = old.index(new[0]), f"{new[0]},{old[0]}"
        best = list(rises)[int(np.argmax([rise for rise, _ in rises.values()]))]
        page, source = folder / "explain.html", options.data / "collections" / "cranfield" / "topics.tsv"
        chosen: list[str | Path] = ["--query", best, "--documents", rises[best][1], "-o", page]
        run_verb("explain", index.path, folder / "model.json", source, *chosen)
    yield {"topic": best, "rose from rank": rises[best][0] + 1, "page": str(page)}
