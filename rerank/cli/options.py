"""Options of several verbs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.errors import InvalidInputError, shown

if TYPE_CHECKING:
    from rerank.types import Run

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FUNCTIONS = "rerank.functions"  # key of a command's context: files that define features
path_type = click.Path(path_type=Path)


class Number(click.types.FloatParamType):
    """A number from `low` to `high`; NaN is none."""

    def __init__(self, low: float, high: float = math.inf) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of an option's text."""
        number = float(super().convert(value, param, ctx))
        if not self.low <= number <= self.high:
            bounds = f"of at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:g}"
            name = param.opts[0] if param else "number"
            raise InvalidInputError(f"{name}: expected a number {bounds}, got {shown(number)}. Give another one.")
        return number


class Whole(click.IntRange):
    """A whole number from `low`; what no computer counts to is refused."""

    def __init__(self, low: int = 1, most: int = 2**31 - 1) -> None:
        super().__init__(low)
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of an option's text."""
        number = int(super().convert(value, param, ctx))
        if number > self.most:
            name = param.opts[0] if param else "number"
            raise InvalidInputError(
                f"{name}: expected a number up to {self.most}, got {shown(number)}. Give another one."
            )
        return number


def file_option(name: str, text: str) -> Decorator:
    """Return an option that names an input file."""
    return click.option(name, type=path_type, metavar="FILE", help=text)


def threads_option() -> Decorator:
    """Return `--threads`."""
    return click.option("--threads", type=Whole(), metavar="N", help="Threads; all cores by default.")


def language_option() -> Decorator:
    """Return `--language`, for verbs that open an index."""
    return click.option(
        "--language",
        metavar="CODE",
        help="Analyser of an index that Anserini built with -language.",
    )


def functions_option() -> Decorator:
    """Return `--functions`, which runs a file that defines features."""
    return click.option(
        "--functions",
        type=path_type,
        metavar="FILE",
        multiple=True,
        expose_value=False,
        callback=_load_functions,
        help="Python file that defines features of your own (@rerank.feature).",
    )


def _load_functions(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> None:
    if files:
        from rerank.features.functions import load_functions

        for file in files:
            load_functions(file)
    context.meta[FUNCTIONS] = files


def runs_option() -> Decorator:
    """Return `--run NAME=FILE`, which can be repeated."""
    return click.option(
        "--run",
        "runs",
        metavar="NAME=FILE",
        multiple=True,
        help="Another run whose scores and ranks become features. Can be repeated.",
    )


def candidates_option() -> Decorator:
    """Return `--candidates`."""
    return click.option(
        "--candidates",
        metavar="SOURCE:K,...",
        help="Sources of candidates in place of BM25, e.g. bm25:1000,rm3:1000,lsi:200,run:FILE.",
    )


def read_named_runs(pairs: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs of NAME=FILE, by name."""
    from rerank.files.trec import read_run

    runs: dict[str, Run] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not name.isidentifier() or not equals or not file or name in runs:
            raise InvalidInputError(
                f"--run: expected NAME=FILE with a name of letters and digits, each once, got {pair!r}. "
                "Write e.g. dense=dense.run."
            )
        runs[name] = read_run(file)
    return runs


def run_option() -> Decorator:
    """Return `--run [NAME=]FILE` of the verbs that apply a model to an index; see `split_run_files`."""
    return click.option(
        "--run",
        "run_files",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Candidates in place of the model's; with a name, a run whose scores are features of the model.",
    )


def start_option() -> Decorator:
    """Return `--base run:FILE` of the verbs that apply a model; see `read_base_run`."""
    return click.option(
        "--base", metavar="run:FILE", help="Run to start from, where the model was warm-started from one."
    )


def other_index_option() -> Decorator:
    """Return `--other-index`."""
    return click.option("--other-index", is_flag=True, help="Apply a model that was trained on another index.")


def split_run_files(items: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """Return the file of candidates of `--run [NAME=]FILE`, if there is one, and the items with a name."""
    files = [Path(item) for item in items if "=" not in item]
    if len(files) > 1:
        raise click.UsageError(f"--run: expected one file of candidates, got {len(files)}. Give others as NAME=FILE.")
    return files[0] if files else None, tuple(item for item in items if "=" in item)


def output_option(what: str) -> Decorator:
    """Return `-o` for a file; `-` is stdout."""
    return click.option(
        "-o", "--output", type=path_type, metavar="FILE", required=True, help=f"Output file of {what}; - for stdout."
    )


def folder_option(what: str, default: str | None = None, required: bool = True) -> Decorator:
    """Return `-o` for a folder, which may be required if it has no default."""
    return click.option(
        "-o",
        "--output",
        type=path_type,
        metavar="FOLDER",
        required=required and default is None,
        default=default,
        show_default=True,
        callback=_no_stdout,
        help=f"Folder of {what}.",
    )


def _no_stdout(context: click.Context, option: click.Parameter, folder: Path | None) -> Path | None:
    if str(folder) == "-":
        raise click.BadParameter("expected a folder, got - (stdout). Name a folder.", context, option)
    return folder


def measures_option(default: tuple[str, ...]) -> Decorator:
    """Return `-m`, which can be repeated."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        metavar="MEASURE",
        multiple=True,
        help=f"Measure, as ir_measures or trec_eval name it, or several (P.5,10; official; all_trec). Repeatable.  "
        f"[default: {' '.join(default)}]",
    )


def rules_options() -> Decorator:
    """Return `-c`, `-l`, `-M` and `-J`, which are trec_eval's options."""
    positive = Whole()

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("-J", "--judged-only", is_flag=True, help="Remove unjudged documents from each list first."),
            click.option(
                "-M", "--depth", type=positive, metavar="N", help="Most documents of a query; all by default."
            ),
            click.option(
                "-l",
                "--level",
                type=positive,
                metavar="N",
                default=1,
                show_default=True,
                help="Smallest label that is relevant, for measures without rel=.",
            ),
            click.option(
                "-c",
                "--complete",
                is_flag=True,
                help="Average over all judged queries; missing ones count as 0.",
            ),
        ):
            command = option(command)
        return command

    return add


