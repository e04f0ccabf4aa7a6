"""Run every example of the documentation, page by page, in a folder with a small collection.

Run: python -m tests.checks.documentation [PAGE ...]
The site itself is built by `mkdocs build`, which fails on a broken link or a notebook that raises.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.checks import ROOT
from tests.examples import blocks, run_block, write_collection
from tests.lucene.anserini import build_collection

ANSERINI = "indexes/anserini"  # a page that names it starts from an index that Anserini has built


def write_anserini_index(folder: Path) -> None:
    """Index the documents of a folder as Anserini's command line does."""
    documents = [json.loads(line) for line in (folder / "docs.jsonl").read_text("utf8").splitlines()]
    whole = [{**document, "contents": f"{document['title']} {document['body']}"} for document in documents]
    options = "-fields", "title", "body", "-storePositions", "-storeDocvectors", "-storeRaw"
    build_collection(whole, folder / "corpus", folder / ANSERINI, *options)


def main() -> int:
    """Run the examples of all pages, or of those named; return the number of pages with a failure."""
    pages = [Path(page).resolve() for page in sys.argv[1:]] or sorted((ROOT / "docs").rglob("*.md"))
    n_run = n_failed = 0
    for page in pages:
        examples, start = blocks(page), time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as folder:
                write_collection(Path(folder))
                if ANSERINI in page.read_text("utf8"):
                    write_anserini_index(Path(folder))
                for language, text in examples:
                    run_block(language, text, Path(folder))
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            n_failed += 1
            print(f"{page}: {failure}", file=sys.stderr)
        n_run += len(examples)
        print(f"{page.relative_to(ROOT)}: {len(examples)} examples, {time.perf_counter() - start:.0f} s")
    print(f"{n_run} examples on {len(pages)} pages, {n_failed} pages failed")
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
