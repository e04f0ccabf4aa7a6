#!/usr/bin/env python
"""The page of nfcorpus: BM25 against LambdaMART and LambdaSMART, as `rerank report` makes it.

Run: python scripts/report_nfcorpus.py [-o FOLDER] [--screenshot docs/images/report.png]
The folder holds runs, models and report.html; where it has them already, nothing is trained again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_nfcorpus import DEFAULT, SEEDS, study

import rerank
from rerank.cli.main import run

MEASURES = ("nDCG@10", "AP", "RR", "R@100", "R@1000")
SYSTEMS = ("BM25", "LambdaMART", "LambdaSMART")
MODELS = SYSTEMS[1:]
TITLE = "nfcorpus: BM25's first 1,000 documents, reranked"
WIDTH, HEIGHT = 1280, 1500


def main() -> None:
    """Train where there is nothing yet, write the page, print the table, take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "collections" / "nfcorpus")
    parser.add_argument("-o", "--output", type=Path, default=Path("bench-output/nfcorpus"))
    parser.add_argument("--screenshot", type=Path, help="PNG of the page's beginning; needs Chromium")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if not all((options.output / name).exists() for name in SYSTEMS):
        train(options.data, options.output)
    data = options.data.resolve()
    code = page(data, options.output)
    if code == 0 and options.screenshot is not None:
        picture(options.output / "report.html", options.screenshot)
    sys.exit(code)


def train(data: Path, output: Path) -> None:
    """Write runs and models."""
    with tempfile.TemporaryDirectory() as folder:
        runs, models = study(data, Path(folder) / "index", {}, SEEDS[:1])
    for name, model in models.items():
        model.save(output / f"{name}.model.json")
    for name, result in runs.items():
        rerank.write_run(result, output / name)


def page(data: Path, output: Path) -> int:
    """Write the page; return the exit code."""
    before = Path.cwd()
    os.chdir(output)  # so that the runs are called by their systems' names
    try:
        inputs = ["--topics", str(data / "topics.tsv"), "--corpus", str(data / "corpus.jsonl")]
        measures = [word for measure in MEASURES for word in ("-m", measure)]
        models = [word for name in MODELS for word in ("--model", f"{name}.model.json")]
        given = ["report", str(data / "qrels.test.txt"), *SYSTEMS, *measures, "-c", *inputs, *models]
        return run([*given, "--title", TITLE, "-o", "report.html"])
    finally:
        os.chdir(before)


def picture(source: Path, target: Path) -> None:
    """Photograph the beginning of the page."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("report_nfcorpus: expected Chromium for --screenshot, got none. Install it or leave that out.")
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={target.resolve()}",
            source.resolve().as_uri(),
        ],
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    main()
