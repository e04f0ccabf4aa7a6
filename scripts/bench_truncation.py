#!/usr/bin/env python
"""Truncation levels of LambdaMART's gradients in training for nDCG@10, compared on validation queries only.

Run: python scripts/bench_truncation.py [--data FOLDER] [--seeds 5] [--levels 10,15,20,30,50,100] [--output FILE]
     [--nfcorpus FILE]

mq2008: each fold trains on its three training parts and is measured on its validation part; no test part is read for a
fold. nfcorpus: trained on BM25's first 100 of each training query, measured on dev's first 1,000. Each seed draws 80 %
of the queries and half (nfcorpus: 30 %) of the features for each tree. No model is stopped early: the measured queries
choose nothing. Each figure is the mean over folds and seeds; `+-` is the standard error of the difference from the
default, paired by fold and seed. `--nfcorpus` names a file that keeps nfcorpus's features from run to run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from bench_mq2008 import DEFAULT, SHARED, joined, ndcg
from bench_nfcorpus import SETTINGS, extracted
from tabulate import tabulate

import rerank
from rerank.files.svmlight import read_svmlight
from rerank.rankers.lambdamart import LambdaMART

LEVELS = "10,15,20,30,50,100"
CHOSEN = "30"
NFCORPUS = {**SETTINGS, "n_estimators": 200, "subsample": 0.8}
MQ2008 = {**SHARED, "n_estimators": 100, "subsample": 0.8, "colsample_bytree": 0.5}
Lines = dict[str, dict[str, object]]
Figures = dict[str, list[float]]


def trials(levels: str) -> Lines:
    """Return the parameters of each line of the table."""
    result: Lines = {level: {"truncation_level": int(level)} for level in levels.split(",")}
    return result | {"30, not normalised": {"normalize": False}}


def mq2008(folder: Path, seeds: int, lines: Lines) -> Figures:
    """Return nDCG@10 on the validation parts, by fold and seed, of each line."""
    parts = [read_svmlight(folder / f"S{part}.txt") for part in range(1, 6)]
    figures: Figures = {name: [] for name in lines}
    for fold in range(5):
        X, y, groups = joined([parts[(fold + part) % 5] for part in range(3)])
        valid, qid = parts[(fold + 3) % 5], np.repeat(np.arange(len(groups)), groups)
        for seed in range(seeds):
            for name, parameters in lines.items():
                model = LambdaMART(**MQ2008, **parameters, random_state=seed).fit(X, y, qid=qid)
                figures[name].append(ndcg(valid, model.predict(valid.X)))
    return figures


def nfcorpus(kept: Path | None, folder: Path, seeds: int, lines: Lines) -> Figures:
    """Return nDCG@10 on dev by seed of each line."""
    train, dev = nfcorpus_parts(kept, folder)
    figures: Figures = {name: [] for name in lines}
    for seed in range(seeds):
        for name, parameters in lines.items():
            model = LambdaMART(**NFCORPUS, **parameters, random_state=seed).fit(train)
            figures[name].append(ndcg(dev, model.predict(dev)))
    return figures


def nfcorpus_parts(kept: Path | None, folder: Path) -> tuple[rerank.RankingData, rerank.RankingData]:
    """Return the features of train and dev, from the files beside `kept` where they are there already."""
    names = ("train", "dev")
    paths = [] if kept is None else [kept.with_name(f"{kept.stem}.{name}.npz") for name in names]
    if not paths or not all(path.exists() for path in paths):
        with tempfile.TemporaryDirectory() as index:
            parts = extracted(folder, Path(index) / "index", names, None, {})
        for path, name in zip(paths, names, strict=bool(paths)):
            rerank.write_data(parts[name], path)
        return parts["train"], parts["dev"]
    train, dev = (rerank.read_data(path) for path in paths)
    return train, dev


def table(figures: Figures) -> list[dict[str, str]]:
    """Return a line for each setting: mean, difference from the default, and its standard error."""
    chosen, lines = np.array(figures[CHOSEN]), []
    for name, values in figures.items():
        gaps = np.array(values) - chosen
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else float("nan")
        lines.append({"truncation": name, "nDCG@10": f"{np.mean(values):.4f}", "against 30": f"{gaps.mean():+.4f}"})
        lines[-1]["+-"] = f"{error:.4f}"
    return lines


def main() -> None:
    """Measure both collections and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--levels", default=LEVELS)
    parser.add_argument("--nfcorpus", type=Path, help="where nfcorpus's features are kept")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = trials(options.levels)
    result = {"mq2008": mq2008(options.data / "letor" / "mq2008", options.seeds, lines)}
    print(f"mq2008, five validation parts x {options.seeds} seeds\n")
    print(tabulate(table(result["mq2008"]), headers="keys", tablefmt="github", disable_numparse=True), flush=True)
    result["nfcorpus"] = nfcorpus(options.nfcorpus, options.data / "collections" / "nfcorpus", options.seeds, lines)
    print(f"\nnfcorpus, dev, {options.seeds} seeds\n")
    print(tabulate(table(result["nfcorpus"]), headers="keys", tablefmt="github", disable_numparse=True))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
