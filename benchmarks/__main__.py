"""`python -m benchmarks`: lists the benchmarks, runs one, and writes its tables, its JSON and its picture."""

from __future__ import annotations

import json
import logging
import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from benchmarks.registry import DATA, ROOT, Benchmark, BenchmarkError, Options, Row, known

PACKAGES = {  # to install, of modules with another name
    "haystack": "haystack-ai", "langchain_core": "langchain-core", "jnius": "pyjnius",
    "pytrec_eval": "pytrec-eval-terrier", "ir_measures": "ir-measures", "xgboost": "xgboost-cpu",
}  # fmt: skip


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--list", "lists", is_flag=True, help="Print name, data, peer and purpose of every benchmark.")
@click.option("--quick", is_flag=True, help="A small part of the data: shows that it runs, for no figure that counts.")
@click.option("--json", "output", type=click.Path(path_type=Path), metavar="FILE", help="Write the rows as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write the tables as Markdown.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Write the picture of the benchmark.")
@click.option("--data", type=click.Path(path_type=Path), default=DATA, show_default=True, help="Folder of real data.")
@click.option("--collection", "collections", multiple=True, help="A collection; repeatable.")
@click.option("--only", multiple=True, help="A system or a part of the benchmark; repeatable.")
@click.option("--seeds", type=int, help="Number of seeds, draws or assignments of folds.")
@click.option("--repeats", type=int, help="How often each job is timed.")
@click.option("--threads", type=int, help="Threads of each system.")
@click.option("--rows", type=int, help="Rows of generated data.")
@click.option("--trees", type=int, help="Trees of each model.")
@click.option("--documents", type=int, multiple=True, help="Documents of a generated collection; repeatable.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where large files are written and kept.")
def main(
    names: tuple[str, ...],
    lists: bool,
    output: Path | None,
    markdown: Path | None,
    picture: Path | None,
    **options: Any,
) -> None:
    """Run benchmarks."""
    benchmarks = known()
    if lists or not names:
        click.echo(listed(benchmarks))
        return
    try:
        results = [run(find(benchmarks, name), Options(**options), picture) for name in names]
    except BenchmarkError as error:
        raise click.ClickException(str(error)) from error
    for result in results:
        click.echo(f"\n{as_text(result, 'simple')}")
    if markdown is not None:
        markdown.write_text("\n\n".join(as_text(result, "github") for result in results) + "\n", "utf8")
    if output is not None:
        output.write_text(json.dumps(results, indent=1, default=float) + "\n", "utf8")


def listed(benchmarks: dict[str, Benchmark]) -> str:
    """Return a table of all benchmarks."""
    rows = [(each.name, each.summary, each.data, each.peer) for each in benchmarks.values()]
    return str(tabulate(rows, ["name", "measures", "data", "peer"], maxcolwidths=[None, 60, 30, 30]))


def find(benchmarks: dict[str, Benchmark], name: str) -> Benchmark:
    """Return the benchmark of a name, all of whose packages are installed."""
    if name not in benchmarks:
        raise BenchmarkError(f"expected the name of a benchmark, got {name}: see python -m benchmarks --list")
    missing = [PACKAGES.get(module, module) for module in benchmarks[name].needs if find_spec(module) is None]
    if missing:
        raise BenchmarkError(f"{name} needs {', '.join(missing)}: pip install {' '.join(missing)}")
    return benchmarks[name]


def run(benchmark: Benchmark, options: Options, picture: Path | None) -> dict[str, Any]:
    """Run a benchmark, show its rows as they come, draw its picture, and return what was measured."""
    if picture is not None and benchmark.draw is None:
        raise BenchmarkError(f"{benchmark.name} has no picture")
    start, rows = time.perf_counter(), list[Row]()
    for row in benchmark.function(options):
        rows.append(row)
        click.echo(", ".join(f"{column} {shown(value)}" for column, value in row.items()), err=True)
    if picture is not None and benchmark.draw is not None:
        picture.parent.mkdir(parents=True, exist_ok=True)
        benchmark.draw(rows, picture)
    return {
        "benchmark": benchmark.name,
        "commit": commit(),
        "quick": options.quick,
        "machine": machine(benchmark.needs),
        "seconds": time.perf_counter() - start,
        "rows": rows,
    }


def as_text(result: dict[str, Any], form: str) -> str:
    """Return the tables of a result, one for each set of columns, below a line that says what was measured where."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in result["rows"]:
        tables.setdefault(tuple(row), []).append(row)
    about = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    head = f"{result['benchmark']}{' --quick' if result['quick'] else ''}, commit {result['commit']}, {about}"
    texts = [
        tabulate([[shown(row[column]) for column in columns] for row in rows], columns, form, disable_numparse=True)
        for columns, rows in tables.items()
    ]
    return "\n\n".join([f"{head}, {result['seconds']:.0f} s", *texts])


def shown(value: Any) -> str:
    """Return a value as tables show it: numbers with four digits."""
    if isinstance(value, bool | str) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4f}" if 0.001 < abs(value) < 1.0 else f"{value:.4g}"


def commit() -> str:
    """Return the commit of the checkout, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine(needs: tuple[str, ...]) -> dict[str, str]:
    """Return the processor, its cores, and the versions of what took part."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text("utf8").splitlines() if file.exists() else []
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    found = {"processor": processor or platform.machine(), "cores": str(os.cpu_count())}
    found["Python"] = platform.python_version()
    distributions = packages_distributions()
    for module in ("numpy", "numba", *needs):
        try:
            found[module] = version(distributions.get(module, [module])[0])
        except PackageNotFoundError:
            found[module] = "missing"
    return found


if __name__ == "__main__":
    logging.getLogger("rerank").setLevel(logging.ERROR)  # the rows are the output
    main(prog_name="python -m benchmarks")