def metric_option() -> Decorator:
    """Return `--metric`."""
    return click.option(
        "--metric",
        metavar="MEASURE",
        default="nDCG@10",
        show_default=True,
        help="Measure to train for, as ir_measures names it: AP, ERR@20, RBP(p=0.8), ...",
    )


def depth_option(default: int | None = 1000) -> Decorator:
    """Return `-k`; by default that of the model's training where there is no other default."""
    return click.option(
        "-k",
        "--hits",
        "k",
        type=Whole(),
        metavar="N",
        default=default,
        show_default=default is not None,
        help="Documents of a query" + ("." if default else " that are reranked; by default as in training."),
    )


def bm25_options() -> Decorator:
    """Return `-k`, `--k1` and `--b`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--b", type=Number(0.0, 1.0), metavar="X", default=0.4, show_default=True, help="BM25's b."),
            click.option("--k1", type=Number(0.0, 1e9), metavar="X", default=0.9, show_default=True, help="BM25's k1."),
            depth_option(),
        ):
            command = option(command)
        return command

    return add


def split_base(base: str) -> tuple[str, str]:
    """Return kind and name of `feature:NAME`, `run:FILE` or `model:FILE`."""
    kind, colon, name = base.partition(":")
    if kind not in {"feature", "run", "model"} or not colon or not name:
        raise InvalidInputError(
            f"--base: expected feature:NAME, run:FILE or model:FILE, got {base!r}. Write e.g. feature:bm25.contents."
        )
    return kind, name


def read_base(base: str | None) -> Any:
    """Return the argument `base` of a ranker for `--base`."""
    if base is None:
        return None
    kind, name = split_base(base)
    if kind == "feature":
        return base
    if kind == "run":
        from rerank.files.trec import read_run

        return read_run(name)
    from rerank.rankers.store import read_model

    return read_model(name)


def read_base_run(base: str | None) -> Run | None:
    """Return the run of `--base run:FILE`, for a model that was warm-started from a run."""
    if base is None:
        return None
    from rerank.files.trec import read_run

    kind, name = split_base(base)
    if kind != "run":
        raise InvalidInputError(
            f"--base: expected run:FILE here, got {base!r}. Features and models are stored in the model itself."
        )
    return read_run(name)


def base_file(base: str | None, base_run: Any) -> dict[str, str]:
    """Return the file of a base run, by what errors call the run."""
    name = getattr(base_run, "name", None)
    return {f"base run {name}": split_base(base)[1]} if base and name else {}
